"""Loop kernels that the tests of kernel IR, schedule and printers share, with data to run them."""
import numpy as np

from tf_autofuse.loop import interp
from tf_autofuse.loop.ir import Load
from tf_autofuse.loop.text import parse_loop


def kernel(inputs, outputs, axes, *lines):
    """A loop kernel from `in0: dtype` and `out0: dtype` lists and value lines."""
    text = ["loop {"]
    text += ["in%d: %s" % item for item in enumerate(inputs)]
    text += ["out%d: %s" % item for item in enumerate(outputs)]
    return parse_loop("\n".join(text + ["axes " + axes] + list(lines) + ["}"]))


def abs_relu_exp(dtype="float16"):
    """exp in float32 of max(|x|, 0) in the narrow type: one merged axis."""
    return kernel(
        [dtype], [dtype], "m0",
        "%0 = load in0 [m0] : " + dtype,
        "%1 = abs %0 : {} [m0]".format(dtype),
        "%2 = const 0.0 : " + dtype,
        "%3 = max %1 %2 : {} [m0]".format(dtype),
        "%4 = cast %3 : float32 [m0]",
        "%5 = exp %4 : float32 [m0]",
        "%6 = cast %5 : {} [m0]".format(dtype),
        "store out0 [m0] %6",
    )


