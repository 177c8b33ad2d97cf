"""Clustering of GE graphs: what joins, what stays apart and with which reason."""
import numpy as np
import pytest
from nets import Net

from tf_autofuse.cluster.clusterer import find_clusters
from tf_autofuse.cluster.reasons import CODES, FuseDecision
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import DataType


def scalar(value):
    return Tensor.from_numpy(np.asarray(value, "f4"), DataType.DT_FLOAT)


def constant(net, *values):
    array = np.asarray(values, "i4")
    return net("Const", dims=array.shape, dtype=DataType.DT_INT32,
               attrs={"value": Tensor.from_numpy(array, DataType.DT_INT32)})


def clusters(net, *outputs):
    """Operator types of every cluster, and the reason code of every operator left alone."""
    view = GraphView(net.graph(*outputs))
    result = find_clusters(view)
    names = [[node.type for node in cluster.nodes] for cluster in result.clusters]
    return names, {view.nodes[i].name: d.code for i, d in result.alone.items()}


def test_a_chain_is_one_cluster():
    net = Net(4, 8)
    out = net("Exp", net("Relu", net("Abs", net.data())))
    assert clusters(net, out) == ([["Abs", "Relu", "Exp"]], {})


def test_a_lone_operator_is_left_with_a_reason():
    net = Net(4)
    out = net("Exp", net("MatMulV2", net.data()))
    names, codes = clusters(net, out)
    assert names == []
    assert codes == {"n1_MatMulV2": "OP_UNKNOWN", "n2_Exp": "SINGLE"}


def test_a_path_through_a_foreign_operator_is_a_cycle():
    net = Net(4)
    first = net("Abs", net.data())
    foreign = net("MatMulV2", first)
    names, codes = clusters(net, net("Add", first, foreign))
    assert names == []
    assert codes[first] == "CYCLE"


def test_a_control_edge_counts_as_a_path():
    net = Net(4)
    first = net("Abs", net.data())
    net("MatMulV2", first, name="side")
    last = net("Neg", first, controls=["side"])
    names, codes = clusters(net, last, "side")
    assert names == [] and codes[last] == "CYCLE"


def test_diamonds_join_into_one_cluster():
    net = Net(4, 4)
    x = net.data()
    left, right = net("Abs", x), net("Neg", x)
    assert clusters(net, net("Mul", left, right))[0] == [["Neg", "Abs", "Mul"]]


def test_a_value_used_outside_becomes_an_output():
    net = Net(4)
    first = net("Abs", net.data())
    second = net("Neg", first)
    view_names, _ = clusters(net, second, net("MatMulV2", first))
    assert view_names == [["Abs", "Neg"]]


@pytest.mark.parametrize("key", ["_disable_autofuse_scope", "_super_kernel_scope"])
def test_excluded_scopes_are_left_alone(key):
    net = Net(4)
    value = True if key.startswith("_disable") else "scope"
    out = net("Exp", net("Abs", net.data(), attrs={key: value}))
    assert clusters(net, out)[1]["n1_Abs"] == "SCOPE"


def test_different_core_settings_stay_apart():
    net = Net(4)
    out = net("Exp", net("Abs", net.data(), attrs={"_op_vectorcore_num": "8"}))
    names, codes = clusters(net, out)
    assert names == [] and set(codes.values()) == {"SETTINGS"}


def test_operators_of_two_frames_are_not_joined():
    net = Net(4)
    x = net.data()
    enter = net("Enter", net("Abs", x), attrs={"frame_name": "loop"})
    inside = net("Neg", enter)
    outside = net("Exp", net("Exit", inside))
    names, codes = clusters(net, outside)
    assert names == []
    assert set(codes.values()) == {"SINGLE"}


def test_fusion_works_inside_a_frame():
    net = Net(4)
    enter = net("Enter", net.data(), attrs={"frame_name": "loop"})
    assert clusters(net, net("Exit", net("Neg", net("Abs", enter))))[0] == [["Abs", "Neg"]]


