"""`tandem.distributed`: several processes that compute together, by PyTorch's names.

Map: `_world` makes and names groups of processes, which find each other by stores (`_stores`, `_tcp_store`,
`_rendezvous`) · `_process_group` runs their operations one after another on a thread · `_collectives`,
`_point_to_point` and `_objects` are the operations as programs call them, `_checks` what their arguments must be ·
`_rank_order` what they do, in terms of a `_transport`, of which `_gloo` is the one for CPUs · `run` starts programs.
Data-parallel training is `nn.parallel.DistributedDataParallel`. docs/distributed.md is the user's side of this.
"""

from __future__ import annotations

from tandem._stand_in import lacking_functions
from tandem.distributed._collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from tandem.distributed._errors import DistBackendError, DistError, DistNetworkError, DistStoreError
from tandem.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from tandem.distributed._point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from tandem.distributed._process_group import ProcessGroup, Work
from tandem.distributed._rank_order import ReduceOp
from tandem.distributed._stores import FileStore, HashStore, PrefixStore, Store
from tandem.distributed._tcp_store import TCPStore
from tandem.distributed._world import (
    Backend,
    GroupMember,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
)

__all__ = [
    "Backend",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
]

globals().update(lacking_functions(__name__, "init_device_mesh new_subgroups new_subgroups_by_enumeration split_group"))
