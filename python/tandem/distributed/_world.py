"""The groups of this process: making the first of all processes, others of some of them, and asking about ranks."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

import tandem
from tandem.distributed._errors import DistBackendError
from tandem.distributed._gloo import LIBRARY, GlooTransport
from tandem.distributed._gpu_side import GpuSide
from tandem.distributed._nccl import why_not
from tandem.distributed._process_group import ProcessGroup
from tandem.distributed._rendezvous import find_store
from tandem.distributed._stores import FileStore, PrefixStore, Store

__all__ = [
    "Backend",
    "GroupMember",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
]

default_pg_timeout = timedelta(minutes=30)

#: The backends, and the kind of device whose tensors each is for where another one may be for others.
BACKENDS = {"gloo": "cpu", "nccl": "cuda"}
# Backends of PyTorch that are not here, and what is.
_ABSENT = {"mpi": "use 'gloo'", "ucc": "use 'gloo'", "xccl": "use 'nccl'"}


class _World:
    """What this process is in."""

    default: ProcessGroup | None = None
    store: Store | None = None
    owned: Store | None = None  # that was made here
    inits = 0  # how often all processes have met
    groups: list[ProcessGroup] = []
    made = 0  # groups so far, which all ranks number alike
    copies: dict[str, int] = {}  # of groups, by name


class GroupMember:
    """The group of all processes, and what stands for a group in the processes that are not in it.

    >>> import tandem
    >>> tandem.distributed.GroupMember.NON_GROUP_MEMBER
    -100
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _WorldOfGroup(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return _World.default


class group(metaclass=_WorldOfGroup):  # noqa: N801
    """`group.WORLD` is the group of all processes; None before it is made.

    >>> import tandem
    >>> tandem.distributed.group.WORLD is None
    True
    """


class Backend(str):
    """The name of a backend, in lower case; ValueError where there is none of that name.

    >>> import tandem
    >>> tandem.distributed.Backend("GLOO")
    'gloo'
    """

    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    XCCL = "xccl"
    UNDEFINED = "undefined"
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map: ClassVar = {kind: name for name, kind in BACKENDS.items()}
    backend_capability: ClassVar = {"gloo": ["cpu", "cuda"], "nccl": ["cuda"]}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {type(name).__name__}")
        of_devices = ":" in name and all(part.partition(":")[2] in BACKENDS for part in name.lower().split(","))
        if not of_devices and name.lower() not in {*BACKENDS, *_ABSENT, cls.UNDEFINED}:
            raise ValueError(f"Invalid backend: '{name}'; there are {', '.join(sorted({*BACKENDS, *_ABSENT}))}")
        return super().__new__(cls, name.lower())


def is_available() -> bool:
    """Can processes work together in this build?

    >>> import tandem
    >>> tandem.distributed.is_available()
    True
    """
    return LIBRARY.exists()


def is_initialized() -> bool:
    """Has `init_process_group` made the group of all processes?

    >>> import tandem
    >>> tandem.distributed.is_available() and tandem.distributed.is_initialized()
    False
    """
    return _World.default is not None


def is_torchelastic_launched() -> bool:
    """Was this process started by the launcher, `python -m tandem.distributed.run`?

    >>> import tandem
    >>> tandem.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_gloo_available() -> bool:
    """Is the backend for CPUs part of this build?

    >>> import tandem
    >>> tandem.distributed.is_gloo_available()
    True
    """
    return is_available()


def is_nccl_available() -> bool:
    """Is there a GPU, and NCCL for it? Looks for both.

    >>> import tandem
    >>> if tandem.distributed.is_nccl_available():
    ...     tandem.distributed.init_process_group("nccl", store=tandem.distributed.HashStore(), rank=0, world_size=1)
    ...     tandem.distributed.destroy_process_group()
    """
    return is_available() and tandem.cuda.is_available() and not why_not(0)


def is_mpi_available() -> bool:
    """False: there is no such backend.

    >>> import tandem
    >>> tandem.distributed.is_mpi_available()
    False
    """
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_backend_available(backend: str) -> bool:
    """Is there a backend of that name, and what it needs?

    >>> import tandem
    >>> tandem.distributed.is_backend_available("gloo"), tandem.distributed.is_backend_available("mpi")
    (True, False)
    """
    return {"gloo": is_gloo_available, "nccl": is_nccl_available}.get(backend.lower(), is_mpi_available)()


def get_default_backend_for_device(device: Any) -> str:
    """The backend for tensors on a device: 'gloo' for the CPU, 'nccl' for GPUs. ValueError for other kinds.

    >>> import tandem
    >>> tandem.distributed.get_default_backend_for_device("cpu")
    'gloo'
    """
    kind = (device if isinstance(device, str) else device.type).partition(":")[0]
    for name, of in BACKENDS.items():
        if of == kind:
            return name
    raise ValueError(f"Default backend not registered for device: {device}")


def _backends_named(name: str | None) -> dict[str, str]:
    """The backends that `name` names, by kind of device: 'nccl', or 'cpu:gloo,cuda:nccl'. Of None those of the devices
    that are here."""
    if name is None:
        return {"cpu": "gloo"} | ({"cuda": "nccl"} if tandem.cuda.is_available() else {})
    if not isinstance(name, str):
        raise TypeError(f"init_process_group: backend should be a str, got {type(name).__name__}")
    if name.lower() in ("gloo", "cpu:gloo,cuda:gloo"):
        return {"cpu": "gloo", "cuda": "gloo"}
    given = [part.partition(":")[::2] if ":" in part else ("", part) for part in name.lower().split(",")]
    found: dict[str, str] = {}
    for kind, chosen in given:
        if chosen not in BACKENDS:
            backend = Backend(chosen)
            raise NotImplementedError(
                f"the backend {backend!s} is not part of Tandem: {_ABSENT.get(backend, 'use gloo')}"
            )
        if kind not in ("", BACKENDS[chosen]) or BACKENDS[chosen] in found:
            raise ValueError(
                f"init_process_group: {name!r} is no choice of backends: write 'gloo', 'nccl' or 'cpu:gloo,cuda:nccl'"
            )
        found[BACKENDS[chosen]] = chosen
    if "cpu" not in found and not tandem.cuda.is_available():
        raise DistBackendError(f"the backend nccl needs a GPU, and there is none: {tandem._C._gpu_why_none()}")
    return found


def _index_named(device_id: Any, backends: Mapping[str, str]) -> int | None:
    """The GPU of this process that the argument device_id names."""
    if device_id is None or backends.get("cuda") != "nccl" or not tandem.cuda.is_available():
        return None
    device = tandem.device("cuda", device_id) if isinstance(device_id, int) else tandem.device(device_id)
    if device.type == "cpu":
        raise ValueError(f"init_process_group: device_id is {device}, and the backend nccl is for GPUs")
    return tandem.cuda.current_device() if device.index is None else int(device.index)


def _check_timeout(timeout: timedelta | None) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the group of all processes; every one of them calls this.

    Args:
        backend: 'gloo', which moves tensors of GPUs by way of the host, 'nccl', which is for GPUs alone, or both:
            'cpu:gloo,cuda:nccl', which is the default where there is a GPU; 'gloo' where there is none.
        init_method: where the processes find each other: 'env://' (the default: MASTER_ADDR, MASTER_PORT, RANK and
            WORLD_SIZE in the environment), 'tcp://host:port' (rank 0 listens there) or 'file:///path' (a file that all
            see and that is not there before).
        timeout: how long the others are waited for, here and in every operation; 30 minutes if None.
        world_size: how many processes there are.
        rank: the number of this one, from 0.
        store: instead of an `init_method`, the store to find each other by; needs `rank` and `world_size`.
        group_name, pg_options: taken, without effect.
        device_id: the GPU of this process; that of the first tensor on one if None.

    ValueError for a rank or method that does not fit, NotImplementedError for a backend that is not part of this build,
    DistStoreError, DistNetworkError or DistBackendError if the processes did not meet within the timeout, which says
    which are absent, or a library is missing.

    >>> import tandem, os, tempfile
    >>> dist = tandem.distributed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    ...     dist.get_rank(), dist.get_world_size(), dist.get_backend()
    ...     dist.destroy_process_group()
    (0, 1, 'gloo')
    """
    if _World.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    backends = _backends_named(backend)
    index = _index_named(device_id, backends)
    limit = _check_timeout(timeout)
    if store is not None:
        if init_method is not None:
            raise ValueError("init_process_group: init_method and store are mutually exclusive")
        if world_size < 1 or not 0 <= rank < world_size:
            raise ValueError(
                f"init_process_group: a store needs rank and world_size, with 0 <= rank < world_size; got rank {rank} "
                f"and world_size {world_size}"
            )
    else:
        store, rank, world_size = find_store(init_method or "env://", rank, world_size, limit)
        store.enter()
        _World.owned = store
    store.set_timeout(limit)
    _World.store = PrefixStore(f"program {_World.inits}", store)
    try:
        _World.default = GroupMember.WORLD = _make(backends, _World.store, range(world_size), rank, limit, index)
    except BaseException:
        _forget()
        raise
    _World.inits += 1


def _make(
    backends: Mapping[str, str],
    store: Store,
    ranks: Sequence[int],
    rank: int,
    timeout: timedelta,
    index: int | None,
) -> ProcessGroup:
    """A connected group of which this process is `rank`, named by its number."""
    made = _connected(f"group {_World.made}", backends, store, ranks, rank, timeout, index)
    _World.made += 1
    return made


def _connected(
    name: str,
    backends: Mapping[str, str],
    store: Store,
    ranks: Sequence[int],
    rank: int,
    timeout: timedelta,
    index: int | None,
) -> ProcessGroup:
    transport = GlooTransport(PrefixStore(name, store), rank, len(ranks), timeout)
    made = ProcessGroup(name, backends, transport, None, ranks, rank, timeout)
    try:
        if backends.get("cuda") == "nccl" and tandem.cuda.is_available():
            control = GlooTransport(PrefixStore(f"{name}/gpu", store), rank, len(ranks), timeout)
            made.gpu = GpuSide(control, made.ranks, rank, timeout.total_seconds(), index)
        made.run("init_process_group", f"{name} of {len(ranks)} by {made.backend}", lambda tag: None, False)
    except BaseException:
        made.close()
        raise
    _World.groups.append(made)
    return made


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the processes. All processes call this, those that are not in the group too, unless
    `use_local_synchronization`.

    Args:
        ranks: the ranks of its members; of all processes if None. A member's rank in the group is its place among
            them, in increasing order, or without `sort_ranks` in the order in which they are given.
        timeout: as of `init_process_group`; that of the group of all processes if None.
        backend: as of `init_process_group`; those of the group of all processes if None.
        device_id: as of `init_process_group`.
        use_local_synchronization: the members alone call this.
        pg_options, group_desc: taken, without effect.

    Returns the group, or `GroupMember.NON_GROUP_MEMBER` in a process that is not in it, None if the members alone
    call. ValueError for ranks that are given twice or that there are not.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_process_group_ranks(dist.new_group([0]))
    [0]
    >>> dist.destroy_process_group()
    """
    world = default_group()
    members = list(range(world.size())) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(set(members)) != len(members) or any(not 0 <= r < world.size() for r in members) or not members:
        raise ValueError(f"new_group: ranks should be different numbers below {world.size()}, got {members}")
    backends = _backends_named(backend) if backend else world.backends
    index = _index_named(device_id, backends)
    limit = world.timeout if timeout is None else _check_timeout(timeout)
    assert _World.store is not None
    if use_local_synchronization:
        if world.rank() not in members:
            return None
        # All members have made as many groups of just them.
        name = f"group of {members}"
        _World.copies[name] = number = _World.copies.get(name, 0) + 1
        place = members.index(world.rank())
        return _connected(f"{name}/{number}", backends, _World.store, members, place, limit, index)
    world.run("new_group", f"new_group of {members}", lambda tag: None, False)
    made: Any = GroupMember.NON_GROUP_MEMBER
    if world.rank() in members:
        made = _make(backends, _World.store, members, members.index(world.rank()), limit, index)
    else:
        _World.made += 1
    # Nobody goes on, and may end and take the store with it, before the members have met.
    world.run("new_group", "new_group is made", lambda tag: None, False)
    return made


def of_its_own(group: ProcessGroup) -> ProcessGroup:
    """Another group of the same processes, whose operations may come between those of the first."""
    assert _World.store is not None
    _World.copies[group.group_name] = number = _World.copies.get(group.group_name, 0) + 1
    name = f"{group.group_name}/{number}"
    index = None if group.gpu is None else group.gpu.index
    return _connected(name, group.backends, _World.store, group.ranks, group.rank(), group.timeout, index)


def destroy_process_group(group: Any = None) -> None:
    """Close the connections of a group, or of all groups if it is None. What is under way is waited for.

    ValueError if there is no such group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    world = default_group()
    if group is not None and group is not world:
        if group not in _World.groups:
            raise ValueError("Invalid process group specified")
        _World.groups.remove(group)
        group.close()
        return
    for made in reversed(_World.groups):
        made.close()
    _forget()


def _forget() -> None:
    owned = _World.owned
    _World.default = GroupMember.WORLD = _World.store = _World.owned = None
    _World.groups, _World.made, _World.copies = [], 0, {}
    if owned is not None:
        owned.leave()


def _leave() -> None:
    """At the end of a process that did not destroy its groups. Connections stay until it has gone: closed before, they
    would let others fail and end first, as if they were the cause."""
    for made in _World.groups:
        made.stop()
    if isinstance(_World.owned, FileStore):
        _World.owned.leave()


atexit.register(_leave)


def default_group() -> ProcessGroup:
    """The group of all processes; ValueError where there is none."""
    if _World.default is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _World.default


def group_of(group: Any) -> ProcessGroup | None:
    """The group that an argument means; None where this process is not in it."""
    if group is None:
        return default_group()
    if isinstance(group, ProcessGroup):
        return group
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    raise TypeError(f"expected a ProcessGroup, got {type(group).__name__}")


def own_group(group: Any) -> ProcessGroup:
    """As `group_of`; ValueError where this process is not in the group."""
    found = group_of(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found


def member_of(group: Any, operation: str) -> ProcessGroup | None:
    """As `group_of`, with a warning where this process is not in the group."""
    found = group_of(group)
    if found is None:
        warnings.warn(
            f"Running {operation} on global rank {get_rank()} which does not belong to the given group.", stacklevel=3
        )
    return found


def get_rank(group: Any = None) -> int:
    """The number of this process in a group (of all processes if None); -1 if it is not in it.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_rank(dist.GroupMember.NON_GROUP_MEMBER)
    (0, -1)
    >>> dist.destroy_process_group()
    """
    found = group_of(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes a group has (that of all if None); -1 if this process is not in it.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    found = group_of(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> Backend:
    """The name of the backend of a group. ValueError if this process is not in it.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    return Backend(own_group(group).backend)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks, among all processes, of the members of a group, in the order of their ranks there.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_process_group_ranks()
    [0]
    >>> dist.destroy_process_group()
    """
    return list(own_group(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in a group of the process with this rank among all. ValueError if it is not in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_group_rank(dist.new_group([0]), 0)
    0
    >>> dist.destroy_process_group()
    """
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank among all processes of a group's member. ValueError if there is no such member.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_global_rank(dist.new_group([0]), 0)
    0
    >>> dist.destroy_process_group()
    """
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]
