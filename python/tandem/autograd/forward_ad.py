"""Forward-mode derivatives by dual numbers: tensors that carry the direction they move in.

A dual is a fresh tensor of the graph; the tangent of a result is the tape differentiated twice, so it is right for
every operation, and to every order. So a level turns grad mode on until its end: what operations give within it
requires gradients, and of what leaves it, primal and tangent, both do where they would without. What runs in `no_grad`
within a level has no tangents. `tandem.func.jvp` says the same in one call.
"""

from __future__ import annotations

from typing import NamedTuple

from tandem import _C
from tandem._C import Tensor
from tandem.autograd.grad_mode import _Mode
from tandem.autograd.graph import _history

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

# One list a level: (anchor of a dual, which in-place operations leave as it is, tangent).
_levels: list[list[tuple[Tensor, Tensor]]] = []
# Whether grad mode was on before each.
_grad_before: list[bool] = []
#: The number of the innermost level, -1 outside of all.
_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; None where it has none.

    >>> import tandem
    >>> import tandem.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.unpack_dual(tandem.tensor(3.0))
    UnpackedDualTensor(primal=tensor(3.), tangent=None)
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level, within which duals are made; returns its number. `dual_level` does so for a block.

    RuntimeError inside another level.

    >>> import tandem.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.exit_dual_level(level=level)
    """
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    global _current_level
    _levels.append([])
    _grad_before.append(_C.is_grad_enabled())
    _C._set_grad_enabled(not _C.is_inference_mode_enabled())
    _C._keep_saved(True)
    _current_level = len(_levels) - 1
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """End the innermost level: its duals have no tangents any more.

    Args:
        level: its number; RuntimeError for another one. None means the innermost.

    >>> import tandem.autograd.forward_ad as fwAD
    >>> fwAD.enter_dual_level()
    0
    >>> fwAD.exit_dual_level()
    """
    if level is not None and level != len(_levels) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    global _current_level
    _current_level -= 1
    _C._set_grad_enabled(_grad_before.pop())
    _C._keep_saved(False)
    for anchor, _ in _levels.pop():
        _C._close_point(anchor)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor equal to `tensor` that moves along `tangent`.

    Args:
        tensor: a tensor of a floating dtype.
        tangent: its direction, of the same shape and dtype.
        level: accepted; there is one level at a time.

    Raises:
        RuntimeError: there is no level, or the shapes differ.
        ValueError: a dtype that is not floating-point.

    >>> import tandem
    >>> import tandem.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(tandem.tensor([1.0, 2.0]), tandem.tensor([1.0, 0.0]))
    ...     fwAD.unpack_dual(x.prod()).tangent.item()
    2.0
    """
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not t.is_floating_point():
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Expected tensor and tangent to have the same shape, but got {tensor.shape} and {tangent.shape}"
        )
    dual, anchor = _C._differentiation_point(tensor)
    _levels[-1].append((anchor, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor computed from duals, and its tangent: None where it depends on no dual, and zeros where it
    does by derivatives that are zero everywhere (`round`, `sign`). The value keeps its history beyond the duals.

    >>> import tandem
    >>> import tandem.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(tandem.tensor(0.0), tandem.tensor(2.0))
    ...     primal, tangent = fwAD.unpack_dual(x.exp())
    >>> primal.item(), tangent.item()
    (1.0, 2.0)
    """
    if not _levels or not _levels[-1] or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    anchors, tangents = zip(*_levels[-1])
    inside = _C.is_grad_enabled()
    _C._set_grad_enabled(inside and _grad_before[-1])
    try:
        (tangent,) = _C._push_forward((tensor,), anchors, tangents)
        if tangent is None and _depends(tensor, anchors):
            tangent = _C.zeros_like(tensor.detach())
        return UnpackedDualTensor(tensor if tangent is None else _C._primal_of(tensor, anchors), tangent)
    finally:
        _C._set_grad_enabled(inside)


def _depends(tensor: Tensor, anchors: tuple[Tensor, ...]) -> bool:
    """Whether the history of a tensor reaches one of the anchors, be it by derivatives that are zero everywhere."""
    ends = {a.grad_fn for a in anchors}
    return any(node in ends for node in _history([tensor.grad_fn]))


class dual_level(_Mode):
    """A block within which duals are made; entering it gives the number of the level.

    >>> import tandem
    >>> import tandem.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(tandem.tensor(3.0), tandem.tensor(1.0))
    ...     fwAD.unpack_dual(x * x).tangent.item()
    6.0
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()
