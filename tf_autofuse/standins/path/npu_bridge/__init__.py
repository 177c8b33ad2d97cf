"""Host stand-in of the TF1 adapter package: NPU scripts run on the CPU, fused by tf_autofuse."""

from npu_bridge.estimator.npu import npu_estimator
from npu_bridge.hccl import hccl_ops
from npu_bridge.helper import helper
from npu_bridge.helper.helper import version

__version__ = version
__all__ = ["hccl_ops", "helper", "npu_estimator", "version"]
