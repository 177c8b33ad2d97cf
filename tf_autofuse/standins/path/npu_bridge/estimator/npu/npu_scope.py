"""Scopes of the adapter. Only `disable_autofuse` changes something on the host."""

import contextlib

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

DISABLE_AUTOFUSE = "_disable_autofuse_scope"


@contextlib.contextmanager
def disable_autofuse():
    """Operators made inside stay out of fused kernels."""
    graph = tf.compat.v1.get_default_graph()
    with graph._attr_scope({DISABLE_AUTOFUSE: attr_value_pb2.AttrValue(b=True)}):
        yield


@contextlib.contextmanager
def _no_effect(*_args, **_kwargs):
    """A scope that says where or how the NPU computes: nothing to say to the CPU."""
    yield


without_npu_compile_scope = _no_effect
npu_variable_scope = _no_effect
keep_dtype_scope = _no_effect
npu_stage_scope = _no_effect
npu_mem_type_scope = _no_effect
npu_weight_prefetch_scope = _no_effect
op_specified_engine_scope = _no_effect
npu_qos_label_scope = _no_effect
subgraph_multi_dims_scope = _no_effect
npu_optimizer_scope = _no_effect
npu_recompute_scope = _no_effect
npu_graph_slice_scope = _no_effect
limit_core_num_scope = _no_effect
