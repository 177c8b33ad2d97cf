"""Structurally equal clusters are lowered once, and unequal ones are kept apart."""
import contextlib
import gc

import pytest

from tf_autofuse.cluster import lowering
from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.lower import Lowering
from tf_autofuse.loop.source import Operator, TensorInfo


def chain(tag, kind="Exp", dims=(4, 8), const=2.0):
    """Exp(x * const), whose tensors' names begin with `tag`: operators, outputs, infos."""
    names = [tag + part for part in ("x", "c", "mul", "exp")]
    x, c, mul, exp = [(name, 0) for name in names]
    attrs = {"dst_dtype": "float32"}
    operators = [
        Operator(names[2], "Mul", (x, c), attrs, None, dims),
        Operator(names[3], kind, (mul,), attrs, None, dims),
    ]
    infos = {ref: TensorInfo("float32", dims) for ref in (x, mul, exp)}
    infos[c] = TensorInfo("float32", (), const)
    return operators, [exp], infos


@pytest.fixture
def lowered(monkeypatch):
    """What was really lowered."""
    calls = []
    original = lowering.lower

    def lower(operators, outputs, infos):
        calls.append(operators)
        return original(operators, outputs, infos)

    monkeypatch.setattr(lowering, "lower", lower)
    return calls


def memo_of(*chains):
    infos = {}
    for _, _, more in chains:
        infos.update(more)
    return lowering.LoweringMemo(infos)


def test_equal_structures_are_lowered_once(lowered):
    first, second = chain("a/"), chain("b/")
    memo = memo_of(first, second)
    memo.candidate(*first[:2])
    kernel = memo.lower(*second[:2])
    assert len(lowered) == 1
    assert kernel.inputs == (("b/x", 0),) and kernel.outputs == (("b/exp", 0),)
    assert {value.origin for value in kernel.kernel.body} == {"b/mul", "b/exp"}
    assert kernel.kernel == memo.lower(*first[:2]).kernel
    assert kernel == lowering.lower_legal(*second)


@pytest.mark.parametrize(
    "other",
    [{"kind": "Log"}, {"dims": (4, 4)}, {"dims": (4, 1)}, {"dims": (4, 0)}, {"dims": (4, -7)},
     {"const": -2.0}],
    ids=["type", "equal", "one", "none", "symbol", "const"],
)
def test_other_structures_are_lowered_again(lowered, other):
    first, second = chain("a/"), chain("b/", **other)
    memo = memo_of(first, second)
    memo.candidate(*first[:2])
    memo.candidate(*second[:2])
    assert len(lowered) == 2


def reductions(tag, dims, types):
    """Reductions of all rows, and then of what is left, by two types."""
    names = [tag + part for part in ("x", "rows", "all")]
    shapes = [dims, dims[:1], ()]
    operators = [
        Operator(name, kind, ((before, 0),), {"dst_dtype": "float32"}, axes, shape)
        for name, before, kind, axes, shape in
        zip(names[1:], names, types, ((1,), (0,)), shapes[1:])]
    infos = {(name, 0): TensorInfo("float32", shape) for name, shape in zip(names, shapes)}
    return operators, [(names[2], 0)], infos


def reshaped(tag, dims, wanted):
    """Exp(reshape(x))."""
    names = [tag + part for part in ("x", "view", "exp")]
    attrs = {"dst_dtype": "float32"}
    operators = [Operator(names[1], "Reshape", ((names[0], 0),), attrs, None, wanted),
                 Operator(names[2], "Exp", ((names[1], 0),), attrs, None, wanted)]
    infos = {(name, 0): TensorInfo("float32", shape)
             for name, shape in zip(names, (dims, wanted, wanted))}
    return operators, [(names[2], 0)], infos


@pytest.mark.parametrize("first, second", [
    (chain("a/"), chain("b/", dims=(8, 6))),
    (chain("a/", dims=(-5, 8)), chain("b/", dims=(-6, 9))),
    (reductions("a/", (4, 8), ("ReduceSum", "ReduceSum")),
     reductions("b/", (6, 5), ("ReduceSum", "ReduceSum"))),
    (reshaped("a/", (4, 1, 8), (4, 8)), reshaped("b/", (6, 1, 5), (6, 5))),
], ids=["chain", "symbol", "reductions", "reshape"])
def test_a_structure_is_lowered_once_for_all_sizes(lowered, first, second):
    memo = memo_of(first, second)
    assert memo.candidate(*first[:2]) != memo.candidate(*second[:2])
    kernel = memo.lower(*second[:2])
    assert len(lowered) == 1
    assert kernel == lowering.lower_legal(*second)


@pytest.mark.parametrize("first, second", [
    (reductions("a/", (4, 8), ("ReduceMean", "ReduceSum")),
     reductions("b/", (6, 5), ("ReduceMean", "ReduceSum"))),
    (reshaped("a/", (4, 8), (8, 4)), reshaped("b/", (6, 12), (12, 6))),
], ids=["factor", "cut"])
def test_what_depends_on_sizes_is_lowered_for_each(lowered, first, second):
    memo = memo_of(first, second)
    memo.candidate(*first[:2])
    kernel = memo.lower(*second[:2])
    assert len(lowered) == 2
    assert kernel == lowering.lower_legal(*second)


def test_symbols_are_compared_by_place(lowered):
    chains = [chain("a/", dims=(-5, -5)), chain("b/", dims=(-6, -6)), chain("c/", dims=(-5, -6))]
    memo = memo_of(*chains)
    sizes = [memo.lower(operators, outputs).sizes for operators, outputs, _ in chains]
    assert sizes == [(-5, -5), (-6, -6), (-5, -6)]
    assert len(lowered) == 2


def test_zeros_of_both_signs_are_two_structures(lowered):
    first, second = chain("a/", const=0.0), chain("b/", const=-0.0)
    memo = memo_of(first, second)
    memo.candidate(*first[:2])
    memo.candidate(*second[:2])
    assert len(lowered) == 2


def test_a_refusal_is_remembered_and_names_the_nodes_of_each(lowered):
    first, second = chain("a/", kind="ReduceSum"), chain("b/", kind="ReduceSum")
    memo = memo_of(first, second)
    messages = []
    for operators, outputs, _ in (first, second):
        with pytest.raises(Unsupported) as refusal:
            memo.candidate(operators, outputs)
        messages.append(str(refusal.value))
    assert "a/" in messages[0] and messages[1] == messages[0].replace("a/", "b/")
    assert len(lowered) == 1


def test_nothing_waits_for_garbage_collection(no_garbage_collection):
    """A pass keeps it off: what is lowered or refused must be freed without it."""
    good, bad = chain("a/"), chain("b/", kind="ReduceSum")
    memo = memo_of(good, bad)
    memo.candidate(*good[:2])
    with contextlib.suppress(Unsupported):
        memo.candidate(*bad[:2])
    assert not any(isinstance(thing, Lowering) for thing in gc.get_objects())


@pytest.fixture
def no_garbage_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()
