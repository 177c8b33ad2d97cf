"""GraphDef to ge.Graph: one GE node per TF node, under the same name.

The exceptions are ``_UnaryOpsComposition``, which becomes the chain of its operators, and one
NetOutput node that consumes what is fetched or must be kept, so that GE sees it used outside.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from google.protobuf.message import DecodeError
from tensorflow.core.framework import node_def_pb2

from tf_autofuse.errors import IRError
from tf_autofuse.frontend.tensorflow import op_types, wire
from tf_autofuse.frontend.tensorflow.record import ImportedNode, ImportRecord, Tensor, parse_input
from tf_autofuse.frontend.tensorflow.signatures import Signatures
from tf_autofuse.frontend.tensorflow.tensors import tensor_value
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.graph import Graph
from tf_autofuse.ge.tensor import TensorDesc

STAGE = "import"
UNKNOWN_RANK = [-2]
_EXTRA_PORTS, _EXTRA_PORTS_PER_NODE = 4096, 16

ATTR_DEVICE = "_tf_device"
ATTR_FED = "_autofuse_fed"
ATTR_COMPOSITION = "_tf_composition"
ATTR_REF = "_tf_ref"  # of an output
ATTR_SYMBOLS = "_symbolic_dims"  # of an output

Shapes = Dict[str, List[Tuple[int, Optional[Sequence[int]]]]]


def import_graph(
    graph_def: Any, info: Optional[Dict[str, Any]] = None
) -> Tuple[Graph, ImportRecord]:
    """The GE graph of a GraphDef (message or its bytes) and the record for `export_graph`.

    `info` may hold ``id``, the name lists ``fetch``, ``feed`` and ``preserve``, and ``shapes``:
    node name -> [(TF DataType number, dims or None)] per output, where a dim >= 0 is known, -1 is
    unknown and a lower number names a size that is unknown but the same wherever it appears.
    The function library stays as it is. Raises IRError, naming the node, for a malformed graph.
    """
    data = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    return _Importer(data, info or {}).run()


class _Importer:
    def __init__(self, data: bytes, info: Dict[str, Any]) -> None:
        node_data, rest, libraries = wire.split(data)
        self._info = info
        self._shapes: Shapes = info.get("shapes") or {}
        self._fed = {parse_input(name)[0] for name in info.get("feed", ())}
        self._signatures = Signatures(libraries)
        self._record = ImportRecord(rest=rest)
        self._builder = GraphBuilder(_graph_name(info))
        self._defs = [(raw, _parse(raw)) for raw in node_data]
        self._chains = _chain_names(node_def for _, node_def in self._defs)
        self._used_ports: Dict[str, int] = {}
        # Outputs of unknown operators that are believed in: a short name can claim billions.
        self._extra_ports = _EXTRA_PORTS + _EXTRA_PORTS_PER_NODE * len(self._defs)
        self._data_count = 0

    def run(self) -> Tuple[Graph, ImportRecord]:
        for raw, node_def in self._defs:
            if node_def.name in self._record.nodes:
                raise IRError("the name is used twice", node=node_def.name, stage=STAGE)
            inputs, controls = self._edges(node_def)
            chain = self._chains.get(node_def.name, ())
            self._record.nodes[node_def.name] = ImportedNode(raw, node_def, inputs, controls, chain)
        self._check_edges()
        for node in self._record.nodes.values():
            if node.chain:
                self._add_chain(node)
            else:
                self._add(node)
        self._add_net_output()
        return self._builder.build(), self._record

    def _edges(self, node_def: Any) -> Tuple[Tuple[Tensor, ...], Tuple[str, ...]]:
        inputs: List[Tensor] = []
        controls: List[str] = []
        for text in node_def.input:
            source, port = parse_input(text)
            self._used_ports[source] = max(port, self._used_ports.get(source, -1))
            name = self._ge_name(source)
            if port == -1:
                controls.append(name)
            else:
                inputs.append((name, port))
        return tuple(inputs), tuple(dict.fromkeys(controls))

    def _ge_name(self, tf_name: str) -> str:
        """The GE node that gives a TF node's outputs."""
        chain = self._chains.get(tf_name)
        return chain[-1] if chain else tf_name

    def _check_edges(self) -> None:
        if self._used_ports.keys() <= self._record.nodes.keys():
            return
        for node in self._record.nodes.values():
            for text in node.node_def.input:
                if parse_input(text)[0] not in self._record.nodes:
                    message = "input {!r} names a node that is not there".format(text)
                    raise IRError(message, node=node.node_def.name, stage=STAGE)

    def _add(self, node: ImportedNode) -> None:
        node_def = node.node_def
        attrs = op_types.ge_attrs(node_def)
        ge_type = op_types.ge_type(node_def.op)
        if ge_type == "Data" and "index" not in attrs:
            attrs["index"] = self._data_count
        self._data_count += ge_type == "Data"
        if node_def.op == "Const":
            value = tensor_value(node_def.attr["value"].tensor, node_def.name)
            if value is not None:
                attrs["value"] = value
        self._mark(node_def, attrs)
        self._emit(node_def.name, ge_type, node.inputs, node.controls, attrs, node_def)

    def _mark(self, node_def: Any, attrs: Dict[str, Any]) -> None:
        if node_def.device:
            attrs[ATTR_DEVICE] = node_def.device
        if node_def.name in self._fed:
            attrs[ATTR_FED] = True

    def _add_chain(self, node: ImportedNode) -> None:
        """{composition(x; Abs, Exp)} -> {Exp(Abs(x))}"""
        node_def = node.node_def
        source, controls = node.inputs, node.controls
        for ge_name, op in zip(node.chain, composed_ops(node_def)):
            single = single_op(node_def, op, ge_name)
            attrs = op_types.ge_attrs(single)
            attrs[ATTR_COMPOSITION] = node_def.name
            self._mark(node_def, attrs)
            self._emit(ge_name, op_types.ge_type(op), source, controls, attrs, node_def)
            source, controls = ((ge_name, 0),), ()

    def _emit(
        self,
        name: str,
        ge_type: str,
        inputs: Sequence[Tensor],
        controls: Sequence[str],
        attrs: Dict[str, Any],
        node_def: Any,
    ) -> None:
        outputs = self._outputs(node_def)
        self._record.owners[name] = node_def.name
        self._record.types[name] = [op_types.base_dtype(dtype) for dtype, _ in outputs]
        ge_format = op_types.ge_format(node_def)
        descs = []
        for dtype, dims in outputs:
            shape = UNKNOWN_RANK if dims is None else [dim if dim >= 0 else -1 for dim in dims]
            desc = TensorDesc(shape, ge_format, op_types.ge_dtype(dtype))
            descs.append(desc.set_origin_shape(shape))
        made = self._builder.add_op(
            name, ge_type, inputs=list(inputs), controls=list(controls), outputs=descs, attrs=attrs
        )
        for port, (dtype, dims) in enumerate(outputs):
            if dtype > op_types.REF_DTYPE_OFFSET:
                made.set_output_attr(ATTR_REF, port, True)
            if dims and any(dim < -1 for dim in dims):
                made.set_output_attr(ATTR_SYMBOLS, port, [int(dim) for dim in dims])

    def _outputs(self, node_def: Any) -> List[Tuple[int, Optional[Sequence[int]]]]:
        """(TF DataType number, dims or None) of every output.

        The operator says how many; for one that is not registered, the consumers do.
        """
        shaped = self._shapes.get(node_def.name) or []
        types = self._signatures.output_types(node_def)
        outputs = []
        used = self._used_ports.get(node_def.name, -1) + 1
        extra = used - max(len(types), len(shaped))
        self._extra_ports -= max(0, extra)
        if self._extra_ports < 0:
            message = "an input names output {} of it".format(used - 1)
            raise IRError(message, node=node_def.name, stage=STAGE)
        for port in range(max(len(types), len(shaped), used)):
            dtype, dims = shaped[port] if port < len(shaped) else (0, None)
            declared = types[port] if port < len(types) else 0
            outputs.append((declared or dtype, dims))
        return outputs

    def _add_net_output(self) -> None:
        tensors = self._kept_tensors()
        if not tensors:
            return
        name = "NetOutput"
        while name in self._record.nodes:
            name += "_"
        self._record.net_output, self._record.outputs = name, tensors
        inputs = [(self._ge_name(node), port) for node, port in tensors]
        self._builder.add_op(name, "NetOutput", inputs=inputs, outputs=[])

    def _kept_tensors(self) -> List[Tensor]:
        """Every tensor that must be there afterwards under its own name."""
        kept: Dict[Tensor, None] = {}
        for text in list(self._info.get("fetch", ())) + list(self._info.get("preserve", ())):
            name, port = parse_input(text)
            if name not in self._record.nodes:
                continue
            count = len(self._record.types[self._ge_name(name)])
            ports: Iterable[int] = range(count) if ":" not in text else [port]
            kept.update(((name, index), None) for index in ports if index < count)
        return list(kept)


