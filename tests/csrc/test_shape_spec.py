"""The C++ shape spec: reading its text and evaluating it."""

import ctypes
import os

import pytest

from tf_autofuse import paths
from tf_autofuse.build.toolchain import find_toolchain, run_tool
from tf_autofuse.errors import AutofuseError
from tf_autofuse.runtime.spec_text import SpecText

HERE = os.path.dirname(os.path.abspath(__file__))
CORE = os.path.join(paths.csrc_dir(), "core")


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("probe") / "probe.so")
    command = list(find_toolchain().command) + [
        "-std=c++14", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I" + CORE,
        os.path.join(HERE, "shape_spec_probe.cc"), os.path.join(CORE, "shape_spec.cc"),
        os.path.join(CORE, "windows.cc"),
        "-o", path,
    ]
    output, code = run_tool(command, 120.0)
    assert code == 0, output
    return ctypes.CDLL(path)


def parse(probe, text):
    """Counts (axes, merged axes, strides, input dims, output dims); ValueError if refused."""
    counts = (ctypes.c_int64 * 5)()
    error = ctypes.create_string_buffer(512)
    if probe.probe_parse(text.encode(), counts, error):
        raise ValueError(error.value.decode())
    return list(counts)


def evaluate(probe, text, *shapes):
    """(axis sizes, merged sizes, strides, output dims); ValueError on a mismatch."""
    counts = parse(probe, text)
    flat = [size for shape in shapes for size in shape]
    assert len(flat) == counts[3]
    results = [(ctypes.c_int64 * counts[i])() for i in (0, 1, 2, 4)]
    error = ctypes.create_string_buffer(512)
    given = (ctypes.c_int64 * len(flat))(*flat)
    if probe.probe_evaluate(text.encode(), given, *results, error):
        raise ValueError(error.value.decode())
    return tuple(list(result) for result in results)


WHOLE = "v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/0.1/s;out=0.1.2/0.1/s;"


def test_counts(probe):
    assert parse(probe, WHOLE) == [3, 2, 0, 8, 5]
    assert parse(probe, "v1;axes=2;groups=0,1;in=0?.1/0.1/1?;out=0.1;") == [2, 2, 6, 5, 2]
    assert parse(probe, "v1;axes=0;groups=;in=;out=s;") == [0, 0, 0, 0, 0]


def test_sizes_and_outputs(probe):
    result = evaluate(probe, WHOLE, (2, 3, 4), (1, 1, 4), (2, 3), ())
    assert result == ([2, 3, 4], [6, 4], [], [2, 3, 4, 2, 3])


def test_always_one_in_an_output(probe):
    text = "v1;axes=2;groups=0,1;in=0.1;out=0.-;"
    assert evaluate(probe, text, (5, 0)) == ([5, 0], [5, 0], [], [5, 1])


@pytest.mark.parametrize(
    "shapes, sizes, strides",
    [
        (((3, 4), (3, 4)), [3, 4], [4, 1, 0, 4, 1, 0]),
        (((3, 1), (1, 4)), [3, 4], [1, 0, 0, 0, 1, 0]),
        (((1, 1), (3, 4)), [3, 4], [0, 0, 0, 4, 1, 0]),
        (((1, 1), (1, 1)), [1, 1], [0, 0, 0, 0, 0, 0]),
        (((1, 4), (0, 1)), [0, 4], [0, 1, 0, 1, 0, 0]),
    ],
)
def test_run_time_broadcast(probe, shapes, sizes, strides):
    text = "v1;axes=2;groups=0,1;in=0?.1?/0?.1?;out=0.1;"
    assert evaluate(probe, text, *shapes) == (sizes, sizes, strides, sizes)


def test_strides_of_inputs_that_may_broadcast_only(probe):
    """Merged axes take the stride of their innermost axis; the plain input has no strides."""
    text = "v1;axes=4;groups=0,1,1,2;in=0?.1.2.3/0.1.2.3/3?;out=0.1.2.3;"
    _, merged, strides, _ = evaluate(probe, text, (1, 3, 4, 5), (2, 3, 4, 5), (5,))
    assert merged == [2, 12, 5]
    assert strides == [0, 5, 1, 0] + [0, 0, 1, 0]


