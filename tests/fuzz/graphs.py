"""Random TensorFlow graphs for differential tests: valid by construction, printable, shrinkable.

Only operators whose result IEEE 754 or integer arithmetic fixes to the bit are used, so that the
fused graph must equal TensorFlow's exactly. A `Program` prints as a few lines of Python.
"""
from typing import List, NamedTuple, Tuple

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int32", "int64")
NUMBERS = FLOATS + INTEGERS
DTYPES = NUMBERS + ("bool",)
DRAWN = ("float32", "float16", "int32", "bool") * 2 + ("bfloat16", "float64", "int64")
SIZES = (1, 2, 3, 5, 8, 17, 33, 0)
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 65504.0, 6e-8, 1e30]

UNARY = {
    "tf.negative": NUMBERS, "tf.abs": NUMBERS, "tf.nn.relu": FLOATS, "tf.square": NUMBERS,
    "tf.sqrt": FLOATS, "tf.logical_not": ("bool",),
}
BINARY = {
    "tf.add": NUMBERS, "tf.subtract": NUMBERS, "tf.multiply": NUMBERS, "tf.divide": FLOATS,
    "tf.maximum": NUMBERS, "tf.minimum": NUMBERS, "tf.logical_and": ("bool",),
    "tf.logical_or": ("bool",),
}
COMPARE = ("tf.greater", "tf.less_equal", "tf.equal", "tf.not_equal")
REDUCE = {
    "tf.reduce_max": NUMBERS, "tf.reduce_min": NUMBERS, "tf.reduce_sum": INTEGERS,
}


class Step(NamedTuple):
    """`text` is the right-hand side of the Python line; dims are those of the result."""

    text: str
    dtype: str
    dims: Tuple[int, ...]
    joins: bool


class Program(NamedTuple):
    """`inputs` are (dtype, dims, placeholder dims); `outputs` index inputs and steps together."""

    inputs: Tuple[Tuple[str, Tuple[int, ...], Tuple], ...]
    steps: Tuple[Step, ...]
    outputs: Tuple[int, ...]
    seed: int

    def __repr__(self) -> str:
        lines = ["", "# seed %d" % self.seed]
        for number, (dtype, dims, shape) in enumerate(self.inputs):
            lines.append("v%d = input(%r, %r)  # of %r" % (number, dtype, list(shape), dims))
        first = len(self.inputs)
        lines += ["v%d = %s" % (first + i, step.text) for i, step in enumerate(self.steps)]
        lines.append("fetch(%s)" % ", ".join("v%d" % i for i in self.outputs))
        return "\n".join(lines)

    def build(self, *inputs):
        """The outputs as tensors."""
        env = {"tf": tf, "tf1": tf.compat.v1, "after": after}
        env.update(("v%d" % i, tensor) for i, tensor in enumerate(inputs))
        for i, step in enumerate(self.steps):
            env["v%d" % (len(inputs) + i)] = eval(step.text, env)
        return [env["v%d" % i] for i in self.outputs]

    def arrays(self) -> List[np.ndarray]:
        """Input values, special ones among them."""
        rng = np.random.RandomState(self.seed)
        return [_values(rng, dtype, dims) for dtype, dims, _ in self.inputs]


def after(first, build):
    """The tensor that `build` makes, computed when `first` has been."""
    with tf.control_dependencies([first]):
        return build()


def _values(rng, dtype, dims):
    if dtype == "bool":
        return np.asarray(rng.rand(*dims) < 0.5)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        wide = np.asarray(rng.randint(info.min, info.max, dims, dtype=np.int64))
        return np.where(rng.rand(*dims) < 0.3, wide, wide % 7 - 3).astype(dtype)
    values = np.asarray(rng.randn(*dims) * 4)
    edges = np.asarray(rng.choice(EDGES, dims))
    with np.errstate(all="ignore"):
        mixed = np.where(rng.rand(*dims) < 0.2, edges, values)
        mixed = mixed if dtype == "float64" else mixed.astype(np.float32)
        return mixed.astype(tf.as_dtype(dtype).as_numpy_dtype)


