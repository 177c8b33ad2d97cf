"""Kernels that are alike get one order; what they compute stays."""
import random
from dataclasses import replace

import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.loop import interp
from tf_autofuse.loop.canonical import in_canonical_order
from tf_autofuse.loop.ir import Load, Map, renamed
from tf_autofuse.loop.lower import LoweredKernel
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.loop.verify import verify

TWO_HALVES = samples.kernel(
    ["float32"] * 6, ["float32"] * 3, "m0 m1", "%0 = load in0 [m0, m1] : float32",
    "%1 = load in1 [m1] : float32", "%2 = load in2 [m1] : float32",
    "%3 = load in3 [m0, m1] : float32", "%4 = load in4 [m1] : float32",
    "%5 = load in5 [m1] : float32", "%6 = mul %0 %1 : float32 [m0, m1]",
    "%7 = sub %6 %2 : float32 [m0, m1]", "%8 = mul %3 %4 : float32 [m0, m1]",
    "%9 = sub %8 %5 : float32 [m0, m1]", "%10 = add %7 %9 : float32 [m0, m1]",
    "%11 = reduce.sum %7 over m0 : float32 [m1]", "%12 = reduce.sum %9 over m0 : float32 [m1]",
    "store out0 [m0, m1] %10", "store out1 [m1] %11", "store out2 [m1] %12")
KERNELS = (TWO_HALVES, samples.abs_add_relu("m1"), samples.softmax("m1"),
           samples.bias_gradient_and_loss())


def lowered(loop):
    return LoweredKernel(loop, tuple(("x%d" % n, 0) for n in range(len(loop.inputs))),
                         tuple(("y%d" % n, 0) for n in range(len(loop.outputs))), ())


def shuffled(kernel, seed):
    """The same under other numbers: of inputs, outputs and values, and operands the other way."""
    loop, rng = kernel.kernel, random.Random(seed)
    ins, outs = list(range(len(loop.inputs))), list(range(len(loop.outputs)))
    rng.shuffle(ins)
    rng.shuffle(outs)
    waiting, body, names = list(loop.body), [], {}
    while waiting:
        ready = [v for v in waiting if all(name in names for name in v.args)]
        value = rng.choice(ready)
        waiting.remove(value)
        names[value.name] = str(len(names))
        if isinstance(value, Load):
            value = replace(value, input=ins.index(value.input))
        if isinstance(value, Map) and value.op in ("add", "mul") and rng.random() < 0.5:
            value = replace(value, operands=value.operands[::-1])
        body.append(renamed(value, names))
    stores = [replace(s, output=outs.index(s.output), value=names[s.value]) for s in loop.stores]
    made = replace(
        loop, body=tuple(body), stores=tuple(sorted(stores, key=lambda s: s.output)),
        inputs=tuple(replace(loop.inputs[old], name="in%d" % n) for n, old in enumerate(ins)),
        outputs=tuple(replace(loop.outputs[old], name="out%d" % n) for n, old in enumerate(outs)))
    return LoweredKernel(made, tuple(kernel.inputs[old] for old in ins),
                         tuple(kernel.outputs[old] for old in outs), kernel.sizes)


def results(kernel):
    loop = kernel.kernel
    sizes = dict(zip(loop.axes, (6, 5, 4)))
    arrays = []
    for ref, param in zip(kernel.inputs, loop.inputs):
        number = int(ref[0][1:])
        load = next(v for v in loop.body if isinstance(v, Load)
                    and loop.inputs[v.input].name == param.name)
        shape = [sizes[dim.axis] for dim in load.dims]
        arrays.append(np.random.RandomState(number).rand(*shape).astype(param.dtype))
    return dict(zip(kernel.outputs, interp.run(loop, arrays, sizes)))


@pytest.mark.parametrize("loop", KERNELS)
def test_one_order_for_all_orders(loop):
    first = in_canonical_order(lowered(loop))
    verify(first.kernel)
    assert parse_loop(print_loop(first.kernel)) == first.kernel
    expected = results(lowered(loop))
    for seed in range(12):
        other = in_canonical_order(shuffled(lowered(loop), seed))
        assert print_loop(other.kernel) == print_loop(first.kernel)
        found = results(other)
        assert found.keys() == expected.keys()
        for ref in found:
            np.testing.assert_array_equal(found[ref], expected[ref])


def test_numbers_do_not_change_the_order():
    text = print_loop(TWO_HALVES).replace("load in4 [m1]", "const NUMBER")
    text = text.replace("in5", "in4").replace("  in4: float32\n  in4", "  in4")
    orders = set()
    for number in ("0.25", "3.0", "0.0625"):
        loop = in_canonical_order(lowered(parse_loop(text.replace("NUMBER", number)))).kernel
        orders.add(print_loop(loop).replace(number, "NUMBER"))
    assert len(orders) == 1


def test_many_alike_are_left_in_their_order():
    count = 40
    loads = ["%%%d = load in%d [m0] : float32" % (n, n) for n in range(count)]
    sums = ["%%%d = add %%%d %%%d : float32 [m0]" % (count + n, count + n - 1 if n else 0, n + 1)
            for n in range(count - 1)]
    loop = samples.kernel(["float32"] * count, ["float32"], "m0", *loads, *sums,
                          "store out0 [m0] %%%d" % (2 * count - 2))
    found = in_canonical_order(lowered(loop))
    assert sorted(found.inputs) == sorted(lowered(loop).inputs)
    verify(found.kernel)


def test_windows_keep_their_order():
    loop = parse_loop(
        "loop {\n  in0: float32\n  out0: float32\n  axes a0\n"
        "  %0 = load in0 [a0[1:-1:1]] moved : float32\n  store out0 [a0] %0\n}\n")
    assert in_canonical_order(lowered(loop)) == lowered(loop)
