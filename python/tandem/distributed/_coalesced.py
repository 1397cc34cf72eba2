"""Operations on several tensors by one call, which PyTorch would have programs write in another way; and how much
PyTorch's own code is to say, which is kept for those that ask."""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Sequence
from typing import Any

from tandem._C import Tensor
from tandem.distributed._collectives import all_gather, all_reduce
from tandem.distributed._rank_order import ReduceOp
from tandem.futures import collect_all

__all__ = [
    "DebugLevel",
    "all_gather_coalesced",
    "all_reduce_coalesced",
    "get_debug_level",
    "set_debug_level",
    "set_debug_level_from_env",
]


def _warn(name: str) -> None:
    warnings.warn(f"`torch.distributed.{name}` will be deprecated.", FutureWarning, stacklevel=3)


def _done(works: Sequence[Any], async_op: bool) -> Any:
    """A future of all of them, where it is asked for and there is any: of groups of others there is none."""
    return collect_all([work.get_future() for work in works]) if async_op and None not in works else None


def _alike(tensors: Any, name: str) -> list[Tensor]:
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not all(isinstance(x, Tensor) for x in found):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type Tensor or List[Tensor]")
    if len({x.dtype for x in found}) > 1:
        raise ValueError("Invalid usage of tensors with different dtypes")
    return found


def all_reduce_coalesced(
    tensors: Tensor | Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`all_reduce` of each of several tensors of one dtype; with `async_op` a future.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.ones(2)
    >>> dist.all_reduce_coalesced([x], async_op=True).wait()[0].value()
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    _warn("all_reduce_coalesced")
    found = _alike(tensors, "tensor")
    return _done([all_reduce(x, op, group, async_op) for x in found], async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """`all_gather` of each of several tensors of one dtype into the list of each rank; with `async_op` a future.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.zeros(2)
    >>> dist.all_gather_coalesced([[x]], [tandem.ones(2)]), x
    (None, tensor([1., 1.]))
    >>> dist.destroy_process_group()
    """
    _warn("all_gather_coalesced")
    found = _alike(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    outputs = [_alike(rank, "output_tensor_lists") for rank in output_tensor_lists]
    if any(len(rank) != len(found) for rank in outputs):
        raise RuntimeError(f"all_gather_coalesced: every rank has {len(found)} tensors")
    return _done([all_gather([rank[i] for rank in outputs], x, group, async_op) for i, x in enumerate(found)], async_op)


class DebugLevel(enum.Enum):
    """How much PyTorch's code between processes checks and says. Here it changes nothing.

    >>> import tandem
    >>> tandem.distributed.DebugLevel.DETAIL.value
    2
    """

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __str__(self) -> str:
        return f"DebugLevel.{self.name}"


def _level_of_env() -> DebugLevel:
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be one of {', '.join(DebugLevel.__members__)}, got {name}"
        )
    return DebugLevel[name]


_level: list[DebugLevel] = []  # once it was asked for


def get_debug_level() -> DebugLevel:
    """What was set, or what TORCH_DISTRIBUTED_DEBUG said when it was first asked for.

    >>> import tandem
    >>> tandem.distributed.get_debug_level()
    <DebugLevel.OFF: 0>
    """
    if not _level:
        _level.append(_level_of_env())
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """Sets it, for this process.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.set_debug_level(dist.DebugLevel.INFO)
    >>> dist.get_debug_level().name
    'INFO'
    >>> dist.set_debug_level_from_env()
    """
    _level[:] = [level]


def set_debug_level_from_env() -> None:
    """Sets it to what TORCH_DISTRIBUTED_DEBUG says now; RuntimeError for another word.

    >>> import tandem
    >>> tandem.distributed.set_debug_level_from_env()
    >>> tandem.distributed.get_debug_level().name
    'OFF'
    """
    set_debug_level(_level_of_env())
