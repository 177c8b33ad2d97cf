"""The parameters a script gives to NpuOptimizer."""

import logging

import pytest

tf = pytest.importorskip("tensorflow")

from tf_autofuse import log
from tf_autofuse.errors import FlagError
from tf_autofuse.frontend.tensorflow.intercept import with_optimizer

FIELDS = {bool: "b", int: "i", bytes: "s"}


def config_with(**values):
    config = tf.compat.v1.ConfigProto()
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add()
    optimizer.name = "NpuOptimizer"
    for name, value in values.items():
        setattr(optimizer.parameter_map[name], FIELDS[type(value)], value)
    return config


@pytest.mark.parametrize(
    "values",
    [
        {"use_off_line": True, "graph_run_mode": 1, "precision_mode": b"allow_mix_precision"},
        {"use_off_line": 1, "dynamic_input": True, "dynamic_graph_execute_mode": b"lazy_recompile"},
        {"input_shape": b"x:-1,3;y:8,-1", "dynamic_dims": b"1,2;4,8", "dynamic_node_type": 1},
        {"precision_mode": b"allow_mix_precision", "modify_mixlist": b"list.json"},
        {"local_device_list": b"0,1,7", "local_rank_id": 7, "session_device_id": 0},
        {"op_select_implmode": b"high_precision", "optypelist_for_implmode": b"Pooling"},
    ],
)
def test_what_scripts_set_is_taken(values):
    config = with_optimizer(config_with(**values))
    parameters = config.graph_options.rewrite_options.custom_optimizers[0].parameter_map
    assert set(parameters) == set(values)


@pytest.mark.parametrize(
    "values, words",
    [
        ({"graph_run_mode": 2}, ["graph_run_mode is 2", "0, 1"]),
        ({"precision_mode": b"fp17"}, ["precision_mode is 'fp17'", "force_fp16"]),
        ({"precision_mode": True}, ["precision_mode is .b", "bytes (.s)"]),
        ({"use_off_line": b"yes"}, ["use_off_line is .s", "a bool (.b)"]),
        ({"local_device_list": b"0;1"}, ["local_device_list", "0,1,2"]),
        ({"local_rank_id": 8}, ["local_rank_id is 8", "0 to 7"]),
        ({"input_shape": b"x:-1,3"}, ["input_shape", "dynamic_dims and dynamic_node_type"]),
        ({"compile_hybrid_mode": 1}, ["compile_hybrid_mode", "dynamic_node_type 1"]),
        ({"modify_mixlist": b"a"}, ["modify_mixlist", "allow_mix_precision"]),
        ({"optypelist_for_implmode": b"A"}, ["op_select_implmode"]),
        ({"enable_dump": True}, ["enable_dump", "dump_path"]),
        ({"precision_mode": b"force_fp16", "precision_mode_v2": b"fp16"}, ["only one of the two"]),
        ({"mix_compile_mode": True, "iterations_per_loop": 10}, ["iterations_per_loop"]),
    ],
)
def test_what_the_adapter_would_not_take_is_an_error(values, words):
    with pytest.raises(FlagError) as caught:
        with_optimizer(config_with(**values))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_an_unknown_name_is_a_warning_with_the_nearest_one(caplog):
    log.forget_warnings()
    with caplog.at_level(logging.WARNING, "tf_autofuse"):
        with_optimizer(config_with(precison_mode=b"force_fp16"))
    assert "precison_mode" in caplog.text and "did you mean precision_mode?" in caplog.text
