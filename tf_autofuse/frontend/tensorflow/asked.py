"""A graph that TensorFlow asks about, in forms that are equal for equal graphs."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Callable, Dict, Iterable, List, Match, Set

from tensorflow.core.framework import node_def_pb2

from tf_autofuse import flags
from tf_autofuse.frontend.tensorflow import wire

# A fused node's name, wherever it stands: the number counts the kernels of a process.
_KERNEL = re.compile(r"autofused_[a-z]+_(\d+)_\w*")
_SYMBOL = re.compile(r"-(?!1\b)\d+")

Rename = Callable[[str], str]


class Asked:
    """The parts of a GraphDef, and what TensorFlow says about it (see `import_graph`)."""

    def __init__(self, graph_def: bytes, info: Dict[str, Any]) -> None:
        self.nodes, self.rest, self.libraries = wire.split(graph_def)
        self.graph_def, self.info = graph_def, info
        self.name = str(info.get("id", ""))
        self.operators: Set[str] = set()
        self._fixed: List[bytes] = []

    def fixed(self) -> List[bytes]:
        """The nodes with attributes in a fixed order: in TensorFlow's that changes between calls.

        Fills `operators`.
        """
        if not self._fixed:
            for node in self.nodes:
                parsed = node_def_pb2.NodeDef.FromString(node)
                self.operators.add(parsed.op)
                self._fixed.append(parsed.SerializeToString(deterministic=True))
        return self._fixed

    def digest(self) -> str:
        """Digest of the nodes, of the names that must stay, and of the flags in force."""
        settings = repr((self.names(), sorted(flags.current().to_dict().items())))
        return _digest_of(self.fixed() + [settings.encode("utf-8")])

    def names(self, rename: Rename = str) -> List[List[str]]:
        """What is fetched, fed and must be kept."""
        parts = (self.info.get(part) or () for part in ("fetch", "feed", "preserve"))
        return [sorted(map(rename, part)) for part in parts]


class Canon:
    """A graph without what differs from process to process: the order of its nodes, the numbers of
    kernels that are in it already, and those of sizes that are unknown.

    `digest` is that of its nodes, `names` what is fetched, fed and must be kept, `shapes` what is
    known of these, where equal sizes have equal numbers. `order` are places of nodes as they stand
    in the canon, `kernels` names in the order of their numbers.
    """

    def __init__(self, asked: Asked) -> None:
        nodes = asked.fixed()
        self.kernels = _kernel_names(nodes)
        rename = renaming({name: "autofused_@%d" % n for n, name in enumerate(self.kernels)})
        if self.kernels:
            nodes = [renamed(node, rename) for node in nodes]
        self.order = sorted(range(len(nodes)), key=nodes.__getitem__)
        self.digest = _digest_of(nodes[place] for place in self.order)
        self.names = repr(asked.names(rename))
        self.shapes = _shape_text(asked.info.get("shapes") or {}, rename)


def _digest_of(nodes: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for node in nodes:
        digest.update(node)
    return digest.hexdigest()


def _shape_text(shapes: Dict[str, Any], rename: Rename) -> str:
    if rename is not str:
        shapes = {rename(name): shape for name, shape in shapes.items()}
    numbers: Dict[str, str] = {}
    text = repr(sorted(shapes.items()))
    return _SYMBOL.sub(lambda m: numbers.setdefault(m.group(), "@%d" % len(numbers)), text)


def _kernel_names(nodes: List[bytes]) -> List[str]:
    found: Dict[str, int] = {}
    for node in nodes:
        if b"autofused_" in node:
            match = _KERNEL.search(node_def_pb2.NodeDef.FromString(node).name)
            if match:
                found[match.group()] = int(match.group(1))
    return sorted(found, key=lambda name: (found[name], name))


def renaming(new_names: Dict[str, str]) -> Rename:
    """A function that puts new names of kernels into a text."""

    def rename(text: str) -> str:
        return _KERNEL.sub(new_name, text) if "autofused_" in text else text

    def new_name(match: Match) -> str:
        return new_names.get(match.group(), match.group())

    return rename if new_names else str


def renamed(node: bytes, rename: Rename) -> bytes:
    """A serialized NodeDef with other names of kernels."""
    if b"autofused_" not in node:
        return node
    parsed = node_def_pb2.NodeDef.FromString(node)
    parsed.name = rename(parsed.name)
    inputs = [rename(name) for name in parsed.input]
    del parsed.input[:]
    parsed.input.extend(inputs)
    return parsed.SerializeToString(deterministic=True)


def has_kernel_name(node: bytes) -> bool:
    """Whether a numbered name of a kernel stands anywhere in a serialized node."""
    return b"autofused_" in node and _KERNEL.search(node.decode("latin-1")) is not None
