"""Mixed precision: which dtype each operation runs in, gradients in the parameters' own, the loss scaler."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn
from tandem.nn import functional as F

low = pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float16], ids=["bfloat16", "float16"])


@low
def test_dtypes_of_results(dtype):
    x, w, b = tandem.randn(4, 4), tandem.randn(4, 4), tandem.randn(4)
    image, kernel = tandem.randn(1, 1, 5, 5), tandem.randn(2, 1, 3, 3)
    half = x.to(dtype)
    with tandem.autocast("cpu", dtype=dtype):
        for y in (x @ w, x.matmul(w), tandem.mm(x, w), tandem.addmm(b, x, w), F.linear(x, w, b),
                  tandem.bmm(x[None], w[None]), F.conv2d(image, kernel)):  # fmt: skip
            assert y.dtype is dtype
        assert (half * half).dtype is dtype and (half + x).dtype is tandem.float32
        assert tandem.exp(x).dtype is tandem.float32
        assert F.mse_loss(half, half).dtype is tandem.float32
        assert F.cross_entropy(half, tandem.tensor([0, 1, 2, 3])).dtype is tandem.float32
        assert half.prod().dtype is tandem.float32
        assert tandem.cat([half, x]).dtype is tandem.float32 and tandem.stack([half, half]).dtype is dtype
        assert (x.double() @ w.double()).dtype is tandem.float64
        with tandem.autocast("cpu", enabled=False):
            assert (x @ w).dtype is tandem.float32
        assert (x @ w).dtype is dtype
    assert (x @ w).dtype is tandem.float32


def test_sums_of_products_are_low():
    """Those that are written otherwise than as a matrix product, and no products without a sum."""
    x, v, batch = tandem.randn(4, 4), tandem.randn(4), tandem.randn(2, 4, 4)
    with tandem.autocast("cpu"):
        for y in (tandem.einsum("ij,jk->ik", x, x), tandem.einsum("ij,jk", x, x),
                  tandem.einsum("bij,bij->b", batch, batch), tandem.einsum("bij,bjk,bkl->bil", batch, batch, batch),
                  tandem.tensordot(x, x, 1), tandem.inner(x, x),
                  tandem.linalg.multi_dot([x, x, v])):  # fmt: skip
            assert y.dtype is tandem.bfloat16
        for y in (tandem.einsum("ii", x), tandem.einsum("ij->ji", x), tandem.einsum("i,j->ij", v, v),
                  tandem.einsum("ij,ij->ij", x, x), tandem.inner(v, v), tandem.outer(v, v)):  # fmt: skip
            assert y.dtype is tandem.float32
    assert tandem.einsum("ij,jk->ik", x, x).dtype is tandem.float32


def test_gradients_of_a_parameter_that_is_used_twice(mode):
    """Each use is a conversion of its own on the tape, whether its value was at hand or not."""
    start = tandem.randn(4, 6)

    def step(start):
        w = start.clone().requires_grad_()
        with tandem.autocast("cpu"):
            y = tandem.stack([w @ w.T, w @ w.T]) * 2
        scale = tandem.linspace(0.5, 1.5, y.numel(), dtype=tandem.float64).reshape(y.shape)
        return tandem.autograd.grad((y.double() * scale).sum(), w)[0]

    assert_same_bits(run_in(mode, step, start), step(start))


@pytest.mark.parametrize("given", [tandem.float32, tandem.bfloat16])
def test_recurrent_layers(given):
    """They take what a layer before them gave, of either dtype."""
    x = tandem.randn(3, 2, 4).to(given)
    kinds = {nn.LSTM: tandem.bfloat16, nn.RNN: tandem.bfloat16, nn.GRU: tandem.float32}
    cells = {nn.RNNCell: tandem.bfloat16, nn.LSTMCell: tandem.float32, nn.GRUCell: tandem.float32}
    with tandem.autocast("cpu"):
        for kind, dtype in {**kinds, **cells}.items():
            layer = kind(4, 3)
            y = layer(x if kind in kinds else x[0])
            y = y[0] if isinstance(y, tuple) else y
            assert y.dtype is dtype, kind
            y.float().sum().backward()
            assert all(p.grad.dtype is tandem.float32 for p in layer.parameters())
        packed = nn.utils.rnn.pack_padded_sequence(x, [3, 1])
        assert nn.LSTM(4, 3)(packed)[0].data.dtype is tandem.bfloat16
        assert nn.PReLU()(x).dtype is tandem.bfloat16
    with pytest.raises(ValueError, match="does not match weight dtype"):
        nn.LSTM(4, 3)(x.bfloat16())


def test_value_is_that_of_low_precision(mode):
    x, w = tandem.randn(8, 8), tandem.randn(8, 8)

    def f(x, w):
        with tandem.autocast("cpu"):
            return x @ w

    assert_same_bits(run_in(mode, f, x, w), x.bfloat16() @ w.bfloat16())


def test_training_step(mode):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    x, y = tandem.randn(16, 4), tandem.randn(16, 1)

    def gradients(x, y):
        with tandem.autocast("cpu", dtype=tandem.bfloat16):
            out = model(x)
            loss = F.mse_loss(out, y)
        return tandem.autograd.grad(loss, list(model.parameters()))

    got = run_in(mode, gradients, x, y)
    want = tandem.autograd.grad(F.mse_loss(model(x), y), list(model.parameters()))
    for g, w in zip(got, want, strict=True):
        assert g.dtype is tandem.float32
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=0.1, atol=0.05)


def test_parameters_are_converted_once():
    w = tandem.randn(4, 4, requires_grad=True)
    x = tandem.randn(4, 4)

    def launches(products, **options):
        before = tandem.counters()["kernel_launches"]
        with tandem.autocast("cpu", **options):
            for _ in range(products):
                x @ w
        return tandem.counters()["kernel_launches"] - before

    # Beside the product, `x` is converted each time.
    each = launches(2) - launches(1)
    assert launches(3, cache_enabled=False) == 3 * (each + 1) and launches(3) == 3 * each + 1
    with tandem.autocast("cpu"):
        y = (x @ w, x @ w)
        with tandem.no_grad():
            w.mul_(2)
        assert tandem.equal((x @ w).detach(), 2 * y[0].detach())


def test_compiled_function_follows_the_state():
    x = tandem.randn(4, 4)
    f = tandem.compile(lambda x: x @ x)
    assert f(x).dtype is tandem.float32
    with tandem.autocast("cpu"):
        assert f(x).dtype is tandem.bfloat16
    assert f(x).dtype is tandem.float32


def test_decorator_state_and_warnings():
    x = tandem.randn(2, 2)

    @tandem.autocast("cpu", dtype=tandem.float16)
    def f():
        assert tandem.is_autocast_enabled("cpu") and tandem.get_autocast_dtype("cpu") is tandem.float16
        return x @ x

    assert f().dtype is tandem.float16
    assert not tandem.is_autocast_enabled() and tandem.get_autocast_cpu_dtype() is tandem.bfloat16
    with pytest.warns(UserWarning, match="CUDA is not available"):
        with tandem.autocast("cuda"):
            assert (x @ x).dtype is tandem.float32
    with pytest.warns(UserWarning, match="target dtype is not supported. Disabling autocast"):
        tandem.autocast("cpu", dtype=tandem.float32)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        tandem.cuda.amp.autocast()
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'tpu'"):
        tandem.autocast("tpu")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        tandem.autocast(tandem.float16)
    with pytest.raises(TypeError, match="requires a callable"):
        tandem.autocast("cpu")(3)


def test_custom_functions():
    class Product(tandem.autograd.Function):
        @staticmethod
        @tandem.amp.custom_fwd(device_type="cpu", cast_inputs=tandem.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            out = a @ b
            assert out.dtype is tandem.float32
            return out

        @staticmethod
        @tandem.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b.T, a.T @ g

    a = tandem.randn(2, 2, requires_grad=True)
    with tandem.autocast("cpu"):
        y = Product.apply(a.bfloat16(), a)
    y.sum().backward()
    assert a.grad.dtype is tandem.float32


# ---- the scaler -----------------------------------------------------------------------------------------------------


def make(**options):
    w = tandem.ones(2, requires_grad=True)
    return w, tandem.optim.SGD([w], lr=0.5), tandem.amp.GradScaler("cpu", **options)


def test_scaled_step_equals_the_plain_one():
    w, optimizer, scaler = make(init_scale=1024.0)
    scaler.scale((w * w).sum()).backward()
    np.testing.assert_array_equal(w.grad.numpy(), [2048, 2048])
    scaler.unscale_(optimizer)
    np.testing.assert_array_equal(w.grad.numpy(), [2, 2])
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_array_equal(w.detach().numpy(), [0, 0])
    assert scaler.get_scale() == 1024.0


def test_infinite_gradients_are_left_out():
    w, optimizer, scaler = make(init_scale=8.0, growth_interval=2)
    for bad, scale in ((True, 4.0), (False, 4.0), (False, 8.0), (True, 4.0)):
        optimizer.zero_grad()
        before = w.detach().clone()
        scaler.scale((w * (float("inf") if bad else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert w.equal(before) == bad
        assert scaler.get_scale() == scale


def test_scaler_state_and_lists():
    w, optimizer, scaler = make(init_scale=2.0)
    one, two = scaler.scale([w.sum(), w.sum() * 2])
    assert one.item() == 4.0 and two.item() == 8.0
    state = scaler.state_dict()
    assert state == {
        "scale": 2.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 0,
    }  # fmt: skip
    other = tandem.amp.GradScaler("cpu")
    other.load_state_dict({**state, "scale": 32.0})
    assert other.get_scale() == 32.0
    other.scale(w.sum())
    other.update(5.0)
    assert other.get_scale() == 5.0


def test_scaler_errors():
    w, optimizer, scaler = make()
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="growth factor"):
        tandem.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.warns(UserWarning, match="CUDA is not available.  Disabling"):
        disabled = tandem.cuda.amp.GradScaler()
    assert not disabled.is_enabled() and disabled.scale(w) is w and disabled.state_dict() == {}


def test_tensors_given_one_by_one_are_converted_as_a_list_is():
    a = tandem.ones(3, 3)
    with tandem.autocast("cpu", dtype=tandem.bfloat16):
        assert tandem.chain_matmul(a, a).dtype is tandem.bfloat16
        assert tandem.chain_matmul(a, a, a).equal(tandem.chain_matmul([a, a, a]))


@pytest.mark.parametrize("name", ["mm", "matmul", "exp"])
def test_calls_with_out_have_the_dtypes_that_they_are_given(name):
    a = (tandem.ones(3, 3),) if name == "exp" else (tandem.ones(3, 3), tandem.ones(3, 3))
    with tandem.autocast("cpu", dtype=tandem.bfloat16):
        wide = getattr(tandem, name)(*a, out=tandem.empty(3, 3))
        half = getattr(tandem, name)(*(t.bfloat16() for t in a), out=tandem.empty(3, 3, dtype=tandem.bfloat16))
    assert wide.dtype is tandem.float32 and half.dtype is tandem.bfloat16
    tandem.testing.assert_close(wide, getattr(tandem, name)(*a))


def test_bilinear_keeps_its_dtype():
    for dtype in (tandem.float32, tandem.bfloat16):
        x, w = tandem.ones(1, 2, dtype=dtype), tandem.ones(3, 2, 2, dtype=dtype)
        with tandem.autocast("cpu", dtype=tandem.bfloat16):
            assert nn.functional.bilinear(x, x, w).dtype is dtype
            with pytest.raises(RuntimeError, match="all tensors must have the same dtype"):
                nn.functional.bilinear(x, x.double(), w)
