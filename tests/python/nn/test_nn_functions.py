"""Layers and functions of tandem.nn against NumPy."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from arrays import array, close, tensor
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn
from tandem.nn import functional as F

X = np.concatenate([array(20) * 3, [0.0, 25.0, -25.0, 6.5, -3.0, 3.0]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = [
    ("relu", {}, lambda x: np.maximum(x, 0)),
    ("leaky_relu", {"negative_slope": 0.2}, lambda x: np.where(x > 0, x, 0.2 * x)),
    ("elu", {"alpha": 1.5}, lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))),
    ("celu", {"alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0) / 0.5))),
    ("selu", {}, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))),
    ("silu", {}, lambda x: x * sigmoid(x)),
    ("mish", {}, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    ("softplus", {"beta": 2.0}, lambda x: np.where(2 * x > 20, x, np.log1p(np.exp(np.minimum(2 * x, 20))) / 2)),
    ("logsigmoid", {}, lambda x: -np.logaddexp(0, -x)),
    ("hardtanh", {}, lambda x: np.clip(x, -1, 1)),
    ("relu6", {}, lambda x: np.clip(x, 0, 6)),
    ("hardsigmoid", {}, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    ("hardswish", {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("softsign", {}, lambda x: x / (1 + np.abs(x))),
    ("tanhshrink", {}, lambda x: x - np.tanh(x)),
    ("softshrink", {}, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    ("hardshrink", {}, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    ("threshold", {"threshold": 0.1, "value": 20.0}, lambda x: np.where(x > 0.1, x, 20.0)),
    ("glu", {}, lambda x: x[:13] * sigmoid(x[13:])),
    ("softmin", {"dim": 0}, lambda x: np.exp(-x + x.min()) / np.exp(-x + x.min()).sum()),
]


@pytest.mark.parametrize(("name", "options", "expected"), ACTIVATIONS, ids=[a[0] for a in ACTIVATIONS])
def test_activation(name, options, expected):
    function = getattr(F, name)
    close(function(tensor(X), **options), expected(X))
    smooth = tensor(X[:6], grad=True)
    assert tandem.autograd.gradcheck(lambda x: function(x, **options), (smooth,))
    assert tandem.autograd.gradgradcheck(lambda x: function(x, **options), (smooth,))


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "silu", "hardtanh", "mish"])
def test_activation_in_place(name):
    x = tensor(X, grad=True)
    y = x * 1
    out = getattr(F, name)(y, inplace=True)
    assert out is y or out.data_ptr() == y.data_ptr()
    close(y, getattr(F, name)(tensor(X)).numpy())
    (grad,) = tandem.autograd.grad(out.sum(), x)
    z = tensor(X, grad=True)
    (expected,) = tandem.autograd.grad(getattr(F, name)(z).sum(), z)
    close(grad, expected.numpy())


def test_activations_are_finite_far_out():
    far = tensor([-1e4, 1e4], grad=True)
    for name in ("elu", "selu", "celu", "silu", "mish", "softplus", "logsigmoid"):
        (grad,) = tandem.autograd.grad(getattr(F, name)(far).sum(), far)
        assert np.isfinite(grad.numpy()).all(), name
    zero = tensor([0.0], grad=True)
    (grad,) = tandem.autograd.grad(F.logsigmoid(zero).sum(), zero)
    assert grad.item() == 0.5


@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_exponential_units_beside_numbers_of_one_sign(name, dtype):
    """Where no neighbour is negative the exponential is left out: an element's bits are the same."""
    x = tandem.tensor(np.random.default_rng(3).standard_normal(257)).to(getattr(tandem, dtype))
    x[:5] = tandem.tensor([0.0, -0.0, float("nan"), float("inf"), float("-inf")])
    f = getattr(F, name)
    alone = tandem.stack([f(v) for v in x])
    for order in (tandem.arange(257), x.argsort()):
        assert_same_bits(f(x[order]), alone[order])


