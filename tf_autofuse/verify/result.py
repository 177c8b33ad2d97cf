"""What a check found, and how it is shown."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List

EXIT_OK = 0
EXIT_PROBLEM = 1
EXIT_DAMAGED = 2


@dataclass(frozen=True)
class TensorInfo:
    """One end of a fused node: the tensor it reads or writes (-1 = size known at run time)."""

    name: str
    dtype: str
    shape: List[int]


@dataclass(frozen=True)
class FusedNode:
    """A node that stands for several original operators. GE appends the names of all of them to
    the `name`; the `title` is without."""

    name: str
    title: str
    graph: str
    type: str
    kernel_key: str
    op_names: List[str]
    op_types: List[str]
    inputs: List[TensorInfo]
    outputs: List[TensorInfo]


@dataclass(frozen=True)
class NumericCheck:
    """A fused node run on random numbers: how often, the largest error in units in the last place
    of the largest value, what is wrong or "", and a note, such as why it was not run."""

    name: str
    trials: int
    worst_ulp: float
    problem: str
    note: str


@dataclass
class VerifyResult:
    """Fused nodes, problems as sentences, operators that became dead, the files compared, and what
    came of running the kernels."""

    fused: List[FusedNode] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    dead: List[str] = field(default_factory=list)
    files: List[str] = field(default_factory=list)
    numeric: List[NumericCheck] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """At least one node fused and no problem found."""
        return bool(self.fused) and not self.problems

    @property
    def exit_code(self) -> int:
        """0 when all holds, 1 otherwise."""
        return EXIT_OK if self.ok else EXIT_PROBLEM

    def to_dict(self) -> Dict[str, Any]:
        """The result as plain dicts and lists."""
        return dict(asdict(self), ok=self.ok)


def render_json(result: VerifyResult) -> str:
    """The result as indented JSON."""
    return json.dumps(result.to_dict(), indent=2, ensure_ascii=False)


def _plain(text: str, _: str) -> str:
    return text


def render_text(result: VerifyResult, paint: Callable[[str, str], str] = _plain) -> str:
    """The result for a reader: each fused node with its operators, then the problems.

    ``paint(text, colour)`` puts a word into a colour.
    """
    lines = []
    titles = {node.name: node.title for node in result.fused}
    for node in result.fused:
        title = paint(node.title, "bold")
        lines.append("fused {} ({}) in graph {}".format(title, node.type, node.graph))
        for name, kind in zip(node.op_names, node.op_types):
            lines.append("  op  {} ({})".format(name, kind))
        for mark, ends in (("in ", node.inputs), ("out", node.outputs)):
            lines.extend(
                "  {} {} {} {}".format(
                    mark, _short(end.name, titles), end.dtype, _shape(end.shape)
                )
                for end in ends
            )
    for check in result.numeric:
        lines.append(_numeric_line(check, titles))
    for name in result.dead:
        lines.append("dead: {}".format(name))
    for problem in result.problems:
        lines.append("{} {}".format(paint("problem:", "red"), problem))
    if not result.fused:
        lines.append("nothing was fused")
    verdict = paint("ok", "green") if result.ok else paint("not ok", "red")
    lines.append(
        "{}: {} fused, {} problems, {} files".format(
            verdict, len(result.fused), len(result.problems), len(result.files)
        )
    )
    return "\n".join(lines) + "\n"


def _short(tensor: str, titles: Dict[str, str]) -> str:
    """NAME:PORT, where the name of a fused node is its title."""
    name, colon, port = tensor.rpartition(":")
    return titles.get(name, name) + colon + port


def _numeric_line(check: NumericCheck, titles: Dict[str, str]) -> str:
    said = check.problem or check.note
    if check.trials and not check.problem:
        said = "{} trials, at most {:.2g} ulp".format(check.trials, check.worst_ulp)
        said += ", {}".format(check.note) if check.note else ""
    return "numbers {}: {}".format(titles.get(check.name, check.name), said)


def _shape(dims: List[int]) -> str:
    return "[{}]".format(", ".join("?" if dim == -1 else str(dim) for dim in dims))
