"""Names for scripts that stay with sessions in TensorFlow 2."""

import tensorflow as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig


class SessionConfigBuilder:
    """A session config that carries NpuOptimizer, and its parameters."""

    def __init__(self, config=None):
        given = isinstance(config, tf.compat.v1.ConfigProto)
        config = config if given else tf.compat.v1.ConfigProto(allow_soft_placement=True)
        self.session_config = config
        config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
        self._optimizer = config.graph_options.rewrite_options.custom_optimizers.add()
        self._optimizer.name = "NpuOptimizer"

    @property
    def parameter_map(self):
        """Parameters of NpuOptimizer by name."""
        return self._optimizer.parameter_map
