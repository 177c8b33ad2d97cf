"""The example scripts end to end, and the checks that the quickstart makes on them."""

import importlib.util
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_runner():
    path = os.path.join(ROOT, "scripts", "run_examples.py")
    spec = importlib.util.spec_from_file_location("run_examples", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


runner = load_runner()


def entry(types, calls=100):
    return {"name": "autofused_x", "op_types": types, "calls": calls, "source": "k.cpp"}


def example(name):
    return next(e for e in runner.EXAMPLES if e.name == name)


def problems_of(name, kernels):
    outcome = runner.Outcome(example(name), "", kernels=kernels)
    runner._check_fused(outcome)
    return outcome.problems


def test_every_example_and_mode_is_listed():
    titles = [e.title for e in runner.EXAMPLES]
    assert len(titles) == len(set(titles)) == 14
    assert len({e.folder for e in runner.EXAMPLES}) == 14
    for e in runner.EXAMPLES:
        assert os.path.exists(e.script)


def test_user_scripts_do_not_know_this_package():
    for e in runner.EXAMPLES:
        with open(e.script) as file:
            assert "tf_autofuse" not in file.read()


def test_the_expected_kernel_is_accepted():
    assert problems_of("af_tf_eleandele", [entry(["Abs", "Relu", "Exp"])]) == []
    assert problems_of("af_tf_eleandbroadcast", [entry(["Abs", "AddV2", "Relu"])]) == []
    assert problems_of("af_tf_eleandreduce", [entry(["Abs", "ReduceSum"])]) == []


@pytest.mark.parametrize(
    "kernels",
    [[], [entry(["Abs", "Relu"]), entry(["Exp"])], [entry(["Abs", "Relu", "Exp"], calls=3)]],
    ids=["none", "split", "not run"],
)
def test_missing_fusion_is_a_problem(kernels):
    assert len(problems_of("af_tf_eleandele", kernels)) == 1


def test_environment_is_clean(monkeypatch):
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--strict=true")
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    env = runner.environment(fused=False)
    assert "AUTOFUSE_FLAGS" not in env
    assert "DUMP_GE_GRAPH" not in env
    env = runner.environment(fused=True, dumps="/d")
    assert env["AUTOFUSE_FLAGS"] == "--enable_autofuse=true"
    assert (env["DUMP_GE_GRAPH"], env["DUMP_GRAPH_PATH"]) == ("2", "/d")


@pytest.mark.e2e
@pytest.mark.parametrize("case", runner.EXAMPLES, ids=lambda e: e.folder)
def test_example_fuses_and_its_numbers_hold(case, tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    if case.needs_tf2 and tensorflow.__version__.startswith("1."):
        pytest.skip("npu_device belongs to TensorFlow 2")
    outcome = runner.run_example(case, str(tmp_path))
    assert outcome.problems == [], outcome.output[-3000:]
    assert outcome.verified
    with open(os.path.join(outcome.folder, "report.json")) as file:
        assert json.load(file)["kernels"] == outcome.kernels


@pytest.mark.e2e
def test_float32_reduce_holds_too(tmp_path):
    pytest.importorskip("tensorflow")
    base = example("af_tf_eleandreduce")
    case = runner.Example(base.name, base.args + ("--dtype", "float32"), base.fuses, base.steps)
    assert runner.run_example(case, str(tmp_path)).problems == []
