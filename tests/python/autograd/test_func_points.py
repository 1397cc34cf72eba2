"""What transforms are given: writes to it, cotangents of None, integers."""

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
