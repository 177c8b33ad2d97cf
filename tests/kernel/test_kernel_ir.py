"""Kernel IR: text, verifier and interpreter against the loop interpreter."""
import itertools
from dataclasses import replace

import kernel_samples as samples
import numpy as np
import pytest
from staged_samples import STAGED

from tf_autofuse.errors import IRError
from tf_autofuse.kernel import interp, text
from tf_autofuse.kernel.ir import Compute, Loop
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.kernel.verify import verify
from tf_autofuse.loop import interp as loop_interp
from tf_autofuse.schedule import schedule

KERNELS = {
    "pointwise": (samples.abs_relu_exp(), (300,)),
    "bfloat16": (samples.abs_relu_exp("bfloat16"), (300,)),
    "row": (samples.abs_add_relu("m1"), (9, 40)),
    "column": (samples.abs_add_relu("m0"), (9, 40)),
    "ar": (samples.reduction("m0 m1", "m1", ("sum", "max")), (9, 40)),
    "ra": (samples.reduction("m0 m1", "m0", ("sum", "min")), (9, 40)),
    "full": (samples.reduction("m0", "m0", ("sum", "prod")), (40,)),
    "ara": (samples.reduction("m0 m1 m2", "m1"), (3, 9, 20)),
    "rar": (samples.reduction("m0 m1 m2", "m0 m2"), (3, 9, 20)),
    "int": (samples.reduction("m0 m1", "m1", ("sum", "max"), "int32"), (9, 40)),
    "softmax": (samples.softmax("m1"), (9, 40)),
    "softmax_columns": (samples.softmax("m0"), (9, 40)),
    "layer_norm": (samples.layer_norm(), (9, 40)),
    "layer_norm_bfloat16": (samples.layer_norm("bfloat16"), (9, 40)),
    "three_nests": (samples.bias_gradient_and_loss(), (9, 40)),
    "run_time_broadcast": (samples.run_time_broadcast(), (9, 40)),
    "one": (samples.reduction("m0 m1", "m1"), (1, 1)),
    "nothing_to_reduce": (samples.reduction("m0 m1", "m1", ("sum", "max", "prod")), (3, 0)),
}
KERNELS.update((name, (loop, (9, 4, 10)[-len(loop.axes):])) for name, loop in STAGED.items())


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("tile", [None, (2, 7), (4, 1000)])
def test_interpreter_agrees_with_loop_interpreter(name, tile):
    loop, shape = KERNELS[name]
    kernel = schedule(loop)
    verify(kernel)
    sizes = samples.sizes_of(loop, *shape)
    inputs, strides = samples.make_inputs(loop, sizes)
    tiles = None if tile is None else [tile] * len(kernel.nests)
    want = loop_interp.run(loop, inputs, sizes)
    for chosen in itertools.product(*[range(len(v)) for v in kernel.variants]):
        got = interp.run(kernel, inputs, sizes, strides, tiles, chosen)
        for param, have, expected in zip(loop.outputs, got, want):
            samples.assert_close(have, expected, param.dtype, 1e-5)


@pytest.mark.parametrize("narrow", [(), (1,), (2,), (1, 2)])
def test_run_time_strides_repeat_an_element(narrow):
    loop = samples.run_time_broadcast()
    sizes = samples.sizes_of(loop, 5, 9)
    inputs, strides = samples.make_inputs(loop, sizes, narrow)
    got = interp.run(schedule(loop), inputs, sizes, strides, [(2, 4)])
    for have, expected in zip(got, loop_interp.run(loop, inputs, sizes)):
        np.testing.assert_array_equal(have, expected)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_text_prints_and_parses(name):
    kernel = schedule(KERNELS[name][0])
    printed = text.print_kernel(kernel, comments=False)
    parsed = text.parse_kernel(printed)
    assert text.print_kernel(parsed, comments=False) == printed
    assert parsed == kernel


