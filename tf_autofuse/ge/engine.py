"""The host GraphEngine: runs fusion passes over a graph in GE's stages and order."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Optional

from tf_autofuse import log
from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge.dump import dump_graph
from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.passes import PassContext, PassDescriptor, registered_passes
from tf_autofuse.ge.plugins import load_plugins
from tf_autofuse.ge.types import (
    STAGE_DUMP_SUFFIX,
    STATUS_NOT_CHANGED,
    STATUS_SUCCESS,
    PassStage,
)

FIRST_DUMP = "PreRunBegin"
_MAX_STATUS = 2**32 - 1
_graph_ids = itertools.count()


class GraphEngine:
    """Compiles graphs as far as passes go; `options` are what passes may ask their context for."""

    def __init__(self, options: Optional[Dict[str, str]] = None) -> None:
        self._options = dict(options or {})

    def run(self, graph: Graph, graph_id: Optional[int] = None) -> Graph:
        """Load the plug-ins and run every stage on `graph`, in place; returns it.

        `graph_id` is the number in dump names, by default the next one of the process.
        AutofuseError naming the pass or plug-in that fails; the graph may then be half rewritten.
        """
        load_plugins()
        graph._graph.graph_id = next(_graph_ids) if graph_id is None else graph_id
        dump_graph(graph, FIRST_DUMP)
        for stage in PassStage:
            descriptors = registered_passes(stage)
            for descriptor in descriptors:
                self._run_pass(descriptor, graph)
            if descriptors:
                dump_graph(graph, STAGE_DUMP_SUFFIX[stage])
        return graph

    def _run_pass(self, descriptor: PassDescriptor, graph: Graph) -> None:
        """One instance for the root, then for every subgraph whose owner still exists."""
        name, where = descriptor.name, descriptor.stage.value
        try:
            instance = descriptor.cls()
        except Exception as error:
            raise AutofuseError(_said(error), node=name, stage=where) from error
        for data in [graph._graph] + _owned(graph._graph):
            context = PassContext(name, self._options)
            try:
                result = instance.run(Graph._wrap(data), context)
            except Exception as error:
                raise AutofuseError(_said(error), node=name, stage=where) from error
            problem = _problem(result)
            if problem:
                detail = context.get_error_message()
                text = "{}: {}".format(problem, detail) if detail else problem
                raise AutofuseError(text, node=name, stage=where)
            if context.get_error_message():  # the pass has told what it could not do
                log.count_warning()


def _owned(root: GraphData) -> List[GraphData]:
    graphs = [root] + root.owned_subgraphs()
    used = {name for data in graphs for node in data.nodes.values() for name in node.subgraph_names}
    return [data for data in root.owned_subgraphs() if data.name in used]


def _said(error: Exception) -> str:
    return "{}: {}".format(type(error).__name__, error)


def _problem(result: Any) -> str:
    """What is wrong with a pass's return value; "" for success.

    None and True succeed, False fails, a number is a status. GE aborts the process on a number
    outside of 32 bits; here it is an error like the others.
    """
    if result is None or result is True:
        return ""
    if result is False:
        return "the pass returned False"
    if type(result) is int and 0 <= result <= _MAX_STATUS:
        good = result in (STATUS_SUCCESS, STATUS_NOT_CHANGED)
        return "" if good else "the pass returned status {}".format(result)
    return "the pass returned {!r}, which is no status".format(result)
