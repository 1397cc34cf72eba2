"""Operations and library code that look at values before they go on: a plan makes the same checks at every call, also
those whose results nobody uses, and what they say no to is eager's error and leaves eager's state. After a bad call the
plan is there again for good ones."""

from __future__ import annotations

import pytest
from compiling import attempt, picture, vector

import tandem
from tandem import nn

D = tandem.distributions
F = nn.functional


def places(i):
    return tandem.tensor([i])


def lengths(*values):
    return tandem.tensor(values)


SCORES = tandem.log_softmax(tandem.arange(60.0).reshape(6, 2, 5).sin(), -1)
TARGETS = tandem.tensor([[1, 2, 3], [4, 1, 2]])


def mixed(chances, x):
    logits = D.Categorical(probs=chances).logits
    return D.MixtureSameFamily(D.Categorical(logits=logits), D.Normal(tandem.zeros(2), tandem.ones(2))).log_prob(x)


# A function that also writes what it is handed first, good arguments, and bad ones.
CHECKS = {
    "an index whose result is dropped": (lambda x, i: (x[i], x * 2)[1], places(1), places(7)),
    "a gathered value that is dropped": (lambda x, i: (x.gather(0, i), x * 2)[1], places(1), places(-1)),
    "an index that decides nothing": (lambda x, i: x * (x.index_select(0, i).numel()), places(1), places(9)),
    "a draw that is dropped": (lambda x, p: (tandem.bernoulli(p), x * 2)[1], vector(0.5), vector(1.5)),
    "a loss that is dropped": (lambda x, t: (F.nll_loss(x[None], t), x * 2)[1], places(2), places(3)),
    "scales of a normal": (lambda x, s: D.Normal(x, s).log_prob(x + 1), vector(0.5), vector(-0.5)),
    "a scale that is dropped": (lambda x, s: (D.Normal(x, s), x * 2)[1], vector(0.5), vector(-0.5)),
    "a value out of the support": (lambda x, v: D.Exponential(x).log_prob(v), vector(0.5), vector(-0.5)),
    "a simplex": (lambda x, p: D.Categorical(probs=p).log_prob(tandem.tensor(1)), vector(0.5, 0.5), vector(-1, 2)),
    "a mixture": (lambda x, p: mixed(p, x), vector(0.5, 0.5), vector(float("nan"), 1)),
    "a class of a categorical": (lambda x, t: D.Categorical(logits=x).log_prob(t), places(2), places(3)),
    "a draw and its probability": (lambda x, s: D.Gamma(x.abs() + 1, s).rsample() * s, vector(0.5), vector(0)),
    "a geometric": (lambda x, p: D.Geometric(p).log_prob(x.round().abs()), vector(0.5), vector(0)),
    "a continuous bernoulli": (lambda x, p: D.ContinuousBernoulli(p).mean + x, vector(0.3), vector(1.3)),
    "lengths of inputs": (
        lambda x, n: F.ctc_loss(SCORES * x[0], TARGETS, n, tandem.tensor([3, 2])),
        lengths(6, 5),
        lengths(6, 7),
    ),
    "lengths of targets": (
        lambda x, n: F.ctc_loss(SCORES * x[0], TARGETS, tandem.tensor([6, 6]), n),
        lengths(3, 2),
        lengths(3, 4),
    ),
    "targets one after the other": (
        lambda x, n: F.ctc_loss(SCORES * x[0], TARGETS.reshape(-1), tandem.tensor([6, 6]), n),
        lengths(3, 2),
        lengths(3, 4),
    ),
}


@pytest.mark.parametrize("options", [{}, {"fullgraph": True}], ids=["", "fullgraph"])
@pytest.mark.parametrize("name", CHECKS)
def test_checks(name, options):
    function, good, bad = CHECKS[name]

    def run(wrap, first):
        kept = tandem.zeros(2)

        def body(x, argument):
            kept.add_(1)
            x.add_(1)
            out = function(x, argument)
            kept.mul_(2)
            x.mul_(2)
            return out

        f, seen = wrap(body), []
        for argument in (*first, good, good, bad, good, bad, good):
            tandem.manual_seed(5)
            x = vector(1, 2, 0.5)
            seen += [attempt(f, x, argument), x, kept.clone(), tandem.rand(1)]
            runs = getattr(f, "runs", 0)
        return [picture(o) for o in seen], runs

    # With fullgraph a body that fails while it is watched is an error of its own.
    for first in [()] if options else [(), (bad,)]:
        got, runs = run(lambda f: tandem.compile(f, **options), first)
        want, _ = run(lambda f: f, first)
        assert got == want
        # The body runs to be watched, and at the bad calls: then for their errors, and first to learn what changed.
        assert runs <= 3 + 3 * len(first)


def test_memory_made_from_data_is_made_anew():
    f = tandem.compile(lambda x: (x * 2, tandem.tensor([1.0, 2.0]), tandem.tril_indices(2, 2)))
    for _ in range(4):
        _, made, places = f(vector(1))
        assert made.tolist() == [1, 2] and places.tolist() == [[0, 1, 1], [0, 0, 1]]
        made.add_(5)
        places.zero_()
    assert f.runs == 1


def test_memory_made_from_data_is_a_gradient():
    w = vector(1, 2, requires_grad=True)

    def body(x):
        w.grad = tandem.tensor([3.0, 4.0])
        return x * 2

    f = tandem.compile(body)
    for _ in range(4):
        f(vector(1))
        assert w.grad.tolist() == [3, 4]
        w.grad.mul_(2)
