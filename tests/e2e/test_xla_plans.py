"""scripts/xla_plans.py: what it reads out of HLO, and that our plans are not larger."""
import os
import sys

import pytest
from harness import MODERN

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not MODERN, reason="XLA shows no HLO")]

HLO = """HloModule sample, is_scheduled=true

%fused_computation (param_0: f32[4,8]) -> f32[4,8] {
  ROOT %a = f32[4,8]{1,0} abs(%param_0)
}

ENTRY %main (x: f32[4,8], y: f16[8]) -> (f32[4], pred[]) {
  %x = f32[4,8]{1,0} parameter(0), metadata={op_name="x"}
  %y = f16[8]{0} parameter(1)
  %zero = f32[] constant(0)
  %fusion.1 = f32[4,8]{1,0} fusion(%x, %y), kind=kLoop, calls=%fused_computation
  %both = (f32[4]{0}, pred[]) fusion(%fusion.1, %zero), kind=kInput, calls=%fused_computation
  %first = f32[4]{0} get-tuple-element(%both), index=0
  ROOT %t = (f32[4]{0}, pred[]) tuple(%first, %both)
}
"""


def test_kernels_and_bytes_of_hlo():
    from xla_plans import xla_plan

    assert tuple(xla_plan(HLO)) == (2, (128 + 128 + 16) + (128 + 4 + 16 + 1))


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the HLO of older TensorFlow differs")
@pytest.mark.parametrize("name", ["huber_loss", "softmax_backward"])
def test_ours_is_not_more(name):
    from xla_plans import compare

    row = compare(name, 64, 1000, "float32")
    assert row["kernels"] == 1 and row["xla_kernels"] > 1 and not row["more"]
