"""C++ source of a kernel for the CPU, with the interface of csrc/core/kernel_abi.h."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence

from tf_autofuse.codegen.host_beside import BesidePrinter
from tf_autofuse.codegen.host_cost import element_cost
from tf_autofuse.codegen.host_dense import DenseForm, dense_form, dense_test
from tf_autofuse.codegen.host_moments import join_moments, with_means
from tf_autofuse.codegen.host_numbers import free_numbers, number_places, print_numbers
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.nest import Nest, build_nests, runtime_rows, table_names
from tf_autofuse.loop.ir import PARTS, Load, LoopKernel, Map, Place, unit_axis
from tf_autofuse.loop.ops import REFUSING
from tf_autofuse.loop.text import print_loop

_HEADERS = ("kernel_abi.h", "cut.h", "scalar_types.h", "integer_math.h", "vector_math.h",
            "rough_math.h", "special_math.h", "loose_math.h", "lanes.h", "chunk.h", "stream.h",
            "turn.h", "pieces.h", "bessel_math.h", "gamma_math.h", "numbers.h")


def print_host(kernel: Kernel) -> str:
    """The complete source; it includes headers of csrc/core and csrc/host.

    Raises ScheduleError for an operation that has no CPU form.
    """
    return print_nests(kernel.loop, build_nests(kernel.loop))


def print_nests(loop: LoopKernel, nests: Sequence[Nest]) -> str:
    """The complete source of a loop kernel that was cut into `nests`, as `print_host`."""
    # No names of the graph: equal structures must give equal sources to the build cache.
    head = "".join("// " + line + "\n" for line in print_loop(loop).splitlines())
    reused = reused_inputs(loop, nests)
    forms = [_form(loop, nests, "nest")]
    dense = dense_form(loop)
    if dense is not None:
        forms.append(_dense(loop, dense))
    numbers = free_numbers(loop)
    for printer in [printer for form in forms for printer in form.printers]:
        printer.reused = reused
        printer.numbers = number_places(printer.loop, numbers)
    includes = "".join('#include "%s"\n' % name for name in
                       _HEADERS)
    parts = [head + "\n" + includes] + [print_numbers(numbers)] * bool(numbers)
    parts += [printer.print() for form in forms for printer in form.printers]
    parts += [_cut(form) for form in forms]
    parts += [_tiling(loop, forms, dense)] + [_reuse(reused)] * bool(reused)
    parts += [_blocks(form) for form in forms] + [_run(loop, forms, dense)]
    return "\n".join(parts)


class _Form(NamedTuple):
    """The nests of a kernel, and the word that the names of its functions begin with."""

    loop: LoopKernel
    printers: List[BesidePrinter]
    name: str


def _form(loop: LoopKernel, nests: Sequence[Nest], name: str) -> _Form:
    loop, means = join_moments(loop)
    cut = [with_means(nest, means) for nest in build_nests(loop)] if means else nests
    printers = [BesidePrinter(loop, nest, i, means) for i, nest in enumerate(cut)]
    for printer in printers:
        printer.name = "%s%d" % (name, printer.number)
    return _Form(loop, printers, name)


def _dense(loop: LoopKernel, dense: DenseForm) -> _Form:
    """The form for operands that are not broadcast. The run-time table stays that of `loop`."""
    form = _form(dense.loop, build_nests(dense.loop), "dense")
    rows = runtime_rows(loop)
    for printer in form.printers:
        printer.rows = {number: rows[number] for number in printer.rows}
        printer.table = table_names(loop)
    return form


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


def _sizes(loop: LoopKernel, source: str) -> List[str]:
    return ["  const int64_t n%d = %s[%d];" % (i, source, i) for i in range(len(loop.sized_axes))]


def _cut(form: _Form) -> str:
    """The function that cuts the nests of a form into blocks."""
    loop, printers = form.loop, form.printers
    lines = ["static void cut_%s_form(const int64_t* sizes, int32_t threads, AutofuseTiling* out) {"
             % form.name]
    lines += _sizes(loop, "sizes")
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
                        element_cost(printer.bodies(), nest), ", true" * printer.joins,
                        "first" if loop.temps else "0",
                        printer.number))
        if nest.crosses:
            lines += ["  const int64_t %s = out->p[%d * CUT_PARAMS + CUT_BLOCKS];"
                      % (size[PARTS], printer.number),
                      "  out->p[CUT_PARTS] = %s;" % size[PARTS]]
    for number in range(len(loop.temps)):
        lines += _place_temp(loop, number, printers[0])
    return "\n".join(lines + ["}"]) + "\n"


def _tiling(loop: LoopKernel, forms: Sequence[_Form], dense: Optional[DenseForm]) -> str:
    lines = [
        "int32_t autofuse_abi_version(void) { return AUTOFUSE_ABI_VERSION; }",
        "",
        "int32_t autofuse_tiling(const int64_t* sizes, int32_t n_sizes, const int64_t* strides,",
        "                        int32_t threads, AutofuseTiling* out) {",
        "  if (n_sizes != %d) return 1;" % len(loop.sized_axes),
        "  *out = AutofuseTiling();",
    ]
    if dense is not None:
        lines += _sizes(loop, "sizes")
        lines += ["  if (%s) {" % dense_test(loop, dense, forms[0].printers[0].size),
                  "    const int64_t joined[] = {%s};" % _products(loop, dense),
                  "    cut_dense_form(joined, threads, out);",
                  "    out->p[CUT_DENSE] = 1;",
                  "    return 0;",
                  "  }"]
    else:
        lines.append("  (void)strides;")
    return "\n".join(lines + ["  cut_nest_form(sizes, threads, out);", "  return 0;", "}"]) + "\n"


def _products(loop: LoopKernel, dense: DenseForm) -> str:
    """Sizes of the axes of the form, by those of the kernel."""
    size = {axis: "n%d" % i for i, axis in enumerate(loop.axes)}
    return ", ".join(" * ".join(size[axis] for axis in axes) for axes in dense.products) or "1"


def _place_temp(loop: LoopKernel, number: int, printer: BesidePrinter) -> List[str]:
    """Where in workspace a temporary begins; its room is a multiple of a cache line."""
    store = next(s for s in loop.stores if s.output == len(loop.outputs) + number)
    count = " * ".join([printer.size[axis] for axis in store.axes] + ["8"])
    return ["  out->p[CUT_TEMPS + %d] = out->workspace_bytes;" % number,
            "  out->workspace_bytes += ceil_div(%s, 64) * 64;" % count]


def _blocks(form: _Form) -> str:
    """The function that runs blocks of a form."""
    lines = [
        "static void run_%s(const AutofuseArgs* args, const AutofuseTiling* tiling, int32_t phase,"
        % form.name,
        "                   int64_t begin, int64_t end) {",
        "  for (int64_t block = begin; block < end; ++block) {",
        "    int64_t at = block;",
    ]
    for printer in form.printers:
        n = printer.number
        lines += [
            "    const int64_t blocks%d = blocks_in(tiling->p + %d * CUT_PARAMS, phase, %d%s);"
            % (n, n, max(printer.phases, 1), ", true" * printer.joins),
            "    if (at >= 0 && at < blocks%d) %s(args, tiling, %s, at);" % (
                n, printer.name,
                "phase - (int32_t)tiling->p[%d * CUT_PARAMS + CUT_FIRST]" % n
                if form.loop.temps else "phase"),
            "    at -= blocks%d;" % n,
        ]
    return "\n".join(lines + ["  }", "}"]) + "\n"


def _run(loop: LoopKernel, forms: Sequence[_Form], dense: Optional[DenseForm]) -> str:
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
    call = "run_%s(%s, tiling, phase, begin, end);"
    if dense is not None:
        lines.append("  if (tiling->p[CUT_DENSE]) {")
        lines += ["  " + line for line in _sizes(loop, "args->sizes")]
        lines += ["    const int64_t joined[] = {%s};" % _products(loop, dense),
                  "    AutofuseArgs whole = *args;",
                  "    whole.sizes = joined;",
                  "    " + call % ("dense", "&whole"),
                  "  } else {",
                  "    " + call % ("nest", "args"),
                  "  }"]
    else:
        lines.append("  " + call % ("nest", "args"))
    code = "failure_seen" if refuses else "AUTOFUSE_OK"
    return "\n".join(lines + ["  return %s;" % code, "}"]) + "\n"
