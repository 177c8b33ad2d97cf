"""Loss scaling around an optimizer."""

import tensorflow as tf

_v1 = tf.compat.v1


class NPULossScaleOptimizer(_v1.train.Optimizer):
    """Scales the loss, unscales the gradients, and skips steps whose gradients are not finite."""

    def __init__(self, opt, loss_scale_manager, is_distributed=False):
        super().__init__(
            use_locking=False, name="NPULossScaleOptimizer{}".format(type(opt).__name__)
        )
        self._opt, self._manager = opt, loss_scale_manager

    def compute_gradients(self, loss, var_list=None, **kwargs):
        """Gradients of the loss itself, computed through the scaled one."""
        scale = self._manager.get_loss_scale()
        scaled = (
            (lambda: loss() * tf.cast(scale, loss().dtype))
            if callable(loss)
            else (loss * tf.cast(scale, loss.dtype))
        )
        pairs = self._opt.compute_gradients(scaled, var_list=var_list, **kwargs)
        return [(None if grad is None else _unscale(grad, scale), var) for grad, var in pairs]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """One step of the inner optimizer when all gradients are finite, and the scale's update."""
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        finite = tf.reduce_all(
            [tf.reduce_all(tf.math.is_finite(_values(grad))) for grad, _ in pairs]
        )
        step = _v1.cond(
            finite,
            lambda: tf.group(self._opt.apply_gradients(pairs, global_step=global_step)),
            lambda: tf.group(tf.constant(0)),
        )
        with tf.control_dependencies([step]):
            return tf.group(self._manager.update_loss_scale(finite), name=name)


def _values(grad):
    return grad.values if isinstance(grad, tf.IndexedSlices) else grad


def _unscale(grad, scale):
    factor = 1.0 / tf.cast(scale, tf.float32)
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(
            grad.values * tf.cast(factor, grad.dtype), grad.indices, grad.dense_shape
        )
    return grad * tf.cast(factor, grad.dtype)
