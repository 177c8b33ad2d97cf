"""Kernels and bytes of fused patterns beside those of XLA's optimized HLO.

python scripts/xla_plans.py                    every pattern and step of tests/e2e
python scripts/xla_plans.py softmax adam --rows 64 --cols 1000 --dtype float16
python scripts/xla_plans.py --json

Ours: fused kernels with the bytes of the report, and operators left alone with those of their
inputs and outputs. XLA's: instructions of the entry computation that compute something, with the
bytes of their operands and results. Exit code 1 when ours has more kernels or moves more bytes in
any pattern, 2 for a wrong command line.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "e2e")]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
from one_kernel import PATTERNS, arguments  # noqa: E402
from training_patterns import TRAINING  # noqa: E402

import tf_autofuse  # noqa: E402
from tf_autofuse.ops import OPS, VIEW  # noqa: E402

PATTERNS = dict(PATTERNS, **TRAINING)

FREE = frozenset("parameter constant tuple get-tuple-element bitcast".split())
"""HLO instructions that move nothing."""

ITEM = {"pred": 1, "s8": 1, "u8": 1, "f16": 2, "bf16": 2, "s16": 2, "u16": 2, "f32": 4, "s32": 4,
        "u32": 4, "f64": 8, "s64": 8, "u64": 8}


class Plan(NamedTuple):
    """Kernels that are launched, and bytes of memory that they read and write."""

    kernels: int
    moved: int


def xla_plan(hlo: str) -> Plan:
    """The plan in the text of an optimized HLO module."""
    entry = hlo[hlo.index("\nENTRY "):]
    sizes: Dict[str, int] = {}
    kernels = moved = 0
    for line in entry.splitlines():
        found = re.match(r"\s*(?:ROOT )?%([\w.\-]+) = (.*)", line)
        if not found:
            continue
        name, rest = found.groups()
        result, op, operands = _parts(rest)
        sizes[name] = _bytes(result)
        if op in FREE:
            continue
        kernels += 1
        moved += sizes[name] + sum(sizes.get(operand, 0) for operand in operands)
    return Plan(kernels, moved)


def _parts(text: str) -> Tuple[str, str, List[str]]:
    """Result type, operation and operand names of `f32[4]{0} add(%a, %b), metadata=...`."""
    end = text.index(") ") + 1 if text.startswith("(") else text.index(" ")
    op, _, after = text[end:].strip().partition("(")
    return text[:end], op, re.findall(r"%([\w.\-]+)", after.split("), ")[0])


def _bytes(result: str) -> int:
    total = 0
    for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", result):
        count = 1
        for size in dims.split(","):
            count *= int(size) if size else 1
        total += ITEM.get(kind, 0) * count
    return total


def _function(name: str, **options: Any) -> Any:
    build = PATTERNS[name][0]
    return tf.function(lambda *tensors: build(*tensors), autograph=False, **options)


def our_plan(name: str, tensors: Sequence[Any]) -> Plan:
    """The plan of this package for a pattern, which is run once."""
    function = _function(name)
    before = {entry.name: entry.calls for entry in tf_autofuse.report().kernels}
    known = len(tf_autofuse.report().unfused)
    tf_autofuse.enable("--enable_autofuse=true")
    try:
        function(*tensors)
    finally:
        tf_autofuse.disable()
    report = tf_autofuse.report()
    used = [entry for entry in report.kernels if entry.calls > before.get(entry.name, 0)]
    inside = {op for entry in used for op in entry.op_names}
    alone = {entry.node for entry in report.unfused[known:] if entry.node not in inside
             and entry.code != "CONSTANT"
             and (entry.op_type not in OPS or OPS[entry.op_type].kind != VIEW)}
    operators = function.get_concrete_function(*tensors).graph.get_operations()
    left = [op for op in operators if op.name in alone]
    moved = sum(entry.gm_bytes or 0 for entry in used)
    moved += sum(_tensor_bytes(t) for op in left for t in list(op.inputs) + list(op.outputs))
    return Plan(len(used) + len(alone), moved)


def _tensor_bytes(tensor: Any) -> int:
    return (tensor.shape.num_elements() or 0) * tensor.dtype.size


def compare(name: str, rows: int, cols: int, dtype: str) -> Dict[str, Any]:
    """One row of the table."""
    tensors = [tf.constant(array) for array in arguments(PATTERNS[name][1], rows, cols, dtype)]
    ours = our_plan(name, tensors)
    compiled = _function(name, jit_compile=True)
    xla = xla_plan(compiled.experimental_get_compiler_ir(*tensors)(stage="optimized_hlo"))
    return {"pattern": name, "kernels": ours.kernels, "xla_kernels": xla.kernels,
            "bytes": ours.moved, "xla_bytes": xla.moved,
            "more": ours.kernels > xla.kernels or ours.moved > xla.moved}


def main(argv: List[str]) -> int:
    """Parse the command line and print the table; the exit code."""
    parser = argparse.ArgumentParser(description="Plans of fused patterns beside XLA's.")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="all when none is named")
    parser.add_argument("--rows", type=int, default=64, help="a multiple of 8")
    parser.add_argument("--cols", type=int, default=1000)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float16"))
    parser.add_argument("--json", action="store_true", help="one JSON object a pattern")
    options = parser.parse_args(argv)
    unknown = set(options.patterns) - set(PATTERNS)
    if unknown:
        parser.error("unknown pattern %s; there are: %s"
                     % (", ".join(sorted(unknown)), " ".join(sorted(PATTERNS))))
    if not options.json:
        print("%-36s %8s %4s %10s %10s" % ("pattern", "kernels", "XLA", "bytes", "XLA"))
    more = False
    for name in options.patterns or sorted(PATTERNS):
        row = compare(name, options.rows, options.cols, options.dtype)
        more |= row["more"]
        if options.json:
            print(json.dumps(row, sort_keys=True), flush=True)
        else:
            print("%-36s %8d %4d %10d %10d%s" % (
                row["pattern"], row["kernels"], row["xla_kernels"], row["bytes"], row["xla_bytes"],
                "  more than XLA" if row["more"] else ""), flush=True)
    return int(more)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
