"""The chip table: every row is complete, and unknown names are answered with the known ones."""
import pytest

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.vector import VECTOR_OPS
from tf_autofuse.platforms import PLATFORMS, platform


@pytest.mark.parametrize("name", sorted(PLATFORMS))
def test_rows_are_complete(name):
    chip = platform(name)
    assert chip.name == name
    assert chip.ub_bytes % chip.block_bytes == 0 and chip.ub_bytes < 256 * 1024
    assert chip.vector_cores >= 8
    for op in VECTOR_OPS:
        cost = chip.cost(op)
        assert cost.head > 0 and 0 < cost.per_element(4) < 2
        assert cost.rate16 >= cost.rate or cost.rate16 == 1.0


def test_architectures_and_what_they_lack():
    assert {p.npu_arch for p in PLATFORMS.values()} == {2201, 3510, 2002}
    assert "bfloat16" not in platform("Ascend310P").dtypes
    assert platform("Ascend310P").sync_cycles == 0 < platform("Ascend910B").sync_cycles


def test_costs_are_in_order():
    chip = platform("Ascend910B")
    assert chip.cost("adds").rate < chip.cost("add").rate < chip.cost("exp").rate
    assert chip.cost("lts") is chip.cost("ge") is chip.costs["compare"]
    assert chip.cost("erf").rate > chip.cost("tanh").rate > chip.cost("div").rate


def test_unknown_names_list_the_known():
    with pytest.raises(ScheduleError, match="known: Ascend310P, Ascend910B, Ascend9"):
        platform("x")
    with pytest.raises(ScheduleError, match="did you mean Ascend910B"):
        platform("Ascend910b")
