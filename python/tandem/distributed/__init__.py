"""`tandem.distributed`: several processes that compute together, by PyTorch's names.

Map: `_world` and `_subgroups` make and name groups of processes, which find each other by stores (`_stores`,
`_tcp_store`, `_rendezvous`); `device_mesh` has arrays of ranks · `_process_group` runs operations of a group one after
another on a thread, `_work_future` has futures of them · `_collectives`, `_point_to_point` and `_objects` are the
operations as programs call them, `_coalesced` those of several tensors, `_checks` what their arguments must be ·
`_rank_order` what they do, in terms of a `_transport`, of which `_gloo` is the one for CPUs and `_nccl` that for GPUs,
where `_gpu_side` queues operations · `run` starts programs. Each part lists in `__all__` what programs have of it.
Data-parallel training is `nn.parallel.DistributedDataParallel`, whose gradients `_gradients` averages; `algorithms` has
what goes with it. docs/distributed.md is the user's side of this.
"""

from __future__ import annotations

from tandem._stand_in import lacking_functions
from tandem.distributed import (
    _coalesced,
    _collectives,
    _errors,
    _gradients,
    _objects,
    _point_to_point,
    _process_group,
    _rank_order,
    _rendezvous,
    _stores,
    _subgroups,
    _tcp_store,
    _world,
    device_mesh,
)
from tandem.distributed._coalesced import *  # noqa: F403
from tandem.distributed._collectives import *  # noqa: F403
from tandem.distributed._errors import *  # noqa: F403
from tandem.distributed._gradients import *  # noqa: F403
from tandem.distributed._objects import *  # noqa: F403
from tandem.distributed._point_to_point import *  # noqa: F403
from tandem.distributed._process_group import *  # noqa: F403
from tandem.distributed._rank_order import *  # noqa: F403
from tandem.distributed._rendezvous import *  # noqa: F403
from tandem.distributed._stores import *  # noqa: F403
from tandem.distributed._subgroups import *  # noqa: F403
from tandem.distributed._tcp_store import *  # noqa: F403
from tandem.distributed._world import *  # noqa: F403
from tandem.distributed.device_mesh import *  # noqa: F403

__all__: list[str] = []
__all__ += _coalesced.__all__
__all__ += _collectives.__all__
__all__ += _errors.__all__
__all__ += _gradients.__all__
__all__ += _objects.__all__
__all__ += _point_to_point.__all__
__all__ += _process_group.__all__
__all__ += _rank_order.__all__
__all__ += _rendezvous.__all__
__all__ += _stores.__all__
__all__ += _subgroups.__all__
__all__ += _tcp_store.__all__
__all__ += _world.__all__
__all__ += device_mesh.__all__

globals().update(lacking_functions(__name__, "split_group"))

# Older names.
_all_gather_base = all_gather_into_tensor  # noqa: F405
_reduce_scatter_base = reduce_scatter_tensor  # noqa: F405
reduce_op = ReduceOp  # noqa: F405
