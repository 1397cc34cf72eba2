"""`DataParallel`, on one device a module that calls the one it holds; and `DistributedDataParallel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem._stand_in import lacking_functions
from tandem.nn.distributed_data_parallel import DistributedDataParallel
from tandem.nn.module import Module
from tandem.types import Device

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """Holds `module` and calls it: there is one device, so no batch is split. Names in states start with `module.`.

    `device_ids`, `output_device` and `dim` are taken and have no effect.

    Example:
        >>> import tandem
        >>> list(tandem.nn.DataParallel(tandem.nn.Linear(2, 3)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Device] | None = None, output_device: Device = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids: list[Device] = []
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Device] | None = None,
    output_device: Device = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`module(*inputs, **module_kwargs)`: there is one device, so no batch is split.

    `inputs` is a tuple of arguments, or the only one.

    Example:
        >>> import tandem
        >>> tandem.nn.parallel.data_parallel(tandem.nn.ReLU(), tandem.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*args, **(module_kwargs or {}))


globals().update(lacking_functions(__name__, "gather parallel_apply replicate scatter scatter_kwargs"))
