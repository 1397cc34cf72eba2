"""What transforms are given: writes to it, cotangents of None, integers; a Function of the user within a vmap."""

from __future__ import annotations

import numpy as np
import pytest

import tandem
from tandem import func
from tandem.func import grad, jacfwd, jacrev, jvp, linearize, vjp, vmap


def doubles(*shape):
    return tandem.randn(*shape, dtype=tandem.float64)


def close(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), np.asarray(expected), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["grad", "jacrev", "hessian", "vjp"])
def test_points_of_reverse_derivatives_are_not_written(name):
    transform = (lambda f: lambda x: vjp(f, x)) if name == "vjp" else getattr(func, name)
    for write in (lambda x: x.mul_(2), lambda x: x[0].mul_(2), lambda x: vmap(lambda x: x.mul_(2))(x)):
        x = doubles(3)
        before = x.clone()
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place"):
            transform(lambda x: (write(x), x.sum())[1])(x)  # noqa: B023
        assert x.equal(before)
    with tandem.no_grad():
        close(grad(lambda x: (x * 2).mul_(3).sum())(doubles(3)), np.full(3, 6.0))


def test_what_is_multiplied_by_itself_in_place_has_a_forward_derivative():
    x, t = doubles(3), doubles(3)
    cases = (
        (lambda y: y.mul_(y), 2 * x * t),
        (lambda y: y.div_(y), 0 * t),
        (lambda y: y.mul_(y).mul_(y), 4 * x**3 * t),
    )
    for write, expected in cases:
        close(jvp(lambda x: write(x.clone()), (x,), (t,))[1], expected)  # noqa: B023
        (diagonal,) = (jacfwd(lambda x: write(x.clone()))(x).diagonal(),)  # noqa: B023
        close(diagonal * t, expected)
        z = x.clone().requires_grad_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            write(z.clone()).sum().backward()

    def parts(x):
        y = x.clone()
        y[0].mul_(y[1])
        return y

    close(jvp(parts, (x,), (t,))[1][0], x[0] * t[1] + x[1] * t[0])


def test_cotangents_of_none_are_one():
    x = doubles(3)
    _, pull = vjp(lambda x: (x.sum(), x[:1] * 2), x)
    close(pull((None, None))[0], np.array([3.0, 1, 1]))
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        vjp(tandem.sin, x)[1](None)


def test_integers_have_no_derivatives():
    x, n = doubles(3), tandem.arange(3)
    with pytest.raises(RuntimeError, match="All outputs of f must be floating-point"):
        jacrev(lambda x: x.long())(x)
    for call in (lambda: jvp(tandem.square, (n,), (n,)), lambda: jacfwd(tandem.square)(n)):
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            call()
    with pytest.raises(ValueError, match="Expected primal to be floating point"):
        linearize(tandem.square, n)
    with pytest.raises(ValueError, match="Expected tangent to be floating point"):
        jvp(tandem.square, (x,), (n,))


class Times(tandem.autograd.Function):
    """A product of arrays, whose rule for `vmap` relies on broadcasting, as its backward does not."""

    @staticmethod
    def forward(x, y, power=1):
        assert power == 1
        return tandem.from_numpy(x.detach().numpy() * y.detach().numpy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return Times.apply(g, y), Times.apply(g, x), None

    @staticmethod
    def vmap(info, in_dims, x, y, power):
        x, y = (t.unsqueeze(-1) if d is None else t.movedim(d, -1) for t, d in zip((x, y), in_dims))
        return Times.apply(x, y).movedim(-1, 0), 0


def derivatives(times):
    x, y = tandem.arange(6.0).reshape(2, 3) + 1, tandem.tensor([2.0, 3.0, 5.0])
    w = y.clone().requires_grad_()

    def both(a, b):
        return times(times(a, a), b)

    def total(a, b):
        return both(a, b).sum()

    vmap(lambda a: jvp(lambda s: both(s, w), (a,), (a,))[1])(x).sum().backward()
    return [
        w.grad,
        *vmap(grad(total, argnums=(0, 1)), (0, None))(x, y),
        *vmap(lambda a, t: jvp(both, (a, y), (t, y)), (None, 0))(y, x),
        *vmap(lambda a: vjp(both, y, a)[1](y))(x),
        vmap(grad(lambda a: grad(total)(a, y).sum()))(x),
        vmap(jacfwd(jacrev(both)), (0, None))(x, y),
        grad(lambda b: vmap(grad(total), (0, None))(x, b).sum())(y),
        jvp(lambda b: vmap(both, (0, None))(x, b), (y,), (y,))[1],
        vmap(lambda a: vmap(grad(total), (0, None))(x, a))(x),
    ]


def test_derivatives_of_a_function_within_a_vmap_are_those_of_an_example():
    for found, want in zip(derivatives(Times.apply), derivatives(tandem.mul), strict=True):
        assert tandem.equal(found, want)


class Tripled(tandem.autograd.Function):
    @staticmethod
    def forward(x):
        return x.mul_(3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 3

    @staticmethod
    def vmap(info, in_dims, x):
        return Tripled.apply(x), in_dims[0]


def test_a_function_within_a_vmap_writes_its_argument():
    def f(x):
        y = x * 1
        return (Tripled.apply(y) * y).sum()

    x = tandem.arange(6.0).reshape(2, 3)
    assert vmap(grad(f))(x).equal(18 * x) and vmap(f)(x).equal((9 * x * x).sum(1))
    assert grad(lambda x: vmap(f)(x).sum())(x).equal(18 * x)
    with tandem.inference_mode():
        assert vmap(Tripled.apply)(tandem.ones(2, 3)).tolist() == [[3.0] * 3] * 2
