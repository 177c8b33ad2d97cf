"""The accuracy rule: a fused result is never less accurate than TensorFlow's own.

Against a float64 reference its error is at most TensorFlow's, or one unit in the last place of the
output type, whichever is larger. NaN, infinities and signs of zero are those of TensorFlow. The
reference of float64 is in longdouble (reference.py).
"""
import numpy as np


def to_float64(array, dtype):
    """Any array of a test as float64; bfloat16 arrives as the type TensorFlow gives it."""
    return np.asarray(array).astype(np.float32).astype(np.float64) if (
        dtype == "bfloat16"
    ) else np.asarray(array).astype(np.float64)


def ulp(values, dtype):
    """Distance of `values` (float64) to the next number of `dtype`."""
    bits, lowest = {"float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133),
                    "float64": (53, -1074)}[dtype]
    exponent = np.floor(np.log2(np.maximum(np.abs(values), 2.0 ** -1000)))
    return np.exp2(np.maximum(exponent - (bits - 1), lowest))


def assert_as_accurate(got, expected, reference, dtype, zero_signs=True, composed=False):
    """`expected` is TensorFlow's result, `reference` the float64 one; ints and bools are equal.

    `composed` is for graphs of several rounding operators. There either side may be luckier in one
    element, so where the rule does not hold for all of them it is held by the whole tensor: root
    mean square and largest error.
    """
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    if dtype not in ("float64", "float32", "float16", "bfloat16"):
        np.testing.assert_array_equal(got, expected)
        return
    # A graph of which there is no wider form: TensorFlow's own result is all there is.
    alone = dtype == "float64" and np.asarray(reference).dtype != np.longdouble
    reference = np.asarray(expected if alone else reference)
    got, expected = to_float64(got, dtype), to_float64(expected, dtype)
    # Where TensorFlow's NaN or infinity is its own slip (a running sum that overflowed, sqrt(inf)
    # of TF 2.6), the exact result may be given.
    slips = np.isnan(expected) & ~np.isnan(reference)
    np.testing.assert_array_equal(np.isnan(got)[~slips], np.isnan(expected)[~slips])
    finite = np.isfinite(got) & np.isfinite(expected) & np.isfinite(reference)
    same_infinity = (got == expected) | finite | np.isnan(got) | (got == reference)
    closer = np.isfinite(got) & ~np.isfinite(expected) & np.isfinite(reference)
    assert np.all(same_infinity | closer), "infinities differ"
    error, theirs = np.abs(got - reference), np.abs(expected - reference)
    if alone:
        theirs = 4 * ulp(reference, dtype)
    elif dtype == "float64":
        # The reference has no other author than the kernel: it has to be TensorFlow's meaning.
        scale = np.max(np.abs(expected[finite]), initial=0.0) if composed else np.abs(expected)
        assert np.all((theirs <= 1e-9 * scale + 1e-300)[finite]), "another meaning"
    if composed:
        _assert_composed(error[finite], theirs[finite], reference[finite], dtype)
        return
    allowed = np.maximum(theirs, ulp(reference, dtype)) * (1 + 1e-12)
    bad = finite & (error > allowed)
    assert not bad.any(), "%d of %d too far off: got %r, TensorFlow %r, exact %r" % (
        bad.sum(), bad.size, got[bad][:3], expected[bad][:3], reference[bad][:3]
    )
    if not zero_signs:
        return
    # The sign of what underflows is that of the exact result, which TensorFlow may lose.
    exact_sign = (reference != 0) & (np.signbit(got) == np.signbit(reference))
    zeros = finite & (got == 0) & (expected == 0) & ~exact_sign
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


def _assert_composed(error, theirs, reference, dtype):
    if np.all(error <= np.maximum(theirs, ulp(reference, dtype))):
        return
    unit = ulp(np.max(np.abs(reference), initial=0.0), dtype)
    ours_rms, their_rms = (np.sqrt(np.mean(e * e)) for e in (error, theirs))
    assert ours_rms <= 1.02 * their_rms + 0.02 * unit, (ours_rms, their_rms)
    assert error.max() <= 2 * theirs.max() + unit, (error.max(), theirs.max())
