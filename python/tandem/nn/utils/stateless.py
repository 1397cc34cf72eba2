"""`tandem.nn.utils.stateless`: the older name of `tandem.func.functional_call`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tandem import Tensor
from tandem.func._functional_call import reparametrized as _reparametrize_module  # noqa: F401

if TYPE_CHECKING:
    from tandem.nn.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`tandem.func.functional_call`, by its older name, of which it warns.

    >>> import tandem, warnings
    >>> from tandem.nn.utils.stateless import functional_call
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     given = {"weight": tandem.ones(1, 2), "bias": tandem.zeros(1)}
    ...     functional_call(tandem.nn.Linear(2, 1), given, tandem.ones(2))
    tensor([2.])
    """
    from tandem.func import functional_call as call

    warnings.warn(
        "nn.utils.stateless.functional_call is deprecated: use func.functional_call", FutureWarning, stacklevel=2
    )
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
