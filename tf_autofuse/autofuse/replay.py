"""What a pass recorded, as plain data, and recording it anew: readers of the report and of the log
see the same of a graph that another process has fused."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from tf_autofuse.autofuse.told import tell_fallbacks, tell_fused
from tf_autofuse.report.model import (
    RECORDER,
    KernelEntry,
    Notes,
    TensorEntry,
    Traffic,
    UnfusedEntry,
)

_FIELDS = ("name", "key", "op_names", "op_types", "inputs", "outputs", "source")


def plain_notes(notes: Notes) -> Dict[str, Any]:
    """Lists, dicts and scalars, ready for JSON; ValueError for what these cannot say."""
    loops = {id(traffic.kernel): traffic.kernel for _, traffic in notes.kernels}
    numbers = {key: number for number, key in enumerate(loops)}
    kernels = [
        ([getattr(entry, name) for name in _FIELDS], numbers[id(traffic.kernel)], traffic.facts)
        for entry, traffic in notes.kernels
    ]
    return {"loops": list(map(_text, loops.values())), "kernels": kernels,
            "unfused": notes.unfused}


def _text(kernel: Any) -> str:
    from tf_autofuse.loop.text import parse_loop, print_loop

    text = print_loop(kernel)
    if parse_loop(text) != kernel:
        raise ValueError("the text of a kernel reads as another")
    return text


def kernel_entries(plain: Dict[str, Any]) -> List[Tuple[KernelEntry, Callable]]:
    """The kernels of `plain_notes`; errors of all kinds when it is damaged."""
    return [
        (_entry(*fields), KeptTraffic(facts, plain["loops"][number]))
        for fields, number, facts in plain["kernels"]
    ]


def _entry(name, key, op_names, op_types, inputs, outputs, source) -> KernelEntry:
    sides = [tuple(TensorEntry(of, dtype, tuple(shape)) for of, dtype, shape in side)
             for side in (inputs, outputs)]
    return KernelEntry(
        name, key, tuple(op_names), tuple(op_types), sides[0], sides[1],
        gm_bytes=None, gm_bytes_unfused=None, gm_lower_bound=None, source=source, calls=0,
    )


def unfused_entries(plain: Dict[str, Any]) -> List[UnfusedEntry]:
    """The operators of `plain_notes` that were left alone."""
    return [UnfusedEntry(*fields) for fields in plain["unfused"]]


def record(
    kernels: Sequence[Tuple[KernelEntry, Callable]], unfused: Sequence[UnfusedEntry]
) -> None:
    """Record and tell what the pass did."""
    for entry, traffic in kernels:
        RECORDER.fused(entry, traffic)
        tell_fused(entry.name, entry.op_names)
    RECORDER.unfused(unfused)
    tell_fallbacks(unfused)


class KeptTraffic:
    """A `TrafficModel` of facts and of a loop kernel's text: made when somebody asks."""

    def __init__(self, facts: Sequence[Any], loop: str) -> None:
        self._facts, self._loop = facts, loop
        self._model: Optional[Callable] = None

    def __call__(self, shapes: Sequence[Sequence[int]]) -> Traffic:
        """Traffic for one shape per kernel input."""
        if self._model is None:
            from tf_autofuse.autofuse.traffic import TrafficFacts, TrafficModel

            refs, edges, symbols = self._facts
            facts = TrafficFacts(
                tuple((name, port) for name, port in refs),
                tuple((dtype, tuple(dims), times) for dtype, dims, times in edges),
                tuple(map(tuple, symbols)),
            )
            self._model = TrafficModel(facts, _kernel(self._loop))
        return self._model(shapes)


@functools.lru_cache(maxsize=512)
def _kernel(text: str) -> Any:
    from tf_autofuse.loop.text import parse_loop

    return parse_loop(text)
