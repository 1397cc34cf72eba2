"""tandem.func: derivatives of functions against closed forms, nested in one another and in vmap, in every mode."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits, bits, run_in

import tandem
from tandem import func
from tandem.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from tandem.nn import functional as F


def close(actual, expected, tolerance=1e-6):
    expected = expected.detach().numpy() if isinstance(expected, tandem.Tensor) else expected
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def doubles(*shape):
    return tandem.randn(*shape, dtype=tandem.float64)


# ---- single transforms ----------------------------------------------------------------------------------------------


def test_grad_of_closed_forms(mode):
    x = doubles(5)
    close(run_in(mode, grad(lambda x: (x**3).sum()), x), 3 * x.numpy() ** 2)
    one = tandem.tensor(0.7, dtype=tandem.float64)
    third = grad(grad(grad(tandem.sin)))
    close(run_in(mode, third, one), -np.cos(0.7))


def test_grad_leaves_no_history():
    x = doubles(3)
    g = grad(lambda x: (x * x).sum())(x)
    assert not g.requires_grad
    assert not grad(lambda w: grad(lambda v: (v * w).sin())(tandem.tensor(2.0)))(tandem.tensor(0.5)).requires_grad
    with tandem.no_grad():
        close(grad(lambda x: (x * x).sum())(x), 2 * x)


def test_grad_inside_backward():
    x = doubles(3).requires_grad_()
    g = grad(lambda x: (x**3).sum())(x)
    assert g.requires_grad
    g.sum().backward()
    close(x.grad, 6 * x)


def test_captured_parameters_get_gradients():
    w = doubles(3).requires_grad_()
    x = doubles(3)
    grad(lambda x: (w * x * x).sum())(x).sum().backward()
    close(w.grad, 2 * x)


def test_no_perturbation_confusion():
    outer = grad(lambda x: x * grad(lambda y: x + y)(tandem.tensor(1.0)))
    assert outer(tandem.tensor(1.0)).item() == 1.0


def test_a_pullback_made_in_no_grad_has_a_history():
    x = tandem.arange(3.0).requires_grad_()
    with tandem.no_grad():
        y, pull = vjp(tandem.sin, x)
        assert not y.requires_grad and not pull(tandem.ones(3))[0].requires_grad
    (slope,) = pull(tandem.ones(3))
    slope.sum().backward()
    assert x.grad.tolist() == (-x.sin()).tolist()


def test_no_grad_inside_is_constant():
    def f(x):
        with tandem.no_grad():
            c = x * x
        return x * c

    assert grad(f)(tandem.tensor(3.0)).item() == 9.0


def test_argnums_aux_and_containers():
    def f(p, x):
        y = (p["w"] * x).sum() + p["b"]
        return y, {"twice": y * 2}

    p = {"w": doubles(3), "b": tandem.tensor(1.0, dtype=tandem.float64)}
    x = doubles(3)
    (gp, gx), aux = grad(f, argnums=(0, 1), has_aux=True)(p, x)
    close(gp["w"], x)
    close(gp["b"], 1.0)
    close(gx, p["w"])
    assert not aux["twice"].requires_grad
    g, (value, aux) = func.grad_and_value(f, has_aux=True)(p, x)
    close(aux["twice"], 2 * value)
    value2, g2 = func.value_and_grad(lambda p, x: f(p, x)[0])(p, x)
    close(value2, value)
    close(g2["w"], g["w"])


def test_vjp_and_jvp_against_the_jacobian(mode):
    a, x, v = doubles(4, 3), doubles(3), doubles(4)

    def f(x):
        return tandem.tanh(a @ x)

    jacobian = (1 - np.tanh(a.numpy() @ x.numpy()) ** 2)[:, None] * a.numpy()
    close(run_in(mode, lambda x, v: vjp(f, x)[1](v)[0], x, v), jacobian.T @ v.numpy())
    t = doubles(3)
    close(run_in(mode, lambda x, t: jvp(f, (x,), (t,))[1], x, t), jacobian @ t.numpy())
    close(run_in(mode, jacrev(f), x), jacobian)
    close(run_in(mode, jacfwd(f), x), jacobian)


def test_vjp_of_several_outputs():
    x, y = doubles(3), doubles(3)
    out, pull = vjp(lambda x, y: {"p": x * y, "s": x + y}, x, y)
    gx, gy = pull({"p": tandem.ones(3, dtype=tandem.float64), "s": tandem.zeros(3, dtype=tandem.float64)})
    close(out["p"], x * y)
    close(gx, y)
    close(gy, x)
    again = pull({"p": y, "s": x})
    close(again[0], y * y + x)


def test_linearize_pushes_many():
    x = doubles(3)
    y, push = linearize(lambda x: x**2, x)
    close(push(tandem.ones(3, dtype=tandem.float64)), 2 * x)
    close(vmap(push)(tandem.eye(3, dtype=tandem.float64)), np.diag(2 * x.numpy()))


def test_jvp_of_what_does_not_depend():
    out, tangent = jvp(lambda x: tandem.ones(2), (tandem.ones(3),), (tandem.ones(3),))
    assert tangent.shape == (2,) and not tangent.any()


def test_jacobian_of_containers():
    p = {"a": doubles(2), "b": doubles(3)}

    def f(p):
        return p["a"].sum() * p["b"], p["a"] ** 2

    for jacobian in (jacrev, jacfwd):
        first, second = jacobian(f)(p)
        close(first["a"], np.tile(p["b"].numpy()[:, None], (1, 2)))
        close(first["b"], np.eye(3) * p["a"].numpy().sum())
        close(second["a"], np.diag(2 * p["a"].numpy()))
        assert second["b"].shape == (2, 3) and not second["b"].any()


def test_jacobian_of_no_elements_has_the_dtype_of_the_input():
    x = doubles(0, 3)
    for jacobian in (jacrev, jacfwd):
        for f in (tandem.sin, lambda x: x.sum(1)):
            assert jacobian(f)(x).dtype is tandem.float64
        assert jacobian(lambda x: x.new_zeros(0) * x.sum())(doubles(3)).dtype is tandem.float64


def test_jacrev_in_chunks():
    x = doubles(7)
    for chunk in (1, 2, 3, 100):
        close(jacrev(tandem.sin, chunk_size=chunk)(x), np.diag(np.cos(x.numpy())))


@pytest.mark.parametrize("second", [hessian, lambda f: jacrev(jacrev(f)), lambda f: jacfwd(jacfwd(f)),
                                    lambda f: jacrev(jacfwd(f))])  # fmt: skip
def test_hessian(second, mode):
    a = doubles(3, 3)
    x = doubles(3)
    close(run_in(mode, second(lambda x: (x @ a @ x) ** 2), x), hessian_of_square(a.numpy(), x.numpy()), 1e-9)


def hessian_of_square(a, x):
    s = a + a.T
    q = x @ a @ x
    return 2 * np.outer(s @ x, s @ x) + 2 * q * s


# ---- with vmap ------------------------------------------------------------------------------------------------------


def mlp(params, x):
    h = tandem.tanh(tandem.nn.functional.linear(x, params["w1"], params["b1"]))
    return tandem.nn.functional.linear(h, params["w2"], params["b2"]).square().sum()


def mlp_params():
    return {"w1": doubles(4, 3), "b1": doubles(4), "w2": doubles(2, 4), "b2": doubles(2)}


def test_per_sample_gradients(mode):
    params, x = mlp_params(), doubles(6, 3)
    each = [grad(mlp)(params, x[i]) for i in range(6)]
    names = list(params)
    per_sample = run_in(
        mode, lambda x, *p: tuple(vmap(grad(mlp), (None, 0))(dict(zip(names, p)), x).values()), x, *params.values()
    )
    for name, got in zip(names, per_sample):
        close(got, np.stack([g[name].numpy() for g in each]), 1e-12)
    total = grad(lambda p: vmap(mlp, (None, 0))(p, x).sum())(params)
    for name in params:
        close(total[name], sum(g[name].numpy() for g in each), 1e-12)


def test_modes_give_the_same_bits():
    params, x = mlp_params(), doubles(6, 3)
    values = tuple(params.values())

    def f(x, *p):
        return vmap(grad(mlp), (None, 0))(dict(zip(params, p)), x)["w1"]

    eager = f(x, *values)
    for mode in ("lazy", "compiled"):
        assert_same_bits(run_in(mode, f, x, *values), eager)


def test_per_sample_gradients_are_few_operations():
    params, x = mlp_params(), doubles(200, 3)
    f = vmap(grad(mlp), (None, 0))
    f(params, x)
    before = tandem.counters()["kernel_launches"]
    f(params, x)
    many = tandem.counters()["kernel_launches"] - before
    before = tandem.counters()["kernel_launches"]
    f(params, x[:2])
    assert many == tandem.counters()["kernel_launches"] - before


def test_derivative_of_mapped_derivative():
    """grad of a sum of vmap of grad: mixed second derivatives through a finished vmap."""
    w, x = doubles(3), doubles(5, 3)

    def inner(w, x):
        return tandem.sin((w * x).sum())

    def outer(w):
        return vmap(grad(inner, argnums=1), (None, 0))(w, x).square().sum()

    loop = lambda w: sum(grad(inner, argnums=1)(w, x[i]).square().sum() for i in range(5))  # noqa: E731
    close(grad(outer)(w), grad(loop)(w), 1e-12)
    close(jacfwd(outer)(w), grad(loop)(w), 1e-12)


def test_mapped_hessian(mode):
    a, x = doubles(3, 3), doubles(4, 3)
    f = lambda x: (x @ a @ x) ** 2  # noqa: E731
    got = run_in(mode, vmap(hessian(f)), x)
    close(got, np.stack([hessian_of_square(a.numpy(), x[i].numpy()) for i in range(4)]), 1e-9)


def test_mapped_jvp_and_vjp():
    x, t = doubles(4, 3), doubles(4, 3)
    _, tangents = vmap(lambda x, t: jvp(tandem.sin, (x,), (t,)))(x, t)
    close(tangents, np.cos(x.numpy()) * t.numpy())
    pulled = vmap(lambda x, t: vjp(tandem.sin, x)[1](t)[0])(x, t)
    close(pulled, tangents)


def test_backward_through_vmap():
    w, x = doubles(4, 3).requires_grad_(), doubles(5, 3)
    y = vmap(lambda x: tandem.tanh(w @ x))(x)
    y.sum().backward()
    expected = sum(np.outer(1 - np.tanh(w.detach().numpy() @ r) ** 2, r) for r in x.numpy())
    close(w.grad, expected)


def test_compiled_results_are_differentiable():
    w, x = doubles(4, 3).requires_grad_(), doubles(5, 3)
    f = tandem.compile(lambda x: vmap(lambda x: tandem.tanh(w @ x))(x))
    want = tandem.autograd.grad(f(x).square().sum(), w)[0]
    got = tandem.autograd.grad(f(x).square().sum(), w)[0]
    np.testing.assert_array_equal(bits(got), bits(want))
    eager = tandem.autograd.grad(vmap(lambda x: tandem.tanh(w @ x))(x).square().sum(), w)[0]
    close(got, eager, 1e-12)


def test_batched_cotangents():
    x = doubles(3).requires_grad_()
    (rows,) = tandem.autograd.grad(x**2, x, tandem.eye(3, dtype=tandem.float64), is_grads_batched=True)
    close(rows, np.diag(2 * x.detach().numpy()))


# ---- modules --------------------------------------------------------------------------------------------------------


def test_functional_call():
    model = tandem.nn.Sequential(tandem.nn.Linear(3, 4), tandem.nn.BatchNorm1d(4), tandem.nn.Linear(4, 2))
    params = {k: v.detach() * 2 for k, v in model.named_parameters()}
    buffers = {k: v.clone() for k, v in model.named_buffers()}
    x = tandem.randn(5, 3)
    got = func.functional_call(model, (params, buffers), (x,))
    own = {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict({**own, **params})
    close(got, model(x))
    assert not model[1].running_mean.equal(buffers["1.running_mean"]) or True
    g = grad(lambda p: func.functional_call(model, p, x).sum())(params)
    assert set(g) == set(params)


def test_other_tensors_in_a_block():
    from tandem.nn.utils.stateless import _reparametrize_module as lent

    model = tandem.nn.Linear(2, 1)
    model.register_buffer("seen", tandem.zeros(1))
    weight, bias, x = model.weight, model.bias, tandem.ones(2)
    given = {"weight": tandem.ones(1, 2, requires_grad=True), "bias": tandem.zeros(1), "seen": tandem.ones(1)}
    with lent(model, given):
        model.seen = model.seen + model(x).detach()
        model(x).sum().backward()
    assert model.weight is weight and model.bias is bias and weight.grad is None and model.seen.item() == 0
    assert given["weight"].grad.tolist() == [[1, 1]] and given["seen"].item() == 3
    with pytest.raises(ZeroDivisionError), lent(model, given):
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="Missing key"), lent(model, {"bias": bias}, strict=True):
        pass
    with pytest.raises(TypeError), lent(model, {"bias": given["bias"], "weight": 3}):
        pass
    assert model.weight is weight and model.bias is bias


def test_functional_call_errors():
    model = tandem.nn.Linear(2, 1)
    x = tandem.ones(2)
    weight = tandem.ones(1, 2)
    with pytest.raises(AttributeError, match="has no attribute `inner`"):
        func.functional_call(model, {"inner.other": weight}, x)
    with pytest.raises(TypeError, match="attribute `in_features`: 2 is not an instance"):
        func.functional_call(model, {"in_features": weight}, x)
    with pytest.raises(TypeError, match="3 is not an instance"):
        func.functional_call(model, {"weight": 3}, x)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'bias'"):
        func.functional_call(model, {"weight": weight}, x, strict=True)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'other'"):
        func.functional_call(model, {"weight": weight, "bias": weight[0, :1], "other": x}, x, strict=True)
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        func.functional_call(model, ({"weight": weight}, {"weight": weight}), x)
    assert model.weight.requires_grad


def test_functional_call_gives_a_module_what_it_lacks():
    class Shifted(tandem.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = tandem.nn.Identity()

        def forward(self, x):
            return x + getattr(self, "shift", 0) + getattr(self.inner, "shift", 0)

    model, x = Shifted(), tandem.ones(2)
    close(func.functional_call(model, {"shift": x, "inner.shift": x * 2}, x), np.full(2, 4.0))
    with pytest.raises(RuntimeError):
        func.functional_call(model, {"shift": x}, tandem.ones(3))
    close(model(x), x)
    plain = tandem.nn.Linear(2, 2, bias=False)
    close(func.functional_call(plain, {"weight": tandem.eye(2), "bias": x}, x), np.full(2, 2.0))
    assert plain.bias is None
    biased = tandem.nn.Linear(2, 2)
    close(func.functional_call(biased, {"weight": tandem.eye(2), "bias": None}, x), x)
    assert isinstance(biased.bias, tandem.nn.Parameter)
    listed = tandem.nn.Identity()
    listed.forward = lambda: list(listed.parameters())
    more = tandem.nn.Parameter(x)
    assert func.functional_call(listed, {"more": more})[0] is more and not [*listed.parameters()]
    model.shift = x * 5
    close(func.functional_call(model, {"shift": x}, x), np.full(2, 2.0))
    close(model(x), np.full(2, 6.0))


def test_tied_weights():
    model = tandem.nn.Sequential(tandem.nn.Linear(2, 2, bias=False), tandem.nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    x = tandem.ones(2)
    two = tandem.eye(2) * 2
    close(func.functional_call(model, {"0.weight": two}, x), np.full(2, 4.0))
    close(func.functional_call(model, {"0.weight": two}, x, strict=True), np.full(2, 4.0))


def test_ensemble():
    models = [tandem.nn.Linear(3, 2) for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    x = tandem.randn(5, 3)
    base = models[0]
    out = vmap(lambda p, b, x: func.functional_call(base, (p, b), (x,)), (0, 0, None))(params, buffers, x)
    close(out, np.stack([m(x).detach().numpy() for m in models]))
    assert params["weight"].requires_grad and params["weight"].is_leaf


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: grad(tandem.sin)(tandem.ones(2)), RuntimeError, "to return a scalar Tensor, got tensor with 1 dims"),
        (lambda: grad(lambda x: 1.0)(tandem.ones(2)), RuntimeError, "to return a Tensor, got <class 'float'>"),
        (lambda: grad(tandem.sin, argnums=2)(tandem.ones(())), RuntimeError, "Got argnum=2, but only 1 positional"),
        (lambda: grad(tandem.sin, argnums=())(tandem.ones(())), RuntimeError, "argnums must be non-empty"),
        (lambda: grad(lambda x, y: x, argnums=(0, 0))(tandem.ones(()), 1), RuntimeError, "must be unique"),
        (lambda: grad(lambda x: x)(tandem.tensor(1)), RuntimeError, "floating point dtype can require gradients"),
        (lambda: grad(lambda x: x)(1.0), ValueError, "Thing passed to transform API must be Tensor"),
        (lambda: grad(lambda x: x, has_aux=True)(tandem.ones(())), RuntimeError, r"should be a tuple: \(output, aux\)"),
        (lambda: jvp(tandem.sin, tandem.ones(2), tandem.ones(2)), RuntimeError, "Expected primals to be a tuple"),
        (lambda: jvp(tandem.sin, (tandem.ones(2),), (tandem.ones(3),)), RuntimeError, r"shape \[2\].*got \[3\]"),
        (lambda: jvp(tandem.sin, (tandem.ones(2),), ()), RuntimeError, "the same python structure"),
        (lambda: vjp(tandem.sin, tandem.ones(2))[1]((tandem.ones(2),)), RuntimeError, "pytree structure of cotangents"),
        (lambda: vjp(lambda x: x > 0, tandem.ones(2)), RuntimeError, "must be floating-point or complex"),
        (lambda: jacrev(tandem.sin, chunk_size=0), ValueError, "`chunk_size` should be greater than 0"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


class Counting(tandem.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = tandem.nn.Parameter(tandem.ones(2))
        self.register_buffer("calls", tandem.zeros(()))

    def forward(self, x):
        self.calls = self.calls + 1
        return x * self.weight


def test_functional_call_writes_back_buffers_that_were_assigned():
    module = Counting()
    given = {"calls": tandem.tensor(5.0)}
    tandem.func.functional_call(module, given, tandem.ones(2))
    assert given["calls"].item() == 6 and module.calls.item() == 0 and list(given) == ["calls"]
    parts = ({"calls": tandem.tensor(5.0)}, {"weight": tandem.zeros(2)})
    assert tandem.func.functional_call(module, parts, tandem.ones(2)).sum() == 0
    assert parts[0]["calls"].item() == 5 and module.calls.item() == 0


@pytest.mark.parametrize("tie_weights", [False, True])
def test_functional_call_of_a_module_within_itself(tie_weights):
    outer = tandem.nn.Sequential(tandem.nn.Linear(1, 1))
    outer[0].top = outer
    given = {"0.top.0.weight": tandem.ones(1, 1), "0.bias": tandem.zeros(1)}
    before = outer[0].weight
    out = tandem.func.functional_call(outer, given, tandem.full((1, 1), 3.0), tie_weights=tie_weights)
    assert out.item() == 3 and outer[0].weight is before
    with pytest.raises(AttributeError, match="Sequential has no attribute `one`"):
        given = {"0.top.one.bias": tandem.zeros(1)}
        tandem.func.functional_call(outer, given, tandem.ones(1, 1), tie_weights=tie_weights)


# ---- what operations saved is overwritten ---------------------------------------------------------------------------


def overwrites_a_result(x):
    y = x.exp()
    z = y * y
    y.zero_()
    return z


def overwrites_an_operand(x):
    w = tandem.full_like(x, 3.0)
    z = x * w
    w.add_(1)
    return z


def overwrites_a_window(x):
    y = tandem.cat([x.sin(), x])
    z = y * y
    y[1:].mul_(2)
    return z + y


def goes_on_in_place(x):
    for _ in range(3):
        x = x.sin()
        y = x * x
        x.mul_(2).sigmoid_()
        x = x + y
    return x


OVERWRITING = [overwrites_a_result, overwrites_an_operand, overwrites_a_window, goes_on_in_place]


@pytest.mark.parametrize("f", OVERWRITING)
def test_tangents_are_those_before_writes(f, mode):
    x = tandem.tensor([0.3, 1.2], dtype=tandem.float64)
    t = tandem.tensor([1.0, -2.0], dtype=tandem.float64)

    def tangent(x, t):
        return tandem.func.jvp(f, (x,), (t,))[1]

    got = run_in(mode, tangent, x, t)
    step = 1e-6
    expected = (f(x + step * t) - f(x - step * t)) / (2 * step)
    tandem.testing.assert_close(got, expected, atol=1e-8, rtol=1e-6)
    y, pushforward = tandem.func.linearize(f, x)
    y.zero_()
    tandem.testing.assert_close(pushforward(t), expected, atol=1e-8, rtol=1e-6)
    rows = tandem.func.vmap(tandem.func.jacfwd(f))(tandem.stack([x, x + 1]))
    tandem.testing.assert_close(rows[0] @ t, expected, atol=1e-8, rtol=1e-6)


def test_duals_that_are_overwritten():
    import tandem.autograd.forward_ad as fwAD

    with fwAD.dual_level():
        primal = tandem.tensor([1.0, 2.0])
        x = fwAD.make_dual(primal, tandem.ones(2))
        z = x * x
        primal.add_(1)
        assert fwAD.unpack_dual(z).tangent.tolist() == [2, 4]
        y = x.sigmoid()
        w = y.softmax(0)
        y.zero_()
        tangent = fwAD.unpack_dual(w).tangent
        assert not tangent.requires_grad
        x.mul_(2)
        assert fwAD.unpack_dual(x).tangent.tolist() == [2, 2]
    # Outside the level a write is an error again where the derivative needs what was there.
    a = tandem.ones(2, requires_grad=True)
    b = a.exp()
    c = b * b
    b.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


@pytest.mark.parametrize("name", ["logit_", "sinc_", "clamp_", "leaky_relu_", "hardtanh_", "threshold_"])
def test_in_place_forms_of_composites_keep_what_they_need(name):
    call = {
        "clamp_": lambda y: y.clamp_(0.25, 0.5),
        "threshold_": lambda y: F.threshold_(y, 0.25, 0.0),
        "leaky_relu_": lambda y: F.leaky_relu_(y, 0.1),
        "hardtanh_": lambda y: F.hardtanh_(y, 0.1, 0.25),
    }.get(name, lambda y: getattr(y, name)())
    x = tandem.tensor([0.2, 0.3, 0.9], dtype=tandem.float64, requires_grad=True)
    y = x * 1
    call(y)
    (inPlace,) = tandem.autograd.grad(y.sum(), x)
    z = x * 1
    (apart,) = tandem.autograd.grad(call(z.clone()).sum(), x)
    assert inPlace.tolist() == apart.tolist()


def test_strict_jvp():
    x = doubles(3)
    close(func.jvp(tandem.square, (x,), (x,), strict=True)[1], 2 * x * x)
    kept = doubles(3).requires_grad_()
    for f in (lambda x: tandem.ones(3), lambda x: (x, kept * 2)):
        with pytest.raises(RuntimeError, match="independent of the inputs"):
            func.jvp(f, (x,), (x,), strict=True)
        func.jvp(f, (x,), (x,))
    with pytest.raises(RuntimeError, match="primals to contain at least one Tensor"):
        func.jvp(lambda: x, (), ())
