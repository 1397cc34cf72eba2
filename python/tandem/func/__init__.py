"""Transforms of functions: derivatives (`grad`, `vjp`, `jvp`, `jacrev`, `jacfwd`, `hessian`) and `vmap`.

They nest in any way, and run eagerly, in `lazy` blocks and inside compiled functions.
"""

from __future__ import annotations

from tandem.func._functional_call import functional_call, stack_module_state
from tandem.func._functionalize import functionalize, replace_all_batch_norm_modules_
from tandem.func._transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from tandem.func._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]

from tandem import _missing as _missing  # noqa: E402

_missing.explain_missing_names()
