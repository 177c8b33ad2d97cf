"""How long every operator of a process took, as TensorFlow itself measures it.

From TensorFlow 2.2 on its profiler does; older ones trace every `Session.run` that does not ask
for a trace of its own. Either way an operator's time is that of its Compute call, its helpers on
other threads included.
"""

from __future__ import annotations

import glob
import importlib
import os
import re
import shutil
import tempfile
from typing import Any, Callable, Iterator, List, NamedTuple, Optional

from tf_autofuse.errors import AutofuseError

_VERBOSE = 3  # TensorFlow's level that includes cheap operators
_LABEL = re.compile(r"([^:\s]+):([A-Za-z_]\w*)\Z")
_NODE_LABEL = re.compile(r"\S+ = ([A-Za-z_]\w*)\(")
_XPLANES = ("tensorflow.tsl.profiler.protobuf.xplane_pb2",
            "tensorflow.core.profiler.protobuf.xplane_pb2")  # fmt: skip


class OpTime(NamedTuple):
    """One run of an operator; times in microseconds, `start` since the first one."""

    name: str
    op_type: str
    start: float
    duration: float
    thread: int


class OpTimer:
    """Records from `start` to `stop`; one at a time in a process."""

    def __init__(self) -> None:
        self._folder = ""
        self._unpatch: Optional[Callable[[], None]] = None
        self._found: List[OpTime] = []

    def start(self) -> None:
        """Begin, right after TensorFlow was imported. AutofuseError when it cannot be."""
        profiler = _profiler()
        if profiler is None:
            self._unpatch = _trace_sessions(self._found)
            return
        self._folder = tempfile.mkdtemp(prefix="tf_autofuse-times-")
        try:
            profiler.start(self._folder, profiler.ProfilerOptions(host_tracer_level=_VERBOSE))
        except Exception as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
            raise AutofuseError("TensorFlow's profiler does not start: {}".format(error)) from error

    def stop(self) -> List[OpTime]:
        """End; what ran since, in order of time. AutofuseError when the script ended it before."""
        if self._unpatch is not None:
            self._unpatch()
            return _in_order(self._found)
        if not self._folder:
            return []
        try:
            _profiler().stop()
            return _in_order(list(_read_spaces(self._folder)))
        except Exception as error:
            raise AutofuseError("TensorFlow's profiler was ended: {}".format(error)) from error
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _profiler() -> Any:
    """TensorFlow's profiler of functions; None before 2.2."""
    try:
        return importlib.import_module("tensorflow.python.profiler.profiler_v2")
    except ImportError:
        return None


def _in_order(times: List[OpTime]) -> List[OpTime]:
    ordered = sorted(times, key=lambda item: item.start)
    first = ordered[0].start if ordered else 0.0
    return [item._replace(start=item.start - first) for item in ordered]


# ---- profiler files --------------------------------------------------------------------------


def _read_spaces(folder: str) -> Iterator[OpTime]:
    for path in glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.xplane.pb")):
        with open(path, "rb") as file:
            space = _xplane_module().XSpace.FromString(file.read())
        for plane in space.planes:
            if plane.name.startswith("/host:CPU"):
                yield from _read_plane(plane)


def _xplane_module() -> Any:
    for name in _XPLANES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise AutofuseError("this TensorFlow has no reader of profiles")


def _read_plane(plane: Any) -> Iterator[OpTime]:
    labels = {}
    for key, metadata in plane.event_metadata.items():
        match = _LABEL.match(metadata.name)
        if match and (not metadata.display_name or metadata.display_name == match.group(2)):
            labels[key] = match.groups()
    for line in plane.lines:
        for event in line.events:
            label = labels.get(event.metadata_id)
            if label is not None:
                start = line.timestamp_ns / 1e3 + event.offset_ps / 1e6
                yield OpTime(label[0], label[1], start, event.duration_ps / 1e6, line.id)


# ---- traces of sessions ----------------------------------------------------------------------


def _trace_sessions(found: List[OpTime]) -> Callable[[], None]:
    """Let every `Session.run` fill `found`; the function that undoes it."""
    session = importlib.import_module("tensorflow.python.client.session").BaseSession
    config = importlib.import_module("tensorflow.core.protobuf.config_pb2")
    original = session.run

    def run(self: Any, fetches: Any, feed_dict: Any = None, options: Any = None,
            run_metadata: Any = None) -> Any:  # fmt: skip
        if options is not None or run_metadata is not None:
            return original(self, fetches, feed_dict, options, run_metadata)
        traced = config.RunMetadata()
        wish = config.RunOptions(trace_level=config.RunOptions.FULL_TRACE)
        result = original(self, fetches, feed_dict, wish, traced)
        found.extend(_read_step(traced.step_stats))
        return result

    session.run = run

    def unpatch() -> None:
        session.run = original

    return unpatch


def _read_step(stats: Any) -> Iterator[OpTime]:
    for device in stats.dev_stats:
        for node in device.node_stats:
            match = _NODE_LABEL.match(node.timeline_label)
            if match:
                start = node.all_start_micros + node.op_start_rel_micros
                duration = (node.op_end_rel_nanos - node.op_start_rel_nanos) / 1e3
                yield OpTime(node.node_name, match.group(1), start, duration, node.thread_id)
