"""ge.Graph back to GraphDef: what no pass touched keeps its bytes.

Nodes keep their order; fused nodes follow them, then the Identity nodes that keep a fetched name
alive whose node went into a kernel.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, List, Set, Tuple

from tensorflow.core.framework import node_def_pb2

from tf_autofuse.build.cache import file_digest
from tf_autofuse.errors import IRError
from tf_autofuse.frontend.tensorflow import op_types, wire
from tf_autofuse.frontend.tensorflow.choice import make_choice
from tf_autofuse.frontend.tensorflow.importer import composed_ops, single_op
from tf_autofuse.frontend.tensorflow.record import (
    ImportedNode,
    ImportRecord,
    Tensor,
    tensor_name,
)
from tf_autofuse.ge.graph import Graph

STAGE = "export"
COLOCATION = b"loc:@"


def export_graph(graph: Graph, record: ImportRecord) -> bytes:
    """The serialized GraphDef of an imported graph after passes ran on it.

    Raises IRError, naming the node, for a node or an edge that TensorFlow cannot express.
    """
    return _Exporter(graph, record).run()


class _Exporter:
    def __init__(self, graph: Graph, record: ImportRecord) -> None:
        self._record = record
        self._live = {node.name: node for node in graph.get_direct_nodes()}
        self._new = [
            node
            for name, node in self._live.items()
            if name not in record.owners and name != record.net_output
        ]
        self._fused = {
            node.name: node.get_attr("autofuse_name")
            for node in self._new
            if node.type == op_types.FUSED_OP
        }
        self._out: List[Tuple[str, bytes, Any]] = []  # name, bytes, NodeDef
        self._functions: List[Any] = []

    def run(self) -> bytes:
        for made in self._new:
            if made.type not in (op_types.FUSED_OP, "NoOp"):
                raise IRError("no TF operator for a " + made.type, node=made.name, stage=STAGE)
        for name, node in self._record.nodes.items():
            if node.chain:
                self._export_chain(node)
            elif name in self._live:
                self._export_known(node)
        for made in self._new:
            if made.type == op_types.FUSED_OP:
                self._put_fused(made)
        self._keep_fetched_names()
        self._drop_dead_colocations()
        rest = self._record.rest + wire.library(self._functions)
        return wire.join([raw for _, raw, _ in self._out], rest)

    def _put_fused(self, live: Any) -> None:
        fused = self._fused_node(live)
        if not live.has_attr("ticket"):
            self._put(fused)
            return
        choice = make_choice(fused, live, self._record)
        self._functions += choice.functions
        self._put(choice.node)

    def _put(self, node_def: Any) -> None:
        self._out.append((node_def.name, node_def.SerializeToString(), node_def))

    def _export_known(self, node: ImportedNode) -> None:
        live = self._live[node.node_def.name]
        inputs, controls = self._inputs(live), self._controls(live)
        if inputs == list(node.inputs) and set(controls) == self._recorded_controls(node):
            self._out.append((node.node_def.name, node.raw, node.node_def))
        else:
            self._put(self._rewired(node.node_def, inputs, controls))

    def _recorded_controls(self, node: ImportedNode) -> Set[str]:
        return {self._tf_node(name) for name in node.controls}

    def _rewired(self, node_def: Any, inputs: List[Tensor], controls: List[str]) -> Any:
        copy = node_def_pb2.NodeDef()
        copy.CopyFrom(node_def)
        del copy.input[:]
        self._set_inputs(copy, inputs, controls)
        return copy

    def _set_inputs(self, node_def: Any, inputs: List[Tensor], controls: List[str]) -> None:
        node_def.input.extend(tensor_name(self._tf_node(name), port) for name, port in inputs)
        node_def.input.extend(tensor_name(name, -1) for name in controls if name != node_def.name)

    def _inputs(self, live: Any) -> List[Tensor]:
        """Data inputs by GE name. Only GE's Data has an input port that nothing feeds."""
        if live.type == "Data":
            return []
        inputs = []
        for port in range(live.get_inputs_size()):
            try:
                source, source_port = live.get_in_data_nodes_and_port_indexes(port)
            except RuntimeError as error:
                raise IRError(
                    "input {} is not connected".format(port), node=live.name, stage=STAGE
                ) from error
            inputs.append((source.name, source_port))
        return inputs

    def _controls(self, live: Any) -> List[str]:
        """TF names of the nodes to wait for, seen through the NoOps that a rewrite put between."""
        names: Dict[str, None] = {}
        seen: Set[str] = set()
        waiting = list(reversed(live.get_in_control_nodes()))
        while waiting:
            source = waiting.pop()
            if source.name in seen:
                continue
            seen.add(source.name)
            if source.type == "NoOp" and source.name not in self._record.owners:
                waiting.extend(reversed(source.get_in_control_nodes()))
            else:
                names[self._tf_node(source.name)] = None
        return list(names)

    def _tf_node(self, ge_name: str) -> str:
        """Name of the TF node that stands for a live GE node."""
        if ge_name in self._fused:
            return self._fused[ge_name]
        owner = self._record.owner(ge_name)
        if owner is None:
            raise IRError("no TF node stands for it", node=ge_name, stage=STAGE)
        # The last of a chain gives the composition's output, so it takes the composition's name.
        if not owner.chain or ge_name == owner.chain[-1]:
            return owner.node_def.name
        return ge_name

    def _export_chain(self, node: ImportedNode) -> None:
        if self._is_whole(node):
            first = self._live[node.chain[0]]
            inputs, controls = self._inputs(first), self._controls(first)
            if inputs == list(node.inputs) and set(controls) == self._recorded_controls(node):
                self._out.append((node.node_def.name, node.raw, node.node_def))
            else:
                self._put(self._rewired(node.node_def, inputs, controls))
            return
        for ge_name, op in zip(node.chain, composed_ops(node.node_def)):
            if ge_name in self._live:
                live = self._live[ge_name]
                node_def = single_op(node.node_def, op, self._tf_node(ge_name))
                self._set_inputs(node_def, self._inputs(live), self._controls(live))
                self._put(node_def)

    def _is_whole(self, node: ImportedNode) -> bool:
        """Whether all of a chain is there and only its ends have edges to the rest."""
        if any(name not in self._live for name in node.chain):
            return False
        for before, after in zip(node.chain, node.chain[1:]):
            source, target = self._live[before], self._live[after]
            consumers = source.get_out_data_nodes_and_port_indexes(0)
            if [(user.name, port) for user, port in consumers] != [(after, 0)]:
                return False
            if source.get_out_control_nodes() or target.get_in_control_nodes():
                return False
        return True

    def _fused_node(self, live: Any) -> Any:
        node_def = node_def_pb2.NodeDef(name=self._fused[live.name], op=op_types.FUSED_OP)
        node_def.device = self._device(live)
        inputs = self._inputs(live)
        self._set_inputs(node_def, inputs, self._controls(live))
        attr = node_def.attr
        attr["Tin"].list.type.extend(self._type_of(name, port) for name, port in inputs)
        attr["Tout"].list.SetInParent()
        attr["output_shapes"].list.SetInParent()
        for port in range(live.get_outputs_size()):
            desc = live.get_output_desc(port)
            attr["Tout"].list.type.append(self._type_of(live.name, port))
            _set_shape(attr["output_shapes"].list.shape.add(), desc.shape.dims)
        if not inputs:
            attr["Tin"].list.SetInParent()
        for key in ("kernel_key", "spec", "host_library"):
            attr[key].s = live.get_attr(key).encode("utf-8")
        # TensorFlow 1.15 fills in no defaults behind its optimizer: every attribute is there.
        attr["node_name"].s = attr["host_digest"].s = b""
        with contextlib.suppress(OSError):  # gone already: the process has it open
            attr["host_digest"].s = file_digest(live.get_attr("host_library")).encode()
        return node_def

    def _device(self, live: Any) -> str:
        """Device of the operators inside: a cluster lies on one."""
        for name in live.get_attr("op_names") if live.has_attr("op_names") else ():
            owner = self._record.owner(name)
            if owner is not None:
                return owner.node_def.device
        return ""

    def _type_of(self, ge_name: str, port: int) -> int:
        """TF DataType number of a tensor: as imported, or by its desc for a fused node's."""
        known = self._record.types.get(ge_name)
        if known is not None and port < len(known):
            return known[port]
        return op_types.TF_DTYPE[int(self._live[ge_name].get_output_desc(port).data_type)]

    def _keep_fetched_names(self) -> None:
        """A fetched node that went into a kernel lives on as Identity of the kernel's output, and
        one of several outputs as IdentityN of all of them."""
        if not self._record.net_output:
            return
        present = {name for name, _, _ in self._out}
        sources = self._inputs(self._live[self._record.net_output])
        kept: Dict[str, Dict[int, Any]] = {}
        for (name, port), source in zip(self._record.outputs, sources):
            if name not in present:
                kept.setdefault(name, {})[port] = source
        for name, ports in kept.items():
            if sorted(ports) != list(range(len(ports))):
                message = "outputs {} are fetched, so the node must stay".format(sorted(ports))
                raise IRError(message, node=name, stage=STAGE)
            self._put_identity(name, [ports[port] for port in range(len(ports))])

    def _put_identity(self, name: str, sources: List[Any]) -> None:
        single = len(sources) == 1
        node_def = node_def_pb2.NodeDef(name=name, op="Identity" if single else "IdentityN")
        node_def.device = self._record.nodes[name].node_def.device
        types = [self._type_of(*source) for source in sources]
        if single:
            node_def.attr["T"].type = types[0]
        else:
            node_def.attr["T"].list.type.extend(types)
        self._set_inputs(node_def, sources, [])
        self._put(node_def)

    def _drop_dead_colocations(self) -> None:
        present = {name for name, _, _ in self._out}
        dead = {COLOCATION + name.encode() for name in self._record.nodes if name not in present}
        if not dead:
            return
        for index, (name, _, node_def) in enumerate(self._out):
            if "_class" not in node_def.attr:
                continue
            groups = node_def.attr["_class"].list.s
            if any(group in dead for group in groups):
                copy = _without_groups(node_def, dead)
                self._out[index] = (name, copy.SerializeToString(), copy)


def _without_groups(node_def: Any, dead: Set[bytes]) -> Any:
    copy = node_def_pb2.NodeDef()
    copy.CopyFrom(node_def)
    kept = [group for group in copy.attr["_class"].list.s if group not in dead]
    del copy.attr["_class"]
    if kept:
        copy.attr["_class"].list.s.extend(kept)
    return copy


def _set_shape(proto: Any, dims: List[int]) -> None:
    if dims == [-2]:
        proto.unknown_rank = True
        return
    for size in dims:
        proto.dim.add(size=size)
