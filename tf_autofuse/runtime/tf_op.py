"""The Python side of the TensorFlow extension: the graph callback and the counters of the op.

The extension `_tf_shim` registers the op `AutofusedKernel` and, unless an NPU adapter did so
before, the grappler optimizer `NpuOptimizer`.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, Optional

from .. import interrupts
from ..build import tf_shim

# Gets a serialised GraphDef and what is known about it; gives the new one, or None to keep it.
#   id: str; fetch, feed, preserve: lists of names; parameters: the optimizer's parameter_map;
#   shapes: {node: [(TensorFlow's dtype number, dims or None), ...]}, where a dim of -1 is unknown
#   and equal numbers below -1 are equal sizes.
GraphCallback = Callable[[bytes, Dict[str, Any]], Optional[bytes]]


def load() -> ModuleType:
    """The extension, built first if need be; imports TensorFlow. BuildError: cannot be had."""
    return tf_shim.load()


def is_loaded() -> bool:
    """Whether this process has loaded the extension."""
    return tf_shim.is_loaded()


def set_optimizer(callback: Optional[GraphCallback], strict: bool = False) -> None:
    """Let `callback` rewrite every graph that reaches NpuOptimizer; None: graphs stay untouched.

    An error in `callback` leaves the graph as it is and is logged; with `strict` the model fails
    with that error instead.
    """
    module = load()
    module.set_strict(strict)
    module.set_optimizer(callback)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt in here on every thread, soon; one thread at a time.

    It reaches the user's code, too, if that has not set a handler of its own, which alone is then
    told: what it makes of the signal cannot be known.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main or not is_loaded() or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield
        return
    module = load()
    module.watch_interrupts()
    try:
        with interrupts.asking(module.interrupt_pending):
            yield
    finally:
        module.unwatch_interrupts()


def owns_optimizer() -> bool:
    """Whether `NpuOptimizer` is ours; False: an installed adapter registered that name."""
    return bool(load().owns_optimizer)


def kernel_stats() -> Dict[str, Dict[str, Any]]:
    """Per node that ran since the last reset: calls, nanos, input_shapes (last), kernel_key."""
    return load().kernel_stats()


def publish_ticket(ticket: str) -> None:
    """Let the AutofusedChoice nodes with this ticket run their fused kernel from now on."""
    load().publish_ticket(ticket)


def reset_kernel_stats() -> None:
    """Start counting anew."""
    load().reset_kernel_stats()


def pool_stats() -> Dict[str, int]:
    """Memory of large outputs: in_use_bytes, idle_bytes, peak_in_use_bytes, and the numbers of
    requests that were `reused` (answered with a waiting block) and `mapped` (with fresh memory)."""
    return load().pool_stats()


def trim_pool() -> None:
    """Give the memory that waits for the next large output back to the system."""
    load().trim_pool()
