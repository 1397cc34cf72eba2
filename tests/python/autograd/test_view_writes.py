"""Writes through views: which PyTorch 2.13 refuses, and what those to elements with several places do."""

from __future__ import annotations

import contextlib
import warnings

import pytest
from conftest import run_in

import tandem

# ---- views whose gradient would be ambiguous ------------------------------------------------------------------------

PIECES = {
    "split": lambda x: x.split(2),
    "split_with_sizes": lambda x: x.split([2, 2]),
    "uneven sizes": lambda x: x.split([1, 3]),
    "chunk": lambda x: x.chunk(2),
    "unbind": lambda x: x.unbind(),
    "iteration": lambda x: tuple(x),
    "a part of one": lambda x: (x.split(2)[0][:1],),
    "a part of a row": lambda x: (x.unbind()[0][:1],),
}


def leaf():
    return tandem.ones(4, 2, requires_grad=True)


@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_not_written(name, mode):
    """Wherever they were made, and whether or not what they are pieces of is still there."""

    def keeping(x):
        y = x * 2
        return y, *PIECES[name](y)

    def dropping(x):
        return PIECES[name](x * 2)

    for f in (keeping, dropping):
        piece = run_in(mode, f, leaf())[-1]
        with pytest.raises(RuntimeError, match="is being modified inplace"):
            piece.add_(1)
        with tandem.no_grad():
            piece.add_(1)
        piece.detach().add_(1)


@pytest.mark.parametrize("name", PIECES)
def test_one_of_several_views_is_not_written_where_gradients_are_recorded(name):
    x = tandem.ones(4, 2, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="A view that split, chunk or unbind gave.*modified inplace"):
        PIECES[name](x)[0].add_(1)
    with tandem.no_grad():
        PIECES[name](x)[0].add_(1)
    plain = tandem.ones(4, 2)
    PIECES[name](plain)[0].add_(1)
    assert plain[0, 0] == 2
    whole = x.unsafe_split(2)
    whole[0].add_(1)
    x.tensor_split(2)[0].add_(1)


def test_pieces_that_may_be_written():
    for take in (
        lambda x: x.tensor_split(2),
        lambda x: x.vsplit(2),
        lambda x: x.unsafe_split(2),
        lambda x: x.unsafe_chunk(2),
    ):
        x = leaf()
        y = x * 1
        take(y)[0].mul_(3)
        y.sum().backward()
        assert x.grad.tolist() == [[3, 3], [3, 3], [1, 1], [1, 1]]


def test_pieces_are_written_where_no_gradient_is_needed(mode):
    for f in PIECES.values():
        for piece in run_in(mode, lambda x, f=f: f(x * 2), tandem.ones(4, 2)):
            piece.add_(1)
            assert (piece == 3).all()


