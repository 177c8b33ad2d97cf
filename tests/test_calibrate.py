"""Calibration against a stand-in timer: what it fits, writes, and what reads it."""
import json

import pytest

from tf_autofuse.errors import ScheduleError
from tf_autofuse.platforms import PLATFORM_DIR, PLATFORMS, platform
from tf_autofuse.tiling.calibrate import PROBES, calibrate, fit, to_json

CHIP = PLATFORMS["Ascend910B"]
HEADS = {probe: 20.0 + number for number, probe in enumerate(PROBES.values())}


def timer(probe, dtype, nbytes):
    """Nanoseconds of a chip with known costs: 2 cycles a register, 3 in float16, copies 32 B."""
    if probe in ("load", "store"):
        cycles = 100.0 + nbytes / 32.0
    else:
        cycles = HEADS[probe] + nbytes / 256.0 * (3.0 if dtype == "float16" else 2.0)
    return cycles * 1000.0 / CHIP.clock_mhz


def test_known_costs_are_found():
    row = calibrate(CHIP, timer)
    for name, probe in PROBES.items():
        cost = row.costs[name]
        assert (cost.head, cost.rate, cost.rate16) == pytest.approx((HEADS[probe], 2.0, 3.0))
    assert (row.load.head, row.load.rate) == pytest.approx((100.0, 32.0))
    assert row.ub_bytes == CHIP.ub_bytes


def test_noise_of_one_percent_stays_small():
    signs = iter([1, -1] * 500)
    row = calibrate(CHIP, lambda *probe: timer(*probe) * (1 + 0.01 * next(signs)))
    assert row.costs["exp"].rate == pytest.approx(2.0, rel=0.05)
    assert row.store.rate == pytest.approx(32.0, rel=0.05)


def test_what_cannot_be_measured_stays():
    row = calibrate(CHIP, lambda probe, dtype, size: None if probe in ("tanh", "load") or
                    dtype == "float16" else timer(probe, dtype, size))
    assert row.costs["math"] == CHIP.costs["math"] and row.load == CHIP.load
    assert row.costs["exp"].rate == pytest.approx(2.0)
    assert row.costs["exp"].rate16 == CHIP.costs["exp"].rate16


def test_a_flat_copy_and_falling_times_give_no_nonsense():
    row = calibrate(CHIP, lambda probe, dtype, size: 5.0 + 1.0 / size)
    assert row.load == CHIP.load
    assert all(cost.rate == 0.0 and cost.head > 0 for cost in row.costs.values())
    with pytest.raises(ValueError, match="two byte counts"):
        fit([(256.0, 1.0), (256.0, 2.0)])


def test_a_written_row_is_used(tmp_path, monkeypatch):
    row = calibrate(CHIP, timer)
    (tmp_path / "Ascend910B.json").write_text(to_json(row, "a stand-in"))
    assert platform("Ascend910B") is CHIP
    monkeypatch.setenv(PLATFORM_DIR, str(tmp_path))
    assert platform("Ascend910B").costs == row.costs
    assert platform("Ascend910B").load == row.load
    assert platform("Ascend310P") is PLATFORMS["Ascend310P"]


@pytest.mark.parametrize(
    "change, says",
    [
        ({"name": "Ascend950"}, "calibration of Ascend950"),
        ({"costs": {"nonsense": [1, 2, 3]}}, "no such cost: nonsense"),
        ({"costs": {"exp": [1, -2, 3]}}, "negative"),
        ({"load": [1, 0]}, "without a rate"),
        ({"store": None}, "Ascend910B.json"),
    ],
)
def test_a_bad_row_is_an_error_that_names_the_file(tmp_path, monkeypatch, change, says):
    values = dict(json.loads(to_json(CHIP, "a stand-in")), **change)
    (tmp_path / "Ascend910B.json").write_text(json.dumps(values))
    monkeypatch.setenv(PLATFORM_DIR, str(tmp_path))
    with pytest.raises(ScheduleError, match=says) as error:
        platform("Ascend910B")
    assert "Ascend910B.json" in str(error.value)
