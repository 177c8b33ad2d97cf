"""A report in a few lines."""

from __future__ import annotations

from collections import Counter
from typing import Any, List

from tf_autofuse.report.units import byte_text


def summary_lines(report: Any) -> List[str]:
    """What a `Report` says: kernels, operators, calls, traffic saved, and what was left alone."""
    kernels = report.kernels
    operators = sum(len(kernel.op_names) for kernel in kernels)
    calls = sum(kernel.calls for kernel in kernels)
    lines = [
        "{} fused from {}, {}, {} of memory traffic saved".format(
            _count(len(kernels), "kernel"),
            _count(operators, "operator"),
            _count(calls, "call"),
            byte_text(sum(_saved(kernel) for kernel in kernels)),
        )
    ]
    reasons = Counter(entry.code for entry in report.unfused)
    if reasons:
        each = ", ".join("{} {}".format(code, number) for code, number in reasons.most_common())
        lines.append("{} left alone: {}".format(_count(len(report.unfused), "operator"), each))
    return lines


def _saved(kernel: Any) -> int:
    """Bytes that all calls of a kernel did not move; 0 while its sizes are unknown."""
    if kernel.gm_bytes is None or kernel.gm_bytes_unfused is None:
        return 0
    return kernel.calls * (kernel.gm_bytes_unfused - kernel.gm_bytes)


def _count(number: int, what: str) -> str:
    return "{} {}{}".format(number, what, "" if number == 1 else "s")
