"""Arguments of the operations on windows of the last dimensions, of norms, lookup and attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


SIZES = {1: (7,), 2: (5, 6), 3: (4, 5, 3)}


def convolutions(n: int) -> Callable[[Any], Any]:
    def rows(v: Any) -> Any:
        s, k = SIZES[n], (3, 2, 2)[:n]
        return [
            call(v(2, 3, *s), v(4, 3, *k), v(4)),
            call(v(1, 4, *s), v(6, 2, *k), None, 2, 1, 1, 2),
            call(v(3, *s), v(2, 3, *[2] * n), v(2), (1, 2, 1)[:n], (1, 0, 1)[:n], (2, 1, 2)[:n]),
            call(v(0, 3, *s), v(2, 3, *k)),
        ]

    return rows


def named(n: int) -> Callable[[Any], Any]:
    def rows(v: Any) -> Any:
        s, k = SIZES[n], (3, 2, 2)[:n]
        return [
            call(v(2, 3, *s), v(4, 3, *k), v(4), 1, "same"),
            call(v(1, 2, *s), v(2, 2, *k), None, 2, "valid"),
            call(v(1, 2, *s), v(2, 2, *[2] * n), None, 1, "same", 2),
        ]

    return rows


def transposed(n: int) -> Callable[[Any], Any]:
    def rows(v: Any) -> Any:
        s, k = (3, 4, 2)[:n], (3, 2, 2)[:n]
        return [
            call(v(2, 3, *s), v(3, 4, *k), v(4)),
            call(v(1, 4, *s), v(4, 3, *k), v(6), 2, 1, 1, 2, 2),
            call(v(3, *s), v(3, 2, *[2] * n), None, 2, 0, (0, 1, 1)[:n]),
        ]

    return rows


def max_pools(n: int) -> Callable[[Any], Any]:
    def rows(v: Any) -> Any:
        s = SIZES[n]
        return [
            call(v(2, 2, *s), 2),
            call(v(1, 2, *s), 3, 1, 1),
            call(v(2, *s), (2, 3, 2)[:n], (2, 1, 1)[:n]),
            call(v(1, 1, *s), 2, 2, 0, 2),
            call(v(1, 1, *s), 3, 2, 1, ceil_mode=True),
        ]

    return rows


def avg_pools(n: int) -> Callable[[Any], Any]:
    def rows(v: Any) -> Any:
        s = SIZES[n]
        more = [call(v(1, 1, *s), 3, 2, 1, True, True, 4)] if n > 1 else []
        return [
            call(v(2, 2, *s), 2),
            call(v(1, 2, *s), 3, 1, 1),
            call(v(2, *s), 3, 2, 1, True, False),
            call(v(1, 1, *s), 2, 3, 1, True),
            *more,
        ]

    return rows


def adaptive(n: int) -> Callable[[Any], Any]:
    return lambda v: [call(v(2, 3, *SIZES[n]), [o] * n) for o in (1, 2, 3)] + [call(v(3, *SIZES[n]), [9] * n)]


def state(v: Any) -> tuple[np.ndarray, np.ndarray]:
    return v(3), v(3, low=0.5)


def norms(v: Any) -> Any:
    return [
        call(v(4, 3, 5), *state(v), v(3), v(3), False),
        call(v(2, 3, 4, 5), None, None, v(3), None, True),
        call(v(6, 3, 2), None, None, None, None, True, 0.1, 0.01),
    ]


def attention(v: Any) -> Any:
    def allowed() -> np.ndarray:
        mask = v.mask(6, 7)
        mask[2] = False
        return mask

    return [
        call(v(2, 3, 6, 4), v(2, 3, 7, 4), v(2, 3, 7, 5)),
        call(v(6, 4), v(6, 4), v(6, 4), is_causal=True, scale=0.4),
        call(v(2, 6, 4), v(2, 7, 4), v(2, 7, 5), v(6, 7)),
        call(v(2, 6, 4), v(2, 7, 4), v(2, 7, 5), allowed()),
        call(v(2, 4, 6, 4), v(2, 2, 7, 4), v(2, 2, 7, 4), is_causal=True, enable_gqa=True),
        call(v(1, 1, 130, 3), v(1, 1, 140, 3), v(1, 1, 140, 2), is_causal=True),
    ]


WINDOW_ROWS: dict[str, Callable[[Any], Any]] = {
    **{f"conv{n}d": convolutions(n) for n in (1, 2, 3)},
    **{f"conv{n}d_named": named(n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": transposed(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": max_pools(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": max_pools(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": avg_pools(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": adaptive(n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": adaptive(n) for n in (1, 2, 3)},
    "max_unpool": lambda v: [
        call(v(2, 2, 3), np.array([[[0, 4, 7], [1, 3, 5]]] * 2), [8]),
        call(v(1, 2, 2), np.array([[[0, 4], [11, 6]]]), [3, 4]),
    ],
    "nn_unfold": lambda v: [
        call(v(2, 3, 5, 6), 2),
        call(v(3, 5, 6), (2, 3), (2, 1), (1, 2), (2, 1)),
        call(v(1, 1, 4, 4), 3, 1, 1, 1),
    ],
    "nn_fold": lambda v: [
        call(v(2, 12, 20), [5, 6], 2),
        call(v(18, 21), [5, 5], (2, 3), (2, 1), (1, 2), (2, 1)),
        call(v(1, 9, 16), [4, 4], 3, 1, 1, 1),
    ],
    "pad": lambda v: [
        call(v(2, 3), [1, 2]),
        call(v(2, 3, 4), [1, -1, 0, 2], value=1.5),
        call(v(2, 3, 5), [2, 1], mode="reflect"),
        call(v(2, 3, 5, 4), [1, 3, 2, 0], mode="replicate"),
        call(v(3, 5), [2, 3], mode="circular"),
        call(v(2, 3, 5), [-1, 2], mode="circular"),
        call(v(1, 2, 3, 4, 3), [1, 1, 2, 1, 1, 0], mode="reflect"),
    ],
    "upsample_to": lambda v: [
        call(v(2, 2, 5), [8]),
        call(v(1, 2, 5, 4), [3, 7], "bilinear"),
        call(v(1, 2, 5, 4), [8, 2], "bilinear", True),
        call(v(1, 1, 5, 6), [7, 9], "bicubic"),
        call(v(1, 1, 3, 4, 2), [5, 4, 3], "trilinear"),
        call(v(1, 1, 5), [8], "linear", False, False, 1.7),
    ],
    "grid_sample": lambda v: [
        call(v(2, 3, 4, 5), v(2, 3, 2, 2, low=-1.2, high=1.2)),
        call(v(1, 2, 4, 5), v(1, 3, 3, 2, low=-1.5, high=1.5), "bilinear", "border", True),
        call(v(1, 2, 3, 4, 3), v(1, 2, 2, 3, 3, low=-1.2, high=1.2)),
    ],
    "affine_grid": lambda v: [call(v(2, 2, 3), [2, 3, 4, 5]), call(v(1, 3, 4), [1, 1, 2, 3, 1], True)],
    "pixel_shuffle": lambda v: [call(v(2, 8, 3, 2), 2), call(v(9, 1, 2), 3)],
    "pixel_unshuffle": lambda v: [call(v(2, 2, 4, 6), 2), call(v(1, 3, 6), 3)],
    "channel_shuffle": lambda v: [call(v(2, 6, 3), 3), call(v(1, 4, 2, 2), 2)],
    "batch_norm": norms,
    "instance_norm": lambda v: [
        call(v(2, 3, 5)),
        call(v(2, 3, 4, 5), *state(v), v(3), v(3), False),
        call(v(2, 3, 4), None, None, v(3)),
    ],
    "group_norm": lambda v: [call(v(2, 6, 5), 3, v(6), v(6)), call(v(3, 4), 2), call(v(0, 6, 2), 2)],
    "rms_norm": lambda v: [call(v(4, 6), [6], None, 1e-5), call(v(2, 3, 4), [3, 4], v(3, 4), 0.01)],
    "local_response_norm": lambda v: [call(v(2, 6, 4), 3), call(v(1, 5, 2, 3), 4, 0.1, 0.5, 2.0)],
    "embedding": lambda v: [
        call(v.below(5, 3, 4), v(5, 3)),
        call(v.below(5, 6), v(5, 3)),
        call(v.below(5, 0), v(5, 3)),
    ],
    "embedding_bag": lambda v: [
        call(v.below(5, 3, 4), v(5, 3), mode="sum"),
        call(v.below(5, 7), v(5, 3), np.array([0, 3, 3, 5])),
        call(v.below(5, 7), v(5, 3), np.array([0, 2, 7]), mode="max", include_last_offset=True),
        call(v.below(5, 7), v(5, 3), np.array([0, 4]), mode="sum", per_sample_weights=v(7)),
        call(v.below(5, 3, 4), v(5, 3), mode="max", padding_idx=2),
        call(v.below(5, 7), v(5, 40), np.array([0, 3, 3]), padding_idx=1),
    ],
    "scaled_dot_product_attention": attention,
}
# Defined for floats only.
WINDOW_FLOATS = set(WINDOW_ROWS) - {
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "channel_shuffle",
    "max_unpool",
    "nn_unfold",
}
# What covers the records that Python does not show.
WINDOW_COVERED = {
    "affine_grid_base": "affine_grid",
    "attention_grad": "scaled_dot_product_attention",
    "attention_keep": "test_attention.py::test_dropout_keeps_the_same_elements_in_every_order",
    "attention_plain": "scaled_dot_product_attention",
    "avg_pool_grad": "avg_pool2d",
    "avg_pool_plain": "avg_pool2d",
    "fold_windows": "nn_fold",
    "grid_sample_grid_grad": "grid_sample",
    "grid_sample_input_grad": "grid_sample",
    "grid_sample_plain": "grid_sample",
    "max_pool_grad": "max_pool2d",
    "bag_max": "embedding_bag",
    "bag_sum": "embedding_bag",
    "max_pool_plain": "max_pool2d",
    "resample": "upsample_to",
    "resample_grad": "upsample_to",
    "scale_gradient": "test_windows.py::test_embedding_divides_gradients_by_how_often_a_row_was_read",
    "scaled_gradient": "test_windows.py::test_embedding_divides_gradients_by_how_often_a_row_was_read",
    "unfold_windows": "nn_unfold",
}
