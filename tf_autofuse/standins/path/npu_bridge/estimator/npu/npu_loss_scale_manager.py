"""How a loss scale changes over the steps."""

import tensorflow as tf

_v1 = tf.compat.v1


class FixedLossScaleManager:
    """A scale that stays."""

    def __init__(self, loss_scale, enable_overflow_check=True):
        self._scale = tf.convert_to_tensor(loss_scale, dtype=tf.float32)
        self.enable_overflow_check = enable_overflow_check

    def get_loss_scale(self):
        """Scalar float32 tensor."""
        return self._scale

    def update_loss_scale(self, finite_grads):
        """Nothing changes."""
        return _v1.no_op()


class ExponentialUpdateLossScaleManager:
    """A scale that grows after good steps and shrinks after overflows."""

    def __init__(
        self,
        init_loss_scale,
        incr_every_n_steps,
        decr_every_n_nan_or_inf=2,
        incr_ratio=2,
        decr_ratio=0.8,
    ):
        def counter(name, value, dtype):
            return _v1.get_variable(name, initializer=tf.constant(value, dtype), trainable=False)

        with _v1.variable_scope("loss_scale_manager", reuse=_v1.AUTO_REUSE):
            self._scale = counter("loss_scale", float(init_loss_scale), tf.float32)
            self._good = counter("good_steps", 0, tf.int32)
            self._bad = counter("bad_steps", 0, tf.int32)
        self._every, self._limit = incr_every_n_steps, decr_every_n_nan_or_inf
        self._up, self._down = incr_ratio, decr_ratio

    def get_loss_scale(self):
        """The float32 variable of the scale."""
        return self._scale

    def update_loss_scale(self, finite_grads):
        """Op that counts this step (`finite_grads`: bool scalar) and moves the scale when due."""
        good = tf.where(finite_grads, self._good + 1, 0)
        bad = tf.where(finite_grads, self._bad, self._bad + 1)
        grow, shrink = good >= self._every, bad >= self._limit
        scale = tf.where(grow, self._scale * self._up, self._scale)
        scale = tf.where(shrink, tf.maximum(self._scale * self._down, 1.0), scale)
        moved = tf.logical_or(grow, shrink)
        return tf.group(
            _v1.assign(self._scale, scale),
            _v1.assign(self._good, tf.where(moved, 0, good)),
            _v1.assign(self._bad, tf.where(moved, 0, bad)),
        )
