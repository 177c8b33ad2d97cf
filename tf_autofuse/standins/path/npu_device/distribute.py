"""Training on several devices: with one rank every call hands back what it got."""


def npu_distributed_keras_optimizer_wrapper(
    optimizer, reduction="mean", fusion=1, fusion_id=-1, group="hccl_world_group"
):
    """The optimizer itself."""
    return optimizer


def all_reduce(values, reduction="mean", fusion=1, fusion_id=-1, group="hccl_world_group"):
    """The values: mean and sum over one rank."""
    return values


def broadcast(values, root_rank=0, fusion=2, fusion_id=0, group="hccl_world_group"):
    """Nothing to send."""


def shard_and_rebatch_dataset(dataset, global_bs):
    """The dataset and its batch size for this rank: all of both."""
    return dataset, global_bs


def npu_collective_strategy(*_args, **_kwargs):
    """TensorFlow's default strategy."""
    import tensorflow as tf

    return tf.distribute.get_strategy()


def grouping_gradients_apply(apply_func, grads_and_vars, *args, **kwargs):
    """``apply_func`` on all gradients: one rank updates every variable."""
    return apply_func(grads_and_vars, *args, **kwargs)


def grouping_broadcast(variables):
    """Nothing to send."""
