"""Small graphs with AutofusedKernel nodes, and sessions that run them on every TensorFlow."""

import tensorflow as tf

tf1 = tf.compat.v1


def fused_node(graph_def, name, inputs, library, spec, in_types, out_types, output_shapes=()):
    """Add an AutofusedKernel node; types are numpy dtypes, shapes lists with None for unknown."""
    node = graph_def.node.add(name=name, op="AutofusedKernel", input=inputs)
    for attr, types in (("Tin", in_types), ("Tout", out_types)):
        numbers = [tf.as_dtype(dtype).as_datatype_enum for dtype in types]
        node.attr[attr].list.type.extend(numbers)
        if not numbers:
            node.attr[attr].list.SetInParent()
    for attr, text in (("kernel_key", "test"), ("spec", spec), ("host_library", library)):
        node.attr[attr].s = text.encode()
    node.attr["output_shapes"].list.SetInParent()
    for shape in output_shapes:
        node.attr["output_shapes"].list.shape.add().CopyFrom(tf.TensorShape(shape).as_proto())
    return node


def fused_graph(
    library, spec, in_types, out_types, in_shapes=None, output_shapes=(), **texts
):
    """(graph, inputs, outputs) with placeholders feeding one fused node named `fused`.

    `texts` are more attributes of the node.
    """
    graph = tf.Graph()
    with graph.as_default():
        shapes = in_shapes or [None] * len(in_types)
        inputs = [
            tf1.placeholder(dtype, shape, name="x%d" % i)
            for i, (dtype, shape) in enumerate(zip(in_types, shapes))
        ]
        graph_def = tf1.GraphDef()
        names = ["x%d" % i for i in range(len(inputs))]
        node = fused_node(
            graph_def, "fused", names, library, spec, in_types, out_types, output_shapes
        )
        for attr, text in texts.items():
            node.attr[attr].s = text.encode()
        mapping = {"x%d" % i: x for i, x in enumerate(inputs)} if inputs else None
        wanted = ["fused:%d" % i for i in range(len(out_types))]
        outputs = tf.graph_util.import_graph_def(
            graph_def, input_map=mapping, return_elements=wanted, name=""
        )
    return graph, inputs, outputs


def optimizer_config(parameters=None):
    """A session config that runs NpuOptimizer on graphs of any size and nothing twice."""
    config = tf1.ConfigProto()
    options = config.graph_options.rewrite_options
    options.min_graph_nodes = -1
    options.meta_optimizer_iterations = 1
    entry = options.custom_optimizers.add(name="NpuOptimizer")
    for key, value in (parameters or {}).items():
        kind = {bool: "b", int: "i", float: "f", bytes: "s"}[type(value)]
        setattr(entry.parameter_map[key], kind, value)
    return config
