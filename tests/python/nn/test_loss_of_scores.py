"""cross_entropy without a gradient reads its scores and writes nothing of their size, with the bits that it has beside
one."""

from __future__ import annotations

import re

import pytest

import tandem
from tandem.nn import functional as F


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16], ids=str)
def test_bits_are_those_of_log_softmax(reduction, dtype):
    for shape in ((9,), (70, 45), (2, 9, 3, 4)):
        x = tandem.randn(*shape).to(dtype)
        target = tandem.randint(0, 9, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
        if target.dim() > 0:
            target.view(-1)[1] = -100
        want = F.nll_loss(x.log_softmax(min(x.dim() - 1, 1)), target, reduction=reduction)
        found = [F.cross_entropy(y, target, reduction=reduction) for y in (x, x.clone().requires_grad_())]
        found.append(tandem.compile(lambda x, t: F.cross_entropy(x, t, reduction=reduction))(x, target))
        for got in found:
            assert tandem.equal(got.detach(), want)


def test_writes_nothing_of_the_scores_size():
    x, target = tandem.randn(4096, 64), tandem.randint(0, 64, (4096,))

    def temporaries(f):
        return int(re.search(r"(\d+) bytes of temporaries", str(tandem.compile(f).explain(x, target)))[1])

    assert temporaries(lambda x, t: F.nll_loss(x.log_softmax(1), t)) >= x.nbytes
    assert temporaries(F.cross_entropy) < x.nbytes / 8
