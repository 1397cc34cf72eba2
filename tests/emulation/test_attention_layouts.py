"""Attention of operands that are not contiguous, by cuDNN on the emulated device: it takes what has dense, aligned rows
as it lies, copies the rest, and the bits are those of contiguous operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from emulated import there
from test_cudnn import plans as plans  # noqa: PLC0414
from test_cudnn_attention import BACKWARD, FORWARD, HALF, tolerance
from test_library_math import bits, random

import tandem
import tandem.nn.functional as F

B, H, T, D = 2, 4, 6, 8
Parts = tuple[tandem.Tensor, tandem.Tensor, tandem.Tensor]


def each(shape: tuple[int, ...], view: Callable[[tandem.Tensor], tandem.Tensor]) -> Any:
    return [shape] * 3, lambda *leaves: tuple(view(x) for x in leaves)


def gpt(qkv: tandem.Tensor) -> Parts:
    parts = qkv.reshape(B, T, 3, H, -1).permute(2, 0, 3, 1, 4)
    return parts[0], parts[1], parts[2]


# Shapes of leaves, and query, key and value as views of them; how many of the three cuDNN takes as they lie.
LAYOUTS: dict[str, tuple[Any, int]] = {
    "gpt": (([(B, T, 3 * H * D)], gpt), 3),
    "heads_in_rows": (each((B, T, H, D), lambda x: x.transpose(1, 2)), 3),
    "rows_first": (each((T, B, H, D), lambda x: x.permute(1, 2, 0, 3)), 3),
    "wider_rows": (each((B, H, T, 2 * D), lambda x: x[..., D:]), 3),
    "every_second_row": (each((B, H, 2 * T, D), lambda x: x[:, :, ::2]), 3),
    "one_head": (each((B, T, 1, D), lambda x: x.transpose(1, 2)), 3),
    "misaligned": (each((B * H * T * D + 1,), lambda x: x[1:].view(B, H, T, D)), 0),
    "misaligned_rows": (each((B, H, T, D + 4), lambda x: x[..., :D]), 0),
    "spread_columns": (each((B, H, T, D, 2), lambda x: x[..., 0]), 0),
    "shared_heads": (([(B, T, H, D), (B, 1, T, D), (B, 1, T, D)],
                      lambda q, k, v: (q.transpose(1, 2), k.expand(B, H, T, D), v.expand(B, H, T, D))), 1),
}  # fmt: skip


def leaves_of(name: str, dtype: tandem.dtype, seed: int = 0) -> list[tandem.Tensor]:
    (shapes, _), _ = LAYOUTS[name]
    return [random(shape, dtype, seed + k) for k, shape in enumerate(shapes)]


def step(name: str, causal: bool = False) -> Callable[..., list[tandem.Tensor]]:
    """Attention as a model has it: its heads side by side; and the gradients of the leaves."""
    parts = LAYOUTS[name][0][1]

    def body(weights: tandem.Tensor, *leaves: tandem.Tensor) -> list[tandem.Tensor]:
        leaves = tuple(x.detach().requires_grad_() for x in leaves)
        attended = F.scaled_dot_product_attention(*parts(*leaves), is_causal=causal)
        y = attended.transpose(1, 2).reshape(B, T, -1)
        return [y, *tandem.autograd.grad(y, leaves, weights)]

    return body


def formula(name: str, causal: bool, weights: tandem.Tensor, *leaves: tandem.Tensor) -> list[tandem.Tensor]:
    leaves = tuple(x.float().requires_grad_() for x in leaves)
    q, k, v = LAYOUTS[name][0][1](*leaves)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)
    if causal:
        scores = scores.masked_fill(~tandem.ones(T, T, dtype=tandem.bool).tril(), float("-inf"))
    y = (tandem.softmax(scores, -1) @ v).transpose(1, 2).reshape(B, T, -1)
    return [y, *tandem.autograd.grad(y, leaves, weights.float())]


def weights_of(name: str, dtype: tandem.dtype, seed: int = 9) -> tandem.Tensor:
    return random((B, T, (1 if name == "one_head" else H) * D), dtype, seed)


def rows_first(x: tandem.Tensor) -> tandem.Tensor:
    """The same elements, in whose memory a row of all heads follows another."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def launched(call: Callable[[], object]) -> int:
    before = tandem.counters()["kernel_launches"]
    call()
    return tandem.counters()["kernel_launches"] - before


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("causal", [False, True])
def test_values(name: str, dtype: tandem.dtype, causal: bool, plans: Any) -> None:
    args = [weights_of(name, dtype), *leaves_of(name, dtype)]
    got = step(name, causal)(*(there(t) for t in args))
    assert plans() == [FORWARD, BACKWARD]
    for y, want in zip(got, formula(name, causal, *args), strict=True):
        tandem.testing.assert_close(y.cpu().float(), want.detach(), rtol=tolerance(dtype), atol=2 * tolerance(dtype))


