"""`call_for_per_sample_grads`: the gradient of each sample of a batch by itself, at each parameter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tandem import Tensor
from tandem.func import functional_call, vmap
from tandem.nn.module import Module
from tandem.utils import _pytree as pytree

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A function that calls `module`; backward puts the gradients of parameters, with the samples as first dim, into
    their attribute `grad_sample`.

    Every sample is run as a batch of one, with parameters of its own (`func.vmap`).

    Args:
        module: what is called; all tensors among its arguments, and its results, have a dim of samples.
        batch_size: their number; by default as the arguments have it.
        loss_reduction: "mean": gradients of a mean over the samples, which are multiplied by their number.
        batch_first: the samples are the first dim, else the second.

    RuntimeError for other arguments, and for parameters that have a `grad_sample`, which would be added to.

    >>> import tandem
    >>> from tandem.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> model = tandem.nn.Linear(4, 3)
    >>> call_for_per_sample_grads(model)(tandem.ones(5, 4)).sum().backward()
    >>> model.weight.grad_sample.shape, model.weight.grad
    (tandem.Size([5, 3, 4]), None)
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for name, parameter in module.named_parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(f"The parameter {name} has a grad_sample, which would be added to: set it to None first")
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        tensors, rebuild = _samples(args, kwargs)
        size = batch_size or _common_size(tensors, dim)
        parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        copies = {name: _watched_copies(p, size, loss_reduction) for name, p in parameters.items()}

        def one(given: dict[str, Tensor], *sample: Tensor) -> Any:
            args, kwargs = rebuild([t.unsqueeze(dim) for t in sample])
            return pytree.tree_map(lambda t: t.squeeze(dim), functional_call(module, given, args, kwargs))

        return vmap(one, in_dims=(0, *(dim for _ in tensors)), out_dims=dim, randomness="different")(copies, *tensors)

    return call


def _samples(args: Any, kwargs: Any) -> tuple[list[Tensor], Callable[[list[Tensor]], Any]]:
    """The tensors among the arguments, and what puts others in their places."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

    def rebuild(tensors: list[Tensor]) -> Any:
        replaced = dict(zip(places, tensors, strict=True))
        return pytree.tree_unflatten([replaced.get(i, leaf) for i, leaf in enumerate(leaves)], spec)

    return [leaves[i] for i in places], rebuild


def _common_size(tensors: list[Tensor], dim: int) -> int:
    sizes = {t.shape[dim] for t in tensors}
    if not sizes:
        raise RuntimeError("There is no tensor among the arguments to tell the batch size: pass batch_size")
    if len(sizes) > 1:
        raise RuntimeError(
            f"When computing batch size, found inputs with batch sizes {sorted(sizes)}: specify it explicitly using "
            "the batch size kwarg in call_for_per_sample_grads"
        )
    return sizes.pop()


def _watched_copies(parameter: Tensor, size: int, loss_reduction: str) -> Tensor:
    """The parameter once a sample; their gradient goes to its `grad_sample`."""
    copies = parameter.detach().expand(size, *parameter.shape).requires_grad_()

    def keep(grad: Tensor) -> None:
        grad = grad.detach() * size if loss_reduction == "mean" else grad.detach().clone()
        known = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = grad if known is None else known + grad  # type: ignore[attr-defined]

    copies.register_hook(keep)
    return copies
