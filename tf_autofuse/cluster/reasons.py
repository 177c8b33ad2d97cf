"""Why an operator, or a pair of operators, was left alone. docs/reasons.md is made from `CODES`."""
from __future__ import annotations

from typing import Dict, NamedTuple

CODES: Dict[str, str] = {
    # single operators
    "OP_UNKNOWN": "The operator type is not in the op table.",
    "DTYPE": "The operator is in the op table, but not for this data type.",
    "RANK": "An operand has unknown rank, so no loop can be written for it.",
    "FED": "The operator's value is fed from outside, so it is not computed at all.",
    "DEVICE": "The operator is not placed on a device that fused kernels run on.",
    "SCOPE": "The user excluded the operator (disable_autofuse, super-kernel scope, skip file).",
    "MULTI_OUTPUT": "An output other than the first one is used.",
    "ATTR": "An attribute has a value that the op table does not cover.",
    "FORMAT": "The tensor format is not a plain one (ND, NHWC, NCHW).",
    "AXES_UNKNOWN": "The axes of a reduction, or what a move takes, are not constant.",
    "SHAPE_MATH": "A part of a shape is not worth a kernel.",
    "SHAPE": "The shapes do not fit together as the operator needs.",
    "CONSTANT": "All inputs are constants; the framework folds it.",
    # pairs and clusters
    "SINGLE": "No neighbour could be joined, and one operator alone gains nothing.",
    "CYCLE": "Joining would make the fused node wait for itself.",
    "CONTEXT": "The operators belong to different control-flow contexts.",
    "SETTINGS": "The operators differ in device, stream or core settings.",
    "AXES_CONFLICT": "Two dims of one tensor would have to be the same loop axis.",
    "AXES_ORDER": "The operators walk the axes in different orders.",
    "RUNTIME_BROADCAST": "Only the run-time shape tells whether a part of a tensor is broadcast.",
    "MOVE": "A move stands behind something that cannot be computed for a part alone.",
    "SIZE_UNKNOWN": "A dim has a size that only the run time knows and no input has.",
    "RESHAPE": "A reshape merges or splits dims, or a tile repeats one.",
    "VIEW": "Only the dims change; the tensor is also used elsewhere, so nothing is saved.",
    "REDUCE_AXES": "Reductions over different axes need more stages than a kernel has here.",
    "REDUCE_DOMAIN": "A reduction runs over less than the whole loop.",
    "REDUCE_BROADCAST": "A reduction runs over an axis its operand is constant along.",
    "RECOMPUTE": "A costly operation would be repeated for every broadcast row.",
    "TRAFFIC": "One kernel would read its inputs more often than the kernels apart.",
    "OUTPUT_DOMAIN": "A value used outside is smaller than the loop of the kernel.",
    # kernels and graphs
    "SCHEDULE": "No schedule fits the chip (buffers, queues or types).",
    "BUILD": "The kernel could not be built.",
    "REWRITE": "The graph rewriter refused the replacement.",
    "IMPORT": "The graph could not be read.",
    "INTERNAL": "An internal check failed; the operators were left as they were.",
}


class FuseDecision(NamedTuple):
    """Whether two neighbours were joined; when not, `code` and a sentence naming both."""

    ok: bool
    code: str = ""
    reason: str = ""

    @classmethod
    def yes(cls) -> "FuseDecision":
        return cls(True)

    @classmethod
    def no(cls, code: str, reason: str) -> "FuseDecision":
        assert code in CODES, code
        return cls(False, code, reason)
