"""TensorProto values as ge.Tensor."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from tf_autofuse.errors import IRError
from tf_autofuse.frontend.tensorflow.op_types import ge_dtype
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import NUMPY_OF, DataType

# The typed list that holds a value when it is not stored as bytes; fp16 and bf16 are bit patterns.
_VALUES = {
    DataType.DT_FLOAT: "float_val",
    DataType.DT_DOUBLE: "double_val",
    DataType.DT_FLOAT16: "half_val",
    DataType.DT_BF16: "half_val",
    DataType.DT_INT8: "int_val",
    DataType.DT_UINT8: "int_val",
    DataType.DT_INT16: "int_val",
    DataType.DT_UINT16: "int_val",
    DataType.DT_INT32: "int_val",
    DataType.DT_INT64: "int64_val",
    DataType.DT_UINT32: "uint32_val",
    DataType.DT_UINT64: "uint64_val",
    DataType.DT_BOOL: "bool_val",
}


_MAX_REPEATED = 1 << 25  # elements


def tensor_value(proto: Any, node: str) -> Optional[Tensor]:
    """The value of a TensorProto; None for types that are no plain numbers (strings, resources).

    A value list shorter than the shape repeats its last element, of a longer one the end is not
    used (ones without elements keep their 1), an absent one means zeros; None also where that would
    take a few bytes to gigabytes.
    Raises IRError, naming `node`, when shape and data do not fit.
    """
    dtype = ge_dtype(proto.dtype)
    field = _VALUES.get(dtype)
    if field is None:
        return None
    shape = [dim.size for dim in proto.tensor_shape.dim]
    if any(size < 0 for size in shape):
        raise IRError("the constant has shape {}".format(shape), node=node, stage="import")
    count = 1
    for size in shape:
        count *= size
    if count > max(_MAX_REPEATED, proto.ByteSize()):
        return None
    array = _content(proto, dtype) if proto.tensor_content else _list(proto, field, dtype, count)
    if array.size != count:
        message = "the constant has {} elements for shape {}".format(array.size, shape)
        raise IRError(message, node=node, stage="import")
    return Tensor.from_numpy(array.reshape(shape), dtype)


def _content(proto: Any, dtype: DataType) -> np.ndarray:
    width = np.dtype(NUMPY_OF[dtype]).itemsize
    content = proto.tensor_content
    return np.frombuffer(content, NUMPY_OF[dtype], count=len(content) // width)


def _list(proto: Any, field: str, dtype: DataType, count: int) -> np.ndarray:
    values = np.array(getattr(proto, field))
    if field == "half_val":
        values = values.astype(np.uint16).view(NUMPY_OF[dtype])
    else:
        values = values.astype(NUMPY_OF[dtype])
    if values.size == 0:
        return np.zeros(count, NUMPY_OF[dtype])
    if values.size < count:
        return np.concatenate([values, np.full(count - values.size, values[-1])])
    return values[:count]
