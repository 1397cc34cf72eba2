"""Attention in half types by cuDNN on the emulated device: values against the CPU's, what is computed by which library,
rows that attend to nothing, and that modes and graphs agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulated import there
from test_cudnn import plans as plans  # noqa: PLC0414
from test_library_math import bits, compare, odd, random

import tandem
import tandem.nn.functional as F
from tandem.backends import cudnn

FORWARD, BACKWARD = "attention fused", "attention_grad fused"
HALF = [tandem.float16, tandem.bfloat16]


def operands(
    dtype: tandem.dtype, batch: int = 2, heads: int = 4, shared: int = 4, rows: int = 5, keys: int = 7, width: int = 8
) -> list[tandem.Tensor]:
    return [
        random((batch, heads, rows, width), dtype),
        random((batch, shared, keys, width), dtype, 1),
        random((batch, shared, keys, 16), dtype, 2),
    ]


def tolerance(dtype: tandem.dtype) -> float:
    """Probabilities are rounded to the half type, and sums of heads that share a head of keys."""
    return 4e-3 if dtype is tandem.float16 else 3e-2


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_values_and_gradients(dtype: tandem.dtype, causal: bool, scale: float | None, plans: Any) -> None:
    compare(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale),
        *operands(dtype), exact=False, backward=True, tolerance=tolerance(dtype),
    )  # fmt: skip
    assert plans() == [FORWARD, BACKWARD]


@pytest.mark.parametrize("dtype", HALF)
def test_heads_that_share_keys(dtype: tandem.dtype, plans: Any) -> None:
    compare(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        *operands(dtype, heads=6, shared=2), exact=False, backward=True, tolerance=tolerance(dtype),
    )  # fmt: skip
    assert plans() == [FORWARD, BACKWARD]


@pytest.mark.parametrize("shape", [(5, 7), (2, 1, 5, 7), (1, 4, 5, 7), (2, 4, 1, 7)])
@pytest.mark.parametrize("kind", ["bool", "float32", "float16"])
def test_masks(shape: tuple[int, ...], kind: str, plans: Any) -> None:
    numbers = random(shape, tandem.float32, 4)
    mask = numbers > -0.3 if kind == "bool" else numbers.to(getattr(tandem, kind))
    compare(
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        *operands(tandem.float16), mask, exact=False, backward=True, tolerance=tolerance(tandem.float16),
    )  # fmt: skip
    assert FORWARD in plans()


@pytest.mark.parametrize("kind", ["bool", "added"])
def test_rows_that_attend_to_nothing(kind: str, plans: Any) -> None:
    q, k, v = (there(t).requires_grad_() for t in operands(tandem.float16))
    sees = tandem.ones(5, 7, dtype=tandem.bool)
    sees[1], sees[3, :6] = False, False
    mask = there(sees if kind == "bool" else tandem.zeros(5, 7).masked_fill(~sees, float("-inf")))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert bool((y[:, :, 1] == 0).all())
    assert bool((y[:, :, 3] == v[:, :, 6]).all())
    (y * y).sum().backward()
    assert bool((q.grad[:, :, 1] == 0).all()) and all(bool(t.grad.isfinite().all()) for t in (q, k, v))
    assert plans() == [FORWARD, BACKWARD]


def test_what_is_not_asked_for(plans: Any) -> None:
    for dtype in (tandem.float32, tandem.float64):
        compare(F.scaled_dot_product_attention, *operands(dtype), exact=False, backward=True)
    q, k, v = operands(tandem.float16)
    F.scaled_dot_product_attention(q, k, v)
    y = F.scaled_dot_product_attention(there(q).requires_grad_(), there(k), there(v), dropout_p=0.25)
    y.sum().backward()
    with cudnn.flags(enabled=False):
        compare(F.scaled_dot_product_attention, q, k, v, exact=False, backward=True, tolerance=4e-3)
    assert plans() == []
    # A gradient is its forward's.
    y = F.scaled_dot_product_attention(there(q).requires_grad_(), there(k), there(v))
    with cudnn.flags(enabled=False):
        y.sum().backward()
    assert plans() == [FORWARD, BACKWARD]


def test_what_no_engine_serves(plans: Any) -> None:
    for sizes in ({"width": 6}, {"rows": 1}, {"keys": 0}, {"batch": 0}):
        compare(
            F.scaled_dot_product_attention, *operands(tandem.float16, **sizes), exact=False, backward=True,
            tolerance=4e-3,
        )  # fmt: skip
    assert plans() == []


def test_every_layout_has_the_same_bits(plans: Any) -> None:
    q, k, v = operands(tandem.bfloat16)
    want = bits(F.scaled_dot_product_attention(there(q), there(k), there(v)))
    assert bits(F.scaled_dot_product_attention(there(odd(q)), there(odd(k)), there(odd(v)))) == want
    rows = [there(t.transpose(1, 2).contiguous()).transpose(1, 2) for t in (q, k, v)]
    assert bits(F.scaled_dot_product_attention(*rows)) == want
    assert plans() == [FORWARD] * 3


def test_modes_and_graphs_have_the_same_bits(plans: Any) -> None:
    """The scale is a number that plans are kept for: another one is the next run's."""
    q, k, v = (there(t) for t in operands(tandem.float16))

    def step(q: tandem.Tensor, scale: float) -> list[tandem.Tensor]:
        q = q.detach().requires_grad_()
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
        return [y, *tandem.autograd.grad((y * y).sum(), q)]

    compiled = tandem.compile(step)
    kept = []
    for i in range(8):
        x, scale = there(random((2, 4, 5, 8), tandem.float16, 10 + i)), 0.25 + i / 8
        with tandem.lazy():
            lazy = step(x, scale)
        kept.append((x, scale, lazy, compiled(x, scale)))
    for x, scale, lazy, later in kept:
        want = [bits(t) for t in step(x, scale)]
        assert [bits(t) for t in lazy] == [bits(t) for t in later] == want
    assert 0 < len(plans())


