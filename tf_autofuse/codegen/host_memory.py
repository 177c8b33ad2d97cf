"""What a loop nest asks of the caches.

Results that would leave the last cache before somebody reads them are stored past it: the lines
they go to need not be read first (csrc/host/stream.h). Kept points whose elements lie between each
other's, as the groups of a group normalization, walk memory that was brought into the cache for all
of them; csrc/host/cut.h says how much of it at a time.
"""
from __future__ import annotations

from typing import List, Tuple

from tf_autofuse.codegen.host_cost import function_cost
from tf_autofuse.codegen.host_rough import rough_values
from tf_autofuse.codegen.host_stages import have_much_around, lane_values
from tf_autofuse.codegen.host_values import ValuePrinter
from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import Load, LoopKernel

# Stores past the caches gain nothing where a loop computes more than that: nanoseconds for an
# element in elementary functions, and values of all kinds.
STREAM_COST = 0.5
STREAM_VALUES = 40


def streamed_stores(loop: LoopKernel, nest: Nest) -> Tuple[int, ...]:
    """Stores whose results may go past the caches: outputs, all of one shape, that are written in
    runs along the innermost axis of the walk. Of several passes the last one finds values of
    functions where it writes: what it writes is in the cache then. Stages of a loop find it there
    too."""
    found: List[int] = []
    rough = rough_values(loop)
    for step in nest.passes:
        values = [v for v in needed(loop, [loop.stores[n].value for n in step.stores])
                  if nest.depth(v) == len(nest.order) - 1]
        cost = function_cost(values)
        if cost >= STREAM_COST or len(values) > STREAM_VALUES or cost and len(nest.passes) > 1:
            continue
        if lane_values(values, rough) and have_much_around(values):
            continue
        found += [n for n in step.stores if loop.stores[n].output < len(loop.outputs)
                  and loop.stores[n].axes and not nest.beside
                  and loop.stores[n].axes[-1] == nest.order[-1]]
    return tuple(n for n in found if loop.stores[n].axes == loop.stores[found[0]].axes)


class MemoryPrinter(ValuePrinter):
    """Prints what a nest does about memory before and after its loops."""

    def __init__(self, loop: LoopKernel, nest: Nest) -> None:
        super().__init__(loop)
        self.nest = nest
        self.streamed = streamed_stores(loop, nest)

    def _declare_stream(self, run: str = "") -> None:
        """Whether the results of this call are stored past the caches, in runs of `run` elements,
        or of whole rows: not over an input, which is in the cache then."""
        if not self.streamed:
            return
        stores = [self.loop.stores[n] for n in self.streamed]
        outputs = sorted({store.output for store in stores})
        count = " * ".join(self.size[axis] for axis in stores[0].axes)
        width = " + ".join("sizeof(*out%d)" % output for output in outputs)
        self.put("const bool stream = %s >= STREAM_ROW && leaves_caches(%s * (int64_t)(%s))"
                 % (run or self.size[stores[0].axes[-1]], count, width))
        tests = ["at_line(out%d)" % output for output in outputs]
        tests += ["out%d != in%d" % (output, self.reused[output])
                  for output in outputs if output in self.reused]
        self.put("    && %s;" % " && ".join(tests))

    def _end_stream(self) -> None:
        if self.streamed:
            self.put("if (stream) end_stream();")

    def _bring(self) -> None:
        """Kept points whose pieces of memory lie beside each other walk what is in the cache."""
        nest, loop = self.nest, self.loop
        if not nest.beside:
            return
        roots = [loop.stores[n].value for n in nest.stores]
        inputs = sorted({v.input for v in needed(loop, roots) if isinstance(v, Load)
                         and v.walked == nest.axes and v.input < len(loop.inputs)} - set(self.rows))
        writes = [(number, loop.stores[n].output) for number, step in enumerate(nest.passes)
                  for n in step.stores if loop.stores[n].axes == nest.axes]
        beside = " * ".join(self.size[a] for a in nest.beside)
        row = " * ".join(self.size[a] for a in nest.axes[nest.axes.index(nest.reduced[0]) + 1:])
        self.open("if (split && p[CUT_ROWS] == %s) {" % beside)
        self.put("const int64_t row = %s;" % row)
        self.put("const int64_t at = (o0 / (%s) * %s + r0) * row;"
                 % (beside, self.size[nest.reduced[0]]))
        for place, number in enumerate(inputs):
            out = "(char*)nullptr"
            if place < len(writes):
                out = "phase == %d ? out%d + at : nullptr" % writes[place]
            self.put("bring(in%d + at, %s, (r1 - r0) * row);" % (number, out))
        self.close()
