"""Sizes of run time that are found to be equal."""
import numpy as np
import pytest
from nets import SymbolNet

from tf_autofuse.cluster.clusterer import find_clusters
from tf_autofuse.cluster.order import topological_order
from tf_autofuse.cluster.symbols import refine
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import DataType
from tf_autofuse.loop.text import print_loop

S, U, V, W = -2, -3, -4, -5


def refined(net, *outputs):
    """The dims of every tensor."""
    view = GraphView(net.graph(*outputs))
    refine(view, topological_order(view))
    return {name: info.dims for (name, _), info in view.infos.items()}, view.axes


def test_merged_rows_are_split_again():
    net = SymbolNet()
    x = net.data(S, 16, 64)
    rows = net("Reshape", x, net.numbers(-1, 64), dims=(V, 64))
    back = net("Reshape", rows, net.numbers(-1, 16, 64), dims=(U, 16, 64))
    total = net("AddV2", x, back, dims=(W, 16, 64))
    dims, _ = refined(net, total)
    assert dims[back] == dims[total] == dims[x] == (S, 16, 64)
    assert dims[rows] == (V, 64)


def test_equal_products_are_one_size():
    net = SymbolNet()
    x = net.data(S, 16, 64)
    one = net("Reshape", x, net.numbers(-1, 64), dims=(V, 64))
    other = net("Reshape", x, net.numbers(-1, 32, 2), dims=(U, 32, 2))
    dims, _ = refined(net, one, other)
    assert dims[one][0] == dims[other][0]


def test_a_shape_names_the_sizes():
    net = SymbolNet()
    x = net.data(S, U, 64)
    front = net("GatherV2", net.shape_of(x), net.numbers(0, 1), net.numbers(0), dims=(2,),
                dtype=DataType.DT_INT32)
    new = net("ConcatV2", front, net.numbers(32), net.numbers(0), dims=(3,),
              dtype=DataType.DT_INT32)
    y = net("Reshape", net.data(V, 32), new, dims=(W, -7, 32))
    dims, _ = refined(net, y)
    assert dims[y] == (S, U, 32)


def test_nothing_is_divided_by_a_size_that_may_be_zero():
    net = SymbolNet()
    x = net.data(S, U)
    y = net("Reshape", x, net.shape_of(net.data(S, V)), dims=(S, W))
    dims, _ = refined(net, y)
    assert dims[y] == (S, V)  # named, not computed
    net = SymbolNet()
    y = net("Reshape", net.data(S, U), net.data(2, dtype=DataType.DT_INT32), dims=(S, W))
    dims, _ = refined(net, y)
    assert dims[y] == (S, W)


def test_a_narrow_cast_of_a_size_is_another_number():
    for dtype, size in ((DataType.DT_INT64, S), (DataType.DT_INT8, W)):
        net = SymbolNet()
        sizes = net.shape_of(net.data(S))
        for to in (dtype, DataType.DT_INT32):
            sizes = net("Cast", sizes, dims=(1,), dtype=to)
        y = net("Reshape", net.data(V, 32), sizes, dims=(W,))
        dims, _ = refined(net, y)
        assert dims[y] == (size,)


def test_sizes_that_may_differ_stay_apart():
    net = SymbolNet()
    y = net("AddV2", net.data(S, 4), net.data(U, 4), dims=(W, 4))
    dims, _ = refined(net, y)
    assert dims[y] == (W, 4)


def gradient_of_broadcast(net, left, right, keep=False):
    """ReduceSum over what broadcasting `left` to `right` repeated, and its Reshape."""
    one, other = net.data(*left), net.data(*right)
    dy = net("Exp", net.data(S, 16, 64), dims=(S, 16, 64))
    axes = net("BroadcastGradientArgs", net.shape_of(one), net.shape_of(other), dims=(-1,),
               dtype=DataType.DT_INT32)
    total = net("ReduceSum", dy, axes, dims=(), attrs={"keep_dims": keep})
    return total, net("Reshape", total, net.shape_of(one), dims=left)


@pytest.mark.parametrize("left, right, axes, dims", [
    ((S, 16, 64), (S, 16, 64), (), (S, 16, 64)), ((64,), (S, 16, 64), (0, 1), (64,)),
    ((S, 16, 64), (64,), (), (S, 16, 64)), ((S, 1, 64), (S, 16, 64), (1,), (S, 64)),
    ((U, 16, 64), (S, 16, 64), None, ()), ((16, 64), (U, 16, 64), (0,), (16, 64)),
])
def test_axes_that_a_broadcast_repeated(left, right, axes, dims):
    net = SymbolNet()
    total, out = gradient_of_broadcast(net, left, right)
    found, known = refined(net, out)
    assert known.get(total) == axes and found[total] == dims
    net = SymbolNet()
    total, out = gradient_of_broadcast(net, left, right, keep=True)
    found, known = refined(net, out, total)
    assert known.get(total) == axes
    assert axes is None or len(found[total]) == 3


