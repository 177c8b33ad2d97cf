"""Operators that the file named by --skip_node_names_cfg keeps out of kernels.

    [ByNodeType]
    Exp
    Reduce*
    [ByNodeName]
    model/head/softmax

One name or pattern (`*`, `?`) a line; types are those of GE or of TensorFlow; `#` and `;` begin a
comment.
"""

from __future__ import annotations

import fnmatch
import os
from typing import Dict, List, NamedTuple, Tuple

from tf_autofuse import flags, paths
from tf_autofuse.errors import FlagError

_FLAG = "skip_node_names_cfg"
_BY_TYPE, _BY_NAME = "[ByNodeType]", "[ByNodeName]"


class Skips(NamedTuple):
    """Patterns of operator types and of names."""

    types: Tuple[str, ...] = ()
    names: Tuple[str, ...] = ()

    def matching(self, name: str, *types: str) -> str:
        """The line that keeps this operator out; "" when none does."""
        for patterns, words in ((self.types, types), (self.names, (name,))):
            for pattern in patterns:
                if any(fnmatch.fnmatchcase(word, pattern) for word in words):
                    return pattern
        return ""


_known: Dict[Tuple[str, int, int], Skips] = {}


def current() -> Skips:
    """What the file says now. FlagError when it cannot be read or holds something else."""
    path = flags.current().skip_node_names_cfg
    if not path:
        return Skips()
    try:
        stamp = os.stat(path)
        key = (path, stamp.st_mtime_ns, stamp.st_size)
        if key not in _known:
            _known[key] = _parse(path, paths.read_text(path))
        return _known[key]
    except (OSError, ValueError) as error:
        raise _error("the file {} cannot be read: {}".format(path, error)) from None


def _parse(path: str, text: str) -> Skips:
    found: Dict[str, List[str]] = {_BY_TYPE: [], _BY_NAME: []}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if not word or word[0] in "#;":
            continue
        if word[0] == "[":
            section = word
            if section not in found:
                message = "{}:{}: unknown section {}: allowed are {} and {}"
                raise _error(message.format(path, number, word, _BY_TYPE, _BY_NAME))
        elif not section:
            message = "{}:{}: {} stands before any section: allowed are {} and {}"
            raise _error(message.format(path, number, word, _BY_TYPE, _BY_NAME))
        else:
            found[section].append(word)
    return Skips(tuple(found[_BY_TYPE]), tuple(found[_BY_NAME]))


def _error(text: str) -> FlagError:
    return FlagError("--{}: {}".format(_FLAG, text), node=flags.FLAGS[_FLAG].env, stage="flags")
