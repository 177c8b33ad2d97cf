"""Infer-shape functions: built with g++ and asked for shapes, known and unknown."""
import ctypes
import subprocess

import kernel_samples as samples
import pytest

from tf_autofuse.codegen.infershape import print_infer_shape
from tf_autofuse.errors import ScheduleError


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int64), ("dims", ctypes.c_int64 * 8)]


def build(spec, loop, folder):
    """(infer_shape, infer_dtype) of a spec: shapes to (code, shapes), and the types."""
    text = print_infer_shape(spec, loop, "sample")
    source, library = folder / "infer.cpp", folder / "infer.so"
    source.write_text('extern "C" {\n' + text + "}\n")
    subprocess.check_call(["g++", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(library),
                           str(source)])
    loaded = ctypes.CDLL(str(library))
    outputs = len(loop.outputs)

    def infer(*shapes):
        given = (Shape * len(shapes))()
        for slot, shape in zip(given, shapes):
            slot.rank = len(shape)
            slot.dims[:len(shape)] = shape
        found = (Shape * outputs)()
        code = loaded.sample_infer_shape(given, found)
        return code, [tuple(s.dims[:s.rank]) for s in found] if code == 0 else []

    types = (ctypes.c_int32 * outputs)()
    loaded.sample_infer_dtype(types)
    return infer, list(types)


def test_shapes_follow_the_spec(tmp_path):
    loop = samples.run_time_broadcast()
    infer, types = build("v1;axes=2;groups=0,1;in=0.1/1?/0?.1?;out=0.1/-.1;", loop, tmp_path)
    assert types == [0, 12]
    assert infer((5, 9), (9,), (5, 9)) == (0, [(5, 9), (1, 9)])
    assert infer((5, 9), (1,), (1, 1)) == (0, [(5, 9), (1, 9)])
    assert infer((-1, 9), (1,), (5, 9)) == (0, [(5, 9), (1, 9)])
    assert infer((-1, -1), (-1,), (1, 1)) == (0, [(-1, -1), (1, -1)])
    assert infer((5, 9), (8,), (5, 9))[0] == 2
    assert infer((5, 9), (1, 9), (5, 9))[0] == 1


def test_an_axis_of_maybe_dims(tmp_path):
    loop = samples.kernel(["float32"] * 2, ["float16"], "m0", "%0 = load in0 [m0?] : float32",
                          "%1 = load in1 [m0?] : float32", "%2 = add %0 %1 : float32 [m0]",
                          "%3 = cast %2 : float16 [m0]", "store out0 [m0] %3")
    infer, types = build("v1;axes=1;groups=0;in=0?/0?;out=0;", loop, tmp_path)
    assert types == [1]
    assert infer((1,), (7,)) == (0, [(7,)])
    assert infer((1,), (1,)) == (0, [(1,)])
    assert infer((0,), (1,)) == (0, [(0,)])
    assert infer((-1,), (1,)) == (0, [(-1,)])
    assert infer((3,), (7,))[0] == 2


def test_guests_do_not_tell_an_axis(tmp_path):
    infer, _ = build("v1;axes=2;groups=0,1;in=0.1/1!/0!.1?;out=0.1/-.1;",
                     samples.run_time_broadcast(), tmp_path)
    assert infer((5, 1), (9,), (1, 1)) == (0, [(5, 1), (1, 1)])
    assert infer((5, -1), (9,), (1, 1)) == (0, [(5, -1), (1, -1)])


def test_a_fixed_axis_of_maybe_dims(tmp_path):
    spec = "v1;axes=1;groups=0;fixed=0:2;in=0?/0?;out=0;"
    infer, _ = build(spec, samples.abs_add_relu(), tmp_path)
    assert infer((1,), (1,)) == infer((2,), (1,)) == infer((-1,), (1,)) == (0, [(2,)])
    assert infer((3,), (1,))[0] == 2


def test_parts_of_dims(tmp_path):
    loop = samples.abs_relu_exp("float32")
    dims = "0[1:-1:2].1[::-1].2[1of3].-[-2].-[1+1]"
    spec = "v1;axes=4;groups=0,1,2,3;fixed=3:6;in=%s;out=0.1.2.3;" % dims
    infer, _ = build(spec, loop, tmp_path)
    assert infer((8, 5, 9, 4, 3)) == (0, [(3, 5, 3, 6)])
    assert infer((1, 0, 0, 2, 2)) == (0, [(0, 0, 0, 6)])
    assert infer((-1, 5, -1, -1, -1)) == (0, [(-1, 5, -1, 6)])
    assert infer((8, 5, 8, 4, 3))[0] == 2
    assert infer((8, 5, 9, 1, 3))[0] == 2
    assert infer((8, 5, 9, 4, 1))[0] == 2


def test_specs_that_cannot_be_read_are_refused():
    with pytest.raises(ScheduleError, match="cannot be read"):
        print_infer_shape("v2;axes=1", samples.abs_relu_exp(), "sample")


def test_products_of_axes(tmp_path):
    loop = samples.kernel(["float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32",
                          "store out0 [m0] %0")
    infer, _ = build("v1;axes=3;groups=0,0,0;fixed=2:4;in=0.1*2;out=0*1.2;", loop, tmp_path)
    assert infer((5, 12)) == (0, [(15, 4)])
    assert infer((-1, 12)) == (0, [(-1, 4)])
    assert infer((0, 12)) == (0, [(0, 4)])
    assert infer((5, 13))[0] == 2
    folder = tmp_path / "other"
    folder.mkdir()
    infer, _ = build("v1;axes=2;groups=0,0;in=0*1/0.1;out=1.0;", loop, folder)
    assert infer((12,), (3, 4)) == (0, [(4, 3)])
    assert infer((12,), (-1, 4)) == (0, [(4, 3)])
    assert infer((13,), (3, 4))[0] == 2
