"""Gradient packing: which gradients travel together means nothing for one rank."""


def set_split_strategy_by_idx(idx_list, group="hccl_world_group"):
    """Packing by index."""


def set_split_strategy_by_size(data_size_list, group="hccl_world_group"):
    """Packing by size."""
