"""Arguments of the operations of neural networks: activations, losses, recurrent layers. See sample_rows.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sample_rows import Sample, Values, call

REDUCTIONS = ({}, {"reduction": "sum"}, {"reduction": "none"})


def activation(*args: Any) -> Callable[[Values], list[Sample]]:
    return lambda v: [call(v(4, 5), *args), call(v(2, 0), *args), call(v(), *args), call(v(67), *args)]


def pairs(low: float = -4, high: float = 4, target: tuple[float, float] = (-4, 4), **options: Any) -> Any:
    """An input and a target of one shape, in every reduction."""

    def rows(v: Values) -> Iterator[Sample]:
        for reduction in REDUCTIONS:
            yield call(v(4, 5, low=low, high=high), v(4, 5, low=target[0], high=target[1]), **reduction, **options)

    return rows


def signs(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 3 == 0, -1.0, 1.0)


def network(gates: int, states: int, packed: bool) -> Callable[[Values], Iterator[Sample]]:
    """Two layers, both directions, with and without biases; `states` initial states."""

    def weights(v: Values, inputs: int, hidden: int, layers: int, directions: int, bias: bool) -> list[np.ndarray]:
        made = []
        for layer in range(layers):
            width = inputs if layer == 0 else hidden * directions
            for _ in range(directions):
                made += [v(gates * hidden, width) / 4, v(gates * hidden, hidden) / 4]
                made += [v(gates * hidden) / 4, v(gates * hidden) / 4] if bias else []
        return made

    def rows(v: Values) -> Iterator[Sample]:
        for bias, layers, both, first in ((True, 1, False, False), (False, 2, False, True), (True, 1, True, False)):
            directions = 2 if both else 1
            batch, hidden = 3, 2
            hx = [v(layers * directions, batch, hidden) / 4 for _ in range(states)]
            options = (weights(v, 2, hidden, layers, directions, bias), bias, layers, 0.0, True, both)
            state = hx if states == 2 else hx[0]
            if packed:
                yield call(v(6, 2) / 4, [3, 2, 1], state, *options)
                yield call(v(6, 2) / 4, [3, 3], state, *options)
            else:
                x = v(batch, 4, 2) if first else v(4, batch, 2)
                yield call(x / 4, state, *options, first)

    return rows


def cell(gates: int, states: int) -> Callable[[Values], Iterator[Sample]]:
    def rows(v: Values) -> Iterator[Sample]:
        for bias in (True, False):
            hx = [v(3, 2) / 4 for _ in range(states)]
            weights = [v(gates * 2, 4) / 4, v(gates * 2, 2) / 4]
            weights += [v(gates * 2) / 4, v(gates * 2) / 4] if bias else []
            yield call(v(3, 4) / 4, hx if states == 2 else hx[0], *weights)

    return rows


SEQUENCES = np.array([[1, 2, 2], [3, 1, 0]])

ROWS_NN: dict[str, Callable[[Values], Any]] = {
    # activations
    "relu_option": activation(False),
    "silu_option": activation(False),
    "leaky_relu": activation(0.25),
    "elu": activation(1.5),
    "selu": activation(),
    "celu": activation(0.5),
    "mish": activation(),
    "softplus": lambda v: [call(v(4, 5)), call(v(4, 5), 2.0), call(v(4, 5), 1.0, 1.5)],
    "logsigmoid": activation(),
    "hardtanh": activation(-1.5, 2.25),
    "relu6": activation(),
    "hardsigmoid": activation(),
    "hardswish": activation(),
    "softsign": activation(),
    "tanhshrink": activation(),
    "softshrink": activation(0.75),
    "hardshrink": activation(0.75),
    "threshold": activation(0.5, 2.5),
    "glu": lambda v: [call(v(4, 6)), call(v(4, 6), 0), call(v(2, 4, 3), 1)],
    "prelu": lambda v: [call(v(4, 5), v(5)), call(v(4, 5), v(1)), call(v(2, 3, 4), v(3)), call(v(4), v())],
    "rrelu": activation(0.25, 0.5),
    # losses
    "mse_loss": lambda v: [*pairs()(v), call(v(4, 5), v(4, 5), weight=v(4, 5, low=0.2))],
    "l1_loss": lambda v: [*pairs()(v), call(v(4, 5), v(4, 5), weight=v(4, 5, low=0.2))],
    "smooth_l1_loss": lambda v: [*pairs()(v), *pairs(beta=0.5)(v)],
    "huber_loss": lambda v: [*pairs()(v), *pairs(delta=0.5)(v)],
    "binary_cross_entropy": lambda v: [
        *pairs(0.1, 0.9, (0, 1))(v),
        call(v(4, 5, low=0.1, high=0.9), v(4, 5, low=0, high=1), v(5, low=0.2)),
    ],
    "binary_cross_entropy_with_logits": lambda v: [
        *pairs(target=(0, 1))(v),
        call(v(4, 5), v(4, 5, low=0, high=1), v(5, low=0.2), pos_weight=v(5, low=0.2)),
    ],
    "kl_div": lambda v: [
        *pairs(-4, 0, (0, 1))(v),
        *pairs(-4, 0, (-4, 0), log_target=True)(v),
        call(v(4, 5, high=0), v(4, 5, low=0, high=1), reduction="batchmean"),
    ],
    "poisson_nll_loss": lambda v: [
        *pairs(-2, 2, (0, 4))(v),
        call(v(4, 5, low=0.5), v(4, 5, low=0.2), log_input=False, full=True),
    ],
    "gaussian_nll_loss": lambda v: [
        *(call(v(4, 5), v(4, 5), v(4, 5, low=0.5), **r) for r in REDUCTIONS),
        call(v(4, 5), v(4, 5), v(4, low=0.5), full=True),
        call(v(4, 5), v(4, 5), v(4, 1, low=0.5)),
        call(v(4, 5), v(4, 5), 2.0),
    ],
    "hinge_embedding_loss": lambda v: [call(v(9), signs(9), margin=1.25, **r) for r in REDUCTIONS],
    "margin_ranking_loss": lambda v: [call(v(9), v(9), signs(9), margin=0.5, **r) for r in REDUCTIONS],
    "soft_margin_loss": lambda v: [call(v(9), signs(9), **r) for r in REDUCTIONS],
    "cosine_embedding_loss": lambda v: [
        *(call(v(4, 5), v(4, 5), signs(4), margin=0.25, **r) for r in REDUCTIONS),
        call(v(5), v(5), np.array(1.0)),
    ],
    "triplet_margin_loss": lambda v: [
        *(call(v(4, 5), v(4, 5), v(4, 5), margin=1.5, **r) for r in REDUCTIONS),
        call(v(4, 5), v(4, 5), v(4, 5), p=3.0, swap=True),
        call(v(4, 5), v(4, 5), v(4, 5), p=1.0),
    ],
    "multilabel_margin_loss": lambda v: [
        *(call(v(2, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 0]]), **r) for r in REDUCTIONS),
        call(v(4), np.array([2, -1, -1, 0])),
    ],
    "multilabel_soft_margin_loss": lambda v: [
        *pairs(target=(0, 1))(v),
        call(v(4, 5), v(4, 5, low=0, high=1), v(5, low=0.2)),
    ],
    "multi_margin_loss": lambda v: [
        *(call(v(3, 4), np.array([1, 3, 0]), **r) for r in REDUCTIONS),
        call(v(3, 4), np.array([1, 3, 0]), 2, 0.75, v(4, low=0.2)),
        call(v(4), np.array(2)),
    ],
    "nll_loss": lambda v: [
        call(v(4, 5, high=0), v.below(5, 4)),
        call(v(4, 5, high=0), v.below(5, 4), v(5, low=0.2), reduction="sum"),
        call(v(4, 5, high=0), np.array([1, 2, 2, 4]), v(5, low=0.2), ignore_index=2),
        call(v(2, 3, 4, high=0), v.below(3, 2, 4), reduction="none"),
        call(v(5, high=0), np.array(3)),
    ],
    "cross_entropy": lambda v: [
        call(v(4, 5), v.below(5, 4)),
        call(v(4, 5), np.array([1, 2, 2, 4]), v(5, low=0.2), ignore_index=2),
        call(v(2, 3, 4), v.below(3, 2, 4), reduction="none"),
        call(v(4, 5), v.below(5, 4), reduction="sum", label_smoothing=0.25),
        call(v(4, 5), v(4, 5, low=0, high=1)),
    ],
    "ctc_loss": lambda v: [
        *(call(v(6, 2, 4, high=0), SEQUENCES, np.array([6, 5]), np.array([3, 2]), **r) for r in REDUCTIONS),
        call(v(6, 4, high=0), np.array([1, 2]), np.array(6), np.array(2)),
        call(v(2, 2, 4, high=0), SEQUENCES, np.array([2, 2]), np.array([3, 1]), zero_infinity=True),
    ],
    "ctc_loss_lists": lambda v: [
        call(v(6, 2, 4, high=0), np.array([1, 2, 2, 0, 1]), [6, 5], [3, 2], 3),
        call(v(6, 2, 4, high=0), SEQUENCES, (6, 5), (3, 0)),
    ],
    "cosine_similarity": lambda v: [call(v(4, 5), v(4, 5)), call(v(4, 5), v(1, 5), 0), call(v(5), v(5), -1)],
    "pairwise_distance": lambda v: [
        call(v(4, 5), v(4, 5)),
        call(v(4, 5), v(5), 1.0, keepdim=True),
        call(v(4, 5), v(4, 5), 3.0),
        call(v(5), v(5)),
    ],
    # recurrent layers
    "lstm": network(4, 2, False),
    "lstm_packed": network(4, 2, True),
    "gru": network(3, 1, False),
    "gru_packed": network(3, 1, True),
    "rnn_tanh": network(1, 1, False),
    "rnn_tanh_packed": network(1, 1, True),
    "rnn_relu": network(1, 1, False),
    "rnn_relu_packed": network(1, 1, True),
    "lstm_cell": cell(4, 2),
    "gru_cell": cell(3, 1),
    "rnn_tanh_cell": cell(1, 1),
    "rnn_relu_cell": cell(1, 1),
}
