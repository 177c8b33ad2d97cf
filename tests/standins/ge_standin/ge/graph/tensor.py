"""Shape, TensorDesc and Tensor over the messages of ge_ir.proto."""
import numpy as np

from tf_autofuse.ge.proto import ge as proto

from .types import DataType, Format, of_layout, of_proto, to_layout, to_proto

_NUMPY = {
    DataType.DT_FLOAT: "float32", DataType.DT_FLOAT16: "float16", DataType.DT_INT8: "int8",
    DataType.DT_INT32: "int32", DataType.DT_UINT8: "uint8", DataType.DT_INT16: "int16",
    DataType.DT_UINT16: "uint16", DataType.DT_UINT32: "uint32", DataType.DT_INT64: "int64",
    DataType.DT_UINT64: "uint64", DataType.DT_DOUBLE: "float64", DataType.DT_BOOL: "bool",
}  # fmt: skip


class Shape(list):
    """A list with two helpers; it has no attribute `dims`."""

    def __init__(self, dims=None):
        dims = [] if dims is None else dims
        if not isinstance(dims, list) or not all(isinstance(dim, int) for dim in dims):
            raise TypeError("dims must be a list of integers")
        super().__init__(dims)

    def is_unknown_shape(self):
        """Whether a size or the rank is unknown."""
        return any(dim < 0 for dim in self)


class TensorDesc:
    """Always a copy: change it, then hand it to `update_*_desc`."""

    def __init__(self, shape=None, format=Format.FORMAT_ND, data_type=DataType.DT_FLOAT):
        if not isinstance(format, Format):
            raise TypeError("Format must be a Format")
        if not isinstance(data_type, DataType):
            raise TypeError("Data type must be a DataType")
        self._message = proto.TensorDescriptor(layout=to_layout(format), dtype=to_proto(data_type))
        self._message.shape.dim.extend(Shape(shape))

    @classmethod
    def _of(cls, message):
        desc = cls()
        desc._message = proto.TensorDescriptor()
        desc._message.CopyFrom(message)
        return desc

    def __copy__(self):
        raise RuntimeError("TensorDesc does not support copy")

    def __deepcopy__(self, memo):
        raise RuntimeError("TensorDesc does not support deepcopy")

    @property
    def shape(self):
        return Shape(list(self._message.shape.dim))

    @property
    def origin_shape(self):
        return Shape(list(self._message.attr["origin_shape"].list.i))

    @property
    def format(self):
        return of_layout(self._message.layout)

    @property
    def origin_format(self):
        return of_layout(self._message.attr["origin_format"].s.decode())

    @property
    def data_type(self):
        return of_proto(self._message.dtype)

    def set_shape(self, shape):
        del self._message.shape.dim[:]
        self._message.shape.dim.extend(Shape(shape))
        return self


class Tensor:
    """A constant. `data` goes through text with six decimals and reads no bool and no bfloat16."""

    def __init__(self, message=None):
        self._message = proto.TensorDef() if message is None else message

    @property
    def shape(self):
        return Shape(list(self._message.desc.shape.dim))

    @property
    def data_type(self):
        return of_proto(self._message.desc.dtype)

    def get_tensor_desc(self):
        return TensorDesc._of(self._message.desc)

    @property
    def data(self):
        dtype = _NUMPY.get(self.data_type)
        if dtype is None or not self._message.data:
            raise ValueError("Input must start with '[' and end with ']'")
        flat = np.frombuffer(self._message.data, dtype)
        values = [_number(_text(item)) for item in flat.tolist()]
        if self.shape:
            return np.array(values, object).reshape(self.shape).tolist()
        if len(values) != 1:
            raise ValueError("Scalar tensor should contain exactly one element")
        return values[0]


def _text(item):
    if isinstance(item, bool):
        return "true" if item else "false"
    return "%d" % item if isinstance(item, int) else "%f" % item


def _number(text):
    return int(text) if text.lstrip("-").isdigit() else float(text)
