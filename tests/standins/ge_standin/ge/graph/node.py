"""Node: a new wrapper at every call, dead once the node left its graph."""
from .attr import of_message, to_message
from .tensor import TensorDesc


class Node:
    """Wrappers of one node are not equal; compare names."""

    def __init__(self):
        raise RuntimeError("Node objects should not be created directly.")

    @classmethod
    def _of(cls, op):
        node = cls.__new__(cls)
        node._op = op
        return node

    def _live(self):
        if self._op.graph is None:
            raise RuntimeError("Failed to get Node name")
        return self._op

    def __copy__(self):
        raise RuntimeError("Node does not support copy")

    def __deepcopy__(self, memo):
        raise RuntimeError("Node does not support deepcopy")

    @property
    def name(self):
        return self._live().name

    @property
    def type(self):
        return self._live().type

    def get_inputs_size(self):
        return len(self._live().inputs)

    def get_outputs_size(self):
        return len(self._live().output_descs)

    def get_in_control_nodes(self):
        return [Node._of(op) for op in self._live().controls]

    def get_out_control_nodes(self):
        return [Node._of(op) for op in self._live().control_consumers()]

    def get_in_data_nodes_and_port_indexes(self, in_index):
        _integer(in_index)
        inputs = self._live().inputs
        if not 0 <= in_index < len(inputs) or inputs[in_index] is None:
            raise RuntimeError("Failed to get input data node for index {}".format(in_index))
        op, port = inputs[in_index]
        return Node._of(op), port

    def get_out_data_nodes_and_port_indexes(self, out_index):
        _integer(out_index)
        return [(Node._of(op), port) for op, port in self._live().data_consumers(out_index)]

    def has_attr(self, attr_name):
        _text(attr_name)
        return attr_name in self._live().attrs

    def get_attr(self, key):
        _text(key)
        if key not in self._live().attrs:
            raise RuntimeError("Failed to get attribute '{}' from Node".format(key))
        return of_message(self._op.attrs[key])

    def set_attr(self, key, value):
        _text(key)
        self._live().attrs[key] = to_message(value)

    def get_input_desc(self, index):
        return TensorDesc._of(_at(self._live().input_descs, index))

    def get_output_desc(self, index):
        return TensorDesc._of(_at(self._live().output_descs, index))

    def update_output_desc(self, index, tensor_desc):
        if not isinstance(tensor_desc, TensorDesc):
            raise TypeError("tensor_desc must be a TensorDesc")
        message = _at(self._live().output_descs, index)
        message.shape.CopyFrom(tensor_desc._message.shape)
        message.layout, message.dtype = tensor_desc._message.layout, tensor_desc._message.dtype

    def get_output_attr(self, attr_name, index):
        message = _at(self._live().output_descs, index)
        if attr_name not in message.attr:
            raise RuntimeError("Failed to get output attribute '{}'".format(attr_name))
        return of_message(message.attr[attr_name])


def _integer(value):
    if not isinstance(value, int):
        raise TypeError("index must be an integer")


def _text(value):
    if not isinstance(value, str):
        raise TypeError("Attribute key must be a string")


def _at(items, index):
    _integer(index)
    if not 0 <= index < len(items):
        raise RuntimeError("Failed to get desc for index {}".format(index))
    return items[index]
