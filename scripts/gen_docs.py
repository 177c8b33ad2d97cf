"""Write the documents that are made from tables in the code.

python scripts/gen_docs.py            write them
python scripts/gen_docs.py --check    exit 1 when a file differs from its table
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Callable, Dict, List, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from tf_autofuse.cluster.reasons import CODES  # noqa: E402
from tf_autofuse.errors import ScheduleError, Unsupported  # noqa: E402
from tf_autofuse.flag_table import DFX, FLAGS, MAIN, Flag  # noqa: E402
from tf_autofuse.loop.lower import lower  # noqa: E402
from tf_autofuse.loop.merge import merge_axes  # noqa: E402
from tf_autofuse.loop.source import Operator, TensorInfo  # noqa: E402
from tf_autofuse.messages import CODE_HELP, PARTS, Entry  # noqa: E402
from tf_autofuse.ops import MOVE, OPS, OpInfo  # noqa: E402
from tf_autofuse.schedule import schedule  # noqa: E402
from tf_autofuse.schedule.expand import missing_instruction  # noqa: E402

FLAGS_HEAD = """# Flags

<!-- made by scripts/gen_docs.py from tf_autofuse/flag_table.py: change the table, not this file -->

Two environment variables hold all flags. Each is a list of `--key=value` parts separated by `;`:

```bash
export AUTOFUSE_FLAGS="--enable_autofuse=true;--strict=true"
export AUTOFUSE_DFX_FLAGS="--codegen_compile_debug=true;--debug_dir=$HOME/autofuse_debug"
```

Quote the value: an unquoted `;` ends the shell command. A key that is not in the table, a value
that is not allowed, a stray space, a missing `--`, or one key with two values is an error at the
first use; the message says what is allowed and what is spelled most like it. From Python the same
keys go to `tf_autofuse.enable(flags=...)`, which takes a text or a mapping and wins over the
environment.

**Works** says whether the key changes anything in this version. A key with *no* is read and
checked, so that settings made for a CANN host can stay as they are, and then left alone.
"""


def flags_page() -> str:
    """docs/flags.md from the flag table."""
    parts = [FLAGS_HEAD]
    for variable in (MAIN, DFX):
        parts.append("\n## {}\n\n| Key | Values | Default | Works | Meaning |".format(variable))
        parts.append("|---|---|---|---|---|")
        parts.extend(_flag_row(flag) for flag in FLAGS.values() if flag.env == variable)
    return "\n".join(parts) + "\n"


def _flag_row(flag: Flag) -> str:
    key = "`--{}`".format(flag.name)
    if flag.bare:
        key += " or `{}`".format(flag.name)
    default = "`{}`".format(flag.default_text()) if flag.default_text() else "not set"
    works = "yes" if flag.effective else "no"
    return "| {} | {} | {} | {} | {} |".format(key, flag.allowed_text(), default, works, flag.help)


OPS_HEAD = """# Operators that fuse

<!-- made by scripts/gen_docs.py from tf_autofuse/ops.py: change the table, not this file -->

An operator is fused when its type is in this table, its first input has one of the data types, its
rank is known and a neighbour can be joined. `_UnaryOpsComposition`, which TensorFlow makes of
element-wise chains, is taken apart into its operators first. Every other operator stays as it is,
with a [reason](reasons.md) in the report.

The data types are those that the CPU kernels cover. Where a chip has no vector instruction for an
operation or a type, graphs of GraphEngine keep the operator (reason `SCHEDULE`); on a host without
the chip it is fused all the same, and the kernel's bundle holds `no_ascendc.txt`, which names what
is missing, in the place of `kernel.cpp`.

Left alone on purpose: `Apply*` and `ResourceApply*`, which change variables in place under locks
that a kernel does not hold; `_Fused*` operators, which TensorFlow has fused already;
`CheckNumerics`, whose error names the operator; segments, sorts, random numbers, strings, complex
numbers and the quantised types; running sums of rows with more than 32 elements, which a scan does
with less work; gathers from resource variables (`ResourceGather`), which read under the lock of the
variable. float64 and unsigned integers of more than 8 bits have no vector unit: their kernels are
for the CPU only. A chip cannot refuse a number that is no class or no index, as the CPU does: it
gives NaN for the one and zeros for the other. What a cast makes of NaN, and of numbers that an
integer type cannot hold, is the machine's, as in TensorFlow: the lowest value on x86, on a chip the
nearest one, and 0 for NaN.

**Ascend C** lists the types for which the vector core has a form (of Ascend910B; a cast is one to
float32). `-` means that the operator runs on the CPU alone.

