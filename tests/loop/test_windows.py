"""Windows against numpy: what they take, and where it lies."""
import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from tf_autofuse.loop.windows import Window, parse_windows, walk  # noqa: E402


def _window(fields):
    return Window(*fields)


def windows():
    ends = st.one_of(st.none(), st.integers(-9, 9))
    steps = st.integers(-3, 3).filter(bool)
    return st.one_of(
        st.builds(Window, st.just("slice"), ends, ends, steps),
        st.tuples(st.just("pad"), st.integers(0, 4), st.integers(0, 4)).map(_window),
        st.tuples(st.just("part"), st.integers(0, 1), st.just(2)).map(_window),
        st.tuples(st.just("from"), st.integers(0, 4),
                  st.one_of(st.none(), st.integers(0, 4))).map(_window),
        st.tuples(st.just("pick"), st.integers(-4, 4)).map(_window),
    )


def apply(points, window):
    """The coordinates that a window leaves, -1 where it pads; ValueError as `walk`."""
    size = len(points)
    if window.kind == "slice":
        return points[window.first:window.last:window.step]
    if window.kind == "part":
        if size % window.last:
            raise ValueError
        return np.split(points, window.last)[window.first]
    if window.kind == "from":
        count = size - window.first if window.last is None else window.last
        if count < 0 or window.first + count > size:
            raise ValueError
        return points[window.first:window.first + count]
    if window.kind == "pick":
        if not -size <= window.first < size:
            raise ValueError
        return points[[window.first]]
    return np.pad(points, (window.first, window.last), "constant", constant_values=-1)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 7), st.lists(windows(), max_size=3))
def test_a_walk_is_what_numpy_takes(size, chain):
    pads = [number for number, window in enumerate(chain) if window.kind == "pad"]
    # Behind a second padding the points inside need not be neighbours any more.
    chain = [window for number, window in enumerate(chain) if number in pads[:1] or
             number not in pads]
    points = np.arange(size)
    try:
        for window in chain:
            points = apply(points, window)
    except ValueError:
        with pytest.raises(ValueError):
            walk(size, chain)
        return
    found = walk(size, chain)
    first, last = found.inside
    got = [found.start + found.step * i if first <= i < last else -1 for i in range(found.size)]
    assert got == list(points)


@given(st.lists(windows(), max_size=3))
def test_text_is_read_back(chain):
    assert list(parse_windows("".join(map(str, chain)))) == chain


@pytest.mark.parametrize("text", ["[", "[]", "[1:2]", "[1-2]", "[a]", "1:2:1"])
def test_text_that_is_no_window(text):
    with pytest.raises(ValueError):
        parse_windows(text)
