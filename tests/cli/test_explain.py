"""``tf-autofuse explain`` on dumps and on a script."""

import json
import os

import pytest
from cli_process import tf_autofuse

from tf_autofuse.cli import main as cli

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")
MIXED = os.path.join(DUMPS, "mixed", "ge_proto_00000000_graph_0_PreRunBegin.txt")

SCRIPT = """
    import sys
    import numpy as np
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    first = tf.sqrt(tf.maximum(x, 1.0, name="first"), name="second")
    product = tf.matmul(first, tf.constant(np.ones([8, 8], "f4")), name="product")
    y = tf.add(first, product, name="last")
    with tf.Session() as session:
        print("sum", session.run(y, {x: np.ones([3, 8], "f4")}).sum())
    sys.exit(len(sys.argv) - 1)
"""


def test_a_dump_in_words(capsys):
    assert cli.main(["explain", MIXED]) == 0
    text = capsys.readouterr().out
    assert "graph mixed\n" in text and "\033" not in text
    assert "kernel 1: dense/Relu dense/Mul" in text
    assert "dense/Abs (Abs): alone, ATTR" in text
    assert "    read by dense/Exp (Exp): ATTR dense/Abs and dense/Exp: Exp with scale" in text


def test_one_node_as_json(capsys):
    assert cli.main(["explain", MIXED, "--node", "dense/Relu", "--json"]) == 0
    (graph,) = json.loads(capsys.readouterr().out)["graphs"]
    (story,) = graph["nodes"]
    assert story["node"] == "dense/Relu" and story["type"] == "Relu" and story["code"] == ""
    assert story["kernel"][:2] == ["dense/Relu", "dense/Mul"]
    for near in story["apart"]:
        assert near["relation"] in ("reads", "read by", "beside") and near["code"]
        assert "dense/Relu" in near["reason"] and near["name"] in near["reason"]


def test_a_node_that_is_not_there(capsys):
    assert cli.main(["explain", MIXED, "--node", "dense/Rel"]) == 2
    assert "near it: dense/Relu" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["nothing.txt", DUMPS + "/mixed", "nothing.py"])
def test_bad_targets(target, capsys):
    assert cli.main(["explain", target]) == 2
    assert capsys.readouterr().err.startswith("tf-autofuse: error: ")


@pytest.mark.e2e
def test_a_script_is_run_and_explained(script):
    pytest.importorskip("tensorflow")
    done = tf_autofuse("explain", script(SCRIPT), "--json", "--node", "last", "--", "argument")
    assert done.returncode == 1 and "sum" in done.stderr
    (graph,) = json.loads(done.stdout)["graphs"]
    (story,) = graph["nodes"]
    assert story["kernel"] == [] and story["code"] == "CYCLE"
    codes = {near["name"]: near["code"] for near in story["apart"]}
    assert codes["product"] == "OP_UNKNOWN" and "CYCLE" in codes.values()
