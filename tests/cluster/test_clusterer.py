"""Clustering of GE graphs: what joins, what stays apart and with which reason."""
import pytest

from tf_autofuse.cluster.clusterer import find_clusters
from tf_autofuse.cluster.reasons import CODES, FuseDecision
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import DataType, Format


def desc(*dims, **kwargs):
    return TensorDesc(list(dims), Format.FORMAT_ND, kwargs["dtype"])


class Net:
    """Small helper: `net("Add", "x", "y", dims=(4,))` adds an operator and returns its name."""

    def __init__(self, *dims):
        self.builder = GraphBuilder("net")
        self.dims = dims
        self.count = 0

    def data(self, *dims, **kwargs):
        return self("Data", dims=dims or self.dims, **kwargs)

    def __call__(self, type_, *inputs, **kwargs):
        name = kwargs.pop("name", "n%d_%s" % (self.count, type_))
        self.count += 1
        outputs = [desc(*kwargs.pop("dims", self.dims), dtype=kwargs.pop("dtype", DataType.DT_FLOAT))]
        refs = [(i, 0) if isinstance(i, str) else i for i in inputs]
        attrs = dict({"index": self.count} if type_ == "Data" else {}, **kwargs.pop("attrs", {}))
        self.builder.add_op(name, type_, inputs=refs, outputs=outputs, attrs=attrs, **kwargs)
        return name

    def clusters(self, *outputs):
        self.builder.add_op("Node_Output", "NetOutput", inputs=[(name, 0) for name in outputs])
        view = GraphView(self.builder.build())
        result = find_clusters(view)
        names = [[node.type for node in cluster.nodes] for cluster in result.clusters]
        codes = {view.nodes[i].name: d.code for i, d in result.alone.items()}
        return names, codes


def test_a_chain_is_one_cluster():
    net = Net(4, 8)
    out = net("Exp", net("Relu", net("Abs", net.data())))
    assert net.clusters(out) == ([["Abs", "Relu", "Exp"]], {})


def test_a_lone_operator_is_left_with_a_reason():
    net = Net(4)
    out = net("Exp", net("MatMulV2", net.data()))
    names, codes = net.clusters(out)
    assert names == []
    assert codes == {"n1_MatMulV2": "OP_UNKNOWN", "n2_Exp": "SINGLE"}


def test_a_path_through_a_foreign_operator_is_a_cycle():
    net = Net(4)
    first = net("Abs", net.data())
    foreign = net("MatMulV2", first)
    names, codes = net.clusters(net("Add", first, foreign))
    assert names == []
    assert codes[first] == "CYCLE"


def test_a_control_edge_counts_as_a_path():
    net = Net(4)
    first = net("Abs", net.data())
    net("MatMulV2", first, name="side")
    last = net("Neg", first, controls=["side"])
    names, codes = net.clusters(last, "side")
    assert names == [] and codes[last] == "CYCLE"


def test_diamonds_join_into_one_cluster():
    net = Net(4, 4)
    x = net.data()
    left, right = net("Abs", x), net("Neg", x)
    assert net.clusters(net("Mul", left, right))[0] == [["Neg", "Abs", "Mul"]]


def test_a_value_used_outside_becomes_an_output():
    net = Net(4)
    first = net("Abs", net.data())
    second = net("Neg", first)
    view_names, _ = net.clusters(second, net("MatMulV2", first))
    assert view_names == [["Abs", "Neg"]]


@pytest.mark.parametrize("key", ["_disable_autofuse_scope", "_super_kernel_scope"])
def test_excluded_scopes_are_left_alone(key):
    net = Net(4)
    value = True if key.startswith("_disable") else "scope"
    out = net("Exp", net("Abs", net.data(), attrs={key: value}))
    assert net.clusters(out)[1]["n1_Abs"] == "SCOPE"


def test_different_core_settings_stay_apart():
    net = Net(4)
    out = net("Exp", net("Abs", net.data(), attrs={"_op_vectorcore_num": "8"}))
    names, codes = net.clusters(out)
    assert names == [] and set(codes.values()) == {"SETTINGS"}


def test_operators_of_two_frames_are_not_joined():
    net = Net(4)
    x = net.data()
    enter = net("Enter", net("Abs", x), attrs={"frame_name": "loop"})
    inside = net("Neg", enter)
    outside = net("Exp", net("Exit", inside))
    names, codes = net.clusters(outside)
    assert names == []
    assert set(codes.values()) == {"SINGLE"}


def test_fusion_works_inside_a_frame():
    net = Net(4)
    enter = net("Enter", net.data(), attrs={"frame_name": "loop"})
    assert net.clusters(net("Exit", net("Neg", net("Abs", enter))))[0] == [["Abs", "Neg"]]


def test_a_loop_invariant_needs_its_own_frame():
    net = Net(4)
    x, frame = net.data(), {"frame_name": "loop"}
    invariant = net("Enter", x, attrs=frame)
    merge = net("Merge", net("Enter", x, attrs=frame), ("next", 0))
    body = net("Add", net("Abs", merge), invariant)
    net("NextIteration", body, name="next")
    names, _ = net.clusters(net("Exit", merge))
    assert names == [["Abs", "Add"]] or names == []


def test_unsupported_dtypes_and_ranks_have_reasons():
    net = Net(4)
    double = net("Abs", net.data(dtype=DataType.DT_STRING), dtype=DataType.DT_STRING)
    unknown = net("Abs", net("Data", dims=(-2,)), dims=(-2,))
    codes = net.clusters(double, unknown)[1]
    assert codes[double] == "DTYPE" and codes[unknown] == "RANK"


def test_decisions_only_use_listed_codes():
    assert FuseDecision.no("CYCLE", "x").code in CODES
    with pytest.raises(AssertionError):
        FuseDecision.no("NO_SUCH_CODE", "x")
