"""A slice of scripts/twin_sweep.py: every third pattern, a few random clusters, some bundles."""
import importlib.util
import json
import os

import pytest
from sweep.clusters import random_cases
from sweep.patterns import (
    PATTERNS,
    adam,
    batch_norm_training,
    case,
    instance_norm,
    layer_norm,
    log_softmax,
    row_and_column_sums,
    softmax,
    softmax_cross_entropy_mean,
    transposed_sum,
)
from sweep.runner import RELATIVE, Sweep, is_kernel_on

from tf_autofuse.build import compile_many
from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.codegen.host import print_host
from tf_autofuse.kernel.text import kernel_key, print_kernel
from tf_autofuse.loop.text import parse_loop
from tf_autofuse.platforms import PLATFORMS
from tf_autofuse.runtime.twin import build_together
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

# What is left of a roll where a part of it has no points.
PART_OF_NOTHING = """loop {
in0: float32
in1: float32
out0: float32
axes m0
%0 = inside 0 m0 : bool
%1 = load in0 [] moved when %0 : float32
%2 = load in1 [] moved when %0 : float32
%3 = select %0 %1 %2 : float32 [m0]
store out0 [m0] %3
}"""

# Casts of what the type cannot hold, which x86 and the chip do not do alike.
CAST_OF_NAN = """loop {
in0: float32
out0: int32
out1: float32
axes m0 m1
%0 = load in0 [m0, m1] : float32
%1 = log %0 : float32 [m0, m1]
%2 = cast %1 : int32 [m0, m1]
%3 = cast %2 : float32 [m0, m1]
%4 = add %3 %0 : float32 [m0, m1]
store out0 [m0, m1] %2
store out1 [m0, m1] %4
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


STATIC = [case(pattern, "float32") for pattern in (
    log_softmax, layer_norm, batch_norm_training, instance_norm, adam, transposed_sum,
    row_and_column_sums, softmax_cross_entropy_mean)]
STATIC += random_cases(2)
UNIT = ("one row", "one column")


@pytest.mark.parametrize("chip", sorted(PLATFORMS))
def test_kernels_of_one_static_shape(chip):
    cases = [found for found in STATIC if is_kernel_on(chip, found)]
    assert len(cases) > 5
    sweeps = [(Sweep(found, chip, shape), shape) for found in cases for shape in UNIT]
    sweeps += [(Sweep(cases[0], chip, shape), shape) for shape in ("odd", "empty", "large")]
    build_together([(sweep.source.text, sweep.source.entry) for sweep, _ in sweeps])
    for sweep, shape in sweeps:
        outcome = sweep.run(shape)
        assert outcome.right and outcome.sparing, outcome


def test_the_text_of_a_static_shape_has_its_sizes_inside():
    found = case(softmax, "float32")
    texts = [Sweep(found, CHIP, shape).source.text for shape in UNIT]
    assert [text.count("GET_TILING_DATA") for text in texts] == [0, 0]
    assert ", 777, " in texts[0] and ", 129, " in texts[1]
    # One axis: what is 1 is none.
    assert ["axes m0\n" in text for text in texts] == [True, True]


def test_static_shapes_on_the_cpu():
    sweeps = [(Sweep(found, CHIP, shape), shape) for found in STATIC
              for shape in UNIT + ("odd", "empty")]
    kernels = {kernel_key(sweep.kernel): sweep.kernel for sweep, _ in sweeps}
    compile_many([(key, print_host(kernel)) for key, kernel in kernels.items()])
    for sweep, shape in sweeps:
        assert sweep.run_on_cpu(shape) <= RELATIVE[sweep.case.dtype], (sweep.case.name, shape)


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
    for name, loop in (("ef", PART_OF_NOTHING), ("01", CAST_OF_NAN)):
        bundle(tmp_path / name, print_kernel(schedule(parse_loop(loop), CHIP)))
    assert twin_sweep.main(["--bundles", str(tmp_path)]) == 0
    capsys.readouterr()
    bundle(tmp_path / "cd", "no kernel")
    assert twin_sweep.main(["--bundles", str(tmp_path), "--faults"]) == 1
    assert capsys.readouterr().out.count("no kernel") == 1