| GE type | TensorFlow operator | Kind | Data types | Ascend C |
|---|---|---|---|---|
"""

SAMPLE_ATTRS = {
    "is_training": False, "range_given": True, "boundaries": [0.0, 1.0], "equation": "ij,ij->i",
    "variance_epsilon": 1e-3, "scale_after_normalization": True, "k": 3, "shape": [4, 8],
}
_MATRIX, _ROW, _IMAGE = (4, 8), (8,), (2, 3, 4, 8)
CLASS_NUMBERS = ("sparse_cross_entropy", "in_top_k")
"""Rules whose second input holds numbers of classes."""
SAMPLES = (
    [[_MATRIX] * count for count in range(1, 6)]
    + [[_MATRIX, _ROW], [_IMAGE] + [_ROW] * 4, [_IMAGE] * 2 + [_ROW] * 3, [_MATRIX, (), ()],
       [_MATRIX] * 2 + [()] * 2, [_MATRIX, _ROW, _ROW], [_IMAGE, ()], [_MATRIX, (4, 6)],
       [_MATRIX, (4,)]]
)
"""Shapes of the inputs that operators are tried with."""


MOVE_SAMPLES = {
    "Transpose": {1: (1, 0)}, "Slice": {1: (1, 2), 2: (2, 3)}, "ReverseV2": {1: (1,)},
    "StridedSlice": {1: (0, 0), 2: (4, 8), 3: (1, 2)}, "Split": {0: (1,)},
    "SplitV": {1: (3, 5), 2: (1,)}, "Concat": {0: (1,)}, "ConcatV2": {2: (1,)},
    "Pad": {1: (1, 1, 0, 2)}, "PadV2": {1: (1, 1, 0, 2), 2: (1,)},
    "MirrorPad": {1: (1, 1, 0, 2)}, "OneHot": {1: (5,), 2: (1,), 3: (0,)}, "GatherV2": {2: (0,)},
    "MatrixDiagPartV2": {1: (0,)}, "MatrixDiagPartV3": {1: (0,)}, "RollV2": {1: (1,), 2: (1,)},
    "BatchToSpaceND": {1: (2, 1), 2: (0,) * 4}, "BatchToSpace": {1: (0,) * 4},
    "SpaceToBatchND": {1: (1, 2), 2: (0,) * 4}, "SpaceToBatch": {1: (0,) * 4},
    "ConjugateTranspose": {1: (1, 0)}, "MirrorPadGrad": {1: (0, 0, 1, 2)},
    "MatrixDiagV2": {1: (0,), 2: (-1,), 3: (-1,), 4: (0,)},
    "MatrixDiagV3": {1: (0,), 2: (-1,), 3: (-1,), 4: (0,)},
    "StridedSliceGrad": {0: (6, 8), 1: (1, 0), 2: (5, 8), 3: (1, 1)},
    "Range": {0: (0,), 1: (8,), 2: (1,)}, "LinSpace": {2: (8,)},
    "Cumsum": {1: (1,)}, "Cumprod": {1: (1,)},
}
"""Parameters that operators which move elements are tried with."""
_SHAPES: Dict[str, Sequence[Sequence[int]]] = {
    "GatherNd": (_MATRIX, (3, 1)), "Gather": (_MATRIX, (4,)), "GatherV2": (_MATRIX, (4,)),
    "ReverseSequence": (_MATRIX, (4,)), "LinSpace": ((), ()), "Concat": (_MATRIX, _MATRIX),
    "ConcatV2": (_MATRIX, _MATRIX), "Pack": (_MATRIX, _MATRIX),
}
_SHAPES.update((name, ((4, 4, 4, 8),)) for name in (
    "DepthToSpace", "SpaceToDepth", "BatchToSpace", "SpaceToBatch", "BatchToSpaceND",
    "SpaceToBatchND"))


def _moves(info: OpInfo, dtype: str) -> bool:
    """Whether there is an Ascend C form of a move of a matrix."""
    shapes = _SHAPES.get(info.ge, (_MATRIX,))
    refs = tuple(("x%d" % number, 0) for number in range(len(shapes)))
    infos = {ref: TensorInfo(dtype, tuple(shape)) for ref, shape in zip(refs, shapes)}
    attrs = {"dst_dtype": dtype if info.ge == "Range" else "float32", "mode": "REFLECT", "axis": 0,
             "seq_dim": 1}
    if info.ge[-2:] != "ND":
        attrs["block_size"] = 2
    if info.lower == "gather" or info.ge in ("GatherNd", "ReverseSequence"):
        infos[refs[1]] = TensorInfo("int32", infos[refs[1]].dims)
    dims = (8,) if info.ge == "Range" else None
    operator = Operator("op", info.ge, refs, attrs, None, dims, MOVE_SAMPLES.get(info.ge, {}), 2)
    try:
        kernel = merge_axes(lower([operator], [("op", 0)], infos).kernel)[0]
        return not missing_instruction(kernel) and bool(schedule(kernel))
    except (Unsupported, ScheduleError):
        return False


def ascend_types(info: OpInfo) -> List[str]:
    """The types of the first input for which an operator has an Ascend C form."""
    if info.kind == MOVE:
        return [dtype for dtype in sorted(info.dtypes) if _moves(info, dtype)]
    return [dtype for dtype in sorted(info.dtypes)
            if any(_has_form(info, dtype, shapes) for shapes in SAMPLES)]


def _has_form(info: OpInfo, dtype: str, shapes: Sequence[Sequence[int]]) -> bool:
    refs = [("x%d" % number, 0) for number in range(len(shapes))]
    chosen = info.ge in ("Select", "SelectV2")
    later = "float32" if chosen else "int64" if info.lower in CLASS_NUMBERS else dtype
    infos = {ref: TensorInfo(later if number else dtype, tuple(shape), None if shape else 1)
             for number, (ref, shape) in enumerate(zip(refs, shapes))}
    result = {"boun": "int32", "arg:": "int64"}.get(info.lower[:4], "float32")
    attrs = dict(SAMPLE_ATTRS, dst_dtype=result)
    operator = Operator("op", info.ge, tuple(refs), attrs, (1,), tuple(shapes[0]))
    try:
        outputs = [("op", port) for port in range(min(info.outputs, 3))]
        kernel = lower([operator], outputs, infos).kernel
        return len(kernel.inputs) >= sum(map(bool, shapes)) and not missing_instruction(kernel)
    except (Unsupported, IndexError, KeyError, TypeError, ValueError):
        return False


def ops_page() -> str:
    """docs/ops.md from the op table."""
    return OPS_HEAD + "".join(_op_row(info) for info in OPS.values())


def _op_row(info: OpInfo) -> str:
    dtypes = ", ".join(sorted(info.dtypes))
    forms = ", ".join(ascend_types(info)) or "-"
    return "| {} | {} | {} | {} | {} |\n".format(info.ge, ", ".join(info.tf), info.kind, dtypes,
                                                 forms)


REASONS_HEAD = """# Why an operator was left alone

