"""Attention of operands in other orders of memory: results lie as what they are like, with the bits of dense ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem
from tandem.nn import functional as F

DTYPES = [tandem.float64, tandem.float32, tandem.bfloat16]


def values(*shape: int, seed: int = 0, dtype: tandem.dtype = tandem.float32) -> tandem.Tensor:
    return tandem.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape)).to(dtype)


def rows_first(x: tandem.Tensor) -> tandem.Tensor:
    """The same elements, in whose memory a row of all heads follows another."""
    return x.detach().transpose(1, 2).contiguous().transpose(1, 2)


def run(f: Callable[..., tandem.Tensor], *leaves: tandem.Tensor) -> list[tandem.Tensor]:
    leaves = tuple(x.detach().requires_grad_() for x in leaves)
    y = f(*leaves)
    return [y, *tandem.autograd.grad(y, leaves, values(*y.shape, seed=9, dtype=y.dtype))]


def gpt(qkv: tandem.Tensor) -> list[tandem.Tensor]:
    return list(qkv.reshape(*qkv.shape[:2], 3, 4, -1).permute(2, 0, 3, 1, 4))


CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "masked": {"attn_mask": values(5, 70, seed=4) > -0.5},
    "dropout": {"dropout_p": 0.3},
    "grouped": {"enable_gqa": True},
}
SHAPES = [((2, 4, 5, 8), (2, 4, 70, 8)), ((1, 4, 260, 16), (1, 4, 1600, 16)), ((2, 4, 1, 3), (2, 4, 1, 3))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shapes", SHAPES)
def test_bits_and_strides(dtype: tandem.dtype, call: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rows, keys = shapes
    if call == "masked" and rows[2] != 5:
        pytest.skip("the mask has other sizes")
    if call == "grouped":
        keys = (keys[0], 2, *keys[2:])
    q, k, v = values(*rows, dtype=dtype), values(*keys, seed=1, dtype=dtype), values(*keys, seed=2, dtype=dtype)

    def attend(*parts: tandem.Tensor) -> tandem.Tensor:
        tandem.manual_seed(3)
        return F.scaled_dot_product_attention(*parts, **CALLS[call])

    want = run(attend, q, k, v)
    assert all(t.is_contiguous() for t in want)
    for turned in ((True, True, True), (True, False, False), (False, True, False), (False, False, True)):
        parts = [rows_first(x) if t else x for x, t in zip((q, k, v), turned, strict=True)]
        got = run(attend, *parts)
        for a, b in zip(got, want, strict=True):
            assert_same_bits(a, b)
        for result, is_turned in zip(got, (turned[0], *turned), strict=True):
            assert (result.transpose(1, 2) if is_turned else result).is_contiguous()


@pytest.mark.parametrize("dtype", DTYPES)
def test_modes_have_the_same_strides(dtype: tandem.dtype, tmp_path: Path) -> None:
    qkv = values(2, 6, 3 * 4 * 8, dtype=dtype)

    def step(x: tandem.Tensor) -> list[tandem.Tensor]:
        parts = [p.detach().requires_grad_() for p in gpt(x)]
        y = F.scaled_dot_product_attention(*parts, is_causal=True)
        return [y, *tandem.autograd.grad((y * y).sum(), parts)]

    want = step(qkv)
    # Of what is one among others the cotangent is dense.
    assert [t.stride() for t in want] == [(6 * 32, 8, 32, 1), *[(6 * 32, 6 * 8, 8, 1)] * 3]
    with tandem.lazy():
        lazy = step(qkv)
    found = [lazy, tandem.compile(step)(qkv)]
    for results in found:
        assert [t.stride() for t in results] == [t.stride() for t in want]
        for a, b in zip(results, want, strict=True):
            assert_same_bits(a, b)

    program = tandem.export.export(lambda x: F.scaled_dot_product_attention(*gpt(x), is_causal=True), (qkv,))
    tandem.export.save(program, str(tmp_path / "attention.tandem"))
    loaded = tandem.export.load(str(tmp_path / "attention.tandem"))
    assert_same_bits(loaded(qkv), want[0])
    assert loaded(qkv).stride() == program(qkv).stride()


def test_heads_side_by_side_are_a_view() -> None:
    x = values(2, 6, 3 * 4 * 8)
    y = F.scaled_dot_product_attention(*gpt(x))
    assert y.transpose(1, 2).reshape(2, 6, -1).data_ptr() == y.data_ptr()
    expanded = values(2, 1, 6, 8).expand(2, 4, 6, 8)  # has no such order
    assert F.scaled_dot_product_attention(expanded, expanded, expanded).is_contiguous()


def test_orders_of_gradients() -> None:
    def third(*parts: tandem.Tensor) -> list[tandem.Tensor]:
        parts = tuple(p.detach().requires_grad_() for p in parts)
        found = [F.scaled_dot_product_attention(*parts, is_causal=True)]
        for _ in range(3):
            found += tandem.autograd.grad((found[-1] * found[-1]).sum(), parts, create_graph=True)
        return found

    parts = [values(2, 3, 5, 4, seed=s, dtype=tandem.float64) for s in range(3)]
    for a, b in zip(third(*map(rows_first, parts)), third(*parts), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-10)


def test_examples_of_vmap() -> None:
    parts = [values(3, 2, 4, 5, 8, seed=s).transpose(2, 3).contiguous().transpose(2, 3) for s in range(3)]
    got = tandem.vmap(F.scaled_dot_product_attention)(*parts)
    for i in range(3):
        assert_same_bits(got[i], F.scaled_dot_product_attention(*(p[i] for p in parts)))
