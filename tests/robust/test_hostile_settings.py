"""Files beside models that somebody damaged: settings, cache entries, bundles, reports, sources."""

import contextlib
import json
import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nets import Net

from tf_autofuse import build, flags, platforms
from tf_autofuse.autofuse.kernels import HOST_FILE, debug_root
from tf_autofuse.autofuse.pipeline import fuse_graph
from tf_autofuse.bundle import folder as bundle
from tf_autofuse.cli import main as cli
from tf_autofuse.cluster import skips
from tf_autofuse.errors import AutofuseError, DumpError, FlagError, ScheduleError
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.report.model import RECORDER
from tf_autofuse.verify import graph_pairs, verify_dumps
from tf_autofuse.verify.numeric import check_numbers

HERE = os.path.dirname(os.path.abspath(__file__))
DUMPS = os.path.join(os.path.dirname(HERE), "data", "ge_dumps")
QUICK = settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
DEEP = b"[" * 200000
BAD = [b"\xff\xfe{", b"", b"{}", b"[]", b"null", b"7", b'"text"', DEEP, b'{"a":' * 50000]
BAD += [b"9" * 6000]

TOKENS = [b"", b"-1", b"1e999", b"NaN", b"null", b"{", b"}", b"[", b"]", b'"', b","]
TOKENS += [b"\xff", b"\x00"]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(TOKENS)), min_size=1, max_size=3
)


def damaged(data, edits):
    for place, cut, token in edits:
        at = int(place * len(data))
        data = data[:at] + token + data[at + cut :]
    return data


def simple_json():
    """What JSON can say, in a few words."""
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=6,
    )


def changed(values, data):
    """A JSON object in which some part has another value."""
    values = json.loads(json.dumps(values))
    place = values
    while True:
        keys = list(range(len(place))) if isinstance(place, list) else sorted(place)
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(simple_json())
        return values


ROW = {"name": "Ascend910B", "costs": {"exp": [30, 4, 2.5]}, "load": [27, 25.0], "store": [12, 28]}


def read_costs(folder, data):
    (folder / "Ascend910B.json").write_bytes(data)
    platforms._calibrated.cache_clear()
    try:
        row = platforms.platform("Ascend910B")
    except ScheduleError as error:
        assert "Ascend910B.json has no costs" in str(error) and len(str(error)) < 1000
        return
    for cost in [*row.costs.values(), row.load, row.store]:
        for number in vars(cost).values():
            assert type(number) in (int, float) and 0 <= number < 1e13


@pytest.mark.parametrize("number", range(len(BAD)))
def test_costs_that_are_none(number, tmp_path, monkeypatch):
    monkeypatch.setenv(platforms.PLATFORM_DIR, str(tmp_path))
    read_costs(tmp_path, BAD[number])


@QUICK
@given(data=st.data())
def test_damaged_costs(data, tmp_path, monkeypatch):
    monkeypatch.setenv(platforms.PLATFORM_DIR, str(tmp_path))
    read_costs(tmp_path, json.dumps(changed(ROW, data)).encode())


@QUICK
@given(st.one_of(st.binary(max_size=60), st.text(alphabet="[ByNodeTyp]*?#;\n\r ax", max_size=60)
                 .map(str.encode)))  # fmt: skip
def test_lists_of_skipped_operators(tmp_path, data):
    path = tmp_path / "skips.cfg"
    path.write_bytes(data)
    skips._known.clear()
    flags.set_overrides("--skip_node_names_cfg=%s" % path)
    try:
        found = skips.current()
    except FlagError as error:
        assert str(path) in str(error)
    else:
        found.matching("a/b", "Exp")


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/mem", "/"])
def test_a_list_without_end(path):
    flags.set_overrides("--skip_node_names_cfg=" + path)
    with pytest.raises(FlagError, match="cannot be read"):
        skips.current()


def small_model():
    net = Net(64, 64)
    return net.graph(net("Exp", net("Abs", net.data())))


def fuse():
    RECORDER.clear()
    fuse_graph(small_model(), PassContext("TfAutofusePass"))
    report = RECORDER.report({})
    return report.kernels, {entry.code for entry in report.unfused}


@pytest.mark.parametrize("kind", ["bad text", "no kernel", "folder", "endless"])
def test_sources_of_ones_own(kind, tmp_path, monkeypatch):
    settings_of_run = "--codegen_compile_debug=true;--debug_dir=%s" % (tmp_path / "debug")
    flags.set_overrides(settings_of_run)
    kernels, _ = fuse()
    (path,) = [
        os.path.join(where, name)
        for where, _, names in os.walk(debug_root()) for name in names if name == HOST_FILE
    ]  # fmt: skip
    os.remove(path)
    if kind == "bad text":
        with open(path, "wb") as file:
            file.write(b"\xff\xfe\x00")
    elif kind == "no kernel":
        with open(path, "w") as file:
            file.write("#error mine\n")
    elif kind == "folder":
        os.mkdir(path)
    else:
        os.symlink("/dev/zero", path)
    flags.set_overrides(settings_of_run + ";--replace_kernel=" + kernels[0].key)
    again, codes = fuse()
    if kind == "no kernel":
        assert again == () and codes == {"BUILD"}
    else:
        assert len(again) == 1


