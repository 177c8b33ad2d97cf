"""What an import remembers, so that the export gives back everything it did not change."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

Tensor = Tuple[str, int]  # (node name, output port)


@dataclass(frozen=True)
class ImportedNode:
    """One TF node: its bytes, its NodeDef, and its edges by the names of GE nodes.

    `chain` holds the GE nodes of a TF node that became several, in the order of computing.
    """

    raw: bytes
    node_def: Any
    inputs: Tuple[Tensor, ...]
    controls: Tuple[str, ...]
    chain: Tuple[str, ...] = ()


@dataclass
class ImportRecord:
    """The TF side of an imported graph.

    `rest` are the fields of the GraphDef besides its nodes. `types` gives the TF DataType numbers
    (base types) of every GE node's outputs. `outputs` lists the TF tensors that the GE node
    `net_output` consumes, by its input ports; `net_output` is empty when there are none.
    """

    nodes: Dict[str, ImportedNode] = field(default_factory=dict)
    rest: bytes = b""
    types: Dict[str, List[int]] = field(default_factory=dict)
    owners: Dict[str, str] = field(default_factory=dict)
    net_output: str = ""
    outputs: List[Tensor] = field(default_factory=list)

    def owner(self, ge_name: str) -> Optional[ImportedNode]:
        """The TF node that a GE node came from; None for a node a pass made."""
        name = self.owners.get(ge_name)
        return None if name is None else self.nodes[name]


def parse_input(text: str) -> Tensor:
    """(node, port) of a NodeDef input or tensor name; the port of ``^node`` is -1."""
    if text.startswith("^"):
        return text[1:], -1
    name, colon, port = text.rpartition(":")
    if colon and re.match(r"[0-9]{1,9}\Z", port):
        return name, int(port)
    return text, 0


def tensor_name(name: str, port: int) -> str:
    """How a NodeDef input spells an output; port -1 is a control edge."""
    if port == -1:
        return "^" + name
    return name if port == 0 else "{}:{}".format(name, port)
