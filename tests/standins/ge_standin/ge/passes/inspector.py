"""May these nodes become one, and what became of them."""
from collections import namedtuple

from ge.graph.attr import of_message

FuseCheckResult = namedtuple("FuseCheckResult", "ok reason")

ALIKE = ("_user_stream_label", "_super_kernel_scope", "_super_kernel_options", "_op_aicore_num",
         "_op_vectorcore_num", "deterministic")  # fmt: skip


def can_fuse(nodes):
    """Same graph, equal settings, no cycle."""
    reason = problem([node._live() for node in nodes])
    return FuseCheckResult(not reason, reason)


def problem(ops):
    """Why the operators may not become one; "" when they may."""
    if not ops:
        return "nodes_before_fuse is empty"
    if any(op.graph is not ops[0].graph for op in ops):
        return "nodes belong to different graphs"
    for key in ALIKE:
        if len({str(of_message(op.attrs[key])) if key in op.attrs else "" for op in ops}) > 1:
            return "nodes differ in " + key
    return "it will create cycle after fuse" if _cycle(set(ops)) else ""


def _cycle(inside):
    waiting = [op for member in inside for op in _after(member) if op not in inside]
    seen = set(waiting)
    while waiting:
        for op in _after(waiting.pop()):
            if op in inside:
                return True
            if op not in seen:
                seen.add(op)
                waiting.append(op)
    return False


def _after(op):
    return op.readers() + op.control_consumers()


def report_fuse(before, after, context):
    """RuntimeError when the context has no name or a node is gone."""
    for node in list(before) + list(after):
        node._live()
    if not context.get_pass_name():
        raise RuntimeError("report_fuse failed")
