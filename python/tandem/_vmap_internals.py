"""`vmap` as it was before `func`: of functions whose arguments are tensors, one draw for all examples an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tandem.func import vmap as _of_func

__all__ = ["vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    return _of_func(func, in_dims, out_dims)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Any:
    """`func.vmap`, by its older name.

    >>> import tandem
    >>> from tandem._vmap_internals import _vmap
    >>> _vmap(tandem.dot)(tandem.ones(2, 3), tandem.ones(2, 3))
    tensor([3., 3.])
    """
    warnings.warn("Please use torch.vmap instead of torch._vmap_internals.vmap.", FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)
