"""Collectives of a group of one rank: every result is the input."""

import tensorflow as tf


def allreduce(tensor, reduction="sum", fusion=1, fusion_id=-1, group="hccl_world_group", name=None):
    """Sum over the ranks: the tensor itself."""
    return tf.identity(tensor, name=name)


def allgather(tensor, rank_size=1, group="hccl_world_group", name=None):
    """All ranks' tensors along dim 0: the tensor itself."""
    return tf.identity(tensor, name=name)


def broadcast(tensor, root_rank=0, fusion=2, fusion_id=0, group="hccl_world_group", name=None):
    """The root's list of tensors."""
    return [tf.identity(item, name=name) for item in tensor]


def reduce_scatter(
    tensor,
    reduction="sum",
    rank_size=1,
    fusion=0,
    fusion_id=-1,
    group="hccl_world_group",
    name=None,
):
    """This rank's part of the sum: all of it."""
    return tf.identity(tensor, name=name)
