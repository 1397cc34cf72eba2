"""`tandem.distributed`, in a build of one process: enough for programs that ask first."""

from __future__ import annotations

import enum

from tandem._stand_in import lacking_classes, lacking_functions


def is_available() -> bool:
    """False: this build computes in one process.

    >>> import tandem
    >>> tandem.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: there is no group of processes.

    >>> import tandem
    >>> tandem.distributed.is_available() and tandem.distributed.is_initialized()
    False
    """
    return False


def is_torchelastic_launched() -> bool:
    """False: this build computes in one process.

    >>> import tandem
    >>> tandem.distributed.is_torchelastic_launched()
    False
    """
    return False


def is_nccl_available() -> bool:
    """False: this build computes in one process.

    >>> import tandem
    >>> tandem.distributed.is_nccl_available()
    False
    """
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


class ReduceOp(enum.Enum):
    """How values of processes are reduced, for code that names it.

    >>> import tandem
    >>> tandem.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class group:  # noqa: N801
    """The groups of processes: there is none.

    >>> import tandem
    >>> tandem.distributed.group.WORLD is None
    True
    """

    WORLD = None


class GroupMember:
    """Membership of groups: there is none.

    >>> import tandem
    >>> tandem.distributed.GroupMember.WORLD is None
    True
    """

    WORLD = None
    NON_GROUP_MEMBER = object()


globals().update(
    lacking_functions(
        __name__,
        "all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single barrier "
        "batch_isend_irecv broadcast broadcast_object_list destroy_process_group gather gather_object get_backend "
        "get_global_rank get_group_rank get_process_group_ranks get_rank get_world_size init_process_group "
        "init_device_mesh irecv isend monitored_barrier new_group new_subgroups recv reduce reduce_scatter "
        "reduce_scatter_tensor scatter scatter_object_list send",
    )
)
globals().update(lacking_classes(__name__, "Backend FileStore HashStore P2POp ProcessGroup Store TCPStore Work"))
