"""Cheap operators that several kernels compute: fewer bytes, the same graph."""
from functools import partial

import pytest
from made_up import build_with, libraries
from nets import Net

from tf_autofuse.autofuse import pipeline
from tf_autofuse.cluster.clusterer import find_clusters
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.errors import BuildError
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.ge.types import DataType
from tf_autofuse.report.model import RECORDER
from tf_autofuse.verify.result import VerifyResult
from tf_autofuse.verify.structure import check_pair

FULL = 4 * 128 * 192
ROW = 4 * 192

pytestmark = pytest.mark.usefixtures("no_compiler")


def broadcast():
    """A broadcast row that a product reads, and a kernel behind the product."""
    net = Net(128, 192)
    wide = net("BroadcastTo", net.data(1, 192))
    product = net("MatMulV2", wide)
    return net.graph(net("Exp", net("Add", wide, product)), wide)


def mask():
    """A mask for two kernels with a product between them."""
    net = Net(128, 192)
    x = net.data()
    positive = net("Greater", x, net("Data", dims=(1, 1)), dtype=DataType.DT_BOOL)
    kept = net("Cast", positive, attrs={"dst_type": 0})
    first = net("Exp", net("Mul", x, kept))
    product = net("MatMulV2", first)
    return net.graph(net("Add", net("Tanh", net("Mul", product, kept)), x))


def vanishing():
    """A cast that only two kernels read, which a product keeps apart."""
    net = Net(128, 192)
    narrow = net("MatMulV2", net.data(), dtype=DataType.DT_FLOAT16)
    wide = net("Cast", narrow, attrs={"dst_type": 0})
    product = net("MatMulV2", net("Exp", net("Abs", wide)))
    return net.graph(net("Tanh", net("Add", product, wide)))


def fuse(make):
    """The graph and the report, after a check that the graph says what it said."""
    RECORDER.clear()
    graph = make()
    pipeline.fuse_graph(graph, PassContext("TfAutofusePass"))
    result = VerifyResult()
    check_pair(make()._graph, graph._graph, result)
    assert result.problems == []
    return graph, RECORDER.report({})


def without_copies(monkeypatch, make):
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "find_clusters", lambda view, copies: find_clusters(view, 2, False))
        return fuse(make)


def moved(report):
    return sum(kernel.gm_bytes for kernel in report.kernels)


@pytest.mark.parametrize("make", [broadcast, mask, vanishing])
def test_fewer_bytes_move(monkeypatch, make):
    _, plain = without_copies(monkeypatch, make)
    _, report = fuse(make)
    assert moved(report) < moved(plain)


def test_a_broadcast_is_read_as_the_row(monkeypatch):
    _, plain = without_copies(monkeypatch, broadcast)
    graph, report = fuse(broadcast)
    (kernel,) = report.kernels
    assert kernel.op_types == ("BroadcastTo", "Add", "Exp")
    assert kernel.gm_bytes == 2 * FULL + ROW
    assert sorted(tensor.shape for tensor in kernel.inputs) == [(1, 192), (128, 192)]
    assert "n1_BroadcastTo" in [node.name for node in graph.get_direct_nodes()]
    assert kernel.gm_bytes_unfused == plain.kernels[0].gm_bytes_unfused


def test_a_tensor_that_all_compute_again_is_not_written():
    graph, report = fuse(vanishing)
    types = sorted(kernel.op_types for kernel in report.kernels)
    assert types == [("Cast", "Abs", "Exp"), ("Cast", "Add", "Tanh")]
    assert all(len(kernel.outputs) == 1 for kernel in report.kernels)
    assert "Cast" not in [node.type for node in graph.get_direct_nodes()]


def all_but_one(failing, kernels):
    made = libraries(kernels)
    made[sorted(made)[failing]] = BuildError("no")
    return made


@pytest.mark.parametrize("make", [broadcast, mask, vanishing])
def test_a_kernel_that_does_not_build_leaves_a_whole_graph(monkeypatch, make):
    count = len(fuse(make)[1].kernels)
    for failing in range(count):
        with monkeypatch.context() as patch:
            build_with(patch, partial(all_but_one, failing))
            _, report = fuse(make)
        assert len(report.kernels) == count - 1


def test_costly_operators_are_not_computed_again():
    net = Net(128, 192)
    costly = net("Exp", net("Abs", net.data()))
    product = net("MatMulV2", costly)
    graph = net.graph(net("Tanh", net("Add", product, costly)))
    pipeline.fuse_graph(graph, PassContext("TfAutofusePass"))
    report = RECORDER.report({})
    assert sorted(kernel.op_types for kernel in report.kernels) == [("Abs", "Exp"), ("Add", "Tanh")]


def test_a_view_that_saves_nothing_is_not_tried(monkeypatch):
    """Of two kernels that read a view of a third one's tensor none would read less without it."""
    from tf_autofuse.cluster import recompute

    tried = []
    monkeypatch.setattr(recompute._Recompute, "_accept",
                        lambda self, kernels, copied: tried.append(copied))
    net = Net(128, 192)
    flat = net("Reshape", net("Exp", net("Abs", net.data())), net.data(1), dims=(128 * 192,))
    product = net("MatMulV2", flat, dims=(128 * 192,))
    last = net("Tanh", net("Add", product, flat, dims=(128 * 192,)), dims=(128 * 192,))
    find_clusters(GraphView(net.graph(last)))
    assert tried == []
