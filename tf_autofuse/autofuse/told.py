"""What a pass tells of its work: names of fused nodes and lines of the log. Answers of other
processes are told in the same words."""
from __future__ import annotations

import itertools
import logging
import re
from typing import Sequence

from tf_autofuse import flags
from tf_autofuse.log import get_logger
from tf_autofuse.report.model import UnfusedEntry

LOG = get_logger("pass")
MAX_NAME = 140
_COUNTER = itertools.count()


def next_number() -> str:
    """The number in the name of the next fused node of this process."""
    return str(next(_COUNTER))


def fused_name(kernel_class: str, types: Sequence[str], *number: str) -> str:
    """autofused_<class>_<n>_<Op>_<Op>..., at most 140 characters; with a number of its own it is
    unique in the process."""
    words = [re.sub(r"\W", "", word) for word in types]
    name = "_".join(("autofused", kernel_class) + number + tuple(words))
    return name if len(name) <= MAX_NAME else name[:MAX_NAME].rstrip("_")


def tell_fused(name: str, op_names: Sequence[str]) -> None:
    """A line for a kernel."""
    LOG.info("fused %s: %s", name, " ".join(op_names))


def tell_fallbacks(alone: Sequence[UnfusedEntry]) -> None:
    """A line per operator left alone; while debugging they are shown without asking for them."""
    debugging = flags.current().codegen_compile_debug
    for entry in alone:
        LOG.log(
            logging.WARNING if debugging else logging.INFO,
            "Fallback %s reason: %s: %s (%s)",
            entry.op_type,
            entry.code,
            entry.reason,
            entry.node,
        )
