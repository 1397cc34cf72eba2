"""What makes functions and modules fit for transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M")


def functionalize(func: Callable[P, R], *, remove: str = "mutations") -> Callable[P, R]:
    """The function itself: traces hold in-place writes as operations that make new values, and views as windows.

    Args:
        func: a function of tensors.
        remove: "mutations" or "mutations_and_views"; RuntimeError for another.

    >>> import tandem
    >>> tandem.func.functionalize(lambda x: x.clone().add_(1))(tandem.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove. Valid options are: "
            f'remove="mutations" remove="mutations_and_views", but got {remove!r}'
        )
    return func


def replace_all_batch_norm_modules_(root: M) -> M:
    """Has every batch norm in `root`, or that it is, use the statistics of its input alone; returns `root`.

    Running statistics are dropped: a `vmap` cannot write those of one example into what all share.

    >>> import tandem
    >>> net = tandem.func.replace_all_batch_norm_modules_(tandem.nn.Sequential(tandem.nn.BatchNorm1d(2)))
    >>> net[0].running_mean is None, net[0].track_running_stats
    (True, False)
    """
    from tandem.nn.normalization import _BatchNorm

    modules: Any = root
    for module in modules.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