def test_buffers_and_temporaries_are_counted_from_0():
    kernel = schedule(STAGED["layer_norm_gradient"])
    for program in kernel.programs:
        names = ["n%d_b%d" % (program.number, at) for at in range(len(program.buffers))]
        assert [buffer.name for buffer in program.buffers] == names
    printed = text.print_kernel(kernel)
    assert "copy_out temp0 [" in printed and "copy_in temp0 [" in printed
    assert "in%d [" % len(kernel.loop.inputs) not in printed


def test_key_ignores_names_and_origins():
    loop = samples.softmax("m1")
    renamed = replace(loop, body=tuple(replace(v, origin="model/op_" + v.name) for v in loop.body))
    key = text.kernel_key(schedule(loop))
    assert len(key) >= 16 and int(key, 16) >= 0
    assert text.kernel_key(schedule(renamed)) == key
    assert "model/op_" in text.print_kernel(schedule(renamed))
    assert text.kernel_key(schedule(samples.softmax("m0"))) != key


def test_unreadable_text_names_the_line():
    printed = text.print_kernel(schedule(samples.abs_relu_exp()))
    lines = printed.splitlines()
    bad = next(i for i, line in enumerate(lines) if "copy_in" in line)
    lines[bad] = "    nonsense"
    with pytest.raises(IRError, match="line %d cannot be read: nonsense" % (bad + 1)):
        text.parse_kernel("\n".join(lines))


def edit_steps(kernel, edit):
    """The kernel with the body of its block loop changed by `edit`."""
    program = kernel.programs[0]
    block = program.steps[0]
    changed = replace(block, body=tuple(edit(list(block.body))))
    return replace(kernel, programs=(replace(program, steps=(changed,)),) + kernel.programs[1:])


def test_verifier_sees_a_read_before_the_write():
    kernel = edit_steps(schedule(samples.abs_relu_exp()), lambda steps: steps[1:])
    with pytest.raises(IRError, match="n0_b0: is read before it is written"):
        verify(kernel)


def test_verifier_sees_an_illegal_type():
    def edit(steps):
        at = next(i for i, s in enumerate(steps) if isinstance(s, Compute) and s.op == "abs")
        cast = next(s for s in steps if isinstance(s, Compute) and s.op == "exp")
        return steps[:at] + [replace(steps[at], dst=cast.dst)] + steps[at:]

    with pytest.raises(IRError, match="abs does not take"):
        verify(edit_steps(schedule(samples.abs_relu_exp()), edit))


def test_verifier_sees_a_wrong_loop():
    kernel = schedule(samples.reduction("m0 m1", "m1"))

    def edit(steps):
        return [replace(s, axes=("m0",)) if isinstance(s, Loop) else s for s in steps]

    with pytest.raises(IRError, match="wrong walk loop"):
        verify(edit_steps(kernel, edit))


def test_verifier_sees_variants_that_differ():
    kernel = schedule(samples.softmax("m1"))
    split = replace(kernel.programs[2], steps=kernel.programs[2].steps[:1])
    broken = replace(kernel, programs=kernel.programs[:2] + (split,))
    with pytest.raises(IRError, match="variants write different outputs"):
        verify(broken)


def test_interpreter_sees_a_slot_used_twice():
    kernel = schedule(samples.abs_relu_exp())
    program = kernel.programs[0]
    buffers = tuple(replace(b, slot=1) if b.position == "VECCALC" else b for b in program.buffers)
    broken = replace(kernel, programs=(replace(program, buffers=buffers),))
    inputs, _ = samples.make_inputs(kernel.loop, {"m0": 8})
    with pytest.raises(IRError, match="its slot 1 holds"):
        interp.run(broken, inputs, {"m0": 8})


def test_stores_of_one_walk_share_a_nest():
    nests = build_nests(samples.bias_gradient_and_loss())
    assert [(n.kept, n.reduced) for n in nests] == [(("m1",), ("m0",)), ((), ("m0", "m1"))]
    assert nests[0].passes[0].stores == (2,)
    assert [len(n.passes) for n in build_nests(samples.softmax("m1"))] == [3]
