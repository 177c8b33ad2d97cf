"""Options of the NPU runtime; the host keeps them and uses none."""


class Options:
    """Attributes that may be set freely; an option group appears when it is asked for."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        group = Options() if name.endswith("_config") or name == "experimental" else None
        setattr(self, name, group)
        return group


_GLOBAL = Options()


def global_options():
    """The options of this process."""
    return _GLOBAL
