"""Fusion passes with the face of GE's `ge.passes`: registration, context, rewriting.

The pattern API (`PatternFusionPass`, `DecomposePass`) exists only inside GE.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Type

from tf_autofuse.ge.graph import Graph
from tf_autofuse.ge.node import Node
from tf_autofuse.ge.order import closes_cycle
from tf_autofuse.ge.rewriter import (
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
)
from tf_autofuse.ge.types import PassStage

__all__ = [
    "FuseCheckResult",
    "FusionBasePass",
    "PassContext",
    "PassDescriptor",
    "PassStage",
    "SubgraphBoundary",
    "SubgraphInput",
    "SubgraphOutput",
    "SubgraphRewriter",
    "can_fuse",
    "register_fusion_pass",
    "registered_passes",
    "report_fuse",
    "unregister_pass",
]

_SAME_ON_ALL = (
    "_user_stream_label",
    "_super_kernel_scope",
    "_super_kernel_options",
    "_op_aicore_num",
    "_op_vectorcore_num",
    "deterministic",
)


class FusionBasePass:
    """Base of passes that rewrite a graph themselves.

    A new instance is made without arguments for every graph compile and stage. `run` returns None
    or True for success, False for failure, or a status number (0 success, 1343242304 unchanged).
    """

    def run(self, graph: Graph, context: "PassContext") -> Any:
        """Rewrite `graph` in place; only its direct nodes, subgraphs come in calls of their own."""
        raise NotImplementedError


class PassContext:
    """What a pass may ask and say during one call of `run`."""

    def __init__(self, pass_name: str = "", options: Optional[Dict[str, str]] = None) -> None:
        self._pass_name = pass_name
        self._error = ""
        self._options = dict(options or {})

    def get_pass_name(self) -> str:
        """Name the pass was registered under."""
        return self._pass_name

    def set_pass_name(self, name: str) -> None:
        """Change the name written to rewritten nodes."""
        self._pass_name = name

    def get_error_message(self) -> str:
        """The error text set last."""
        return self._error

    def set_error_message(self, message: str) -> None:
        """Set the text shown when the pass fails."""
        self._error = message

    def get_option_value(self, key: str) -> str:
        """A compile option; RuntimeError when it is not set."""
        if key not in self._options:
            raise RuntimeError("no option {}".format(key))
        return self._options[key]


class PassDescriptor(NamedTuple):
    """A registered pass."""

    name: str
    stage: PassStage
    cls: Type[FusionBasePass]
    key: str


_registry: Dict[str, PassDescriptor] = {}


def register_fusion_pass(
    *, name: str, stage: PassStage, kind: Any = None
) -> Callable[[Type[FusionBasePass]], Type[FusionBasePass]]:
    """Class decorator that registers a pass; ValueError when the name or the class is there."""
    stage = PassStage(stage.value)

    def register(cls: Type[FusionBasePass]) -> Type[FusionBasePass]:
        key = "{}:{}:{}".format(cls.__module__, cls.__qualname__, name)
        if name in _registry:
            raise ValueError("a fusion pass named {} is already registered".format(name))
        _registry[name] = PassDescriptor(name, stage, cls, key)
        return cls

    return register


def registered_passes(stage: Optional[PassStage] = None) -> List[PassDescriptor]:
    """Registered passes (of one stage) in the order they run: by name."""
    found = [_registry[name] for name in sorted(_registry)]
    return found if stage is None else [entry for entry in found if entry.stage is stage]


def unregister_pass(name: str) -> None:
    """Forget a pass; KeyError when it is not registered."""
    del _registry[name]


class FuseCheckResult(NamedTuple):
    """Whether nodes may become one node, and if not why."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok


def can_fuse(nodes: Sequence[Node]) -> FuseCheckResult:
    """Whether `nodes` may become one node: one graph, equal user controls, no cycle.

    Costs time in proportion to the cluster and what lies between its ends.
    """
    members = [node._alive() for node in nodes]
    if not members:
        return FuseCheckResult(False, "no nodes")
    first = members[0]
    for member in members[1:]:
        if member.graph is not first.graph:
            return FuseCheckResult(False, "{} is in another graph".format(member.name))
    for key in _SAME_ON_ALL:
        want = first.attrs.get(key)
        for member in members[1:]:
            if member.attrs.get(key) != want:
                reason = "{} and {} differ in {}".format(first.name, member.name, key)
                return FuseCheckResult(False, reason)
    through = closes_cycle(set(members))
    if through is not None:
        reason = "fusing would close a cycle through {}".format(through.name)
        return FuseCheckResult(False, reason)
    return FuseCheckResult(True, "")


def report_fuse(before: Sequence[Node], after: Sequence[Node], context: PassContext) -> None:
    """Record that `before` became `after`; call it before the old nodes are removed.

    RuntimeError for removed nodes or a context without a pass name.
    """
    if not context.get_pass_name():
        raise RuntimeError("the context has no pass name")
    for node in list(before) + list(after):
        node._alive()
