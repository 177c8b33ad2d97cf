"""The ``parameter_map`` of a script's NpuOptimizer: the names and values that the adapter takes.

A wrong value ends the process where the real adapter reads it. Here it is an error that names the
key, what was given and what is allowed, raised where the script makes its session. A key that the
adapter does not know is ignored by it; it gets a warning, since it is most often a slip of the pen.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence

from tf_autofuse import log
from tf_autofuse.errors import FlagError

BOOL, INT, TEXT = "b", "i", "s"
_KIND_WORDS = {BOOL: "a bool (.b)", INT: "an integer (.i)", TEXT: "bytes (.s)"}


class Parameter(NamedTuple):
    """One key: the AttrValue field it is given in, and the test its value has to pass."""

    kind: str
    accepts: Callable[[Any], bool] = lambda value: True
    allowed: str = ""


def _one_of(kind: str, *values: Any) -> Parameter:
    return Parameter(kind, values.__contains__, "one of " + ", ".join(map(str, values)))


def _like(pattern: str, allowed: str) -> Parameter:
    return Parameter(TEXT, lambda value: re.match(pattern + "$", value) is not None, allowed)


_FREE = {
    BOOL: "use_off_line enable_data_pre_proc mix_compile_mode lower_functional_ops dynamic_input "
    "in_out_pair_flag frozen_variable variable_format_optimize hcom_parallel enable_dump "
    "enable_dump_debug is_tailing_optimization profiling_mode enable_compress_weight "
    "hcom_multi_mode external_weight oo_constant_folding all_tensor_not_empty input_batch_cpy "
    "enable_graph_parallel compile_dynamic_mode",
    INT: "iterations_per_loop task_index input_fusion_size graph_max_parallel_model_num "
    "hccl_timeout op_wait_timeout op_execute_timeout graph_exec_timeout stream_sync_timeout "
    "event_sync_timeout",
    TEXT: "job dynamic_inputs_shape_range in_out_pair const_input graph_memory_max_size "
    "variable_memory_max_size dump_path dump_step dump_layer stream_max_parallel_num "
    "profiling_options auto_tune_mode enable_scope_fusion_passes work_path distribute_config "
    "soc_config optypelist_for_implmode fusion_switch_file compress_weight_conf "
    "op_compiler_cache_dir debug_dir modify_mixlist op_precision_mode device_type "
    "customize_dtypes HCCL_algorithm op_debug_config memory_optimization_policy "
    "experimental_logical_device_cluster_deploy_mode experimental_logical_device_id "
    "experimental_accelerate_train_mode experimental_model_deploy_mode "
    "experimental_model_deploy_devicelist insert_op_file resource_config_path "
    "graph_parallel_option_path aoe_config_file aicore_num auto_multistream_parallel_mode "
    "optimization_switch graph_compiler_cache_dir recompute",
}
PRECISION_MODES = (
    "force_fp32",
    "force_fp16",
    "allow_fp32_to_fp16",
    "allow_fp32_to_bf16",
    "must_keep_origin_dtype",
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "cube_fp16in_fp32out",
)
PRECISION_MODES_V2 = (
    "fp16",
    "origin",
    "mixed_float16",
    "mixed_bfloat16",
    "mixed_hif8",
    "cube_fp16in_fp32out",
    "cube_hif8",
)
PARAMETERS: Dict[str, Parameter] = {
    name: Parameter(kind) for kind, names in _FREE.items() for name in names.split()
}
PARAMETERS.update(
    graph_run_mode=_one_of(INT, 0, 1),
    op_debug_level=_one_of(INT, 0, 1, 2, 3, 4),
    enable_exception_dump=_one_of(INT, 0, 1, 2),
    dynamic_node_type=_one_of(INT, 0, 1),
    compile_hybrid_mode=_one_of(INT, 0, 1),
    enable_small_channel=_one_of(INT, 0, 1),
    deterministic=_one_of(INT, 0, 1),
    topo_sorting_mode=_one_of(INT, 0, 1, 2, 3),
    static_memory_policy=_one_of(INT, 0, 1, 2, 3, 4),
    atomic_clean_policy=_one_of(INT, 0, 1),
    variable_use_1g_huge_page=_one_of(INT, 0, 1, 2),
    export_compile_stat=_one_of(INT, 0, 1, 2),
    session_device_id=Parameter(INT, lambda value: value >= 0, "0 or more"),
    local_rank_id=Parameter(INT, lambda value: 0 <= value <= 7, "0 to 7"),
    local_device_list=_like(r"\d+(,\d+)*", "numbers like 0,1,2"),
    input_shape=_like(r"[^;]+:-?\d+(,-?\d+)*(;[^;]+:-?\d+(,-?\d+)*)*", "shapes like x:-1,3;y:8"),
    dynamic_dims=_like(r"\d+(,\d+)*(;\d+(,\d+)*)*", "sizes like 1,2;4,8"),
    dynamic_graph_execute_mode=_one_of(TEXT, "lazy_recompile", "dynamic_execute"),
    dump_mode=_one_of(TEXT, "input", "output", "all"),
    dump_debug_mode=_one_of(TEXT, "aicore_overflow", "atomic_overflow", "all"),
    dump_data=_one_of(TEXT, "tensor", "stats"),
    ac_parallel_enable=_one_of(TEXT, "0", "1"),
    quant_dumpable=_one_of(TEXT, "0", "1"),
    aoe_mode=_one_of(TEXT, "1", "2", "4"),
    variable_placement=_one_of(TEXT, "Host", "Device"),
    buffer_optimize=_one_of(TEXT, "l2_optimize", "off_optimize"),
    op_select_implmode=_one_of(
        TEXT,
        "high_precision",
        "high_performance",
        "high_precision_for_all",
        "high_performance_for_all",
    ),
    op_compiler_cache_mode=_one_of(TEXT, "enable", "disable", "force"),
    jit_compile=_one_of(TEXT, "true", "false", "auto"),
    shape_generalization_mode=_one_of(TEXT, "STRICT", "FULL", "ADAPTIVE"),
    oo_level=_one_of(TEXT, "O0", "O1", "O2", "O3"),
    graph_slice=_one_of(TEXT, "auto", "manual"),
    precision_mode=_one_of(TEXT, *PRECISION_MODES),
    precision_mode_v2=_one_of(TEXT, *PRECISION_MODES_V2),
)

_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16")
_MIXED_V2 = ("mixed_float16", "mixed_bfloat16", "mixed_hif8")
_DYNAMIC = ("input_shape", "dynamic_dims", "dynamic_node_type")


def check(parameters: Mapping[str, Any]) -> None:
    """Hold a ``parameter_map`` (key to AttrValue) to the table; FlagError names what is wrong."""
    values = {name: _value(name, parameters[name]) for name in parameters}
    known = {name: value for name, value in values.items() if name in PARAMETERS}
    for name in sorted(set(values) - set(known)):
        near = difflib.get_close_matches(name, PARAMETERS, 1)
        hint = "; did you mean {}?".format(near[0]) if near else ""
        text = "NpuOptimizer has no parameter {}: it is ignored{}".format(name, hint)
        log.warn_once("npu parameter " + name, text)
    for name, value in known.items():
        if not PARAMETERS[name].accepts(value):
            raise _wrong(name, repr(value), "allowed is " + PARAMETERS[name].allowed)
    _check_together(known)


def _value(name: str, attr: Any) -> Any:
    """The Python value of an AttrValue. Ints stand for bools and the other way round."""
    kind = attr.WhichOneof("value")
    known = PARAMETERS.get(name)
    if known is not None and kind is not None and kind not in _accepted(known.kind):
        raise _wrong(name, "." + kind, "it takes " + _KIND_WORDS[known.kind])
    if kind is None:
        return None
    value = getattr(attr, kind)
    return value.decode("utf-8", "replace") if kind == TEXT else value


def _accepted(kind: str) -> Sequence[str]:
    return (BOOL, INT) if kind in (BOOL, INT) else (kind,)


def _check_together(values: Dict[str, Any]) -> None:
    """What the adapter refuses about pairs of parameters."""
    both = [name for name in ("precision_mode", "precision_mode_v2") if name in values]
    if len(both) == 2:
        raise _wrong("precision_mode_v2", "a second precision", "set only one of the two")
    mixed = values.get("precision_mode") in _MIXED or values.get("precision_mode_v2") in _MIXED_V2
    if "modify_mixlist" in values and not mixed:
        needed = "precision_mode {} or precision_mode_v2 {}".format(_MIXED[0], _MIXED_V2[0])
        raise _wrong("modify_mixlist", "a list for mixed precision", "it needs " + needed)
    if "optypelist_for_implmode" in values and "op_select_implmode" not in values:
        raise _wrong("optypelist_for_implmode", "operator types", "it needs op_select_implmode")
    if (values.get("enable_dump") or values.get("enable_dump_debug")) and (
        "dump_path" not in values
    ):
        raise _wrong("enable_dump", "true", "it needs dump_path")
    if "enable_compress_weight" in values and "compress_weight_conf" in values:
        raise _wrong("enable_compress_weight", "set", "not together with compress_weight_conf")
    _check_dynamic(values)
    if values.get("mix_compile_mode") and values.get("iterations_per_loop", 1) != 1:
        raise _wrong("mix_compile_mode", "true", "not together with iterations_per_loop above 1")


def _check_dynamic(values: Dict[str, Any]) -> None:
    missing: List[str] = [name for name in _DYNAMIC if name not in values]
    if len(missing) not in (0, len(_DYNAMIC)):
        given = next(name for name in _DYNAMIC if name in values)
        raise _wrong(given, "set", "it needs {} too".format(" and ".join(missing)))
    if values.get("compile_hybrid_mode") and (missing or not values["dynamic_node_type"]):
        needed = "it needs {}, with dynamic_node_type 1".format(", ".join(_DYNAMIC))
        raise _wrong("compile_hybrid_mode", "1", needed)


def _wrong(name: str, given: str, rule: str) -> FlagError:
    text = "NpuOptimizer parameter {} is {}: {}".format(name, given, rule)
    return FlagError(text, stage="session config")
