"""Values to call operations on, and the arguments of those whose record says `view`, `composite` or `library`.

Values lie on a grid that bfloat16 holds exactly, never on an integer or a half, so that neither rounding, kinks nor
ties decide a test; neighbouring arguments have different residues on it, so that they are never equal.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from operations import Operation
from window_rows import WINDOW_ROWS

Sample = tuple[tuple[Any, ...], dict[str, Any]]

DOMAINS = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"), (0.2, 4)),
    **dict.fromkeys(("acos", "asin", "atanh", "erfinv"), (-0.9, 0.9)),
    **dict.fromkeys(("log1p", "tan"), (-0.9, 1.4)),
    "acosh": (1.2, 4),
    "ndtri": (0, 1),
    **dict.fromkeys(("bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1"), (0, 4)),
    **dict.fromkeys(("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"), (0, 4)),
    "prod": (0.5, 1.5),
}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])


class Values:
    """Arrays of values for one operation, the same in every run."""

    def __init__(self, op: Operation) -> None:
        self.rng = np.random.default_rng(zlib.crc32(op.name.encode()))
        self.low, self.high = DOMAINS.get(op.name, (-4, 4))
        self.count = 0

    def __call__(self, *shape: int, low: float | None = None, high: float | None = None) -> np.ndarray:
        low, high = self.low if low is None else low, self.high if high is None else high
        self.count += 1
        grid = (np.arange(-64, 64) * 4 + 1 + 2 * (self.count % 2)) / 64
        grid = grid[(grid > low) & (grid < high)]
        size = math.prod(shape)
        # Without repetition while the grid lasts, so that maxima and orders are unique.
        drawn = np.concatenate([self.rng.permutation(grid) for _ in range(-(-max(size, 1) // len(grid)))])
        return drawn[:size].reshape(shape)

    def away_from_zero(self, *shape: int) -> np.ndarray:
        """Divisors: no integer dtype makes them zero."""
        return np.asarray(self(*shape, low=0.5, high=4) * np.where(self.rng.random(shape) < 0.5, -1.0, 1.0))

    def below(self, end: int, *shape: int) -> np.ndarray:
        return self.rng.integers(0, end, shape)

    def mask(self, *shape: int) -> np.ndarray:
        return self.rng.random(shape) < 0.5


def call(*args: Any, **kwargs: Any) -> Sample:
    return args, kwargs


ROWS: dict[str, Callable[[Values], Any]] = {
    **WINDOW_ROWS,
    # views
    "view": lambda v: [call(v(4, 6), [3, 8]), call(v(4, 6), [2, -1]), call(v(2, 0, 3), [0, 6]), call(v(), [1, 1])],
    "expand": lambda v: [call(v(4, 1, 3), [2, 4, 5, -1]), call(v(), [3]), call(v(1, 3), [0, 3])],
    "permute": lambda v: [call(v(2, 3, 4), [2, 0, 1]), call(v(2, 3), [-1, 0]), call(v(2, 0, 3), [1, 0, 2])],
    "transpose": lambda v: [call(v(2, 3, 4), 0, 2), call(v(2, 3, 4), -1, 1), call(v(0, 3), 0, 1)],
    "select": lambda v: [call(v(4, 5), 0, 2), call(v(4, 5), -1, -1), call(v(4, 0), 0, 1)],
    "unsqueeze": lambda v: [call(v(4, 5), 0), call(v(4, 5), 1), call(v(4, 5), -1), call(v(), 0)],
    "diagonal": lambda v: [call(v(4, 5)), call(v(4, 5), 1), call(v(4, 5), -2), call(v(2, 4, 5), 0, -1, 1)],
    "as_strided": lambda v: [call(v(24), [3, 4], [2, 5]), call(v(24), [4, 3], [1, 1], 5), call(v(24), [3], [0])],
    "unfold": lambda v: [call(v(3, 8), 1, 3, 2), call(v(7, 2), 0, 2, 2), call(v(5), 0, 5, 1)],
    # arithmetic
    "add_alpha": lambda v: [call(v(4, 5), v(5), alpha=2), call(v(4), 3, alpha=2)],
    "sub_alpha": lambda v: [call(v(4, 5), v(5), alpha=2), call(v(4), 3, alpha=2)],
    "rsub": lambda v: [call(v(4, 5), v(5)), call(v(4), 3), call(v(4), v(4), alpha=2)],
    "div_rounding": lambda v: [
        call(v(4, 5), d, rounding_mode=mode)
        for mode in (None, "floor", "trunc")
        for d in (v.away_from_zero(4, 5), v.away_from_zero(5), 3)
    ],
    "addcdiv": lambda v: [call(v(4, 5), v(5), v.away_from_zero(4, 1)), call(v(4), v(4), v.away_from_zero(4), value=2)],
    "addcmul": lambda v: [call(v(4, 5), v(5), v(4, 1)), call(v(4), v(4), v(4), value=2)],
    "addmm": lambda v: [
        call(v(3, 5), v(3, 4), v(4, 5)),
        call(v(5), v(3, 4), v(4, 5), beta=2, alpha=3),
        call(v(2), v(0, 4), v(4, 2)),
    ],
    "lerp": lambda v: [call(v(4, 5), v(4, 5), 0.25), call(v(4, 5), v(5), v(4, 1, low=0, high=1))],
    "clamp": lambda v: [
        call(v(4, 5), -1, 2),
        call(v(4, 5), min=0),
        call(v(4, 5), max=1),
        call(v(6), v(6), v(6, low=1)),
        call(v(), 0, 1),
    ],
    "round": lambda v: [call(v(4, 5)), call(np.array([0.5, 1.5, -0.5, -2.5, 2.5])), call(v(0, 3))],
    "positive": lambda v: [call(v(4, 5)), call(v())],
    "isclose": lambda v: [
        call(v(4, 5), v(4, 5)),
        call(SPECIAL, SPECIAL),
        call(SPECIAL, SPECIAL, equal_nan=True),
        call(np.array([1.0, 1.0]), np.array([1.0625, 1.5]), 0.1, 0.05),
    ],
    "masked_fill": lambda v: [
        call(v(4, 5), v.mask(4, 5), 3),
        call(v(4, 5), v.mask(5), v()),
        call(v(0, 3), v.mask(1, 3), 1),
    ],
    "fill": lambda v: [call(v(4, 5), 3), call(v(4, 5), v()), call(v(0, 3), 2)],
    # reductions
    "mean": lambda v: [
        call(v(4, 5, 6)),
        call(v(4, 5, 6), 1),
        call(v(4, 5, 6), (0, 2), True),
        call(v(3, 67), -1),
        call(v()),
        call(v(0, 3)),
    ],
    "var": lambda v: [
        call(v(4, 5, 6)),
        call(v(4, 5, 6), 1),
        call(v(4, 5), (0, 1), keepdim=True),
        call(v(4, 5), 0, correction=0),
    ],
    "std": lambda v: [
        call(v(4, 5, 6)),
        call(v(4, 5, 6), 1),
        call(v(4, 5), (0, 1), keepdim=True),
        call(v(4, 5), 0, correction=0),
    ],
    "var_unbiased": lambda v: [call(v(4, 5), 0, True), call(v(4, 5), [0, 1], False, True)],
    "std_unbiased": lambda v: [call(v(4, 5), 0, True), call(v(4, 5), [0, 1], False, True)],
    "var_flag": lambda v: [call(v(4, 5), True), call(v(4, 5), False)],
    "norm": lambda v: [
        call(v(4, 5)),
        call(v(4, 5), 1),
        call(v(4, 5), 2, 1),
        call(v(4, 5), 3, 0, True),
        call(v(4, 5), math.inf, 1),
        call(v(4, 5), 0),
    ],
    "logsumexp": lambda v: [call(v(4, 5), 0), call(v(4, 5), (0, 1), True), call(v(3, 67), -1)],
    "max_all": lambda v: [call(v(4, 5)), call(v()), call(SPECIAL)],
    "min_all": lambda v: [call(v(4, 5)), call(v()), call(SPECIAL)],
    "max_pair": lambda v: [call(v(4, 5), v(5)), call(v(6), v(6))],
    "min_pair": lambda v: [call(v(4, 5), v(5)), call(v(6), v(6))],
    "max_dim": lambda v: [
        call(v(4, 5), 0),
        call(v(4, 5), -1, True),
        call(v(0, 3), 1),
        call(np.tile(SPECIAL, (2, 1)), 1),
    ],
    "min_dim": lambda v: [
        call(v(4, 5), 0),
        call(v(4, 5), -1, True),
        call(v(0, 3), 1),
        call(np.tile(SPECIAL, (2, 1)), 1),
    ],
    "argmax": lambda v: [call(v(4, 5)), call(v(4, 5), 0), call(v(4, 5), -1, True), call(np.tile(v(3), 3)), call(v())],
    "argmin": lambda v: [call(v(4, 5)), call(v(4, 5), 0), call(v(4, 5), -1, True), call(np.tile(v(3), 3)), call(v())],
    "cumsum": lambda v: [call(v(4, 5), 0), call(v(4, 5), -1), call(v(70), 0), call(v(0, 3), 0), call(v(), 0)],
    "cumprod": lambda v: [call(v(4, 5, low=0.5, high=1.5), 0), call(v(4, 5, low=0.5, high=1.5), -1), call(v(0, 3), 1)],
    "sort": lambda v: [
        call(v(4, 5)),
        call(v(4, 5), 0, True),
        call(v(40), stable=True),
        call(v(0, 3)),
        call(v()),
        call(SPECIAL[[1, 0, 2, 5]]),
    ],
    "argsort": lambda v: [call(v(4, 5)), call(v(4, 5), 0, True), call(v(0, 3))],
    "topk": lambda v: [call(v(4, 5), 2), call(v(4, 5), 3, 0, False), call(v(9), 9), call(v(4, 5), 0)],
    # products
    "matmul": lambda v: [
        call(v(*a), v(*b))
        for a, b in (
            ((3, 4), (4, 5)),
            ((4,), (4,)),
            ((4,), (4, 5)),
            ((3, 4), (4,)),
            ((2, 3, 4), (4, 5)),
            ((2, 1, 3, 4), (5, 4, 2)),
            ((3, 0), (0, 5)),
            ((0, 4), (4, 5)),
            ((17, 33), (33, 19)),
        )
    ],
    "mm": lambda v: [
        call(v(3, 4), v(4, 5)),
        call(v(1, 7), v(7, 1)),
        call(v(3, 0), v(0, 2)),
        call(v(40, 20), v(20, 30)),
    ],
    "bmm": lambda v: [call(v(2, 3, 4), v(2, 4, 5)), call(v(0, 3, 4), v(0, 4, 5)), call(v(3, 2, 1), v(3, 1, 2))],
    "mv": lambda v: [call(v(3, 4), v(4)), call(v(0, 4), v(4))],
    "dot": lambda v: [call(v(7), v(7)), call(v(0), v(0))],
    "outer": lambda v: [call(v(3), v(4)), call(v(0), v(4))],
    # shapes
    "reshape": lambda v: [call(v(4, 6), [3, 8]), call(v(4, 6), [2, -1]), call(v(4, 6), [-1]), call(v(0, 3), [3, 0])],
    "flatten": lambda v: [call(v(2, 3, 4)), call(v(2, 3, 4), 1), call(v(2, 3, 4), 0, -2), call(v())],
    "unflatten": lambda v: [call(v(2, 12), 1, [3, 4]), call(v(2, 12), -1, [2, -1, 3])],
    "squeeze": lambda v: [call(v(1, 4, 1, 5)), call(v(1, 4, 1, 5), 0), call(v(1, 4, 1, 5), (0, 2)), call(v(4, 1), -1)],
    "t": lambda v: [call(v(3, 4)), call(v(5)), call(v()), call(v(0, 3))],
    "narrow": lambda v: [call(v(6, 5), 0, 1, 3), call(v(6, 5), -1, 2, 2), call(v(6, 5), 0, 6, 0)],
    "narrow_tensor": lambda v: [call(v(6, 5), 0, np.array(1), 3), call(v(6, 5), 1, np.array(2), 2)],
    "movedim": lambda v: [call(v(2, 3, 4), 0, 2), call(v(2, 3, 4), [0, 1], [-1, 0])],
    "expand_as": lambda v: [call(v(4, 1), v(4, 5)), call(v(), v(2, 3))],
    "broadcast_to": lambda v: [call(v(4, 1), [4, 5]), call(v(3), [2, 0, 3])],
    "view_as": lambda v: [call(v(4, 6), v(3, 8)), call(v(6), v(1, 6))],
    "reshape_as": lambda v: [call(v(4, 6), v(3, 8)), call(v(6), v(1, 6))],
    "contiguous": lambda v: [call(v(4, 5)), call(v(0, 3)), call(v())],
    "chunk": lambda v: [call(v(7, 4), 3), call(v(4, 6), 2, 1), call(v(2, 3), 5)],
    "split": lambda v: [call(v(7, 4), 3), call(v(4, 6), 2, 1)],
    "split_sizes": lambda v: [call(v(7, 4), [3, 4]), call(v(4, 6), [1, 0, 5], -1)],
    "unbind": lambda v: [call(v(3, 4)), call(v(3, 4), 1)],
    "cat": lambda v: [
        call([v(2, 3), v(4, 3)]),
        call([v(2, 3), v(2, 0), v(2, 1)], 1),
        call([v(2, 3)], -1),
        call([v(0), v(2, 3)]),
    ],
    "stack": lambda v: [
        call([v(2, 3), v(2, 3)]),
        call([v(2, 3), v(2, 3), v(2, 3)], -1),
        call([v(), v()]),
        call([v(0, 2)], 1),
    ],
    "repeat": lambda v: [call(v(2, 3), [2, 2]), call(v(3), [2, 3]), call(v(2, 3), [2, 0, 1])],
    "flip": lambda v: [call(v(4, 5), [0]), call(v(4, 5), [0, -1]), call(v(0, 3), [0])],
    "tril": lambda v: [call(v(4, 5)), call(v(2, 4, 4), -1), call(v(4, 5), 1)],
    "triu": lambda v: [call(v(4, 5)), call(v(2, 4, 4), -1), call(v(4, 5), 1)],
    # indexing
    "gather": lambda v: [
        call(v(4, 5), 0, v.below(4, 2, 5)),
        call(v(4, 5), -1, v.below(5, 3, 7)),
        call(v(4, 5), 0, v.below(4, 0, 5)),
    ],
    "take_along_dim": lambda v: [
        call(v(3, 4), v.below(12, 2, 3)),
        call(v(4, 5), v.below(5, 4, 2), 1),
        call(v(4, 5), v.below(4, 3, 1), 0),
    ],
    "index_select": lambda v: [
        call(v(4, 5), 0, v.below(4, 6)),
        call(v(4, 5), -1, v.below(5, 2)),
        call(v(4, 5), 0, v.below(4, 0)),
    ],
    "scatter": lambda v: [
        call(v(4, 5), 0, v.rng.permutation(4)[:2, None].repeat(5, 1), v(2, 5)),
        call(v(4, 5), 1, v.below(5, 4, 1), 3),
    ],
    "scatter_add": lambda v: [
        call(v(4, 5), 0, v.below(4, 3, 5), v(3, 5)),
        call(v(4, 5), -1, v.below(5, 4, 9), v(4, 9)),
    ],
    "index_add": lambda v: [
        call(v(4, 5), 0, v.below(4, 6), v(6, 5)),
        call(v(4, 5), 1, v.below(5, 2), v(4, 2), alpha=2),
    ],
    "one_hot": lambda v: [call(v.below(4, 6), 4), call(v.below(3, 2, 3), 5), call(v.below(3, 0), 3)],
    # creation
    "zeros": lambda v: [call([2, 3]), call([]), call([0, 2])],
    "ones": lambda v: [call([2, 3]), call([]), call([0, 2])],
    "empty": lambda v: [call([2, 3]), call([]), call([0, 2])],
    "full": lambda v: [call([2, 3], 3), call([], 2), call([0], 1)],
    "arange": lambda v: [call(2, 9), call(1, 10, 3), call(5, -3, -2), call(3, 3)],
    "arange_end": lambda v: [call(7), call(0)],
    "eye": lambda v: [call(3), call(3, 5), call(4, 2), call(0)],
    "zeros_like": lambda v: [call(v(4, 5)), call(v())],
    "ones_like": lambda v: [call(v(4, 5)), call(v())],
    "empty_like": lambda v: [call(v(4, 5)), call(v())],
    "full_like": lambda v: [call(v(4, 5), 3), call(v(), 2)],
    # random numbers
    "rand": lambda v: [call([200]), call([3, 0]), call([])],
    "randn": lambda v: [call([200]), call([3, 0]), call([])],
    "randint": lambda v: [call(2, 7, [200]), call(1, 3, [])],
    "randint_high": lambda v: [call(7, [200]), call(3, [])],
    "randperm": lambda v: [call(50), call(1), call(0)],
    "bernoulli_prob": lambda v: [call(v(200), 0.3), call(v(0, 3), 1.0)],
    "bernoulli": lambda v: [call(v(200, low=0, high=1)), call(v(0, 3, low=0, high=1))],
    "rand_like": lambda v: [call(v(200)), call(v())],
    "randn_like": lambda v: [call(v(200)), call(v())],
    "dropout": lambda v: [call(v(200), 0.25), call(v(4, 5), 0.5, False), call(v(4, 5), 0.0), call(v(4, 5), 1.0)],
    # networks
    "softmax": lambda v: [call(v(4, 5), 1), call(v(4, 5), 0), call(v(2, 3, 67), -1), call(v(), 0), call(v(0, 3), 1)],
    "log_softmax": lambda v: [
        call(v(4, 5), 1),
        call(v(4, 5), 0),
        call(v(2, 3, 67), -1),
        call(v(), 0),
        call(v(0, 3), 1),
    ],
    "linear": lambda v: [
        call(v(3, 4), v(5, 4), v(5)),
        call(v(2, 3, 4), v(5, 4)),
        call(v(4), v(5, 4), v(5)),
        call(v(0, 4), v(5, 4), v(5)),
    ],
    "gelu": lambda v: [call(v(4, 5)), call(v(4, 5), approximate="tanh"), call(v())],
    "layer_norm": lambda v: [
        call(v(4, 6), [6]),
        call(v(2, 3, 4), [3, 4], v(3, 4), v(3, 4)),
        call(v(3, 67), (67,), v(67), None, 0.01),
        call(v(0, 4), [4]),
    ],
}
