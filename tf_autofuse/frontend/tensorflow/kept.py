"""Answers on disk: a graph that another process has fused is answered without the pass.

An answer is an entry of the kernel cache like a kernel, so that the cache's rules hold: written
whole or not, private, checked by digest, bounded. Its file is, compressed, a line of JSON and a
GraphDef with the nodes that the asking graph does not have. Nothing of it is run or unpickled.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from tensorflow.core.framework import node_def_pb2

from tf_autofuse import log
from tf_autofuse.autofuse import on_disk, replay
from tf_autofuse.autofuse.told import fused_name, next_number
from tf_autofuse.build.cache import ANSWER, KernelCache, digest_of, file_digest, open_cache
from tf_autofuse.frontend.tensorflow import kept_key, op_types, wire
from tf_autofuse.frontend.tensorflow.asked import (
    Asked,
    Canon,
    has_kernel_name,
    renamed,
    renaming,
)
from tf_autofuse.report.model import KernelEntry, Notes
from tf_autofuse.runtime.host import load_kernel

_FAST = 1  # level of compression: a sixth of the size in some milliseconds
_NEW = -1  # in the list of nodes: the next one of the file

LOG = log.get_logger(__name__)


class Fused(NamedTuple):
    """A fused graph: its nodes, and a library field with the functions it has beyond its own."""

    nodes: List[bytes]
    functions: bytes

    def size(self) -> int:
        """Bytes of the graph."""
        return sum(map(len, self.nodes)) + len(self.functions)


Answer = Union[None, Fused, Exception]  # None: the graph stays; Exception: it failed


class Found(NamedTuple):
    """An answer from the disk."""

    answer: Optional[Fused]


class Place:
    """Where the answer to one graph lies on disk."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._canon = Canon(asked)
        self._facts = kept_key.description(asked, self._canon)
        self._key = digest_of(self._facts)
        self._cache = open_cache()

    def find(self) -> Optional[Found]:
        """The answer, recorded and told like a pass; None when there is none of use."""
        path = self._cache.lookup(self._key)
        if path is None:
            return None
        try:
            return self._read(path)
        except Exception as error:  # whatever damage may do: the pass answers, and anew
            LOG.info("the answer %s cannot be used: %r", self._key, error)
            self._cache.remove(self._key)
            return None

    def _read(self, path: str) -> Found:
        with open(path, "rb") as file:
            head, _, body = zlib.decompress(file.read()).partition(b"\n")
        text = head.decode("utf-8")
        plain = json.loads(text)
        for library, digest in plain["libraries"].items():
            _take_library(self._cache, library, digest)
        new, kernels = wire.split(body)[0], replay.kernel_entries(plain)
        _check_bundles([entry.source for entry, _ in kernels])
        names = self._new_names(plain, [entry for entry, _ in kernels])
        if names:
            rename = renaming(names)
            new, plain = [renamed(node, rename) for node in new], json.loads(rename(text))
            kernels = replay.kernel_entries(plain)
        answer, unfused = self._nodes(plain, new), replay.unfused_entries(plain)
        replay.record(kernels, unfused)
        return Found(answer)

    def _new_names(self, plain: Dict[str, Any], entries: List[KernelEntry]) -> Dict[str, str]:
        """What kernels are called in this process, where that is not what the answer says."""
        names = {old: new for old, new in zip(plain["had"], self._canon.kernels) if old != new}
        for entry in entries:
            _, kernel_class, number = entry.name.split("_")[:3]
            new_number = next_number()
            if number != new_number:
                names[entry.name] = fused_name(kernel_class, entry.op_types, new_number)
        return names

    def _nodes(self, plain: Dict[str, Any], new: List[bytes]) -> Optional[Fused]:
        if plain["order"] is None:
            return None
        nodes, order, waiting = self._asked.nodes, self._canon.order, iter(new)
        return Fused([next(waiting) if place == _NEW else nodes[order[place]]
                      for place in plain["order"]], b"")

    def keep(self, answer: Answer, notes: Notes) -> None:
        """Keep what the pass answered, if another process may be told the same."""
        if isinstance(answer, Exception) or not on_disk.wanted():
            return
        waiting = op_types.CHOICE_OP in self._asked.operators
        if waiting or (answer is not None and answer.functions):  # kernels are still being built
            return
        try:
            data = self._text(answer, notes)
            # What the answer depends on may have changed meanwhile: a file, or the code itself.
            package = kept_key.package_digest()
            if kept_key.description(self._asked, self._canon, package) == self._facts:
                label = "{} {}".format(ANSWER, self._asked.name)
                self._cache.insert(self._key, label, self._facts, lambda _, to: _write(to, data))
        except Exception as error:  # the model has its answer
            LOG.info("the answer for %s is not kept: %r", self._asked.name, error)

    def _text(self, answer: Optional[Fused], notes: Notes) -> bytes:
        plain: Dict[str, Any] = replay.plain_notes(notes)
        plain.update(had=self._canon.kernels, order=None, libraries={})
        new: List[bytes] = []
        if answer is not None:
            plain["order"], new = self._difference(answer)
            plain["libraries"] = _libraries(new)
        _check_names(new)
        text = json.dumps(plain).encode("utf-8") + b"\n" + wire.join(new, b"")
        return zlib.compress(text, _FAST)

    def _difference(self, answer: Fused) -> Tuple[List[int], List[bytes]]:
        """Places in the canon of the nodes that the graph has, and the others."""
        places = {self._asked.nodes[number]: place
                  for place, number in enumerate(self._canon.order)}
        order = [places.get(node, _NEW) for node in answer.nodes]
        return order, [node for node, place in zip(answer.nodes, order) if place == _NEW]


def place_of(asked: Asked) -> Optional[Place]:
    """Where to look for the answer and to keep it; None when the disk is not to be asked."""
    if not on_disk.wanted():
        return None
    try:
        return Place(asked)
    except Exception as error:  # no compiler, no cache, a graph that cannot be read: as ever
        LOG.info("no answer for %s is looked for on disk: %r", asked.name, error)
        return None


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _libraries(nodes: List[bytes]) -> Dict[str, str]:
    """Digests of the libraries of kernels; ValueError when one was gone already."""
    found: Dict[str, str] = {}
    for node in nodes:
        if wire.node_op(node) == op_types.FUSED_OP.encode():
            attributes = node_def_pb2.NodeDef.FromString(node).attr
            digest = attributes["host_digest"].s.decode()
            if not digest:
                raise ValueError("a kernel is gone")
            found[attributes["host_library"].s.decode()] = digest
    return found


def _take_library(cache: KernelCache, path: str, digest: str) -> None:
    """Open a kernel of the cache, which counts as its use; an error when it is not that kernel."""
    if cache.lookup(os.path.basename(os.path.dirname(path))) != path:
        raise ValueError("the kernel {} is not there".format(path))
    if file_digest(path) != digest:
        raise ValueError("the kernel {} has been built anew".format(path))
    load_kernel(path)


def _check_bundles(sources: List[str]) -> None:
    for source in set(sources):
        if not os.path.isfile(source):
            raise ValueError("the bundle of {} is not there".format(source))


def _check_names(new: List[bytes]) -> None:
    """ValueError where a name of a kernel stands that another process could not change."""
    def masked(node: bytes) -> bytes:
        return renamed(node, lambda text: "" if "autofused_" in text else text)

    if any(has_kernel_name(masked(node)) for node in new):
        raise ValueError("a kernel is named in an attribute")