VIEWS = {
    "index": lambda x: x[:2],
    "split": lambda x: x.split(2)[0],
    "transpose": lambda x: x.t(),
    "a view of one": lambda x: x[:2].t(),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("block", ["no_grad", "inference_mode"])
def test_views_made_without_gradients(name, block, mode):
    made, view = getattr(tandem, block), VIEWS[name]
    word = "no_grad" if block == "no_grad" else "inference"

    def f(x):
        with made():
            return view(x)

    for x in (leaf(), leaf() * 2):
        v = run_in(mode, f, x)
        with pytest.raises(RuntimeError, match=f"created in {word} mode"):
            v.add_(1)
        with tandem.no_grad():
            v.add_(1)
    x = tandem.ones(4, 2)
    v = run_in(mode, f, x)
    v.add_(1)
    with pytest.raises(RuntimeError, match=f"created in {word} mode"):
        v.mul_(tandem.tensor(2.0, requires_grad=True))
    assert v.flatten()[0] == 2


def test_a_view_of_what_became_a_leaf():
    x = tandem.ones(4)
    v = x[:2]
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        v.add_(1)


# ---- elements with several places -----------------------------------------------------------------------------------

I, M = tandem.tensor([0, 1]), tandem.tensor([True, False, True])


def item(index, value):
    return lambda x: x.__setitem__(index, value)


# [0, 1, 2] in two rows, and what PyTorch has in each row after the write; whether it warns.
REPEATED = {
    "masked_fill_": (lambda x: x.masked_fill_(M, 2.0), [2, 1, 2], True),
    "masked_fill_ of a tensor": (lambda x: x.masked_fill_(M, tandem.tensor(2.0)), [2, 1, 2], True),
    "index_fill_ along": (lambda x: x.index_fill_(1, I, 2.0), [2, 2, 2], True),
    "index_fill_ across": (lambda x: x.index_fill_(0, I[:1], 2.0), [2, 2, 2], True),
    "index_put_": (lambda x: x.index_put_((I,), tandem.tensor(7.0)), [7, 7, 7], True),
    "index_put_, added": (lambda x: x.index_put_((I,), tandem.tensor(7.0), accumulate=True), [14, 15, 16], True),
    "x[mask] = number": (item(M.expand(2, 3), 3.0), [3, 1, 3], True),
    "x[mask] = tensor": (item(M.expand(2, 3), tandem.ones(4)), [1, 1, 1], True),
    "x[indices] = number": (item(I, 3.0), [3, 3, 3], True),
    "x[indices] = tensor": (item(I, tandem.tensor([[1.0], [4.0]]).expand(2, 3)), [4, 4, 4], True),
    "tril_": (lambda x: x.tril_(), [0, 0, 0], False),
    "triu_": (lambda x: x.triu_(), [0, 1, 2], False),
    "fill_diagonal_": (lambda x: x.fill_diagonal_(4.0), [4, 4, 2], False),
    "threshold": (lambda x: tandem.nn.functional.threshold(x, 0.0, 1.0, inplace=True), [1, 1, 2], False),
    "fill_": (lambda x: x.fill_(5), [5, 5, 5], False),
    "zero_": (lambda x: x.zero_(), [0, 0, 0], False),
}


@pytest.mark.parametrize("name", REPEATED)
def test_writes_to_expanded_tensors(name, mode):
    write, expected, warns = REPEATED[name]

    def f():
        row = tandem.arange(3.0)
        write(row.expand(2, 3))
        return row

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        got = run_in(mode, f)
    assert got.tolist() == expected
    assert bool(given) == warns
    assert all("on expanded tensors is deprecated" in str(w.message) for w in given)


def test_several_expanded_dims():
    x = tandem.zeros(2, 1, 1)
    x.expand(3, 2, 4, 5).masked_fill_(tandem.arange(120).reshape(3, 2, 4, 5) == 119, 7.0)
    assert x.flatten().tolist() == [0, 7]
    x = tandem.zeros(1)
    with pytest.warns(UserWarning, match="index_put_ on expanded"):
        x.expand(5, 4).index_put_((tandem.tensor([0, 0, 3]),), tandem.tensor(1.0), accumulate=True)
    assert x.item() == 12


REFUSED = {
    "add_": lambda x: x.add_(1),
    "copy_": lambda x: x.copy_(tandem.zeros(2, 3)),
    "index_copy_": lambda x: x.index_copy_(0, I, tandem.zeros(2, 3)),
    "index_add_": lambda x: x.index_add_(0, I, tandem.ones(2, 3)),
    "scatter_": lambda x: x.scatter_(1, tandem.zeros(2, 1, dtype=tandem.int64), 5.0),
    "scatter_add_": lambda x: x.scatter_add_(0, tandem.zeros(1, 3, dtype=tandem.int64), tandem.ones(1, 3)),
    "masked_scatter_": lambda x: x.masked_scatter_(M, tandem.ones(9)),
    "put_": lambda x: x.put_(I, tandem.zeros(2)),
    "uniform_": lambda x: x.uniform_(),
    "relu_": lambda x: x.relu_(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_writes_to_expanded_tensors_are_refused(name, mode):
    row = tandem.arange(3.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        run_in(mode, lambda row: REFUSED[name](row.expand(2, 3)), row)
    assert row.tolist() == [0, 1, 2]


UNFOLDED = {
    "unfold": lambda y: y.unfold(0, 3, 1),
    "as_strided": lambda y: y.as_strided((3, 3), (1, 1)),
    "transposed": lambda y: y.unfold(0, 3, 1).t(),
}
TO_NINE = tandem.arange(1.0, 10.0).reshape(3, 3)

# What PyTorch makes of 1, 2, 3, 4, 5 by a write to all three windows of three elements, and the gradient of the sum of
# squares of these after it.
WINDOW_WRITES = {
    "mul_": (lambda v: v.mul_(2), [2, 8, 24, 16, 10], [8, 32, 96, 64, 40]),
    "add_": (lambda v: v.add_(1), [2, 4, 6, 6, 6], [4, 8, 12, 12, 12]),
    "add_ of a tensor": (lambda v: v.add_(TO_NINE.t().t()), [2, 8, 18, 18, 14], [4, 16, 36, 36, 28]),
    "mul_ of a tensor": (lambda v: v.mul_(TO_NINE), [1, 16, 315, 192, 45], [2, 128, 4410, 3072, 810]),
    "relu_": (lambda v: v.relu_(), [1, 2, 3, 4, 5], [2, 4, 6, 8, 10]),
    "clamp_": (lambda v: v.clamp_(2, 3), [2, 2, 3, 3, 3], [0, 4, 6, 0, 0]),
    "pow_": (lambda v: v.pow_(2), [1, 16, 6561, 256, 25], [4, 128, 78732, 4096, 500]),
    "masked_fill_": (lambda v: v.masked_fill_(v > 3, 0.0), [1, 2, 3, 0, 0], [2, 4, 6, 0, 0]),
    "fill_": (lambda v: v.fill_(3.0), [3, 3, 3, 3, 3], [0, 0, 0, 0, 0]),
    "index_fill_": (lambda v: v.index_fill_(0, I[:1], 5.0), [5, 5, 5, 4, 5], [0, 10, 10, 8, 10]),
    "index_add_": (lambda v: v.index_add_(0, I[:1], TO_NINE[:1]), [2, 4, 6, 4, 5], [4, 8, 12, 8, 10]),
    "index_put_": (lambda v: v.index_put_((I[:1],), tandem.tensor(9.0)), [9, 9, 9, 4, 5], [0, 18, 18, 8, 10]),
    "scatter_": (
        lambda v: v.scatter_(0, tandem.zeros(1, 3, dtype=tandem.int64), 4.0),
        [4, 4, 4, 4, 5],
        [0, 8, 8, 8, 10],
    ),
    "tril_": (lambda v: v.tril_(), [1, 0, 0, 0, 5], [2, 0, 0, 0, 10]),
    "addmm_": (lambda v: v.addmm_(tandem.ones(3, 2), tandem.ones(2, 3)), [3, 4, 5, 6, 7], [6, 8, 10, 12, 14]),
}
IN_LOGICAL_ORDER = {"add_ of a tensor", "mul_ of a tensor", "tril_"}  # of which PyTorch's of a transposed window differ


@pytest.mark.parametrize("name", WINDOW_WRITES)
def test_gradients_of_writes_to_windows_that_meet(name, mode):
    """An element's gradient goes on from one of its places, as it has one gradient however many places it has."""
    write, values, gradient = WINDOW_WRITES[name]
    for view, window in UNFOLDED.items():
        if view == "transposed" and name in IN_LOGICAL_ORDER:
            continue

        def f(x, window=window):
            y = x * 1
            v = window(y)
            write(v)
            return y, v * v

        plain, _ = run_in(mode, f, tandem.arange(1.0, 6.0))
        assert plain.tolist() == values, view
        x = tandem.arange(1.0, 6.0, requires_grad=True)
        y, squares = run_in(mode, f, x)
        assert y.tolist() == values, view
        (g,) = tandem.autograd.grad((y * y).sum(), x, retain_graph=True)
        assert g.tolist() == gradient, view
        (g,) = tandem.autograd.grad(squares.sum(), x)
        assert g.tolist() == [n * c for n, c in zip(gradient, [1, 2, 3, 2, 1])], view


def test_a_failed_write_leaves_the_history_of_the_window():
    x = tandem.arange(1.0, 6.0, requires_grad=True)
    v = (x * 1).unfold(0, 3, 1)
    with pytest.raises(RuntimeError):
        v.mul_(tandem.ones(7))
    with pytest.raises(IndexError):
        v.index_fill_(0, tandem.tensor([9]), 1.0)
    (g,) = tandem.autograd.grad(v.sum(), x)
    assert g.tolist() == [1, 2, 3, 2, 1]


def test_whole_traces_refuse_windows_that_read_what_they_wrote():
    def f(x):
        y = x * 1
        y.unfold(0, 3, 1).mul_(2)
        return y

    x = tandem.arange(1.0, 6.0)
    with pytest.raises(
        RuntimeError, match=r"mul_: an element of the written-to tensor of shape \[3, 3\] may have several"
    ):
        tandem.compile(f, fullgraph=True)(x)
    with pytest.raises(RuntimeError, match="may have several places"):
        tandem.export.export(f, (x,))


def test_the_gradient_of_a_window_on_memory_goes_to_elements_alone():
    base = tandem.arange(40.0, dtype=tandem.float64)
    inside = [
        (lambda b: b.reshape(5, 8)[:, ::2], (2, 2), (2, 8), 2),
        (lambda b: b.reshape(5, 8).t(), (3, 2), (1, 3), 4),
        (lambda b: b.reshape(5, 8)[1:4, 2:5], (3,), (1,), 10),
        (lambda b: b.reshape(5, 8)[:, :], (30,), (1,), 9),
        (lambda b: b[3:9].expand(3, 6), (2, 2), (1, 1), 4),
        (lambda b: b[3:9], (0, 2), (1, 1), 0),
    ]
    for view, size, stride, offset in inside:
        b = base.clone().requires_grad_()
        y = view(b * 1).as_strided(size, stride, offset)
        w = tandem.arange(1.0, y.numel() + 1, dtype=tandem.float64).reshape(y.shape)
        want = tandem.zeros(40, dtype=tandem.float64).index_add(
            0, base.as_strided(size, stride, offset).flatten().long(), w.flatten()
        )
        (g,) = tandem.autograd.grad((y * w).sum(), b)
        assert g.tolist() == want.tolist()
    outside = [
        (lambda b: b.reshape(5, 8)[:, ::2], (2, 2), (1, 2), 1),
        (lambda b: b.reshape(5, 8)[1:4, 2:5], (3, 2), (1, 8), 11),
        (lambda b: b.reshape(5, 8)[1:4, 2:5], (4, 2), (2, 8), 9),
        (lambda b: b[3:9], (2,), (1,), 2),
        (lambda b: b[:4], (2,), (1,), 3),
    ]
    for view, size, stride, offset in outside:
        x = view(base.clone().requires_grad_() * 1)
        for call in (tandem.as_strided, tandem.compile(tandem.as_strided)):
            with pytest.raises(RuntimeError, match="as_strided: of an input that requires grad the window must hold"):
                call(x, size, stride, offset)
        with tandem.no_grad():
            assert x.as_strided(size, stride, offset).tolist() == base.as_strided(size, stride, offset).tolist()


@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_what_a_backward_needs_may_be_written(mode):
    graph = tandem.autograd.graph
    with tandem.lazy() if mode == "lazy" else contextlib.nullcontext(), graph.allow_mutation_on_saved_tensors() as kept:
        a = tandem.tensor([0.5, 1.0], requires_grad=True)
        b = a.clone()
        c = b.sin() * b
        b.mul_(3)
        b[0] = 7
        d = c.exp()
        d.zero_()
        (c.sum() + d.sum() + b.sum()).backward()
        kept.clear()
    assert a.grad.tolist() == pytest.approx(
        (a.detach().sin() + a.detach() * a.detach().cos() + tandem.tensor([0.0, 3.0])).tolist()
    )
    with graph.allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
    b = a.clone()
    c = b.sin()
    b.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


# ---- writes of all of a tensor --------------------------------------------------------------------------------------

REPLACED = {
    "copied": lambda y, v: y.copy_(v),
    "copied, converted": lambda y, v: y.copy_(v.double()),
    "copied, broadcast": lambda y, v: y.copy_(v[0]),
    "filled": lambda y, v: y.fill_(v[0]),
    "assigned": lambda y, v: y.__setitem__(..., v),
    "assigned, broadcast": lambda y, v: y.__setitem__(slice(None), v[:1]),
    "through a view": lambda y, v: y[:].copy_(v),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_has_a_gradient_of_zeros(name, mode):
    """As in PyTorch, where it is in the graph still: none would have optimizers leave its parameter out."""

    def step(x, v):
        x, v = x.detach().requires_grad_(), v.detach().requires_grad_()
        y = x * 2
        REPLACED[name](y, v)
        return tandem.autograd.grad((y * y).sum(), [x, v])

    of_x, of_v = run_in(mode, step, tandem.ones(3), tandem.tensor([1.0, 2.0, 3.0]))
    assert of_x.tolist() == [0, 0, 0]
    whole = "broadcast" not in name and name != "filled"
    assert of_v.tolist() == ([2, 4, 6] if whole else [6, 0, 0])


def test_leaves_are_not_replaced():
    x, v = tandem.ones(3, requires_grad=True), tandem.ones(3, requires_grad=True)
    for write in REPLACED.values():
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            write(x, v)


class Tail(tandem.autograd.Function):
    """A window of the input."""

    @staticmethod
    def forward(ctx, x):
        return x[1:]

    @staticmethod
    def backward(ctx, g):
        return tandem.cat([tandem.zeros(1), g])


class Same(tandem.autograd.Function):
    """The input itself, kept for the backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * 10


@pytest.mark.parametrize("function", [Tail, Same])
@pytest.mark.parametrize("window", [lambda y: y, lambda y: y.view(-1), lambda y: y[:1]])
def test_views_that_a_function_gave_refuse_writes(function, window):
    # The memory's other tensors, `x` here, would keep the history of what was there before.
    x = tandem.ones(3, requires_grad=True).clone()
    y = function.apply(x)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        window(y).mul_(3)
    with tandem.no_grad():
        window(y).mul_(3)
    window(y.clone()).mul_(3)
    plain = function.apply(tandem.ones(3))  # without history there is none to lose
    plain.mul_(3)


def test_a_saved_input_that_is_returned_is_the_input():
    x = tandem.tensor([2.0], requires_grad=True)
    y = Same.apply(x)
    assert y is not x and y.grad_fn.saved_tensors[0].requires_grad
    (g,) = tandem.autograd.grad(y, x, create_graph=True)
    assert g.item() == 20
    # d(10 x)/dx, not through the Function once more.
    assert tandem.autograd.grad(g, x)[0].item() == 10


# ---- results that are windows on memory of the call's own, and no views ---------------------------------------------

BATCH, TABLE, RIGHT = tandem.arange(24.0).reshape(2, 3, 4), tandem.ones(5, 4), tandem.ones(4, 5)
PLACES = tandem.tensor([[0, 1], [1, 2]])
OWN = {
    "matmul": lambda: tandem.matmul(BATCH, RIGHT),
    "operator": lambda: BATCH @ RIGHT,
    "vector": lambda: BATCH @ tandem.ones(4),
    "linear": lambda: tandem.nn.functional.linear(BATCH, TABLE),
    "embedding": lambda: tandem.nn.functional.embedding(PLACES, TABLE),
    "convolution": lambda: tandem.nn.functional.conv1d(BATCH, tandem.ones(2, 3, 3)),
    "group_norm": lambda: tandem.nn.functional.group_norm(BATCH, 3),
    "attention": lambda: tandem.nn.functional.scaled_dot_product_attention(BATCH, BATCH, BATCH),
    "repeat": lambda: BATCH.repeat(2, 1, 1),
    "roll": lambda: BATCH.roll(1),
    "kron": lambda: tandem.kron(TABLE, TABLE),
    "quantile": lambda: BATCH.quantile(0.5, 0),
    "recurrent": lambda: tandem.nn.GRU(4, 5)(BATCH)[0],
    "cell": lambda: tandem.nn.LSTMCell(4, 5)(BATCH[0])[0],
}


@pytest.mark.parametrize("name", OWN)
def test_memory_of_its_own_is_no_view(name, mode):
    """It is detached in place, and written where gradients are recorded though it was made where they are not."""

    def f(w):
        with tandem.no_grad():
            y = OWN[name]()
        y += w
        z = OWN[name]()
        z.detach_()
        return y, z.mul_(2)

    w = tandem.ones(1, requires_grad=True)
    y, z = run_in(mode, f, w)
    assert not y._is_view() and not z._is_view() and not z.requires_grad
    y.sum().backward()
    assert w.grad.item() == y.numel()


@pytest.mark.parametrize("name", OWN)
def test_a_function_that_returns_memory_of_its_own(name):
    class Made(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return OWN[name]()

        @staticmethod
        def backward(ctx, g):
            return g.sum().reshape(1)

    x = tandem.ones(1, requires_grad=True)
    y = Made.apply(x)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.item() == 3 * y.numel()


def test_windows_on_arguments_stay_views():
    x = tandem.ones(2, 3)
    views = [x.reshape(3, 2), x.squeeze(), tandem.einsum("ij->ji", x), x.expand(4, 2, 3), x.ravel(), x.mT]
    views += [*x.split(1), *tandem.meshgrid(x[0], x[1], indexing="ij"), tandem.broadcast_tensors(x[:, :1], x)[0]]
    views += [*tandem.atleast_3d([x, x]), x.narrow(0, 0, 1), tandem.movedim(x, 0, 1), x.diagonal(), x.unfold(0, 1, 1)]
    assert all(v._base is x for v in views)
