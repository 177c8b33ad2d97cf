"""Kernels of dumps on random numbers: right ones pass, wrong ones and unknown ones are told."""

import os

import numpy as np
import pytest

from tf_autofuse.autofuse import kernels
from tf_autofuse.cli import main as cli
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import DataType, Format
from tf_autofuse.verify import graph_pairs, numeric
from tf_autofuse.verify.compare import difference

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")
FP32 = TensorDesc([40, -1], Format.FORMAT_ND, DataType.DT_FLOAT)
INT = TensorDesc([40, -1], Format.FORMAT_ND, DataType.DT_INT32)


def pair(*chain, desc=FP32):
    """Graphs with a chain of two-input (Add, Mul, FloorDiv, Sub) and one-input operators."""
    made = GraphBuilder("g")
    made.add_op("x", "Data", outputs=[desc])
    made.add_op("y", "Data", outputs=[desc])
    last = "x"
    for number, kind in enumerate(chain):
        second = [("y", 0)] if kind in ("Add", "Mul", "Sub", "FloorDiv") else []
        made.add_op("n%d" % number, kind, inputs=[(last, 0)] + second, outputs=[desc])
        last = "n%d" % number
    made.add_op("out", "NetOutput", inputs=[(last, 0)])
    names = ["n%d" % number for number in range(len(chain))]
    after = GraphBuilder("g")
    after.add_op("x", "Data", outputs=[desc])
    after.add_op("y", "Data", outputs=[desc])
    attrs = {"op_names": names, "op_types": list(chain), "kernel_key": "0"}
    after.add_op("f", "AutofusedKernel", inputs=[("x", 0), ("y", 0)], outputs=[desc], attrs=attrs)
    after.add_op("out", "NetOutput", inputs=[("f", 0)])
    return made.build()._graph, after.build()._graph


@pytest.mark.parametrize("folder", ("rewrite_ctrl", "rewrite_abs_relu_exp"))
def test_dumps_of_a_real_ge(folder):
    (found,) = graph_pairs(os.path.join(DUMPS, folder))
    (check,) = numeric.check_numbers(found.before, found.after)
    assert (check.trials, check.problem) == (2, "") and 0 < check.worst_ulp <= 1
    assert "0123456789abcdef" in check.note  # the key in that dump is nobody's


@pytest.mark.parametrize(
    "chain, desc",
    ((("Sub", "Exp", "Mul"), FP32), (("Abs", "FloorDiv"), INT), (("Neg", "Add"), INT)),
)
def test_right_kernels_pass_with_unknown_sizes_and_whole_numbers(chain, desc):
    (check,) = numeric.check_numbers(*pair(*chain, desc=desc), seed=3)
    assert (check.trials, check.problem) == (2, "")


def test_a_wrong_kernel_is_told(monkeypatch):
    """The library of (x + y) * y in the place of (x - y) * y."""
    plans = []
    original = kernels.plan_kernel
    monkeypatch.setattr(kernels, "plan_kernel",
                        lambda *how: plans.append(original(*how)) or plans[0])
    assert numeric.check_numbers(*pair("Add", "Mul"))[0].problem == ""
    (check,) = numeric.check_numbers(*pair("Sub", "Mul"))
    assert check.problem.startswith("library of n1: ")


def test_unknown_operators_are_cut_out_and_said_so():
    (check,) = numeric.check_numbers(*pair("Abs", "MyCustomOp"))
    assert check.trials == 0 and check.problem == ""
    assert check.note == "not run: unknown operators are cut out: MyCustomOp"


def test_the_command(capsys):
    folder = os.path.join(DUMPS, "rewrite_ctrl")
    assert cli.main(["verify", folder, "--numeric", "--json"]) == 0
    assert '"trials": 2' in capsys.readouterr().out
    assert cli.main(["verify", folder, "--numeric", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    assert "2 trials, at most 0." in out and out.endswith("0 problems, 4 files\n")
    assert cli.main(["verify", folder]) == 0 and "numbers" not in capsys.readouterr().out


def compare(got, expected, exact, dtype="float32"):
    as_dtype = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    return difference(
        np.array(got, as_dtype), np.array(expected, as_dtype), np.array(exact), dtype
    )[0]


def test_the_rule():
    nan, inf = np.nan, np.inf
    assert compare([1, nan, inf], [1, nan, inf], [1, nan, inf]) == ""
    assert "2 of 3" in compare([nan, 1, 5], [1, nan, 5], [1, nan, 5])
    assert "differ" in compare([-inf], [inf], [inf])
    # An overflow of the operators on the way is not the kernel's to repeat.
    assert compare([7], [inf], [7.0], "float16") == ""
    assert compare([1 + 1e-7], [1], [1.0]) == ""
    assert "off by" in compare([1 + 1e-6], [1], [1.0])
    # As wrong as the operators one by one is right enough.
    assert compare([1 + 1e-6], [1 - 1e-6], [1.0]) == ""
    assert compare([3], [4], [3], "int32") == "1 of 1 elements differ"
    assert "shape" in compare([1, 2], [1], [1.0])
    assert compare([0x3F80], [0x3F80], [1.0], "bfloat16") == ""
    assert "off by" in compare([0x3F84], [0x3F80], [1.0], "bfloat16")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="longdouble is a double here")
def test_float64_is_compared_with_a_wider_reference():
    desc = TensorDesc([40, 9], Format.FORMAT_ND, DataType.DT_DOUBLE)
    for chain in (("Sub", "Exp", "Mul"), ("Tanh", "Add"), ("Sigmoid", "Log", "Mul")):
        (check,) = numeric.check_numbers(*pair(*chain, desc=desc))
        assert (check.trials, check.problem) == (2, "") and check.worst_ulp > 0
    exact = np.longdouble([1]) / 3
    near = exact.astype(np.float64)
    assert difference(near, near, exact, "float64")[0] == ""
    assert difference(near + 4 * np.spacing(near), near, exact, "float64")[0]
    assert difference(near + 4 * np.spacing(near), near, near, "float64")[0] == ""
