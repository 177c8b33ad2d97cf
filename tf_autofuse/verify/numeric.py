"""Whether the kernels of a dumped graph compute what their operators did, on random numbers.

Everything outside of kernels is the same on both sides, as the structural check shows, so the
graphs are cut at the borders of the kernels and each is run by itself: its operators one by one
through the interpreter, the fused kernel through the interpreter and as the CPU library, both
against float64 or longdouble. Inputs are random, once plain and once with special values mixed in.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from tf_autofuse.autofuse.kernels import HOST_FILE, plan_in_order
from tf_autofuse.build import compile_host_kernel
from tf_autofuse.cluster.lowering import lower_legal, outputs_of
from tf_autofuse.cluster.order import places
from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.loop import interp
from tf_autofuse.loop.functions import IN_DOUBLE
from tf_autofuse.loop.ir import Map
from tf_autofuse.loop.lower import LoweredKernel, lower
from tf_autofuse.loop.ops import ALL_FLOATS
from tf_autofuse.loop.source import Operator, TensorInfo, TensorRef
from tf_autofuse.loop.spec import axis_sizes
from tf_autofuse.ops import OPS
from tf_autofuse.runtime.host import KernelRunError, run_host
from tf_autofuse.runtime.spec_text import SpecText
from tf_autofuse.verify.compare import difference
from tf_autofuse.verify.result import NumericCheck
from tf_autofuse.verify.structure import original_names

UNKNOWN_SIZE = 7
"""Size that a dim gets which the dump does not know."""

MAX_ELEMENTS = 1 << 22
"""Elements of the largest tensor; sizes of a kernel with larger ones are not run."""

_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-8, -3e4, 88.5, -104.0)
_FLOATS = ("float16", "bfloat16", "float32")
_Values = Dict[TensorRef, np.ndarray]


class _Skip(Exception):
    """Why a kernel is not run."""


def check_numbers(before: GraphData, after: GraphData, seed: int = 0) -> List[NumericCheck]:
    """One entry per fused node of `after`; what cannot be run says why."""
    view = GraphView(Graph._wrap(before))
    rank = places(view)
    checks = []
    for node in after.ordered():
        names = [name for name in original_names(node) if name in view.index]
        if node.name in before.nodes or not names:
            continue
        members = sorted((view.node(name) for name in names), key=lambda m: rank[m.index])
        checks.append(_check(view, members, node, seed))
    return checks


def _outputs(view: GraphView, members: List[ViewNode], fused: NodeData) -> List[TensorRef]:
    """What a fused node says that it gives; what others read when it does not say."""
    names = {node.name for node in members}
    told = [str(text).rpartition(":") for text in fused.attrs.get("output_tensors") or ()]
    refs = [(name, int(port)) for name, _, port in told if port.isdigit()]
    known = refs and all(ref[0] in names and ref in view.infos for ref in refs)
    return refs if known else outputs_of(view, members)


def _check(
    view: GraphView, members: List[ViewNode], fused: NodeData, seed: int
) -> NumericCheck:
    name, key = fused.name, fused.attrs.get("kernel_key")
    try:
        kernel = _Kernel(view, members, fused)
        trials, worst, problem = 0, 0.0, ""
        for special in (False, True):
            found, units = kernel.run(name, seed, special)
            trials, worst = trials + 1, max(worst, units)
            problem = problem or found
        note = "" if kernel.key == key else "made anew: the dump names the kernel {}".format(key)
        return NumericCheck(name, trials, worst, problem, note)
    except _Skip as reason:
        return NumericCheck(name, 0, 0.0, "", "not run: {}".format(reason))


class _Kernel:
    """The operators of a fused node, one by one and as a kernel."""

    def __init__(self, view: GraphView, members: List[ViewNode], fused: NodeData) -> None:
        unknown = [node.type for node in members if node.type not in OPS]
        if unknown:
            raise _Skip("unknown operators are cut out: {}".format(", ".join(sorted(set(unknown)))))
        self._infos = {ref: _sized(info) for ref, info in view.infos.items()}
        self._operators = [_sized_operator(view.operator(node)) for node in members]
        try:
            lowered, self._plan = plan_in_order(
                lower_legal(self._operators, _outputs(view, members, fused), self._infos))
            self._lowered = lowered
            self._library = compile_host_kernel(self._plan.files[HOST_FILE], key=self._plan.key)
            wide = {ref: _wide(info) for ref, info in self._infos.items()}
            self._exact = lower([_wide_operator(op) for op in self._operators], lowered.outputs,
                                wide)  # fmt: skip
        except AutofuseError as error:
            raise _Skip(error.message) from None
        ops = {value.op for value in self._exact.kernel.body if isinstance(value, Map)}
        self._kind = np.float64 if ops & IN_DOUBLE else np.longdouble

    @property
    def key(self) -> str:
        """Key of the kernel that is run."""
        return self._plan.key

    def run(self, name: str, seed: int, special: bool) -> Tuple[str, float]:
        """(problem or "", largest error as `difference` gives it) of one trial."""
        for whole in ((-9, 10), (1, 10), (0, 2)):
            values = self._inputs(name, seed, special, whole)
            try:
                fused = self._run_library(values)
                break
            except KernelRunError as error:  # a zero divisor or an index out of range
                refusal = error
        else:
            raise _Skip(str(refusal))
        try:
            expected = self._one_by_one(values)
            with interp.extended():
                exact = _interpret(self._exact, {ref: _to_wide(value, self._infos[ref].dtype)
                                                 for ref, value in values.items()})  # fmt: skip
            meant = _interpret(self._lowered, values)
        except (AutofuseError, ValueError) as error:
            raise _Skip(str(error)) from None
        problem, worst = "", 0.0
        for number, ref in enumerate(self._lowered.outputs):
            dtype = self._infos[ref].dtype
            for way, results in (("library", fused), ("interpreter", meant)):
                best = exact[number].astype(self._kind) if dtype in ALL_FLOATS else exact[number]
                told, units = difference(results[number], expected[ref], best, dtype)
                worst = max(worst, units)
                problem = problem or (told and "{} of {}: {}".format(way, ref[0], told))
        return problem, worst

    def _inputs(self, name: str, seed: int, special: bool, whole: Tuple[int, int]) -> _Values:
        values = {}
        for ref in dict.fromkeys(self._lowered.inputs):
            info = self._infos[ref]
            if info.dims is None or int(np.prod(info.dims, dtype=np.int64)) > MAX_ELEMENTS:
                raise _Skip("tensor {} has no shape that can be run: {}".format(ref[0], info.dims))
            text = "{} {} {} {}".format(seed, name, ref, special)
            rng = np.random.RandomState(zlib.crc32(text.encode("utf-8")))
            values[ref] = _random(rng, info.dims, info.dtype, special, whole)
        return values

    def _run_library(self, values: _Values) -> List[np.ndarray]:
        arrays = [values[ref] for ref in self._lowered.inputs]
        bound = SpecText.parse(self._plan.spec).bind([array.shape for array in arrays])
        dtypes = [self._infos[ref].dtype for ref in self._lowered.outputs]
        wanted = [(tuple(shape), dtype) for shape, dtype in zip(bound.outputs, dtypes)]
        return run_host(self._library, arrays, bound.sizes, bound.strides, wanted)

    def _one_by_one(self, values: _Values) -> _Values:
        """Every tensor of the operators, each run by itself in its own data type."""
        known: _Values = dict(values)
        for op in self._operators:
            refs = [(op.name, port) for port in range(OPS[op.type].outputs)]
            refs = [ref for ref in refs if ref in self._infos]
            results = run_operator(op, refs, self._infos, known)
            known.update(zip(refs, results))
        return known


def run_operator(
    op: Operator, refs: List[TensorRef], infos: Mapping[TensorRef, TensorInfo],
    known: Dict[TensorRef, np.ndarray],
) -> List[np.ndarray]:
    """The outputs `refs` of one operator through the interpreter; `known` are its inputs."""
    dims = infos[refs[0]].dims or ()
    data = [known[ref] for ref in op.inputs if ref in known]
    if OPS[op.type].lower in ("reshape", "same"):
        return [data[0].reshape(dims)]
    if OPS[op.type].lower == "broadcast" and len(data[0].shape) <= len(dims):
        return [np.array(np.broadcast_to(data[0], dims))]
    return _interpret(lower([op], refs, infos), known)


def _interpret(lowered: LoweredKernel, values: _Values) -> List[np.ndarray]:
    arrays = [values[ref] for ref in lowered.inputs]
    sizes = axis_sizes(lowered.kernel, [array.shape for array in arrays])
    return interp.run(lowered.kernel, arrays, sizes)


# ---- numbers and shapes ------------------------------------------------------------------


def _random(
    rng: Any, dims: Sequence[int], dtype: str, special: bool, whole: Tuple[int, int]
) -> np.ndarray:
    """Values in the memory form of `dtype`."""
    if dtype == "bool":
        return rng.rand(*dims) < 0.5
    if dtype not in _FLOATS + ("float64",):
        low = 0 if dtype.startswith("u") else whole[0]
        return rng.randint(max(low, whole[0]), whole[1], tuple(dims)).astype(dtype)
    values = np.asarray(rng.randn(*dims) * 3)
    if special and values.size:
        count = min(len(_SPECIAL), values.size)
        values.reshape(-1)[rng.permutation(values.size)[:count]] = _SPECIAL[:count]
    with np.errstate(all="ignore"):
        plain = values.astype("float32" if dtype == "bfloat16" else dtype)
    return interp.encode(plain, dtype)


def _to_wide(array: np.ndarray, dtype: str) -> np.ndarray:
    floats = dtype in _FLOATS or dtype == "float64"
    return interp.decode(array, dtype).astype(np.longdouble) if floats else array


def _sized(info: TensorInfo) -> TensorInfo:
    if info.dims is None or all(dim >= 0 for dim in info.dims):
        return info
    return replace(info, dims=_sized_dims(info.dims))


def _sized_dims(dims: Optional[Sequence[int]]) -> Any:
    return dims and tuple(UNKNOWN_SIZE if dim < 0 else dim for dim in dims)


def _sized_operator(op: Operator) -> Operator:
    return replace(op, out_dims=_sized_dims(op.out_dims) if op.out_dims else op.out_dims)


def _wide(info: TensorInfo) -> TensorInfo:
    return replace(info, dtype="float64") if info.dtype in _FLOATS else info


def _wide_operator(op: Operator) -> Operator:
    kind = op.attrs.get("dst_dtype")
    return replace(op, attrs=dict(op.attrs, dst_dtype="float64")) if kind in _FLOATS else op
