"""Accumulators of the CPU kernels: type, start value, step and the way back to the value.

Sums and products of floats accumulate in double. Sums of floats begin at -0.0, which leaves the
sign of a single -0.0: TensorFlow copies what it need not add up. A maximum or minimum along the
vector axis keeps a scalar that ignores NaN and a flag that remembers one, since that form
vectorises.
"""
from __future__ import annotations

from dataclasses import dataclass

from tf_autofuse.codegen.host_scalar import VALUE_TYPES, cast_expression, constant
from tf_autofuse.loop.ir import Reduce
from tf_autofuse.loop.ops import ALL_FLOATS, INTS, NARROW_FLOATS, REDUCE_OPS

_STEPS = {"sum": "{a} + {x}", "mean": "{a} + {x}", "prod": "{a} * {x}", "all": "{a} & {x}",
          "any": "{a} | {x}"}
_PICKS = {"max": "pick_max({a}, {x})", "min": "pick_min({a}, {x})"}
_COMPARES = {"max": ">", "min": "<"}


@dataclass(frozen=True)
class Accumulator:
    """C++ pieces of one reduction; `c_type` also is the type of its partial results."""

    value: Reduce

    @property
    def c_type(self) -> str:
        dtype = self.value.dtype
        if self.value.op in _STEPS:
            if dtype in INTS:
                return "uint64_t" if dtype.endswith("64") else "uint32_t"
            return "uint32_t" if dtype == "bool" else "double"
        return "float" if dtype in NARROW_FLOATS else VALUE_TYPES[dtype]

    @property
    def adds_floats(self) -> bool:
        """Whether this adds up floats, from -0.0 on."""
        return self.value.op in ("sum", "mean") and self.c_type == "double"

    @property
    def start(self) -> str:
        if self.adds_floats:
            return "-0.0"
        identity = REDUCE_OPS[self.value.op].identity(self.value.dtype)
        dtype = "float32" if self.value.dtype in NARROW_FLOATS else self.value.dtype
        return "(%s)%s" % (self.c_type, constant(identity, dtype))

    @property
    def needs_flag(self) -> bool:
        """Whether the vector form of this reduction needs a NaN flag beside the value."""
        return self.value.op in _PICKS and self.value.dtype in ALL_FLOATS

    def operand(self, text: str) -> str:
        """The operand, a narrow float as float, in the accumulator's type."""
        return "(%s)%s" % (self.c_type, text)

    def combine(self, acc: str, other: str) -> str:
        """Accumulator joined with another value of its type; NaN wins a maximum or minimum."""
        forms = dict(_STEPS, **_PICKS)
        return forms[self.value.op].format(a=acc, x=other)

    def vector_step(self, acc: str, other: str) -> str:
        """The step inside a vector loop over the reduced axis."""
        if self.value.op in _STEPS:
            return self.combine(acc, other)
        return "%s %s %s ? %s : %s" % (other, _COMPARES[self.value.op], acc, other, acc)

    @property
    def clause(self) -> str:
        """The OpenMP reduction identifier of `vector_step`."""
        if self.adds_floats:
            return "plus"  # csrc/host/vector_math.h
        named = {"sum": "+", "mean": "+", "prod": "*", "all": "&", "any": "|"}
        return named.get(self.value.op, self.value.op)

    def result(self, acc: str, count: str) -> str:
        """The value in its own type; `count` is the number of points that were accumulated."""
        if self.value.op == "mean" and self.value.dtype in INTS:
            kind = VALUE_TYPES[self.value.dtype]
            return "((%s)%s / (%s)larger(1, %s))" % (kind, acc, kind, count)
        if self.adds_floats:
            acc = "total_of(%s, %s)" % (acc, count)
        if self.value.op == "mean":
            acc = "(%s / (double)(%s))" % (acc, count)
        if self.value.dtype in NARROW_FLOATS:
            return cast_expression(acc, "float32", self.value.dtype)
        return "(%s)%s" % (VALUE_TYPES[self.value.dtype], acc)
