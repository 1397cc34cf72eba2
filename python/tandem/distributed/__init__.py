"""`tandem.distributed`: several processes that compute together, by PyTorch's names.

Map: `_world` makes and names groups of processes, which find each other by stores (`_stores`, `_tcp_store`,
`_rendezvous`) · `_process_group` runs their operations one after another on a thread · `_collectives`,
`_point_to_point` and `_objects` are the operations as programs call them, `_checks` what their arguments must be ·
`_rank_order` what they do, in terms of a `_transport`, of which `_gloo` is the one for CPUs and `_nccl` that for GPUs,
where `_gpu_side` queues operations · `run` starts programs. Each part lists in `__all__` what programs have of it.
Data-parallel training is `nn.parallel.DistributedDataParallel`. docs/distributed.md is the user's side of this.
"""

from __future__ import annotations

from tandem._stand_in import lacking_classes, lacking_functions
from tandem.distributed import (
    _collectives,
    _errors,
    _gradients,
    _objects,
    _point_to_point,
    _process_group,
    _rank_order,
    _stores,
    _tcp_store,
    _world,
)
from tandem.distributed._collectives import *  # noqa: F403
from tandem.distributed._errors import *  # noqa: F403
from tandem.distributed._gradients import *  # noqa: F403
from tandem.distributed._objects import *  # noqa: F403
from tandem.distributed._point_to_point import *  # noqa: F403
from tandem.distributed._process_group import *  # noqa: F403
from tandem.distributed._rank_order import *  # noqa: F403
from tandem.distributed._stores import *  # noqa: F403
from tandem.distributed._tcp_store import *  # noqa: F403
from tandem.distributed._world import *  # noqa: F403

__all__: list[str] = []
__all__ += _collectives.__all__
__all__ += _errors.__all__
__all__ += _gradients.__all__
__all__ += _objects.__all__
__all__ += _point_to_point.__all__
__all__ += _process_group.__all__
__all__ += _rank_order.__all__
__all__ += _stores.__all__
__all__ += _tcp_store.__all__
__all__ += _world.__all__

globals().update(lacking_classes(__name__, "DeviceMesh"))
globals().update(lacking_functions(__name__, "init_device_mesh new_subgroups new_subgroups_by_enumeration split_group"))
