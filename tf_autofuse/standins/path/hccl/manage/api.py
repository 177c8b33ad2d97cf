"""Ranks of a host run: one process, rank 0 of 1."""


def get_rank_size(group="hccl_world_group"):
    """Number of ranks in the group."""
    return 1


def get_rank_id(group="hccl_world_group"):
    """This process's rank."""
    return 0


def get_local_rank_size(group="hccl_world_group"):
    """Number of ranks on this machine."""
    return 1


def get_local_rank_id(group="hccl_world_group"):
    """This process's rank on this machine."""
    return 0


def get_world_rank_from_group_rank(group, group_rank_id):
    """World rank of a group's rank."""
    return group_rank_id


def get_group_rank_from_world_rank(world_rank_id, group):
    """A group's rank of a world rank."""
    return world_rank_id


def create_group(group, rank_num, rank_ids):
    """A named group; there is nothing to set up for one rank."""


def destroy_group(group):
    """Undo `create_group`."""
