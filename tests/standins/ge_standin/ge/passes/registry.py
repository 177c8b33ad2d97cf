"""Registered passes: names and class keys are unique."""
import inspect
from collections import namedtuple

from .base import FusionBasePass

Descriptor = namedtuple("Descriptor", "name stage cls key")
_PASSES = {}


def register_fusion_pass(*, name, stage, kind=None):
    """Class decorator."""

    def decorate(cls):
        if not inspect.isclass(cls) or not issubclass(cls, FusionBasePass):
            raise TypeError("register_fusion_pass expects a FusionBasePass subclass")
        key = "{}:{}:{}".format(cls.__module__, cls.__name__, name)
        if name in _PASSES:
            raise ValueError("python pass name already exists: {}".format(name))
        stage.value  # noqa: B018 - what is not an enumeration member fails here
        _PASSES[name] = Descriptor(name, stage, cls, key)
        return cls

    return decorate


def registered(stage):
    """Passes of a stage."""
    return [item for item in _PASSES.values() if item.stage == stage]
