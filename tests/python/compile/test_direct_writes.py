"""What is written to a part of a tensor: stored there by the kernel that makes it, with the bits of eager."""

from __future__ import annotations

import random

import pytest
from same_bits import assert_same_bits

import tandem


def halved(x, y):
    """Reads what it writes, at its own place."""
    x[::2].mul_(0.5)


def placed(x, y):
    """Reads another tensor."""
    x[1:-1, 1:] = y[1:-1, 1:] * 2 + 1


def across(x, y):
    """A part that lies across."""
    x.t()[1:, ::2] = y.t()[1:, ::2].sin()


def beside(x, y):
    """Two parts, one after the other."""
    x[:, 0] = y[:, 0].exp()
    x[:, 1] = y[:, 1].cos()


def one_row(x, y):
    x[2] = y.clamp(-0.5, 0.5)[3]


#: Each with the kernels that it takes, and no memory beside.
DIRECT = {halved: 1, placed: 1, across: 1, beside: 2, one_row: 1}


def neighbours(x, y):
    """Reads other places of what it writes."""
    x[1:-1] = (x[:-2] + x[2:]) * 0.5


def mixed_neighbours(x, y):
    """Reads its own place and others."""
    x[1:-1] = x[1:-1] * 0.5 + x[:-2] * 0.25


def turned(x, y):
    """Would write across what it reads in order."""
    x.t()[: y.shape[0]] = y[:, : x.shape[0]] * 2


def read_later(x, y):
    """What is written is read, too."""
    value = y[1:] * 2
    x[1:] = value
    return value + 1


def read_before(x, y):
    total = x.sum()
    x[1:] = y[1:] * total
    return x.mean(0)


def old_and_new(x, y):
    old = x.clone()
    x[1:] = y[1:] + old[1:] * x[:-1]
    return old * 1


def rows(x, y):
    x[:, :4] = tandem.softmax(y[:, :4], 1)


def of_one(x, y):
    """One number in every place."""
    x[:, 1:3] = y.sum() + 3


ALL = [*DIRECT, neighbours, mixed_neighbours, turned, read_later, read_before, old_and_new, rows, of_one]


def results(function, run, n, m):
    generator = tandem.Generator().manual_seed(n * 1000 + m)
    x, y = (tandem.randn(n, m, generator=generator) for _ in range(2))
    made = run(function)(x, y)
    return [x, y] if made is None else [x, y, made]


def lazily(function):
    def run(*args):
        with tandem.lazy():
            return function(*args)

    return run


def assert_modes_agree(function, sizes, find=results):
    compiled = tandem.compile(function)
    for n, m in sizes:
        expected = find(function, lambda f: f, n, m)
        for run in (lazily, lambda f: compiled):
            for a, b in zip(find(function, run, n, m), expected, strict=True):
                assert_same_bits(a, b)


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_bits_and_other_sizes(function):
    assert_modes_agree(function, [(6, 8), (6, 8), (7, 9), (40, 64), (300, 400)])


@pytest.mark.parametrize("function", DIRECT, ids=lambda f: f.__name__)
def test_nothing_is_copied(function):
    compiled = tandem.compile(function)
    for n, m in ((12, 16), (40, 64), (41, 70)):
        x, y = tandem.randn(n, m), tandem.randn(n, m)
        compiled(x, y)
        before = tandem.counters()["kernel_launches"]
        compiled(x, y)
        assert tandem.counters()["kernel_launches"] - before == DIRECT[function]
        assert "0 bytes of temporaries" in str(compiled.explain(x, y))


def test_an_in_place_operation_on_a_part_is_one_kernel():
    x = tandem.randn(512, 256)
    for change in (lambda t: t.clamp_(-1, 1), lambda t: t.addcmul_(t, t), tandem.nn.functional.hardtanh_):
        for part in (x[::2], x[:, 1:], x.t()[::2]):
            expected = change(part.clone())
            before = tandem.counters()["kernel_launches"]
            change(part)
            assert tandem.counters()["kernel_launches"] - before == 1
            assert_same_bits(part.contiguous(), expected.contiguous())


def program(seed):
    """A function of random writes to parts, and the tensors that it gives."""
    draw = random.Random(seed)
    parts = [
        lambda u: u[1:-1],
        lambda u: u[::2],
        lambda u: u[:, 1:],
        lambda u: u[:, ::2],
        lambda u: u.t()[1:],
        lambda u: u[2],
    ]
    kinds = ["set", "update", "neighbours", "beside", "fresh", "softmax", "read"]
    steps = [(draw.choice(kinds), draw.choice(parts), draw.random()) for _ in range(draw.randint(1, 7))]
    start = draw.choice([tandem.zeros_like, tandem.clone, lambda t: t])

    def run(x, y):
        z, read = start(x), []
        for kind, part, chance in steps:
            v = part(z)
            if kind == "set":
                v.copy_(part(y) * 2 + 1)
            elif kind == "update":
                v.mul_(part(y)).add_(0.5)
            elif kind == "neighbours":
                z[1:-1] = (z[:-2] + z[2:]) * 0.5 + (z[1:-1] * 0.25 if chance < 0.5 else 0)
            elif kind == "beside":
                z[:, :2], z[:, 2:4] = y[:, :2].sin(), y[:, 1:3].cos()
            elif kind == "fresh":
                z = z + y
            elif kind == "softmax":
                v.copy_(tandem.softmax(v, -1))
            else:
                read.append(z.sum(0))
            if chance > 0.8:
                read.append(v * 2)
        return [*read, z * 1]

    return run


@pytest.mark.parametrize("seed", range(60))
def test_random_writes(seed):
    def find(function, run, n, m):
        generator = tandem.Generator().manual_seed(seed)
        x, y = (tandem.randn(n, m, generator=generator) for _ in range(2))
        return [x, *run(function)(x, y)]

    assert_modes_agree(program(seed), [(6, 8), (6, 8), (9, 12), (40, 64)], find)
