"""Kernels that differ in their numbers alone are compiled once."""
import ctypes

import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse import build
from tf_autofuse.build.numbers import exchange, shared_text
from tf_autofuse.build.process import run_tool
from tf_autofuse.codegen.host import print_host
from tf_autofuse.errors import BuildError
from tf_autofuse.runtime.host import load_kernel, run_host
from tf_autofuse.schedule import schedule

TEXT = """// of %(first)s
#include "numbers.h"
AUTOFUSE_NUMBERS(2, %(first)s, %(second)s)
extern "C" __attribute__((visibility("default"))) double at(int i) { return numbers.values[i]; }
"""
POINTS = np.linspace(-3, 3, 1000).astype(np.float32)


def text(first, second):
    return TEXT % {"first": float(first).hex(), "second": float(second).hex()}


def scaled(number):
    """The text of in0 * number + in0."""
    return print_host(schedule(samples.kernel(
        ["float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32",
        "%%1 = const %r : float32" % number, "%2 = mul %0 %1 : float32 [m0]",
        "%3 = add %2 %0 : float32 [m0]", "store out0 [m0] %3")))


def numbers_of(path):
    library = ctypes.CDLL(path)
    library.at.restype = ctypes.c_double
    return [library.at(i) for i in range(2)]


@pytest.fixture
def compilers(monkeypatch):
    """The commands that ran."""
    ran = []
    monkeypatch.setattr("tf_autofuse.build.toolchain.run_tool",
                        lambda *args, **more: ran.append(args[0]) or run_tool(*args, **more))
    return ran


def test_one_compile_serves_all(own_cache, compilers):
    pairs = [(1 / 3, 7), (0.25, 1e300), (5e-324, 1 / 3), (5, 5)]
    build.find_toolchain()
    del compilers[:]
    with build.HostBuilds() as builds:
        found = builds.results([(str(n), text(*pair)) for n, pair in enumerate(pairs)])
    assert len(compilers) == 1
    assert [numbers_of(found[str(n)]) for n in range(len(pairs))] == [list(p) for p in pairs]
    assert builds.results([("a", text(*pairs[0]))]) == {"a": found["0"]}  # stored like others


def test_results_are_those_of_a_text_of_its_own(own_cache, compilers):
    build.find_toolchain()
    del compilers[:]
    for number in (float(np.float32(1 / 7)), float(np.float32(1 / 36)), 49.0):
        library = build.compile_host_kernel(scaled(number), key="k")
        (found,) = run_host(library, [POINTS], [POINTS.size], None, [(POINTS.shape, "float32")])
        np.testing.assert_array_equal(found, POINTS * np.float32(number) + POINTS)
        load_kernel(library)
    assert len(compilers) == 1


@pytest.mark.parametrize("number", (0.5, 1.0, 2.0, 0.70710678, -3.0, 3.5))
def test_what_no_size_gives_is_part_of_the_code(number):
    source = scaled(float(np.float32(number)))
    assert shared_text(source) == (source, [])


def test_numbers_that_somebody_edited_are_part_of_the_code():
    for source in (text(1, 2) + text(3, 4), text(1, 2).replace("0x1", "one")):
        assert shared_text(source) == (source, [])


def test_a_library_without_a_single_place_is_refused():
    with pytest.raises(BuildError):
        exchange(b"\x7fELF", [1.0])


def test_an_error_names_the_kernel(own_cache):
    with pytest.raises(BuildError) as caught:
        build.compile_host_kernel(text(1 / 3, 3) + "int f() { return x; }", key="broken")
    assert caught.value.node == "broken" and "'x' was not declared" in caught.value.output
