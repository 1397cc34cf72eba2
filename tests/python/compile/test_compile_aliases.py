"""What a call brings (arguments, gradients) and what a name leads to may be one tensor, or on one memory, at one call
and not at another: each call gives what an eager call gives."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from compiling import picture, vector

import tandem


def same(body, calls):
    """`calls()`: a list of functions, each to be called before a call of the body, whose arguments it gives."""
    seen = []
    for wrap in (lambda f: f, tandem.compile):
        f = wrap(body)
        seen.append([picture((f(*(args := call())), args)) for call in calls()])
    assert seen[0] == seen[1]


NAMED = {}

SHARERS = {
    "a view": lambda w: w[:2],
    "detached": lambda w: w.detach(),
    "other elements": lambda w: w.view(tandem.int32),
    "a view of a view": lambda w: w.reshape(2, 2)[1],
}


@pytest.mark.parametrize("how", SHARERS)
def test_an_argument_that_shares_memory_with_a_captured_tensor(how):
    def calls():
        w = vector(1, 2, 3, 4)
        NAMED["v"] = SHARERS[how](w)
        other = vector(5, 6, 7, 8)
        return [lambda x=x: (x,) for x in (w, w, other, w, other, other)]

    same(lambda x: x.sum() + NAMED["v"].sum() * 10, calls)
    same(lambda x: (x.mul_(2), NAMED["v"] + 1), calls)


def test_a_gradient_that_shares_memory_with_a_captured_tensor():
    p = vector(1, 2, requires_grad=True)

    def calls():
        NAMED["g"] = vector(2, 2)

        def holding(grad):
            p.grad = grad
            return (p,)

        return [lambda g=g: holding(g) for g in (NAMED["g"], NAMED["g"], vector(5, 5), NAMED["g"], vector(7, 7))]

    same(lambda x: x.grad * 1 + NAMED["g"] * 10, calls)
    same(lambda x: p.grad * 1 + NAMED["g"] * 10, calls)


@pytest.mark.parametrize("apart", [0, 1, 4])
def test_two_tensors_of_one_array(apart):
    """Only what is written makes a difference, and only where the parts of the array overlap."""

    def calls():
        array = np.arange(8, dtype=np.float32)
        x, y = tandem.from_numpy(array[:4]), tandem.from_numpy(array[apart : apart + 4])
        alone = tandem.from_numpy(np.ones(4, np.float32))
        return [lambda xy=xy: xy for xy in ((x, y), (x, y), (alone, y), (x, alone), (y, x), (x, x))]

    def writes(x, y):
        x.add_(1)
        z = y * 10
        x.mul_(3)
        return z, y + 0

    def captured(x, _):
        z = NAMED["y"] + x
        x.add_(1)
        return z, NAMED["y"] * 2

    same(writes, calls)
    same(lambda x, y: (x + y, x * y), calls)
    NAMED["y"] = calls()[0]()[1]
    same(captured, calls)


def asks_list(x):
    return any(x is t for t in NAMED["all"])


def asks_set(x):
    return x in NAMED["set"]


IDENTITIES = {
    "is": lambda x: x is NAMED["w"],
    "is not": lambda x: x is not NAMED["w"],
    "operator.is_": lambda x: operator.is_(x, NAMED["w"]),
    "one of a list": asks_list,
    "in a set": asks_set,
    "one of the keys": lambda x: any(x is k for k in NAMED["keys"]),
    "in a set made here": lambda x: x in set(NAMED["all"]),
    "a key": lambda x: x in NAMED["keys"],
    "a value of a dict": lambda x: any(x is v for v in NAMED["values"].values()),
    "an attribute": lambda x: x is asks_set.tensor,
    "id": lambda x: id(x) == id(NAMED["w"]),
    "hash": lambda x: hash(x) == hash(NAMED["w"]),
    "in a container": lambda x: NAMED["w"] is (x, 1)[0],
}


@pytest.mark.parametrize("asked", IDENTITIES)
def test_is_an_argument_a_tensor_that_has_a_name(asked):
    ask = IDENTITIES[asked]
    w, y = vector(1, 2), vector(3, 4)
    NAMED.update(w=w, all=[vector(0, 0), w], set={w}, keys={w: 1}, values={"w": w})
    asks_set.tensor = w
    same(lambda x: x * 2 if ask(x) else x * 5, lambda: [lambda x=x: (x,) for x in (y, y, w, y, w)])
    same(lambda x: x[0] * 2 if ask(x[0]) else x[0] * 5, lambda: [lambda x=x: ([x],) for x in (y, y, w, y, w)])


def test_is_an_argument_a_container_that_has_a_name():
    NAMED["list"] = [vector(1, 2)]
    other = [vector(1, 2)]
    same(
        lambda x: x[0] * 2 if x is NAMED["list"] else x[0] * 5,
        lambda: [lambda x=x: (x,) for x in (other, other, NAMED["list"], other)],
    )
    same(lambda x, y: x[0] * 2 if x is y else x[0] * 5, lambda: [lambda y=y: (other, y) for y in ([other[0]], other)])
