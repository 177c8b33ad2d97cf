"""Contents for report pages: a small model with hostile names, and a chain of any length."""

from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import DataType, Format
from tf_autofuse.report.document import Content, Pair
from tf_autofuse.report.page import render_page

FP32 = TensorDesc([4, -1], Format.FORMAT_ND, DataType.DT_FLOAT)
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror=window.broken=1>&amp;\"'"
KERNEL = "autofused_pointwise_0_Abs_Exp"


def tensor(name):
    return {"name": name, "dtype": "float32", "shape": [4, None]}


def kernel(name=KERNEL, **changes):
    entry = {
        "name": name,
        "key": "",
        "source": "/nowhere/kernel.cpp",
        "op_names": ["a", HOSTILE],
        "op_types": ["Abs", "Exp"],
        "inputs": [tensor("x")],
        "outputs": [tensor(HOSTILE)],
        "gm_bytes": 1024,
        "gm_bytes_unfused": 4096,
        "gm_lower_bound": 1024,
        "calls": 10,
        "nanos": 25000,
        "tiling": ["nest 0 pointwise stream: tile 1 x 512, tasks 8, parts 1, buffers 2"],
    }
    return dict(entry, **changes)


def small():
    """x -> a (Abs) -> HOSTILE (Exp) -> m (MatMul); the first two become one kernel."""
    made = GraphBuilder("g" + HOSTILE)
    made.add_op("x", "Data", outputs=[FP32])
    made.add_op("a", "Abs", inputs=[("x", 0)], outputs=[FP32])
    made.add_op(HOSTILE, "Exp", inputs=[("a", 0)], outputs=[FP32])
    made.add_op("m", "MatMul", inputs=[(HOSTILE, 0)], outputs=[FP32])
    after = GraphBuilder("g")
    after.add_op("x", "Data", outputs=[FP32])
    after.add_op("f", "AutofusedKernel", inputs=[("x", 0)], outputs=[FP32])
    after.add_op("m", "MatMul", inputs=[("f", 0)], outputs=[FP32])
    members = {"a": "f", HOSTILE: "f"}
    pair = Pair("g" + HOSTILE, made.build()._graph, after.build()._graph, members, {"f": KERNEL})
    unfused = [
        {"node": "m", "op_type": "MatMul", "code": "OP_UNKNOWN", "reason": "r" + HOSTILE},
        {"node": "b", "op_type": "Abs", "code": "BUILD", "reason": "no compiler" + HOSTILE},
    ]
    return Content([kernel()], unfused, [pair], ["first" + HOSTILE])


def long(count):
    """`count` operators, every third one with two producers."""
    made = GraphBuilder("long")
    made.add_op("n0", "Data", outputs=[FP32])
    for i in range(1, count):
        back = [("n%d" % max(0, i - 7 * (1 + i % 5)), 0)] if i % 3 == 0 else []
        kind = "Add" if back else "Relu"
        inputs = [("n%d" % max(0, i - 1 - i % 2), 0)] + back
        made.add_op("n%d" % i, kind, inputs=inputs, outputs=[FP32])
    graph = made.build()._graph
    return Content([], [], [Pair("long", graph, graph, {}, {})], [])


def render(content):
    return render_page(content, "model " + HOSTILE, "now", "here")
