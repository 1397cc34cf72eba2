"""Reverse-mode differentiation, to any order."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tandem._legacy import Variable
from tandem.autograd import graph
from tandem.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from tandem.autograd.function import Function, FunctionCtx, once_differentiable
from tandem.autograd.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from tandem.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from tandem.autograd.gradcheck import gradcheck, gradgradcheck
from tandem.autograd.gradients import backward, grad

__all__ = [
    "Function",
    "FunctionCtx",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

if _TYPE_CHECKING:
    from tandem.autograd import forward_ad as forward_ad
    from tandem.autograd import functional as functional


def _later(name: str) -> _Any:
    import sys

    # Loaded when first asked for: they bring nn and func along.
    if name in ("forward_ad", "functional"):
        from importlib import import_module

        return import_module(f"tandem.autograd.{name}")
    from tandem import _missing

    return _missing.fail(sys.modules[__name__], name)


# Not a definition, which would make type checkers take every name for one that is there.
globals()["__getattr__"] = _later
