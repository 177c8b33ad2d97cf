"""All names that NPU scripts take by ``from npu_bridge.npu_init import *``."""

import tensorflow as tf
from hccl.manage.api import (
    create_group,
    destroy_group,
    get_group_rank_from_world_rank,
    get_local_rank_id,
    get_local_rank_size,
    get_rank_id,
    get_rank_size,
    get_world_rank_from_group_rank,
)
from hccl.split.api import set_split_strategy_by_idx, set_split_strategy_by_size
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from npu_bridge.estimator import npu_ops, npu_unary_ops
from npu_bridge.estimator.npu import (
    keras_to_npu,
    npu_plugin,
    npu_rnn,
    npu_scope,
    npu_strategy,
    util,
)
from npu_bridge.estimator.npu.npu_callbacks import NPUBroadcastGlobalVariablesCallback
from npu_bridge.estimator.npu.npu_config import (
    DumpConfig,
    DynamicInputConfig,
    ExperimentalConfig,
    MemoryConfig,
    NPURunConfig,
    ProfilingConfig,
)
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator, NPUEstimatorSpec
from npu_bridge.estimator.npu.npu_hook import (
    NPUBroadcastGlobalVariablesHook,
    NPUCheckpointSaverHook,
    NPUEmptyHook,
    NPULogOutfeedSessionHook,
    NPUOutputTensorHook,
    NPUShutdownHook,
    SetIterationsVarHook,
    TellMeStepOrLossHook,
)
from npu_bridge.estimator.npu.npu_loss_scale_manager import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import (
    KerasDistributeOptimizer,
    NPUDistributedOptimizer,
    NPUOptimizer,
    npu_allreduce,
    npu_distributed_optimizer_wrapper,
    npu_keras_optimizer,
    npu_tf_optimizer,
)
from npu_bridge.estimator.npu.npu_strategy import NPUStrategy
from npu_bridge.hccl import hccl_ops
from npu_bridge.profiler import profiler
from npu_bridge.scoped_graph_manager import scoped_graph_manager

__all__ = [
    "DumpConfig",
    "DynamicInputConfig",
    "ExperimentalConfig",
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "KerasDistributeOptimizer",
    "MemoryConfig",
    "NPUBroadcastGlobalVariablesCallback",
    "NPUBroadcastGlobalVariablesHook",
    "NPUCheckpointSaverHook",
    "NPUDistributedOptimizer",
    "NPUEmptyHook",
    "NPUEstimator",
    "NPUEstimatorSpec",
    "NPULogOutfeedSessionHook",
    "NPULossScaleOptimizer",
    "NPUOptimizer",
    "NPUOutputTensorHook",
    "NPURunConfig",
    "NPUShutdownHook",
    "NPUStrategy",
    "NpuEmptyHook",
    "ProfilingConfig",
    "RewriterConfig",
    "SetIterationsVarHook",
    "TellMeStepOrLossHook",
    "close_session",
    "create_group",
    "destroy_group",
    "get_group_rank_from_world_rank",
    "get_local_rank_id",
    "get_local_rank_size",
    "get_npu_local_rank_id",
    "get_npu_local_rank_size",
    "get_npu_rank_id",
    "get_npu_rank_size",
    "get_rank_id",
    "get_rank_size",
    "get_world_rank_from_group_rank",
    "hccl_ops",
    "init_resource",
    "keras_to_npu",
    "npu_allreduce",
    "npu_callbacks_append",
    "npu_clear_session",
    "npu_config_proto",
    "npu_distributed_optimizer_wrapper",
    "npu_graph_options",
    "npu_hooks_append",
    "npu_keras_optimizer",
    "npu_ops",
    "npu_optimizer_options",
    "npu_plugin",
    "npu_rnn",
    "npu_run_config_init",
    "npu_scope",
    "npu_strategy",
    "npu_tf_optimizer",
    "npu_unary_ops",
    "profiler",
    "scoped_graph_manager",
    "set_keras_session_npu_config",
    "set_split_strategy_by_idx",
    "set_split_strategy_by_size",
    "shutdown_resource",
    "util",
]

_v1 = tf.compat.v1

NpuEmptyHook = NPUEmptyHook
get_npu_rank_id, get_npu_rank_size = get_rank_id, get_rank_size
get_npu_local_rank_id, get_npu_local_rank_size = get_local_rank_id, get_local_rank_size


def npu_config_proto(config_proto=None):
    """The given ConfigProto (new for None), carrying NpuOptimizer, set up for the NPU."""
    config = (
        config_proto if config_proto is not None else _v1.ConfigProto(allow_soft_placement=True)
    )
    npu_graph_options(config.graph_options)
    return config


def npu_graph_options(graph_options=None):
    """The given GraphOptions (new for None), carrying NpuOptimizer."""
    options = graph_options if graph_options is not None else _v1.GraphOptions()
    rewrite = options.rewrite_options
    if not any(item.name == "NpuOptimizer" for item in rewrite.custom_optimizers):
        rewrite.custom_optimizers.add().name = "NpuOptimizer"
    rewrite.remapping = RewriterConfig.OFF
    rewrite.memory_optimization = RewriterConfig.OFF
    npu_optimizer_options(options.optimizer_options)
    return options


def npu_optimizer_options(optimizer_options=None):
    """The given OptimizerOptions (new for None) without just-in-time compilation."""
    options = optimizer_options if optimizer_options is not None else _v1.OptimizerOptions()
    options.global_jit_level = _v1.OptimizerOptions.OFF
    return options


def npu_run_config_init(run_config=None):
    """A run configuration whose sessions carry NpuOptimizer; needs tf.estimator."""
    config = run_config if run_config is not None else NPURunConfig()
    return config.replace(session_config=npu_config_proto(config.session_config))


def npu_hooks_append(hooks_list=None):
    """The given hooks and the one that would send variables to the other ranks."""
    hooks = list(hooks_list) if isinstance(hooks_list, (list, tuple)) else []
    return hooks + [NPUBroadcastGlobalVariablesHook(0, get_rank_id())]


def npu_callbacks_append(callbacks_list=None):
    """The given Keras callbacks and the one that would send variables to the other ranks."""
    callbacks = list(callbacks_list) if isinstance(callbacks_list, (list, tuple)) else []
    return callbacks + [NPUBroadcastGlobalVariablesCallback(0)]


def init_resource(server_def=None, config=None):
    """A session in a graph of its own and the op that would shut the device down."""
    graph = tf.Graph()
    with graph.as_default():
        start, stop = npu_ops.initialize_system(), npu_ops.shutdown_system()
    session = _v1.Session(graph=graph, config=npu_config_proto(config))
    session.run(start)
    return session, stop


def shutdown_resource(sess, npu_shutdown):
    """Run the op of `init_resource`."""
    sess.run(npu_shutdown)


def close_session(sess):
    """Close a session of `init_resource` or `set_keras_session_npu_config`."""
    sess.close()


def set_keras_session_npu_config(config=None):
    """Give Keras a session that carries NpuOptimizer, and return it (graph mode only)."""
    session = _v1.Session(config=npu_config_proto(config))
    _v1.keras.backend.set_session(session)
    return session


def npu_clear_session(config=None):
    """Forget Keras' graph and session, then set a new session as above."""
    _v1.keras.backend.clear_session()
    return set_keras_session_npu_config(config)
