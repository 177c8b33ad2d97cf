"""A slice of scripts/twin_sweep.py: every third pattern, a few random clusters, some bundles."""
import importlib.util
import json
import os

import pytest
from sweep.clusters import random_cases
from sweep.patterns import PATTERNS, case, softmax
from sweep.runner import Sweep

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.kernel.text import print_kernel
from tf_autofuse.loop.text import parse_loop
from tf_autofuse.schedule import schedule

CHIP = "Ascend910B"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOVES = """loop {
in0: float32
in1: float32
out0: float32
axes m0 m1
%0 = load in0 [m1, m0] moved : float32
%1 = inside 0 m1 : bool
%2 = inside 1 m1 : bool
%3 = load in1 [m0~, m1] moved when %2 : float32
%4 = abs %0 : float32 [m0, m1]
%5 = select %1 %4 %3 : float32 [m0, m1]
store out0 [m0, m1] %5
}"""


@pytest.mark.parametrize("pattern", PATTERNS[::3], ids=lambda pattern: pattern.__name__)
def test_pattern(pattern):
    sweep = Sweep(case(pattern, "float32"), CHIP)
    for shape in ("odd", "one row", "empty"):
        outcome = sweep.run(shape)
        assert outcome.right, outcome
        assert outcome.sparing, outcome


def test_a_column_is_read_as_a_row_where_whole_blocks_are_copied():
    outcome = Sweep(case(softmax, "float16"), "Ascend310P").run("one column")
    assert outcome.right and outcome.sparing, outcome


def test_random_clusters():
    for found in random_cases(3):
        outcome = Sweep(found, CHIP).run("odd")
        assert outcome.right, outcome


def bundle(folder, text):
    """A bundle as the pass writes it, as far as the sweep reads it."""
    folder.mkdir()
    (folder / "kernel.json").write_text(json.dumps({"key": folder.name * 8, "soc": CHIP}))
    (folder / "kernel.cpp").write_text("")
    (folder / "kernel.txt").write_text(text)


def test_kernels_of_bundles(tmp_path, capsys):
    path = os.path.join(ROOT, "scripts", "twin_sweep.py")
    spec = importlib.util.spec_from_file_location("twin_sweep", path)
    twin_sweep = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin_sweep)
    kernel = schedule(parse_loop(MOVES), CHIP)
    assert "LoadApart" in print_ascendc(kernel, CHIP).text
    bundle(tmp_path / "ab", print_kernel(kernel))
    assert twin_sweep.main(["--bundles", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("requests") == len(twin_sweep.bundles.SIZES)
    bundle(tmp_path / "cd", "no kernel")
    assert twin_sweep.main(["--bundles", str(tmp_path), "--faults"]) == 1
    assert capsys.readouterr().out.count("no kernel") == 1
