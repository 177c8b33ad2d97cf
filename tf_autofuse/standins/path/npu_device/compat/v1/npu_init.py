"""The TF1 adapter's names under the TF2 adapter's path."""

from npu_bridge.npu_init import *  # noqa: F401,F403
