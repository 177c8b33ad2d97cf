"""The report: one entry per fused node and per operator left alone, filled while graphs are fused.

Byte counts are those of global memory: what the kernel reads and writes for the shapes of its last
run, or for the static shapes when it has not run yet; None while a size is unknown.
"""
from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict, deque
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from tf_autofuse.locks import ForkLock

MAX_ENTRIES = 20000
Shape = Tuple[Optional[int], ...]


class TensorEntry(NamedTuple):
    """A tensor at the border of a kernel; unknown dims are None."""

    name: str
    dtype: str
    shape: Shape


class Traffic(NamedTuple):
    """Bytes of global memory moved by the kernel, by the unfused operators, and at least; a line
    for the tiling that each nest gets on the chip; and the bytes that the cores request, of which
    L2 serves what several ask for at the same time."""

    gm_bytes: int
    gm_bytes_unfused: int
    gm_lower_bound: int
    tiling: Tuple[str, ...] = ()
    gm_requested: Optional[int] = None


class KernelEntry(NamedTuple):
    """One fused node. `source` is the path of its Ascend C text, `nanos` the time that all calls
    took on the host, `tiling` a line per loop nest for the chip and the sizes at hand;
    `gm_requested` are the bytes asked for by the cores of the chip, L2 serves some of them."""

    name: str
    key: str
    op_names: Tuple[str, ...]
    op_types: Tuple[str, ...]
    inputs: Tuple[TensorEntry, ...]
    outputs: Tuple[TensorEntry, ...]
    gm_bytes: Optional[int]
    gm_bytes_unfused: Optional[int]
    gm_lower_bound: Optional[int]
    source: str
    calls: int
    nanos: int = 0
    tiling: Tuple[str, ...] = ()
    gm_requested: Optional[int] = None

    def to_dict(self) -> Dict[str, Any]:
        """Plain lists, dicts and scalars."""
        plain = self._asdict()
        for side in ("inputs", "outputs"):
            plain[side] = [dict(t._asdict(), shape=list(t.shape)) for t in plain[side]]
        lists = {key: list(plain[key]) for key in ("op_names", "op_types", "tiling")}
        return dict(plain, **lists)


class UnfusedEntry(NamedTuple):
    """An operator left alone; `code` is a key of `cluster.reasons.CODES`."""

    node: str
    op_type: str
    code: str
    reason: str


class Report(NamedTuple):
    """`kernels` in the order of fusing."""

    kernels: Tuple[KernelEntry, ...]
    unfused: Tuple[UnfusedEntry, ...]

    def to_dict(self) -> Dict[str, Any]:
        """Plain lists, dicts and scalars, ready for JSON."""
        return {
            "kernels": [entry.to_dict() for entry in self.kernels],
            "unfused": [dict(entry._asdict()) for entry in self.unfused],
        }


class Notes(NamedTuple):
    """What was recorded of some work, in its order."""

    kernels: List[Tuple[KernelEntry, Any]]
    unfused: List[UnfusedEntry]


class Recorder:
    """Collects entries of one process; safe for threads that fuse different graphs.

    A process that makes graphs for ever keeps the last `MAX_ENTRIES` of each kind.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._kernels: Deque[Tuple[KernelEntry, Callable]] = deque(maxlen=MAX_ENTRIES)
        self._unfused: "OrderedDict[Tuple[str, str], UnfusedEntry]" = OrderedDict()
        self._notes: Dict[int, Notes] = {}  # by thread

    @contextlib.contextmanager
    def noting(self) -> Iterator[Notes]:
        """Note apart what this thread records meanwhile."""
        thread, notes = threading.get_ident(), Notes([], [])
        before = self._notes.get(thread)
        self._notes[thread] = notes
        try:
            yield notes
        finally:
            self._notes.pop(thread)
            if before is not None:
                self._notes[thread] = before

    def _noted(self) -> Notes:
        return self._notes.get(threading.get_ident()) or Notes([], [])

    def fused(self, entry: KernelEntry, traffic: Callable) -> None:
        """Add a kernel; `traffic(input shapes) -> Traffic` counts its bytes."""
        with self._lock:
            self._kernels.append((entry, traffic))
            self._noted().kernels.append((entry, traffic))

    def unfused(self, entries: Sequence[UnfusedEntry]) -> None:
        """Add operators left alone; of a graph that is fused again the first reason stays."""
        with self._lock:
            self._noted().unfused.extend(entries)
            for entry in entries:
                self._unfused.setdefault((entry.node, entry.op_type), entry)
            while len(self._unfused) > MAX_ENTRIES:
                self._unfused.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kernels.clear()
            self._unfused.clear()

    def report(self, stats: Dict[str, Dict[str, Any]]) -> Report:
        """The report so far; `stats` maps node names to {"calls", "nanos", "input_shapes"}."""
        with self._lock:
            kernels, unfused = list(self._kernels), list(self._unfused.values())
        runs = _by_fused_name(stats)
        entries = [_with_stats(entry, traffic, runs) for entry, traffic in kernels]
        return Report(tuple(entries), tuple(unfused))


def _by_fused_name(stats: Dict[str, Dict[str, Any]]) -> Dict[str, Dict[str, Any]]:
    """Statistics by the names given at fusing: TensorFlow puts `caller/` before the names of
    nodes that it inlines, and may inline one body at several places."""
    merged: Dict[str, Dict[str, Any]] = {}
    for name, run in stats.items():
        known = merged.setdefault(name.rsplit("/", 1)[-1], {"calls": 0, "nanos": 0})
        sums = {key: known[key] + run.get(key, 0) for key in ("calls", "nanos")}
        known.update(run)
        known.update(sums)
    return merged


def _with_stats(entry: KernelEntry, traffic: Callable, stats) -> KernelEntry:
    run = stats.get(entry.name, {})
    entry = entry._replace(calls=run.get("calls", 0), nanos=run.get("nanos", 0))
    shapes = run.get("input_shapes") or [tensor.shape for tensor in entry.inputs]
    if any(dim is None for shape in shapes for dim in shape):
        return entry
    return entry._replace(**traffic(shapes)._asdict())


RECORDER = Recorder()
