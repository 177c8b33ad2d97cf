"""Names of options and their values: a tuple of what is allowed, None for anything, or a group."""

from tf_autofuse.frontend.tensorflow.parameters import PRECISION_MODES, PRECISION_MODES_V2

SWITCH = (True, False)

EXPERIMENTAL = {
    "multi_branches_config": {
        "input_shape": None,
        "dynamic_node_type": ("0",),
        "dynamic_dims": None,
    },
    "logical_device_deploy_config": {
        "logical_device_cluster_deploy_mode": ("LB", "SINGLE"),
        "logical_device_id": None,
    },
    "model_deploy_config": {"model_deploy_mode": None, "model_deploy_devicelist": None},
    "graph_memory_optimize_config": {"recompute": ("auto", "manual"), "graph_slice": ("auto",)},
    "resource_config_path": None,
    "graph_parallel_option_path": None,
    "enable_graph_parallel": SWITCH,
}

_GROUPS = {
    "dump_config": {
        "enable_dump": SWITCH,
        "dump_path": None,
        "dump_step": None,
        "dump_mode": ("input", "output", "all"),
        "enable_dump_debug": SWITCH,
        "dump_debug_mode": ("aicore_overflow", "atomic_overflow", "all"),
        "dump_data": ("tensor", "stats"),
        "dump_layer": None,
    },
    "profiling_config": {"enable_profiling": SWITCH, "profiling_options": None},
    "aoe_config": {"aoe_mode": ("1", "2", "4"), "work_path": None, "aoe_config_file": None},
    "memory_config": {
        "atomic_clean_policy": (0, 1),
        "static_memory_policy": (0, 1, 2, 3, 4),
        "variable_use_1g_huge_page": (0, 1, 2),
    },
    "experimental": EXPERIMENTAL,
}

_CHOICES = {
    "graph_run_mode": (0, 1),
    "variable_format_optimize": SWITCH,
    "precision_mode": PRECISION_MODES,
    "precision_mode_v2": PRECISION_MODES_V2,
    "op_select_implmode": ("high_performance", "high_precision"),
    "op_compiler_cache_mode": ("enable", "disable", "force"),
    "ac_parallel_enable": ("0", "1"),
    "quant_dumpable": ("0", "1"),
    "hcom_parallel": SWITCH,
    "is_tailing_optimization": SWITCH,
    "op_debug_level": (0, 1, 2, 3, 4),
    "enable_exception_dump": (0, 1, 2),
    "enable_small_channel": SWITCH,
    "deterministic": (0, 1),
    "topo_sorting_mode": (0, 1, None),
    "overflow_flag": (0, 1),
    "external_weight": SWITCH,
    "jit_compile": ("true", "false", "auto"),
    "compile_dynamic_mode": SWITCH,
    "export_compile_stat": (0, 1, 2),
    "oo_constant_folding": SWITCH,
    "oo_level": ("O0", "O1", "O2", "O3"),
    "input_batch_cpy": SWITCH,
    "all_tensor_not_empty": SWITCH,
    "shape_generalization_mode": ("STRICT", "FULL", "ADAPTIVE"),
}

_FREE = (
    "graph_memory_max_size variable_memory_max_size enable_scope_fusion_passes fusion_switch_file "
    "optypelist_for_implmode op_compiler_cache_dir stream_max_parallel_num hcom_multi_mode "
    "op_debug_config debug_dir modify_mixlist op_precision_mode graph_exec_timeout "
    "customize_dtypes stream_sync_timeout event_sync_timeout execute_times "
    "graph_compiler_cache_dir input_fusion_size aicore_num auto_multistream_parallel_mode "
    "optimization_switch"
)

GLOBAL = dict.fromkeys(_FREE.split())
GLOBAL.update(_CHOICES)
GLOBAL.update(_GROUPS)
