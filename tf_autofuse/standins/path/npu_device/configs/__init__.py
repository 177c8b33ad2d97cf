"""Options of the NPU runtime: the names and values the adapter takes. The host uses none of them.

An option is set as an attribute. A name that does not exist, or a value that is not allowed, is an
error that says what is.
"""

import difflib

from npu_device.configs import experimental
from npu_device.configs.tables import EXPERIMENTAL, GLOBAL

__all__ = ["experimental", "global_options", "run_context_options"]


class Options:
    """A group of options. ``allowed`` maps a name to its values (None: anything) or to a group."""

    def __init__(self, label, allowed):
        fields = {"_label": label, "_allowed": allowed, "_values": {}}
        self.__dict__.update(fields)
        for name, values in allowed.items():
            if isinstance(values, dict):
                self._values[name] = Options("{}.{}".format(label, name), values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._check_name(name)
        return self._values.get(name)

    def __setattr__(self, name, value):
        self._check_name(name)
        allowed = self._allowed[name]
        if isinstance(allowed, dict):
            raise ValueError("{}.{} is a group of options".format(self._label, name))
        if allowed is not None and value not in allowed:
            text = "{}.{} is {!r}: allowed is one of {}"
            raise ValueError(text.format(self._label, name, value, ", ".join(map(repr, allowed))))
        self._values[name] = value

    def __dir__(self):
        return sorted(self._allowed)

    def _check_name(self, name):
        if name not in self._allowed:
            near = difflib.get_close_matches(name, self._allowed, 1)
            hint = "did you mean {}?".format(near[0]) if near else "see dir()"
            raise ValueError("{} has no option {}: {}".format(self._label, name, hint))

    def as_dict(self):
        """The options that were set, by their names; those of groups among them."""
        found = {}
        for name, value in self._values.items():
            found.update(value.as_dict() if isinstance(value, Options) else {name: value})
        return found


_GLOBAL = Options("global_options", GLOBAL)


def global_options():
    """The options of this process."""
    return _GLOBAL


def run_context_options():
    """Options for one ``npu_run_context``."""
    return Options("run_context_options", {"experimental": EXPERIMENTAL})
