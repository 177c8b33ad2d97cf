"""Lets code forms that begin at a size, or at a number of values, begin early.

Streaming stores, several phases, groups of rows, tiles and the forms for many pieces are for large
tensors; with low limits a random graph of a few elements reaches them and their borders. The limits
of the printers are names of tf_autofuse.codegen, those of the C++ are in a copy of its headers.
"""
import contextlib
import os
import random
import re
import shutil
import sys
from unittest import mock

from tf_autofuse import build, paths
from tf_autofuse.autofuse import kernels
from tf_autofuse.frontend.tensorflow import optimizer

# Values that may take the place of a limit; None: as it is.
NAMES = {
    "STREAM_COST": (None, 100.0),
    "STREAM_VALUES": (None, 1, 3),
    "GROUP_ROWS": (None, 1, 2, 3),
    "GROUP_VALUES": (None, 0, 1, 1000),
    "MOST_REPEATED": (None, 0, 1),
    "MANY_PIECES": (None, 1, 2),
    "MOST_COPIES": (None, 1, 30),
    "SHORT_RUN": (None, 0, 3, 9),
    "SHORT_COSTLY_RUN": (None, 0, 3),
    "FEW": (None, 0, 4, 16),
    "FEW_COSTLY": (None, 0, 4),
    "WIDE_ROW": (None, 0, 4, 17),
    "MOST_FOUND": (None, 0, 1),
    "_BLOCK_VALUES": (None, 0, 100),
}
# (header, text, what may take its place)
TEXTS = (
    ("cut.h", "thread_ns = 40000", ("thread_ns = 1", "thread_ns = 50")),
    ("cut.h", "s.first >= 16 * pieces", (None, "s.first >= pieces", "s.first >= 2 * pieces")),
    ("cut.h", "s.reduces ? 128 : 1024", (None, "s.reduces ? 1 : 16")),
    ("cut.h", "CROSS_ROWS = 16", (None, "CROSS_ROWS = 1", "CROSS_ROWS = 3")),
    ("cut.h", "MAX_TILE = 4096", (None, "MAX_TILE = 64", "MAX_TILE = 128")),
    ("cut.h", "SHORT_PIECE = 256", (None, "SHORT_PIECE = 3")),
    ("cut.h", "FEW_BESIDE = 255", ("FEW_BESIDE = 0", "FEW_BESIDE = 2", "FEW_BESIDE = 7")),
    ("cut.h", "BESIDE_ELEMENTS = 1 << 15", (None, "BESIDE_ELEMENTS = 16", "BESIDE_ELEMENTS = 99")),
    ("cut.h", "MOST_CHUNKS = 256", (None, "MOST_CHUNKS = 3")),
    ("cut.h", "rows / 16)", ("rows)", "rows / 2)")),
    ("chunk.h", "CHUNK = 512", (None, "CHUNK = 16", "CHUNK = 32")),
    ("chunk.h", "ROWS_AHEAD = 8", (None, "ROWS_AHEAD = 1", "ROWS_AHEAD = 3")),
    ("chunk.h", "FAR_BYTES = 1 << 19", ("FAR_BYTES = 0",)),
    ("stream.h", "STREAM_ROW = 256", ("STREAM_ROW = 1", "STREAM_ROW = 17")),
    ("stream.h", "STREAM_LEAST = 4 << 20", ("STREAM_LEAST = 0",)),
    ("stream.h", "bytes >= cache / 4 * 3", ("bytes > 0", "bytes >= 100")),
)


@contextlib.contextmanager
def small_limits(seed, folder):
    """Inside, kernels are printed and built with limits that `seed` chooses; `folder` holds what is
    built."""
    rng = random.Random(seed)
    headers = os.path.join(str(folder), "limits{}".format(seed))
    texts = {}
    for name, old, choices in TEXTS:
        if name not in texts:
            texts[name] = paths.read_text(os.path.join(paths.csrc_dir(), "host", name))
        assert texts[name].count(old) == 1, (name, old)
        texts[name] = texts[name].replace(old, rng.choice(choices) or old)
    if not os.path.isdir(headers):
        shutil.copytree(os.path.join(paths.csrc_dir(), "host"), headers)
        for name, text in texts.items():
            with open(os.path.join(headers, name), "w", encoding="utf-8") as file:
                file.write(text)
    values = {name: rng.choice(choices) for name, choices in NAMES.items()}
    core = os.path.join(paths.csrc_dir(), "core")
    with contextlib.ExitStack() as stack:
        for module, name in _places():
            if values[name] is not None:
                stack.enter_context(mock.patch.object(module, name, values[name]))
        stack.enter_context(mock.patch.object(build, "_host_folders", lambda: (core, headers)))
        stack.enter_context(mock.patch.dict(
            os.environ, AUTOFUSE_CACHE_DIR=os.path.join(str(folder), "cache{}".format(seed))))
        stack.callback(_forget)
        _forget()
        yield


def _places():
    """(module, name) for each limit of the printers, wherever it was imported."""
    found = [
        (module, name)
        for path, module in sorted(sys.modules.items())
        if re.match(r"tf_autofuse\.codegen\.", path)
        for name in NAMES
        if hasattr(module, name)
    ]
    assert {name for _, name in found} == set(NAMES)
    return found


def _forget():
    """Texts and answers that were made with other limits."""
    kernels._PLANS.clear()
    optimizer.forget()
