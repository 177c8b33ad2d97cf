"""Whether one graph after fusing says the same as the graph before, by names and edges alone."""

from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple

from tf_autofuse.cluster.recompute import is_cheap
from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.order import rank_nodes
from tf_autofuse.ge.rewriter import ORIGINAL_NAMES, ORIGINAL_TYPES
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import DataType
from tf_autofuse.verify.result import FusedNode, TensorInfo, VerifyResult

FUSED_TYPE = "AutofusedKernel"
# Types whose nodes may be left over, and then removed, once all their readers are fused.
_MAY_DIE = ("Const", "Constant", "Data")
_SIZE_TYPES = (DataType.DT_INT32, DataType.DT_INT64)
_UNKNOWN = -1
_UNKNOWN_RANK = (-2,)

_End = Tuple[str, int]


def _is_size(node: NodeData) -> bool:
    """Whether a node gives nothing but a few integers, as a shape is."""
    descs = node.output_descs
    return bool(descs) and all(
        desc.data_type in _SIZE_TYPES and len(desc.shape.dims) < 2 and desc.shape.dims != [-2]
        for desc in descs)


def original_names(node: NodeData) -> List[str]:
    """Names of the operators a fused node stands for; [] when it does not say."""
    return _strings(node, ORIGINAL_NAMES) or _strings(node, "op_names")


def original_types(node: NodeData) -> List[str]:
    """Types that go with `original_names`."""
    return _strings(node, ORIGINAL_TYPES) or _strings(node, "op_types")


def _strings(node: NodeData, key: str) -> List[str]:
    value = node.attrs.get(key)
    return list(value) if type(value) is list else []


def check_pair(before: GraphData, after: GraphData, result: VerifyResult) -> None:
    """Add to `result` what happened between two graphs of one name and what is wrong with it."""
    _PairCheck(before, after, result).run()