def test_a_sum_whose_rank_is_seen_keeps_its_axes():
    net = SymbolNet()
    total, out = gradient_of_broadcast(net, (S, 1, 64), (S, 16, 64))
    _, known = refined(net, out, total)
    assert known == {}


def test_the_sum_joins_what_it_adds_up():
    net = SymbolNet()
    _, out = gradient_of_broadcast(net, (64,), (S, 16, 64))
    (cluster,) = find_clusters(GraphView(net.graph(out))).clusters
    assert [node.type for node in cluster.nodes][:2] == ["Exp", "ReduceSum"]


def test_a_sum_over_nothing_is_no_work():
    net = SymbolNet()
    _, out = gradient_of_broadcast(net, (S, 16, 64), (S, 16, 64))
    assert find_clusters(GraphView(net.graph(out))).clusters == []


def gradient_of_product(net, x, y, dy, *others):
    """Of tanh(x) * y by the tanh, as TensorFlow writes it: the shape is that of the tanh."""
    own = net("Tanh", x, dims=net.symbols[x])
    product = net("Mul", dy, y, dims=(-20, 64))
    shape = net.shape_of(own)
    controls = {"controls": [net.shape_of(other) for other in others]} if others else {}
    back = net("Reshape", product, shape, dims=net.symbols[x], **controls)
    return own, net("TanhGrad", own, back, dims=net.symbols[x])


def test_a_shape_that_only_the_kernel_asks_for_is_gone_with_it():
    net = SymbolNet()
    x, y, dy = net.data(S, 64), net.data(U, 64), net.data(V, 64)
    own, out = gradient_of_product(net, x, y, dy)
    (cluster,) = find_clusters(GraphView(net.graph(out))).clusters
    assert [name for name, _ in cluster.lowered.outputs] == [out]
    assert len(cluster.nodes) == 4


def test_a_shape_that_others_ask_for_stays():
    net = SymbolNet()
    x, y, dy = net.data(S, 64), net.data(U, 64), net.data(V, 64)
    own, out = gradient_of_product(net, x, y, dy)
    (cluster,) = find_clusters(GraphView(net.graph(out, net.shape_of(own)))).clusters
    assert {name for name, _ in cluster.lowered.outputs} == {own, out}


def test_to_wait_for_a_shape_is_nothing():
    """Folding leaves such control edges."""
    net = SymbolNet()
    x, y, dy = net.data(S, 64), net.data(U, 64), net.data(V, 64)
    other = net("Exp", x, dims=(S, 64))
    own, out = gradient_of_product(net, x, y, dy, other)
    total = net("Add", out, other, dims=(S, 64))
    clustering = find_clusters(GraphView(net.graph(total)))
    (cluster,) = clustering.clusters
    assert [name for name, _ in cluster.lowered.outputs] == [total]
    assert clustering.alone == {}


def divided_by_count(net, x, dim):
    """exp(x) by its size along `dim`, as in the gradient of a mean."""
    y = net("Exp", x, dims=net.symbols[x])
    sizes = net("GatherV2", net.shape_of(y), net.numbers(dim), net.numbers(0), dims=(1,),
                dtype=DataType.DT_INT32)
    count = net("ReduceProd", sizes, net.numbers(0), dims=(), dtype=DataType.DT_INT32)
    return net("RealDiv", y, net("Cast", count, dims=()), dims=net.symbols[x])


def test_a_count_of_known_dims_is_a_constant():
    net = SymbolNet()
    out = divided_by_count(net, net.data(S, 64), 1)
    clustering = find_clusters(GraphView(net.graph(out)))
    (cluster,) = clustering.clusters
    assert [node.type for node in cluster.nodes] == ["Exp", "RealDiv"]
    assert len(cluster.lowered.inputs) == 1
    assert [name for name, _ in cluster.lowered.outputs] == [out]
    assert 64.0 in [getattr(value, "value", None) for value in cluster.lowered.kernel.body]
    assert clustering.alone == {}


def test_a_count_of_the_run_time_is_none():
    net = SymbolNet()
    view = GraphView(net.graph(divided_by_count(net, net.data(S, 64), 0)))
    refine(view, topological_order(view))
    assert not [name for (name, _), info in view.infos.items()
                if info.const is not None and "Const" not in name]


def test_a_kernel_counts_what_its_tensors_tell():
    net = SymbolNet()
    clustering = find_clusters(GraphView(net.graph(divided_by_count(net, net.data(S, 64), 0))))
    (cluster,) = clustering.clusters
    assert [node.type for node in cluster.nodes] == ["Exp", "Cast", "RealDiv"]
    assert len(cluster.lowered.inputs) == len(cluster.lowered.outputs) == 1
    assert "count a0" in print_loop(cluster.lowered.kernel)
    assert clustering.alone == {}


