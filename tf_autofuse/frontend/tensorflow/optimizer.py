"""What TensorFlow's graph optimizer calls: GraphDef in, fused GraphDef out, never an error.

TensorFlow optimizes one graph several times and asks again for graphs that are already fused, so
answers are remembered by content; `kept` has those of other processes.
"""

from __future__ import annotations

import contextlib
import gc
from collections import OrderedDict
from typing import Any, Dict, Iterator, Optional

from tf_autofuse import flags, log
from tf_autofuse.autofuse import on_disk
from tf_autofuse.errors import AutofuseError, BuildError
from tf_autofuse.frontend.tensorflow import kept, one_kernel, op_types, wire
from tf_autofuse.frontend.tensorflow.asked import Asked
from tf_autofuse.frontend.tensorflow.choice import PLAIN_PREFIX
from tf_autofuse.frontend.tensorflow.exporter import export_graph
from tf_autofuse.frontend.tensorflow.importer import STAGE as IMPORT_STAGE
from tf_autofuse.frontend.tensorflow.importer import import_graph
from tf_autofuse.frontend.tensorflow.kept import Answer, Fused
from tf_autofuse.ge.engine import GraphEngine
from tf_autofuse.locks import ForkLock
from tf_autofuse.ops import OPS, VIEW
from tf_autofuse.report.model import RECORDER, UnfusedEntry
from tf_autofuse.runtime import tf_op

_REMEMBERED = 64  # answers kept; one is about as large as its graph
_REMEMBERED_BYTES = 256 << 20  # of all answers, the last one always being kept

_lock = ForkLock(reentrant=True)
_answers: "OrderedDict[str, Answer]" = OrderedDict()


def optimize(graph_def: bytes, info: Dict[str, Any]) -> Optional[bytes]:
    """The fused GraphDef, or None when the graph is to stay as it is.

    `info` is that of `import_graph`. A failure leaves the graph alone, with one warning and an
    entry in the report; with the flag ``--strict=true`` it is raised.
    """
    if not flags.current().enable_autofuse:
        return None
    with _lock:  # one graph at a time: kernels are numbered, and building uses all cores anyway
        try:
            with tf_op.interruptible(), _no_garbage_collection():
                return _answer(graph_def, info)
        except Exception as error:  # nothing may reach the model
            record_failure(error, str(info.get("id", "")))
            return None


def forget() -> None:
    """Forget all answers and ask the disk for none from now on: every graph is fused anew."""
    with _lock:
        _answers.clear()
        on_disk.stop()


def record_failure(error: Exception, graph: str = "") -> None:
    """Warn once about what stopped fusing and put it into the report; raise it when strict."""
    if flags.current().strict:
        raise error
    reason = str(error) or type(error).__name__
    if not isinstance(error, AutofuseError):
        reason = "{}: {}".format(type(error).__name__, reason)
    log.warn_once(("failed", reason), "the model runs unfused: " + reason)
    node = getattr(error, "node", "") or graph
    RECORDER.unfused([UnfusedEntry(node, "", _code(error), reason)])


def _code(error: Exception) -> str:
    """Reason code of `cluster.reasons` for a failure of the whole graph."""
    if isinstance(error, BuildError):
        return "BUILD"
    return "IMPORT" if getattr(error, "stage", "") == IMPORT_STAGE else "INTERNAL"


def _answer(graph_def: bytes, info: Dict[str, Any]) -> Optional[bytes]:
    asked = Asked(graph_def, info)
    if asked.name.startswith(PLAIN_PREFIX):
        return None
    if not any(wire.node_op(node) in _FUSIBLE for node in asked.nodes):
        one_kernel.consider(asked.name, asked.nodes)
        return None
    key = asked.digest()
    if key not in _answers:
        _answers[key] = _find_or_fuse(asked)
        _forget_oldest()
    _answers.move_to_end(key)
    fused = _answers[key]
    if isinstance(fused, Exception):
        raise _without_frames(fused)
    one_kernel.consider(asked.name, asked.nodes if fused is None else fused.nodes)
    return None if fused is None else wire.join(fused.nodes, asked.rest + fused.functions)


def _forget_oldest() -> None:
    total = sum(answer.size() for answer in _answers.values() if isinstance(answer, Fused))
    while len(_answers) > 1 and (len(_answers) > _REMEMBERED or total > _REMEMBERED_BYTES):
        _, oldest = _answers.popitem(last=False)
        total -= oldest.size() if isinstance(oldest, Fused) else 0


def _find_or_fuse(asked: Asked) -> Answer:
    """The answer of another process, or of the pass, which is then kept for others: unless it
    failed or warned, so that the next process tries, and warns, again."""
    place = kept.place_of(asked)
    found = place.find() if place is not None else None
    if found is not None:
        return found.answer
    warned = log.warnings_of_thread()
    with RECORDER.noting() as notes:
        answer = _fuse_or_error(asked.graph_def, asked.info)
    if place is not None and log.warnings_of_thread() == warned:
        place.keep(answer, notes)
    return answer


def _fuse_or_error(graph_def: bytes, info: Dict[str, Any]) -> Answer:
    """The answer to remember; an interrupt is none, so that the graph may be tried again."""
    try:
        return _fuse(graph_def, info)
    except Exception as error:
        log.get_logger(__name__).debug("fusing failed", exc_info=error)
        return _without_frames(error)


def _without_frames(error: Exception) -> Exception:
    """The error without its tracebacks, which would keep the whole graph alive."""
    link: Optional[BaseException] = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error


def _fuse(graph_def: bytes, info: Dict[str, Any]) -> Optional[Fused]:
    """The fused graph; None when nothing changed."""
    graph, record = import_graph(graph_def, info)
    graph = GraphEngine().run(graph)
    fused = export_graph(graph, record)
    graph.dissolve()
    if fused == graph_def:
        return None
    nodes, rest, _ = wire.split(fused)
    return Fused(nodes, rest[len(record.rest):])


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A graph is many small objects that all live on: collecting in between costs half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_FUSIBLE = frozenset(
    name.encode()
    for row in OPS.values()
    if row.kind != VIEW  # views alone are never fused
    for name in row.tf + (op_types.COMPOSITION_OP,)
)