@st.composite
def programs(draw, max_steps=12):
    """A program of one base shape, to which all tensors that meet can be broadcast."""
    base = tuple(draw(st.lists(st.sampled_from(SIZES), max_size=4)))
    values: List[Step] = []
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        dims = _smaller(draw, base)
        dtype = draw(st.sampled_from(DRAWN))
        shape = tuple(None if draw(st.integers(0, 4)) == 0 else size for size in dims)
        inputs.append((dtype, dims, shape))
        values.append(Step("", dtype, dims, True))
    steps = []
    for _ in range(draw(st.integers(2, max_steps))):
        step = _step(draw, values, base)
        if draw(st.integers(0, 9)) == 9:
            first = draw(st.integers(0, len(values) - 1))
            step = step._replace(text="after(v%d, lambda: %s)" % (first, step.text))
        steps.append(step)
        values.append(step)
    last = len(values) - 1
    chosen = draw(st.lists(st.integers(len(inputs), last), max_size=2))
    return Program(
        tuple(inputs), tuple(steps), tuple(sorted(set(chosen + [last]))),
        draw(st.integers(0, 2 ** 31 - 1)),
    )


def _smaller(draw, base):
    dims = [size if draw(st.integers(0, 3)) else 1 for size in base]
    return tuple(dims[draw(st.integers(0, 1)) and draw(st.integers(0, len(dims))):])