def test_a_loop_invariant_needs_its_own_frame():
    net = Net(4)
    x, frame = net.data(), {"frame_name": "loop"}
    invariant = net("Enter", x, attrs=frame)
    merge = net("Merge", net("Enter", x, attrs=frame), ("next", 0))
    body = net("Add", net("Abs", merge), invariant)
    net("NextIteration", body, name="next")
    names, _ = clusters(net, net("Exit", merge))
    assert names == [["Abs", "Add"]]


def test_unsupported_dtypes_and_ranks_have_reasons():
    net = Net(4)
    double = net("Abs", net.data(dtype=DataType.DT_STRING), dtype=DataType.DT_STRING)
    unknown = net("Abs", net("Data", dims=(-2,)), dims=(-2,))
    codes = clusters(net, double, unknown)[1]
    assert codes[double] == "DTYPE" and codes[unknown] == "RANK"


def test_decisions_only_use_listed_codes():
    assert FuseDecision.no("CYCLE", "x").code in CODES
    with pytest.raises(AssertionError):
        FuseDecision.no("NO_SUCH_CODE", "x")


def test_a_reshape_rides_along():
    net = Net(4, 8)
    out = net("Exp", net("Reshape", net("Abs", net.data()), net.data(3), dims=(4, 1, 8)),
              dims=(4, 1, 8))
    assert clusters(net, out)[0] == [["Abs", "Reshape", "Exp"]]


def test_a_view_is_no_head_and_no_extra_output():
    net = Net(4, 8)
    x = net("Identity", net.data())
    first = net("Abs", x)
    names, codes = clusters(net, net("Identity", first), net("Exp", first))
    assert names == [["Abs", "Exp", "Identity"]]
    assert codes == {}


@pytest.mark.parametrize("also", ["Identity", "MatMulV2"])
def test_a_tensor_is_not_written_twice_for_a_view(also):
    net = Net(4, 8)
    first = net("Neg", net("Abs", net.data()))
    names, codes = clusters(net, net("Reshape", first, net.data(1), dims=(32,)), net(also, first))
    assert names == [["Abs", "Neg"]]
    assert codes.pop("n5_Reshape", "VIEW") == "VIEW"


def test_a_reshape_that_merges_and_splits_dims_rides_along():
    net = Net(4, 6)
    merged = net("Reshape", net("Abs", net.data()), net.data(1), dims=(24,))
    split = net("Reshape", net("Neg", merged, dims=(24,)), net.data(2), dims=(8, 3))
    out = net("Exp", split, dims=(8, 3))
    names, codes = clusters(net, out)
    assert names == [["Abs", "Reshape", "Neg", "Reshape", "Exp"]] and codes == {}


def test_a_reshape_without_common_parts_stays_outside():
    net = Net(4, 6)
    turned = net("Reshape", net("Abs", net.data()), net.data(2), dims=(6, 4))
    out = net("ReduceSumD", net("Exp", turned, dims=(6, 4)), dims=(6,), attrs={"axes": [1]})
    names, codes = clusters(net, out)
    assert names == [["Exp", "ReduceSumD"]] and codes["n1_Abs"] == "RESHAPE"


def test_a_broadcast_may_be_written():
    net = Net(4, 8)
    x, row = net.data(), net.data(8)
    spread = net("BroadcastTo", row, net.data(2))
    assert clusters(net, net("Mul", x, spread))[0] == [["BroadcastTo", "Mul"]]
    net = Net(4, 8)
    spread = net("Tile", net("Abs", net.data(1, 8), dims=(1, 8)), net.data(2))
    assert clusters(net, spread)[0] == [["Abs", "Tile"]]


def test_siblings_that_share_an_input_are_joined():
    net = Net(4, 8)
    x = net.data()
    names, _ = clusters(net, net("Exp", x), net("Tanh", x))
    assert [sorted(types) for types in names] == [["Exp", "Tanh"]]


