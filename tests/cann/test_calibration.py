"""`tf-autofuse profile --calibrate` on a stand-in for the device, and on the host."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from acl_stand_in import Acl

from tf_autofuse import flags
from tf_autofuse.calibration import device, probes
from tf_autofuse.calibration.device import Device, DeviceRunner
from tf_autofuse.cli.main import main
from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.errors import AutofuseError, BuildError
from tf_autofuse.loop import interp
from tf_autofuse.platforms import PLATFORM_DIR, PLATFORMS, CopyCost, Cost, platform
from tf_autofuse.runtime.twin import run_twin

CHIP = PLATFORMS["Ascend910B"]
SLOWER = replace(
    CHIP,
    costs={
        name: Cost(1.5 * cost.head, 1.5 * cost.rate, 1.5 * cost.rate16)
        for name, cost in CHIP.costs.items()
    },
    load=CopyCost(1.5 * CHIP.load.head, CHIP.load.rate / 1.5),
    store=CopyCost(1.5 * CHIP.store.head, CHIP.store.rate / 1.5),
)  # fmt: skip


@pytest.fixture
def on_device(monkeypatch, tmp_path):
    """A function that puts a stand-in for pyACL in place."""
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path))
    monkeypatch.setattr(device, "require_bisheng", lambda: "bisheng")

    def put(soc="Ascend910B2", **fails):
        acl = Acl(SLOWER, soc, fails)
        monkeypatch.setitem(sys.modules, "acl", acl)
        return acl

    yield put
    flags.set_overrides(None)


def test_a_chip_of_known_costs_is_measured_and_used(on_device, monkeypatch, tmp_path, capsys):
    wanted = ("adds", "exp", "lt", "select", "erf", "load", "store")
    monkeypatch.setattr(probes, "MEASURED", wanted)
    acl = on_device()
    assert main(["profile", "--calibrate", "-o", str(tmp_path / "rows")]) == 0
    assert not acl.memory and not acl.open
    out = capsys.readouterr().out
    assert "measured on Ascend910B2" in out and "host" not in out
    assert "{} is {}".format(PLATFORM_DIR, tmp_path / "rows") in out
    monkeypatch.setenv(PLATFORM_DIR, str(tmp_path / "rows"))
    row = platform("Ascend910B")
    for name in ("scalar", "exp", "compare", "select", "long_math"):
        want = SLOWER.costs[name]
        assert (row.costs[name].head, row.costs[name].rate) == pytest.approx(
            (want.head, want.rate), rel=2e-3), name  # fmt: skip
    assert row.costs["select"].rate16 == pytest.approx(SLOWER.costs["select"].rate16, rel=2e-3)
    for name in ("unary", "fill", "lane_reduce"):
        assert row.costs[name] == CHIP.costs[name]
    assert (row.load.head, row.load.rate) == pytest.approx(
        (SLOWER.load.head, SLOWER.load.rate), rel=2e-3)  # fmt: skip
    assert row.store.rate == pytest.approx(SLOWER.store.rate, rel=0.02)
    assert row.store.head == pytest.approx(SLOWER.store.head, abs=4)


def test_what_is_launched_runs_on_the_twin(on_device):
    acl = on_device()
    flags.set_overrides({"soc": CHIP.name})
    with Device() as opened:
        runner = DeviceRunner(CHIP, opened)
        runner.prepare(["load"])
        assert runner("load", "float32", 1024) > 0
    folder, kernel, count, arguments = acl.launched
    assert count == 256 and len(arguments) == len(kernel.loop.inputs) + 3
    arrays = [np.full(count, probes.START, np.float32) for _ in kernel.loop.inputs]
    (want,) = interp.run(kernel.loop, arrays, {kernel.loop.axes[0]: count})
    text = print_ascendc(kernel, CHIP)
    with open(folder + "/kernel.cpp") as file:
        assert file.read() == text.text
    result = run_twin(
        text.text, text.entry, arrays, [((count,), "float32")], arguments[-1], 1, CHIP
    )
    np.testing.assert_allclose(result.outputs[0], want, rtol=1e-5)


def test_a_call_that_fails_is_named_and_nothing_stays(on_device, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(probes, "MEASURED", ("abs",))
    for call in ("create_event", "malloc", "launch_kernel_with_config"):
        acl = on_device(**{call: 207001})
        assert main(["profile", "--calibrate", "-o", str(tmp_path)]) == 2
        assert "acl.rt.{} failed with 207001".format(call) in capsys.readouterr().err
        assert not acl.memory and not acl.open
    assert not list(tmp_path.glob("*.json"))


def test_another_chip_or_no_compiler_is_told(on_device, monkeypatch, capsys):
    acl = on_device("Ascend310P3")
    assert main(["profile", "--calibrate", "--soc", "Ascend910B2"]) == 2
    assert "the device is an Ascend310P3, not an Ascend910B" in capsys.readouterr().err
    assert not acl.open
    monkeypatch.setitem(sys.modules, "acl", None)
    with pytest.raises(AutofuseError, match="pyACL cannot be imported"):
        Device()


def test_probes_that_do_not_build_are_left_out(on_device, monkeypatch):
    on_device()
    flags.set_overrides({"soc": CHIP.name})
    refused = []

    def build(self, plan):
        if not refused or everything:
            refused.append(plan)
            raise BuildError("refused")
        return "folder"

    monkeypatch.setattr(DeviceRunner, "build", build)
    with Device() as opened:
        runner, everything = DeviceRunner(CHIP, opened), False
        runner.prepare(["sqrt"])
        assert len(refused) == 1 and runner("sqrt", "float32", 256) is None
        assert runner("tanh", "float32", 256) is None and runner("sqrt", "float16", 256) is None
        everything = True
        with pytest.raises(BuildError, match="refused"):
            runner.prepare(["sqrt"])


def test_the_host_says_that_it_is_no_chip(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("ASCEND_OPP_PATH", raising=False)
    monkeypatch.setattr(probes, "MEASURED", ("adds", "load"))
    words = ["profile", "--calibrate", "--soc", "Ascend310P3", "--json", "-o", str(tmp_path)]
    assert main(words) == 1
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["name"] == "Ascend310P" and "not a chip" in found["measured_on"]
    assert "does not describe an Ascend310P" in captured.err
    chip = PLATFORMS["Ascend310P"]
    assert found["before"]["load"] == [chip.load.head, chip.load.rate]
    assert found["after"]["scalar"] != found["before"]["scalar"]
    assert found["after"]["math"] == found["before"]["math"]
    written = json.loads((tmp_path / "Ascend310P.json").read_text())
    assert written["measured_on"] == found["measured_on"]
    monkeypatch.setenv(PLATFORM_DIR, str(tmp_path))
    assert platform("Ascend310P").costs["scalar"].rate == written["costs"]["scalar"][1]


def test_a_row_without_costs_and_times_that_fall_do_no_harm(on_device, monkeypatch):
    nothing = replace(CHIP, costs=dict.fromkeys(CHIP.costs, Cost(0, 0, 0)))
    on_device()
    flags.set_overrides({"soc": CHIP.name})
    with Device() as opened:
        runner = DeviceRunner(nothing, opened)
        monkeypatch.setattr(DeviceRunner, "build", lambda self, plan: "")
        runner.prepare(["lt", "select", "adds", "exp"])

        def by_length(self, built, tiling, count):
            loop = built.kernel.loop
            return len(loop.body) * (1 if len(loop.inputs) == 2 else -1)

        monkeypatch.setattr(DeviceRunner, "time", by_length)
        assert runner("lt", "float32", 256) == runner("select", "float32", 256) > 0
        assert runner("adds", "float32", 256) < 0 and runner("exp", "float32", 256) == -2.0


@pytest.mark.parametrize("chip", PLATFORMS.values(), ids=lambda chip: chip.name)
@pytest.mark.parametrize("probe", probes.MEASURED)
def test_a_probe_differs_by_what_it_measures_only(chip, probe):
    from tf_autofuse.schedule import schedule

    short, long = (
        schedule(probes.probe_loop(probe, "float32", length), chip)
        for length in probes.lengths(probe)
    )
    more = probes.lengths(probe)[1] - probes.lengths(probe)[0]
    few, many = (probes.classes(kernel, chip) for kernel in (short, long))
    if probe in probes.COPIES:
        tensors = [len(k.loop.inputs) + len(k.loop.outputs) for k in (short, long)]
        assert tensors[1] - tensors[0] == more
        assert sum(many.values()) - sum(few.values()) == more
    else:
        own = chip.cost_class(probe)
        assert (many[own] - few[own]) % more == 0 and set(many) == set(few)
    count = probes.elements(probe, "float32", 16384)
    assert probes.one_tile(long, chip, count) and not probes.one_tile(long, chip, 1 << 20)
    inputs = [np.full(4, probes.START, np.float32) for _ in long.loop.inputs]
    (out, *_) = interp.run(long.loop, inputs, {long.loop.axes[0]: 4})
    assert np.all(np.isfinite(out)) and np.all(np.abs(out) > 1e-3)
