"""The folder of one kernel: completing it for a host with an NPU, copying and checking it.

    kernel.cpp device_kernel.cpp   Ascend C as printed, and as stand-alone compilers take it
    tiling.cpp infershape_*.cpp    the host's half
    libautofuse_tiling.so          the tiling, built
    bin/<chip>/kernel.o            the kernel, built
    kernel.json SHA256SUMS         description and checksums

Every file is written under another name and renamed, the checksums last.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Tuple

from tf_autofuse.bundle import device
from tf_autofuse.bundle.sources import (
    device_source,
    infer_shape_file,
    infer_shape_source,
    tiling_source,
)
from tf_autofuse.errors import BuildError
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.text import parse_kernel
from tf_autofuse.paths import read_text

DESCRIPTION, CHECKSUMS = "kernel.json", "SHA256SUMS"
KERNEL, DEVICE, TILING = "kernel.cpp", "device_kernel.cpp", "tiling.cpp"
LIBRARY = "libautofuse_tiling.so"


def complete(folder: str, spec: str, soc: str, binaries: bool = True) -> Dict[str, Any]:
    """Add what a host with an NPU needs to the bundle in `folder`; its description.

    `spec` is the shape spec of the node that uses it, `soc` the chip (a name as npu-smi shows it
    will do). The tiling library is built with the host's C++ compiler, the kernel with bisheng
    where there is one. BuildError when a compiler refuses, OSError when a file cannot be written.
    """
    wanted = [infer_shape_file(spec)] + ([LIBRARY] if binaries else [])
    wanted += [device.binary_name(soc)] if binaries and device.find_bisheng() else []
    if not problems(folder) and all(os.path.exists(os.path.join(folder, w)) for w in wanted):
        return read_description(folder)
    description = read_description(folder)
    if not description.get("entry"):
        raise BuildError("the bundle has no kernel for a chip: %s" % description.get("missing"))
    kernel = read_kernel(folder)
    put(folder, DEVICE, device_source(kernel, description["entry"]))
    put(folder, TILING, tiling_source(kernel, description["entry"]))
    put(folder, infer_shape_file(spec), infer_shape_source(spec, kernel))
    if binaries:
        _build(folder, LIBRARY, lambda path: device.build_tiling(folder, TILING, path))
        if device.find_bisheng():
            _build(folder, device.binary_name(soc),
                   lambda path: device.build_kernel(folder, DEVICE, path, soc))  # fmt: skip
    description.update(_described(kernel, soc))
    put(folder, DESCRIPTION, json.dumps(description, indent=2, sort_keys=True) + "\n")
    seal(folder)
    return description


def read_kernel(folder: str) -> Kernel:
    """The kernel IR of a bundle; BuildError or IRError when it is damaged."""
    try:
        return parse_kernel(_read(folder, "kernel.txt"))
    except ValueError as error:
        raise BuildError("%s: no description of a kernel: %s" % (folder, error)) from None


def read_description(folder: str) -> Dict[str, Any]:
    """kernel.json of a bundle; BuildError when it is damaged."""
    try:
        description = json.loads(_read(folder, DESCRIPTION))
        if not isinstance(description, dict):
            raise ValueError("no object")
        return description
    except (OSError, ValueError, RecursionError) as error:
        raise BuildError("%s: no description of a kernel: %s" % (folder, error)) from None


def copy_bundle(source: str, target: str) -> None:
    """Copy the bundle of a kernel to `target`, which is replaced when it is there."""
    parent = os.path.dirname(os.path.abspath(target))
    os.makedirs(parent, exist_ok=True)
    new = tempfile.mkdtemp(dir=parent, prefix=".new_")
    try:
        shutil.copytree(source, os.path.join(new, "bundle"))
        if os.path.isdir(target):
            shutil.rmtree(target)
        os.rename(os.path.join(new, "bundle"), target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def remove_others(folder: str, keys: Sequence[str]) -> None:
    """Remove the bundles in `folder` of kernels other than `keys`; what is no bundle stays."""
    if not os.path.isdir(folder):
        return
    for entry in list(os.scandir(folder)):
        whole = os.path.isfile(os.path.join(entry.path, DESCRIPTION))
        if entry.is_dir(follow_symlinks=False) and whole and entry.name not in keys:
            shutil.rmtree(entry.path)


def seal(folder: str) -> None:
    """Write the checksums of all files of a bundle, in the format of sha256sum."""
    lines = ["%s  %s\n" % (_digest(os.path.join(folder, name)), name) for name in _files(folder)]
    put(folder, CHECKSUMS, "".join(lines))


def problems(folder: str) -> List[str]:
    """What is wrong with a bundle: files that are missing, new or changed; [] when it is whole."""
    try:
        listed = dict(_checksum(line) for line in _read(folder, CHECKSUMS).splitlines())
    except (OSError, ValueError):
        return ["no readable %s" % CHECKSUMS]
    found = _files(folder)
    wrong = ["%s is missing" % name for name in sorted(set(listed) - set(found))]
    wrong += ["%s has no checksum" % name for name in found if name not in listed]
    for name in found:
        if name in listed and listed[name] != _digest(os.path.join(folder, name)):
            wrong.append("%s has changed" % name)
    return wrong


def put(folder: str, name: str, text: str) -> None:
    """Write a text file of a bundle at once."""
    handle, path = tempfile.mkstemp(dir=folder, prefix=".new_")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.rename(path, os.path.join(folder, name))
    except OSError:  # no half of it
        os.unlink(path)
        raise


def _described(kernel: Kernel, soc: str) -> Dict[str, Any]:
    loop = kernel.loop
    return {
        "format": 1,
        "soc": soc,
        "npu_arch": device.chip(soc).npu_arch,
        "inputs": [{"dtype": param.dtype} for param in loop.inputs],
        "outputs": [{"dtype": param.dtype} for param in loop.outputs],
        "arguments": "inputs, outputs, workspace, tiling structure by value",
        "tiling": {"source": TILING, "library": LIBRARY},
        "source": DEVICE,
    }


def _build(folder: str, name: str, build: Any) -> None:
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="autofuse_")
    try:
        made = os.path.join(scratch, os.path.basename(name))
        build(made)
        shutil.copy(made, path + ".new")
        os.rename(path + ".new", path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _files(folder: str) -> List[str]:
    found = []
    for where, _, names in os.walk(folder):
        for name in names:
            if name != CHECKSUMS and not name.startswith(".new_"):
                found.append(os.path.relpath(os.path.join(where, name), folder))
    return sorted(found)


def _checksum(line: str) -> Tuple[str, str]:
    digest, name = line.split("  ", 1)
    return name, digest


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _read(folder: str, name: Optional[str]) -> str:
    return read_text(os.path.join(folder, str(name)))
