"""Every rule of the check mode: broken it names line, API and rule; just kept it says nothing."""

import numpy as np
import pytest

from tf_autofuse.errors import BuildError
from tf_autofuse.platforms import PLATFORMS
from tf_autofuse.runtime.twin import TwinError, run_twin

from .kernels import ABS_RELU_EXP, int64s
from .rule_cases import CASES, MULTI_CORE_CASES, table_kernel
from .rule_cases_more import MORE_CASES, MORE_MULTI_CORE_CASES
from .small import bare_kernel, line_of, run_bare

CHIP = PLATFORMS["Ascend910B"]
ONE_CORE = CASES + MORE_CASES
FOUR_CORES = MULTI_CORE_CASES + MORE_MULTI_CORE_CASES
TEXTS = {1: (ONE_CORE, table_kernel(ONE_CORE)), 4: (FOUR_CORES, table_kernel(FOUR_CORES))}
ALL = [(cores, k, case[0]) for cores, (cases, _) in TEXTS.items() for k, case in enumerate(cases)]


def run_case(cores, key, check=True):
    x = np.arange(256, dtype=np.float32)
    chips = (TEXTS[cores][0][key // 2] + (CHIP.name,))[5]
    chip = PLATFORMS[chips if isinstance(chips, str) else chips[key % 2]]
    return run_twin(TEXTS[cores][1], "k", [x], [((256,), "float32")], b"", cores, chip,
                    workspace_bytes=128, check=check, tiling_key=key)


@pytest.mark.parametrize("cores,number,name", ALL, ids=[name for _, _, name in ALL])
def test_rule(cores, number, name):
    cases, text = TEXTS[cores]
    _, rule, api = cases[number][:3]
    with pytest.raises(TwinError) as caught:
        run_case(cores, 2 * number)
    error = caught.value
    assert (error.rule, error.api) == (rule, api), str(error)
    assert error.line == line_of(text, "/* breaks {} */".format(2 * number))
    assert "line {}: {}: {}".format(error.line, api, rule) in str(error)
    run_case(cores, 2 * number + 1)


def test_unchecked_run_lets_order_pass():
    names = [case[0] for case in CASES]
    run_case(1, 2 * names.index("v_to_v"), check=False)


def test_more_blocks_than_cores_never_meet():
    body = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0); SyncAll();"
    run_bare(body, cores=48)
    with pytest.raises(TwinError, match="49 blocks on 48 cores"):
        run_bare(body, cores=49)


def test_tiling_bytes_too_short():
    x = np.zeros(8, np.float16)
    with pytest.raises(TwinError, match="24 bytes wanted, 16 given"):
        run_twin(ABS_RELU_EXP, "abs_relu_exp", [x], [((8,), "float16")], int64s(8, 8), 1, CHIP)


def test_wrong_number_of_arguments():
    with pytest.raises(TwinError, match="takes 4 addresses, 3 were given"):
        run_twin(bare_kernel(""), "k", [], [((8,), "float32")], b"", 1, CHIP)


def test_by_value_arguments_come_from_the_tiling_bytes():
    text = (
        '#include "kernel_operator.h"\nusing namespace AscendC;\n'
        "__global__ __vector__ void v(GM_ADDR y, GM_ADDR workspace, int64_t a, int64_t b) {\n"
        "GlobalTensor<int64_t> g; g.SetGlobalBuffer((__gm__ int64_t*)y);\n"
        "g.SetValue(0, a); g.SetValue(1, b); }\n")
    done = run_twin(text, "v", [], [((2,), "int64")], int64s(7, 9), 1, CHIP)
    np.testing.assert_array_equal(done.outputs[0], [7, 9])


def test_text_that_is_no_kernel():
    with pytest.raises(BuildError):
        run_twin(bare_kernel("NoSuchCall(x);"), "k", [], [], b"", 1, CHIP)
    narrowing = "int n = 5; DataCopyExtParams p{n, 4, 0, 0, 0};"
    with pytest.raises(BuildError, match="narrowing"):
        run_twin(bare_kernel(narrowing), "k", [], [], b"", 1, CHIP)


def test_atomic_add_of_several_cores():
    body = (
        "TPipe pipe; GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)y);\n"
        "TBuf<TPosition::VECCALC> b; pipe.InitBuffer(b, 256); auto t = b.Get<float>();\n"
        "Duplicate(t, (float)GetBlockIdx(), 64); PipeBarrier<PIPE_ALL>();\n"
        "if (GetBlockIdx() == 0) DataCopy(g, t, 64);\nSyncAll();\n"
        "SetAtomicAdd<float>(); DataCopy(g, t, 64); SetAtomicNone();")
    done = run_bare(body, cores=6)
    np.testing.assert_array_equal(done.outputs[0], np.full(64, 15, np.float32))
    assert done.gm_written[1] == 7 * 256


def test_half_of_a_stale_mask_is_seen_by_bits():
    """An unwritten lane spoils its own bit of a compare mask and no other."""
    names = [case[0] for case in CASES]
    with pytest.raises(TwinError, match="byte 160"):
        run_case(1, 2 * names.index("compare_tail"))
