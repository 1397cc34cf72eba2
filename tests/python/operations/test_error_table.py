# ruff: noqa: E501, E701, E702
"""The common mistakes of error_table.py and its like: the error has PyTorch's class, and its text names what is wrong."""

from __future__ import annotations

import re

import pytest
from error_table import MISTAKES
from error_table_calls import CALLS
from error_table_values import VALUES

import tandem
from tandem import nn
from tandem.nn import functional as F

T = tandem
t = tandem.tensor


def a(*shape):
    return tandem.ones(*shape)


def inp(f):
    x = a(3)
    f(x)
    return x


def leafop(f):
    x = T.ones(3, requires_grad=True)
    f(x)


def bw2():
    x = T.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def nonscalar():
    T.ones(3, requires_grad=True).mul(2).backward()


def nograd():
    T.ones(3).sum().backward()


def unused():
    x = T.ones(3, requires_grad=True)
    z = T.ones(1, requires_grad=True)
    T.autograd.grad(x.sum(), z)


def inpl():
    x = T.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


def viewleaf():
    x = T.ones(3, requires_grad=True)
    x[0] = 1


def npgrad():
    T.ones(3, requires_grad=True).numpy()


def sd1():
    m = nn.Linear(2, 3)
    m.load_state_dict({"weight": T.ones(3, 2)})


def sd2():
    m = nn.Linear(2, 3)
    m.load_state_dict({"weight": T.ones(3, 3), "bias": T.ones(3), "x": T.ones(1)})


def gshape():
    x = T.ones(3, requires_grad=True)
    x.mul(2).backward(T.ones(2))


def setgrad():
    x = T.ones(3, requires_grad=True)
    x.grad = T.ones(2)


def setgrad2():
    x = T.ones(3, requires_grad=True)
    x.grad = 3


def intgrad():
    T.ones(3, dtype=T.int64, requires_grad=True)


def reqint():
    T.ones(3, dtype=T.int64).requires_grad_()


def reqnl():
    y = T.ones(3, requires_grad=True) * 2
    y.requires_grad = False


def modcall():
    nn.Linear(2, 3)(T.ones(4, 5))


def bare():
    class M(nn.Module):
        def __init__(self):
            self.l = nn.Linear(1, 1)

    M()


def nofwd():
    nn.Module()(1)


def optempty():
    T.optim.SGD([], lr=0.1)


def optlr():
    T.optim.SGD([T.ones(1, requires_grad=True)], lr=-1)


def optnl():
    T.optim.SGD([T.ones(1, requires_grad=True) * 2], lr=0.1)


def optt():
    T.optim.SGD(T.ones(1, requires_grad=True), lr=0.1)


def optmiss():
    T.optim.Adam(3)


ALL = MISTAKES + VALUES + CALLS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("mistake", "error", "words"), ALL, ids=[m[0] for m in ALL])
def test_a_common_mistake(mistake, error, words):
    with pytest.raises(error) as caught:
        eval(mistake, {**globals(), "nn": nn, "F": F})
    for word in words.split():
        assert re.search(rf"\b{re.escape(word)}\b", str(caught.value)), str(caught.value)
