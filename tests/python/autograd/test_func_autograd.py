"""autograd.functional, forward_ad, and what autograd.graph offers: hooks on saved tensors and on several gradients."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import run_in

import tandem
from tandem.autograd import forward_ad as fwAD
from tandem.autograd import functional as AF
from tandem.autograd import graph


def close(actual, expected, tolerance=1e-9):
    expected = expected.detach().numpy() if isinstance(expected, tandem.Tensor) else expected
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def doubles(*shape):
    return tandem.randn(*shape, dtype=tandem.float64)


# ---- autograd.functional --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobian(strategy, mode):
    a, x = doubles(4, 3), doubles(3)
    expected = (1 - np.tanh(a.numpy() @ x.numpy()) ** 2)[:, None] * a.numpy()
    close(run_in(mode, lambda x: AF.jacobian(lambda x: tandem.tanh(a @ x), x, strategy=strategy), x), expected)
    (xx, xy), (yx, yy) = AF.jacobian(lambda x, y: (x * y.sum(), y**2), (x, a[0]), strategy=strategy)
    close(xx, np.eye(3) * a[0].sum().item())
    close(xy, np.tile(x.numpy()[:, None], 3))
    assert not yx.any()
    close(yy, np.diag(2 * a[0].numpy()))


def test_hessian_and_products(mode):
    x, v = doubles(3), doubles(3)
    f = lambda x: (x**3).sum() + x[0] * x[1]  # noqa: E731
    h = np.diag(6 * x.numpy()) + np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    close(run_in(mode, lambda x: AF.hessian(f, x), x), h)
    for product in (AF.hvp, AF.vhp):
        value, moved = run_in(mode, lambda x, v, product=product: product(f, x, v), x, v)
        close(value, f(x))
        close(moved, h @ v.numpy())
    ((xx, xy), (yx, yy)) = AF.hessian(lambda x, y: (x * x * y).sum(), (x, v))
    close(xx, np.diag(2 * v.numpy()))
    close(xy, np.diag(2 * x.numpy()))
    close(yx, xy)
    assert not yy.any()


def test_vjp_jvp_and_graphs():
    x, v = doubles(3).requires_grad_(), doubles(3)
    y, g = AF.vjp(lambda x: x**2, x, v)
    assert not y.requires_grad and not g.requires_grad
    close(g, 2 * x * v)
    _, t = AF.jvp(lambda x: x**3, x, v, create_graph=True)
    t.sum().backward()
    close(x.grad, 6 * x * v)
    j = AF.jacobian(lambda x: x**3, x, create_graph=True)
    close(tandem.autograd.grad(j.sum(), x)[0], 6 * x)
    outputs, (gx, gy) = AF.vjp(lambda x, y: (x + y, x * y), (v, v), (v, v))
    close(gx, v + v * v)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: AF.vjp(lambda x: x, [x]), TypeError, "must be either a Tensor or a tuple of Tensors"),
        (lambda x: AF.vjp(lambda x: x, x), RuntimeError, "The vector v can only be None if"),
        (lambda x: AF.vjp(lambda x: x, x, x[:2]), RuntimeError, r"v has invalid size: should be .*\[3\].* but got"),
        (lambda x: AF.jvp(lambda x: x, x, (x, x)), RuntimeError, "The given v should contain a single Tensor"),
        (lambda x: AF.hessian(lambda x: x, x), RuntimeError, "should contain a single element"),
        (lambda x: AF.hvp(lambda x: (x, x), x, x), RuntimeError, "should return a single Tensor"),
        (lambda x: AF.jacobian(lambda x: tandem.ones(2), x, strict=True), RuntimeError, "Output 0 of the user-"),
        (lambda x: AF.jacobian(lambda x, y: x, (x, x * 2), strict=True), RuntimeError, "Output 0 .* of input 1"),
        (
            lambda x: AF.hvp(lambda x, y: x.sum() ** 2, (x, x), (x, x), strict=True),
            RuntimeError,
            "The output .* input 1",
        ),
        (lambda x: AF.hessian(lambda x, y: (x**3).sum(), (x, x), strict=True), RuntimeError, "with respect to input 1"),
        (lambda x: AF.vjp(lambda x: x, x), RuntimeError, "None if the user-provided function returns a single"),
        (lambda x: AF.jacobian(lambda x: x, x, strict=True, vectorize=True), RuntimeError, "`vectorize=True` are not"),
        (lambda x: AF.hessian(tandem.sum, x, strict=True, vectorize=True), RuntimeError, "`vectorize=True` are not"),
        (
            lambda x: AF.hessian(tandem.sum, x, strict=True, outer_jacobian_strategy="forward-mode"),
            RuntimeError,
            '`strategy="forward-mode"` are not',
        ),
    ],
)
def test_functional_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(doubles(3))


@pytest.mark.parametrize("create_graph", [False, True])
def test_strict_asks_each_order_to_depend_on_the_inputs(create_graph):
    x = doubles(3)
    options = {"strict": True, "create_graph": create_graph}
    linear, square = (lambda x: x * 2), (lambda x: x * x)
    for run in (AF.vjp, AF.jvp):
        run(square, x, x, **options)
    AF.jacobian(square, x, **options)
    if create_graph:
        for run in (AF.vjp, AF.jvp):
            with pytest.raises(RuntimeError, match="The jacobian .* input 0.* when create_graph=True"):
                run(linear, x, x, **options)
        with pytest.raises(RuntimeError, match="The jacobian .* input 0.* when create_graph=True"):
            AF.jacobian(linear, x, **options)
    for run in (AF.vhp, AF.hvp, lambda f, x, v, **options: AF.hessian(f, x, **options)):
        run(lambda x: (x**3).sum(), x, x, **options)
        with pytest.raises(RuntimeError, match="the jacobian .* with respect to input 0 is independent"):
            run(lambda x: (x * 2).sum(), x, x, **options)
        if create_graph:
            with pytest.raises(RuntimeError, match="The (hessian|jacobian) .* input 0.* when create_graph=True"):
                run(lambda x: (x * x).sum(), x, x, **options)


def test_create_graph_gives_a_history_to_results_of_plain_inputs():
    x = doubles(3)
    with tandem.no_grad():
        results = [*AF.vjp(tandem.square, x, x, create_graph=True), AF.jacobian(tandem.square, x, create_graph=True)]
        results += [*AF.hvp(lambda x: (x**3).sum(), x, x, create_graph=True)]
    assert all(r.requires_grad and r.grad_fn is not None for r in results)
    assert not x.requires_grad
    assert not any(r.requires_grad for r in AF.vjp(tandem.square, x, x))


def test_constants_within_a_transform_are_refused():
    x = doubles(3)
    by_rows = lambda x: AF.jacobian(lambda y: y * y * y, x).sum()  # noqa: E731
    for run in (tandem.func.grad(by_rows), tandem.func.jacfwd(by_rows), lambda x: tandem.func.jvp(by_rows, (x,), (x,))):
        with pytest.raises(RuntimeError, match="needs create_graph=True"):
            run(x)
    close(tandem.func.grad(lambda x: AF.jacobian(lambda y: y * y * y, x, create_graph=True).sum())(x), 6 * x)
    AF.jacobian(lambda y: y * y, x)


# ---- forward_ad -----------------------------------------------------------------------------------------------------


def test_duals():
    x, t = doubles(3), doubles(3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        y = tandem.sin(dual) * 2
        primal, tangent = fwAD.unpack_dual(y)
        close(primal, 2 * np.sin(x.numpy()))
        close(tangent, 2 * np.cos(x.numpy()) * t.numpy())
        assert fwAD.unpack_dual(x).tangent is None
        close(fwAD.unpack_dual(dual).tangent, t)


@pytest.mark.parametrize(
    "function",
    [
        tandem.round,
        tandem.sign,
        lambda x: x.trunc() * 3,
        lambda x: x[:0],
        lambda x: tandem.linalg.vector_norm(x, 0) * 2,
    ],
)
def test_tangents_that_are_zero(function):
    x, other = doubles(3), doubles(3).requires_grad_()
    with fwAD.dual_level():
        primal, tangent = fwAD.unpack_dual(function(fwAD.make_dual(x, tandem.ones_like(x))))
        assert not primal.requires_grad and tangent.shape == primal.shape and not tangent.any()
        assert fwAD.unpack_dual(other.round()).tangent is None


def test_forward_over_reverse():
    x, t = doubles(3).requires_grad_(), doubles(3)
    with fwAD.dual_level():
        y = (fwAD.make_dual(x, t) ** 3).sum()
        (g,) = tandem.autograd.grad(y, x, create_graph=True)
        close(fwAD.unpack_dual(g).tangent, 6 * x * t)


def test_gradients_in_forward_mode_have_tangents_without_a_graph():
    x, t, c = doubles(3).requires_grad_(), doubles(3), doubles(3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        y = dual**3
        # What is freed elsewhere is kept here, as tangents are made of it.
        for options in ({}, {"create_graph": True, "retain_graph": False}):
            (g,) = tandem.autograd.grad(y, dual, tandem.ones_like(y), **options)
            close(fwAD.unpack_dual(g).tangent, 6 * x * t)
        y.sum().backward()
        close(fwAD.unpack_dual(y).tangent, 3 * x**2 * t)
        close(x.grad, 3 * x**2)
        (g,) = tandem.autograd.grad(x**2, x, fwAD.make_dual(c, t))
        close(fwAD.unpack_dual(g).tangent, 2 * x * t)

    def slope(x):
        x = x.detach().requires_grad_() if not x.requires_grad else x
        return tandem.autograd.grad((x**3).sum(), x)[0]

    close(tandem.func.jvp(slope, (x.detach(),), (t,))[1], 6 * x * t)


def test_duals_of_a_module():
    model = tandem.nn.Linear(3, 2)
    x = tandem.randn(4, 3)
    tangents = {n: tandem.randn(*p.shape) for n, p in model.named_parameters()}
    with fwAD.dual_level():
        duals = {n: fwAD.make_dual(p, tangents[n]) for n, p in model.named_parameters()}
        out = fwAD.unpack_dual(tandem.func.functional_call(model, duals, x))
    close(out.tangent, x @ tangents["weight"].T + tangents["bias"], 1e-5)


def test_dual_errors():
    x = tandem.ones(2)
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(x, x)
    with fwAD.dual_level():
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fwAD.make_dual(x.long(), x)
        with pytest.raises(RuntimeError, match="same shape"):
            fwAD.make_dual(x, tandem.ones(3))
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            fwAD.enter_dual_level()


# ---- saved-tensor hooks ---------------------------------------------------------------------------------------------


def test_saved_tensors_go_through_hooks():
    x = doubles(3).requires_grad_()
    packed, unpacked = [], []

    def pack(t):
        assert not t.requires_grad
        packed.append(t)
        return len(packed) - 1

    def unpack(i):
        unpacked.append(i)
        return packed[i]

    with graph.saved_tensors_hooks(pack, unpack):
        y = (x.exp() * x).sum()
    assert len(packed) >= 3 and not unpacked
    (g,) = tandem.autograd.grad(y, x, create_graph=True)
    assert unpacked
    close(g, (1 + x) * x.exp())
    close(tandem.autograd.grad(g.sum(), x)[0], (2 + x) * x.exp())


def test_a_pack_hook_leaves_its_input_as_it_is():
    x = tandem.ones(3).requires_grad_()
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
            x * x
    x = tandem.ones(3).requires_grad_()
    with graph.saved_tensors_hooks(lambda t: t.clone().mul_(2), lambda t: t):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [4, 4, 4]


def test_innermost_hooks_pack():
    x = tandem.ones(2, requires_grad=True)
    seen = []
    with graph.saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with graph.saved_tensors_hooks(lambda t: seen.append("inner") or t * 2, lambda t: t / 2):
            y = x.exp()
        z = y.exp().sum()
    z.backward()
    assert seen == ["inner", "outer"]
    close(x.grad, np.exp(1 + np.exp(1)) * np.ones(2), 1e-5)


def test_hooks_see_what_functions_save():
    class Square(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = doubles(2).requires_grad_()
    count = []
    with graph.saved_tensors_hooks(lambda t: count.append(1) or t, lambda t: t):
        y = Square.apply(x).sum()
    (g,) = tandem.autograd.grad(y, x, create_graph=True)
    close(g, 2 * x)
    close(tandem.autograd.grad(g.sum(), x)[0], np.full(2, 2.0))
    assert len(count) == 1


def test_save_on_cpu_and_disabling():
    x = tandem.ones(2, requires_grad=True)
    with graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    close(x.grad, np.full(2, 2.0))
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with graph.save_on_cpu():
                pass
    with graph.save_on_cpu():
        pass


def test_unpack_must_give_a_tensor():
    x = tandem.ones(2, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: None):
        y = x.exp().sum()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type NoneType"):
        y.backward()


# ---- several gradients ----------------------------------------------------------------------------------------------


def test_multi_grad_hook():
    a, b, c = (tandem.ones(2, requires_grad=True) for _ in range(3))
    seen = []
    handle = graph.register_multi_grad_hook((a, b, c), seen.append)
    (a * b).sum().backward()
    assert len(seen) == 1 and seen[0][2] is None
    close(seen[0][0], np.ones(2))
    (a * b * c).sum().backward()
    assert len(seen) == 2 and all(g is not None for g in seen[1])
    handle.remove()
    (a * b * c).sum().backward()
    assert len(seen) == 2


def test_multi_grad_hook_any():
    a, b = (tandem.ones(2, requires_grad=True) for _ in range(2))
    seen = []
    graph.register_multi_grad_hook((a, b), seen.append, mode="any")
    (a * b).sum().backward()
    (a * b).sum().backward()
    assert len(seen) == 2
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        graph.register_multi_grad_hook((a,), seen.append, mode="some")


def test_graph_walk():
    a = tandem.ones(2, requires_grad=True)
    y = (a * 2).exp()
    assert y.grad_fn.name() == "ExpBackward0"
    (mul, _), *_ = y.grad_fn.next_functions
    leaf = mul.next_functions[0][0]
    assert leaf.name() == "torch::autograd::AccumulateGrad" and leaf.variable is a
    edge = graph.get_gradient_edge(a)
    assert edge.node == leaf and edge.output_nr == 0
    before = a._version
    graph.increment_version(a)
    assert a._version == before + 1


@pytest.mark.parametrize("f", [tandem.tanh, lambda y: y, lambda y: y.clone().mul_(3)])
def test_primals_of_duals_keep_the_history_beyond_them(f):
    layer = tandem.nn.Linear(2, 1, dtype=tandem.float64)
    x, v = tandem.tensor([1.0, 2.0], dtype=tandem.float64), tandem.tensor([3.0, -1.0], dtype=tandem.float64)
    with fwAD.dual_level():
        primal, tangent = fwAD.unpack_dual(f(layer(fwAD.make_dual(x, v))))
        (primal.sum() + tangent.sum()).backward()
    got = [p.grad for p in layer.parameters()]
    y, slope = tandem.func.jvp(lambda x: f(layer(x)), (x,), (v,))
    for g, expected in zip(got, tandem.autograd.grad(y.sum() + slope.sum(), list(layer.parameters()))):
        close(g, expected)
    with fwAD.dual_level():
        primal, tangent = fwAD.unpack_dual(fwAD.make_dual(x, v).exp())
        assert not primal.requires_grad and not tangent.requires_grad


def test_levels_in_no_grad_have_tangents():
    layer = tandem.nn.Linear(2, 1, dtype=tandem.float64)
    x, v = tandem.tensor([1.0, 2.0], dtype=tandem.float64), tandem.tensor([3.0, -1.0], dtype=tandem.float64)
    with tandem.no_grad():
        with fwAD.dual_level():
            primal, tangent = fwAD.unpack_dual(layer(fwAD.make_dual(x, v)))
        assert not tandem.is_grad_enabled()
        close(tangent, layer.weight @ v)
    assert tandem.is_grad_enabled() and not primal.requires_grad and not tangent.requires_grad
    with tandem.no_grad(), pytest.raises(ZeroDivisionError), fwAD.dual_level():
        raise ZeroDivisionError
    assert tandem.is_grad_enabled() and fwAD._current_level == -1
