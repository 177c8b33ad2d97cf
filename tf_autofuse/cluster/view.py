"""A snapshot of a GE graph, read once through the public face of `ge.graph`.

The same code reads the real package and the host one; wrappers of nodes are compared by name, and
what cannot be read is treated as absent.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from tf_autofuse.cluster import skips
from tf_autofuse.ge.reading import CONST_TYPES, ConstValues, dims_of
from tf_autofuse.loop.source import Operator, TensorInfo, TensorRef, told_by, told_symbols
from tf_autofuse.ops import MOVE, OPS, REDUCE

FRAMEWORK_TYPE = "FrameworkOp"

SETTING_ATTRS = (
    "_tf_device",
    "_user_stream_label",
    "_op_vectorcore_num",
    "_op_aicore_num",
    "_super_kernel_options",
    "deterministic",
)
"""Attributes on which all operators of a kernel must agree."""

EXCLUDING_ATTRS = ("_disable_autofuse_scope", "_super_kernel_scope")


@dataclass(frozen=True)
class ViewNode:
    """One node. `consumers[port]` lists (node index, input port); `outputs[port]` its tensor.

    `type` is GE's, or that of the framework for an operator that GE has no type for.
    """

    index: int
    name: str
    type: str
    handle: Any
    inputs: Tuple[Optional[TensorRef], ...]
    outputs: Tuple[TensorInfo, ...]
    consumers: Tuple[Tuple[Tuple[int, int], ...], ...]
    controls_in: Tuple[int, ...]
    controls_out: Tuple[int, ...]


class GraphView:
    """Nodes in graph order, tensor facts, and the successors of every node."""

    def __init__(self, graph: Any):
        self._unknown = -(1 << 50)
        self._consts = ConstValues(graph)
        handles = list(graph.get_direct_nodes())
        self.index: Dict[str, int] = {node.name: i for i, node in enumerate(handles)}
        self.infos: Dict[TensorRef, TensorInfo] = {}
        self.descs: Dict[TensorRef, Any] = {}
        self.axes: Dict[str, Tuple[int, ...]] = {}  # of reductions, by name, where found out
        self.sizes: Set[int] = set()  # indices of nodes that find out sizes, and do nothing else
        self.asked: Dict[TensorRef, TensorRef] = {}  # of which tensor a number of elements is
        self.places: Dict[int, int] = {}  # see `order.places`
        self.skips = skips.current()
        self.nodes: List[ViewNode] = [self._read(i, node) for i, node in enumerate(handles)]

    def node(self, name: str) -> ViewNode:
        """The node called `name`; KeyError when there is none."""
        return self.nodes[self.index[name]]

    def successors(self, index: int) -> List[int]:
        """Indices of all data and control consumers."""
        node = self.nodes[index]
        return [i for port in node.consumers for i, _ in port] + list(node.controls_out)

    def predecessors(self, index: int) -> List[int]:
        """Indices of all data and control producers."""
        node = self.nodes[index]
        data = [self.index[ref[0]] for ref in node.inputs if ref is not None]
        return data + list(node.controls_in)

    def holds(self, node: ViewNode, ref: TensorRef, members: Iterable[int]) -> bool:
        """Whether a kernel of `members` with `node` knows what `ref` gives it: a constant of one
        value, a number of elements that its tensors tell, or a parameter (axes, a shape), which
        lowering takes from the graph."""
        row = OPS.get(node.type)
        if row is None:
            return False
        info = self.infos[ref]
        if info.const is not None or info.count and told_by(info.count, self._symbols(members)):
            return True
        ports = [port for port, read in enumerate(node.inputs) if read == ref]
        return not set(ports) & set(row.data_ports(len(node.inputs)))

    def _symbols(self, members: Iterable[int]) -> Set[int]:
        """The sizes of run time that nodes tell."""
        found: Set[int] = set()
        for index in members:
            node = self.nodes[index]
            row = OPS.get(node.type)
            if row is None:
                continue
            refs = [ref for ref in node.inputs if ref is not None]
            read = [self.infos[refs[port]].dims for port in row.data_ports(len(refs))]
            found.update(told_symbols(node.type, read, self.infos[(node.name, 0)].dims))
        return found

    # ---- reading ---------------------------------------------------------------------------

    def _read(self, index: int, handle: Any) -> ViewNode:
        name, kind = handle.name, handle.type
        if kind == FRAMEWORK_TYPE:
            kind = str(read_attr(handle, "original_type") or kind)
        inputs = tuple(self._input(handle, i) for i in range(handle.get_inputs_size()))
        outputs = tuple(
            self._tensor(handle, kind, port) for port in range(handle.get_outputs_size())
        )
        for port, info in enumerate(outputs):
            self.infos[(name, port)] = info
        consumers = tuple(
            tuple(
                (self.index[node.name], port_in)
                for node, port_in in handle.get_out_data_nodes_and_port_indexes(port)
                if node.name in self.index
            )
            for port in range(len(outputs))
        )
        controls_in = self._indices(handle.get_in_control_nodes())
        controls_out = self._indices(handle.get_out_control_nodes())
        return ViewNode(
            index, name, kind, handle, inputs, outputs, consumers, controls_in, controls_out
        )

    def _indices(self, handles) -> Tuple[int, ...]:
        return tuple(self.index[node.name] for node in handles if node.name in self.index)

    @staticmethod
    def _input(handle: Any, port: int) -> Optional[TensorRef]:
        try:
            producer, out_port = handle.get_in_data_nodes_and_port_indexes(port)
        except RuntimeError:  # how GE says that an optional input is not connected
            return None
        return (producer.name, out_port)

    def _tensor(self, handle: Any, kind: str, port: int) -> TensorInfo:
        try:
            desc = handle.get_output_desc(port)
            dtype = dtype_name(desc.data_type)
        except (RuntimeError, ValueError):  # no description, or a type that Python has no name for
            return TensorInfo("undefined", None)
        self.descs[(handle.name, port)] = desc
        dims = self._dims(handle, port, dims_of(desc.shape))
        const = None
        if kind in CONST_TYPES and dims is not None:
            const = self._repeated(handle, dtype)
        return TensorInfo(dtype, dims, const)

    def _dims(self, handle: Any, port: int, shape: List[int]) -> Optional[Tuple[int, ...]]:
        if shape == [-2]:
            return None
        if all(size >= 0 for size in shape):
            return tuple(shape)
        symbols = _output_attr(handle, "_symbolic_dims", port) or shape
        return tuple(self._symbol(size) for size in symbols)

    def _symbol(self, size: int) -> int:
        if size != -1:
            return size
        self._unknown -= 1
        return self._unknown

    def constant(self, node: ViewNode) -> Any:
        """The exact value of a Const as a host Tensor; None when it cannot be had."""
        try:
            return self._consts.tensor(node.handle)
        except (RuntimeError, ValueError):
            return None

    def operator(self, node: ViewNode) -> Operator:
        """`node` as lowering sees it; only types in the op table."""
        info = OPS[node.type]
        attrs = {key: read_attr(node.handle, key) for key in info.attrs}
        attrs = {key: value for key, value in attrs.items() if value is not None}
        attrs["dst_dtype"] = node.outputs[0].dtype
        refs = [ref for ref in node.inputs if ref is not None]
        ports = info.data_ports(len(refs))
        params = {
            port: values for port, values in
            ((port, self.constant_of(ref)) for port, ref in enumerate(refs)
             if port not in ports and info.kind in (REDUCE, MOVE))
            if values is not None
        }
        axes = attrs.pop("axes", self.axes.get(node.name))
        if axes is None and info.kind == REDUCE and 1 in params:
            axes = tuple(int(value) for value in params[1])
        inputs = tuple(refs[port] for port in ports)
        return Operator(node.name, node.type, inputs, attrs, axes, node.outputs[0].dims, params,
                        len(node.outputs))

    def constant_of(self, ref: TensorRef) -> Optional[Tuple[Any, ...]]:
        """The elements of a tensor that is a constant; None for any other."""
        producer = self.nodes[self.index[ref[0]]]
        if producer.type not in CONST_TYPES or read_attr(producer.handle, "_autofuse_fed"):
            return None
        values = self._consts.read(producer.handle)
        return None if values is None else tuple(values)

    def _repeated(self, handle: Any, dtype: str) -> Any:
        """Value of all elements of a Const; None when they differ, it is fed or cannot be read."""
        if read_attr(handle, "_autofuse_fed"):
            return None
        value = self._consts.repeated(handle)
        return bool(value) if dtype == "bool" and value is not None else value


def dtype_name(data_type: Any) -> str:
    """GE data type to the numpy-like name used here: DT_FLOAT16 -> float16."""
    name = getattr(data_type, "name", str(data_type))[3:].lower()
    return {"float": "float32", "double": "float64", "bf16": "bfloat16"}.get(name, name)


def read_attr(handle: Any, key: str) -> Any:
    """An attribute's value, None when it is absent or of a kind GE cannot hand to Python."""
    try:
        return handle.get_attr(key) if handle.has_attr(key) else None
    except RuntimeError:
        return None


def _output_attr(handle: Any, key: str, port: int) -> Any:
    try:
        return handle.get_output_attr(key, port)
    except RuntimeError:
        return None
