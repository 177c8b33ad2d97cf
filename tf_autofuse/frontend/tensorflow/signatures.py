"""Output types of TF nodes, from the operator registry or the graph's own function library."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

from tensorflow.core.framework import function_pb2
from tensorflow.python.framework import op_def_registry

from tf_autofuse.errors import IRError


class Signatures:
    """Looks up operators; a function of the library counts as an operator of its name."""

    def __init__(self, libraries: Iterable[bytes] = ()) -> None:
        self._libraries = list(libraries)
        self._functions: Optional[Dict[str, Any]] = None

    def output_types(self, node_def: Any) -> List[int]:
        """TF DataType number of every output; [] for an unknown operator or one without outputs."""
        op_def = self.definition(node_def.op)
        if op_def is None:
            return []
        types: List[int] = []
        for arg in op_def.output_arg:
            types.extend(_arg_types(arg, node_def.attr))
        return types

    def definition(self, op: str) -> Any:
        """The OpDef of an operator or the signature of a function; None for an unknown one."""
        return _registered(op) or self._function(op)

    def _function(self, name: str) -> Any:
        if self._functions is None:  # parsed only when a node is no registered operator
            self._functions = {}
            for data in self._libraries:
                library = function_pb2.FunctionDefLibrary.FromString(data)
                self._functions.update((f.signature.name, f.signature) for f in library.function)
        return self._functions.get(name)


def output_name(node_def: Any, port: int) -> str:
    """Name of the output of a registered operator without output lists; IRError for others."""
    op_def = _registered(node_def.op)
    args = op_def.output_arg if op_def is not None else ()
    if port >= len(args) or any(arg.number_attr or arg.type_list_attr for arg in args):
        raise IRError("no name for output {}".format(port), node=node_def.name, stage="export")
    return args[port].name


def _registered(name: str) -> Any:
    if hasattr(op_def_registry, "get"):
        return op_def_registry.get(name)
    return op_def_registry.get_registered_ops().get(name)


def _arg_types(arg: Any, attrs: Any) -> List[int]:
    if arg.type_list_attr:
        return list(attrs[arg.type_list_attr].list.type) if arg.type_list_attr in attrs else []
    count = attrs[arg.number_attr].i if arg.number_attr and arg.number_attr in attrs else 1
    dtype = attrs[arg.type_attr].type if arg.type_attr and arg.type_attr in attrs else arg.type
    if arg.is_ref and dtype < 100:
        dtype += 100
    return [dtype] * count
