"""Loop settings of the adapter."""

import warnings


def set_iteration_per_loop(sess, train_op, iterations_per_loop=1):
    """The train op to run; on the host every run is one step, whatever the loop length."""
    if iterations_per_loop != 1:
        warnings.warn(
            "iterations_per_loop={} has no effect on the host: each run is one step".format(
                iterations_per_loop
            )
        )
    return train_op


def create_iteration_per_loop_var(train_op):
    """The train op: the host keeps no loop variable."""
    return train_op


def load_iteration_per_loop_var(sess, iterations_per_loop=1):
    """Set the loop length of `create_iteration_per_loop_var`."""
    set_iteration_per_loop(sess, None, iterations_per_loop)


def variable_initializer_in_host(var_list):
    """Initializer of variables that live on the host."""
    import tensorflow as tf

    return tf.compat.v1.variables_initializer(var_list)
