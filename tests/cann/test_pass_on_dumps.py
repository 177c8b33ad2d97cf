"""The pass inside a stand-in GE, on graphs that GE wrote."""
import os

import pytest
from ge_process import ROOT, compile_air

DUMPS = os.path.join(ROOT, "tests", "data", "ge_dumps")
CHAIN = "rewrite_abs_relu_exp/rewrite_abs_relu_exp_before"


def compile_dump(tmp_path, name, **kwargs):
    return compile_air(os.path.join(DUMPS, name + ".air"), tmp_path, **kwargs)


def test_a_chain_becomes_one_node(tmp_path):
    done = compile_dump(tmp_path, CHAIN)
    assert done.code == 0, done.text
    assert done.text.strip().endswith("success;")
    node = done.fused()
    assert node.name == "autofused_pointwise_0_Abs_Relu_Exp_Exp_Relu_Abs_0"
    assert node.get_attr("op_types") == ["Abs", "Relu", "Exp"]
    assert node.get_attr("_datadump_original_op_types") == ["Exp", "Relu", "Abs"]
    assert node.get_attr("pass_name") == ["TfAutofusePass"]
    desc = node.get_output_desc(0)
    assert (desc.shape.dims, desc.origin_shape.dims) == ([128, 192], [128, 192])
    assert (desc.data_type.name, desc.format.name) == ("DT_FLOAT16", "FORMAT_ND")
    assert desc.origin_format.name == "FORMAT_ND"


def test_two_inputs_are_read_in_their_shapes(tmp_path):
    done = compile_dump(tmp_path, "rewrite_abs_add_relu/rewrite_abs_add_relu_before")
    node = done.fused()
    producers = [node.get_in_data_nodes_and_port_indexes(port)[0].name for port in (0, 1)]
    shapes = "/".join({"x": "0.1", "y": "1"}[name] for name in producers)
    assert node.get_attr("spec") == "v1;axes=2;groups=0,1;in=%s;out=0.1;" % shapes


def test_reduction_axes_are_a_const_input(tmp_path):
    done = compile_dump(tmp_path, "abs_reduce_sum/abs_reduce_sum")
    assert done.fused().get_attr("kernel_class") == "reduce"


def test_control_edges_come_along(tmp_path):
    done = compile_dump(tmp_path, "rewrite_ctrl/rewrite_ctrl_before")
    (before,) = done.fused().get_in_control_nodes()
    assert before.type == "NoOp"
    assert {node.name for node in before.get_in_control_nodes()} == {"init", "init_1"}
    after = done.nodes()["net/Neg"].get_in_control_nodes()
    assert "NoOp" in {node.type for node in after}


@pytest.mark.parametrize(
    "name, fused",
    [
        ("control_if", {"control_if": 0, "cond_false_0": 0, "cond_true_0": 1}),
        ("control_while", {"control_while": 0, "while_body_0": 0, "while_cond_0": 0,
                           "while_body_0_call_f": 0}),
    ],
)  # fmt: skip
def test_every_graph_is_handed_over_once(tmp_path, name, fused):
    done = compile_dump(tmp_path, "{0}/{0}".format(name))
    assert done.code == 0, done.text
    for graph in fused:
        assert done.text.count("pass TfAutofusePass on {}: success".format(graph)) == 1
    graphs = [done.graph] + done.graph.get_all_subgraphs()
    counts = {graph.name: len(done.nodes("AutofusedKernel", graph)) for graph in graphs}
    assert counts == fused


def test_what_is_not_understood_is_left_alone(tmp_path):
    """Unknown sizes and ranks, unreadable attributes, an open optional input, private formats."""
    done = compile_dump(tmp_path, "mixed/mixed")
    assert done.code == 0, done.text
    nodes = done.nodes()
    kept = {"attr_zoo": "MyCustomOp", "trans": "TransData", "dense/MatMul": "MatMulV2",
            "top_k": "TopKV2"}  # fmt: skip
    assert {name: nodes[name].type for name in kept} == kept
    types = [node.get_attr("op_types") for node in done.nodes("AutofusedKernel").values()]
    assert types == [["Relu", "Mul", "SelectV2", "Cast", "Split"]]


def test_without_the_flag_nothing_changes(tmp_path):
    done = compile_dump(tmp_path, CHAIN, flags="")
    assert done.code == 0
    assert not done.nodes("AutofusedKernel")