def _step(draw, values, base) -> Step:
    index = draw(st.integers(max(0, len(values) - 4), len(values) - 1))
    x, name = values[index], "v%d" % index
    kinds = ["unary", "cast", "binary", "select"] + (
        ["reduce", "view", "move", "block", "gather"] if x.dims else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "unary":
        op = draw(st.sampled_from([op for op, dtypes in UNARY.items() if x.dtype in dtypes]))
        return Step("%s(%s)" % (op, name), x.dtype, x.dims, x.joins)
    if kind == "reduce" and x.dtype != "bool":
        return _reduce(draw, x, name)
    if kind == "view":
        return _view(draw, x, name, base)
    if kind == "move":
        return _move(draw, x, name)
    if kind == "block":
        return _block(draw, x, name)
    if kind == "gather":
        return _gather(draw, values, x, name)
    if kind in ("binary", "select") and x.joins:
        return _meet(draw, values, kind, index)
    target = draw(st.sampled_from([dtype for dtype in DRAWN if dtype != x.dtype]))
    return Step("tf.cast(%s, %r)" % (name, target), target, x.dims, x.joins)


def _reduce(draw, x, name) -> Step:
    op = draw(st.sampled_from([op for op, dtypes in REDUCE.items() if x.dtype in dtypes]))
    axes = sorted(draw(st.sets(st.integers(0, len(x.dims) - 1), min_size=1)))
    keep = draw(st.booleans())
    dims = tuple(
        1 if i in axes else size for i, size in enumerate(x.dims) if keep or i not in axes
    )
    text = "%s(%s, axis=%r, keepdims=%r)" % (op, name, axes, keep)
    return Step(text, x.dtype, dims, x.joins and (keep or not dims))


def _view(draw, x, name, base) -> Step:
    if x.joins and draw(st.booleans()):
        return Step("tf.broadcast_to(%s, %r)" % (name, list(base)), x.dtype, base, True)
    if 0 not in x.dims and draw(st.booleans()):
        return _reshape(draw, x, name)
    at = draw(st.integers(0, len(x.dims)))
    dims = x.dims[:at] + (1,) + x.dims[at:]
    return Step("tf.expand_dims(%s, %d)" % (name, at), x.dtype, dims, x.joins and at == 0 and (
        len(dims) <= len(base)))


def _reshape(draw, x, name) -> Step:
    """Dims split and merged at random; half of the time they are put back behind an operator, so
    that the result meets other tensors again."""
    factors = [prime for size in x.dims for prime in _primes(size)]
    if draw(st.integers(0, 4)) == 0:
        factors = draw(st.permutations(factors))
    dims: List[int] = []
    for factor in factors:
        if dims and draw(st.booleans()):
            dims[-1] *= factor
        else:
            dims.append(factor)
    text = "tf.reshape(%s, %r)" % (name, dims)
    if draw(st.booleans()):
        return Step(text, x.dtype, tuple(dims), False)
    op = draw(st.sampled_from([op for op, dtypes in UNARY.items() if x.dtype in dtypes]))
    back = "tf.reshape(%s(%s), %r)" % (op, text, list(x.dims))
    return Step(back, x.dtype, x.dims, x.joins)


def _primes(size: int) -> List[int]:
    found, prime = [], 2
    while size > 1:
        while size % prime == 0:
            found.append(prime)
            size //= prime
        prime += 1
    return found


def _move(draw, x, name) -> Step:
    """A part of a tensor, its dims in another order, or two of it side by side."""
    rank = len(x.dims)
    at = draw(st.integers(0, rank - 1))
    kind = draw(st.sampled_from(["transpose", "slice", "reverse", "concat", "pad"]))
    size = x.dims[at]
    if kind == "transpose":
        order = draw(st.permutations(range(rank)))
        dims = tuple(x.dims[place] for place in order)
        text = "tf.transpose(%s, %r)" % (name, list(order))
        return Step(text, x.dtype, dims, x.joins and dims == x.dims)
    if kind == "reverse":
        return Step("tf.reverse(%s, [%d])" % (name, at), x.dtype, x.dims, x.joins)
    if kind == "slice":
        first, last = (draw(st.integers(-size - 1, size + 1)) for _ in range(2))
        step = draw(st.sampled_from([1, 1, 2, -1, -2]))
        size = len(range(*slice(first, last, step).indices(size)))
        text = "%s[%s]" % (name, ":, " * at + "%d:%d:%d" % (first, last, step))
    elif kind == "concat":
        text, size = "tf.concat([%s, %s], %d)" % (name, name, at), 2 * size
    else:
        ends = [[0, 0]] * rank
        ends[at] = [draw(st.integers(0, 2)), draw(st.integers(0, 2))]
        text, size = "tf.pad(%s, %r)" % (name, ends), size + sum(ends[at])
    return Step(text, x.dtype, x.dims[:at] + (size,) + x.dims[at + 1:], False)


def _block(draw, x, name) -> Step:
    """A roll, a running sum, or diagonals."""
    rank = len(x.dims)
    at = draw(st.integers(0, rank - 1))
    kinds = ["roll"] + ["cumsum"] * (x.dtype in INTEGERS) + ["part"] * (rank > 1)
    kinds += ["diag"] * bool(rank < 6 and np.prod(x.dims) * x.dims[-1] <= 50000)
    kind = draw(st.sampled_from(kinds))
    if kind == "roll":
        text = "tf.roll(%s, %d, %d)" % (name, draw(st.integers(-9, 9)), at)
        return Step(text, x.dtype, x.dims, x.joins)
    if kind == "cumsum":
        text = "tf.cumsum(%s, %d, exclusive=%r, reverse=%r)" % (
            name, at, draw(st.booleans()), draw(st.booleans()))
        return Step(text, x.dtype, x.dims, x.joins)
    if kind == "part":
        dims = x.dims[:-2] + (min(x.dims[-2:]),)
        return Step("tf.linalg.diag_part(%s)" % name, x.dtype, dims, False)
    return Step("tf.linalg.diag(%s)" % name, x.dtype, x.dims + x.dims[-1:], False)


def _gather(draw, values, x, name) -> Step:
    """Elements at constant coordinates, or at those that another value gives."""
    at = draw(st.integers(0, len(x.dims) - 1))
    size, rest = x.dims[at], int(np.prod(x.dims))
    found = [(i, v.dims) for i, v in enumerate(values) if v.dtype == "int32" and rest and (
        len(v.dims) <= 2 and np.prod(v.dims) * rest <= 50000)]
    if found and draw(st.booleans()):
        number, dims = draw(st.sampled_from(found))
        indices = "tf.math.floormod(v%d, %d)" % (number, size)
    else:
        picked = draw(st.lists(st.integers(0, max(size - 1, 0)), max_size=5 if size else 0))
        indices, dims = "tf.constant(%r, 'int32')" % picked, (len(picked),)
    text = "tf.gather(%s, %s, axis=%d)" % (name, indices, at)
    return Step(text, x.dtype, x.dims[:at] + dims + x.dims[at + 1:], False)


def _meet(draw, values, kind, index) -> Step:
    """An operator on several values, cast to one dtype where they differ."""
    others = [i for i, value in enumerate(values) if value.joins]
    x = values[index]
    picks = [draw(st.sampled_from(others)) for _ in range(2)]
    dtype = x.dtype if kind == "binary" else values[picks[0]].dtype

    def form(i, wanted):
        return "v%d" % i if values[i].dtype == wanted else "tf.cast(v%d, %r)" % (i, wanted)

    if kind == "select":
        used = [index] + picks
        dims = np.broadcast(*[np.empty(values[i].dims) for i in used]).shape
        text = "tf.compat.v2.where(%s, %s, %s)" % (
            form(index, "bool"), form(picks[0], dtype), form(picks[1], dtype))
        return Step(text, dtype, dims, True)
    dims = np.broadcast(np.empty(x.dims), np.empty(values[picks[0]].dims)).shape
    operands = "%s, %s" % ("v%d" % index, form(picks[0], dtype))
    if dtype != "bool" and draw(st.integers(0, 3)) == 0:
        return Step("%s(%s)" % (draw(st.sampled_from(COMPARE)), operands), "bool", dims, True)
    op = draw(st.sampled_from([op for op, dtypes in BINARY.items() if dtype in dtypes]))
    return Step("%s(%s)" % (op, operands), dtype, dims, True)