@pytest.mark.parametrize("name", LAYOUTS)
def test_modes_have_the_same_bits(name: str, plans: Any) -> None:
    """Of graphs, too: what they replay is given operands that lie elsewhere, and a copy of these."""
    run = step(name)
    compiled = tandem.compile(run)
    kept = []
    for k in range(5):
        args = [there(t) for t in (weights_of(name, HALF[0], 20 + k), *leaves_of(name, HALF[0], 10 * k))]
        with tandem.lazy():
            lazy = run(*args)
        kept.append((args, lazy, compiled(*args)))
    for args, lazy, later in kept:
        want = [bits(t) for t in run(*args)]
        assert [bits(t) for t in lazy] == [bits(t) for t in later] == want
    assert FORWARD in plans() and BACKWARD not in plans()


@pytest.mark.parametrize("name", LAYOUTS)
def test_bits_are_those_of_contiguous_operands(name: str) -> None:
    parts = [p.detach() for p in LAYOUTS[name][0][1](*(there(t) for t in leaves_of(name, HALF[1])))]
    weights = there(random(tuple(parts[0].shape), HALF[1], 9))

    def run(q: tandem.Tensor, k: tandem.Tensor, v: tandem.Tensor, g: tandem.Tensor) -> list[bytes]:
        q, k, v = (t.requires_grad_() for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return [bits(t) for t in (y, *tandem.autograd.grad(y, (q, k, v), g))]

    dense = run(*(p.contiguous() for p in parts), weights)
    assert run(*parts, weights) == dense
    assert run(*parts, rows_first(weights)) == dense


@pytest.mark.parametrize("name", LAYOUTS)
def test_copies(name: str) -> None:
    """None where it takes operands as they lie: as many kernels as of contiguous operands; else one an operand."""
    taken = LAYOUTS[name][1]
    parts = [p.detach() for p in LAYOUTS[name][0][1](*(there(t) for t in leaves_of(name, HALF[1])))]
    dense = [p.contiguous().clone() for p in parts]

    def forward(q: tandem.Tensor, k: tandem.Tensor, v: tandem.Tensor) -> tandem.Tensor:
        return F.scaled_dot_product_attention(q, k, v)

    assert launched(lambda: forward(*parts)) == launched(lambda: forward(*dense)) + 3 - taken
    outputs = [forward(*(t.requires_grad_() for t in p)) for p in (parts, dense)]
    g = rows_first(tandem.ones_like(outputs[1]))
    counts = [launched(lambda y=y, p=p: tandem.autograd.grad(y, p, g)) for y, p in zip(outputs, (parts, dense))]
    assert counts[0] == counts[1] + 3 - taken


@pytest.mark.parametrize(("name", "most"), [("gpt", 7), ("heads_in_rows", 4)])
def test_a_compiled_step_copies_nothing(name: str, most: int) -> None:
    """Two kernels beside cuDNN's forward and two beside its backward, for numbers and statistics; of a GPT's, whose
    query, key and value are of one array, three that make one gradient of their cotangents. Heads lie side by side."""
    run = tandem.compile(step(name))
    args = [there(t) for t in (weights_of(name, HALF[1]), *leaves_of(name, HALF[1]))]
    assert launched(lambda: run(*args)) == most


def results_of(
    parts: list[tandem.Tensor], weights: tandem.Tensor, mask: tandem.Tensor | None, grouped: bool
) -> list[tandem.Tensor]:
    parts = [p.detach().requires_grad_() for p in parts]
    y = F.scaled_dot_product_attention(*parts, attn_mask=mask, enable_gqa=grouped)
    return [y, *tandem.autograd.grad(y, parts, weights)]


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float32, tandem.float64])
@pytest.mark.parametrize("cudnn", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_results_lie_as_what_they_are_like(dtype: tandem.dtype, cudnn: bool, masked: bool, grouped: bool) -> None:
    """The output as the query, cotangents as their dense operands, whoever computes them; the bits are the same."""
    shapes = [(B, H, T, D), *[(B, H // 2 if grouped else H, T + 1, D)] * 2]
    parts = [there(random(shape, dtype, k)) for k, shape in enumerate(shapes)]
    weights = there(random((B, H, T, D), dtype, 9))
    mask = there(random((T, T + 1), tandem.float32, 4) > -1) if masked else None
    with tandem.backends.cudnn.flags(enabled=cudnn):
        want = results_of(parts, weights, mask, grouped)
        assert all(t.is_contiguous() for t in want)
        for turned in ((True, True, True), (True, False, False), (False, True, False), (False, False, True)):
            now = [rows_first(x) if t else x for x, t in zip(parts, turned, strict=True)]
            got = results_of(now, rows_first(weights), mask, grouped)
            for y, was, is_turned in zip(got, want, (turned[0], *turned), strict=True):
                assert bits(y) == bits(was)
                assert (y.transpose(1, 2) if is_turned else y).is_contiguous()
