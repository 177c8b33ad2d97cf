"""Values that depend on where a point lies: coordinates, intervals, and what they guard."""
from __future__ import annotations

from typing import Any, Tuple

from tf_autofuse.kernel.ir import Compute, EdgeOf, Fill, Points
from tf_autofuse.loop.ir import Index, Inside, Load
from tf_autofuse.schedule.expand import register_type


def guards(builder: Any, value: Load) -> Tuple[Tuple[int, str], ...]:
    """Intervals of axes that the tile of a load walks, or that are loops around it."""
    found = []
    for name in value.when:
        interval = builder.by_name[name]
        assert isinstance(interval, Inside)
        (axis,) = interval.axes
        if axis in value.walked or axis not in (builder.y, builder.x):
            found.append((interval.number, axis))
    return tuple(found)


def index(builder: Any, value: Index) -> str:
    """The buffer of a coordinate."""
    points = _points(builder, value.axes[0], "int32", False)
    if value.dtype == "int32":
        return points
    wide = builder.new(register_type(value.dtype, value.name), builder.shape(value.axes))
    builder.scope.append(Compute("cast", wide, (points,)))
    return wide


def inside(builder: Any, value: Inside) -> str:
    """The buffer of an interval: 1 where a coordinate is inside, else 0."""
    (axis,), shape = value.axes, builder.shape(value.axes)
    points = _points(builder, axis, "float32", True)
    found = builder.new("float16", shape)
    builder.scope.append(Fill(found, 1.0))
    for op, end in (("ges", "low"), ("lts", "high")):
        mask, both = builder.new("mask", shape), builder.new("float16", shape)
        builder.scope.append(Compute(op, mask, (points,), EdgeOf(value.number, end, axis)))
        builder.scope.append(Compute("selects", both, (mask, found), 0.0))
        found = both
    return found


def _points(builder: Any, axis: str, dtype: str, counted: bool) -> str:
    """Coordinates along an axis; of a loop around the tile there is one."""
    points = builder.new(dtype, builder.shape((axis,)))
    builder.scope.append(Points(points, axis, counted))
    return points
