"""From a lowered cluster to kernel sources: merge axes, schedule, print, and keep the bundle.

A bundle is the folder of one kernel key: Ascend C text, host C++ text, loop and kernel IR and a
JSON description. Structurally equal clusters share it.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import OrderedDict
from typing import Dict, NamedTuple, Optional, Tuple

from tf_autofuse import bundle, flags
from tf_autofuse.autofuse.bundle_store import bundle_root, prune
from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.codegen.host import print_host, print_nests
from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.kernel.stage import staged
from tf_autofuse.kernel.text import kernel_key, print_kernel
from tf_autofuse.loop.canonical import in_canonical_order
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.loop.lower import LoweredKernel
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.spec import shape_spec
from tf_autofuse.loop.text import print_loop
from tf_autofuse.loop.verify import verify
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.runtime import cann
from tf_autofuse.schedule import MAX_NESTS, number_values, schedule
from tf_autofuse.schedule.expand import missing_instruction

HOST_FILE = "host_kernel.cpp"
ASCENDC_FILE = "kernel.cpp"
MISSING_FILE = "no_ascendc.txt"
"""In the place of `ASCENDC_FILE` where the chip lacks an instruction: a sentence that names it."""


class KernelPlan(NamedTuple):
    """`files` maps the file names of the bundle to their text; `loop` is the kernel before its
    axes were merged, one object for all clusters of a structure; `folder` is the bundle when it is
    not to be written, but is there already with a source of the user's own."""

    key: str
    kernel_class: str
    spec: str
    files: Dict[str, str]
    loop: LoopKernel
    folder: str = ""

    @property
    def missing(self) -> Optional[str]:
        """Why there is no Ascend C text and only the CPU runs this kernel; None if there is."""
        return self.files.get(MISSING_FILE)

    @property
    def source_file(self) -> str:
        """The file of the bundle that a reader of the kernel wants to see."""
        return ASCENDC_FILE if ASCENDC_FILE in self.files else MISSING_FILE


_MAX_PLANS = 512  # about 50 KB each
_PLANS: "OrderedDict[Tuple[str, str, str], KernelPlan]" = OrderedDict()


def plan_in_order(
    lowered: LoweredKernel, missing: str = ""
) -> Tuple[LoweredKernel, KernelPlan]:
    """A kernel in the order that it shares with others that are alike, and its plan; in its own
    order where only that fits the chip. `missing` as `plan_kernel` takes it."""
    ordered = in_canonical_order(lowered)
    try:
        return ordered, plan_kernel(ordered, missing)
    except ScheduleError:
        return lowered, plan_kernel(lowered, missing)


def plan_kernel(lowered: LoweredKernel, missing: str = "") -> KernelPlan:
    """Schedule and print one cluster; ScheduleError when no schedule fits the chip.

    An operation that the chip has no instruction for does not stop the CPU's kernel: the plan
    then comes without Ascend C text and says what is `missing`; so does one that says so at once.
    Clusters of one structure are planned once, as long as the plan is remembered.
    """
    soc = flags.current().soc
    memo = (print_loop(lowered.kernel), soc, missing)
    if memo not in _PLANS:
        verify(lowered.kernel)
        merged, groups = merge_axes(lowered.kernel)
        verify(merged)
        key, kernel_class, files = _print(merged, soc, missing)
        spec = shape_spec(lowered.kernel, groups)
        _PLANS[memo] = KernelPlan(key, kernel_class, spec, files, lowered.kernel)
        if len(_PLANS) > _MAX_PLANS:
            _PLANS.popitem(last=False)
    _PLANS.move_to_end(memo)
    return _PLANS[memo]


def _print(
    merged: LoopKernel, soc: str, missing: str
) -> Tuple[str, str, Dict[str, str]]:
    platform = find_platform(soc)
    missing = missing or missing_instruction(merged)
    if missing:
        return _print_for_cpu(merged, soc, missing)
    try:
        kernel = schedule(merged, platform)
    except ScheduleError as error:
        # An instruction that only the schedule wanted; cutting the cluster would not help.
        if error.message.startswith("no vector"):
            return _print_for_cpu(merged, soc, error.message)
        raise
    key = kernel_key(kernel)
    ascendc = print_ascendc(kernel, platform)
    kernel_class = "reduce" if merged.reduce_axes else "pointwise"
    description = {"key": key, "class": kernel_class, "entry": ascendc.entry, "soc": soc}
    files = {
        ASCENDC_FILE: ascendc.text,
        HOST_FILE: print_host(kernel),
        "loop.txt": print_loop(merged, comments=True),
        "kernel.txt": print_kernel(kernel),
        "kernel.json": json.dumps(description, indent=2, sort_keys=True) + "\n",
    }
    return key, kernel_class, files


def _print_for_cpu(merged: LoopKernel, soc: str, missing: str) -> Tuple[str, str, Dict[str, str]]:
    loop = number_values(staged(merged))
    nests = build_nests(loop)
    if len(nests) > MAX_NESTS:
        raise ScheduleError("%d loop nests, at most %d in one kernel" % (len(nests), MAX_NESTS),
                            stage="schedule")
    key = loop_key(loop)
    kernel_class = "reduce" if merged.reduce_axes else "pointwise"
    description = {"key": key, "class": kernel_class, "entry": None, "soc": soc,
                   "missing": missing}
    files = {
        MISSING_FILE: "%s: %s\n" % (soc, missing),
        HOST_FILE: print_nests(loop, nests),
        "loop.txt": print_loop(merged, comments=True),
        "kernel.json": json.dumps(description, indent=2, sort_keys=True) + "\n",
    }
    return key, kernel_class, files


def loop_key(loop: LoopKernel) -> str:
    """Key of a kernel that exists for the CPU only: digest of its loop text."""
    return hashlib.sha256(("cpu\n" + print_loop(loop)).encode()).hexdigest()[:32]


def bundle_dir(key: str) -> str:
    """Folder of a kernel's bundle: under --debug_dir while debugging, else in the cache."""
    root = debug_root() if flags.current().codegen_compile_debug else bundle_root()
    return os.path.join(root, key)


def debug_root() -> str:
    """The folder under --debug_dir that holds a folder for every kernel key."""
    return os.path.join(flags.current().debug_dir or os.getcwd(), "autofuse_kernels")


def write_bundle(plan: KernelPlan) -> str:
    """Write the bundle of a kernel unless it is there already; the folder's path.

    OSError when the folder cannot be written. Readers never see a half-written bundle.
    """
    target = plan.folder or bundle_dir(plan.key)
    if os.path.isdir(target):
        return target
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    prune(bundle_root())
    folder = tempfile.mkdtemp(dir=os.path.dirname(target), prefix=".new_")
    try:
        for name, text in plan.files.items():
            with open(os.path.join(folder, name), "w") as handle:
                handle.write(text)
        os.rename(folder, target)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.isdir(target):  # another process may just have put it there
            raise
    return target


def complete_bundle(folder: str, spec: str) -> None:
    """Add what GE's side of a kernel needs; see `tf_autofuse.bundle`.

    Where CANN is installed the kernel must build and the operator be there: BuildError leaves the
    operators as they were before GE could fail on the fused node. Elsewhere nothing is built.
    """
    on_cann = cann.installed()
    if on_cann:
        cann.require_operator()
    bundle.complete(folder, spec, flags.current().soc, binaries=on_cann)
