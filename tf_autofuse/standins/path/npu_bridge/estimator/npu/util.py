"""Settings that scripts give to graphs, operators and loops."""

import warnings

_values = {}


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


def get_ranksize():
    """Number of ranks."""
    return 1


def set_graph_exec_config(
    fetch,
    dynamic_input=False,
    dynamic_graph_execute_mode="dynamic_execute",
    dynamic_inputs_shape_range=None,
    is_train_graph=False,
    experimental_config=None,
):
    """The fetch itself: kernels of the host take every shape."""
    if dynamic_graph_execute_mode not in ("lazy_recompile", "dynamic_execute"):
        raise ValueError(
            "dynamic_graph_execute_mode is {!r}: allowed is lazy_recompile or "
            "dynamic_execute".format(dynamic_graph_execute_mode)
        )
    return fetch


def npu_compile(sess, *fetches):
    """Run the fetches once, so that their graphs are ready."""
    sess.run(fetches)


def keep_tensors_dtypes(graph, input_tensors):
    """The host never changes a dtype; the names must be tensors of the graph."""
    if not isinstance(input_tensors, (tuple, list)):
        raise ValueError("input_tensors must be a list or tuple of tensor names")
    for name in input_tensors:
        graph.get_tensor_by_name(name)


def set_op_tensor_max_range(tensor, max_shape):
    """Largest shape the device would plan for."""


def set_op_input_tensor_multi_dims(tensor, input_shape, input_dims):
    """Shapes the device would prepare for."""


def set_op_tensor_max_size(tensor, max_size):
    """Largest size the device would plan for."""


def global_dict_init():
    """Forget all values of `set_value`."""
    _values.clear()


def set_value(key, value):
    """Keep a value for the process."""
    _values[key] = value


def get_value(key, def_value=None):
    """A value of `set_value`, or `def_value`."""
    return _values.get(key, def_value)
