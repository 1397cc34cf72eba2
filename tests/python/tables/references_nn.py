"""References of the operations of neural networks: activations, losses, recurrent layers. See references.py."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

Array = np.ndarray
sigmoid = scipy.special.expit


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def reduced(terms: Array, reduction: str = "mean", weights: Any = None) -> Array:
    if reduction == "none":
        return terms
    total = terms.sum()
    return total if reduction == "sum" else total / (terms.size if weights is None else weights.sum())


def elementwise(term: Callable[..., Array]) -> Callable[..., Array]:
    """A loss whose elements `term` gives; a weighted mean divides by the sum of the weights."""

    def loss(*args: Any, reduction: str = "mean", weight: Any = None, **options: Any) -> Array:
        terms = term(*args, **options)
        return reduced(terms if weight is None else terms * weight, reduction, weight)

    return loss


def plain(term: Callable[..., Array]) -> Callable[..., Array]:
    """A loss whose elements `term` gives."""
    return lambda *args, reduction="mean", **options: reduced(term(*args, **options), reduction)


# ---- losses ---------------------------------------------------------------------------------------------------------


def smooth_l1(x: Array, y: Array, beta: float = 1.0) -> Array:
    d = np.abs(x - y)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def huber(x: Array, y: Array, delta: float = 1.0) -> Array:
    d = np.abs(x - y)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def cross_entropy_of_logits(x: Array, y: Array, weight: Any = 1.0, pos_weight: Any = 1.0) -> Array:
    return weight * (pos_weight * y * softplus(-x) + (1 - y) * softplus(x))


def kl_div(x: Array, y: Array, log_target: bool = False, reduction: str = "mean") -> Array:
    terms = np.exp(y) * (y - x) if log_target else scipy.special.xlogy(y, y) - y * x
    return terms.sum() / len(x) if reduction == "batchmean" else reduced(terms, reduction)


def poisson(x: Array, y: Array, log_input: bool = True, full: bool = False) -> Array:
    terms = np.exp(x) - y * x if log_input else x - y * np.log(x + 1e-8)
    stirling = y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y)
    return terms + np.where(y > 1, stirling, 0) * full


def gaussian(x: Array, y: Array, var: Any, full: bool = False) -> Array:
    var = np.asarray(var, x.dtype)
    var = var[..., None] if var.ndim == x.ndim - 1 and var.ndim else var
    return 0.5 * (np.log(var) + (x - y) ** 2 / var) + full * 0.5 * np.log(2 * np.pi)


def cosine_similarity(a: Array, b: Array, dim: int = 1) -> Array:
    a, b = np.broadcast_arrays(a, b)
    lengths = [np.sqrt((x * x).sum(dim, keepdims=True)) for x in (a, b)]
    return (a / lengths[0] * (b / lengths[1])).sum(dim)


def distance(a: Array, b: Array, p: float = 2.0, keepdim: bool = False) -> Array:
    d = np.abs(np.asarray(a - b, np.float64) + 1e-6)
    return (d**p).sum(-1, keepdims=keepdim) ** (1 / p)


def triplet_margin(a: Array, positive: Array, negative: Array, margin: float = 1.0, p: float = 2.0, swap: bool = False):
    far = distance(a, negative, p)
    if swap:
        far = np.minimum(far, distance(positive, negative, p))
    return np.maximum(distance(a, positive, p) - far + margin, 0)


def multilabel_margin(x: Array, y: Array) -> Array:
    def of_row(row: Array, labels: Array) -> Array:
        classes = list(itertools.takewhile(lambda c: c >= 0, labels))
        others = [i for i in range(len(row)) if i not in classes]
        terms = [max(0.0, 1 - (row[c] - row[i])) for c in classes for i in others]
        return np.sum(np.asarray(terms, np.float64)) / len(row)

    return np.array([of_row(r, c) for r, c in zip(x, y)]) if x.ndim == 2 else np.asarray(of_row(x, y))


def multi_margin(x: Array, y: Array, p: int = 1, margin: float = 1.0, weight: Any = None) -> Array:
    def of_row(row: Array, c: int) -> Array:
        terms = np.maximum(margin - row[c] + row, 0) ** p * (1 if weight is None else weight[c])
        return (terms.sum() - terms[c]) / len(row)

    return np.array([of_row(r, c) for r, c in zip(x, y)]) if x.ndim == 2 else np.asarray(of_row(x, int(y)))


def nll_loss(x: Array, target: Array, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Array:
    classes = 1 if x.ndim > 1 else 0
    kept = target != ignore_index
    chosen = np.where(kept, target, 0)
    weights = np.where(kept, 1.0 if weight is None else weight[chosen], 0.0)
    terms = -np.take_along_axis(x, np.expand_dims(chosen, classes), classes).squeeze(classes) * weights
    return reduced(terms, reduction, weights)


def ctc(
    x: Array,
    targets: Array,
    running: Any,
    lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Array:
    """By summing over all alignments."""
    running, lengths = np.atleast_1d(running), np.atleast_1d(lengths)
    batched = x.ndim == 3
    x = np.asarray(x if batched else x[:, None], np.float64)
    ends = np.cumsum(lengths)
    losses = []
    for n, (steps, length) in enumerate(zip(running, lengths)):
        labels = targets[n] if targets.ndim == 2 else targets[ends[n] - length :] if batched else targets
        wanted = list(labels[:length])
        total = -np.inf
        used = sorted({blank, *wanted})
        for path in itertools.product(used, repeat=int(steps)):
            if [c for c, _ in itertools.groupby(path) if c != blank] == wanted:
                total = np.logaddexp(total, sum(x[t, n, c] for t, c in enumerate(path)))
        losses.append(0.0 if zero_infinity and total == -np.inf else -total)
    terms = np.array(losses) if batched else np.array(losses[0])
    return (
        np.mean(terms / np.maximum(lengths if batched else lengths[0], 1))
        if reduction == "mean"
        else reduced(terms, reduction)
    )


# ---- recurrent layers -----------------------------------------------------------------------------------------------


def step(kind: str, x: Array, states: list[Array], w: list[Array]) -> list[Array]:
    """One step of a cell: its next states. Weights: of the input, of the state, and their biases if any."""
    own, fed = x @ w[0].T, states[0] @ w[1].T
    if len(w) > 2:
        own, fed = own + w[2], fed + w[3]
    if kind == "lstm":
        i, f, g, o = np.split(own + fed, 4, 1)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(c), c]
    if kind == "gru":
        (r, z, n), (r2, z2, n2) = np.split(own, 3, 1), np.split(fed, 3, 1)
        z = sigmoid(z + z2)
        return [(1 - z) * np.tanh(n + sigmoid(r + r2) * n2) + z * states[0]]
    return [np.tanh(own + fed) if kind == "rnn_tanh" else np.maximum(own + fed, 0)]


def run(kind: str, sequences: list[Array], hx: list[Array], params: list[Array], bias: bool, layers: int, both: bool):
    """Each sequence [T, I] on its own through all layers: its outputs, and its last states [layers * directions, H]."""
    each, directions = 4 if bias else 2, 2 if both else 1
    outputs, finals = [], []
    for n, rows in enumerate(sequences):
        last = []
        for layer in range(layers):
            found = []
            for direction in range(directions):
                i = layer * directions + direction
                w = params[i * each : (i + 1) * each]
                states = [h[i, n : n + 1] for h in hx]
                out = [None] * len(rows)
                for t in range(len(rows))[:: -1 if direction else 1]:
                    states = step(kind, rows[t : t + 1], states, w)
                    out[t] = states[0][0]
                found.append(np.array(out))
                last.append(states)
            rows = np.concatenate(found, 1)
        outputs.append(rows)
        finals.append(last)
    states = [
        np.array([[finals[n][i][k][0] for n in range(len(sequences))] for i in range(len(finals[0]))])
        for k in range(len(hx))
    ]
    return outputs, states


def layers(kind: str) -> Callable[..., list[Array]]:
    def reference(x, hx, params, bias, count, dropout, train, both, batch_first):
        hx = hx if isinstance(hx, (list, tuple)) else [hx]
        sequences = list(x) if batch_first else list(x.swapaxes(0, 1))
        outputs, states = run(kind, sequences, hx, params, bias, count, both)
        out = np.array(outputs)
        return [out if batch_first else out.swapaxes(0, 1), *states]

    return reference


def packed_layers(kind: str) -> Callable[..., list[Array]]:
    def reference(data, sizes, hx, params, bias, count, dropout, train, both):
        hx = hx if isinstance(hx, (list, tuple)) else [hx]
        starts = np.cumsum([0, *sizes])
        sequences = [
            np.array([data[starts[t] + n] for t in range(len(sizes)) if sizes[t] > n]) for n in range(sizes[0])
        ]
        outputs, states = run(kind, sequences, hx, params, bias, count, both)
        return [np.array([outputs[n][t] for t in range(len(sizes)) for n in range(sizes[t])]), *states]

    return reference


def cell(kind: str) -> Callable[..., Any]:
    def reference(x, hx, *weights):
        states = step(kind, x, list(hx) if isinstance(hx, (list, tuple)) else [hx], list(weights))
        return states if len(states) > 1 else states[0]

    return reference


SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)

OWN_NN: dict[str, Callable[..., Any]] = {
    "relu_option": lambda x, inplace: np.maximum(x, 0),
    "silu_option": lambda x, inplace: x * sigmoid(x),
    "leaky_relu": lambda x, slope: np.where(x > 0, x, slope * x),
    "elu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "selu": lambda x: SELU[0] * np.where(x > 0, x, SELU[1] * np.expm1(np.minimum(x, 0))),
    "celu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "softplus": lambda x, beta=1.0, threshold=20.0: np.where(beta * x > threshold, x, softplus(beta * x) / beta),
    "logsigmoid": lambda x: -softplus(-x),
    "hardtanh": lambda x, low, high: np.clip(x, low, high),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "softshrink": lambda x, lambd: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
    "hardshrink": lambda x, lambd: np.where(np.abs(x) > lambd, x, 0),
    "threshold": lambda x, least, value: np.where(x > least, x, value),
    "glu": lambda x, dim=-1: (lambda a, b: a * sigmoid(b))(*np.split(x, 2, dim)),
    "prelu": lambda x, w: np.where(x > 0, x, x * (w.reshape([-1] + [1] * (x.ndim - 2)) if w.size > 1 else w.sum())),
    "rrelu": lambda x, low, high: np.where(x > 0, x, x * (low + high) / 2),
    "mse_loss": elementwise(lambda x, y: (x - y) ** 2),
    "l1_loss": elementwise(lambda x, y: np.abs(x - y)),
    "smooth_l1_loss": plain(smooth_l1),
    "huber_loss": plain(huber),
    "binary_cross_entropy": plain(lambda x, y, weight=1.0: -weight * (y * np.log(x) + (1 - y) * np.log1p(-x))),
    "binary_cross_entropy_with_logits": plain(cross_entropy_of_logits),
    "kl_div": kl_div,
    "poisson_nll_loss": plain(poisson),
    "gaussian_nll_loss": plain(gaussian),
    "hinge_embedding_loss": plain(lambda x, y, margin: np.where(y == 1, x, np.maximum(margin - x, 0))),
    "margin_ranking_loss": plain(lambda a, b, y, margin: np.maximum(-y * (a - b) + margin, 0)),
    "soft_margin_loss": plain(lambda x, y: softplus(-x * y)),
    "cosine_embedding_loss": plain(
        lambda a, b, y, margin=0.0: (
            lambda c: np.where(y == 1, 1 - c, np.where(y == -1, np.maximum(c - margin, 0), 0))
        )((a * b).sum(-1) / np.sqrt(((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12)))
    ),
    "triplet_margin_loss": plain(triplet_margin),
    "multilabel_margin_loss": plain(multilabel_margin),
    "multilabel_soft_margin_loss": plain(lambda *args: cross_entropy_of_logits(*args).mean(-1)),
    "multi_margin_loss": plain(multi_margin),
    "nll_loss": nll_loss,
    "ctc_loss": ctc,
    "ctc_loss_lists": ctc,
    "cosine_similarity": cosine_similarity,
    "pairwise_distance": distance,
    **{kind: layers(kind) for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    **{f"{kind}_packed": packed_layers(kind) for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    **{f"{kind}_cell": cell(kind) for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
}
