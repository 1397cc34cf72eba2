"""Several groups at once, and what else a program asks about its groups and its place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import tandem
from tandem.distributed._world import (
    GroupMember,
    _World,
    default_group,
    get_process_group_ranks,
    get_rank,
    new_group,
    own_group,
)

__all__ = [
    "get_backend_config",
    "get_node_local_rank",
    "get_pg_count",
    "new_subgroups",
    "new_subgroups_by_enumeration",
]


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of some of the processes each, which have no rank in common. All processes call this.

    Args:
        ranks_per_subgroup_list: the ranks of each group.
        timeout, backend: as of `new_group`.
        pg_options, group_desc: taken, without effect.

    Returns the group that this process is in, or None, and all of them. ValueError for a rank in two groups, or none.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine, groups = dist.new_subgroups_by_enumeration([[0]])
    >>> mine is groups[0]
    True
    >>> dist.destroy_process_group()
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    me = get_rank()
    return next((g for g, ranks in zip(groups, ranks_per_subgroup_list) if me in ranks), None), groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours each; of as many as a machine has GPUs if None. All processes call this.

    Args:
        group: whose ranks are divided; all if None.
        group_size, timeout, backend, pg_options, group_desc: as of `new_subgroups_by_enumeration`; result too.

    ValueError for a size that does not divide the number of ranks.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine, groups = dist.new_subgroups(1)
    >>> dist.get_process_group_ranks(mine)
    [0]
    >>> dist.destroy_process_group()
    """
    if group_size is None:
        if not tandem.cuda.is_available():
            raise ValueError("new_subgroups: group_size must be given where there is no GPU")
        group_size = tandem.cuda.device_count()
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    ranks = get_process_group_ranks(group)
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by '{group_size=}'")
    parts = [ranks[i : i + group_size] for i in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, LOCAL_RANK in the environment; `fallback_rank` where it is not set, or
    RuntimeError.

    >>> import tandem
    >>> tandem.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """How many groups this process has, those that wrapped models have of their own among them.

    >>> import tandem
    >>> tandem.distributed.get_pg_count()
    0
    """
    return len(_World.groups)


def get_backend_config(group: Any = None) -> str:
    """The backends of a group by kind of device. ValueError if this process is not in it.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_backend_config()
    'cpu:gloo,cuda:gloo'
    >>> dist.destroy_process_group()
    """
    return ",".join(f"{kind}:{name}" for kind, name in own_group(group).backends.items())


# Names of torch.distributed.distributed_c10d that projects import.
_get_default_group = default_group


def _get_default_store() -> Any:
    """The store by which the processes found each other; ValueError where they have not."""
    default_group()
    return _World.store


def _rank_not_in_group(group: Any) -> bool:
    return group is not None and group == GroupMember.NON_GROUP_MEMBER