def test_siblings_that_wait_for_each_other_stay_apart():
    net = Net(4, 8)
    x = net.data()
    late = net("Mul", net("MatMulV2", net("Exp", x)), x)
    names, _ = clusters(net, late)
    assert names == []


def test_siblings_of_different_shape_stay_apart():
    net = Net(4, 8)
    row = net.data(8)
    names, _ = clusters(net, net("Exp", row, dims=(8,)), net("Mul", net.data(), row))
    assert names == []


def test_what_follows_a_broadcast_is_written_as_large():
    net = Net(4, 8)
    spread = net("BroadcastTo", net.data(8), net.data(2))
    assert clusters(net, net("Neg", spread))[0] == [["BroadcastTo", "Neg"]]
    net = Net(4, 8)
    spread = net("BroadcastTo", net.data(8), net.data(2))
    names, _ = clusters(net, net("Mul", net.data(), net("Neg", spread)))
    assert names == [["BroadcastTo", "Neg", "Mul"]]


def test_reductions_with_the_axes_as_an_attribute():
    net = Net(4, 8)
    out = net("ReduceMeanD", net("Abs", net.data()), dims=(4,), attrs={"axes": [1]})
    assert clusters(net, out)[0] == [["Abs", "ReduceMeanD"]]


def test_a_shared_scalar_joins_nobody():
    net = Net(4, 8)
    rate = net("Data", dims=())
    names, _ = clusters(net, net("Mul", net.data(), rate), net("Mul", net.data(), rate))
    assert names == []


def test_what_lies_between_is_joined_with_both():
    """The gradient of a mean: a broadcast that may not be written lies on the way back."""
    net = Net(4, 8)
    x = net.data()
    total = net("ReduceSumD", net("Abs", x), dims=(4, 1), attrs={"axes": [1], "keep_dims": True})
    spread = net("Tile", total, net.data(2))
    names, codes = clusters(net, net("Mul", net("Neg", spread), net("Exp", x)))
    assert [sorted(types) for types in names] == [
        ["Abs", "Exp", "Mul", "Neg", "ReduceSumD", "Tile"]]
    assert codes == {}


def test_a_constant_that_waits_for_its_own_kernel_is_held():
    net = Net(4)
    first = net("Abs", net.data())
    one = net("Const", dims=(), attrs={"value": scalar(2.0)}, controls=[first])
    names, codes = clusters(net, net("Mul", first, one))
    assert names == [["Abs", "Mul"]] and codes == {}


def test_a_constant_of_one_value_is_held_whatever_its_size():
    net = Net(4, 8)
    zeros = net("Const", attrs={"value": scalar(np.zeros((4, 8)))})
    graph = net.graph(net("Maximum", net("Abs", net.data()), zeros))
    (cluster,) = find_clusters(GraphView(graph)).clusters
    assert cluster.lowered.inputs == (("n1_Data", 0),)


def test_pairs_that_stay_apart_have_reasons():
    net = Net(4)
    first = net("Abs", net.data())
    foreign = net("MatMulV2", first)
    last = net("Add", first, foreign)
    view = GraphView(net.graph(last))
    apart = find_clusters(view).apart
    decision = apart[(view.index[first], view.index[last])]
    assert decision.code == "CYCLE" and first in decision.reason and last in decision.reason


def test_reductions_over_different_axes_share_a_kernel_when_that_reads_no_more():
    net = Net(4, 8)
    x = net("Exp", net.data())
    rows = net("ReduceSumD", x, dims=(8,), attrs={"axes": [0]})
    names, _ = clusters(net, rows, net("ReduceSumD", x, dims=(4,), attrs={"axes": [1]}))
    assert [sorted(types) for types in names] == [["Exp", "ReduceSumD", "ReduceSumD"]]
    net = Net(4, 8)
    x = net("Add", net("Mul", net.data(), net.data()), net("Mul", net.data(), net.data()))
    rows = net("ReduceSumD", x, dims=(8,), attrs={"axes": [0]})
    names, _ = clusters(net, rows, net("ReduceSumD", x, dims=(4,), attrs={"axes": [1]}))
    assert sum("ReduceSumD" in types for types in names) == 1


