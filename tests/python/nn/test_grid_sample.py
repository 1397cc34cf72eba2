"""grid_sample beyond its table rows: modes and paddings by their definition, derivatives, bits, what lies outside."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem.nn import functional as F

MODES = ["bilinear", "nearest", "bicubic"]
PADDINGS = ["zeros", "border", "reflection"]
CASES = [
    (dims, mode, padding, corners)
    for dims in (2, 3)
    for mode in MODES
    for padding in PADDINGS
    for corners in (False, True)
    if dims == 2 or mode != "bicubic"
]


def values(*shape: int, scale: float = 1.0, dtype: tandem.dtype = tandem.float64) -> tandem.Tensor:
    return tandem.tensor(scale * np.random.default_rng([*shape]).standard_normal(shape)).to(dtype)


def inside(p: float, size: int, padding: str, corners: bool) -> float:
    """A position brought inside as the padding says."""
    if padding == "zeros":
        return p
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        turns, extra = divmod(abs(p - low), span) if span else (0, 0.0)
        p = low + (extra if turns % 2 == 0 else span - extra)
    return min(max(p, 0.0), size - 1.0)


def cubic(d: float) -> float:
    d = abs(d)
    if d <= 1:
        return (1.25 * d - 2.25) * d * d + 1
    return ((-0.75 * d + 3.75) * d - 6) * d + 3


def taps(x: float, size: int, mode: str, padding: str, corners: bool) -> list[tuple[int, float]]:
    p = (x + 1) / 2 * (size - 1) if corners else ((x + 1) * size - 1) / 2
    if mode == "bicubic":
        low = math.floor(p)
        return [(round(inside(low + k, size, padding, corners)), cubic(p - low - k)) for k in range(-1, 3)]
    p = inside(p, size, padding, corners)
    if mode == "nearest":
        return [(round(p), 1.0)]
    low = math.floor(p)
    return [(low, low + 1 - p), (low + 1, p - low)]


def defined(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, corners: bool) -> np.ndarray:
    out = np.zeros([*x.shape[:2], *grid.shape[1:-1]])
    for at in np.ndindex(len(x), *grid.shape[1:-1]):
        axes = [taps(g, m, mode, padding, corners) for m, g in zip(x.shape[2:], reversed(grid[at]), strict=True)]
        for combination in itertools.product(*axes):
            place = tuple(i for i, _ in combination)
            if all(0 <= i < m for i, m in zip(place, x.shape[2:], strict=True)):
                out[(at[0], slice(None), *at[1:])] += x[(at[0], slice(None), *place)] * math.prod(
                    w for _, w in combination
                )
    return out


def operands(dims: int, dtype: tandem.dtype = tandem.float64) -> tuple[tandem.Tensor, tandem.Tensor]:
    """Some places lie far outside of the image."""
    return values(2, 3, *(4, 3, 5)[:dims], dtype=dtype), values(2, *(3, 4, 2)[:dims], dims, scale=1.5, dtype=dtype)


@pytest.mark.parametrize(("dims", "mode", "padding", "corners"), CASES)
def test_it_reads_what_the_definition_says(dims, mode, padding, corners):
    x, grid = operands(dims)
    want = defined(x.numpy(), grid.numpy(), mode, padding, corners)
    np.testing.assert_allclose(F.grid_sample(x, grid, mode, padding, corners).numpy(), want, rtol=1e-9, atol=1e-9)
    # Wherever the operands lie.
    last = x.to(memory_format=tandem.channels_last) if dims == 2 else x.transpose(2, 3).contiguous().transpose(2, 3)
    turned = grid.transpose(1, 2).contiguous().transpose(1, 2)
    assert_same_bits(
        F.grid_sample(last, turned, mode, padding, corners), F.grid_sample(x, grid, mode, padding, corners)
    )


@pytest.mark.parametrize(("dims", "mode", "padding", "corners"), CASES)
def test_two_orders_of_derivatives(dims, mode, padding, corners):
    x, grid = (v.requires_grad_() for v in operands(dims))

    def call(x, grid):
        return F.grid_sample(x, grid, mode, padding, corners)

    assert tandem.autograd.gradcheck(call, (x, grid))
    assert tandem.autograd.gradgradcheck(call, (x, grid))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_has_the_same_bits(mode, dtype):
    def step(x, grid):
        x, grid = x.detach().requires_grad_(), grid.detach().requires_grad_()
        y = F.grid_sample(x, grid, mode, "reflection", False)
        return (y, *tandem.autograd.grad(y.square().sum(), (x, grid)))

    for of in (operands(2, dtype), operands(3, dtype)):
        if mode == "bicubic" and of[0].dim() == 5:
            continue
        eager = step(*of)
        for other in ("lazy", "compiled"):
            for got, want in zip(run_in(other, step, *of), eager, strict=True):
                assert_same_bits(got, want)


def test_half_types_are_rounded_once():
    x, grid = operands(2, tandem.bfloat16)
    assert_same_bits(
        F.grid_sample(x, grid, align_corners=True),
        F.grid_sample(x.float(), grid.float(), align_corners=True).bfloat16(),
    )


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_places_and_channels_are_cut_alike(threads):
    """More places than a block has, and more channels than are taken together."""
    x, grid = values(2, 20, 9, 8, dtype=tandem.float32), values(2, 30, 21, 2, dtype=tandem.float32)
    before = tandem.get_num_threads()
    tandem.set_num_threads(threads)
    try:
        x.requires_grad_()
        grid.requires_grad_()
        y = F.grid_sample(x, grid, align_corners=False)
        dx, dgrid = tandem.autograd.grad(y.sum(), (x, grid))
    finally:
        tandem.set_num_threads(before)
    parts = [
        F.grid_sample(x[k : k + 1, c : c + 1], grid[k : k + 1, :7], align_corners=False)
        for k in range(2)
        for c in range(20)
    ]
    assert_same_bits(tandem.cat(parts).reshape(2, 20, 7, 21).detach(), y[:, :, :7].detach())
    wide = [v.detach().double().requires_grad_() for v in (x, grid)]
    want = tandem.autograd.grad(F.grid_sample(*wide, align_corners=False).sum(), wide)
    np.testing.assert_allclose(dx.numpy(), want[0].numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(dgrid.numpy(), want[1].numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("mode", MODES)
def test_a_place_has_its_bits_whatever_stands_beside_it(mode, dtype):
    """Places are taken in vectors, those whose taps lie in a regular pattern by pairs, and channels as they lie: a
    place alone, with one channel, is the same. Small images have few such places, and the grid numbers and places
    that are none."""
    for size in ((1, 1), (2, 3), (4, 4), (5, 9), (16, 12)):
        x = values(2, 11, *size, dtype=dtype)
        grid = values(2, 5, 7, 2, scale=0.6, dtype=dtype)
        grid[1, 0, :6, 0] = tandem.tensor([math.nan, math.inf, -math.inf, 3e9, -1e30, 1.0]).to(dtype)
        grid[0, 4] = grid[0, 4].clamp(-0.5, 0.5)
        for padding, corners in itertools.product(PADDINGS, (False, True)):
            y = F.grid_sample(x, grid, mode, padding, corners)
            last = F.grid_sample(x.to(memory_format=tandem.channels_last), grid, mode, padding, corners)
            assert_same_bits(last, y)
            leaves = [v.clone().requires_grad_() for v in (x, grid)]
            gradients = tandem.autograd.grad(F.grid_sample(*leaves, mode, padding, corners).sum(), leaves)
            for n, i, j in ((0, 0, 0), (0, 4, 1), (0, 4, 6), (1, 0, 0), (1, 0, 1), (1, 0, 3), (1, 2, 5), (1, 4, 6)):
                one = grid[n : n + 1, i : i + 1, j : j + 1]
                for c in (0, 7, 10):
                    alone = F.grid_sample(x[n : n + 1, c : c + 1], one, mode, padding, corners)
                    assert_same_bits(alone, y[n : n + 1, c : c + 1, i : i + 1, j : j + 1])
                place = one.clone().requires_grad_()
                (slope,) = tandem.autograd.grad(
                    F.grid_sample(x[n : n + 1], place, mode, padding, corners).sum(), (place,)
                )
                assert_same_bits(slope, gradients[1][n : n + 1, i : i + 1, j : j + 1])


def test_what_lies_outside_is_zero_whatever_lies_inside():
    x = tandem.full((1, 1, 2, 2), math.inf)
    grid = tandem.tensor([[[[-9.0, 0.0], [9.0, 9.0], [0.0, -9.5]]]])
    for mode in MODES:
        assert F.grid_sample(x, grid, mode, align_corners=True).tolist() == [[[[0.0, 0.0, 0.0]]]]


def test_only_the_gradient_that_is_asked_for_is_computed():
    x, grid = operands(2)
    for needs in ((True, False), (False, True)):
        a, b = x.clone().requires_grad_(needs[0]), grid.clone().requires_grad_(needs[1])
        F.grid_sample(a, b, align_corners=True).sum().backward()
        assert [v.grad is not None for v in (a, b)] == list(needs)
