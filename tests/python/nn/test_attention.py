"""Attention beyond its table rows: higher orders, dropout, memory, threads, modes."""

from __future__ import annotations

import resource

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem
from tandem.nn import functional as F


def values(*shape: int, seed: int = 0, dtype: tandem.dtype = tandem.float64) -> tandem.Tensor:
    drawn = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return tandem.tensor(drawn, dtype=dtype).requires_grad_()


def by_definition(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + mask
    if causal:
        rows = tandem.arange(q.shape[-2]).reshape(-1, 1)
        scores = tandem.where(tandem.arange(k.shape[-2]) <= rows, scores, float("-inf"))
    return tandem.softmax(scores, -1) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_three_orders_agree_with_the_definition(causal, masked):
    if causal and masked:
        pytest.skip("one or the other")

    def orders(f):
        q, k, v = values(1, 2, 5, 3), values(1, 2, 6, 3, seed=1), values(1, 2, 6, 2, seed=2)
        leaves = [q, k, v] + ([values(5, 6, seed=3)] if masked else [])
        out = f(*leaves)
        found = [out]
        total = (out * out.detach().cos()).sum()
        for _ in range(3):
            grads = tandem.autograd.grad(total, leaves, create_graph=True)
            found += grads
            total = sum((g * (i + 1)).sin().sum() for i, g in enumerate(grads))
        return found

    ours = orders(lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, is_causal=causal))
    wanted = orders(lambda q, k, v, m=None: by_definition(q, k, v, m, causal))
    for a, b in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-10)


def test_tiles_of_every_kind_agree_with_the_definition():
    for rows, keys, width, out in ((1, 1, 1, 1), (49, 129, 40, 70), (300, 260, 16, 33), (241, 500, 64, 64)):
        for causal in (False, True):
            q, k, v = values(2, 1, rows, width), values(2, 1, keys, width), values(2, 1, keys, out)
            ours = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            wanted = by_definition(q, k, v, None, causal)
            g = values(*ours.shape, seed=9).detach()
            np.testing.assert_allclose(ours.detach().numpy(), wanted.detach().numpy(), atol=1e-12)
            for a, b in zip(
                tandem.autograd.grad(ours, (q, k, v), g), tandem.autograd.grad(wanted, (q, k, v), g), strict=True
            ):
                np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-11)


@pytest.mark.parametrize("truths", [False, True])
def test_masks_are_read_wherever_they_lie(truths):
    q, k, v = values(2, 3, 70, 8), values(2, 3, 150, 8), values(2, 3, 150, 5)
    whole = values(70, 150, seed=4).detach()
    masks = [whole, values(150, 70, seed=5).detach().T, whole[:, :1], whole[:1], values(2, 1, 1, 150, seed=6).detach()]
    for m in masks:
        mask = m > -1 if truths else m
        added = tandem.where(mask, 0.0, -float("inf")).double() if truths else mask
        ours = F.scaled_dot_product_attention(q, k, v, mask)
        wanted = by_definition(q, k, v, added)
        live = wanted.isfinite().all(-1, keepdim=True)  # rows that see nothing are 0
        g = tandem.where(live, values(*ours.shape, seed=9).detach(), 0.0)
        np.testing.assert_allclose(ours.detach().numpy(), wanted.detach().nan_to_num().numpy(), atol=1e-12)
        if not live.all():
            continue
        for a, b in zip(
            tandem.autograd.grad(ours, (q, k, v), g), tandem.autograd.grad(wanted, (q, k, v), g), strict=True
        ):
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-11)


