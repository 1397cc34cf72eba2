"""In-place forms of views, sizes and scans, random numbers written in place, windows, and other small things."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import run_in

import tandem
from tandem import tensor

VIEWS = {
    "unsqueeze_": (lambda x: x.unsqueeze_(1), lambda x: x.unsqueeze(1)),
    "squeeze_": (lambda x: x.squeeze_(), lambda x: x.squeeze()),
    "squeeze_dim": (lambda x: x.squeeze_(0), lambda x: x.squeeze(0)),
    "t_": (lambda x: x.t_(), lambda x: x.t()),
    "transpose_": (lambda x: x.transpose_(0, 1), lambda x: x.transpose(0, 1)),
    "swapaxes_": (lambda x: x.swapaxes_(0, 1), lambda x: x.swapaxes(0, 1)),
    "swapdims_": (lambda x: x.swapdims_(0, 1), lambda x: x.swapdims(0, 1)),
    "as_strided_": (lambda x: x.as_strided_((2,), (1,), 1), lambda x: x.as_strided((2,), (1,), 1)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_tensor_becomes_a_view_of_itself(name, mode):
    in_place, view = VIEWS[name]

    def body(x):
        w = x.detach().requires_grad_()
        y = w * 2
        z = in_place(y)
        assert z is y
        (y * y).sum().backward()
        return y, w.grad

    x = tandem.arange(3.0).reshape(1, 3)
    y, grad = run_in(mode, body, x)
    expected = view(x * 2)
    assert y.shape == expected.shape and y.tolist() == expected.tolist()
    wanted = 8 * x if name != "as_strided_" else tensor([[0.0, 8.0, 16.0]])
    assert grad.tolist() == wanted.tolist()


def test_a_leaf_does_not_become_a_view():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        tandem.ones(2, requires_grad=True).unsqueeze_(0)
    with tandem.no_grad():
        assert tandem.ones(2, requires_grad=True).unsqueeze_(0).shape == (1, 2)


def test_resize():
    x = tandem.arange(6)
    y = x[:2]
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(3, 3).shape == (3, 3) and x.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert y.tolist() == [0, 1]
    assert x.resize_as_(y).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        tandem.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize("mode", ["eager", "lazy"])
@pytest.mark.parametrize(
    ("arguments", "values", "places"),
    [
        (lambda s: (s,), [[0, 1, 2], [3, 4, 5]], [0, 1]),
        (lambda s: (s.mT,), [[0, 3], [1, 4], [2, 5]], [0, 1]),
        (lambda s: (s, 1, (2,), (2,)), [1, 3], [1, 3]),
        (lambda s: (s[1].untyped_storage(),), [0, 1, 2, 3, 4, 5], [0, 1]),
        (lambda s: (s.untyped_storage(), 1, (2, 2)), [[1, 2], [3, 4]], [1, 2]),
        (lambda s: (), [], []),
    ],
)
def test_tensors_of_other_memory(mode, arguments, values, places):
    def program():
        source, x = tandem.arange(6.0).reshape(2, 3), tandem.zeros(4)
        assert x.set_(*arguments(source)) is x
        had = x.clone()
        x.fill_(9)
        return had, source

    had, source = run_in(mode, program)
    assert had.tolist() == values
    assert [i for i, v in enumerate(source.flatten().tolist()) if v == 9][:2] == places


def test_what_tensors_of_other_memory_cannot_be():
    with pytest.raises(RuntimeError, match="Could not set tensor of type"):
        tandem.zeros(2).set_(tandem.arange(2))
    p = tandem.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        p.set_(tandem.zeros(2))
    with tandem.no_grad():
        p.set_(tandem.zeros(3))
    assert p.requires_grad and p.is_leaf and p.shape == (3,)
    with pytest.raises((RuntimeError, IndexError)):
        tandem.zeros(2).set_(tandem.zeros(3), 1, (4,))


def test_scans_and_triangles_in_place():
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.clone().cumsum_(0).tolist() == [[1.0, 2.0], [4.0, 6.0]]
    assert x.clone().cumprod_(1).tolist() == [[1.0, 2.0], [3.0, 12.0]]
    assert x.clone().tril_().tolist() == [[1.0, 0.0], [3.0, 4.0]]
    assert x.clone().triu_(1).tolist() == [[0.0, 2.0], [0.0, 0.0]]
    assert x.clone().fill_diagonal_(7).tolist() == [[7.0, 2.0], [3.0, 7.0]]
    assert tandem.zeros(5, 2).fill_diagonal_(1, wrap=True).sum() == 4
    assert x.sgn().tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_float_power_in_place():
    with pytest.raises(
        RuntimeError, match="float_power_ has dtype Float but the operation's result requires dtype Double"
    ):
        tandem.ones(2).float_power_(2)
    assert tensor([3.0], dtype=tandem.float64).float_power_(2).tolist() == [9.0]


def test_where_as_a_method():
    assert tensor([1, 2]).where(tensor([True, False]), tensor([5, 6])).tolist() == [1, 6]
    assert tensor([1, 2]).where(tensor([True, False]), 0).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda x: x.exponential_(2.0), 0.5),
        (lambda x: x.geometric_(0.25), 4.0),
        (lambda x: x.log_normal_(0.0, 0.5), math.exp(0.125)),
        (lambda x: x.cauchy_(1.0, 0.1).clamp(0, 2), 1.0),
    ],
)
def test_random_numbers_in_place(draw, mean, mode):
    x = run_in(mode, lambda: draw(tandem.empty(20000)))
    assert abs(x.mean().item() - mean) < 0.03 * max(mean, 1)


def test_windows():
    for length in (0, 1, 2, 7):
        for name, reference in (
            ("hann", np.hanning),
            ("hamming", np.hamming),
            ("blackman", np.blackman),
            ("bartlett", np.bartlett),
        ):
            make = getattr(tandem, f"{name}_window")
            np.testing.assert_allclose(make(length, periodic=False), reference(length), atol=1e-6)
            if length > 1:
                np.testing.assert_allclose(make(length), reference(length + 1)[:-1], atol=1e-6)
    assert tandem.hann_window(4, dtype=tandem.float64).dtype is tandem.float64
    with pytest.raises(RuntimeError, match="non-negative window_length, got window_length=-1"):
        tandem.hann_window(-1)


def test_small_functions():
    x = tensor([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(tandem.renorm(x, 2, 0, 1.0), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    np.testing.assert_allclose(
        tandem.pdist(tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])), [5.0, 1.0, 18**0.5], rtol=1e-6
    )
    assert tandem.zeros(2, 2).fill_diagonal_(3.0).tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert tandem.range(1, 3).tolist() == [1.0, 2.0, 3.0]
    assert tandem.range(0, 1, 0.5).tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(tandem.frobenius_norm(x, dim=(0, 1)).item(), 25.25**0.5, rtol=1e-6)
    assert tandem.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    for shape, error in ((3.5, RuntimeError), (-1, ValueError), ((1, -1), ValueError)):
        with pytest.raises(error):
            tandem.broadcast_shapes(shape, (3,))
    assert x.is_same_size(tandem.ones(2, 2)) and not x.is_same_size(tandem.ones(2))
    assert tensor([1]).is_nonzero()
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1.0, 2.0]
    assert tensor([1.0, 2.0]).apply_(lambda v: v + 1).tolist() == [2.0, 3.0]
    assert tensor([1.0, 2.0]).map_(tensor([3.0, 4.0]), lambda a, b: a * b).tolist() == [3.0, 8.0]
    assert tandem.relu_(tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert tandem.abs_(tensor([-1.0, 1.0])).tolist() == [1.0, 1.0]
    assert tandem.square(tensor([True])).dtype is tandem.int64
    assert tandem.logsumexp(tandem.ones(0), 0).item() == -math.inf


def test_lists_of_tensors():
    xs = [tensor([1.0, 4.0]), tensor([9.0])]
    assert [t.tolist() for t in tandem._foreach_sqrt(xs)] == [[1.0, 2.0], [3.0]]
    tandem._foreach_add_(xs, [tensor(1.0), tensor(2.0)], alpha=2)
    assert [t.tolist() for t in xs] == [[3.0, 6.0], [13.0]]
    tandem._foreach_mul_(xs, 2.0)
    tandem._foreach_maximum_(xs, [tensor(7.0), tensor(0.0)])
    assert [t.tolist() for t in xs] == [[7.0, 12.0], [26.0]]
    assert [t.item() for t in tandem._foreach_norm([tensor([3.0, 4.0])])] == [5.0]
    for base in (2.0, tensor(2.0)):
        assert [t.tolist() for t in tandem._foreach_pow(base, [tensor([1.0, 3.0]), tensor(2.0)])] == [[2.0, 8.0], 4.0]
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        tandem._foreach_add(xs, [1.0])
    with pytest.raises(RuntimeError, match="same number of tensors"):
        tandem._foreach_add(xs, xs[:1])


def test_operands_of_lists_of_tensors():
    """By place or by any of their names, numbers for each packed in a tensor; results that are new come as a tuple."""
    xs, ones = [tensor([1.0, 4.0]), tensor([9.0])], [tensor([1.0, 1.0]), tensor([1.0])]
    lists = [[2.0, 5.0], [10.0]]
    for options in ({"scalar": 1}, {"scalars": [1, 1]}, {"other": ones}, {"other": tensor(1.0)}):
        made = tandem._foreach_add(xs, **options)
        assert type(made) is tuple and [t.tolist() for t in made] == lists
    for factors in ([2.0, 3.0], tensor([2.0, 3.0])):
        assert [t.tolist() for t in tandem._foreach_addcmul(xs, ones, ones, factors)] == [[3.0, 6.0], [12.0]]
        assert [t.tolist() for t in tandem._foreach_addcdiv(xs, ones, ones, scalars=factors)] == [[3.0, 6.0], [12.0]]
    assert [t.tolist() for t in tandem._foreach_lerp(self=xs, tensors1=ones, weights=ones)] == [[1.0, 1.0], [1.0]]
    assert [t.tolist() for t in tandem._foreach_maximum(xs, [True, 10])] == [[1.0, 4.0], [10.0]]
    with tandem.lazy():
        made = tandem._foreach_minimum(xs, 2)
    assert [t.tolist() for t in made] == [[1.0, 2.0], [2.0]]
    assert [t.item() for t in tandem._foreach_powsum(xs, 3)] == [65.0, 729.0]
    copies = tandem._foreach_clone(xs)
    assert tandem._foreach_copy_(copies, src=ones) is copies and xs[1].item() == 9.0
    square = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert tandem._foreach_mm([square], [square])[0].tolist() == [[7.0, 10.0], [15.0, 22.0]]


def test_operands_that_lists_of_tensors_refuse():
    xs, number = [tensor([1.0, 4.0]), tensor([9.0])], tensor([1, 2])
    for call in (
        lambda: tandem._foreach_exp([]),
        lambda: tandem._foreach_pow(2, []),
        lambda: tandem._foreach_mul_(xs, []),
        lambda: tandem._foreach_mul(xs, tensor([2.0])),
        lambda: tandem._foreach_addcmul(xs, xs, xs, tensor(2.0)),
        lambda: tandem._foreach_addcmul(xs, xs, xs, tensor([2.0])),
        lambda: tandem._foreach_maximum_([number], 2.5),
    ):
        with pytest.raises(RuntimeError):
            call()
    for call in (
        lambda: tandem._foreach_add(xs),
        lambda: tandem._foreach_add(xs, 1, alpha=2),
        lambda: tandem._foreach_add(xs, [xs[0], 1]),
        lambda: tandem._foreach_sub(xs, tensor([2.0])),
        lambda: tandem._foreach_add([1, 2], 1),
        lambda: tandem._foreach_exp(xs[0]),
        lambda: tandem._foreach_exp(iter(xs)),
        lambda: tandem._foreach_round(xs, decimals=1),
        lambda: tandem._foreach_max(xs, 0),
        lambda: tandem._foreach_copy_(xs, [1, 2]),
        lambda: tandem._foreach_addcmul(xs, xs, xs[0]),
    ):
        with pytest.raises(TypeError):
            call()
    assert number.tolist() == [1, 2] and xs[1].item() == 9.0


def test_storage():
    x = tandem.arange(6)
    y = x[2:]
    assert x.storage().data_ptr() == y.untyped_storage().data_ptr() != 0
    assert len(y.storage()) == 6 and y.untyped_storage().nbytes() == 48 and y.storage()[5] == 5


def test_checks_of_a_program():
    tandem._assert(True, "x")
    with pytest.raises(AssertionError, match="x"):
        tandem._assert(False, "x")
    with pytest.raises(RuntimeError, match="why"):
        tandem._check(False, lambda: "why")
    kinds = {"index": IndexError, "value": ValueError, "type": TypeError, "not_implemented": NotImplementedError}
    for name, error in kinds.items():
        check = getattr(tandem, f"_check_{name}")
        check(True)
        with pytest.raises(error, match="why"):
            check(False, lambda: "why")
    tandem._check_tensor_all(tandem.tensor([True, True]))
    with pytest.raises(RuntimeError, match="why"):
        tandem._check_tensor_all(tandem.tensor([True, False]), lambda: "why")
    with pytest.raises(TypeError):
        tandem._check_tensor_all(True)
    tandem._check_tensor_all_with(ValueError, tandem.tensor([True]))
    with pytest.raises(ValueError, match="why"):
        tandem._check_tensor_all_with(ValueError, tandem.tensor([True, False]), lambda: "why")
    tandem._check_is_size(3, max=3)
    with pytest.raises(RuntimeError):
        tandem._check_is_size(-1)


def test_a_power_mean_pool():
    x = tandem.arange(8.0).reshape(1, 1, 8) + 1
    expected = (x.reshape(4, 2) ** 3).sum(1) ** (1 / 3)
    np.testing.assert_allclose(tandem.nn.functional.lp_pool1d(x, 3.0, 2)[0, 0], expected, rtol=1e-6)
    plane = x.reshape(1, 1, 2, 4)
    np.testing.assert_allclose(tandem.nn.LPPool2d(2, 2)(plane).flatten(), [66**0.5, 138**0.5], rtol=1e-6)


def test_fractional_pools():
    x = tandem.rand(2, 3, 9, 7)
    values, indices = tandem.nn.functional.fractional_max_pool2d(x, 2, (4, 3), return_indices=True)
    assert values.shape == (2, 3, 4, 3)
    assert tandem.equal(x.flatten(2).gather(2, indices.flatten(2)).reshape(values.shape), values)
    samples = tandem.tensor([[[0.0, 0.5]]])
    plane = tandem.arange(25.0).reshape(1, 1, 5, 5)
    # Windows of height from rows 0 + 0.5, of width from columns 0: starts 0 1 3 and 0 1 3.
    found = tandem.nn.functional.fractional_max_pool2d(plane, 2, (3, 3), _random_samples=samples)
    assert found[0, 0, 2].tolist() == [21.0, 22.0, 24.0]
    assert tandem.nn.FractionalMaxPool3d(2, output_ratio=0.5)(tandem.rand(1, 2, 6, 6, 6)).shape == (1, 2, 3, 3, 3)


def test_the_second_derivative_of_a_product_with_two_zeros():
    x = tensor([2.0, 3.0], dtype=tandem.float64)
    source = tensor([0.0, 0.0, 5.0], dtype=tandem.float64, requires_grad=True)
    y = x.scatter_reduce(0, tensor([0, 0, 0]), source, "prod")
    (g,) = tandem.autograd.grad(y[0], source, create_graph=True)
    assert g.tolist() == [0.0, 0.0, 0.0]
    assert tandem.autograd.grad(g[0], source, retain_graph=True)[0].tolist() == [0.0, 10.0, 0.0]
    assert tandem.autograd.grad(g[2], source, create_graph=True)[0].tolist() == [0.0, 0.0, 0.0]