def composed_ops(node_def: Any) -> List[str]:
    """The TF operators inside a ``_UnaryOpsComposition``, in the order of computing."""
    return [name.decode("utf-8") for name in node_def.attr["op_names"].list.s]


def single_op(node_def: Any, op: str, name: str) -> Any:
    """A NodeDef of one operator of a composition, without its inputs."""
    single = node_def_pb2.NodeDef(name=name, op=op, device=node_def.device)
    for key, value in node_def.attr.items():
        if key != "op_names":
            single.attr[key].CopyFrom(value)
    return single


def _chain_names(node_defs: Iterable[Any]) -> Dict[str, Tuple[str, ...]]:
    taken = set()
    compositions = []
    for node_def in node_defs:
        taken.add(node_def.name)
        if node_def.op == op_types.COMPOSITION_OP and composed_ops(node_def):
            compositions.append(node_def)
    chains = {}
    for node_def in compositions:
        names = []
        for index, op in enumerate(composed_ops(node_def)):
            name = "{}/{}_{}".format(node_def.name, op, index)
            while name in taken:
                name += "_"
            taken.add(name)
            names.append(name)
        chains[node_def.name] = tuple(names)
    return chains


def _parse(raw: bytes) -> Any:
    try:
        return node_def_pb2.NodeDef.FromString(raw)
    except DecodeError as error:
        raise IRError("a NodeDef cannot be read: {}".format(error), stage=STAGE) from error


def _graph_name(info: Dict[str, Any]) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in info.get("id") or "tf_graph")