def test_dropout_keeps_the_same_elements_in_every_order():
    q, k = values(1, 2, 9, 4), values(1, 2, 11, 4, seed=1)
    # The values of one-hot keys show the weights themselves.
    v = tandem.eye(11, dtype=tandem.float64).expand(1, 2, 11, 11).clone().requires_grad_()
    tandem.manual_seed(3)
    weights = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)
    kept = (weights != 0).detach()
    assert 0.3 < kept.to(tandem.float64).mean().item() < 0.9
    kept_weights = tandem.softmax(q @ k.transpose(-1, -2) / 2, -1) * kept / 0.6
    wanted = kept_weights @ v
    np.testing.assert_allclose(weights.detach().numpy(), wanted.detach().numpy(), rtol=1e-12)
    g = values(*weights.shape, seed=5).detach()
    first = [tandem.autograd.grad(y, (q, k, v), g, create_graph=True) for y in (weights, wanted)]
    second = [tandem.autograd.grad(sum(x.sin().sum() for x in grads), (q, k, v)) for grads in first]
    for ours, theirs in (*zip(*first, strict=True), *zip(*second, strict=True)):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-8, atol=1e-10)


def training_step(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out, *tandem.autograd.grad((out * out).sum(), (q, k, v))


def test_modes_and_threads_give_the_same_bits():
    args = [values(2, 3, 150, 24, seed=i, dtype=tandem.float32) for i in range(3)]
    expected = training_step(*args)
    runs = []
    threads = tandem.get_num_threads()
    for n in (1, 2):
        tandem.set_num_threads(n)
        runs.append(training_step(*args))
    tandem.set_num_threads(threads)
    with tandem.lazy():
        recorded = training_step(*args)
    compiled = tandem.compile(training_step)
    runs += [recorded, compiled(*args), compiled(*args)]
    for run in runs:
        for a, b in zip(run, expected, strict=True):
            assert_same_bits(a.detach(), b.detach())


def test_memory_is_linear_in_the_length():
    args = [values(1, 2, 8192, 16, seed=i, dtype=tandem.float32) for i in range(3)]
    training_step(*(a[:, :, :64] for a in args))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    training_step(*args)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 2 * 8192 * 8192  # a quarter of the scores of one step


def test_errors_name_the_shapes():
    q = tandem.zeros(2, 4, 8)
    with pytest.raises(RuntimeError, match="same dtype"):
        F.scaled_dot_product_attention(q, q.double(), q)
    with pytest.raises(RuntimeError, match=r"shapes do not fit: query \[2, 4, 8\], key \[2, 4, 7\]"):
        F.scaled_dot_product_attention(q, tandem.zeros(2, 4, 7), q)
    with pytest.raises(RuntimeError, match="must divide the number of heads"):
        F.scaled_dot_product_attention(tandem.zeros(1, 3, 4, 8), *[tandem.zeros(1, 2, 4, 8)] * 2, enable_gqa=True)


def test_scores_that_are_no_numbers_or_hide_all():
    inf, nan = float("inf"), float("nan")
    q, k, v = tandem.ones(1, 1, 1, 4), tandem.ones(1, 1, 300, 4), tandem.ones(1, 1, 300, 2)
    for at in (0, 140, 299):
        for scores, wanted in (((nan, 0.0), nan), ((nan, -inf), nan), ((inf, 0.0), nan), ((-inf, -inf), 0.0)):
            mask = tandem.full((1, 300), scores[1])
            mask[0, at] = scores[0]
            out = F.scaled_dot_product_attention(q, k, v, mask)
            np.testing.assert_array_equal(out.numpy().ravel(), [wanted, wanted])


@pytest.mark.parametrize("size", [1.0, 1e-20, 1e-36, 0.0], ids=["values", "small", "subnormal", "unlike"])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"mask": True}, {"scale": -0.5}], ids=str)
@pytest.mark.parametrize("widths", [(64, 64), (40, 33), (20, 72)], ids=str)
def test_bfloat16_is_float32_rounded(size, options, widths, threads):
    """Exponentials are rounded, too; none is left out that meets a value much larger than others."""
    width, value_width = widths
    query, key = (tandem.randn(2, 4, rows, width).bfloat16() for rows in (150, 300))
    value = tandem.randn(2, 4, 300, value_width)
    value = value * size if size else value * tandem.exp(20 * tandem.randn(2, 4, 300, 1))
    value = value.bfloat16()
    if not size:
        query = query * 4
    options = dict(options)
    if options.pop("mask", False):
        options["attn_mask"] = tandem.rand(150, 300) < 0.7
    got = F.scaled_dot_product_attention(query, key, value, **options)
    wide = query.float(), key.float()
    want = F.scaled_dot_product_attention(*wide, value.float(), **options).double()
    terms = F.scaled_dot_product_attention(*wide, value.float().abs(), **options).double()
    assert ((got.double() - want).abs() <= terms * 2**-7 + 2**-133).all()
    laid = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key, value)]
    assert_same_bits(F.scaled_dot_product_attention(*laid, **options), got)