class _PairCheck:
    def __init__(self, before: GraphData, after: GraphData, result: VerifyResult) -> None:
        self.before = before
        self.after = after
        self.result = result
        self.fused = {
            node.name: node
            for node in after.ordered()
            if node.name not in before.nodes and (node.type == FUSED_TYPE or original_names(node))
        }
        # Operator of the graph before -> fused nodes it is in.
        self.home: Dict[str, List[str]] = {}
        self.members: Dict[str, Set[str]] = {}
        self._assign_members()
        self.dead = self._find_dead()

    def _assign_members(self) -> None:
        holders: Dict[str, List[str]] = {}
        for fused in self.fused.values():
            for name in original_names(fused):
                holders.setdefault(name, []).append(fused.name)
        for node in self.before.nodes.values():
            # A node fused earlier already stands for others, and its name is gone now.
            names = original_names(node) or [node.name]
            homes = [home for home in holders.get(names[0], ()) if self._holds(home, names)]
            if node.name in holders and not homes:
                homes = holders[node.name]
            if homes:
                self.home[node.name] = homes
            for home in homes:
                self.members.setdefault(home, set()).add(node.name)

    def _holds(self, home: str, names: List[str]) -> bool:
        return set(names) <= set(original_names(self.fused[home]))

    def say(self, text: str, *args) -> None:
        self.result.problems.append("graph {}: {}".format(self.after.name, text.format(*args)))

    def run(self) -> None:
        for node in self.before.ordered():
            self._account(node)
        for node in self.after.ordered():
            if node.name in self.before.nodes:
                self._check_survivor(self.before.nodes[node.name], node)
            elif node.name in self.fused:
                self._check_fused(node)
            elif node.type != "NoOp":
                self.say("{} ({}) came from nowhere", node.name, node.type)
        if rank_nodes(self.before) and not rank_nodes(self.after):
            self.say("the edges close a cycle")
        for node in self.fused.values():
            self.result.fused.append(_describe(node, self.after.name))

    def _account(self, node: NodeData) -> None:
        """Still there, in a fused node, or dead; a cheap operator may be in several."""
        homes = self.home.get(node.name, [])
        if len(homes) > 1 and not is_cheap(str(node.attrs.get("original_type") or node.type)):
            self.say("{} is in several fused nodes: {}", node.name, ", ".join(homes))
        if homes or node.name in self.after.nodes:
            return
        if node.name in self.dead:
            self.result.dead.append(node.name)
            return
        self.say("{} ({}) is neither there nor in a fused node", node.name, node.type)

    def _find_dead(self) -> Set[str]:
        """Names of nodes that are gone since fused nodes, which hold constants and know sizes, have
        taken all their readers."""
        gone = {name: node for name, node in self.before.nodes.items()
                if name not in self.home and name not in self.after.nodes
                and (node.type in _MAY_DIE or _is_size(node))}
        readers = {name: sum(reader.name not in self.home for ends in node.outputs
                             for reader, _ in ends) for name, node in gone.items()}
        dead = [name for name, count in readers.items() if not count]
        for name in dead:  # grows while it is walked
            for edge in gone[name].inputs:
                if edge is not None and edge[0].name in readers:
                    readers[edge[0].name] -= 1
                    if not readers[edge[0].name]:
                        dead.append(edge[0].name)
        return set(dead)

    def _check_survivor(self, old: NodeData, new: NodeData) -> None:
        if old.type != new.type:
            self.say("{} was {} and is {}", new.name, old.type, new.type)
        for what, had, has in (
            ("inputs", len(old.inputs), len(new.inputs)),
            ("outputs", len(old.outputs), len(new.outputs)),
        ):
            if had != has:
                self.say("{} had {} {} and has {}", new.name, had, what, has)
                return
        for port, (had_edge, has_edge) in enumerate(zip(old.inputs, new.inputs)):
            self._check_edge(new, port, had_edge, has_edge)
        for port, (had_desc, has_desc) in enumerate(zip(old.output_descs, new.output_descs)):
            self._same_tensor("{}:{}".format(new.name, port), had_desc, has_desc)

    def _check_edge(self, node: NodeData, port: int, had, has) -> None:
        where = "input {} of {}".format(port, node.name)
        if had is None or has is None:
            if had is not has:
                state = "connected" if had is None else "unconnected"
                self.say("{} has become {}", where, state)
            return
        (old, old_port), (new, new_port) = had, has
        if not self._stands_for(new, new_port, old, old_port):
            self.say("{} read {}:{} and reads {}:{}", where, old.name, old_port, new.name, new_port)
            return
        self._same_tensor(where, old.output_descs[old_port], new.output_descs[new_port])

    def _stands_for(self, new: NodeData, new_port: int, old: NodeData, old_port: int) -> bool:
        """Whether an output after fusing may be what an output before it was."""
        if new.name == old.name:
            return new_port == old_port
        return new.name in self.home.get(old.name, ())

    def _same_tensor(self, where: str, old: TensorDesc, new: TensorDesc) -> None:
        if old.data_type != new.data_type:
            self.say("{} was {} and is {}", where, old.data_type.name, new.data_type.name)
        if not _shapes_agree(old, new):
            self.say("{} was {} and is {}", where, list(old.shape), list(new.shape))

    def _check_fused(self, node: NodeData) -> None:
        names = original_names(node)
        if not names:
            self.say("{} does not say which operators it stands for", node.name)
            return
        types = original_types(node)
        if len(types) != len(names):
            self.say("{} names {} operators and {} types", node.name, len(names), len(types))
        if not self.members.get(node.name):
            self.say("no operator of {} was in the graph before", node.name)
        if len(node.inputs) != len(node.input_descs) or len(node.outputs) != len(node.output_descs):
            self.say("{} has ports without a description", node.name)
            return
        sources = self._outside_sources(node.name)
        for port, edge in enumerate(node.inputs):
            if edge is None:
                self.say("input {} of {} is unconnected", port, node.name)
                continue
            self._check_fused_input(node, port, edge, sources)
        if not any(node.outputs) and not node.out_controls:
            self._check_sink(node)

    def _check_fused_input(self, node: NodeData, port: int, edge, sources: List) -> None:
        producer, producer_port = edge
        if not any(self._stands_for(producer, producer_port, *source) for source in sources):
            self.say(
                "{} reads {}:{}, which its operators did not",
                node.name,
                producer.name,
                producer_port,
            )
        where = "input {} of {}".format(port, node.name)
        self._same_tensor(where, producer.output_descs[producer_port], node.input_descs[port])

    def _outside_sources(self, home: str) -> List[Tuple[NodeData, int]]:
        members = self.members.get(home, set())
        return [
            edge
            for name in members
            for edge in self.before.nodes[name].inputs
            if edge is not None and edge[0].name not in members
        ]

    def _check_sink(self, node: NodeData) -> None:
        """A fused node nobody reads must hold operators nobody read, with the same results."""
        ends = [
            desc
            for name in sorted(self.members.get(node.name, ()))
            if not any(self.before.nodes[name].outputs)
            for desc in self.before.nodes[name].output_descs
        ]
        for want in ends:
            if not any(_equal(want, got) for got in node.output_descs):
                self.say(
                    "{} lacks an output {} {}", node.name, want.data_type.name, want.shape.dims
                )
        if not ends:
            self.say("nobody reads {}", node.name)


def _equal(one: TensorDesc, other: TensorDesc) -> bool:
    return one.data_type == other.data_type and _shapes_agree(one, other)


def _shapes_agree(one: TensorDesc, other: TensorDesc) -> bool:
    """Equal where both are known."""
    first, second = tuple(one.shape), tuple(other.shape)
    if _UNKNOWN_RANK in (first, second):
        return True
    if len(first) != len(second):
        return False
    return all(a == b or _UNKNOWN in (a, b) for a, b in zip(first, second))


def title(node: NodeData) -> str:
    """The name that the pass gave a fused node; GE makes a longer one of it."""
    given = node.attrs.get("autofuse_name")
    return given if isinstance(given, str) and given else node.name


def _describe(node: NodeData, graph: str) -> FusedNode:
    key: Optional[object] = node.attrs.get("kernel_key")
    inputs = [
        _tensor("{}:{}".format(*_end(edge)) if edge else "", desc)
        for edge, desc in zip(node.inputs, node.input_descs)
    ]
    outputs = [
        _tensor("{}:{}".format(node.name, port), desc)
        for port, desc in enumerate(node.output_descs)
    ]
    names, types = original_names(node), original_types(node)
    text = key if isinstance(key, str) else ""
    return FusedNode(node.name, title(node), graph, node.type, text, names, types, inputs, outputs)


def _end(edge: Tuple[NodeData, int]) -> _End:
    return edge[0].name, edge[1]


def _tensor(name: str, desc: TensorDesc) -> TensorInfo:
    return TensorInfo(name, desc.data_type.name, list(desc.shape))
