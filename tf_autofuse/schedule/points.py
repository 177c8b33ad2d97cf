"""Values that depend on where a point lies: coordinates, intervals, and what they guard."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Optional, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Compute, CopyIn, EdgeOf, Fill, Placed, Points, SizeOf
from tf_autofuse.loop.ir import Count, Index, Inside, Load, Map, Value
from tf_autofuse.schedule.expand import register_type


def guards(builder: Any, value: Load) -> Tuple[Tuple[int, str], ...]:
    """The intervals outside of which a load reads nothing."""
    found = []
    for name in value.when:
        interval = builder.by_name[name]
        assert isinstance(interval, Inside)
        found.append((interval.number, interval.axes[0]))
    return tuple(found)


def needed_guards(builder: Any, value: Load, copy: CopyIn) -> CopyIn:
    """`copy` without the intervals of axes of the tile that its buffer lacks: these only spare
    reading what no point of a tile needs."""
    lacks = {builder.y, builder.x} - set(value.walked)
    return replace(copy, when=tuple(pair for pair in copy.when if pair[1] not in lacks))


def placed(builder: Any, value: Load) -> Optional[Placed]:
    """Where the coordinate of a load comes from that an input holds. ScheduleError unless the load
    has one such coordinate, of whole rows."""
    if not value.at:
        return None
    axis, name = value.at[0]
    source = index_load(builder.by_name, name)
    shape = builder.shape(value.walked + source.axes)
    along = builder.x in source.axes or shape == "y" or value.dims[-1].axis == axis
    if len(value.at) > 1 or along or (shape != "1" and value.dims[-1].axis != builder.x and (
            builder.x in value.walked)):
        raise ScheduleError("no vector form of a gather of single elements", node=value.name,
                            stage="schedule")
    return Placed(axis, source.input, source.axes)


def index_load(by_name: Mapping[str, Value], name: str) -> Load:
    """The load that gives the place called `name`. ScheduleError where that is computed."""
    place = by_name[name]
    source = by_name[place.args[0]]
    if isinstance(source, Map) and source.op == "cast":
        source = by_name[source.args[0]]
    if not isinstance(source, Load) or source.when or source.at or any(
            dim.maybe for dim in source.dims) or source.dtype not in ("int32", "int64"):
        raise ScheduleError("no vector form of a gather at computed coordinates", node=name,
                            stage="schedule")
    return source


def index(builder: Any, value: Index) -> str:
    """The buffer of a coordinate."""
    return _as_wide(builder, value, _points(builder, value.axes[0], "int32", False))


def count(builder: Any, value: Count) -> str:
    """The buffer of a number of points."""
    points = builder.new("int32", builder.shape(()))
    builder.scope.append(Fill(points, SizeOf(value.over)))
    return _as_wide(builder, value, points)


def _as_wide(builder: Any, value: Value, points: str) -> str:
    """The buffer of the int32 numbers `points` in the type of the value."""
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