def test_given_keys_and_values_take_the_place_of_projections():
    q, weight, out = tandem.arange(12.0).reshape(3, 1, 4) / 10, tandem.eye(4).repeat(3, 1), tandem.eye(4)
    k, v = tandem.arange(20.0).reshape(2, 5, 2) / 7, tandem.arange(20.0).reshape(2, 5, 2) / 3

    def attention(bias_k=None, bias_v=None, **options):
        return F.multi_head_attention_forward(
            q, q, q, 4, 2, weight, None, bias_k, bias_v, False, 0.0, out, None, **options
        )

    padding = tandem.tensor([[False] * 4 + [True]])  # as many as there are keys that are attended to
    result, weights = attention(static_k=k, static_v=v, key_padding_mask=padding)
    expected = by_definition(q.reshape(3, 2, 2).transpose(0, 1), k[:, :4], v[:, :4])
    tandem.testing.assert_close(result, expected.transpose(0, 1).reshape(3, 1, 4))
    assert weights.shape == (1, 3, 5)
    one = tandem.ones(1, 1, 4)
    with pytest.raises(AssertionError, match="bias cannot be added to static"):
        attention(one, one, static_k=k, static_v=v)
    with pytest.raises(AssertionError, match="one of them is None"):
        attention(one)
    with pytest.raises(AssertionError, match=r"expecting static_k.size\(0\) of 2, but got 1"):
        attention(static_k=k[:1])
    with pytest.raises(AssertionError, match=r"expecting static_v.size\(2\) of 2, but got 1"):
        attention(static_v=v[..., :1])


def test_masks_that_are_known_by_their_form():
    from tandem.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left

    q, k, v = values(1, 2, 3, 4), values(1, 2, 5, 4, seed=1), values(1, 2, 5, 4, seed=2)
    upper = F.scaled_dot_product_attention(q, k, v, causal_upper_left(3, 5), scale=0.3)
    assert type(upper) is tandem.Tensor
    assert upper.equal(F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3))
    mask = tandem.ones(3, 5, dtype=tandem.bool).tril(2)
    lower = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(3, 5))
    assert lower.equal(F.scaled_dot_product_attention(q, k, v, mask)) and repr(causal_lower_right(3, 5)) == repr(mask)
    with pytest.raises(ValueError, match="should not be used with causal=True"):
        F.scaled_dot_product_attention(q, k, v, causal_lower_right(3, 5), 0.0, True)
    with pytest.raises(AssertionError, match="must be a CausalVariant"):
        CausalBias(1, 3, 5)
    with pytest.warns(UserWarning, match="will produce NaNs"):
        CausalBias(CausalVariant.LOWER_RIGHT, 5, 3)


def test_what_attention_refuses():
    x = values(2, 3, 4)
    for p in (-0.1, 1.5, float("nan")):
        with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
            F.scaled_dot_product_attention(x, x, x, dropout_p=p)
    layer = tandem.nn.MultiheadAttention(4, 2, batch_first=True, dtype=tandem.float64)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        layer(x, x, x, key_padding_mask=tandem.zeros(2, 3))
