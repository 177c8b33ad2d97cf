"""The real and integer functions of csrc/host against their numpy meanings."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import EDGES, one_op, run

from tf_autofuse.loop import interp
from tf_autofuse.loop.functions import INT_FUNCTIONS, REAL_FUNCTIONS
from tf_autofuse.loop.ops import INTS
from tf_autofuse.loop.special import special_functions
from tf_autofuse.runtime.host import KernelRunError

# Sin and its kin of huge arguments are the C library's affair; the special functions, of which
# neither side is exact, are compared with mpmath in test_host_special.py.
PLAIN = sorted(set(REAL_FUNCTIONS) - set(special_functions(np.abs)))
UNARY = [name for name in PLAIN if REAL_FUNCTIONS[name][0] == 1]
BINARY = [name for name in PLAIN if REAL_FUNCTIONS[name][0] == 2]

# These are evaluated in float32 (csrc/host/float_math.h), the others in double and rounded once.
IN_FLOAT32 = "exp expm1 tanh sigmoid log log1p softplus rsqrt erf erfc elu".split()
TWO_ROUNDINGS = "tanh_grad sigmoid_grad".split()  # of float32; y * y has to fit


def sweep(dtype, count=20000):
    """Special values and random ones over the whole range, dense around 0 and 1."""
    rng = np.random.RandomState(7)
    with np.errstate(over="ignore"):
        return np.concatenate([
            EDGES, rng.uniform(-1, 1, count), rng.uniform(-12, 12, count),
            rng.uniform(-110, 110, count), rng.normal(1, 1e-2, count),
            np.exp(rng.uniform(-80, 80, count)) * rng.choice([-1, 1], count),
        ]).astype(dtype)


def check(op, dtype, *arrays, units):
    got = run(one_op(op, dtype, dtype, len(arrays)), *arrays)
    with np.errstate(all="ignore"):
        exact = REAL_FUNCTIONS[op][1](*[a.astype(np.float64) for a in arrays])
        want = exact.astype(dtype)
    normal = np.isfinite(want) & (np.abs(want) >= np.finfo(dtype).tiny)
    tiny = np.abs(want) < np.finfo(dtype).tiny
    np.testing.assert_array_equal(got[~normal & ~tiny], want[~normal & ~tiny])
    flushed = (got[tiny] == 0) | (np.abs(got[tiny] - want[tiny]) <= np.finfo(dtype).tiny * 1e-6)
    assert np.all(flushed)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))
    error = np.abs(got[normal] - exact[normal]) / np.spacing(np.abs(want[normal]))
    worst = error.argmax()
    assert error[worst] <= units, [a[normal][worst] for a in arrays]


@pytest.mark.parametrize("op", UNARY)
def test_float32_function_of_one_operand(op):
    x = sweep("float32")
    if op in ("lgamma", "digamma"):
        x = x[np.abs(x) < 1e30]
    check(op, "float32", x, units=1.0 if op in IN_FLOAT32 else 0.51)


@pytest.mark.parametrize("op", BINARY)
def test_float32_function_of_two_operands(op):
    x = sweep("float32", 4000)
    y = np.random.RandomState(9).permutation(x)
    grid = np.meshgrid(np.array(EDGES, np.float32), np.array(EDGES, np.float32))
    x, y = np.concatenate([x, grid[0].ravel()]), np.concatenate([y, grid[1].ravel()])
    if op in TWO_ROUNDINGS:
        fits = ~(np.abs(x) > 1e15)
        x, y = x[fits], y[fits]
    check(op, "float32", x, y, units=1.5 if op in TWO_ROUNDINGS else 0.51)


@pytest.mark.parametrize("op", UNARY)
def test_float64_function_of_one_operand(op):
    x = sweep("float64", 5000)
    if op in ("lgamma", "digamma"):
        x = x[(x > 3) & (x < 1e30)]
    check(op, "float64", x, units=2 if op not in ("erfinv", "ndtri", "lgamma", "digamma") else 40)


@pytest.mark.parametrize("dtype", sorted(INTS))
@pytest.mark.parametrize("op", sorted(INT_FUNCTIONS) + ["count_bits"])
def test_integer_function(op, dtype):
    info, rng = np.iinfo(dtype), np.random.RandomState(11)
    some = [info.min, info.min + 1, 0, 1, 2, 3, 7, 31, 33, info.max - 1, info.max]
    some = np.array(some + ([-1, -2, -9] if info.min < 0 else []), dtype)
    a, b = [grid.ravel().copy() for grid in np.meshgrid(some, some)]
    more = rng.randint(max(info.min, -1000), min(info.max, 1000), (2, 3000)).astype(dtype)
    a, b = np.concatenate([a, more[0]]), np.concatenate([b, more[1]])
    if op in ("trunc_div", "trunc_mod", "floor_div", "int_floor_mod"):
        b[b == 0] = 1
    if op == "int_pow":
        b = np.where(b < 0, 0, b % 50).astype(dtype)
    arrays = [a, b][:INT_FUNCTIONS.get(op, (1, None))[0]]
    loop = one_op(op, dtype, "uint8" if op == "count_bits" else dtype, len(arrays))
    with np.errstate(over="ignore"):
        want = interp.run(loop, arrays, {"m0": len(a)})[0]
    np.testing.assert_array_equal(run(loop, *arrays), want)


@pytest.mark.parametrize("bad", [None, 0, 77, 999])
def test_a_requirement_that_is_not_met_fails_the_kernel(bad):
    loop = samples.kernel(
        ["float32", "float32"], ["float32"], "m0",
        "%0 = load in0 [m0] : float32",
        "%1 = load in1 [m0] : float32",
        "%2 = lt %0 %1 : bool [m0]",
        "%3 = require %2 %0 : float32 [m0]",
        "store out0 [m0] %3",
    )
    x = np.arange(1000, dtype=np.float32)
    y = x + 1
    if bad is None:
        np.testing.assert_array_equal(run(loop, x, y), x)
        np.testing.assert_array_equal(interp.run(loop, [x, y], {"m0": 1000})[0], x)
        return
    y[bad] = -1
    with pytest.raises(KernelRunError, match="valid range"):
        run(loop, x, y)
    with pytest.raises(IndexError):
        interp.run(loop, [x, y], {"m0": 1000})
