"""Replacing a cluster. Statuses are returned, 4294967295 for failure; none is raised."""
import copy

from ge.graph.attr import of_message, to_message
from ge.graph.node import Node
from ge.graph.store import Op, of_model, to_model

from .context import PassContext
from .inspector import ALIKE, problem

SUCCESS, FAILED = 0, 4294967295
NAMES, TYPES = "_datadump_original_op_names", "_datadump_original_op_types"
_count = iter(range(1 << 30))


class SubgraphInput:
    """Input ports of nodes of the cluster that read one outside tensor, as tuples (node, port)."""

    def __init__(self, node_inputs=()):
        self._ports = []
        for item in node_inputs:
            if not isinstance(item, tuple) or len(item) != 2:
                raise RuntimeError("SubgraphInput expects iterable of (node, index)")
            self._ports.append((_op(item[0]), item[1]))

    def add_input(self, node, out_index):
        self._ports.append((_op(node), out_index))
        return SUCCESS


class SubgraphOutput:
    """An output port of a node of the cluster."""

    def __init__(self, node=None, out_index=0):
        self._port = None if node is None else (_op(node), out_index)


class SubgraphBoundary:
    """Inputs and outputs by index; an index used twice is a status."""

    def __init__(self):
        self._inputs, self._outputs = {}, {}

    def add_input(self, index, input):
        return self._add(self._inputs, index, input, SubgraphInput)

    def add_output(self, index, output):
        return self._add(self._outputs, index, output, SubgraphOutput)

    @staticmethod
    def _add(table, index, item, kind):
        if not isinstance(item, kind) or not isinstance(index, int):
            raise TypeError("incompatible function arguments")
        if index in table:
            return FAILED
        table[index] = item
        return SUCCESS


class SubgraphRewriter:
    """Without context a status, with one None or RuntimeError."""

    @staticmethod
    def replace(boundary, replacement, *, context=None):
        if context is not None and not isinstance(context, PassContext):
            raise TypeError("incompatible function arguments")
        reason = _replace(boundary, replacement._store, context)
        if context is None:
            return FAILED if reason else SUCCESS
        if reason:
            text = "SubgraphRewriter::Replace with context failed, pass_name={}, status={}".format(
                context.get_pass_name(), FAILED)
            context.set_error_message(text)
            raise RuntimeError(text)
        return None


def _op(node):
    if not isinstance(node, Node):
        raise RuntimeError("Node handle is empty")
    return node._live()


def _replace(boundary, template, context):
    """"" or why not; the graph is unchanged then."""
    sources = [_source(boundary._inputs.get(i)) for i in range(len(boundary._inputs))]
    results = [boundary._outputs[i]._port for i in sorted(boundary._outputs)]
    if None in sources or not results or None in results:
        return "the boundary is incomplete"
    cluster = _cluster(boundary, [op for op, _ in results])
    if isinstance(cluster, str):
        return cluster
    data = [op for op in template.ops if op.type == "Data"]
    ends = [op for op in template.ops if op.type == "NetOutput"]
    if len(data) != len(sources) or len(ends) != 1 or len(ends[0].inputs) != len(results):
        return "counts differ"
    reason = problem(cluster)
    if reason:
        return reason
    if context is not None and not context.get_pass_name():
        return "no pass name"
    _splice(cluster, sources, results, of_model(to_model(template)), context)
    return ""


def _source(item):
    if item is None:
        return None
    ends = {op.inputs[port] if 0 <= port < len(op.inputs) else None for op, port in item._ports}
    return ends.pop() if len(ends) == 1 else None


def _cluster(boundary, starts):
    cut = {port for item in boundary._inputs.values() for port in item._ports}
    found, waiting = [], list(starts)
    while waiting:
        op = waiting.pop(0)
        if op in found:
            continue
        if op.type in ("Data", "NetOutput"):
            return "the boundary does not enclose the cluster"
        found.append(op)
        waiting += [
            edge[0] for port, edge in enumerate(op.inputs)
            if edge is not None and (op, port) not in cut
        ]  # fmt: skip
    return found if all(op in found for op, _ in cut) else "an input leads to no output"


def _splice(cluster, sources, results, template, context):
    graph = cluster[0].graph
    outside = {}
    bodies = []
    for op in template.ops:
        if op.type == "Data":
            outside[op] = sources[of_message(op.attrs["index"])]
        elif op.type != "NetOutput":
            bodies.append(op)
    end = next(op for op in template.ops if op.type == "NetOutput")
    joined = "_".join(op.name for op in cluster)
    for op in bodies:
        op.name = "{}_{}_{}".format(op.name, joined, next(_count))
        op.graph = graph
        op.attrs.update(_inherited(cluster, context))
        op.inputs = [outside.get(e[0], e) if e is not None else None for e in op.inputs]
    place = graph.ops.index(cluster[0])
    graph.ops[place:place] = bodies
    for (old, port), edge in zip(results, end.inputs):
        new = outside.get(edge[0], edge)
        for reader, at in old.data_consumers(port):
            reader.inputs[at] = new
    _controls(graph, cluster, bodies)
    _prune(graph, cluster)


def _inherited(cluster, context):
    attrs = {
        NAMES: to_message([name for op in cluster for name in _origin(op, NAMES, op.name)]),
        TYPES: to_message([name for op in cluster for name in _origin(op, TYPES, op.type)]),
    }
    for key in ALIKE:
        if key in cluster[0].attrs:
            attrs[key] = copy.deepcopy(cluster[0].attrs[key])
    if context is not None:
        attrs["pass_name"] = to_message([context.get_pass_name()])
    return attrs


def _origin(op, key, own):
    return of_message(op.attrs[key]) if key in op.attrs else [own]


def _controls(graph, cluster, bodies):
    before = [source for op in cluster for source in op.controls if source not in cluster]
    after = [op for member in cluster for op in member.control_consumers() if op not in cluster]
    if before:
        noop = graph.add(Op("noop_in_" + bodies[0].name, "NoOp"))
        noop.controls = list(before)
        for op in bodies:
            op.controls.append(noop)
    if after:
        noop = graph.add(Op("noop_out_" + bodies[-1].name, "NoOp"))
        noop.controls = list(bodies)
        for op in after:
            op.controls.append(noop)


def _prune(graph, cluster):
    changed = True
    while changed:
        changed = False
        for op in cluster:
            if op.graph is not None and not op.readers():
                for follower in op.control_consumers():  # IsolateNode keeps what came before
                    for edge in op.inputs:
                        if edge is not None:
                            follower.controls.append(edge[0])
                graph.remove(op)
                changed = True
