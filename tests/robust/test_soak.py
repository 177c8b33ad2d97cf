"""A slice of scripts/soak.py: nothing is left behind by steps and graphs, and lists are bounded."""

import importlib.util
import os

import pytest

tf = pytest.importorskip("tensorflow")

import tf_autofuse  # noqa: E402
from tf_autofuse.autofuse import kernels  # noqa: E402
from tf_autofuse.report import model  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def soak():
    spec = importlib.util.spec_from_file_location("soak", os.path.join(ROOT, "scripts", "soak.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture()
def fused():
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    yield
    tf_autofuse.disable()


@pytest.mark.parametrize("kind", ["steps", "graphs"])
def test_memory_and_files_stay(soak, fused, kind):
    work = soak.training() if kind == "steps" else lambda number: soak.new_graph(number % 6)
    samples = soak.watch(120, work, 4)
    early, late = samples[len(samples) // 2], samples[-1]
    assert late.done == 120 and late.files <= early.files + 1
    assert late.memory - early.memory < 6 * MEGABYTE


def test_growth_is_seen(soak, capsys):
    kept = []
    samples = soak.watch(40, lambda number: kept.append(bytearray(MEGABYTE)), 4)
    assert not soak.judge("leak", samples, 1000.0, float("inf"))
    assert "GROWS" in capsys.readouterr().out


def test_the_report_is_bounded(monkeypatch):
    monkeypatch.setattr(model, "MAX_ENTRIES", 5)
    recorder = model.Recorder()
    for number in range(12):
        entry = model.UnfusedEntry("node%d" % number, "Exp", "BUILD", "")
        recorder.unfused([entry])
        fields = dict.fromkeys(model.KernelEntry._fields)
        recorder.fused(model.KernelEntry(**dict(fields, name=str(number), inputs=())), None)
    with recorder._lock:
        assert [entry.name for entry, _ in recorder._kernels] == ["7", "8", "9", "10", "11"]
        assert [node for node, _ in recorder._unfused] == ["node%d" % n for n in range(7, 12)]


def test_plans_are_bounded(monkeypatch):
    import kernel_samples as samples

    from tf_autofuse.loop.lower import LoweredKernel

    monkeypatch.setattr(kernels, "_MAX_PLANS", 2)
    monkeypatch.setattr(kernels, "_PLANS", type(kernels._PLANS)())
    loops = [samples.reduction("m0 m1", "m1", ops) for ops in (("sum",), ("max",), ("min",))]
    for loop in loops:
        fields = dict.fromkeys(LoweredKernel._fields)
        kernels.plan_kernel(LoweredKernel(**dict(fields, kernel=loop)))
    assert len(kernels._PLANS) == 2
