"""The host C++ compiler: finding it, what identifies it, running it."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ..errors import BuildError

COMPILE_SECONDS = 180.0
_PROBE_SECONDS = 30.0
_OUTPUT_LIMIT = 64 * 1024

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
    "-fvisibility=hidden",
    "-Wall",
    "-Wno-unused",
)


@dataclass(frozen=True)
class Toolchain:
    """A compiler: the words that start it, and a digest of its version and target features."""

    command: Tuple[str, ...]
    version: str
    target_flags: Tuple[str, ...]
    digest: str


_lock = threading.Lock()
_found: Dict[Tuple[str, str], Toolchain] = {}


def find_toolchain() -> Toolchain:
    """The C++ compiler of CXX, else g++, c++ or clang++ of PATH; BuildError when there is none.

    The answer is kept for the life of the process, per value of CXX and PATH.
    """
    wish, path = os.environ.get("CXX", "").strip(), os.environ.get("PATH", "")
    with _lock:
        known = _found.get((wish, path))
        if known is None:
            known = _found[(wish, path)] = _probe(_locate(wish))
    return known


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
    for target in (("-march=native",), ()):
        words = list(command + target) + ["-dM", "-E", "-x", "c++", os.devnull]
        result = run_tool(words, _PROBE_SECONDS)
        if result[1] == 0:
            digest = hashlib.sha256("\0".join(command + target + (result[0],)).encode())
            return Toolchain(command, _version(result[0]), target, digest.hexdigest())
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


def run_tool(
    command: Sequence[str], seconds: float, cwd: Optional[str] = None
) -> Tuple[str, int]:
    """Run an argument list (no shell): its output, both streams together, and its exit code.

    BuildError when it cannot start or does not end in `seconds`; its children end with it.
    """
    env = dict(os.environ, LC_ALL="C")
    if cwd is not None:
        env["TMPDIR"] = cwd
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(
            "cannot start {}: {}".format(command[0], error), command=command
        ) from None
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        _end(process)
        raise BuildError(
            "{} did not end within {:.0f} s".format(command[0], seconds),
            command=command,
            returncode=process.returncode,
        ) from None
    except BaseException:
        _end(process)
        raise
    return output.decode("utf-8", "replace")[:_OUTPUT_LIMIT], process.returncode


def _end(process: subprocess.Popen) -> None:
    """End the process and all it started, and collect it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()
    process.communicate()


def compile_shared(
    toolchain: Toolchain,
    source_path: str,
    output_path: str,
    flags: Sequence[str],
    include_dirs: Sequence[str],
    seconds: float = COMPILE_SECONDS,
) -> None:
    """Compile one C++ file into a shared library; BuildError with command and output if it fails.

    The compiler's own temporary files go to a folder that is removed afterwards.
    """
    command: List[str] = list(toolchain.command) + list(flags)
    command += ["-I" + folder for folder in include_dirs]
    command += ["-o", os.path.abspath(output_path), os.path.abspath(source_path)]
    with tempfile.TemporaryDirectory(prefix="tf_autofuse-cc-") as scratch:
        output, code = run_tool(command, seconds, cwd=scratch)
    if code != 0 or not os.path.exists(output_path):
        first = next((line for line in output.splitlines() if "error:" in line), output[:200])
        raise BuildError(
            "the kernel does not compile: {}".format(first.strip() or "no compiler message"),
            command=command,
            returncode=code,
            output=output,
            source=source_path,
        )
