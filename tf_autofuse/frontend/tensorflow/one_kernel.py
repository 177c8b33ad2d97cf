"""Runs a function that is nothing but one fused kernel as an eager operator.

TensorFlow hands the graph of every function to a thread of its inter-op pool and waits for it,
which costs more than a small kernel does. An eager operator runs on the thread that calls it.
Results are those of the same kernel library; whatever watches functions (traces, callbacks,
cancellation, devices) gets the function.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tensorflow.core.framework import node_def_pb2

from tf_autofuse import log
from tf_autofuse.frontend.tensorflow import wire
from tf_autofuse.frontend.tensorflow.record import parse_input

KERNEL_OP = "AutofusedKernel"
_ARGUMENT, _RESULT = "_Arg", "_Retval"
_ALLOWED = frozenset(op.encode() for op in (KERNEL_OP, _ARGUMENT, _RESULT))
_MOST_NODES = 64  # a kernel with more arguments and results takes longer than the hand-over
_REMEMBERED = 4096  # functions; bodies of loops and branches, which nobody calls, are among them


class KernelCall(NamedTuple):
    """The kernel of a function: which arguments it reads, which outputs the results are.

    `attributes` are names and values in turns, as eager execution takes them.
    """

    inputs: Tuple[int, ...]
    results: Tuple[int, ...]
    outputs: int
    attributes: Tuple[Any, ...]


_calls: Dict[bytes, KernelCall] = {}


def consider(function: str, nodes: Sequence[bytes]) -> None:
    """Remember what the optimized graph of a function is: its nodes are serialized NodeDefs."""
    call = _call_of(nodes) if function else None
    name = function.encode("utf-8")
    _calls.pop(name, None)
    if call is not None:
        _calls[name] = call
        if len(_calls) > _REMEMBERED:
            _calls.pop(list(_calls)[0], None)


def forget_all() -> None:
    """Let TensorFlow call every function itself."""
    _calls.clear()


def _call_of(nodes: Sequence[bytes]) -> Optional[KernelCall]:
    """None unless the nodes are arguments, results and one kernel that each result comes from."""
    if len(nodes) > _MOST_NODES or not all(wire.node_op(node) in _ALLOWED for node in nodes):
        return None
    by_op: Dict[str, List[Any]] = {KERNEL_OP: [], _ARGUMENT: [], _RESULT: []}
    for node in nodes:
        parsed = node_def_pb2.NodeDef.FromString(node)
        by_op[parsed.op].append(parsed)
    if len(by_op[KERNEL_OP]) != 1:
        return None
    kernel = by_op[KERNEL_OP][0]
    arguments = {node.name: node.attr["index"].i for node in by_op[_ARGUMENT]}
    results = sorted((node.attr["index"].i, node.input[0]) for node in by_op[_RESULT])
    read = [parse_input(source) for _, source in results]
    if any(name != kernel.name for name, _ in read) or len(set(read)) != len(read):
        return None
    if any(source not in arguments for source in kernel.input):
        return None
    return KernelCall(
        tuple(arguments[source] for source in kernel.input),
        tuple(number for _, number in read),
        len(kernel.attr["Tout"].list.type),
        _attributes(kernel),
    )


def _attributes(kernel: Any) -> Tuple[Any, ...]:
    pairs: List[Any] = ["node_name", kernel.name.encode("utf-8")]
    for name in ("Tin", "Tout"):
        pairs += (name, list(kernel.attr[name].list.type))
    for name in ("kernel_key", "spec", "host_library", "host_digest"):
        pairs += (name, kernel.attr[name].s)
    return tuple(pairs)


def function_caller(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Context.call_function` of TensorFlow, which runs such functions as their kernel."""
    execute = importlib.import_module("tensorflow.python.eager.execute")
    is_watched = _watcher()

    def call_function(self: Any, name: bytes, tensor_inputs: List[Any], num_outputs: int) -> Any:
        call = _calls.get(name)
        if call is not None and num_outputs == len(call.results) and not is_watched(self):
            inputs = [tensor_inputs[number] for number in call.inputs]
            try:
                found = execute.execute(KERNEL_OP, call.outputs, inputs, call.attributes, self)
                return [found[number] for number in call.results]
            except Exception:  # the function fails likewise, with TensorFlow's own words, or works
                log.get_logger(__name__).debug("a kernel is called by its function", exc_info=True)
        return original(self, name, tensor_inputs, num_outputs)

    call_function.__doc__ = original.__doc__
    return call_function


def function_remover(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Context.remove_function` of TensorFlow: another function may get the name."""

    def remove_function(self: Any, name: Any) -> None:
        _calls.pop(name if isinstance(name, bytes) else str(name).encode("utf-8"), None)
        original(self, name)

    remove_function.__doc__ = original.__doc__
    return remove_function


def _watcher() -> Callable[[Any], bool]:
    """Whether somebody looks at the functions of a context, or they do not run on its CPU."""
    cancellation = importlib.import_module("tensorflow.python.eager.cancellation")
    profiler = importlib.import_module("tensorflow.python.profiler.profiler_v2")
    summaries = importlib.import_module("tensorflow.python.ops.summary_ops_v2")

    def is_watched(context: Any) -> bool:
        return bool(
            context.op_callbacks
            or cancellation.context() is not None
            or getattr(profiler, "_profiler", None) is not None
            or getattr(summaries, "_current_trace_context", None) is not None
            or context._log_device_placement  # its getter makes a whole config
            or not (context.device_name or "CPU:0").endswith("CPU:0")
        )

    return is_watched
