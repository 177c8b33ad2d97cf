"""Optimizers for several ranks: with one rank they are the optimizer they wrap."""

import tensorflow as tf

from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer

_v1 = tf.compat.v1


class NPUDistributedOptimizer(_v1.train.Optimizer):
    """Hands every call to the wrapped optimizer: the mean over one rank is the gradient itself."""

    def __init__(self, optimizer, is_weight_update_sharding=False, name=None):
        super().__init__(
            name=name or "Distributed{}".format(type(optimizer).__name__), use_locking=False
        )
        self._optimizer = optimizer

    def compute_gradients(self, *args, **kwargs):
        """As the wrapped optimizer's."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args, **kwargs):
        """As the wrapped optimizer's."""
        return self._optimizer.apply_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        """As the wrapped optimizer's."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        """As the wrapped optimizer's."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args, **kwargs):
        """As the wrapped optimizer's."""
        return self._optimizer.variables(*args, **kwargs)


class NPUOptimizer(NPUDistributedOptimizer):
    """The wrapped optimizer, with loss scaling when asked for."""

    def __init__(
        self,
        opt,
        loss_scale_manager=None,
        is_distributed=False,
        is_loss_scale=False,
        is_tailing_optimization=False,
        name=None,
    ):
        scaled = NPULossScaleOptimizer(opt, loss_scale_manager) if is_loss_scale else opt
        super().__init__(scaled, name=name or "NPUOptimizer{}".format(type(opt).__name__))


def KerasDistributeOptimizer(optimizer, name="NpuKerasOptimizer"):  # noqa: N802 (its name)
    """The Keras optimizer itself: one rank."""
    return optimizer


def npu_distributed_optimizer_wrapper(optimizer):
    """The optimizer itself: one rank."""
    return optimizer


def npu_tf_optimizer(opt):
    """The optimizer as one for several ranks."""
    return NPUDistributedOptimizer(opt)


def npu_keras_optimizer(opt):
    """The Keras optimizer as one for several ranks."""
    return KerasDistributeOptimizer(opt)


def npu_allreduce(values, reduction="mean", fusion=1, fusion_id=-1, group="hccl_world_group"):
    """Mean over one rank: the values."""
    return values
