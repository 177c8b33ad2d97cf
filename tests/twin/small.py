"""Small kernels around a few lines of Ascend C, for the tests of single calls and rules."""

import numpy as np

from tf_autofuse.platforms import PLATFORMS
from tf_autofuse.runtime.host import storage_dtype
from tf_autofuse.runtime.twin import run_twin

CHIP = PLATFORMS["Ascend910B"]
C_TYPES = {
    "float16": "half", "float32": "float", "bfloat16": "bfloat16_t", "int8": "int8_t",
    "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t", "int32": "int32_t",
    "uint32": "uint32_t", "int64": "int64_t", "bool": "uint8_t",
}


def _copy(direction, name, count, dtype):
    line = "DataCopyExtParams {n}_p{{1, (uint32_t)({c} * sizeof({t})), 0, 0, 0}};"
    line = line.format(n=name, c=count, t=C_TYPES[dtype])
    if direction == "in":
        line += " DataCopyPadExtParams<{t}> {n}_pad{{false, 0, 0, {t}{{}}}};".format(
            t=C_TYPES[dtype], n=name)
        return line + " DataCopyPad({n}, {n}_gm, {n}_p, {n}_pad);".format(n=name)
    return line + " DataCopyPad({n}_gm, {n}, {n}_p);".format(n=name)


def kernel_text(body, inputs, outputs, extra=""):
    """A kernel that loads i0, i1, ... whole, runs `body`, and stores o0, o1, ...

    `inputs` and `outputs` are (count, dtype) pairs. UB tensors have their names and room for 256
    bytes more than their elements, rounded up to 256; `w` is 8 KiB of scratch (uint8_t).
    """
    tensors = [("i%d" % k, n, d) for k, (n, d) in enumerate(inputs)]
    results = [("o%d" % k, n, d) for k, (n, d) in enumerate(outputs)]
    arguments = ", ".join("GM_ADDR %s_arg" % name for name, _, _ in tensors + results)
    lines = ["TPipe pipe;"]
    for name, count, dtype in tensors + results:
        ctype = C_TYPES[dtype]
        room = -(-count * storage_dtype(dtype).itemsize // 256) * 256 + 256
        lines.append("TBuf<TPosition::VECCALC> {n}_buf; pipe.InitBuffer({n}_buf, {r}); "
                     "LocalTensor<{t}> {n} = {n}_buf.Get<{t}>(); GlobalTensor<{t}> {n}_gm; "
                     "{n}_gm.SetGlobalBuffer((__gm__ {t}*){n}_arg);".format(
                         n=name, r=room, t=ctype))
    lines.append("TBuf<TPosition::VECCALC> w_buf; pipe.InitBuffer(w_buf, 8192); "
                 "LocalTensor<uint8_t> w = w_buf.Get<uint8_t>();")
    lines += [_copy("in", name, count, dtype) for name, count, dtype in tensors]
    lines.append("SetFlag<HardEvent::MTE2_V>(EVENT_ID7); WaitFlag<HardEvent::MTE2_V>(EVENT_ID7);")
    lines.append(body)
    lines.append("SetFlag<HardEvent::V_MTE3>(EVENT_ID7); WaitFlag<HardEvent::V_MTE3>(EVENT_ID7);")
    lines += [_copy("out", name, count, dtype) for name, count, dtype in results]
    return (
        '#include "kernel_operator.h"\nusing namespace AscendC;\n{}\n'
        'extern "C" __global__ __aicore__ void k({}, GM_ADDR workspace, GM_ADDR tiling) {{\n'
        "{}\n}}\n"
    ).format(extra, arguments, "\n".join(lines))


def run_body(body, inputs, outputs, **options):
    """Run `body` on arrays; bfloat16 inputs are (uint16 array, "bfloat16") pairs."""
    pairs = [a if isinstance(a, tuple) else (a, a.dtype.name) for a in inputs]
    text = kernel_text(body, [(a.size, d) for a, d in pairs], outputs)
    done = run_twin(text, "k", [a for a, _ in pairs], [((n,), d) for n, d in outputs], b"", 1,
                    CHIP, **options)
    return done.outputs


def bare_kernel(body, extra=""):
    """An entry k(x, y, workspace, tiling) with using directives and nothing else around `body`."""
    return (
        '#include "kernel_operator.h"\nusing namespace AscendC;\n{}\n'
        'extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, '
        "GM_ADDR tiling) {{\n{}\n}}\n"
    ).format(extra, body)


def run_bare(body, count=64, dtype=np.float32, cores=1, chip=CHIP, out=None, **options):
    """Run a bare kernel with one input x (0, 1, 2, ...) and one output y of `count` elements."""
    x = np.arange(count, dtype=dtype)
    y = out if out is not None else ((count,), np.dtype(dtype).name)
    return run_twin(bare_kernel(body), "k", [x], [y], b"", cores, chip, **options)


def line_of(text, piece):
    """1-based number of the line that holds `piece`."""
    return next(i for i, line in enumerate(text.splitlines(), 1) if piece in line)
