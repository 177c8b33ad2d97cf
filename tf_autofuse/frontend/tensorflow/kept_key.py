"""All that an answer of the pass depends on, in one place: answers on disk are found by its digest.

What the pass begins to read has to be added here; the code itself, and every constant in it, is
covered by the digest of the package. Not here: limits of compilers (what they end is not kept), the
name of the graph, and what `autofuse.on_disk` does without the disk for.
"""

from __future__ import annotations

import sys
from typing import List, Tuple

import numpy as np
from google import protobuf

from tf_autofuse import flags, paths
from tf_autofuse.autofuse.bundle_store import calibration_digest
from tf_autofuse.build import host_identity, tf_shim
from tf_autofuse.build.cache import digest_of, open_cache, sources_digest
from tf_autofuse.cluster import skips
from tf_autofuse.frontend.tensorflow.asked import Asked, Canon
from tf_autofuse.frontend.tensorflow.signatures import Signatures

FORMAT = "1"  # of the file of an answer
_NOT_IN_ANSWERS = ("build_seconds", "build_memory_mb")


def package_digest() -> str:
    """Digest of all Python of the package and of its passes as they lie on the disk now."""
    return sources_digest((paths.package_dir(), paths.passes_dir()))


_AT_START = package_digest()  # what is imported later is this code too, unless the digest changes


def description(asked: Asked, canon: Canon, package: str = _AT_START) -> str:
    """A line with a name and a digest for each thing that the answer to a graph depends on.

    OSError, AutofuseError: it cannot be told, so there is no answer on disk.
    """
    found = ingredients(asked, canon, package)
    return "".join("{} {}\n".format(name, digest_of(text)) for name, text in found)


def ingredients(asked: Asked, canon: Canon, package: str) -> List[Tuple[str, str]]:
    """Names and texts of what an answer depends on."""
    return [
        ("format", FORMAT),
        ("graph", canon.digest),
        # What must be kept alive, and what is not computed since it is fed.
        ("names", canon.names),
        # TensorFlow finds shapes out with the bodies of functions, which the nodes do not show.
        ("shapes", canon.shapes),
        # Libraries of operators that the user loads, and functions that are called like operators.
        ("operators", _definitions(asked)),
        ("flags", _flags()),
        # A file that a flag names, and costs in the folder of AUTOFUSE_PLATFORM_DIR.
        ("skips", repr(skips.current())),
        ("costs", calibration_digest()),
        ("package", package),
        # The operator's interface, and libraries that compute constants and write graphs.
        ("extension", tf_shim.identity()),
        ("libraries", repr((sys.version, np.__version__, protobuf.__version__))),
        # The machine: compiler, its flags, features of the processor, headers of host kernels.
        ("compiler", host_identity()),
        # An answer names files by their full paths.
        ("folder", open_cache().root),
    ]


def _definitions(asked: Asked) -> str:
    asked.fixed()
    signatures = Signatures(asked.libraries)
    found = [(op, signatures.definition(op)) for op in sorted(asked.operators)]
    return repr([(op, None if proto is None else proto.SerializeToString(deterministic=True))
                 for op, proto in found])


def _flags() -> str:
    values = flags.current().to_dict()
    return repr(sorted(item for item in values.items() if item[0] not in _NOT_IN_ANSWERS))
