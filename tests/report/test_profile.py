"""Fused against unfused: totals over one range, and rows under msprof's names."""

import pytest

from tf_autofuse.frontend.tensorflow.op_times import OpTime
from tf_autofuse.report import profile
from tf_autofuse.report.profile import COLUMNS, HOST_COLUMNS, Measured, compare, rows


def op(name, kind, duration, start=0.0):
    return OpTime(name, kind, start, duration, 7)


def kernel(name, *ops):
    tensor = {"name": "x", "dtype": "float32", "shape": [4, None]}
    return {"name": name, "op_names": list(ops), "inputs": [tensor], "outputs": [tensor] * 2,
            "gm_bytes": 6000}  # fmt: skip


UNFUSED = Measured(
    [op("a", "Abs", 10.0), op("call/b/unary_ops_composition", "_UnaryOpsComposition", 20.0),
     op("x/a", "Abs", 3.0), op("m", "MatMul", 40.0), op("w", "While", 99.0), op("a", "Abs", 10.0)],
    [])  # fmt: skip
FUSED = Measured(
    [op("call/f0", "AutofusedKernel", 12.0), op("m", "MatMul", 41.0), op("x/a", "Abs", 3.0)],
    [kernel("never_run", "m"),
     kernel("f0", "a", "b/unary_ops_composition/Exp_0", "b/unary_ops_composition/Log_1")],
)  # fmt: skip


def test_totals_go_over_the_same_range():
    everything, inside, f0 = compare(UNFUSED, FUSED)
    # Not the While, whose time is that of its body.
    assert (everything.before, everything.after) == (83.0, 56.0)
    assert everything.ratio == pytest.approx((83.0 - 56.0) / 83.0)
    # "a" is there by its full name, so "x/a" is another operator; the chain at "b" is
    # inlined as "call/b...".
    assert f0 == ("f0", 40.0, 12.0, 3, 1) and f0.to_dict()["ratio"] == pytest.approx(0.7)
    assert inside[1:] == f0[1:]
    assert compare(Measured([], []), Measured([], []))[0].ratio is None


def test_rows_have_the_columns_of_msprof():
    found = list(rows(FUSED, bytes_per_us=1000.0))
    assert all(set(row) == set(COLUMNS + HOST_COLUMNS) for row in found)
    first, second = found[:2]
    assert first["Op Name"] == "call/f0" and first["OP Type"] == "AutofusedKernel"
    assert first["Task Duration(us)"] == "12.000" and first["OP State"] == "dynamic"
    assert first["Input Shapes"] == "4,?" and first["Output Data Types"] == "float32;float32"
    assert [first[name] for name in HOST_COLUMNS] == [6000, "6.000", "0.500"]
    # What only a device measures is never made up.
    for row in found:
        assert {row[name] for name in COLUMNS if name.startswith("aiv_")} == {"N/A"}
    assert second[HOST_COLUMNS[0]] == "N/A" and second["Task ID"] == 1


def test_the_names_that_users_of_msprof_know():
    assert {"Op Name", "OP Type", "Task Duration(us)", "aiv_mte2_time(us)", "aiv_mte3_time(us)",
            "aiv_vec_time(us)"} <= set(COLUMNS)  # fmt: skip
    assert profile.RATIO_NAME == "融合提升比"
