"""Where the package keeps its data: in a checkout beside the package, installed inside it."""
import os

_MOST_TEXT = 64 << 20
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _data_dir(name: str) -> str:
    """The folder `name`: <package>/_data/<name> of an install, else the one of the checkout."""
    installed = os.path.join(_PACKAGE, "_data", name)
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(_PACKAGE), name)


def package_dir() -> str:
    """The folder of the `tf_autofuse` package."""
    return _PACKAGE


def passes_dir() -> str:
    """The GE pass plug-ins that come with the package (a value for ASCEND_GE_PY_PASS_PATH)."""
    return _data_dir("passes")


def csrc_dir() -> str:
    """The C++ sources and headers: core/, tf/, host/, ascendc_twin/."""
    return _data_dir("csrc")


def read_text(path: str) -> str:
    """A text file of at most 64 MiB, more than any that a person or this package writes.

    ValueError for a larger one, one without end, or what is no UTF-8; OSError when it cannot be
    read.
    """
    with open(path, "rb") as file:
        data = file.read(_MOST_TEXT + 1)
    if len(data) > _MOST_TEXT:
        raise ValueError("larger than {} MiB".format(_MOST_TEXT >> 20))
    return data.decode("utf-8")


def cache_dir() -> str:
    """The root of everything built at run time: AUTOFUSE_CACHE_DIR or ~/.cache/tf_autofuse.

    Read from the environment at every call. The folder need not exist. Where the user has no home,
    it is one that cannot be made, so that nothing lands in the working directory.
    """
    chosen = os.environ.get("AUTOFUSE_CACHE_DIR")
    if chosen:
        return os.path.abspath(chosen)
    home = os.path.expanduser("~")
    home = home if os.path.isabs(home) else os.path.join(os.devnull, "no home")
    return os.path.join(home, ".cache", "tf_autofuse")