A, B = array(4, 3, seed=1), array(4, 3, seed=2)
P, Q = sigmoid(A), sigmoid(B)
D = np.abs(A - B)
LOSSES = [
    ("mse_loss", A, B, {}, D**2),
    ("l1_loss", A, B, {}, D),
    ("smooth_l1_loss", A, B, {"beta": 0.5}, np.where(D < 0.5, D * D, D - 0.25)),
    ("huber_loss", A, B, {"delta": 0.5}, np.where(D < 0.5, D * D / 2, 0.5 * (D - 0.25))),
    ("binary_cross_entropy", P, Q, {}, -(Q * np.log(P) + (1 - Q) * np.log(1 - P))),
    ("binary_cross_entropy_with_logits", A, Q, {}, -(Q * np.log(P) + (1 - Q) * np.log(1 - P))),
    ("kl_div", A, Q, {}, Q * (np.log(Q) - A)),
    ("kl_div", A, B, {"log_target": True}, np.exp(B) * (B - A)),
    ("soft_margin_loss", A, np.sign(B), {}, np.log1p(np.exp(-np.sign(B) * A))),
    ("poisson_nll_loss", A, Q, {}, np.exp(A) - Q * A),
]


@pytest.mark.parametrize(("name", "a", "b", "options", "expected"), LOSSES, ids=[f"{x[0]}{x[3]}" for x in LOSSES])
def test_loss(name, a, b, options, expected):
    function = getattr(F, name)
    close(function(tensor(a), tensor(b), reduction="none", **options), expected)
    close(function(tensor(a), tensor(b), **options), expected.mean())
    close(function(tensor(a), tensor(b), reduction="sum", **options), expected.sum())
    with pytest.raises((ValueError, RuntimeError)):
        function(tensor(a), tensor(b), reduction="other", **options)
    x = tensor(a, grad=True)
    assert tandem.autograd.gradcheck(lambda x: function(x, tensor(b), **options), (x,))
    assert tandem.autograd.gradgradcheck(lambda x: function(x, tensor(b), **options), (x,))


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"])
def test_a_loss_takes_a_mask_as_target(name, mode):
    x = tandem.tensor([0.5, 0.25, -2.0])
    mask = tandem.tensor([True, False, True])
    loss = run_in(mode, getattr(F, name), x, mask)
    assert loss.dtype == tandem.float32 and loss.item() == getattr(F, name)(x, mask.float()).item()


def test_binary_cross_entropy_at_the_ends():
    x = tensor([0.0, 1.0, 0.0, 1.0], grad=True)
    target = tensor([0.0, 1.0, 1.0, 0.0])
    loss = F.binary_cross_entropy(x, target, reduction="none")
    assert loss.tolist() == [0.0, 0.0, 100.0, 100.0]
    (grad,) = tandem.autograd.grad(loss.sum(), x)
    assert np.isfinite(grad.numpy()).all()
    logits = F.binary_cross_entropy_with_logits(tensor([-300.0, 300.0]), tensor([1.0, 0.0]), reduction="none")
    assert logits.tolist() == [300.0, 300.0]


def log_softmax(x, axis):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def test_cross_entropy_weight_ignore_and_smoothing():
    scores, target = array(5, 4, seed=3), np.array([0, 3, -100, 1, 3])
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    logp, kept = log_softmax(scores, 1), np.array([0, 1, 3, 4])
    picked, w = -logp[kept, target[kept]], weight[target[kept]]
    smooth = -(logp[kept] * weight).sum(1)
    expected = (0.9 * (picked * w).sum() + 0.1 / 4 * smooth.sum()) / w.sum()
    loss = nn.CrossEntropyLoss(weight=tensor(weight), label_smoothing=0.1)
    close(loss(tensor(scores), tandem.tensor(target.tolist())), expected)
    nll = nn.NLLLoss(weight=tensor(weight), reduction="sum")
    close(nll(tensor(logp), tandem.tensor(target.tolist())), (picked * w).sum())


def windows(x, kernel, stride, pad):
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


