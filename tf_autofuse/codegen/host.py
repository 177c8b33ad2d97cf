"""C++ source of a kernel for the CPU, with the interface of csrc/core/kernel_abi.h."""
from __future__ import annotations

from typing import Dict, List, Sequence

from tf_autofuse.codegen.host_beside import BesidePrinter
from tf_autofuse.codegen.host_cost import element_cost
from tf_autofuse.codegen.host_dense import dense_test, without_broadcasts
from tf_autofuse.codegen.host_moments import join_moments, with_means
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.nest import Nest, build_nests, runtime_rows, table_names
from tf_autofuse.loop.ir import PARTS, Load, LoopKernel, Map, Place, unit_axis
from tf_autofuse.loop.ops import REFUSING
from tf_autofuse.loop.text import print_loop

_HEADERS = ("kernel_abi.h", "cut.h", "scalar_types.h", "integer_math.h", "vector_math.h",
            "rough_math.h", "special_math.h", "lanes.h", "chunk.h", "stream.h", "turn.h",
            "pieces.h", "bessel_math.h", "gamma_math.h")


def print_host(kernel: Kernel) -> str:
    """The complete source; it includes headers of csrc/core and csrc/host.

    Raises ScheduleError for an operation that has no CPU form.
    """
    return print_nests(kernel.loop, build_nests(kernel.loop))


def print_nests(loop: LoopKernel, nests: Sequence[Nest]) -> str:
    """The complete source of a loop kernel that was cut into `nests`, as `print_host`."""
    # No names of the graph: equal structures must give equal sources to the build cache.
    head = "".join("// " + line + "\n" for line in print_loop(loop).splitlines())
    loop, means = join_moments(loop)
    cut = [with_means(nest, means) for nest in build_nests(loop)] if means else nests
    printers = [BesidePrinter(loop, nest, i, means) for i, nest in enumerate(cut)]
    dense = _dense_printers(loop, cut, means)
    reused = reused_inputs(loop, nests)
    for printer in printers + dense:
        printer.reused = reused
    includes = "".join('#include "%s"\n' % name for name in
                       _HEADERS)
    parts = [head + "\n" + includes]
    parts += [printer.print() for printer in printers + dense]
    parts += [_tiling(loop, printers), _reuse(reused)] if reused else [_tiling(loop, printers)]
    parts.append(_run(loop, printers, dense))
    return "\n".join(parts)


def _dense_printers(
    loop: LoopKernel, nests: Sequence[Nest], means: Dict[str, str]
) -> List[BesidePrinter]:
    """Printers of the same nests for operands that are not broadcast; none if no one may be."""
    dense = without_broadcasts(loop)
    if dense is loop:
        return []
    printers = [BesidePrinter(dense, nest, i, means) for i, nest in enumerate(nests)]
    rows = runtime_rows(loop)
    for printer in printers:
        printer.name = "dense%d" % printer.number
        printer.rows = {number: rows[number] for number in printer.rows}
        printer.table = table_names(loop)
    return printers


def reused_inputs(loop: LoopKernel, nests: Sequence[Nest]) -> Dict[int, int]:
    """For outputs that may be written over an input, that input: a kernel without reductions reads
    it at the point it writes, and nowhere else."""
    if len(nests) != 1 or nests[0].reduced:
        return {}
    rows, axes = runtime_rows(loop), nests[0].axes
    loads = [value for value in loop.body if isinstance(value, Load)]
    dense = {load.input for load in loads} - set(rows) - {
        load.input for load in loads if load.when or load.walked != axes}
    reused: Dict[int, int] = {}
    for store in loop.stores:
        dtype = loop.outputs[store.output].dtype
        fits = [i for i in sorted(dense) if loop.inputs[i].dtype == dtype]
        if fits and store.axes == axes:
            reused[store.output] = fits[0]
            dense.remove(fits[0])
    return reused


def _reuse(reused: Dict[int, int]) -> str:
    cases = "".join("    case %d: return %d;\n" % pair for pair in sorted(reused.items()))
    return ("int32_t autofuse_reused(int32_t output) {\n  switch (output) {\n%s"
            "    default: return -1;\n  }\n}\n" % cases)


def _strides(loop: LoopKernel, nest: Nest) -> bool:
    """Whether a load jumps along the innermost axis: what it jumps over should stay in the cache
    until the next row needs it."""
    loads = [value for value in loop.body if isinstance(value, Load) and value.moved]
    return nest.inner_kept and any(
        nest.inner in load.walked and unit_axis(load.dims) != nest.inner for load in loads)


