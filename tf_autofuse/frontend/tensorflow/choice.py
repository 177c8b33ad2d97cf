"""AutofusedChoice: a node that runs a cluster's operators as they were until its kernel is built.

Both sides are functions over the kernel's inputs: `plain` holds the operators of the cluster and
the constants they read, `fused` the AutofusedKernel node.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

from tensorflow.core.framework import function_pb2, node_def_pb2

from tf_autofuse.errors import IRError
from tf_autofuse.frontend.tensorflow import op_types
from tf_autofuse.frontend.tensorflow.importer import composed_ops, single_op
from tf_autofuse.frontend.tensorflow.record import ImportRecord, Tensor
from tf_autofuse.frontend.tensorflow.signatures import output_name

PLAIN_PREFIX = "autofused_plain_"
_FUSED_PREFIX = "autofused_kernel_"
_LEAVE_ALONE = "_disable_autofuse_scope"


class Choice(NamedTuple):
    """The node, and the functions that go into the library of its graph."""

    node: Any
    functions: List[Any]


def make_choice(fused: Any, live: Any, record: ImportRecord) -> Choice:
    """The choice between `fused`, the NodeDef of the AutofusedKernel `live`, and its operators.

    IRError, naming the node, when the operators cannot be written down as a function.
    """
    node = node_def_pb2.NodeDef()
    node.CopyFrom(fused)
    node.op = op_types.CHOICE_OP
    # A digest is there when the kernel was built while the graph was written.
    for key in ("kernel_key", "host_library", "host_digest", "node_name"):
        if key in node.attr:
            del node.attr[key]
    node.attr["ticket"].s = live.get_attr("ticket").encode("utf-8")
    functions = [_plain(fused, live, record), _fused(fused)]
    for attr, function in zip(("plain", "fused"), functions):
        node.attr[attr].func.name = function.signature.name
    return Choice(node, functions)


def _function(prefix: str, fused: Any) -> Any:
    function = function_pb2.FunctionDef()
    function.signature.name = prefix + fused.name
    for letter, attr, args in (
        ("x", "Tin", function.signature.input_arg),
        ("y", "Tout", function.signature.output_arg),
    ):
        for number, dtype in enumerate(fused.attr[attr].list.type):
            args.add(name="{}{}".format(letter, number), type=dtype)
    return function


def _fused(fused: Any) -> Any:
    function = _function(_FUSED_PREFIX, fused)
    node = function.node_def.add()
    node.CopyFrom(fused)
    count = len(fused.attr["Tin"].list.type)
    del node.input[:]
    node.input.extend("x{}".format(number) for number in range(count))
    for number in range(len(fused.attr["Tout"].list.type)):
        function.ret["y{}".format(number)] = "{}:y:{}".format(fused.name, number)
    return function


def _plain(fused: Any, live: Any, record: ImportRecord) -> Any:
    function = _function(PLAIN_PREFIX, fused)
    names: Dict[Tensor, str] = {}
    for number, text in enumerate(live.get_attr("input_tensors")):
        names[_tensor(text)] = "x{}".format(number)
    for ge_name in live.get_attr("op_names"):
        made, inputs = _operator(ge_name, record)
        for ref in inputs:
            if ref not in names:
                names[ref] = _constant(function, ref, record)
            made.input.append(names[ref])
        made.name = "n{}".format(len(function.node_def))
        function.node_def.add().CopyFrom(made)
        for port in range(len(record.types[ge_name])):
            names[(ge_name, port)] = "{}:{}:0".format(made.name, output_name(made, port))
    for number, text in enumerate(live.get_attr("output_tensors")):
        function.ret["y{}".format(number)] = names[_tensor(text)]
    return function


def _tensor(text: str) -> Tensor:
    name, _, port = text.rpartition(":")
    return name, int(port)


def _operator(ge_name: str, record: ImportRecord) -> Tuple[Any, List[Tensor]]:
    """The NodeDef of a GE node, without inputs and place, and its data inputs by GE name."""
    owner = record.owner(ge_name)
    if owner is None:
        raise IRError("no TF node stands for it", node=ge_name, stage="export")
    made, inputs = node_def_pb2.NodeDef(), list(owner.inputs)
    if owner.chain:
        place = owner.chain.index(ge_name)
        made.CopyFrom(single_op(owner.node_def, composed_ops(owner.node_def)[place], ge_name))
        inputs = [(owner.chain[place - 1], 0)] if place else inputs
    else:
        made.CopyFrom(owner.node_def)
    del made.input[:]
    made.device = ""
    made.attr.pop("_class", None)
    made.attr[_LEAVE_ALONE].b = True
    return made, inputs


def _constant(function: Any, ref: Tensor, record: ImportRecord) -> str:
    """Copy a constant into the function; the name of its value there."""
    owner = record.owner(ref[0])
    if owner is None or owner.node_def.op != "Const":
        raise IRError("an operator reads what the kernel is not given", node=ref[0], stage="export")
    made, _ = _operator(ref[0], record)
    made.name = "n{}".format(len(function.node_def))
    function.node_def.add().CopyFrom(made)
    return made.name + ":output:0"
