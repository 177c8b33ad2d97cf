"""The host C++ compiler: finding it, what identifies it, running it."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple, Union

from .. import flags as user_flags
from ..errors import BuildError
from ..locks import ForkLock
from .process import run_tool

_PROBE_SECONDS = 30.0

# No -ffast-math: NaN, inf, -0.0 and the order of float operations are part of a kernel's meaning.
# Contraction is off so that a*b+c rounds as the numpy interpreter of the loop IR does.
HOST_FLAGS = (
    "-O3",
    "-std=gnu++14",
    "-fPIC",
    "-shared",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
    "-ffp-contract=off",
    "-fno-exceptions",
    "-fvisibility=hidden",
    "-Wall",
    "-Wno-unused",
)

# Compilers avoid 512-bit vectors, which slowed down the first chips that had them. Those with VBMI2
# (Ice Lake, Zen 4 and later) run our kernels up to 1.4 times faster with them.
_WIDE_VECTORS = ("-mprefer-vector-width=512",)

# g++ makes jumps of selections that follow each other, and longer chains of masks of those: vector
# loops with elementary functions are up to a tenth faster without. What copies loops takes a
# quarter of a compile, and our loops no less time.
_KEEP_LOOPS = ("-fno-thread-jumps", "-fno-unswitch-loops", "-fno-loop-unroll-and-jam")

# Without AVX g++ 12 moves some integers through an MMX register, which leaves those of the x87 in
# use: the next function with a long double, of whatever library, then gets infinities.
_NO_MMX = ("-mno-mmx",)

# Kernels are C in all but templates. Reading the symbols of libstdc++ is most of what a link takes,
# and that is a tenth of a compile. Nothing may be left to be found in the process: in some nobody
# sees a libstdc++. A compiler with words of its own (sanitizers) has its own wishes.
_FEW_LIBRARIES = ("-nodefaultlibs", "-Wl,-z,defs", "-lm", "-lc", "-lgcc")


@dataclass(frozen=True)
class Toolchain:
    """A compiler: the words that start it, and a digest of its version and target features."""

    command: Tuple[str, ...]
    version: str
    target_flags: Tuple[str, ...]
    digest: str
    host_flags: Tuple[str, ...] = HOST_FLAGS
    """Those of host kernels, besides `target_flags`."""


_lock = ForkLock()
_found: Dict[Tuple[str, str], Union[Toolchain, BuildError]] = {}


def find_toolchain() -> Toolchain:
    """The C++ compiler of CXX, else g++, c++ or clang++ of PATH; BuildError when there is none.

    The answer, an error too, is kept per value of CXX and PATH, for the life of the process or
    until `forget_failures`: a compiler that hangs is not asked again for every kernel.
    """
    wish, path = os.environ.get("CXX", "").strip(), os.environ.get("PATH", "")
    with _lock:
        known = _found.get((wish, path))
        if known is None:
            try:
                known = _probe(_locate(wish))
            except BuildError as error:
                known = error
            _found[(wish, path)] = known
    if isinstance(known, BuildError):
        raise known.copy()
    return known


def forget_failures() -> None:
    """Look anew for compilers that were not found or did not work."""
    with _lock:
        for key in [key for key, known in _found.items() if isinstance(known, BuildError)]:
            del _found[key]


def _locate(wish: str) -> Tuple[str, ...]:
    """The compiler as an argument list with an absolute program path."""
    try:
        words = shlex.split(wish)
    except ValueError as error:
        raise BuildError("CXX={!r} cannot be read: {}".format(wish, error)) from None
    if words:
        program = shutil.which(words[0])
        if program is None:
            raise BuildError("the compiler named by CXX is not there: {}".format(words[0]))
        return (os.path.abspath(program),) + tuple(words[1:])
    for name in ("g++", "c++", "clang++"):
        program = shutil.which(name)
        if program is not None:
            return (os.path.abspath(program),)
    raise BuildError("no C++ compiler found: install g++ or set CXX")


def _probe(command: Tuple[str, ...]) -> Toolchain:
    """Ask the compiler for its predefined macros: they state its version and the CPU features."""
    result = ("", 1)
    choices: Tuple[Tuple[str, ...], ...] = (("-march=native",), ())
    for target in choices:
        words = list(command + target) + ["-dM", "-E", "-x", "c++", os.devnull]
        result = run_tool(words, _PROBE_SECONDS)
        if result[1] == 0:
            target += _WIDE_VECTORS if "#define __AVX512VBMI2__ 1\n" in result[0] else ()
            clang = "#define __clang__ " in result[0]
            target += () if clang else _KEEP_LOOPS
            target += _NO_MMX if "#define __MMX__ 1\n" in result[0] else ()
            digest = hashlib.sha256("\0".join(command + target + (result[0],)).encode())
            few = len(command) == 1 and not clang
            flags = HOST_FLAGS + (_FEW_LIBRARIES if few else ())
            return Toolchain(command, _version(result[0]), target, digest.hexdigest(), flags)
    raise BuildError(
        "the C++ compiler does not work: {}".format(command[0]),
        command=words,
        returncode=result[1],
        output=result[0],
    )


def _version(macros: str) -> str:
    """The text of __VERSION__ in a list of macro definitions."""
    for line in macros.splitlines():
        if line.startswith("#define __VERSION__ "):
            return line.split(None, 2)[2].strip('"')
    return "unknown"


def compile_shared(
    toolchain: Toolchain,
    source_path: str,
    output_path: str,
    flags: Sequence[str],
    include_dirs: Sequence[str],
) -> str:
    """Compile one C++ file into a shared library: the command and what the compiler said.

    BuildError with command and output if it fails.

    Libraries among the flags come behind the source that needs them.

    The flags ``build_seconds`` and ``build_memory_mb`` bound the compiler. Its own temporary files
    go to a folder that is removed afterwards.
    """
    libraries = [flag for flag in flags if flag.startswith("-l")]
    command: List[str] = list(toolchain.command)
    command += [flag for flag in flags if flag not in libraries]
    command += ["-I" + folder for folder in include_dirs]
    command += ["-o", os.path.abspath(output_path), os.path.abspath(source_path)] + libraries
    with tempfile.TemporaryDirectory(prefix="tf_autofuse-cc-") as scratch:
        current = user_flags.current()
        output, code = run_tool(
            command, current.build_seconds, cwd=scratch, memory_mb=current.build_memory_mb
        )
    if code != 0 or not os.path.exists(output_path):
        first = next((line for line in output.splitlines() if "error:" in line), output[:200])
        raise BuildError(
            "the kernel does not compile: {}".format(first.strip() or _how_it_ended(code)),
            command=command,
            returncode=code,
            output=output,
            source=source_path,
        )
    return "{}\n{}".format(" ".join(shlex.quote(word) for word in command), output)


def _how_it_ended(code: int) -> str:
    """What an exit code says about a compiler that said nothing itself."""
    if code < 0:
        return "the compiler was ended by signal {}".format(-code)
    return "no compiler message, exit code {}".format(code)
