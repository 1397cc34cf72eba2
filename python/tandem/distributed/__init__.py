"""`tandem.distributed`: several processes that compute together, by PyTorch's names.

Map: `_world` makes and names groups of processes, which find each other by stores (`_stores`, `_tcp_store`,
`_rendezvous`) · `_process_group` runs their operations one after another on a thread · `_collectives`,
`_point_to_point` and `_objects` are the operations as programs call them, `_checks` what their arguments must be ·
`_rank_order` what they do, in terms of a `_transport`, of which `_gloo` is the one for CPUs and `_nccl` that for GPUs,
where `_gpu_side` queues operations · `run` starts programs. Each part lists in `__all__` what programs have of it.
Data-parallel training is `nn.parallel.DistributedDataParallel`. docs/distributed.md is the user's side of this.
"""

from __future__ import annotations

from tandem._stand_in import lacking_functions
from tandem.distributed._collectives import *  # noqa: F403
from tandem.distributed._errors import *  # noqa: F403
from tandem.distributed._objects import *  # noqa: F403
from tandem.distributed._point_to_point import *  # noqa: F403
from tandem.distributed._process_group import *  # noqa: F403
from tandem.distributed._rank_order import *  # noqa: F403
from tandem.distributed._stores import *  # noqa: F403
from tandem.distributed._tcp_store import *  # noqa: F403
from tandem.distributed._world import *  # noqa: F403

globals().update(lacking_functions(__name__, "init_device_mesh new_subgroups new_subgroups_by_enumeration split_group"))
