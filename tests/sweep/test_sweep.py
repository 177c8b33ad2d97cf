"""A slice of scripts/twin_sweep.py: every third pattern, a few random clusters."""
import pytest
from sweep.clusters import random_cases
from sweep.patterns import PATTERNS, case
from sweep.runner import Sweep

CHIP = "Ascend910B"


@pytest.mark.parametrize("pattern", PATTERNS[::3], ids=lambda pattern: pattern.__name__)
def test_pattern(pattern):
    sweep = Sweep(case(pattern, "float32"), CHIP)
    for shape in ("odd", "one row", "empty"):
        outcome = sweep.run(shape)
        assert outcome.right, outcome
        assert outcome.sparing, outcome


def test_random_clusters():
    for found in random_cases(3):
        outcome = Sweep(found, CHIP).run("odd")
        assert outcome.right, outcome
