"""What `scripts/bench.py` says and with which exit code, from numbers that are given."""

import argparse
import importlib
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture
def script(monkeypatch):
    """Imports a module of scripts/ by name."""
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    return importlib.import_module


def options_of(module, *arguments):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize("ours, code", [(90.0, 0), (110.0, 1)])
def test_steps_fails_where_ours_is_slower(script, monkeypatch, capsys, ours, code):
    steps = script("bench_steps")

    def worker(side, model, mode, options):
        if side != "all":
            return {side + "_step_mb": 20.0, side + "_mb": 500.0}
        times = {"tf_ms": 100.0, "ours_ms": ours, "tf_cpu_ms": 150.0, "ours_cpu_ms": 100.0}
        return dict(times, fused=0.25, kernels=7, loss=0.0)

    monkeypatch.setattr(steps, "_worker", worker)
    assert steps.run(options_of(steps, "--model", "din", "--mode", "train", "--no-xla")) == code
    line = capsys.readouterr().out.splitlines()[-1]
    assert "25%" in line and "1.50" in line and line.endswith("20, 20; 500, 500")


def test_memory_of_this_process_is_read(script):
    resident = script("bench_steps")._resident
    assert 1.0 < resident("VmRSS") <= resident("VmHWM")
