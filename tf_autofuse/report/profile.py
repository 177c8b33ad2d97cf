"""Fused against unfused: rows under msprof's column names, totals and the share of time saved."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set

NOT_MEASURED = "N/A"
FUSED_TYPE = "AutofusedKernel"
RATIO_NAME = "\u878d\u5408\u63d0\u5347\u6bd4"
"""What users of msprof call (before - after) / before."""

COLUMNS = (
    "Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type",
    "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Dim", "Mix Block Dim",
    "HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes",
    "Output Data Types", "Output Formats", "Context ID", "aiv_time(us)", "aiv_total_cycles",
    "aiv_vec_time(us)", "aiv_vec_ratio", "aiv_scalar_time(us)", "aiv_scalar_ratio",
    "aiv_mte2_time(us)", "aiv_mte2_ratio", "aiv_mte3_time(us)", "aiv_mte3_ratio",
    "aiv_icache_miss_rate",
)  # fmt: skip
"""Columns of an op_summary file that msprof writes for vector operators."""

HOST_COLUMNS = ("host_moved(bytes)", "host_move_time(us)", "host_move_ratio")
"""Measured on the CPU in the place of the aiv_* columns: bytes that a kernel moves, and the time
that this machine needs to copy as many."""

_COMPOSITION = "unary_ops_composition"

# Operators whose time is that of the graphs they run.
_CONTAINERS = frozenset(
    "PartitionedCall StatefulPartitionedCall If StatelessIf Case StatelessCase While "
    "StatelessWhile For RemoteCall MapDataset _While _If".split()
)


class Measured(NamedTuple):
    """One run of the script: `times` as `OpTime`, `kernels` as in the JSON report."""

    times: Sequence[Any]
    kernels: Sequence[Mapping[str, Any]]


def rows(run: Measured, bytes_per_us: float) -> Iterable[Dict[str, Any]]:
    """A row per run of an operator, in order of time."""
    known = {kernel["name"]: kernel for kernel in run.kernels}
    streams: Dict[int, int] = {}
    for number, item in enumerate(run.times):
        row: Dict[str, Any] = dict.fromkeys(COLUMNS + HOST_COLUMNS, NOT_MEASURED)
        kernel = known.get(item.name.rsplit("/", 1)[-1])
        row.update({
            "Device_id": "host",
            "Task ID": number,
            "Stream ID": streams.setdefault(item.thread, len(streams)),
            "Op Name": item.name,
            "OP Type": item.op_type,
            "OP State": "static" if kernel is None or _is_static(kernel) else "dynamic",
            "Task Type": "HOST_CPU",
            "Task Start Time(us)": "{:.3f}".format(item.start),
            "Task Duration(us)": "{:.3f}".format(item.duration),
        })  # fmt: skip
        if kernel is not None:
            row.update(_kernel_cells(kernel, item.duration, bytes_per_us))
        yield row


def _is_static(kernel: Mapping[str, Any]) -> bool:
    return all(dim is not None for tensor in kernel["inputs"] for dim in tensor["shape"])


def _kernel_cells(
    kernel: Mapping[str, Any], duration: float, bytes_per_us: float
) -> Dict[str, Any]:
    cells: Dict[str, Any] = {}
    for side, name in (("inputs", "Input"), ("outputs", "Output")):
        tensors = kernel[side]
        shapes = [",".join("?" if d is None else str(d) for d in t["shape"]) for t in tensors]
        cells[name + " Shapes"] = ";".join(shapes)
        cells[name + " Data Types"] = ";".join(tensor["dtype"] for tensor in tensors)
        cells[name + " Formats"] = ";".join("ND" for _ in tensors)
    if kernel["gm_bytes"] is not None:
        took = kernel["gm_bytes"] / bytes_per_us
        ratio = took / duration if duration else 0.0
        values = (kernel["gm_bytes"], "{:.3f}".format(took), "{:.3f}".format(ratio))
        cells.update(zip(HOST_COLUMNS, values))
    return cells


class Comparison(NamedTuple):
    """Times in microseconds over all runs of the operators in question."""

    name: str
    before: float
    after: float
    before_calls: int
    after_calls: int

    @property
    def ratio(self) -> Optional[float]:
        """(before - after) / before; None when nothing was measured before."""
        return (self.before - self.after) / self.before if self.before else None

    def to_dict(self) -> Dict[str, Any]:
        """Plain values; the ratio under "ratio"."""
        return dict(self._asdict(), ratio=self.ratio)


def compare(unfused: Measured, fused: Measured) -> List[Comparison]:
    """All operators, then those inside kernels, then each kernel by the time of its operators.

    The first two go over the same range: everything that either run executed, and everything that
    is in a kernel of the fused run.
    """
    before = _by_name(unfused.times)
    after = _by_name(fused.times)
    endings = (_by_ending(before), _by_ending(after))
    kernels: List[Comparison] = []
    inside: Set[str] = set()
    for kernel in fused.kernels:
        own = _named(kernel["name"], after, endings[1])
        if not own:  # TensorFlow may ask for a graph that it then does not run
            continue
        members = {m for op in kernel["op_names"] for m in _named(op, before, endings[0])} - inside
        inside |= members
        kernels.append(_sum(kernel["name"], [before[m] for m in members], [after[o] for o in own]))
    kernels.sort(key=lambda entry: -entry.before)
    total = _sum("all operators", list(before.values()), list(after.values()))
    part = Comparison(
        "operators inside kernels",
        sum(entry.before for entry in kernels),
        sum(entry.after for entry in kernels),
        sum(entry.before_calls for entry in kernels),
        sum(entry.after_calls for entry in kernels),
    )
    return [total, part] + kernels


def _by_name(times: Iterable[Any]) -> Dict[str, List[float]]:
    found: Dict[str, List[float]] = {}
    for item in times:
        if item.op_type not in _CONTAINERS:
            found.setdefault(item.name, []).append(item.duration)
    return found


def _named(
    name: str, measured: Mapping[str, Any], endings: Mapping[str, List[str]]
) -> Sequence[str]:
    """What was measured for an operator; an exact name wins.

    The operators of a chain that TensorFlow put into one stand under its name.
    """
    found = [name] if name in measured else endings.get(name, [])
    owner = name.rpartition("/")[0]
    if not found and owner.endswith(_COMPOSITION):
        return _named(owner, measured, endings)
    return found


def _by_ending(names: Iterable[str]) -> Dict[str, List[str]]:
    """Names by each of their endings after a `/`: TensorFlow puts `caller/` before those of nodes
    that it inlines."""
    found: Dict[str, List[str]] = {}
    for name in names:
        at = name.find("/")
        while at >= 0:
            found.setdefault(name[at + 1 :], []).append(name)
            at = name.find("/", at + 1)
    return found


def _sum(name: str, before: List[List[float]], after: List[List[float]]) -> Comparison:
    return Comparison(
        name,
        sum(map(sum, before)),
        sum(map(sum, after)),
        sum(map(len, before)),
        sum(map(len, after)),
    )
