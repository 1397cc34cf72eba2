"""In-place and `out=` forms: the bits of the function forms, in the memory that is there."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import bits, run_in

import tandem
import tandem.nn.functional as F
from tandem import tensor

# Small tensors run operation by operation, large ones as one program.
SHAPES = [(6, 4), (200, 256)]
ROWS = tensor([3, 0, 3, -1])
PLACES = tensor([3, 0, 3, 5])

# The in-place form, and the function form of the same.
FORMS = {
    "add_ alpha": (lambda x, y: x.add_(y, alpha=0.3), lambda x, y: x.add(y, alpha=0.3)),
    "sub_ alpha": (lambda x, y: x.sub_(y, alpha=3), lambda x, y: x.sub(y, alpha=3)),
    "addcmul_": (lambda x, y: x.addcmul_(y, y, value=0.1), lambda x, y: x.addcmul(y, y, value=0.1)),
    "addcdiv_": (lambda x, y: x.addcdiv_(y, y, value=0.1), lambda x, y: x.addcdiv(y, y, value=0.1)),
    "clamp_": (lambda x, y: x.clamp_(-0.5, y), lambda x, y: x.clamp(-0.5, y)),
    "lerp_": (lambda x, y: x.lerp_(y, 0.1), lambda x, y: x.lerp(y, 0.1)),
    "masked_fill_": (lambda x, y: x.masked_fill_(y > 0, 3), lambda x, y: x.masked_fill(y > 0, 3)),
    "round_": (lambda x, y: x.round_(decimals=1), lambda x, y: x.round(decimals=1)),
    "tril_": (lambda x, y: x.tril_(), lambda x, y: x.tril()),
    "leaky_relu": (lambda x, y: F.leaky_relu(x, 0.1, inplace=True), lambda x, y: F.leaky_relu(x, 0.1)),
}
# Of these only some places change.
UPDATES = {
    "index_add_": (lambda x, y: x.index_add_(0, PLACES, y[:4]), lambda x, y: x.index_add(0, PLACES, y[:4])),
    "index_add_ alpha": (
        lambda x, y: x.index_add_(0, PLACES, y[:4], alpha=2),
        lambda x, y: x.index_add(0, PLACES, y[:4], alpha=2),
    ),
    "index_copy_": (lambda x, y: x.index_copy_(0, PLACES, y[:4]), lambda x, y: x.index_copy(0, PLACES, y[:4])),
    "index_fill_": (lambda x, y: x.index_fill_(0, PLACES, 2.5), lambda x, y: x.index_fill(0, PLACES, 2.5)),
    "index_put_": (lambda x, y: x.index_put_((ROWS,), y[:4]), lambda x, y: x.index_put((ROWS,), y[:4])),
    "index_put_ sums": (
        lambda x, y: x.index_put_((ROWS, ROWS), y[:4, 0], accumulate=True),
        lambda x, y: x.index_put((ROWS, ROWS), y[:4, 0], accumulate=True),
    ),
    "put_": (lambda x, y: x.put_(PLACES, y[:4, 0]), lambda x, y: x.flatten().index_copy(0, PLACES, y[:4, 0])),
    "scatter_": (
        lambda x, y: x.scatter_(0, PLACES[:, None], y[:4, :1]),
        lambda x, y: x.scatter(0, PLACES[:, None], y[:4, :1]),
    ),
    "scatter_ number": (
        lambda x, y: x.scatter_(0, PLACES[:, None], 2.0),
        lambda x, y: x.scatter(0, PLACES[:, None], 2.0),
    ),
    "scatter_add_": (
        lambda x, y: x.scatter_add_(0, PLACES[:, None], y[:4, :1]),
        lambda x, y: x.scatter_add(0, PLACES[:, None], y[:4, :1]),
    ),
    "scatter_reduce_": (
        lambda x, y: x.scatter_reduce_(0, PLACES[:, None], y[:4, :1], "amax"),
        lambda x, y: x.scatter_reduce(0, PLACES[:, None], y[:4, :1], "amax"),
    ),
    "scatter_reduce_ without": (
        lambda x, y: x.scatter_reduce_(0, PLACES[:, None], y[:4, :1], "prod", include_self=False),
        lambda x, y: x.scatter_reduce(0, PLACES[:, None], y[:4, :1], "prod", include_self=False),
    ),
    "setitem": (lambda x, y: x.__setitem__(ROWS, y[:4]), lambda x, y: x.index_put((ROWS,), y[:4])),
    "fill_diagonal_": (lambda x, y: x.fill_diagonal_(4), lambda x, y: filled_diagonal(x)),
}
FORMS |= UPDATES


def filled_diagonal(x):
    at = tandem.arange(min(x.shape))
    return x.index_put((at, at), tensor(4.0, dtype=x.dtype))


def pair(shape, dtype=tandem.float32):
    return tandem.randn(*shape).to(dtype), tandem.randn(*shape).to(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_the_bits_of_the_function_form(name, shape, mode):
    in_place, function = FORMS[name]
    x, y = pair(shape)

    def body(x, y):
        z = x.clone()
        memory = z.data_ptr() if mode == "eager" else 0
        in_place(z, y)
        assert mode != "eager" or z.data_ptr() == memory
        return z

    expected = function(x, y).reshape(shape)
    assert np.array_equal(bits(run_in(mode, body, x, y)), bits(expected))


@pytest.mark.parametrize("dtype", [tandem.float64, tandem.bfloat16], ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_other_dtypes_and_views(name, dtype):
    in_place, function = FORMS[name]
    x, y = pair(SHAPES[1], dtype)
    expected = function(x, y).reshape(x.shape)
    # In memory with a beginning and an end, whole rows, and every other column.
    rows = tandem.zeros(x.shape[0] + 2, x.shape[1], dtype=dtype)
    columns = tandem.zeros(x.shape[0], 2 * x.shape[1], dtype=dtype)
    for view in (rows[1:-1], columns[:, ::2]):
        view.copy_(x)
        in_place(view, y)
        assert np.array_equal(bits(view), bits(expected))
    assert not rows[0].any() and not rows[-1].any() and not columns[:, 1::2].any()


@pytest.mark.parametrize("form", ["eager", "lazy"])
@pytest.mark.parametrize("name", FORMS)
def test_no_memory_but_what_is_there(name, form):
    in_place, _ = FORMS[name]
    x, y = pair((512, 512))
    run_in(form, in_place, x, y)  # kernels and constants
    before = tandem.counters()["bytes_allocated"]
    run_in(form, in_place, x, y)
    # Masks have a byte an element.
    assert tandem.counters()["bytes_allocated"] - before <= x.numel() + 8192


@pytest.mark.parametrize("name", FORMS)
def test_gradients(name):
    in_place, function = FORMS[name]
    for shape in SHAPES:
        x, y = pair(shape)
        results = []
        for form in (lambda a, b: in_place(a, b), function):
            a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
            z = a * 1
            value = form(z, b)
            value = z if form is not function else value
            (value.reshape(shape) * y).sum().backward()
            results.append((a.grad, b.grad))
        for one, other in zip(*results, strict=True):
            assert (one is None or not one.any()) if other is None else np.array_equal(bits(one), bits(other))


@pytest.mark.parametrize("name", ["index_add_", "index_copy_", "index_put_", "scatter_", "scatter_add_", "setitem"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_bad_index_changes_nothing(name, shape, mode):
    bad = tensor([0, 1, shape[0], 1])
    calls = {
        "index_add_": lambda x, y: x.index_add_(0, bad, y[:4]),
        "index_copy_": lambda x, y: x.index_copy_(0, bad, y[:4]),
        "index_put_": lambda x, y: x.index_put_((bad,), y[:4]),
        "scatter_": lambda x, y: x.scatter_(0, bad[:, None], y[:4, :1]),
        "scatter_add_": lambda x, y: x.scatter_add_(0, bad[:, None], y[:4, :1]),
        "setitem": lambda x, y: x.__setitem__(bad, y[:4]),
    }
    x, y = pair(shape)
    before = x.clone()

    def body(x, y):
        calls[name](x, y)
        return x

    with pytest.raises((IndexError, RuntimeError)):
        run_in(mode, body, x, y)
    assert np.array_equal(bits(x), bits(before))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operands_in_the_memory_that_is_written(shape, mode):
    x, _ = pair(shape)
    n = shape[0]
    order = tandem.randperm(n)

    def body(x):
        a, c = x.clone(), x.clone()
        a.index_copy_(0, order, a * 1)
        c.add_(c.flip(0), alpha=2)
        return a, c

    a, c = run_in(mode, body, x)
    assert np.array_equal(bits(a), bits(x.index_copy(0, order, x)))
    assert np.array_equal(bits(c), bits(x.add(x.flip(0), alpha=2)))
    for shared in (
        lambda a: a.index_copy_(0, order, a),
        lambda a: a.index_add_(0, order[:-1], a[1:]),
        lambda a: a.__setitem__(order, a),
    ):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            shared(x.clone())


def test_a_tensor_is_written_to_itself_in_any_view_of_the_same_elements(mode):
    def body(x):
        x = x + 0
        x[None] = x
        x[:, None] = x.unsqueeze(1)
        x.unsqueeze(0).mul_(x.unsqueeze(0))
        x[None, :, None].add_(x.reshape(1, 2, 1, 3))
        x[:0] = x[:0]
        x[:, :0].add_(x[:, 3:])
        return x

    x = tandem.arange(6.0).reshape(2, 3)
    assert run_in(mode, body, x).tolist() == (x * x * 2).tolist()


def test_diagonals():
    for shape, wrap in (((2, 5), False), ((5, 2), False), ((7, 2), True), ((2, 5), True), ((3, 3, 3), False)):
        array = np.zeros(shape)
        if len(shape) == 2:
            np.fill_diagonal(array, 4, wrap=wrap)
        else:
            array[range(3), range(3), range(3)] = 4
        assert np.array_equal(tandem.zeros(*shape).fill_diagonal_(4, wrap=wrap).numpy(), array)
        turned = tandem.zeros(*reversed(shape)).permute(*reversed(range(len(shape))))
        assert np.array_equal(turned.fill_diagonal_(4, wrap=wrap).numpy(), array)


OUT = {
    "add": lambda x, y, out: tandem.add(x, y, out=out),
    "exp": lambda x, y, out: tandem.exp(x, out=out),
    "where": lambda x, y, out: tandem.where(x > 0, x, y, out=out),
    "clamp": lambda x, y, out: tandem.clamp(x, -1, 1, out=out),
    "addcmul": lambda x, y, out: tandem.addcmul(x, x, y, out=out),
    "index_add": lambda x, y, out: tandem.index_add(x, 0, PLACES, y[:4], out=out),
    "sum": lambda x, y, out: tandem.sum(x, 0, keepdim=True, out=out),
}


ONE_DTYPE = {"where", "clamp", "index_add", "sum"}  # sum computes in that of the out: test_out.py


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", OUT)
def test_out(name, shape, mode):
    x, y = pair(shape)
    expected = OUT[name](x, y, None)

    def body(x, y):
        out = tandem.zeros(expected.shape)
        empty = tandem.empty(0)
        wide = tandem.zeros(expected.shape, dtype=tandem.float64)
        turned = tandem.zeros(*reversed(expected.shape)).t()
        targets = [out, empty, turned] + ([] if name in ONE_DTYPE else [wide])
        for target in targets:
            assert OUT[name](x, y, target) is target
        return targets

    for got in run_in(mode, body, x, y):
        assert np.array_equal(bits(got.float()), bits(expected))
    if name != "sum":
        z = x.clone()
        OUT[name](z, y, z)  # the out is an operand
        assert np.array_equal(bits(z), bits(expected))


def test_out_that_cannot_take_the_result():
    x = tandem.ones(3)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        tandem.add(x, x, out=tandem.zeros(3, dtype=tandem.int64))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        tandem.add(x, x, out=tandem.zeros(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        tandem.add(x.clone().requires_grad_(), x, out=tandem.zeros(3))
    with pytest.warns(UserWarning, match="was resized"):
        assert tandem.add(x, x, out=tandem.zeros(2)).shape == (3,)


@pytest.mark.parametrize("dims", [(1, 0, 2), (2, 1, 0), (2, 0, 1), (0, 2, 1)], ids=str)
@pytest.mark.parametrize("shape", [(3, 4, 5), (24, 40, 32)], ids=str)
def test_writes_into_permuted_memory(shape, dims):
    start = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    shown = start.transpose(dims)
    other = np.random.default_rng(1).normal(size=shown.shape).astype(np.float32)
    row = other[0, 0]
    steps = {
        "add_": (lambda t: t.add_(1.0), shown + 1),
        "mul_ by another order": (lambda t: t.mul_(tensor(other)), shown * other),
        "sub_ of a row": (lambda t: t.sub_(tensor(row)), shown - row),
        "add_ of itself": (lambda t: t.add_(t), shown + shown),
        "relu_": (lambda t: t.relu_(), np.maximum(shown, 0)),
        "clamp_": (lambda t: t.clamp_(-0.5, 0.5), shown.clip(-0.5, 0.5)),
        "fill_": (lambda t: t.fill_(2.0), np.full_like(shown, 2)),
        "out=": (lambda t: tandem.exp2(tensor(other), out=t), None),
    }
    for name, (step, expected) in steps.items():
        memory = tensor(start)
        step(memory.permute(dims))
        if expected is None:
            expected = tandem.exp2(tensor(other)).numpy()
        np.testing.assert_array_equal(memory.numpy(), expected.transpose(np.argsort(dims)), err_msg=name)


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_resized_windows_of_no_elements(mode):
    # They show the memory that they are windows on.
    ones = tandem.ones(2, 3)

    def resized():
        base = tandem.arange(8.0)
        base[2:2].resize_(3).fill_(7)
        return base

    def given():
        base = tandem.arange(8.0)
        tandem.add(ones, ones, out=base[:0].view(0, 3))
        return base

    assert run_in(mode, resized).tolist() == [0.0, 1.0, 7.0, 7.0, 7.0, 5.0, 6.0, 7.0]
    assert run_in(mode, given).tolist() == [2.0] * 6 + [6.0, 7.0]
    assert run_in(mode, lambda: tandem.add(ones, ones, out=tandem.empty(0))).tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_ravel_is_a_copy_of_what_is_not_contiguous(mode):
    def changed(window):
        base = tandem.arange(6.0)
        window(base).ravel().add_(1)
        return base

    assert run_in(mode, lambda: changed(lambda b: b.view(2, 3))).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert run_in(mode, lambda: changed(lambda b: b[::2])).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (2, 1, 0), (0, 2, 1)])
def test_writes_where_all_lie_alike(order):
    """Memory that is full, in whatever order, is one run; with holes, or other orders beside it, it is not."""
    made = tandem.arange(60.0).reshape(3, 4, 5).permute(order)
    layouts = {
        "full": made.clone(),
        "with holes": tandem.zeros(6, 4, 5)[::2].permute(order),
        "row-major": made.contiguous(),
    }
    other, mask = made.flip(0), (made > 20).contiguous()
    for name, x in layouts.items():
        for write in (
            lambda t: t.mul_(3),
            lambda t: t.add_(other, alpha=2),
            lambda t: t.add_(t),
            lambda t: t.clamp_(5, 40),
            lambda t: t.addcmul_(t, other, value=0.5),
            lambda t: t.masked_fill_(mask, -1),
            lambda t: t.copy_(other.contiguous()),
        ):
            x.copy_(made)
            expected = write(made.contiguous().clone())
            assert write(x) is x and tandem.equal(x, expected), name