@QUICK
@given(edits=EDITS)
def test_damaged_cache_entries(edits, own_cache):
    cache = build.open_cache()
    key = "ab" * 32
    if not hasattr(test_damaged_cache_entries, "meta"):
        cache.insert(key, "label", "source", lambda _, out: open(out, "w").close())
        with open(os.path.join(cache.entry_dir(key), "meta.json"), "rb") as file:
            test_damaged_cache_entries.meta = file.read()
    os.makedirs(cache.entry_dir(key), exist_ok=True)
    with open(os.path.join(cache.entry_dir(key), "meta.json"), "wb") as file:
        file.write(damaged(test_damaged_cache_entries.meta, edits))
    cache.lookup(key)
    cache.entries()


@pytest.fixture(scope="module")
def whole_bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    small_model().save_to_air(str(folder / "m.air"))
    assert cli.main(["fuse", str(folder / "m.air"), "-o", str(folder / "out")]) == 0
    (name,) = os.listdir(str(folder / "out" / "kernels"))
    return str(folder / "out" / "kernels" / name)


@QUICK
@given(edits=EDITS, data=st.data())
def test_damaged_bundles(edits, data, whole_bundle, tmp_path):
    names = sorted(name for name in os.listdir(whole_bundle) if name.endswith((".txt", ".json")))
    names += [name for name in os.listdir(whole_bundle) if "sum" in name.lower()]
    name = data.draw(st.sampled_from(names))
    copy = str(tmp_path / "copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole_bundle, copy)
    with open(os.path.join(copy, name), "rb") as file:
        before = file.read()
    with open(os.path.join(copy, name), "wb") as file:
        file.write(damaged(before, edits))
    assert bundle.problems(copy) or damaged(before, edits) == before
    for read in (bundle.read_description, bundle.read_kernel):
        with contextlib.suppress(AutofuseError):
            read(copy)


def report_of_run(folder):
    flags.set_overrides("")
    fuse()
    path = folder / "r.json"
    path.write_text(json.dumps(RECORDER.report({}).to_dict()))
    return json.loads(path.read_text())


@QUICK
@given(data=st.data())
def test_damaged_reports(data, tmp_path, capsys):
    if not hasattr(test_damaged_reports, "whole"):
        test_damaged_reports.whole = report_of_run(tmp_path)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(changed(test_damaged_reports.whole, data)))
    code = cli.main(["report", str(path), "-o", str(tmp_path / "page.html")])
    assert code == 0 or (code == cli.BAD_INPUT and "report.json" in capsys.readouterr().err)


@pytest.mark.parametrize("number", range(len(BAD)))
def test_reports_that_are_none(number, tmp_path, capsys):
    path = tmp_path / "report.json"
    path.write_bytes(BAD[number])
    assert cli.main(["report", str(path), "-o", str(tmp_path / "page.html")]) == cli.BAD_INPUT
    assert "is no report" in capsys.readouterr().err


PAIRS = sorted(name for name in os.listdir(DUMPS) if name.startswith("rewrite_"))


@settings(QUICK, max_examples=60)
@given(pair=st.sampled_from(PAIRS), edits=EDITS, data=st.data())
def test_damaged_pairs(pair, edits, data, tmp_path):
    copy = str(tmp_path / "pair")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(DUMPS, pair), copy)
    name = data.draw(st.sampled_from(sorted(os.listdir(copy))))
    with open(os.path.join(copy, name), "rb") as file:
        before = file.read()
    with open(os.path.join(copy, name), "wb") as file:
        file.write(damaged(before, edits))
    try:
        verify_dumps(copy)
        pairs = graph_pairs(copy)
    except DumpError as error:
        assert name in str(error)
        return
    for found in pairs:
        if found.before is not None and found.after is not None:
            check_numbers(found.before, found.after)


def test_a_pipe_among_dumps(tmp_path):
    """Nobody writes to it: reading would wait for ever."""
    for name in ("AutofuseOptimize_Entry", "AutofuseOptimize_Exit"):
        os.mkfifo(str(tmp_path / ("ge_proto_00000000_graph_0_%s.txt" % name)))
    with pytest.raises(DumpError, match="not a file with a graph"):
        verify_dumps(str(tmp_path))
