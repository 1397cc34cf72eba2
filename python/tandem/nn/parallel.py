"""`DataParallel`: on one device a module that calls the one it holds."""

from __future__ import annotations

from typing import Any

from tandem.nn.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Holds `module` and calls it: there is one device, so no batch is split. Names in states start with `module.`.

    Example:
        >>> import tandem
        >>> list(tandem.nn.DataParallel(tandem.nn.Linear(2, 3)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """`module(*inputs, **module_kwargs)`: there is one device, so no batch is split."""
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*args, **(module_kwargs or {}))