@pytest.fixture
def lowerings(monkeypatch):
    """One item for every cluster that was lowered."""
    from tf_autofuse.cluster import lowering

    calls = []
    original = lowering.lower
    monkeypatch.setattr(lowering, "lower", lambda *args: calls.append(1) or original(*args))
    return calls


@pytest.mark.parametrize("row", [(), (8,)])
def test_a_long_chain_with_many_inputs_is_one_cluster(row, lowerings):
    """And the cluster is lowered a few times, not once for every operator."""
    net = Net(4, 8)
    inputs = [net.data(*row) for _ in range(40)]
    chain = net("Neg", net.data())
    for number in range(300):
        chain = net("Add", chain, inputs[number % 40]) if number % 2 else net("Tanh", chain)
    (types,) = clusters(net, chain)[0]
    assert len(types) == 301 and len(lowerings) < 10


def test_a_long_chain_behind_a_reduction_is_lowered_a_few_times(lowerings):
    """Whatever lies before it: reductions, tensors with equal dims, broadcasts."""
    net = Net(8, 8)
    chain = net("ReduceSumD", net("Exp", net.data()), attrs={"axes": [0]}, dims=(8,))
    for _ in range(40):
        chain = net("Add", net("Mul", chain, net.data(8), dims=(8,)), net.data(1), dims=(8,))
    chain = net("BroadcastTo", chain, net.data(2))
    for _ in range(40):
        chain = net("Add", net("Mul", net.data(), chain), net.data(8))
    (types,) = clusters(net, chain)[0]
    assert len(types) == 163 and len(lowerings) < 15


def test_an_operator_that_meets_its_producers_twice_is_lowered_with_them():
    net = Net(4, 4)
    x = net.data()
    turned = net("Abs", net("Transpose", net("Neg", x), constant(net, 1, 0)))
    names, codes = clusters(net, net("Mul", net("Sub", turned, net.data(1)), x))
    assert names == [["Neg", "Transpose", "Abs", "Sub"]]
    assert set(codes.values()) == {"AXES_CONFLICT"}


def test_a_costly_operator_does_not_follow_a_broadcast():
    net = Net(4, 8, 2)
    spread = net("Neg", net("BroadcastTo", net.data(8, 2), net.data(3)))
    names, codes = clusters(net, net("Exp", net("Abs", spread)))
    assert names == [["BroadcastTo", "Neg", "Abs"]] and set(codes.values()) == {"RECOMPUTE"}


def test_reductions_of_one_tensor_are_siblings_whatever_their_axes():
    net = Net(4, 8)
    x = net.data()
    rows = net("ReduceSumD", x, dims=(8,), attrs={"axes": [0]})
    columns = net("ReduceMaxD", x, dims=(4,), attrs={"axes": [1]})
    names, _ = clusters(net, rows, columns, net("ReduceMeanD", x, dims=(), attrs={"axes": [0, 1]}))
    assert [sorted(types) for types in names] == [["ReduceMaxD", "ReduceMeanD", "ReduceSumD"]]


def test_math_of_scalar_constants_alone_is_no_second_operator():
    net = Net(4)
    two, three = (net("Const", dims=(), attrs={"value": scalar(value)}) for value in (2.0, 3.0))
    six = net("Mul", two, three, dims=())
    assert clusters(net, net("Add", net.data(), six))[0] == []
    net = Net(4)
    two, three = (net("Const", dims=(), attrs={"value": scalar(value)}) for value in (2.0, 3.0))
    six = net("Mul", two, three, dims=())
    names, _ = clusters(net, net("Exp", net("Add", net.data(), six)))
    assert names == [["Mul", "Add", "Exp"]]
