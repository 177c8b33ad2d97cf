"""Run configuration of the adapter: NPU settings are kept, TensorFlow's go to its own RunConfig."""

import enum
import inspect

from npu_bridge.estimator.npu._estimator_api import estimator_class


class _Settings:
    """Keyword settings kept as attributes."""

    def __init__(self, *args, **kwargs):
        self.args = args
        self.__dict__.update(kwargs)


class ProfilingConfig(_Settings):
    """What the NPU profiler would record."""


class MemoryConfig(_Settings):
    """How the NPU would divide its memory."""


class DumpConfig(_Settings):
    """What the NPU would dump while running."""


class DynamicInputConfig(_Settings):
    """How the NPU would treat changing input shapes."""


class ExperimentalConfig(_Settings):
    """Settings on trial."""


class GraphMemoryOptimizeConfig(_Settings):
    """How the NPU would trade memory for time."""


class NpuExecutePlacement(enum.Enum):
    """The part of the chip a scope would run on."""

    ALL = "all"
    CUBE = "cube"
    VECTOR = "vector"
    TAISHAN = "taishan"
    DVPP = "dvpp"
    HOST = "host"


_RunConfig = estimator_class("RunConfig")


class NPURunConfig(_RunConfig):
    """TensorFlow's RunConfig that also takes NPU settings; those are in ``npu_settings``."""

    def __init__(self, *args, **kwargs):
        known = set(inspect.signature(_RunConfig.__init__).parameters)
        own = {name: value for name, value in kwargs.items() if name in known}
        super().__init__(*args, **own)
        self.npu_settings = {name: value for name, value in kwargs.items() if name not in known}
