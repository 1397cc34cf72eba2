"""Reverse-mode differentiation, to any order."""

from __future__ import annotations

from typing import Any as _Any

from tandem import _C
from tandem._legacy import Variable
from tandem.autograd import graph
from tandem.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from tandem.autograd.function import Function, FunctionCtx, once_differentiable
from tandem.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from tandem.autograd.gradcheck import gradcheck, gradgradcheck

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
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]

#: backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None): adds to `.grad` of the
#: leaves the gradient of `tensors`, each weighted by its entry of `grad_tensors`.
backward = _C._backward
#: grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False,
#: materialize_grads=False): the gradients of `outputs` with respect to `inputs`, as a tuple.
grad = _C._grad


def __getattr__(name: str) -> _Any:
    import sys

    # Loaded when first asked for: they bring nn and func along.
    if name in ("forward_ad", "functional"):
        from importlib import import_module

        return import_module(f"tandem.autograd.{name}")
    from tandem import _missing

    return _missing.fail(sys.modules[__name__], name)