@pytest.mark.parametrize(("kernel", "stride", "pad"), [(2, 2, 0), (3, 1, 1), (3, 2, 1)])
def test_avg_pool_and_unfold(kernel, stride, pad):
    x = array(2, 3, 7, 6)
    cut = windows(x, kernel, stride, pad)
    close(F.avg_pool2d(tensor(x), kernel, stride, pad), cut.mean((-1, -2)))
    inside = windows(np.ones_like(x), kernel, stride, pad).sum((-1, -2))
    expected = cut.sum((-1, -2)) / inside
    close(F.avg_pool2d(tensor(x), kernel, stride, pad, count_include_pad=False), expected)
    columns = cut.transpose(0, 1, 4, 5, 2, 3).reshape(2, 3 * kernel * kernel, -1)
    close(F.unfold(tensor(x), kernel, padding=pad, stride=stride), columns)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pad"),
    [((20, 50), 3, 1, 1), ((20, 50), 5, 2, 2), ((21, 60), 20, 20, 0), ((16, 33), 8, 8, 4), ((9, 40), 7, 3, 2)],
)
def test_avg_pool_of_long_rows(dtype, size, kernel, stride, pad):
    x = tensor(array(1, 3, *size)).to(getattr(tandem, dtype)).requires_grad_()
    cut = windows(x.detach().double().numpy(), kernel, stride, pad).mean((-1, -2))
    y = F.avg_pool2d(x, kernel, stride, pad)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(y.detach().double().numpy(), cut, rtol=tolerance, atol=tolerance)
    cotangent = tensor(array(*cut.shape, seed=1)).to(x.dtype)
    (grad,) = tandem.autograd.grad(y, x, cotangent)
    spread = np.zeros((1, 3, size[0] + 2 * pad, size[1] + 2 * pad))
    for i, j in np.ndindex(*cut.shape[2:]):
        place = np.s_[:, :, i * stride : i * stride + kernel, j * stride : j * stride + kernel]
        spread[place] += cotangent.double().numpy()[:, :, i, j, None, None] / kernel**2
    inside = spread[:, :, pad : pad + size[0], pad : pad + size[1]]
    np.testing.assert_allclose(grad.double().numpy(), inside, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("count", [1, 3, 7, 16, 100, 333])
def test_adaptive_avg_pool_of_long_rows(count):
    x = array(2, 3, 333)
    cells = [(o * 333 // count, -((o + 1) * 333 // -count)) for o in range(count)]
    close(F.adaptive_avg_pool1d(tensor(x), count), np.stack([x[..., a:b].mean(-1) for a, b in cells], -1))


def test_avg_pool_ceil_mode():
    out = F.avg_pool2d(tensor(np.arange(5.0).reshape(1, 1, 1, 5)), (1, 2), ceil_mode=True)
    assert out.tolist() == [[[[0.5, 2.5, 4.0]]]]


def test_adaptive_pools():
    x = array(1, 2, 5, 7)
    rows, cols = [(0, 2), (1, 4), (3, 5)], [(0, 4), (3, 7)]
    cells = [[x[:, :, a:b, c:d] for c, d in cols] for a, b in rows]
    mean = np.stack([np.stack([c.mean((2, 3)) for c in row], -1) for row in cells], -2)
    largest = np.stack([np.stack([c.max((2, 3)) for c in row], -1) for row in cells], -2)
    close(F.adaptive_avg_pool2d(tensor(x), (3, 2)), mean)
    close(F.adaptive_max_pool2d(tensor(x), (3, 2)), largest)
    close(nn.AdaptiveAvgPool2d(1)(tensor(x)), x.mean((2, 3), keepdims=True))


@pytest.mark.parametrize(("mode", "name"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_pad_modes(mode, name):
    x = array(2, 3, 4, 5)
    close(F.pad(tensor(x), (1, 2, 3, 0), mode=mode), np.pad(x, [(0, 0), (0, 0), (3, 0), (1, 2)], mode=name))
    assert tandem.autograd.gradcheck(lambda t: F.pad(t, (2, 1), mode=mode), (tensor(x[0, :1, :2], grad=True),))


def test_pad_constant_and_crop():
    x = array(3, 4)
    close(F.pad(tensor(x), (1, -1, 0, 2), value=2.5), np.pad(x[:, :-1], [(0, 2), (1, 0)], constant_values=2.5))
    with pytest.raises(RuntimeError, match="divisible by 2"):
        F.pad(tensor(x), (1,))
    with pytest.raises(RuntimeError, match="negative output size"):
        F.pad(tensor(x), (-3, -3))


def test_pixel_shuffle_round_trip():
    x = tensor(array(2, 8, 3, 2))
    up = F.pixel_shuffle(x, 2)
    assert list(up.shape) == [2, 2, 6, 4]
    assert up[0, 1, 0, 1].item() == x[0, 5, 0, 0].item()
    assert F.pixel_unshuffle(up, 2).tolist() == x.tolist()


def test_conv_layers():
    x, w, b = array(2, 3, 9), array(4, 3, 3, seed=1), array(4, seed=2)
    layer = nn.Conv1d(3, 4, 3, stride=2, padding=1).double()
    with tandem.no_grad():
        layer.weight.copy_(tensor(w))
        layer.bias.copy_(tensor(b))
    cut = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (0, 0), (1, 1)]), 3, axis=2)[:, :, ::2]
    close(layer(tensor(x)), np.einsum("nclk,ock->nol", cut, w) + b[:, None])
    image = tensor(array(1, 2, 5, 5))
    same = nn.Conv2d(2, 2, 3, padding="same", padding_mode="circular", groups=2).double()
    assert list(same(image).shape) == [1, 2, 5, 5]
    with pytest.raises(ValueError, match="divisible by groups"):
        nn.Conv2d(3, 4, 3, groups=2)


def test_embedding_padding_and_frequency():
    table, index = array(5, 3), np.array([[1, 2, 1], [0, 4, 1]])
    weight = tensor(table, grad=True)
    picked = F.embedding(tandem.tensor(index.tolist()), weight, padding_idx=2)
    close(picked, table[index])
    (grad,) = tandem.autograd.grad(picked.sum(), weight)
    assert grad[:, 0].tolist() == [1.0, 3.0, 0.0, 0.0, 1.0]
    scaled = F.embedding(tandem.tensor(index.tolist()), weight, scale_grad_by_freq=True)
    (grad,) = tandem.autograd.grad(scaled.sum(), weight)
    np.testing.assert_allclose(grad[:, 0].numpy(), [1, 1, 1, 0, 1])
    short = tensor(table)
    F.embedding(tandem.tensor([0, 1]), short, max_norm=0.5)
    norms = np.linalg.norm(short.numpy(), axis=1)
    assert (norms[:2] <= 0.5 + 1e-6).all() and np.array_equal(short.numpy()[2:], table[2:])
    assert nn.Embedding(4, 2, padding_idx=-1).weight[3].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("affine", ["both", "weight", "none"])
@pytest.mark.parametrize("shape, groups", [((3, 6, 5), 2), ((2, 4), 4), ((4, 6, 40, 41), 3)])
def test_gradients_of_group_norm(shape, groups, affine):
    """Of both orders, against those of what it is made of; half types are rounded once."""

    def plain(x, w, b):
        parts = x.reshape(x.shape[0], groups, -1)
        apart = parts - parts.mean(-1, keepdim=True)
        normed = (apart * (apart.square().mean(-1, keepdim=True) + 1e-5).rsqrt()).reshape(x.shape)
        across = (-1,) + (1,) * (x.dim() - 2)
        normed = normed if w is None else normed * w.reshape(across)
        return normed if b is None else normed + b.reshape(across)

    values = [tensor(array(*shape)), tensor(array(shape[1], seed=1)), tensor(array(shape[1], seed=2))]
    leaves = [v.double().requires_grad_() for v in values[: {"both": 3, "weight": 2, "none": 1}[affine]]]
    operands = leaves + [None] * (3 - len(leaves))
    g = tensor(array(*shape, seed=3)).double()
    found = []
    for y in (F.group_norm(operands[0], groups, *operands[1:]), plain(*operands)):
        first = tandem.autograd.grad(y, leaves, g, create_graph=True)
        found.append(
            first + tandem.autograd.grad(sum(f.square().sum() for f in first), leaves[: max(1, len(leaves) - 1)])
        )
    for ours, theirs in zip(*found, strict=True):
        assert tandem.allclose(ours, theirs, rtol=1e-8, atol=1e-8)
    halves = [v.detach().bfloat16().requires_grad_() for v in leaves]
    wide = [v.detach().float().requires_grad_() for v in halves]
    grads = []
    for used in (halves, wide):
        y = F.group_norm(used[0], groups, *used[1:])
        grads.append(tandem.autograd.grad(y, used, g.bfloat16().to(y.dtype)))
    for ours, theirs in zip(*grads, strict=True):
        assert ours.dtype is tandem.bfloat16 and ours.equal(theirs.bfloat16())


@pytest.mark.parametrize("shape, dims", [((6, 5), 1), ((3, 4, 5), 2), ((4, 3), 2), ((300, 70), 1)])
@pytest.mark.parametrize("operands", [1, 2, 3])
def test_gradients_of_layer_norm(shape, dims, operands):
    """Of both orders, against those of what it is made of; half types are rounded once."""
    last = tuple(range(-dims, 0))

    def plain(x, w=None, b=None):
        apart = x - x.mean(last, keepdim=True)
        normed = apart * (apart.square().mean(last, keepdim=True) + 1e-5).rsqrt()
        normed = normed if w is None else normed * w
        return normed if b is None else normed + b

    inner = shape[len(shape) - dims :]
    values = [tensor(array(*shape)), tensor(array(*inner, seed=1)), tensor(array(*inner, seed=2))][:operands]
    leaves = [v.double().requires_grad_() for v in values]
    g = tensor(array(*shape, seed=3)).double()
    found = []
    for y in (F.layer_norm(leaves[0], inner, *leaves[1:]), plain(*leaves)):
        first = tandem.autograd.grad(y, leaves, g, create_graph=True)
        total = sum(f.square().sum() for f in first)
        found.append(first + tandem.autograd.grad(total, leaves[: min(2, operands)]))
    for ours, theirs in zip(*found, strict=True):
        assert tandem.allclose(ours, theirs, rtol=1e-8, atol=1e-8)
    halves = [v.detach().half().requires_grad_() for v in leaves]
    wide = [v.detach().float().requires_grad_() for v in halves]
    grads = []
    for used in (halves, wide):
        y = F.layer_norm(used[0], inner, *used[1:])
        grads.append(tandem.autograd.grad(y, used, g.half().to(y.dtype)))
    for ours, theirs in zip(*grads, strict=True):
        assert ours.dtype is tandem.float16 and ours.equal(theirs.half())


def test_norms():
    x, w, b = array(4, 6, 5), array(6, seed=1), array(6, seed=2)
    close(F.rms_norm(tensor(x), (5,), eps=0.1), x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1))
    groups = x.reshape(4, 2, 15)
    normed = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    close(F.group_norm(tensor(x), 2, tensor(w), tensor(b)), normed.reshape(x.shape) * w[:, None] + b[:, None])
    for half in (tandem.float16, tandem.bfloat16):  # rounded once
        arrays = [tensor(a).to(half) for a in (x, w, b)]
        wide = [a.float() for a in arrays]
        found = F.group_norm(arrays[0], 2, *arrays[1:])
        assert found.dtype is half and found.equal(F.group_norm(wide[0], 2, *wide[1:]).to(half))
    layer = nn.BatchNorm1d(6).double()
    mean, var = x.mean((0, 2)), x.var((0, 2))
    close(layer(tensor(x)), (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5))
    close(layer.running_mean, 0.1 * mean)
    close(layer.running_var, 0.9 + 0.1 * var * 20 / 19)
    assert layer.num_batches_tracked.item() == 1
    close(layer.eval()(tensor(x)), (x - 0.1 * mean[:, None]) / np.sqrt(layer.running_var.numpy()[:, None] + 1e-5))
    norm = np.abs(x[0]).sum(0, keepdims=True)
    close(F.normalize(tensor(x[0]), p=1.0, dim=0), x[0] / norm)
    assert F.normalize(tandem.ones(2, 3, 4), dim=(-2, -1)).allclose(tandem.full((2, 3, 4), 12**-0.5))
    zero = tensor(np.zeros(3), grad=True)
    (grad,) = tandem.autograd.grad(F.normalize(zero, dim=0).sum(), zero)
    assert np.isfinite(grad.numpy()).all()


def test_similarity_and_bilinear():
    a, b = array(3, 4, seed=1), array(3, 4, seed=2)
    cos = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    close(F.cosine_similarity(tensor(a), tensor(b)), cos)
    w, c = array(2, 4, 4, seed=3), array(2, seed=4)
    expected = np.einsum("ni,oij,nj->no", a, w, b) + c
    close(F.bilinear(tensor(a), tensor(b), tensor(w), tensor(c)), expected)


def test_dropout_keeps_the_mean_and_is_off_in_eval():
    tandem.manual_seed(0)
    layer = nn.Dropout(0.25)
    out = layer(tandem.ones(10000)).numpy()
    assert set(np.unique(out).tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert abs(out.mean() - 1) < 0.03
    assert layer.eval()(tandem.ones(3)).tolist() == [1.0, 1.0, 1.0]
    planes = F.dropout2d(tandem.ones(50, 20, 2, 2), 0.5).numpy().reshape(1000, 4)
    assert (planes == planes[:, :1]).all() and 0.4 < (planes[:, 0] == 0).mean() < 0.6
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "float"])
def test_attention(kind):
    q, k, v = array(2, 3, 4, 5), array(2, 3, 6, 5, seed=1), array(2, 3, 6, 2, seed=2)
    scores, options = q @ k.swapaxes(-1, -2) / math.sqrt(5), {}
    allowed = np.ones((4, 6), dtype=bool)
    if kind == "causal":
        allowed, options = np.tril(allowed), {"is_causal": True}
    elif kind == "bool":
        allowed[1, 2:], allowed[3] = False, False
        options = {"attn_mask": tandem.tensor(allowed.tolist())}
    elif kind == "float":
        bias = array(4, 6, seed=3)
        scores, options = scores + bias, {"attn_mask": tensor(bias)}
    weights = np.where(allowed, np.exp(scores), 0.0)
    weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    close(F.scaled_dot_product_attention(tensor(q), tensor(k), tensor(v), **options), weights @ v)
    inputs = [tensor(x[0, 0], grad=True) for x in (q, k, v)]
    check = lambda *x: F.scaled_dot_product_attention(*x, **options)  # noqa: E731
    assert tandem.autograd.gradcheck(check, inputs) and tandem.autograd.gradgradcheck(check, inputs)