PARTS = [
    ("v1;axes=2;groups=0,1;in=1.0;out=0.1;", [(3, 4)]),
    ("v1;axes=2;groups=0,0;in=0[1:-1:1].1;out=0.1;", [(5, 4)]),
    ("v1;axes=2;groups=0,1;in=0[::-2].1[-3::1]/1.0;out=0.1;", [(5, 4), (3, 3)]),
    ("v1;axes=1;groups=0;in=-[-2].0.-[1];out=0;", [(5, 4, 3)]),
    ("v1;axes=2;groups=0,1;in=0[1of3].1[2+];out=0.1;", [(6, 7)]),
    ("v1;axes=1;groups=0;in=0[2+3][::-1];out=0;", [(9,)]),
    ("v1;axes=2;groups=0,1;in=0[1|2].1[0|3]/0;out=0.1;", [(4, 2), (7,)]),
    ("v1;axes=1;groups=0;in=0[2|1][1:-1:1];out=0;", [(4,)]),
    ("v1;axes=1;groups=0;in=0[2|1][::-1];out=0;", [(4,)]),
    ("v1;axes=1;groups=0;in=0[5|5][3:-2:4];out=0;", [(4,)]),
    ("v1;axes=1;groups=0;in=0[3:1:1];out=0;", [(4,)]),
    ("v1;axes=1;groups=0;in=0[-9:9:1][7:-9:-3];out=0;", [(4,)]),
    ("v1;axes=2;groups=0,1;fixed=1:7;in=0;out=0.1;", [(4,)]),
    ("v1;axes=2;groups=0,1;inside=0:2:3,1:0:1;in=0[2|3].1;out=0.1;", [(4, 6)]),
]


@pytest.mark.parametrize("text, shapes", PARTS)
def test_both_languages_read_parts_alike(probe, text, shapes):
    want = SpecText.parse(text).bind(shapes)
    _, merged, strides, outputs = evaluate(probe, text, *shapes)
    assert merged == want.sizes and strides == want.strides
    assert outputs == [size for shape in want.outputs for size in shape]


@pytest.mark.parametrize("dim, size", [("0[1of3]", 4), ("0[2+3]", 4), ("0[5+]", 4)])
def test_parts_that_do_not_fit(probe, dim, size):
    text = "v1;axes=1;groups=0;in=%s;out=0;" % dim
    with pytest.raises(ValueError, match="input 0 has size 4"):
        evaluate(probe, text, (size,))
    with pytest.raises(AutofuseError, match="input 0 dim 0"):
        SpecText.parse(text).bind([(size,)])


@pytest.mark.parametrize("guest", [0, 1, 3, 7])
@pytest.mark.parametrize("host", [0, 1, 3])
@pytest.mark.parametrize("row", [0, 2])
def test_guests_do_not_tell_the_size(probe, guest, host, row):
    """A larger one fits only where nothing is read."""
    text = "v1;axes=2;groups=0,1;in=0!.1/0?/1;out=0.1;"
    shapes = (guest, row), (host,), (row,)
    if guest in (1, host) or (host == 1 and 0 in (row, host)):
        want = SpecText.parse(text).bind(shapes)
        _, merged, strides, outputs = evaluate(probe, text, *shapes)
        assert merged == want.sizes == [host, row] and strides == want.strides
        assert outputs == [host, row]
        return
    with pytest.raises(ValueError, match="input 0 has size %d in dimension 0" % guest):
        evaluate(probe, text, *shapes)
    with pytest.raises(AutofuseError, match="input 0 dim 0"):
        SpecText.parse(text).bind(shapes)


def test_guests_alone_are_no_axis(probe):
    with pytest.raises(ValueError, match="no input has axis 0"):
        parse(probe, "v1;axes=1;groups=0;in=0!;out=0;")


def test_an_element_that_is_not_there(probe):
    text = "v1;axes=1;groups=0;in=0.-[-5];out=0;"
    with pytest.raises(ValueError, match="out of bounds"):
        evaluate(probe, text, (2, 4))


@pytest.mark.parametrize("dim", ["0[", "0[]", "0[::0]", "0[1:2]", "0[1of]", "0[-1|2]", "0[1+2]?"])
def test_windows_that_cannot_be_read(probe, dim):
    with pytest.raises(ValueError, match="position"):
        parse(probe, "v1;axes=1;groups=0;in=%s;out=0;" % dim)


