"""What `scripts/bench.py` says and with which exit code, from numbers that are given."""

import argparse
import importlib
import os
import sys
from unittest import mock

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


def test_inductor_column_is_only_there_when_measured(script):
    speed = script("bench_speed")
    row = {"case": "where", "size": 64, "shapes": "static", "threads": 1, "fused": 1,
           "tf_us": 8.0, "xla_us": 6.0, "ours_us": 2.0, "copy_us": 1.0, "empty_us": 1.0}
    means = speed.geomeans([row])["64 static 1 threads"]
    assert list(means) == ["tf/ours", "xla/ours", "ours/copy"]
    means = speed.geomeans([dict(row, inductor_us=5.0)])["64 static 1 threads"]
    assert means["inductor/ours"] == pytest.approx(2.5) and means["tf/ours"] == pytest.approx(4)


def test_a_python_without_torch_is_named(script, tmp_path):
    speed = script("bench_speed")
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"Error: No module named 'torch'\" >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(SystemExit, match=r"python cannot import torch \(.*'torch'\); install it"):
        speed.run(options_of(speed, "--inductor", str(python)))
    with pytest.raises(SystemExit, match="does not run .*; name a Python that has PyTorch"):
        speed.run(options_of(speed, "--inductor", str(tmp_path / "none")))


def test_rounds_go_over_all_contenders_in_turn(script):
    speed, seen = script("bench_speed"), []
    seconds = {"fast": 0.0005, "slow": 1.0}

    def timer(name):
        return lambda repeat: seen.append((name, repeat)) or seconds[name]

    timers = {name: timer(name) for name in seconds}
    assert speed.interleaved(timers, rounds=2) == seconds
    assert seen[4:] == 2 * [("fast", 4), ("slow", 1)]


def test_every_case_has_its_words_in_pytorch(script, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", mock.MagicMock())
    monkeypatch.setitem(sys.modules, "torch.nn", mock.MagicMock())
    cases = script("bench_cases").CASES
    assert set(script("bench_inductor")._functions()) == set(cases)