def test_attention_with_grouped_heads():
    q, k = tensor(array(4, 2, 3)), tensor(array(2, 5, 3, seed=1))
    wide = tandem.stack([k, k], 1).reshape(4, 5, 3)
    grouped = F.scaled_dot_product_attention(q, k, k, enable_gqa=True)
    close(grouped, F.scaled_dot_product_attention(q, wide, wide).numpy())


def test_gumbel_softmax_samples_the_classes():
    """Samples are finite, sum to one, and choose classes as often as their probabilities say (Jang et al. 2016)."""
    tandem.manual_seed(0)
    logits = tandem.tensor([0.2, 0.3, 0.5]).log().expand(4000, 3).contiguous().requires_grad_()
    soft = F.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(-1).detach().numpy(), 1.0, rtol=1e-5)
    hard = F.gumbel_softmax(logits, hard=True)
    np.testing.assert_allclose(hard.mean(0).detach().numpy(), [0.2, 0.3, 0.5], atol=0.03)
    (hard * tandem.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert bool(logits.grad.isfinite().all()) and bool((logits.grad != 0).any())


def test_cosine_embedding_loss_of_integers():
    a, b, target = tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([[2, 3], [4, 5]]), tandem.tensor([1, -1])
    got = F.cosine_embedding_loss(a, b, target, reduction="none")
    assert got.dtype is tandem.float32
    for first, second in ((a.float(), b.float()), (a, b.float()), (a.to(tandem.int8), b)):
        assert tandem.equal(got, F.cosine_embedding_loss(first, second, target, reduction="none"))


def test_multi_margin_loss_of_one_sample_has_the_dims_of_its_target():
    x = tandem.tensor([0.1, 0.2, 0.7])
    for row, target, want in ((x, 2, 0.3), (x, [2], [0.3]), (x[None], 2, 0.3), (x[0], 0, 0.0), (x[0], [0], [0.0])):
        each = F.multi_margin_loss(row, tandem.tensor(target), reduction="none")
        tandem.testing.assert_close(each, tandem.tensor(want))


def test_huber_loss_with_weights_is_a_plain_mean():
    x, y, w = tensor([1.0, 4.0]), tensor([1.5, 1.0]), tensor([2.0, 0.5])
    each = tensor([0.25, 1.25])
    assert F.huber_loss(x, y, weight=w, reduction="none").tolist() == each.tolist()
    assert F.huber_loss(x, y, weight=w, reduction="sum").item() == 1.5
    assert F.huber_loss(x, y, weight=w).item() == 0.75  # mse_loss and l1_loss divide by the sum of the weights
    assert F.mse_loss(x, y, weight=w).item() == pytest.approx((0.5 + 4.5) / 2.5)


def test_gaussian_nll_loss_of_shared_and_of_negative_variances(mode):
    x, y = tandem.arange(24.0).reshape(2, 3, 4), tandem.ones(2, 3, 4)
    for shape in ((2, 3, 1), (2, 1, 4), (1, 3, 4), (2, 3)):
        var = tandem.full(shape, 2.0)
        want = F.gaussian_nll_loss(x, y, tandem.full((2, 3, 4), 2.0))
        assert run_in(mode, F.gaussian_nll_loss, x, y, var).item() == pytest.approx(want.item())
    for shape in ((2, 1, 1), (3, 4), (2, 3, 2)):
        with pytest.raises(ValueError, match="var is of incorrect size"):
            F.gaussian_nll_loss(x, y, tandem.full(shape, 2.0))
    for var in (-tandem.ones(2, 3, 4), tandem.tensor([1.0, -1.0, 1.0, 1.0]).expand(2, 3, 4)):
        with pytest.raises(ValueError, match="var has negative entry/entries"):
            run_in(mode, F.gaussian_nll_loss, x, y, var)
    with pytest.raises(ValueError, match="var has negative entry/entries"):
        F.gaussian_nll_loss(x, y, -1.0)


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
def test_ctc_loss_of_half_types(dtype):
    tandem.manual_seed(0)
    scores = tandem.randn(60, 2, 5).log_softmax(-1).to(dtype)
    labels, running, lengths = tandem.tensor([[1, 2, 2], [3, 4, 1]]), tandem.tensor([60, 50]), tandem.tensor([3, 2])
    half, wide = scores.clone().requires_grad_(), scores.float().requires_grad_()
    loss, want = (F.ctc_loss(x, labels, running, lengths) for x in (half, wide))
    assert loss.dtype is dtype and loss.item() == want.to(dtype).item()
    loss.backward()
    want.backward()
    assert tandem.equal(half.grad, wide.grad.to(dtype)) and half.grad.abs().sum().item() > 0
    impossible = F.ctc_loss(scores[:2], labels, tandem.tensor([2, 2]), lengths, reduction="none")
    assert impossible.tolist()[0] == float("inf")


F16, F32, F64 = tandem.float16, tandem.float32, tandem.float64


@pytest.mark.filterwarnings("ignore:.*Using a target size")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_dtypes_of_losses_with_a_target_of_no_dims(name, mode):
    """Both are broadcast first, so that one of no dims counts with its dtype as any; huber_loss has the input's."""
    loss = getattr(F, name)
    for a, b in itertools.permutations((F16, F32, F64), 2):
        for shapes in (((3,), ()), ((), (3,))):
            x, y = (tandem.full(shape, 0.5, dtype=t) for shape, t in zip(shapes, (a, b), strict=True))
            for how in ("none", "sum", "mean"):
                found = run_in(mode, partial(loss, reduction=how), x, y)
                assert found.dtype == (a if name == "huber_loss" else tandem.promote_types(a, b)), (a, b, how)
                assert found.shape == (3,) * (how == "none")


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_losses_are_as_many_as_elements(name):
    x = tandem.ones(2, 3)
    for shape in ((), (3,), (1, 3), (3, 2)):
        with pytest.raises(ValueError, match=f"{name}: Weights and input must have the same size"):
            getattr(F, name)(x, x, weight=tandem.ones(shape))


def test_dtypes_of_losses_of_logits():
    x, y = tandem.ones(3), tandem.zeros(3)
    logits = F.binary_cross_entropy_with_logits
    assert logits(x, y.double()).dtype == F64 and logits(x.double(), y).dtype == F32
    assert logits(x, y, weight=y.double()).dtype == F32 and logits(x, y, pos_weight=x.double()).dtype == F32
    assert F.soft_margin_loss(x, y.double()).dtype == F32 and F.soft_margin_loss(x.double(), y).dtype == F64
    for factor in ("weight", "pos_weight"):
        with pytest.raises(RuntimeError, match=rf"{factor} of shape \[2, 3\] doesn't match the input's \[3\]"):
            logits(x, y, **{factor: tandem.ones(2, 3)})
    with pytest.raises(RuntimeError, match=r"soft_margin_loss: target of shape \[3\] doesn't match the input's \[\]"):
        F.soft_margin_loss(tandem.tensor(1.0), y)


def test_targets_and_weights_that_losses_refuse():
    x = tandem.ones(2, 3)
    with pytest.raises(RuntimeError, match="nll_loss: expected weight of dtype float32 .*, but found float64"):
        F.cross_entropy(x, tandem.tensor([0, 1]), weight=tandem.ones(3, dtype=F64))
    with pytest.raises(RuntimeError, match="Expected floating point type for target .*, got Long"):
        F.cross_entropy(x, tandem.ones(2, 3, dtype=tandem.int64))
    with pytest.raises(RuntimeError, match="0D target tensor expects 1D input tensors"):
        F.cosine_embedding_loss(x, x, tandem.tensor(1.0))
    with pytest.raises(RuntimeError, match="multi-target not supported"):
        F.cosine_embedding_loss(x, x, tandem.ones(2, 3))


def test_nan_in_losses_of_margins(mode):
    """A margin that is NaN counts as kept, and passes no gradient on."""

    def run(loss, target):
        x = tandem.tensor([[0.0, math.nan, 0.5]], requires_grad=True)
        out = loss(x, target)
        return out.detach().clone(), tandem.autograd.grad(out, x)[0]

    for loss, target in ((F.multi_margin_loss, [0]), (F.multilabel_margin_loss, [[0, -1, 1]])):
        value, grad = run_in(mode, run, loss, tandem.tensor(target))
        assert value.item() == 0.5 and grad.tolist()[0] == pytest.approx([-1 / 3, 0, 1 / 3])


@pytest.mark.parametrize("dtype", [tandem.float64, tandem.float32, tandem.bfloat16])
def test_multilabel_margins_of_any_labels(dtype, mode):
    """As many labels as classes or none, one of them twice; and their slopes, which have no derivative."""
    labels = [[3, 0, 4, -1, 2], [1, 1, 2, -1, 0], [-1, 0, 1, 2, 3], [0, 1, 2, 3, 4], [2, -1, -1, -1, -1]]
    x = tandem.tensor(np.random.default_rng(5).standard_normal((5, 5))).to(dtype)

    def run(x, target):
        x = x.detach().requires_grad_()
        each = F.multilabel_margin_loss(x, target, reduction="none")
        return each, tandem.autograd.grad(each.sum(), x)[0]

    def defined(row, target):
        target = list(itertools.takewhile(lambda c: c >= 0, target))
        others = [i for i in range(5) if i not in target]
        terms = [(1 - row[c] + row[i]).clamp(min=0) for c in target for i in others]
        return sum(terms, row[0] * 0) / 5

    got = run_in(mode, run, x, tandem.tensor(labels))
    rows = x.double().requires_grad_()
    want = tandem.stack([defined(r, t) for r, t in zip(rows, labels, strict=True)])
    (slopes,) = tandem.autograd.grad(want.sum(), rows)
    off = 2e-2 if dtype == tandem.bfloat16 else 1e-6
    np.testing.assert_allclose(got[0].detach().double().numpy(), want.detach().numpy(), rtol=off, atol=off)
    np.testing.assert_allclose(got[1].double().numpy(), slopes.numpy(), rtol=off, atol=off)


@pytest.mark.parametrize("bags", [[0], [0, 2], [0, 0, 3]])
@pytest.mark.parametrize("padding", [None, 2, 0])
def test_nan_in_bags(bags, padding, mode):
    """A bag is read one row after another: a NaN that comes first stays the greatest, others are passed."""
    nan = math.nan
    rows = [[1.0, nan, 3.0], [4.0, 5.0, nan], [nan, 2.0, 7.0], [-math.inf, nan, nan], [1.0, 1.0, 1.0]]

    def run(places):
        w = tandem.tensor(rows, requires_grad=True)
        out = F.embedding_bag(places, w, tandem.tensor(bags), mode="max", padding_idx=padding)
        return out.detach().clone(), tandem.autograd.grad(out.sum(), w)[0]

    for places in ([0, 1, 2], [1, 2, 0], [3, 0, 4], [4, 3, 2, 1, 0], [2, 2, 3, 3]):
        wanted, slopes = [], [[0.0] * 3 for _ in rows]
        for begin, end in itertools.pairwise([*bags, len(places)]):
            counted = [p for p in places[begin:end] if p != padding]
            best = counted[:1] * 3
            for p in counted[1:]:
                best = [p if rows[p][k] > rows[best[k]][k] else best[k] for k in range(3)]
            wanted.append([rows[b][k] for k, b in enumerate(best)] or [0.0] * 3)
            for k, b in enumerate(best):
                slopes[b][k] += 1
        value, grad = run_in(mode, run, tandem.tensor(places))
        np.testing.assert_array_equal(value.numpy(), np.array(wanted, dtype=np.float32))
        assert grad.tolist() == slopes
