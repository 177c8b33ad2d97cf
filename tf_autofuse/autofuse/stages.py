"""Graph dumps around the pass, where the dump variables ask for them."""
from __future__ import annotations

import os
from typing import Any

from tf_autofuse.autofuse.api import is_host
from tf_autofuse.log import get_logger

LOG = get_logger("pass")


def dump_stage(graph: Any, suffix: str) -> None:
    """Dump `graph` under a stage name, as DUMP_GE_GRAPH and its companions say."""
    if os.environ.get("DUMP_GE_GRAPH", "") not in ("1", "2", "3"):
        return
    if is_host(graph):
        from tf_autofuse.ge.dump import dump_graph

        dump_graph(graph, suffix)
        return
    from ge.graph import DumpFormat

    try:
        graph.dump_to_file(DumpFormat.kTxt, suffix)
    except RuntimeError as error:  # a graph that cannot be written can still be fused
        LOG.warning("no dump %s: %s", suffix, error)
