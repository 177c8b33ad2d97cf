"""The report: statistics of runs joined to what was recorded at fusing."""
from tf_autofuse.report.model import KernelEntry, Recorder, TensorEntry, Traffic, UnfusedEntry


def entry(name, shape=(None, 4)):
    tensor = TensorEntry("x", "float32", shape)
    return KernelEntry(name, "k", ("a",), ("Abs",), (tensor,), (tensor,), None, None, None, "", 0)


def traffic(shapes):
    size = 4 * shapes[0][0] * shapes[0][1]
    return Traffic(2 * size, 4 * size, 2 * size)


def test_unknown_sizes_have_no_bytes_until_the_kernel_ran():
    recorder = Recorder()
    recorder.fused(entry("f"), traffic)
    assert recorder.report({}).kernels[0].gm_bytes is None
    (kernel,) = recorder.report({"f": {"calls": 3, "input_shapes": [[5, 4]]}}).kernels
    assert (kernel.calls, kernel.gm_bytes, kernel.gm_bytes_unfused) == (3, 160, 320)


def test_static_shapes_have_bytes_at_once():
    recorder = Recorder()
    recorder.fused(entry("f", (2, 4)), traffic)
    assert recorder.report({}).kernels[0].gm_bytes == 64


def test_inlined_nodes_count_for_the_fused_node():
    recorder = Recorder()
    recorder.fused(entry("f"), traffic)
    runs = {
        "call_1/f": {"calls": 2, "input_shapes": [[5, 4]]},
        "call_2/f": {"calls": 1, "input_shapes": [[7, 4]]},
    }
    (kernel,) = recorder.report(runs).kernels
    assert (kernel.calls, kernel.gm_bytes) == (3, 224)


def test_the_first_reason_of_an_operator_stays():
    recorder = Recorder()
    recorder.unfused([UnfusedEntry("n", "Abs", "CYCLE", "first")])
    recorder.unfused([UnfusedEntry("n", "Abs", "SINGLE", "second")])
    assert [e.reason for e in recorder.report({}).unfused] == ["first"]
    recorder.clear()
    assert recorder.report({}).to_dict() == {"kernels": [], "unfused": []}
