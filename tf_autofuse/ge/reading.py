"""Reading graphs that may be GE's own: what its Python face loses on the way is read elsewhere.

GE hands the value of a tensor to Python as text with six decimals, and no bool or bfloat16 at all,
which is useless for constants of a kernel. The exact bytes are in the graph's serialised form.
"""
from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Optional

import numpy as np
from google.protobuf.message import DecodeError

from tf_autofuse.ge.attr import tensor_from_proto
from tf_autofuse.ge.proto import ge
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import DataType
from tf_autofuse.log import get_logger

LOG = get_logger("ge")
CONST_TYPES = ("Const", "Constant")
HOST_PACKAGE = "tf_autofuse.ge"


def is_host(graph: Any) -> bool:
    """True for graphs of the host GraphEngine."""
    return type(graph).__module__.startswith(HOST_PACKAGE)


def dims_of(shape: Any) -> List[int]:
    """Sizes of a Shape; GE's is a list, the host's can be walked like one."""
    return list(shape)


class ConstValues:
    """Exact values of the Const nodes of one graph."""

    def __init__(self, graph: Any):
        self._graph = graph
        self._saved: Optional[Dict[str, Any]] = None

    def read(self, handle: Any) -> Optional[List[Any]]:
        """The elements of a Const as Python numbers, flat; None when they cannot be had."""
        try:
            tensor = self.tensor(handle)
            return None if tensor is None else _elements(tensor)
        except (RuntimeError, ValueError):
            return None

    def repeated(self, handle: Any) -> Any:
        """The value of a Const all of whose elements have the same bits, as a Python number; None
        when they differ, there are none or they cannot be had."""
        try:
            tensor = self.tensor(handle)
            if tensor is None:
                return None
            values = tensor.numpy().reshape(-1)
            bits = values.view("u%d" % values.dtype.itemsize) if values.size else values
        except (RuntimeError, ValueError, TypeError):
            return None
        if not bits.size or bits[-1] != bits[0] or (bits != bits[0]).any():
            return None
        return _numbers(values[:1], tensor.data_type)[0]

    def tensor(self, handle: Any) -> Optional[Tensor]:
        """The value of a Const; None when it has none. RuntimeError when GE does not give it."""
        if is_host(self._graph):
            return handle.get_attr("value") if handle.has_attr("value") else None
        if self._saved is None:
            self._saved = _saved_values(self._graph)
        message = self._saved.get(handle.name)
        return None if message is None else tensor_from_proto(message)


def _elements(tensor: Tensor) -> List[Any]:
    return _numbers(tensor.numpy().reshape(-1), tensor.data_type)


def _numbers(values: Any, dtype: DataType) -> List[Any]:
    if dtype is DataType.DT_BF16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.tolist()


def _saved_values(graph: Any) -> Dict[str, Any]:
    """TensorDef messages of the Const nodes by name; {} when the graph cannot be saved."""
    try:
        model = saved_model(graph)
    except (RuntimeError, OSError) as error:
        LOG.warning("constants of graph %s cannot be read: %s", graph.name, error)
        return {}
    found = [message for message in model.graph if message.name == graph.name]
    return {
        op.name: op.attr["value"].t
        for message in found or list(model.graph)[:1]
        for op in message.op
        if op.type in CONST_TYPES and "value" in op.attr
    }


def saved_model(graph: Any) -> Any:
    """`graph` as a ge.proto.ModelDef, by way of a file: GE's face has no other.

    RuntimeError or OSError when GE cannot write it or what it wrote cannot be read.
    """
    folder = tempfile.mkdtemp(prefix="autofuse_")
    path = os.path.join(folder, "graph.air")
    try:
        graph.save_to_air(path)
        with open(path, "rb") as file:
            return ge.ModelDef.FromString(file.read())
    except DecodeError as error:
        raise RuntimeError("not a serialised graph: {}".format(error)) from error
    finally:
        if os.path.exists(path):
            os.remove(path)
        os.rmdir(folder)
