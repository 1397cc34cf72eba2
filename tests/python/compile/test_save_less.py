"""What the backward of a compiled forward makes again instead of having it stored: the bits are eager's."""

from __future__ import annotations

import copy
import random
import threading

import pytest
from same_bits import assert_same_bits

import tandem
from tandem.nn import functional as F


def gelu(x, w):
    y = x + w
    return 0.5 * y * (1.0 + tandem.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def root_mean_square(x, w):
    return x * tandem.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def gated(x, w):
    a = x * w
    return F.silu(a) * (a + 1).sigmoid() * tandem.exp(-a * a)


def products(x, w):
    """What a product reads is stored, and what comes of one."""
    h = (x @ x.t()).softmax(-1) @ x
    return tandem.sin(h * w).cos() * h.exp() @ x.t()


def dropped(x, w):
    """Random numbers are stored."""
    return F.dropout(tandem.sin(x * w) * 2, 0.3) * tandem.cos(x * w)


def seen(x, w):
    """The program gets what others could be made of."""
    y = tandem.sin(x)
    return tandem.cos(y * w) * y.exp(), y


def of_inputs(x, w):
    """All follows from arguments, which may be written to before the backward."""
    return tandem.tanh(x * w) * tandem.sigmoid(x * w)


def in_place(x, w):
    y = x * 2
    y.mul_(w)
    return tandem.tanh(y) * tandem.sigmoid(y)


def windows(x, w):
    y = tandem.sin(x * w).t()
    return (tandem.exp(y) @ x).tanh() * (y[:, :4] @ x[:4]).sigmoid()


def halves(x, w):
    y = x.bfloat16() * w
    return tandem.tanh(y).float() * tandem.exp(y.float())


def integers(x, w):
    k = (x > 0).long()
    return tandem.sin(x * k) * tandem.exp(k * 0.5 * x) + tandem.cos(k / 3) * w


def deep(x, w):
    for _ in range(30):
        x = x + tandem.sin(x * w) * 0.1
    return x


CASES = {
    f.__name__: f
    for f in (gelu, root_mean_square, gated, products, dropped, seen, of_inputs, in_place, windows, halves, integers,
              deep)
}  # fmt: skip


def everything(function, x, w):
    """Results, gradients, and gradients of those."""
    tandem.manual_seed(3)
    results = function(x, w)
    results = results if isinstance(results, tuple) else (results,)
    value = sum((t * tandem.cos(t)).sum() for t in results)
    first = tandem.autograd.grad(value, (x, w), create_graph=True, allow_unused=True)
    first = [t for t in first if t is not None]
    second = tandem.autograd.grad(sum((t * t).sum() for t in first if t.requires_grad), (x, w), allow_unused=True)
    return [*results, *first, *(t for t in second if t is not None)]


def arguments(rows=300, columns=1000):
    tandem.manual_seed(rows)
    return tandem.randn(rows, columns).requires_grad_(), tandem.randn(columns).requires_grad_()


@pytest.mark.parametrize("size", [(300, 1000), (64, 100), (3, 5)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_bits(name, size):
    x, w = arguments(*size)
    compiled = tandem.compile(CASES[name])
    expected = everything(CASES[name], x, w)
    for _ in range(3):
        for a, b in zip(everything(compiled, x, w), expected, strict=True):
            assert_same_bits(a.detach(), b.detach())
    assert compiled.runs == 1


def stored(function, *args):
    """How many arrays a call of the plan leaves beside its result."""
    text = str(tandem.compile(function).explain(*args))
    return int(text.split(" inputs, ")[1].split(" results")[0]) - 1


def test_how_much_is_stored():
    x, w = arguments()
    assert stored(gelu, x, w) == 1
    assert stored(deep, x, w) <= 31  # the sums; neither sines nor cosines
    assert stored(gated, x, w) == 1
    # A mean of each row beside the argument, which the tape keeps anyway.
    assert stored(root_mean_square, x, w) <= 3


def test_memory_between_forward_and_backward():
    x, w = arguments(1000, 1000)
    compiled = tandem.compile(gelu)
    for _ in range(3):
        before = tandem.counters()["bytes_allocated"]
        y = compiled(x, w)
        held = tandem.counters()["bytes_allocated"] - before
        assert held <= 2.2 * x.nbytes  # the result, and the sum
        y.sum().backward()
        del y


def test_arguments_may_change_before_the_backward():
    x, w = arguments()
    compiled = tandem.compile(lambda x, w: gelu(x * 1, w))
    scale = tandem.ones(1000)
    for run in (compiled, compiled, lambda x, w: gelu(x * 1, w)):
        value = run(x, scale).sum()
        scale.zero_()
        (found,) = tandem.autograd.grad(value, x)
        scale.fill_(1)
        (expected,) = tandem.autograd.grad(gelu(x * 1, scale).sum(), x)
        assert_same_bits(found, expected)


def test_results_may_change_before_the_backward():
    x, w = arguments()
    compiled = tandem.compile(seen)
    (expected,) = tandem.autograd.grad(seen(x, w)[0].sum(), w)
    for _ in range(2):
        first, second = compiled(x, w)
        (found,) = tandem.autograd.grad(first.sum(), w, retain_graph=True)
        assert_same_bits(found, expected)
        with tandem.no_grad():
            second.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            tandem.autograd.grad(first.sum(), w)


def test_backward_again_and_after_release():
    x, w = arguments()
    compiled = tandem.compile(gelu)
    for _ in range(2):
        value = compiled(x, w).sum()
        one = tandem.autograd.grad(value, (x, w), retain_graph=True)
        two = tandem.autograd.grad(value, (x, w))
        for a, b in zip(one, two, strict=True):
            assert_same_bits(a, b)
        with pytest.raises(RuntimeError, match="second time"):
            tandem.autograd.grad(value, (x, w))


def test_numbers_of_each_call():
    x, w = arguments()

    def scaled(x, w, c):
        y = x * c + w
        return tandem.tanh(y * c) * tandem.sigmoid(y)

    compiled = tandem.compile(scaled)
    for c in (0.5, 0.5, 0.75, 2.0):
        found = tandem.autograd.grad(compiled(x, w, c).sum(), (x, w))
        for a, b in zip(found, tandem.autograd.grad(scaled(x, w, c).sum(), (x, w)), strict=True):
            assert_same_bits(a, b)


def test_the_default_dtype_may_change_before_the_backward():
    x, w = arguments()
    compiled = tandem.compile(integers)
    expected = tandem.autograd.grad(integers(x, w).sum(), (x, w))
    for _ in range(2):
        value = compiled(x, w).sum()
        tandem.set_default_dtype(tandem.float64)
        try:
            found = tandem.autograd.grad(value, (x, w))
        finally:
            tandem.set_default_dtype(tandem.float32)
        for a, b in zip(found, expected, strict=True):
            assert_same_bits(a, b)


def test_recorded_and_traced_backwards():
    x, w = arguments()
    compiled = tandem.compile(gelu)
    expected = tandem.autograd.grad(gelu(x, w).sum(), (x, w))
    compiled(x, w)
    with tandem.lazy():
        found = tandem.autograd.grad(compiled(x, w).sum(), (x, w))
    whole = tandem.compile(lambda x, w: tandem.autograd.grad(compiled(x, w).sum(), (x, w)))
    for got in (found, whole(x, w), whole(x, w)):
        for a, b in zip(got, expected, strict=True):
            assert_same_bits(a, b)
    value = compiled(x, w).sum()
    with tandem.lazy():
        found = tandem.autograd.grad(value, (x, w))
    for a, b in zip(found, expected, strict=True):
        assert_same_bits(a, b)


def test_hooks_and_modules():
    net = tandem.nn.Sequential(tandem.nn.Linear(256, 256), tandem.nn.GELU(), tandem.nn.Linear(256, 256))
    twin = copy.deepcopy(net)
    run = tandem.compile(lambda x: gelu(net(x), net[0].bias))
    for _ in range(3):
        x = tandem.randn(1024, 256).requires_grad_()
        twice = x.detach().clone().requires_grad_()
        hooked = []
        y = run(x)
        y.register_hook(lambda g, hooked=hooked: hooked.append(g.shape))
        y.sum().backward()
        gelu(twin(twice), twin[0].bias).sum().backward()
        assert hooked == [(1024, 256)]
        assert_same_bits(x.grad, twice.grad)
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        assert_same_bits(a.grad, b.grad)


def test_backwards_of_threads():
    x, w = arguments()
    compiled = tandem.compile(gelu)
    expected = tandem.autograd.grad(gelu(x, w).sum(), (x, w))
    values = [compiled(x, w).sum() for _ in range(4)]
    failed = []

    def work(value):
        found = tandem.autograd.grad(value, (x, w))
        if not all(bool((a == b).all()) for a, b in zip(found, expected, strict=True)):
            failed.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


ONE = [tandem.sin, tandem.tanh, tandem.exp, tandem.relu, F.gelu, lambda a: a * a, lambda a: 1 - a,
       lambda a: a.clamp(-1, 1), lambda a: tandem.rsqrt(a * a + 1), lambda a: (a > 0) * a,
       lambda a: a.bfloat16().float(), lambda a: a * a.mean(-1, keepdim=True),
       lambda a: tandem.softmax(a, -1), lambda a: F.dropout(a, 0.2),
       lambda a: (a @ a.t() * 0.01) @ a, lambda a: F.layer_norm(a, (a.shape[-1],)), lambda a: a.flip(0)]  # fmt: skip
TWO = [tandem.add, tandem.mul, tandem.maximum, tandem.hypot, lambda a, b: tandem.where(a > b, a, b),
       lambda a, b: tandem.lerp(a, b, 0.3), lambda a, b: a - b.amax(0), lambda a, b: a.t().contiguous().t() * b,
       lambda a, b: tandem.cat((a[:, :50], b[:, 50:]), 1), lambda a, b: (a + 0).mul_(b)]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_random_functions(seed):
    draw = random.Random(seed)
    steps = [
        (draw.choice(ONE) if draw.random() < 0.5 else draw.choice(TWO), draw.random(), draw.random())
        for _ in range(draw.randint(4, 20))
    ]
    returned = draw.sample(range(len(steps)), draw.choice([0, 1, 2]))

    def function(x, w):
        values = [x, w + x * 0]
        for step, near, far in steps:
            operands = [values[-1 - int(near * min(4, len(values)))], values[int(far * len(values))]]
            values.append(step(operands[0]) if step in ONE else step(*operands))
        return (values[-1], *(values[2 + i] for i in returned))

    x, w = arguments(*draw.choice([(64, 100), (300, 1000)]))
    compiled = tandem.compile(function)
    expected = everything(function, x, w)
    for _ in range(2):
        for a, b in zip(everything(compiled, x, w), expected, strict=True):
            assert_same_bits(a.detach(), b.detach())