def abs_add_relu(dims="m1"):
    """max(|x| + y, 0) with y broadcast: `dims` is the layout of y."""
    return kernel(
        ["float32", "float32"], ["float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [{}] : float32".format(dims),
        "%2 = abs %0 : float32 [m0, m1]",
        "%3 = add %2 %1 : float32 [m0, m1]",
        "%4 = const 0.0 : float32",
        "%5 = max %3 %4 : float32 [m0, m1]",
        "store out0 [m0, m1] %5",
    )


def reduction(axes, over, ops=("sum",), dtype="float32"):
    """Reductions of |x| over the axes `over`, one output each."""
    names = axes.split()
    kept = ", ".join(a for a in names if a not in over.split())
    full = ", ".join(names)
    lines = ["%0 = load in0 [{}] : {}".format(full, dtype),
             "%1 = abs %0 : {} [{}]".format(dtype, full)]
    for number, op in enumerate(ops):
        lines.append("%{} = reduce.{} %1 over {} : {} [{}]".format(
            number + 2, op, over, dtype, kept))
        lines.append("store out{} [{}] %{}".format(number, kept, number + 2))
    return kernel([dtype], [dtype] * len(ops), axes, *lines)


def softmax(over, axes="m0 m1"):
    """Softmax over `over`: three passes."""
    full = ", ".join(axes.split())
    kept = ", ".join(a for a in axes.split() if a not in over.split())
    return kernel(
        ["float32"], ["float32"], axes,
        "%0 = load in0 [{}] : float32".format(full),
        "%1 = reduce.max %0 over {} : float32 [{}]".format(over, kept),
        "%2 = sub %0 %1 : float32 [{}]".format(full),
        "%3 = exp %2 : float32 [{}]".format(full),
        "%4 = reduce.sum %3 over {} : float32 [{}]".format(over, kept),
        "%5 = div %3 %4 : float32 [{}]".format(full),
        "store out0 [{}] %5".format(full),
    )


def layer_norm(dtype="float32"):
    """(x - mean) * rsqrt(variance + eps) * gamma + beta along m1."""
    return kernel(
        [dtype] * 3, [dtype], "m0 m1",
        "%0 = load in0 [m0, m1] : " + dtype,
        "%1 = load in1 [m1] : " + dtype,
        "%2 = load in2 [m1] : " + dtype,
        "%3 = cast %0 : float32 [m0, m1]",
        "%4 = reduce.mean %3 over m1 : float32 [m0]",
        "%5 = sub %3 %4 : float32 [m0, m1]",
        "%6 = mul %5 %5 : float32 [m0, m1]",
        "%7 = reduce.mean %6 over m1 : float32 [m0]",
        "%8 = const 0.001 : float32",
        "%9 = add %7 %8 : float32 [m0]",
        "%10 = rsqrt %9 : float32 [m0]",
        "%11 = mul %5 %10 : float32 [m0, m1]",
        "%12 = cast %1 : float32 [m1]",
        "%13 = mul %11 %12 : float32 [m0, m1]",
        "%14 = cast %2 : float32 [m1]",
        "%15 = add %13 %14 : float32 [m0, m1]",
        "%16 = cast %15 : {} [m0, m1]".format(dtype),
        "store out0 [m0, m1] %16",
    )


def bias_gradient_and_loss():
    """A column sum, a full mean and an element-wise output of one input: three nests."""
    return kernel(
        ["float32"], ["float32", "float32", "float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = mul %0 %0 : float32 [m0, m1]",
        "%2 = reduce.sum %0 over m0 : float32 [m1]",
        "%3 = reduce.mean %1 over m0 m1 : float32 []",
        "store out0 [m1] %2",
        "store out1 [] %3",
        "store out2 [m0, m1] %1",
    )


def run_time_broadcast():
    """Operands whose broadcast only the shapes decide, a bool output and a select."""
    return kernel(
        ["float32", "float32", "uint8"], ["float32", "bool"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [m1?] : float32",
        "%2 = load in2 [m0?, m1?] : uint8",
        "%3 = cast %2 : float32 [m0, m1]",
        "%4 = add %0 %1 : float32 [m0, m1]",
        "%5 = gt %4 %3 : bool [m0, m1]",
        "%6 = select %5 %4 %3 : float32 [m0, m1]",
        "store out0 [m0, m1] %6",
        "store out1 [m0, m1] %5",
    )


def random_array(rng, shape, dtype):
    """Values of moderate size; bfloat16 as bits."""
    if dtype == "bool":
        return np.asarray(rng.uniform(size=shape) > 0.5)
    if dtype == "bfloat16":
        return interp.encode(np.asarray(rng.normal(size=shape), np.float32), dtype)
    if dtype.startswith("float"):
        return np.asarray(rng.normal(size=shape)).astype(dtype)
    low = 0 if dtype.startswith("u") else -100
    return np.asarray(rng.randint(low, 100, size=shape)).astype(dtype)


def make_inputs(loop, sizes, narrow=(), seed=0):
    """Input arrays and run-time table; `narrow` inputs have size 1 where they may."""
    rng = np.random.RandomState(seed)
    arrays, tables = {}, {}
    for value in loop.body:
        if not isinstance(value, Load) or value.input in arrays:
            continue
        if value.input >= len(loop.inputs):
            continue
        shape = [1 if dim.maybe and value.input in narrow else sizes[dim.axis]
                 for dim in value.dims]
        arrays[value.input] = random_array(rng, shape, value.dtype)
        if any(dim.maybe for dim in value.dims):
            strides, pitch = dict.fromkeys(loop.sized_axes, 0), 1
            for dim, size in reversed(list(zip(value.dims, shape))):
                strides[dim.axis] = pitch if size != 1 else 0
                pitch *= size
            tables[value.input] = [strides[axis] for axis in loop.sized_axes] + [0]
    table = [stride for number in sorted(tables) for stride in tables[number]]
    return [arrays[i] for i in range(len(loop.inputs))], table or None


def sizes_of(loop, *sizes):
    """Axis name to size, in axis order."""
    return dict(zip(loop.sized_axes, sizes))


def assert_close(got, want, dtype, rtol, atol=None):
    """Equal up to `rtol`, near zero `atol`; narrow floats up to two units; the rest exactly."""
    got, want = interp.decode(got, dtype), interp.decode(want, dtype)
    assert got.shape == want.shape
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    rtol = max(rtol, {"float16": 2e-3, "bfloat16": 1.6e-2}.get(dtype, 0.0))
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol,
                               atol=rtol * 1e-3 if atol is None else atol)
