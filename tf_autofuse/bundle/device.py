"""Compilers of a bundle: the host's for the tiling library, bisheng for the kernel."""
from __future__ import annotations

import os
import shutil
from typing import Optional

from tf_autofuse import paths
from tf_autofuse.build.toolchain import compile_shared, find_toolchain, run_tool
from tf_autofuse.errors import BuildError
from tf_autofuse.platforms import PLATFORMS, Platform, platform

# The old string ABI does not matter here: the library speaks C.
TILING_FLAGS = ("-O2", "-std=c++14", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall")
BISHENG_SECONDS = 600.0
_ARCH = {2201: "dav-2201", 3510: "dav-3510", 2002: "dav-2002"}


def chip(soc: str) -> Platform:
    """The platform of a chip name: Ascend910B2 is an Ascend910B; ScheduleError when unknown."""
    family = [name for name in PLATFORMS if soc.startswith(name)]
    return platform(max(family, key=len) if family else soc)


def binary_name(soc: str) -> str:
    """Where the built kernel of a chip lies in a bundle."""
    return os.path.join("bin", chip(soc).name, "kernel.o")


def find_bisheng() -> Optional[str]:
    """The Ascend compiler: on PATH, or in the toolkit that ASCEND_HOME_PATH names."""
    home = os.environ.get("ASCEND_HOME_PATH", "")
    places = [os.path.join(home, "compiler", "ccec_compiler", "bin", "bisheng"),
              os.path.join(home, "bin", "bisheng")]  # fmt: skip
    inside = [path for path in places if home and os.access(path, os.X_OK)]
    return shutil.which("bisheng") or (inside[0] if inside else None)


def require_bisheng() -> str:
    """The Ascend compiler; BuildError when there is none."""
    bisheng = find_bisheng()
    if bisheng is None:
        raise BuildError("bisheng is neither on PATH nor in ASCEND_HOME_PATH")
    return bisheng


def build_tiling(folder: str, source: str, output: str) -> None:
    """Compile the tiling library of a bundle; BuildError when it does not."""
    core = os.path.join(paths.csrc_dir(), "core")
    compile_shared(
        find_toolchain(), os.path.join(folder, source), output, TILING_FLAGS, (core,)
    )


def build_kernel(folder: str, source: str, output: str, soc: str) -> None:
    """Compile the kernel of a bundle for one chip; BuildError when bisheng is missing or refuses.

    The result is the device's half alone, as aclrtBinaryLoadFromFile takes it.
    """
    bisheng = require_bisheng()
    host = output + ".host.o"
    arch = "--npu-arch=" + _ARCH[chip(soc).npu_arch]
    path = os.path.join(folder, source)
    _run([bisheng, "-x", "asc", "-O2", "-c", path, "-o", host, arch], path)
    objcopy = os.path.join(os.path.dirname(bisheng), "llvm-objcopy")
    section = "--only-section=.aicore_binary"
    _run([objcopy, "-O", "binary", section, host, output], path)


def _run(command, source: str) -> None:
    output, code = run_tool(command, BISHENG_SECONDS)
    if code != 0:
        raise BuildError(
            "the kernel does not compile for the chip: %s" % (output.strip()[:300] or "no message"),
            command=command,
            returncode=code,
            output=output,
            source=source,
        )