def test_plain_dimensions_decide_the_size(probe):
    text = "v1;axes=1;groups=0;in=0?/0;out=0;"
    assert evaluate(probe, text, (1,), (7,))[0] == [7]
    assert evaluate(probe, text, (1,), (1,))[0] == [1]
    with pytest.raises(ValueError, match="input 0 has size 7 in dimension 0, expected 1 or 1"):
        evaluate(probe, text, (7,), (1,))


@pytest.mark.parametrize(
    "shapes, message",
    [
        (((2, 3, 4), (1, 1, 4), (2, 5), ()), "input 2 has size 5 in dimension 1, expected 3"),
        (((2, 3, 4), (1, 2, 4), (2, 3), ()), "input 1 has size 2 in dimension 1, expected 1"),
        (((2, 3, 0), (1, 1, 4), (2, 3), ()), "input 1 has size 4 in dimension 2, expected 0"),
    ],
)
def test_mismatch(probe, shapes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(probe, WHOLE, *shapes)


def test_products(probe):
    text = "v1;axes=3;groups=0,1,1;fixed=2:64;in=0.1*2;out=0.1.2/0*1.2;"
    result = evaluate(probe, text, (5, 192))
    assert result == ([5, 3, 64], [5, 192], [], [5, 3, 64, 15, 64])
    assert evaluate(probe, text, (5, 0))[0] == [5, 0, 64]
    with pytest.raises(ValueError, match="input 0 has size 100 in dimension 1, expected 64"):
        evaluate(probe, text, (5, 100))


def test_a_product_tells_what_the_next_one_needs(probe):
    text = "v1;axes=3;groups=0,0,0;in=0*1/1*2/2;out=0.1.2;"
    assert evaluate(probe, text, (6,), (12,), (4,))[0] == [2, 3, 4]
    with pytest.raises(ValueError, match="do not tell the size of axis 0"):
        evaluate(probe, text, (0,), (0,), (4,))


@pytest.mark.parametrize(
    "text, message",
    [
        ("v1;axes=1;groups=0;in=0*0;out=0;", "axis used twice"),
        ("v1;axes=2;groups=0,1;in=0*1.0;out=0;", "axis used twice"),
        ("v1;axes=2;groups=0,1;fixed=2:3;in=0*1;out=0;", "axis out of range"),
        ("v1;axes=2;groups=0,1;fixed=1;in=0*1;out=0;", "expected ':'"),
        ("v1;axes=3;groups=0,1,2;in=0*1.2?/0.1.2;out=0;", "must not have a product"),
        ("", "expected 'v1;axes=' at position 0"),
        ("v2;axes=0;groups=;in=;out=s;", "expected 'v1;axes='"),
        ("v1;axes=1;groups=0;in=0;out=0", "expected ';' at position 29"),
        ("v1;axes=1;groups=0;in=0;out=0;x", "unexpected text"),
        ("v1;axes=1;groups=1;in=0;out=0;", "merged axis out of range"),
        ("v1;axes=2;groups=0;in=0.1;out=0;", "expected ','"),
        ("v1;axes=1;groups=0;in=1;out=0;", "axis out of range"),
        ("v1;axes=1;groups=0;in=0.0;out=0;", "axis used twice"),
        ("v1;axes=1;groups=0;in=0.;out=0;", "expected a number"),
        ("v1;axes=9999999999;groups=;in=;out=s;", "number too large"),
        ("v1;axes=1;groups=0;in=s;out=0;", "no input has axis 0"),
        ("v1;axes=1;groups=0;in=0;out=0?;", "an output dimension cannot have"),
        ("v1;axes=2;groups=0,0;in=0?.1;out=0.1;", "axis 0 may broadcast and must not be merged"),
        ("v1;axes=3;groups=0,2,2;in=0.1.2;out=0;", "merged axis 1 is empty"),
    ],
)
def test_damaged_text_is_refused(probe, text, message):
    with pytest.raises(ValueError, match=message):
        parse(probe, text)


def test_headers_of_the_interface_are_c(tmp_path):
    source = tmp_path / "user.c"
    source.write_text('#include "kernel_abi.h"\nAutofuseTiling tiling;\n')
    command = list(find_toolchain().command) + [
        "-x", "c", "-std=c99", "-pedantic-errors", "-I" + CORE, "-c", str(source),
        "-o", str(tmp_path / "user.o"),
    ]
    output, code = run_tool(command, 60.0)
    assert code == 0, output