def test_constants_that_folding_lets_wait_for_a_size_are_gone_with_it():
    net = SymbolNet()
    y = net("Exp", net.data(S, 64), dims=(S, 64))
    ends = [net.numbers(0), net.numbers(1), net.numbers(1)]
    size = net("StridedSlice", net.shape_of(y), *ends, dims=(), dtype=DataType.DT_INT32,
               attrs={"shrink_axis_mask": 1})
    place = net("Const", dims=(1,), dtype=DataType.DT_INT32, controls=[size],
                attrs={"value": Tensor.from_numpy(np.zeros(1, "int32"), DataType.DT_INT32)})
    packed = net("ExpandDims", size, place, dims=(1,), dtype=DataType.DT_INT32)
    count = net("ReduceProd", packed, net.numbers(0), dims=(), dtype=DataType.DT_INT32)
    out = net("RealDiv", y, net("Cast", count, dims=()), dims=(S, 64))
    clustering = find_clusters(GraphView(net.graph(out)))
    (cluster,) = clustering.clusters
    assert [name for name, _ in cluster.lowered.outputs] == [out] and clustering.alone == {}


def test_slices_keep_the_dims_that_they_take_whole():
    net = SymbolNet()
    ends = [net.numbers(0, 2), net.numbers(0, 3), net.numbers(1, 1)]
    y = net("StridedSlice", net.data(S, 5, 24), *ends, dims=(U, 24),
            attrs={"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2})
    z = net("StridedSlice", net.data(S, 24), *ends[:2], net.numbers(2, 1), dims=(V, 1),
            attrs={"begin_mask": 1, "end_mask": 1})
    dims, _ = refined(net, y, z)
    assert dims[y] == (S, 24) and dims[z][0] == V


def test_sizes_that_are_put_together():
    """As the gradient of a mean keeps its dims."""
    net = SymbolNet()
    x = net.data(S, 8)
    shape = net("DynamicStitch", net.numbers(0, 1), net.numbers(1), net.shape_of(x),
                net.numbers(1), dims=(2,), dtype=DataType.DT_INT32)
    y = net("Reshape", net.data(V), shape, dims=(W, U))
    z = net("BroadcastTo", net.data(1, 1), net.shape_of(x), dims=(-7, -8))
    f = net("Fill", net.shape_of(x), net.data(1), dims=(-9, -10))
    dims, _ = refined(net, y, z, f)
    assert dims[y] == (dims[x][0], 1) and dims[z] == dims[f] == dims[x]


def test_a_repeated_number_is_part_of_what_has_its_size():
    """The gradient of a sum: tile, and a view of it."""
    net = SymbolNet()
    x = net.data(S, 8)
    one = net("Neg", net.data(1), dims=(1,))
    sizes = net("GatherV2", net.shape_of(x), net.numbers(0), net.numbers(0), dims=(1,),
                dtype=DataType.DT_INT32)
    column = net("ExpandDims", net("Tile", one, sizes, dims=(S,)), net.numbers(1), dims=(S, 1))
    (cluster,) = find_clusters(GraphView(net.graph(net("Mul", x, column, dims=(S, 8))))).clusters
    assert [node.type for node in cluster.nodes] == ["Neg", "Tile", "ExpandDims", "Mul"]


@pytest.mark.parametrize("seen", [False, True])
def test_how_often_a_gradient_is_repeated_is_a_size(seen):
    """Of a sum that kept its dims: what divides the sizes is no kernel, and gone if nobody else
    reads it."""
    net = SymbolNet()
    x = net.data(S, 8)
    shape = net.shape_of(x)
    kept = net("DynamicStitch", net.numbers(0, 1), net.numbers(1), shape, net.numbers(1),
               dims=(2,), dtype=DataType.DT_INT32)
    most = net("Maximum", kept, net.numbers(1, 1), dims=(2,), dtype=DataType.DT_INT32)
    times = net("FloorDiv", shape, most, dims=(2,), dtype=DataType.DT_INT32)
    column = net("Reshape", net("Neg", net.data(S), dims=(S,)), kept, dims=(S, 1))
    y = net("Mul", x, net("Tile", column, times, dims=(S, 8)), dims=(S, 8))
    view = GraphView(net.graph(y, *[times] * seen))
    found = find_clusters(view)
    (cluster,) = found.clusters
    assert [node.type for node in cluster.nodes] == ["Neg", "Reshape", "Tile", "Mul"]
    codes = {view.nodes[index].type: decision.code for index, decision in found.alone.items()}
    assert codes.get("Maximum") == codes.get("FloorDiv") == ("SHAPE_MATH" if seen else None)