<!-- made by scripts/gen_docs.py from tf_autofuse/cluster/reasons.py: change the table there -->

`tf_autofuse.report().unfused` and the summary of `tf-autofuse run` name a code and a sentence for
every operator that was not fused.

| Code | Meaning |
|---|---|
"""


def reasons_page() -> str:
    """docs/reasons.md from the table of codes."""
    rows = ("| `{}` | {} |\n".format(code, text) for code, text in CODES.items())
    return REASONS_HEAD + "".join(rows)


TROUBLE_HEAD = """# Troubleshooting

<!-- made by scripts/gen_docs.py from tf_autofuse/messages.py: change the table, not this file -->

Look for a part of the message here. `{}` stands for what changes from one message to the next.
A model goes on whatever fails while it is fused: the operators concerned run in TensorFlow, and
`tf_autofuse.report()` says why. An error class ends the command with exit code 2 and one line.
Classes whose messages are not listed: `IRError` and `TwinError` are faults of this package or of a
text written by hand; `Unsupported` and `ScheduleError` come with a reason code, see below.
"""

CODES_HEAD = """
## Reasons of unfused operators

| Code | Meaning | What to do |
|---|---|---|
"""


def troubleshooting_page() -> str:
    """docs/troubleshooting.md from the table of messages and the reason codes."""
    parts = [TROUBLE_HEAD]
    for title, entries in PARTS.items():
        parts.append("\n## {}\n".format(title))
        parts.extend(map(_message, entries))
    rows = ("| `{}` | {} | {} |\n".format(code, CODES[code], CODE_HELP[code]) for code in CODES)
    return "".join(parts) + CODES_HEAD + "".join(rows)


def _message(entry: Entry) -> str:
    texts = (re.sub(r"%[sdr]|{[^}]*}", "{}", text).strip(" '") for text in entry.texts)
    head = ", ".join("`{}`".format(text) for text in texts)
    return "\n**{}**\n\n{} *What helps:* {}\n".format(head, entry.meaning, entry.help)


PAGES: Dict[str, Callable[[], str]] = {
    "docs/flags.md": flags_page,
    "docs/ops.md": ops_page,
    "docs/reasons.md": reasons_page,
    "docs/troubleshooting.md": troubleshooting_page,
}


def stale_pages(root: str = ROOT) -> List[str]:
    """Paths under `root` whose text is not what their table gives."""
    stale = []
    for path, render in PAGES.items():
        full = os.path.join(root, path)
        text = ""
        if os.path.exists(full):
            with open(full, encoding="utf-8") as file:
                text = file.read()
        if text != render():
            stale.append(path)
    return stale


def main(argv: List[str]) -> int:
    """Write the pages, or with ``--check`` only compare; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the documents made from tables.")
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args(argv).check:
        stale = stale_pages()
        for path in stale:
            print("{} differs from its table: run python scripts/gen_docs.py".format(path))
        return 1 if stale else 0
    for path in stale_pages():
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write(PAGES[path]())
        print("wrote " + path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
