"""The page as text: what stands in it, and that nothing from a model is markup."""

import json
import os
import re
from html.parser import HTMLParser

import pytest
from report_pages import HOSTILE, KERNEL, kernel, render, small

from tf_autofuse.cli import report_input
from tf_autofuse.errors import AutofuseError, DumpError
from tf_autofuse.report.document import Content, problems, source_text
from tf_autofuse.report.units import byte_text, count_text, time_text

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")


class Tags(HTMLParser):
    """Counts tags and keeps the JSON block."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.outside, self._in_data, self.data = [], [], False, ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.outside += [values[key] for key in ("src", "href") if key in values]
        self._in_data = tag == "script" and values.get("id") == "data"

    def handle_endtag(self, tag):
        self._in_data = False

    def handle_data(self, data):
        self.data += data if self._in_data else ""


def test_names_from_a_model_are_never_markup():
    page = Tags(render(small()))
    assert page.tags.count("script") == 2 and "img" not in page.tags
    data = json.loads(page.data)
    assert data["kernels"][0]["op_names"] == ["a", HOSTILE]
    assert data["graphs"][0]["before"]["names"] == ["x", "a", HOSTILE, "m"]
    assert all(link.startswith("#") for link in page.outside)


def test_nothing_is_loaded_from_outside():
    text = render(small())
    assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", text)
    policy = re.search(r'content="(default-src[^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'") and "script-src 'sha256-" in policy


def test_operators_carry_kernel_and_reason():
    data = json.loads(Tags(render(small())).data)
    (graph,) = data["graphs"]
    assert graph["before"]["kernel"] == [-1, 0, 0, -1]
    assert graph["after"]["kernel"] == [-1, 0, -1]
    assert graph["before"]["reason"] == [-1, -1, -1, 0]
    assert data["reasons"][0] == ["OP_UNKNOWN", "r" + HOSTILE]
    assert graph["before"]["outputs"][1] == "float [4, ?]"
    # The failure comes first.
    assert [rows[0][0] for rows in data["groups"]] == ["b", "m"]


def test_what_went_wrong_is_told_on_top():
    found = problems(small())
    assert found[0].startswith("first") and "BUILD" in found[1] and len(found) == 2
    worse = kernel(gm_bytes=5000)
    assert "moves more bytes" in problems(Content([worse], [], [], []))[0]
    assert problems(Content([], [], [], [])) == ["Nothing was fused."]


def test_sources_are_read_by_key_from_the_cache_only(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("AUTOFUSE_DFX_FLAGS", "--debug_dir={}".format(tmp_path / "debug"))
    secret = tmp_path / "kernel.cpp"
    secret.write_text("secret")
    folder = tmp_path / "bundles" / "gen" / ("ab" * 16)
    folder.mkdir(parents=True)
    (folder / "kernel.cpp").write_text("void kernel();")
    assert source_text(kernel(key="ab" * 16)) == "void kernel();"
    for key in ("", "..", "../" + "ab" * 8, "cd" * 16):
        assert source_text(kernel(key=key, source=str(secret))) is None


def test_real_dumps_make_a_page():
    content = report_input.from_dumps(os.path.join(DUMPS, "rewrite_ctrl"))
    (entry,) = content.kernels
    assert entry["op_types"] == ["Exp", "Relu", "Abs"] and entry["inputs"][0]["shape"] == [128, 192]
    # Three operators read and write 128 x 192 halfs, the kernel does so once.
    assert (entry["gm_bytes_unfused"], entry["gm_bytes"]) == (6 * 49152, 2 * 49152)
    data = json.loads(Tags(render(content)).data)
    assert data["graphs"][0]["before"]["kernel"].count(0) == 3
    with pytest.raises(DumpError, match="no graph dumps from before and after"):
        report_input.from_dumps(os.path.join(DUMPS, "mixed"))


@pytest.mark.parametrize(
    "text",
    ("", "[]", "{}", '{"kernels": [{}], "unfused": []}', '{"kernels": 3, "unfused": []}',
     '{"kernels": [], "unfused": [[]]}', "[" * 100000),
)  # fmt: skip
def test_a_file_that_is_no_report_is_told(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(AutofuseError, match="is no report of tf-autofuse"):
        report_input.from_json(str(path), None)


def test_reports_go_out_and_come_back(tmp_path):
    path = str(tmp_path / "r.json")
    content = Content([kernel()], small().unfused, [], [])
    report_input.write_json(content, path)
    assert report_input.from_json(path, None) == content
    # A report of a version that measured no times.
    old = {key: value for key, value in kernel().items() if key not in ("nanos", "tiling")}
    report_input.write_json(Content([old], [], [], []), path)
    (read,) = report_input.from_json(path, None).kernels
    assert (read["nanos"], read["tiling"], read["name"]) == (0, [], KERNEL)


def test_numbers_with_units():
    assert [byte_text(n) for n in (0, 1536, 3 << 30)] == ["0 B", "1.5 KiB", "3 GiB"]
    assert [time_text(n) for n in (900, 1500, 2.5e6, 3e9)] == ["900 ns", "1.5 µs", "2.5 ms", "3 s"]
    assert count_text(12345) == "12,345"
