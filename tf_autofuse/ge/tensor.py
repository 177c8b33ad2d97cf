"""Shape, TensorDesc and Tensor with the face of GE's Python package."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from tf_autofuse.ge.types import NUMPY_OF, DataType, Format

UNKNOWN_DIM = -1
UNKNOWN_RANK = -2

_ND = Format.FORMAT_ND


class Shape:
    """Dimension sizes; -1 is unknown, [-2] an unknown rank, [] a scalar."""

    __slots__ = ("_dims",)

    def __init__(self, dims: Optional[Sequence[int]] = None) -> None:
        self._dims = list(dims or ())

    @property
    def dims(self) -> List[int]:
        """The sizes as a new list."""
        return list(self._dims)

    def get_dims(self) -> List[int]:
        """The sizes as a new list."""
        return list(self._dims)

    def get_dim_num(self) -> int:
        """The rank; 0 for an unknown rank."""
        return 0 if self._dims == [UNKNOWN_RANK] else len(self._dims)

    def get_dim(self, index: int) -> int:
        """Size of one axis; 0 when the shape has no such axis."""
        return self._dims[index] if 0 <= index < len(self._dims) else 0

    def get_shape_size(self) -> int:
        """Number of elements, -1 when a size is unknown."""
        if any(dim < 0 for dim in self._dims):
            return -1
        size = 1
        for dim in self._dims:
            size *= dim
        return size

    def __len__(self) -> int:
        return len(self._dims)

    def __iter__(self) -> Iterator[int]:
        return iter(self._dims)

    def __getitem__(self, index: int) -> int:
        return self._dims[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shape):
            return self._dims == other._dims
        if isinstance(other, (list, tuple)):
            return self._dims == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Shape({})".format(self._dims)


class TensorDesc:
    """Shape, format and element type of one tensor, before and after GE's own format changes."""

    __slots__ = ("_dims", "_format", "_dtype", "_origin_dims", "_origin_format", "_attrs", "_raw")

    def __init__(
        self,
        shape: Optional[Sequence[int]] = None,
        format: Format = _ND,
        data_type: DataType = DataType.DT_FLOAT,
    ) -> None:
        self._dims: Tuple[int, ...] = tuple(shape or ())
        self._format = format
        self._dtype = data_type
        self._origin_dims: Optional[Tuple[int, ...]] = None  # None: not initialised
        self._origin_format = format
        self._attrs: Optional[Dict[str, Any]] = None
        self._raw: Any = None  # message with fields outside of this class, never changed

    @property
    def shape(self) -> Shape:
        """The shape (a copy)."""
        return Shape(self._dims)

    @property
    def origin_shape(self) -> Shape:
        """The shape the framework gave (a copy); [] when not initialised."""
        return Shape(self._origin_dims)

    @property
    def format(self) -> Format:
        """The storage format."""
        return self._format

    @property
    def origin_format(self) -> Format:
        """The format the framework gave."""
        return self._origin_format

    @property
    def data_type(self) -> DataType:
        """The element type."""
        return self._dtype

    def set_shape(self, shape: Sequence[int]) -> "TensorDesc":
        """Set the shape from a list or Shape; returns self."""
        self._dims = tuple(shape)
        return self

    def set_origin_shape(self, shape: Sequence[int]) -> "TensorDesc":
        """Set the origin shape from a list or Shape; returns self."""
        self._origin_dims = tuple(shape)
        return self

    def set_format(self, format: Format) -> "TensorDesc":
        """Set the storage format; returns self."""
        self._format = format
        return self

    def set_origin_format(self, format: Format) -> "TensorDesc":
        """Set the origin format; returns self."""
        self._origin_format = format
        return self

    def set_data_type(self, data_type: DataType) -> "TensorDesc":
        """Set the element type; returns self."""
        self._dtype = data_type
        return self

    def __repr__(self) -> str:
        return "TensorDesc({}, {}, {})".format(
            list(self._dims), self._format.name, self._dtype.name
        )

    def copy(self) -> "TensorDesc":
        """An independent copy with all attributes."""
        new = TensorDesc.__new__(TensorDesc)
        new._dims = self._dims
        new._format = self._format
        new._dtype = self._dtype
        new._origin_dims = self._origin_dims
        new._origin_format = self._origin_format
        new._attrs = dict(self._attrs) if self._attrs else None
        new._raw = self._raw
        return new


_REFUSED = (DataType.DT_DOUBLE, DataType.DT_BF16, DataType.DT_COMPLEX64, DataType.DT_COMPLEX128)


class Tensor:
    """A tensor value. `data` is the nested list; `numpy()` the array (bfloat16 as uint16)."""

    __slots__ = ("_desc", "_bytes")

    def __init__(
        self,
        data: Optional[list] = None,
        file_path: Optional[str] = None,
        data_type: DataType = DataType.DT_FLOAT,
        format: Format = _ND,
        shape: Optional[Sequence[int]] = None,
    ) -> None:
        if data_type in _REFUSED or data_type not in NUMPY_OF:
            raise ValueError("Unsupported data type: {}".format(data_type.name))
        dtype = NUMPY_OF[data_type]
        if file_path is not None:
            array = np.fromfile(file_path, dtype=dtype)
        else:
            array = np.asarray([] if data is None else data, dtype=dtype)
        if shape is not None:
            array = array.reshape(list(shape))
        self._desc = TensorDesc(array.shape, format, data_type).set_origin_shape(array.shape)
        self._bytes = array.tobytes()

    @classmethod
    def from_numpy(cls, array: np.ndarray, data_type: DataType) -> "Tensor":
        """A tensor of any type held by numpy; `array` must have the type `numpy_dtype` names."""
        if array.dtype != NUMPY_OF[data_type]:
            raise ValueError("{} does not hold {}".format(array.dtype, data_type.name))
        desc = TensorDesc(array.shape, _ND, data_type).set_origin_shape(array.shape)
        return cls._make(desc, array.tobytes())

    @classmethod
    def _make(cls, desc: TensorDesc, raw: bytes) -> "Tensor":
        new = cls.__new__(cls)
        new._desc = desc
        new._bytes = raw
        return new

    def numpy(self) -> np.ndarray:
        """The value as a new array, shape as described; ValueError when the bytes do not fit it."""
        dtype = NUMPY_OF.get(self._desc._dtype)
        if dtype is None:
            raise ValueError("no numpy type holds {}".format(self._desc._dtype.name))
        return np.frombuffer(self._bytes, dtype=dtype).reshape(self._desc._dims).copy()

    @property
    def data(self) -> Any:
        """The value as nested lists (a number for a scalar)."""
        return self.numpy().tolist()

    @property
    def shape(self) -> Shape:
        """The shape (a copy)."""
        return self._desc.shape

    @property
    def format(self) -> Format:
        """The storage format."""
        return self._desc._format

    @property
    def data_type(self) -> DataType:
        """The element type."""
        return self._desc._dtype

    @property
    def raw_data(self) -> bytes:
        """The bytes in memory order."""
        return self._bytes

    def get_tensor_desc(self) -> TensorDesc:
        """The description (a copy)."""
        return self._desc.copy()
