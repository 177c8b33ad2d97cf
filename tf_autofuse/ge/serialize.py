"""GraphData to ge.proto.ModelDef and back, without loss."""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Dict, List, Tuple

from google.protobuf.message import DecodeError

from tf_autofuse.errors import DumpError, IRError
from tf_autofuse.ge.attr import (
    attrs_from_proto,
    attrs_to_proto,
    desc_from_proto,
    desc_to_proto,
)
from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.proto import ge

STAGE = "read graph"
PEER_INDEX = "_src_out_peer_index_for_ge_txt_load"
_CONTROL = "-1"
_PORT = re.compile(r"[0-9]{1,9}\Z")
_MAX_BYTES = 2**31 - 1
_OP_FIELDS = ("name", "type", "input", "attr", "id", "input_desc", "output_desc", "subgraph_name")
_MODEL_NUMBERS = ("event_num label_num memory_size p2p_memory_size stream_num weight_size").split()


def split_input(text: str) -> Tuple[str, str]:
    """ "a:b:0" -> ("a:b", "0"): node names may hold colons, so the last one counts."""
    name, _, port = text.rpartition(":")
    return name, port


def read_bytes(path: str) -> bytes:
    """The contents of a regular file of at most 2 GiB, which is all that protobuf can read.

    DumpError for anything else, OSError when it cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: a pipe makes that wait
        raise DumpError("not a file with a graph", path=path)
    with open(path, "rb") as file:
        info = os.fstat(file.fileno())
        if info.st_size > _MAX_BYTES:
            raise DumpError("larger than 2 GiB, no graph can be", path=path)
        return file.read()


def read_air(path: str) -> GraphData:
    """The graph of a binary ModelDef file; DumpError when it is damaged."""
    raw = read_bytes(path)
    try:
        model = ge.ModelDef.FromString(raw)
    except DecodeError as error:
        raise DumpError("not a serialised ge.proto.ModelDef: {}".format(error), path=path) from None
    try:
        return model_to_graph(model)
    except IRError as error:
        raise DumpError(error.message, path=path, node=error.node) from None


def model_to_graph(model: Any) -> GraphData:
    """The root graph with all subgraphs; IRError naming the node for an inconsistent model."""
    if not model.graph:
        raise IRError("the model holds no graph", stage=STAGE)
    root = _graph_from_proto(model.graph[0])
    root.raw = model
    for message in model.graph[1:]:
        subgraph = _graph_from_proto(message)
        if subgraph.name == root.name or subgraph.name in root.subgraphs:
            raise IRError("two graphs are named {}".format(subgraph.name), stage=STAGE)
        subgraph.root = root
        root.subgraphs[subgraph.name] = subgraph
    for graph in [root] + root.owned_subgraphs():
        _check_subgraph_names(graph, root)
    return root


def _check_subgraph_names(graph: GraphData, root: GraphData) -> None:
    for node in graph.nodes.values():
        for name in node.subgraph_names:
            if name not in root.subgraphs:
                raise IRError("subgraph {} is missing".format(name), node=node.name, stage=STAGE)


def _graph_from_proto(message: Any) -> GraphData:
    graph = GraphData(message.name)
    graph.attrs = attrs_from_proto(message.attr)
    for op in message.op:
        try:
            graph.append(_node_from_proto(op))
        except (ValueError, LookupError, RecursionError) as error:
            raise IRError(str(error), node=op.name, stage=STAGE) from None
    peers: Dict[Tuple[str, str], List] = {}
    for op in message.op:
        _link_inputs(graph, op, peers)
    for (name, port), places in peers.items():
        _restore_consumer_order(graph.nodes[name], port, places)
    graph.inputs = _ends(graph, message.input)
    graph.outputs = _ends(graph, message.output)
    return graph


def _node_from_proto(op: Any) -> NodeData:
    node = NodeData(op.name, op.type)
    node.attrs = attrs_from_proto(op.attr)
    node.attrs.pop(PEER_INDEX, None)
    node.input_descs = [desc_from_proto(desc) for desc in op.input_desc]
    node.output_descs = [desc_from_proto(desc) for desc in op.output_desc]
    node.inputs = [None] * len(node.input_descs)
    node.outputs = [[] for _ in node.output_descs]
    node.subgraph_names = list(op.subgraph_name)
    node.id = op.id
    node.raw = op
    return node


def _link_inputs(graph: GraphData, op: Any, peers: Dict[Tuple[str, str], List]) -> None:
    """Connect one operator; `peers` gets (place among the consumers, edge end) by producer port."""
    node = graph.nodes[op.name]
    places = op.attr[PEER_INDEX].list.i if PEER_INDEX in op.attr else ()
    port = 0
    for index, text in enumerate(op.input):
        if not text:
            port += 1
            continue
        name, source_port = split_input(text)
        producer = graph.nodes.get(name)
        if producer is None:
            raise IRError("input {} names no node".format(text), node=op.name, stage=STAGE)
        if source_port == _CONTROL:
            node.link_control(producer)
            end: Any = node
        else:
            _check_ports(node, port, producer, source_port, text)
            node.link(port, producer, int(source_port))
            end = (node, port)
            port += 1
        if index < len(places):
            peers.setdefault((name, source_port), []).append((places[index], end))


def _check_ports(node: NodeData, port: int, producer: NodeData, source: str, text: str) -> None:
    if not _PORT.match(source) or int(source) >= len(producer.outputs):
        raise IRError("input {} names no output".format(text), node=node.name, stage=STAGE)
    if port >= len(node.inputs):
        raise IRError("more inputs than input_desc entries", node=node.name, stage=STAGE)


def _restore_consumer_order(producer: NodeData, port: str, places: List) -> None:
    if len(places) < 2:
        return
    ends = [end for _, end in sorted(places, key=lambda item: item[0])]
    if port == _CONTROL:
        producer.out_controls[:] = ends
    else:
        producer.outputs[int(port)][:] = ends


def _ends(graph: GraphData, texts: Any) -> List[Tuple[NodeData, int]]:
    ends = []
    for text in texts:
        name, port = split_input(text)
        node = graph.nodes.get(name)
        if node is None or not _PORT.match(port) or int(port) >= len(node.outputs):
            raise IRError("graph end {} names no output".format(text), stage=STAGE)
        ends.append((node, int(port)))
    return ends


def graph_to_model(root: GraphData, for_text: bool = False) -> Any:
    """The ModelDef of a graph; `for_text` adds what GE adds to its text dumps only."""
    model = ge.ModelDef()
    if root.raw is not None:
        model.CopyFrom(root.raw)
        model.ClearField("graph")
    else:
        for key in _MODEL_NUMBERS:
            model.attr[key].i = 0
        model.attr["target_type"].s = b"MINI"
    for graph in family(root):
        _graph_to_proto(graph, model.graph.add(), for_text)
    return model


def family(graph: GraphData) -> List[GraphData]:
    """A root graph with all its subgraphs; a subgraph with those it leads to."""
    if graph.root is graph:
        return [graph] + graph.owned_subgraphs()
    known = graph.root.subgraphs
    found = [graph]
    for member in found:  # grows while it is walked
        names = [name for node in member.ordered() for name in node.subgraph_names]
        found.extend(known[name] for name in names if known[name] not in found)
    return found


def _graph_to_proto(graph: GraphData, target: Any, for_text: bool) -> None:
    target.name = graph.name
    target.input.extend("{}:{}".format(node.name, port) for node, port in graph.inputs)
    target.output.extend("{}:{}".format(node.name, port) for node, port in graph.outputs)
    attrs_to_proto(graph.attrs, target.attr)
    nodes = graph.ordered()
    places = _consumer_places(nodes) if for_text else {}
    for node in nodes:
        op = target.op.add()
        _node_to_proto(node, op)
        if for_text:
            peer = op.attr[PEER_INDEX]
            peer.SetInParent()
            if op.input:
                peer.list.i.extend(_peer_indexes(node, places))


def _node_to_proto(node: NodeData, op: Any) -> None:
    if node.raw is not None:
        op.CopyFrom(node.raw)
        for field in _OP_FIELDS:
            op.ClearField(field)
    else:
        op.has_out_attr = True
    op.name = node.name
    op.type = node.type
    op.id = node.id
    op.input.extend(
        "" if edge is None else "{}:{}".format(edge[0].name, edge[1]) for edge in node.inputs
    )
    op.input.extend(producer.name + ":-1" for producer in node.in_controls)
    attrs_to_proto(node.attrs, op.attr)
    for desc in node.input_descs:
        desc_to_proto(desc, op.input_desc.add())
    for desc in node.output_descs:
        desc_to_proto(desc, op.output_desc.add())
    op.subgraph_name.extend(node.subgraph_names)


def _consumer_places(nodes: List[NodeData]) -> Dict[Any, int]:
    """Place of each edge end among its producer's consumers, by (consumer, port, producer)."""
    places: Dict[Any, int] = {}
    for node in nodes:
        for consumers in node.outputs:
            for place, (consumer, port) in enumerate(consumers):
                places[consumer, port] = place
        for place, consumer in enumerate(node.out_controls):
            places[consumer, node] = place
    return places


def _peer_indexes(node: NodeData, places: Dict[Any, int]) -> List[int]:
    data = [-1 if edge is None else places[node, port] for port, edge in enumerate(node.inputs)]
    return data + [places[node, producer] for producer in node.in_controls]
