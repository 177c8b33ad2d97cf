"""Lowering rules: one function per kind of operator, named by the op table (`ops.OPS[..].lower`).

A rule gets the lowering, the operator and the argument after the colon of its name, and returns
the lowered result, or a list with one for each output. Float16 and bfloat16 arithmetic is done in
float32 and rounded once per TensorFlow operator, so that every rounding the user wrote stays;
exact operations stay narrow.
"""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.loop.rules.activations import ACTIVATIONS
from tf_autofuse.loop.rules.arithmetic import ARITHMETIC
from tf_autofuse.loop.rules.elementwise import ELEMENTWISE
from tf_autofuse.loop.rules.gathers import GATHERS
from tf_autofuse.loop.rules.indexed import INDEXED
from tf_autofuse.loop.rules.joins import JOINS
from tf_autofuse.loop.rules.layouts import LAYOUTS
from tf_autofuse.loop.rules.moves import MOVES
from tf_autofuse.loop.rules.normalise import NORMALISE
from tf_autofuse.loop.rules.quantize import QUANTIZE
from tf_autofuse.loop.rules.ranges import RANGES
from tf_autofuse.loop.rules.reductions import REDUCTIONS
from tf_autofuse.loop.rules.softmax import SOFTMAX
from tf_autofuse.loop.views import VIEW_RULES

RULES: Dict[str, Callable] = {}
for _table in (ELEMENTWISE, ARITHMETIC, ACTIVATIONS, REDUCTIONS, SOFTMAX, INDEXED, JOINS,
               GATHERS, LAYOUTS, RANGES, MOVES, NORMALISE, QUANTIZE, VIEW_RULES):
    RULES.update(_table)

COMPARING_RULES = frozenset(
    (*ELEMENTWISE, *ARITHMETIC, *ACTIVATIONS, "reduce", "bias_add_grad", "euclidean_norm",
     "l2_loss", "same", "each", "reshape", "broadcast")
)
"""Rules that ask of sizes only which are equal, and which are 0 or 1; where more was asked after
all, `AxisTable.measured` says so."""
