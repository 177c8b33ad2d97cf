"""``tf-autofuse report`` from a script, dumps and a JSON report."""

import json
import os
import re

import pytest
from cli_process import tf_autofuse

from tf_autofuse.cli import main as cli

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")

SCRIPT = """
    import sys
    import numpy as np
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.exp(tf.nn.relu(tf.abs(x, name="first")), name="last")
    with tf.Session() as session:
        print(session.run(y, {x: np.ones([3, 8], np.float32)}).sum(), sys.argv[1:])
    sys.exit(len(sys.argv) - 1)
"""


def data_of(page):
    block = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)
    return json.loads(block.group(1))


@pytest.mark.e2e
def test_a_script_is_run_and_its_failure_is_on_the_page(script, tmp_path):
    pytest.importorskip("tensorflow")
    pytest.importorskip("jinja2")
    page, plain = tmp_path / "r.html", tmp_path / "r.json"
    done = tf_autofuse("report", script(SCRIPT), "-o", page, "--json", plain, "--", "-o", "2")
    assert done.returncode == 1, done.stderr
    assert "['-o', '2']" in done.stdout and str(page) in done.stdout
    assert "ended with exit code 2" in page.read_text(encoding="utf-8")
    data = data_of(page)
    (kernel,) = data["kernels"]
    assert kernel["op_types"] == ["Abs", "Relu", "Exp"] and kernel["calls"] == 1
    assert kernel["nanos"] > 0 and len(kernel["tiling"]) == 1
    assert "AscendC" in data["sources"][kernel["key"]]
    graph = data["graphs"][0]
    fused = [n for n, k in zip(graph["before"]["names"], graph["before"]["kernel"]) if k == 0]
    assert "last" in fused and len(fused) == 3 and 0 in graph["after"]["kernel"]
    assert json.loads(plain.read_text())["kernels"][0]["name"] == kernel["name"]


def test_dumps_and_a_json_report(tmp_path, capsys):
    pytest.importorskip("jinja2")
    page, plain = tmp_path / "r.html", tmp_path / "r.json"
    dumps = os.path.join(DUMPS, "rewrite_ctrl")
    assert cli.main(["report", dumps, "-o", str(page), "--json", str(plain)]) == 0
    assert data_of(page)["kernels"][0]["op_types"] == ["Exp", "Relu", "Abs"]
    assert cli.main(["report", str(plain), "--out", str(page), "--dump", dumps]) == 0
    assert len(data_of(page)["graphs"]) == 1
    assert cli.main(["report", str(plain), "--out", str(page)]) == 0
    assert data_of(page)["graphs"] == [] and "No graph dumps" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words, text",
    (
        (["gone.py"], "no such script: gone.py"),
        (["gone.json"], "gone.json"),
        (["{tmp}"], "no graph dumps from before and after"),
        ([os.path.join(DUMPS, "rewrite_ctrl"), "-o", "{tmp}/no/r.html"], "cannot be written"),
    ),
)
def test_bad_input_is_one_line(words, text, tmp_path, capsys, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report"] + [word.format(tmp=tmp_path) for word in words]) == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert text in error and len(error.splitlines()) == 1