def _tiling(loop: LoopKernel, printers: List[BesidePrinter]) -> str:
    lines = [
        "int32_t autofuse_abi_version(void) { return AUTOFUSE_ABI_VERSION; }",
        "",
        "int32_t autofuse_tiling(const int64_t* sizes, int32_t n_sizes, int32_t threads,",
        "                        AutofuseTiling* out) {",
        "  if (n_sizes != %d) return 1;" % len(loop.sized_axes),
        "  *out = AutofuseTiling();",
    ]
    lines += ["  const int64_t n%d = sizes[%d];" % (i, i) for i in range(len(loop.sized_axes))]
    if loop.temps:
        lines.append("  int64_t first = 0;")
    for at, printer in enumerate(printers):
        nest, size = printer.nest, printer.size
        if at and printers[at - 1].nest.stage < nest.stage:
            lines.append("  first = out->phases;")
        outer = " * ".join(size[a] for a in nest.outer_kept) or "1"
        first = size[nest.reduced[0]] if nest.reduced else "1"
        rest = " * ".join(size[a] for a in nest.reduced[1:]) or "1"
        inner = size[nest.inner] if nest.inner_kept else "1"
        reduces = sum(len(p.reduces) for p in nest.passes)
        beside = " * ".join(size[a] for a in nest.beside) or "1"
        lines.append("  cut_nest({%s, %s, %s, %s, %s, %s, %s, %d, %d, %s, %s%s}, threads, %s, "
                     "out->p + %d * CUT_PARAMS, out);"
                     % (outer, first, rest, inner, beside, "true" if nest.inner_kept else "false",
                        "true" if printer.tiled or _strides(loop, nest) else "false",
                        reduces, printer.phases, "CROSS_ROWS" if nest.crosses else "1",
                        element_cost(loop, nest), ", true" * printer.joins,
                        "first" if loop.temps else "0",
                        printer.number))
        if nest.crosses:
            lines += ["  const int64_t %s = out->p[%d * CUT_PARAMS + CUT_BLOCKS];"
                      % (size[PARTS], printer.number),
                      "  out->p[CUT_PARTS] = %s;" % size[PARTS]]
    for number in range(len(loop.temps)):
        lines += _place_temp(loop, number, printers[0])
    return "\n".join(lines + ["  return 0;", "}"]) + "\n"


def _place_temp(loop: LoopKernel, number: int, printer: BesidePrinter) -> List[str]:
    """Where in workspace a temporary begins; its room is a multiple of a cache line."""
    store = next(s for s in loop.stores if s.output == len(loop.outputs) + number)
    count = " * ".join([printer.size[axis] for axis in store.axes] + ["8"])
    return ["  out->p[CUT_TEMPS + %d] = out->workspace_bytes;" % number,
            "  out->workspace_bytes += ceil_div(%s, 64) * 64;" % count]


def _run(
    loop: LoopKernel, printers: List[BesidePrinter], dense: Sequence[BesidePrinter]
) -> str:
    places = any(isinstance(v, Place) for v in loop.body)
    refuses = places or any(isinstance(v, Map) and v.op in REFUSING for v in loop.body)
    lines = [
        "void autofuse_refused(int64_t* coordinate, int64_t* size) {",
        "  *coordinate = refused_coordinate;",
        "  *size = refused_size;",
        "}",
        "",
    ] * places + [
        "int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling* tiling, "
        "int32_t phase,",
        "                     int64_t begin, int64_t end) {",
    ] + ["  failure_seen = AUTOFUSE_OK;"] * refuses + ["  refused_size = -1;"] * places
    if dense:
        lines += ["  const int64_t n%d = args->sizes[%d];" % (i, i)
                  for i in range(len(loop.sized_axes))]
        lines.append("  const bool dense = %s;" % dense_test(loop, printers[0].size))
    lines += [
        "  for (int64_t block = begin; block < end; ++block) {",
        "    int64_t at = block;",
    ]
    for printer in printers:
        n = printer.number
        lines += [
            "    const int64_t blocks%d = blocks_in(tiling->p + %d * CUT_PARAMS, phase, %d%s);"
            % (n, n, max(printer.phases, 1), ", true" * printer.joins),
            "    if (at >= 0 && at < blocks%d) %s(args, tiling, %s, at);" % (
                n, "(dense ? dense%d : nest%d)" % (n, n) if dense else "nest%d" % n,
                "phase - (int32_t)tiling->p[%d * CUT_PARAMS + CUT_FIRST]" % n
                if loop.temps else "phase"),
            "    at -= blocks%d;" % n,
        ]
    code = "failure_seen" if refuses else "AUTOFUSE_OK"
    return "\n".join(lines + ["  }", "  return %s;" % code, "}"]) + "\n"