def test_saved_programs(tmp_path: Path, plans: Any) -> None:
    args = tuple(operands(tandem.float16))
    program = tandem.export.export(F.scaled_dot_product_attention, args, targets=["x86-64-v3", "sm_90"])
    tandem.export.save(program, str(tmp_path / "attention.tandem"))
    plans()
    loaded = tandem.export.load(str(tmp_path / "attention.tandem"), device="cuda")
    y = loaded(*(there(t) for t in args))
    assert bits(y) == bits(F.scaled_dot_product_attention(*(there(t) for t in args)))
    assert plans() == [FORWARD] * 2


def test_operands_stay_in_the_half_type(tmp_path: Path, plans: Any) -> None:
    """Nothing is converted on the way, and a program that was exported so runs on the CPU, too."""
    args = [there(t).requires_grad_() for t in operands(tandem.bfloat16)]

    def step(q: tandem.Tensor, k: tandem.Tensor, v: tandem.Tensor) -> list[tandem.Tensor]:
        y = F.scaled_dot_product_attention(q, k, v)
        return [y, *tandem.autograd.grad(y, (q, k, v), tandem.ones_like(y))]

    compiled = tandem.compile(step)
    assert {t.dtype for t in compiled(*args)} == {tandem.bfloat16}
    text = str(compiled.explain(*args))
    assert "attention_plain" in text and "attention_grad" in text and "to f32" not in text
    assert FORWARD in plans()
    program = tandem.export.export(F.scaled_dot_product_attention, tuple(t.detach() for t in args))
    close = tolerance(tandem.bfloat16)
    tandem.export.save(program, str(tmp_path / "attention.tandem"))
    here = tandem.export.load(str(tmp_path / "attention.tandem"), device="cpu")(*(t.detach().cpu() for t in args))
    tandem.testing.assert_close(here, step(*args)[0].detach().cpu(), rtol=close, atol=close)


def test_second_derivatives(plans: Any) -> None:
    def second(q: tandem.Tensor, k: tandem.Tensor, v: tandem.Tensor) -> list[tandem.Tensor]:
        q = q.detach().requires_grad_()
        y = F.scaled_dot_product_attention(q, k, v)
        (g,) = tandem.autograd.grad((y * y).sum(), q, create_graph=True)
        return list(tandem.autograd.grad((g * g).sum(), q))

    compare(second, *operands(tandem.float16), exact=False, tolerance=2e-2)
    assert plans() == [FORWARD, BACKWARD, BACKWARD]  # the output is a factor of its own cotangent
