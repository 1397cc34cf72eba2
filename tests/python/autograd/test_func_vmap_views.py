"""What `vmap` hides and shows again is a view: what is written through it, and what is new in it."""

from __future__ import annotations

import numpy as np
import pytest
from operations import array_of

import tandem
from tandem.func import grad, vmap


def close(actual, expected):
    np.testing.assert_allclose(array_of(actual), expected, rtol=1e-6)


def test_results_are_views_of_the_inputs():
    x = tandem.randn(3, 4)
    for f, out_dim in ((lambda x: x[0], 0), (lambda x: x.view(2, 2).t(), -1), (lambda x: x.unbind(0)[1], 0)):
        y = vmap(f, out_dims=out_dim)(x)
        assert y._base is x and y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert vmap(lambda x: x.sum())(x)._base is None
    inner = vmap(lambda x: x.exp()[1:])(x)
    assert inner.add_(1).shape == (3, 3)


@pytest.mark.parametrize("in_dim", [0, 1])
def test_writes_through_views_reach_gradients(in_dim):
    def written(write):
        z = tandem.ones(3, 4, requires_grad=True) if in_dim else tandem.ones(4, 3, requires_grad=True)
        w = z.clone()
        write(w if in_dim else w.t())
        (w * 2).sum().backward()
        return z.grad if in_dim else z.grad.t()

    close(written(lambda w: vmap(lambda x: x.mul_(3), 1)(w)), np.full((3, 4), 6.0))
    close(written(lambda w: vmap(lambda x: x[0].mul_(3), 1)(w)), 2 * np.array([[3.0], [1], [1]]) * np.ones((3, 4)))
    close(written(lambda w: vmap(lambda x: x[1:], 1)(w).mul_(3)), 2 * np.array([[1.0], [3], [3]]) * np.ones((3, 4)))
    close(written(lambda w: vmap(vmap(lambda x: x.mul_(3)))(w)), np.full((3, 4), 6.0))
    close(written(lambda w: vmap(vmap(lambda x: x, out_dims=-1), 1)(w.unsqueeze(0)).mul_(3)), np.full((3, 4), 6.0))


def test_compiled_writes_through_views():
    def f(z):
        w = z * 1
        vmap(lambda x: x[0].mul_(x.sum()), in_dims=1)(w)
        vmap(lambda x: x[1:])(w).sin_()
        return (w * w).sum()

    compiled, z = tandem.compile(f), tandem.randn(3, 4, requires_grad=True)
    for _ in range(2):
        assert tandem.autograd.grad(compiled(z), z)[0].equal(tandem.autograd.grad(f(z), z)[0])


def test_views_see_writes_to_their_base():
    z = tandem.ones(3, 4, requires_grad=True)
    w = z.clone()
    y = vmap(lambda x: x[:2])(w)
    w.mul_(3)
    y.sum().backward()
    close(z.grad, np.array([3.0, 3, 0, 0]) * np.ones((3, 4)))


def test_values_with_histories_are_written_into_plain_tensors():
    a = tandem.tensor([1.0, 2.0, 3.0], requires_grad=True)
    into = tandem.zeros(3, 2)
    vmap(lambda row, a: row[1:].copy_(a * a))(into, a)
    (into * tandem.tensor([5.0, 7.0])).sum().backward()
    close(a.grad, 14 * a.detach().numpy())


def test_inputs_of_a_vmap_within_a_derivative_can_be_written():
    def f(x):
        y = x * 1
        vmap(lambda row: row.mul_(row.detach().sum()))(y)
        return y.sum()

    close(grad(f)(tandem.ones(2, 3)), np.full((2, 3), 3.0))


def test_a_leaf_is_not_written():
    x = tandem.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        vmap(lambda x: x.mul_(3))(x)


def test_arguments_that_are_returned():
    x = tandem.randn(3, 4)
    assert vmap(lambda x: x)(x) is x and vmap(vmap(lambda x: x.add_(1)))(x) is x
    assert vmap(lambda x: x, in_dims=1, out_dims=-1)(x) is x
    moved = vmap(lambda x: x, out_dims=1)(x)
    assert moved is not x and moved._base is x and moved.equal(x.t())


def test_new_tensors_are_each_examples_own():
    x = tandem.arange(6.0).reshape(2, 3)
    y = vmap(lambda x: x.new_empty_strided((3, 2), (1, 4)).copy_(x.unsqueeze(1)))(x)
    assert y.stride() == (7, 1, 4) and y[:, :, 1].equal(x)


def test_in_dims_are_an_int_or_a_tuple():
    x = tandem.ones(2, 3)
    with pytest.raises(ValueError, match="expected `in_dims` to be int or a"):
        vmap(tandem.mul, [0, 0])(x, x)
