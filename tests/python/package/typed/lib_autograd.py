"""Differentiation: modes as blocks and decorators, `grad`, a Function of one's own, functional derivatives."""

from collections.abc import Iterator

import tandem
from tandem import Tensor
from tandem.autograd import Function
from tandem.autograd.function import FunctionCtx, once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx: FunctionCtx, g: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return 3 * x * x * g * ctx.scale, None


class Once(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
        return g * 2


@tandem.no_grad()
def frozen(x: Tensor) -> Tensor:
    return x * 2


@tandem.inference_mode()
def inferred(x: Tensor, n: int = 2) -> Tensor:
    return x * n


@tandem.enable_grad()
def streamed(n: int) -> Iterator[int]:
    yield from range(n)


@tandem.set_grad_enabled(False)
def off(x: Tensor) -> bool:
    return (x * 2).requires_grad


def main() -> None:
    x = tandem.tensor([1.0, 2.0], requires_grad=True)
    y: Tensor = Cube.apply(x, 2.0)
    first: tuple[Tensor, ...] = tandem.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = tandem.autograd.grad([first[0].sum()], [x], allow_unused=True)
    tandem.autograd.backward(Once.apply(x).sum())
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0] and second.shape == x.shape
    frozen_sum: Tensor = frozen(x).sum()
    count: int = sum(streamed(3))
    with tandem.no_grad(), tandem.set_grad_enabled(True), tandem.autograd.detect_anomaly():
        z = (x * 2).sum()
    z.backward()
    assert not off(x) and count == 3 and not frozen_sum.requires_grad and not inferred(x).requires_grad
    with tandem.autograd.forward_ad.dual_level():
        dual = tandem.autograd.forward_ad.make_dual(tandem.ones(2), tandem.ones(2))
        tangent = tandem.autograd.forward_ad.unpack_dual(dual * dual).tangent
        assert tangent is not None and tangent.tolist() == [2.0, 2.0]
    value, product = tandem.autograd.functional.hvp(lambda t: (t * t).sum(), x.detach(), tandem.ones(2))
    ok: bool = tandem.autograd.gradcheck(lambda t: t * t, (tandem.ones(2, dtype=tandem.float64, requires_grad=True),))
    kept: list[Tensor] = []

    def pack(t: Tensor) -> int:
        kept.append(t)
        return len(kept) - 1

    with tandem.autograd.graph.saved_tensors_hooks(pack, lambda i: kept[i]):
        w = x.exp().sum()
    w.backward()
    assert ok and value.dim() == 0 and product.shape == (2,)


if __name__ == "__main__":
    main()
