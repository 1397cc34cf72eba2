"""Gradients where a convention decides, or that reach a tensor by an unusual way. Values are those of PyTorch 2.13."""

from __future__ import annotations

import math

import pytest

import tandem
from tandem import nn
from tandem.autograd import forward_ad, graph

F = nn.functional
nan, inf = math.nan, math.inf
D = tandem.float64


def leaf(*values, dtype=tandem.float32):
    return tandem.tensor(values[0] if len(values) == 1 else list(values), dtype=dtype, requires_grad=True)


def same(tensor, expected, tolerance=1e-5):
    reference = tandem.tensor(expected, dtype=tensor.dtype)
    assert tensor.shape == reference.shape
    assert tandem.allclose(tensor, reference, rtol=tolerance, atol=tolerance, equal_nan=True), tensor


# ---- forward mode through in-place operations -----------------------------------------------------------------------


def written(x, y):
    return x.mul_(y)


def copied(x, y):
    return x.copy_(y)


def through_a_window(x, y):
    x[0] = y[1] * 3
    x[1:] *= y[1:]
    return x


def added(x, y):
    x += y
    x.sub_(2)
    return x * y


IN_PLACE = [
    (written, 2.0, 3.0, 5.0, 7.0, 6.0, 29.0),
    (copied, 2.0, 3.0, 5.0, 7.0, 3.0, 7.0),
    (added, 2.0, 3.0, 5.0, 7.0, 9.0, 57.0),
    (through_a_window, [2.0, 3.0], [4.0, 5.0], [1.0, 2.0], [6.0, 7.0], [15.0, 15.0], [21.0, 31.0]),
]


@pytest.mark.parametrize(("f", "x", "y", "dx", "dy", "value", "tangent"), IN_PLACE)
def test_jvp_through_in_place(f, x, y, dx, dy, value, tangent):
    x, y, dx, dy = (tandem.tensor(v) for v in (x, y, dx, dy))
    out, moved = tandem.func.jvp(f, (x.clone(), y), (dx, dy))
    same(out, value)
    same(moved, tangent)
    _, linear = tandem.func.linearize(f, x.clone(), y)
    same(linear(dx, dy), tangent)
    _, pullback = tandem.func.vjp(lambda x, y: f(x.clone(), y), x, y)  # x itself is not to be written
    a, b = pullback(tandem.ones_like(out))
    assert ((a * dx).sum() + (b * dy).sum()).item() == pytest.approx(sum(moved.reshape(-1).tolist()))


@pytest.mark.parametrize(("f", "x", "y", "dx", "dy", "value", "tangent"), IN_PLACE)
def test_duals_in_place(f, x, y, dx, dy, value, tangent):
    with forward_ad.dual_level():
        a = forward_ad.make_dual(tandem.tensor(x), tandem.tensor(dx))
        b = forward_ad.make_dual(tandem.tensor(y), tandem.tensor(dy))
        primal, moved = forward_ad.unpack_dual(f(a, b))
    same(primal, value)
    same(moved, tangent)


def test_duals_through_views():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tandem.tensor([2.0, 3.0]), tandem.tensor([5.0, 6.0]))
        v = x[0]
        v.mul_(10)
        same(forward_ad.unpack_dual(x).tangent, [50.0, 6.0])
        x.mul_(2)
        same(forward_ad.unpack_dual(v).tangent, 100.0)
        plain = tandem.zeros(3)
        plain[1] = x[1]
        same(forward_ad.unpack_dual(plain).tangent, [0.0, 12.0, 0.0])


# ---- Functions that write their argument ----------------------------------------------------------------------------


class Scale(tandem.autograd.Function):
    """Doubles its argument in place; the derivative that it states is 100."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 100


@pytest.mark.parametrize("compiled", [False, True])
def test_a_function_that_writes_a_view(compiled):
    def f(a):
        b = a.clone()
        v = b[1:]
        r = Scale.apply(v)
        return b, v, r, b[:2]

    call = tandem.compile(f) if compiled else f
    for which, expected in ((0, [1, 100, 100]), (1, [0, 100, 100]), (2, [0, 100, 100]), (3, [1, 100, 0])):
        a = tandem.ones(3, requires_grad=True)
        call(a)[which].sum().backward()
        assert a.grad.tolist() == expected


def test_a_function_that_writes_a_view_of_what_was_written():
    a = tandem.ones(3, requires_grad=True)
    b = tandem.zeros(3)
    b[1] = a[0]
    r = Scale.apply(b[1:])
    (r.sum() + b.sum()).backward()
    assert a.grad.tolist() == [200, 0, 0]


# ---- retained gradients and hooks -----------------------------------------------------------------------------------


def test_retained_gradients_accumulate():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    z = y * 6
    z.backward(retain_graph=True)
    first = y.grad
    z.backward(retain_graph=True)
    assert (first.item(), y.grad.item(), x.grad.item()) == (6, 12, 36)
    z.backward(inputs=[y])
    assert (y.grad.item(), x.grad.item()) == (18, 36)


def test_retained_gradients_have_memory_of_their_own():
    x = leaf(1.0, 2.0)
    y = x + 0
    z = y + 0
    y.retain_grad(), z.retain_grad()
    z.sum().backward()
    z.grad.zero_()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1, 1], [1, 1])


def test_hooks_of_accumulation():
    x = leaf(2.0)
    seen = []
    end = x.view_as(x).grad_fn.next_functions[0][0]
    pre = end.register_prehook(lambda g: seen.append(("before", g[0].item())) or (g[0] * 10,))
    end.register_hook(lambda grads, g: seen.append(("after", len(grads), g[0].item(), x.grad.item())))
    x.register_hook(lambda g: seen.append(("tensor", g.item())))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(("accumulated", p.grad.item())))
    (x * 3).backward()
    assert seen == [("tensor", 3), ("before", 3), ("accumulated", 30), ("after", 0, 30, 30)]
    pre.remove()
    (x * 3).backward()
    assert x.grad.item() == 33
    # `grad` accumulates nothing.
    seen.clear()
    assert tandem.autograd.grad(x * 3, x)[0].item() == 3
    assert seen == [("tensor", 3)]


@pytest.mark.parametrize("size", [1, 20_000])
def test_hooks_of_accumulation_run_as_soon_as_nothing_more_arrives(size):
    seen = []

    def named(name):
        t = tandem.full((size,), 0.5, requires_grad=True)
        t.register_post_accumulate_grad_hook(lambda p: seen.append((name, p.grad[0].item())))
        return t

    first, twice, last = named("first"), named("twice"), named("last")
    a = nn.functional.gelu(first * twice)
    b = nn.functional.gelu(a * 2)
    b.register_hook(lambda g: seen.append("b"))
    a.register_hook(lambda g: seen.append("a"))
    c = (b * last) + twice
    for _ in range(2):
        seen.clear()
        c.sum().backward(retain_graph=True)
        names = [s if isinstance(s, str) else s[0] for s in seen]
        assert names.index("last") < names.index("a") < names.index("twice")
        assert sorted(names) == ["a", "b", "first", "last", "twice"]
        totals = {"first": first, "twice": twice, "last": last}
        assert all(s[1] == totals[s[0]].grad[0].item() for s in seen if isinstance(s, tuple))
    expected = [t.grad / 2 for t in (first, twice, last)]
    for inputs in ([last, first], [twice]):
        for t in (first, twice, last):
            t.grad = None
        seen.clear()
        c.sum().backward(inputs=inputs, retain_graph=True)
        assert len([s for s in seen if isinstance(s, tuple)]) == len(inputs)
        for t, g in zip((first, twice, last), expected):
            assert (t.grad is None) if not any(t is i for i in inputs) else (t.grad == g).all()


class Nothing(tandem.autograd.Function):
    """Passes its first argument on and gives the second one no gradient."""

    @staticmethod
    def forward(ctx, x, y):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g, None


def test_hooks_are_called_without_a_gradient():
    x, y, seen = leaf(2.0), leaf(3.0), []
    u = y * 2
    v = u * 3
    u.register_hook(lambda g: seen.append(("tensor", g)))
    u.grad_fn.register_prehook(lambda g: seen.append(("before", g)))
    u.grad_fn.register_hook(lambda grads, g: seen.append(("after", grads, g)))
    v.grad_fn.register_hook(lambda grads, g: seen.append(("v", grads, g)))
    y.register_hook(lambda g: seen.append(("leaf", g)))
    y.register_post_accumulate_grad_hook(lambda p: seen.append(("accumulated", p.grad)))
    Nothing.apply(x, v).backward()
    assert seen == [
        ("v", (None, None), (None,)),
        ("tensor", None),
        ("before", (None,)),
        ("after", (None, None), (None,)),
        ("leaf", None),
        ("accumulated", None),
    ]
    assert y.grad is None and x.grad.item() == 1


def test_hooks_of_results_that_nobody_used():
    x, seen = leaf([[2.0]]), []
    q, r = tandem.linalg.qr(x * 2)
    for name, t in (("q", q), ("r", r)):
        t.register_hook(lambda g, name=name: seen.append((name, None if g is None else abs(g.item()))))
    r.sum().backward()
    assert seen == [("q", None), ("r", 1)]


def test_a_function_without_cotangents_gets_zeros():
    seen = []

    class Watched(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(g.tolist())
            return g

    x, y = leaf(1.0), leaf(1.0)
    Nothing.apply(x, Watched.apply(y)).backward()
    assert seen == [0.0] and y.grad.item() == 0


def module_hooks(module, run):
    seen = []
    module.register_full_backward_hook(
        lambda m, i, o: seen.append(("after", [t if t is None else t.tolist() for t in i]))
    )
    module.register_full_backward_pre_hook(
        lambda m, o: seen.append(("before", [t if t is None else t.tolist() for t in o]))
    )
    run(module)
    return seen


def test_module_hooks_in_a_double_backward():
    def run(m):
        x = leaf([[1.0, 2.0]])
        (g,) = tandem.autograd.grad(m(x).square().sum(), x, create_graph=True)
        g.square().sum().backward()

    m = nn.Linear(2, 2)
    with tandem.no_grad():
        m.weight.copy_(tandem.tensor([[1.0, 2.0], [3.0, 4.0]]))
        m.bias.fill_(1)
    assert module_hooks(m, run) == [
        ("before", [[[12.0, 24.0]]]),
        ("after", [[[84.0, 120.0]]]),
        ("before", [[[1296.0, 2928.0]]]),
        ("after", [[[10080.0, 14304.0]]]),
    ]


class Outputs(tandem.autograd.Function):
    @staticmethod
    def forward(ctx, x, rest, materialize):
        ctx._materialize_non_diff_grads = rest
        ctx.set_materialize_grads(materialize)
        mask, copy = x > 0, x.detach() * 1
        ctx.mark_non_differentiable(mask, copy)
        return x * 2, mask, copy, "text", None, x * 3

    @staticmethod
    def backward(ctx, *grads):
        Outputs.seen = [None if g is None else g.item() for g in grads]
        return grads[0], None, None


@pytest.mark.parametrize(
    ("rest", "materialize", "expected"),
    [
        (True, True, [1.0, False, 0.0, None, None, 0.0]),
        (False, True, [1.0, None, None, None, None, 0.0]),
        (True, False, [1.0] + [None] * 5),
    ],
)
def test_cotangents_of_outputs_that_have_none(rest, materialize, expected):
    Outputs.apply(leaf(2.0), rest, materialize)[0].backward()
    assert Outputs.seen == expected


# ---- gradient edges -------------------------------------------------------------------------------------------------


def test_gradient_edges():
    x = leaf(2.0)
    y = x * 3
    z = y * y
    at_y, at_x, at_z = (graph.get_gradient_edge(t) for t in (y, x, z))
    assert (at_y.node.name(), at_y.output_nr, len(at_y)) == ("MulBackward0", 0, 3)
    options = {"retain_graph": True}
    assert [g.item() for g in tandem.autograd.grad(z, [at_y, at_x], **options)] == [12, 36]
    assert [g.item() for g in tandem.autograd.grad(at_z, [x, y], tandem.tensor(1.0), **options)] == [36, 12]
    assert tandem.autograd.grad(at_z, x, **options)[0].item() == 36
    assert tandem.autograd.grad((at_z,), (graph.GradientEdge(y.grad_fn, 0),), (tandem.tensor(2.0),), **options)[0] == 24
    tandem.autograd.backward(at_z, tandem.tensor(1.0), retain_graph=True)
    assert x.grad.item() == 36
    tandem.autograd.backward(z, inputs=[at_x])
    assert x.grad.item() == 72


def test_gradient_edges_outlive_their_tensors():
    x = leaf(1.0, 2.0)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    z = y.exp()
    del y
    same(tandem.autograd.grad(z.sum(), edge)[0] / z, [1.0, 1.0])


def test_errors_of_gradient_edges():
    with pytest.raises(RuntimeError, match="gradient edge for a Tensor that does not require gradients"):
        graph.get_gradient_edge(tandem.ones(1))
    y = leaf(1.0) * 2
    with pytest.raises(IndexError, match="MulBackward0 has 1 results, there is none of number 3"):
        tandem.autograd.grad(y, graph.GradientEdge(y.grad_fn, 3))


# ---- ties, NaN and infinities ---------------------------------------------------------------------------------------

SPREAD = {
    "max": [0.5, 0.0, 0.5, 0.0],
    "min": [0.5, 0.0, 0.5, 0.0],
    "median": [0.5, 0.0, 0.5, 0.0],
    "nanmedian": [0.0, 0.5, 0.0, 0.5],
}


@pytest.mark.parametrize("name", SPREAD)
def test_all_that_are_chosen_share_the_gradient(name):
    for values, expected in (([nan] * 4, [0.25] * 4), ([nan, 1.0, nan, 1.0], SPREAD[name])):
        for shape in ((4,), (2, 2)):
            x = tandem.tensor(values).reshape(shape).requires_grad_()
            getattr(tandem, name)(x).backward()
            assert x.grad.reshape(-1).tolist() == expected
    for reduce in (tandem.amax, tandem.amin, lambda x: tandem.aminmax(x)[0]):
        x = leaf(nan, 1.0)
        reduce(x).backward()
        assert x.grad.isnan().all()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-inf, -inf, 1.0], [nan, nan, 1.0]),
        ([-inf, 0.0, -inf], [nan, 2.0, 0.0]),
        ([inf, 1.0, 2.0], [nan, 0.0, 0.0]),
        ([1.0, inf, 2.0], [1.0, nan, 0.0]),
        ([-inf, -inf, -inf], [nan, nan, nan]),
        ([1000.0, 0.0, -1000.0], [3.0, 0.0, 0.0]),
    ],
)
def test_logcumsumexp_of_infinities(values, expected):
    x = leaf(*values)
    x.logcumsumexp(0).sum().backward()
    same(x.grad, expected)


def test_binomial_logits_at_zero():
    x = leaf(0.0, 1.0, -1.0)
    for count, value, expected in ((1, 0.0, [-0.5, -0.7310586, -0.2689414]), (3, 1.0, [-0.5, -1.1931758, 0.1931758])):
        d = tandem.distributions.Binomial(count, logits=x)
        (g,) = tandem.autograd.grad(d.log_prob(tandem.full((3,), value)).sum(), x)
        same(g, expected)


@pytest.mark.parametrize("p", [-1, -2.5, 0.5, 1, 1.5, 2, 3])
def test_norms_at_zero(p):
    for values in ([0.0, 0.0], [0.0, 2.0, -2.0]):
        x = leaf(*values)
        tandem.linalg.vector_norm(x, p).backward()
        assert not x.grad.isnan().any() and x.grad[0] == 0
    x = leaf([[0.0, 2.0], [0.0, 0.0]])
    F.normalize(x, p).sum().backward()
    assert not x.grad.isnan().any()


# ---- matrices -------------------------------------------------------------------------------------------------------

MATRIX = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]


def weights(*shape):
    return tandem.arange(float(math.prod(shape)), dtype=D).reshape(shape).sin()


def test_the_gradient_of_a_cholesky_factor_is_that_of_a_symmetric_matrix():
    low = tandem.linalg.cholesky(tandem.tensor(MATRIX, dtype=D))
    expected = [[0.061876, -0.275461, -0.05824], [-0.171768, 0.432668, 0.160143], [-0.151468, 0.153298, -0.696466]]
    x = low.clone().requires_grad_()
    (tandem.cholesky_inverse(x) * weights(3, 3)).sum().backward()
    same(x.grad, expected)
    u = low.t().clone().requires_grad_()
    (tandem.cholesky_inverse(u, upper=True) * weights(3, 3)).sum().backward()
    same(u.grad, tandem.tensor(expected, dtype=D).t().tolist())
    x = low.clone().requires_grad_()
    b = tandem.arange(6.0, dtype=D).reshape(3, 2).requires_grad_()
    (tandem.cholesky_solve(b, x) * weights(3, 2)).sum().backward()
    same(
        x.grad,
        [[-0.021978, -0.205602, -1.303024], [-0.373604, -0.73233, 0.060794], [-0.759913, 0.40215, 6.0778]],
    )
    same(b.grad, [[-0.035714, 0.279072], [0.349433, -0.000217], [-0.413152, -0.549203]])


def test_cholesky_solve_to_second_order():
    """Through the factor of a matrix, so that the symmetric gradient is the derivative."""
    a = (tandem.tensor(MATRIX, dtype=D) + tandem.eye(3, dtype=D)).requires_grad_()
    b = tandem.arange(6.0, dtype=D).reshape(3, 2).requires_grad_()
    for upper in (False, True):

        def f(a, b, upper=upper):
            return tandem.cholesky_solve(b, tandem.linalg.cholesky((a + a.t()) / 2, upper=upper), upper)

        assert tandem.autograd.gradcheck(f, (a, b))
        assert tandem.autograd.gradgradcheck(f, (a, b))


def test_the_triangle_that_cholesky_reads():
    a = tandem.tensor(MATRIX, dtype=D)
    full = a + tandem.triu(tandem.ones(3, 3, dtype=D), 1) * 0.1
    same(tandem.linalg.cholesky(full), tandem.linalg.cholesky(a).tolist())
    same(tandem.linalg.cholesky(full.t(), upper=True), tandem.linalg.cholesky(a).t().tolist())


def test_pinv_of_a_triangle():
    x = tandem.tensor(MATRIX, dtype=D).tril().requires_grad_()
    p = tandem.linalg.pinv(x, hermitian=True)
    same(p, [[0.27941, -0.08824, -0.05882], [-0.08824, 0.36471, -0.02353], [-0.05882, -0.02353, 0.51765]])
    (p * weights(3, 3)).sum().backward()
    same(x.grad, [[0.0902, -0.22394, -0.02037], [-0.06408, 0.135, 0.26551], [0.09686, -0.0422, -0.24459]])


# ---- windows, places and losses -------------------------------------------------------------------------------------


def test_as_strided_scatter_counts_memory():
    w = tandem.arange(1.0, 7.0, dtype=D).reshape(3, 2)
    x = tandem.arange(6.0, dtype=D).reshape(2, 3).t().requires_grad_()
    src = tandem.tensor([[10.0, 20.0], [30.0, 40.0]], dtype=D, requires_grad=True)
    out = tandem.as_strided_scatter(x, src, (2, 2), (1, 2), 1)
    # Memory 0 to 5 is [0, 10, 30, 20, 40, 5].
    same(out, [[0.0, 20.0], [10.0, 40.0], [30.0, 5.0]])
    (out * w).sum().backward()
    same(x.grad, [[1.0, 0.0], [0.0, 0.0], [0.0, 6.0]])
    same(src.grad, [[3.0, 2.0], [5.0, 4.0]])
    later = tandem.arange(6.0)[2:]
    assert tandem.as_strided_scatter(later, tandem.zeros(2), (2,), (1,), 3).tolist() == [2, 0, 0, 5]
    # A window that begins before the tensor, and one in gaps.
    assert tandem.as_strided_scatter(later, tandem.zeros(2), (2,), (1,), 1).tolist() == [0, 3, 4, 5]
    gaps = tandem.arange(8.0)[::2]
    for call in (tandem.as_strided_scatter, tandem.compile(tandem.as_strided_scatter)):
        assert call(gaps, tandem.zeros(2), (2,), (1,), 3).tolist() == [0, 2, 0, 6]
    with pytest.raises(RuntimeError, match="as_strided_scatter: an input that requires grad must have no gaps"):
        tandem.as_strided_scatter(gaps.requires_grad_(), tandem.zeros(2), (2,), (1,))


def test_ctc_loss():
    scores = tandem.arange(24.0).reshape(4, 2, 3).sin().log_softmax(2).requires_grad_()
    loss = F.ctc_loss(
        scores, tandem.tensor([[1, 2], [1, 1]]), tandem.tensor([4, 3]), tandem.tensor([2, 1]), reduction="none"
    )
    loss.sum().backward()
    same(loss, [1.378001, 1.066512])
    same(scores.grad[0], [[-0.010035, -0.417822, 0.427857], [-0.02233, -0.168937, 0.191267]])
    same(scores.grad[1], [[0.015915, -0.185388, 0.169473], [0.0994, -0.249049, 0.149649]])
    assert scores.grad[3, 1].tolist() == [0, 0, 0]
    # Through log_softmax it is the derivative.
    x = tandem.arange(24.0, dtype=D).reshape(4, 2, 3).sin().requires_grad_()
    targets = tandem.tensor([[1, 2], [1, 1]])
    of = lambda x: F.ctc_loss(x.log_softmax(2), targets, (4, 3), (2, 1))  # noqa: E731
    assert tandem.autograd.gradcheck(of, (x,)) and tandem.autograd.gradgradcheck(of, (x,))
    # A label that is the blank comes between others as any.
    scores = (tandem.arange(30.0).reshape(5, 1, 6) * 7 % 5).log_softmax(-1)
    for labels, want in (([1, 0], 6.902077), ([1, 0, 2], 8.2027), ([0, 1], 9.011012), ([1, 1], 6.787091)):
        same(F.ctc_loss(scores, tandem.tensor([labels]), (5,), (len(labels),), reduction="none"), [want])


def test_ctc_loss_of_the_impossible():
    scores = tandem.arange(12.0).reshape(2, 2, 3).sin().log_softmax(2)
    targets = tandem.tensor([[1, 1], [1, 2]])
    possible = [[0.574623, -0.76589, 0.191267], [0.61425, 0.236101, -0.850351]]
    for zero, first in ((False, nan), (True, 0.0)):
        x = scores.clone().requires_grad_()
        loss = F.ctc_loss(x, targets, (2, 2), (2, 2), reduction="none", zero_infinity=zero)
        loss.sum().backward()
        same(loss, [0.0 if zero else inf, 3.351426])
        same(x.grad[:, 0], [[first] * 3] * 2)
        same(x.grad[:, 1], possible)


def test_the_nearest_places_require_a_gradient_which_is_zero():
    x, grid = tandem.ones(1, 1, 2, 2), tandem.zeros(1, 1, 1, 2, requires_grad=True)
    y = F.grid_sample(x, grid, mode="nearest", align_corners=False)
    y.sum().backward()
    assert grid.grad.tolist() == [[[[0, 0]]]]


EMPTY = {
    "embedding_bag": lambda w: F.embedding_bag(
        tandem.zeros(0, dtype=tandem.int64), w, tandem.zeros(2, dtype=tandem.int64)
    ),
    "embedding_bag, no bags": lambda w: F.embedding_bag(tandem.zeros(0, 3, dtype=tandem.int64), w, mode="max"),
    "max_unpool": lambda w: F.max_unpool1d(w[:0], tandem.zeros(0, 2, dtype=tandem.int64), 2),
    "attention": lambda w: F.scaled_dot_product_attention(w[:0], w, w),
    "grid_sample": lambda w: F.grid_sample(w.reshape(1, 1, 3, 2), tandem.zeros(1, 0, 2, 2), align_corners=False),
    "median": lambda w: w[:0].median(),
    "matrix_power": lambda w: tandem.linalg.matrix_power(w[:2], 0),
    "pdist": lambda w: F.pdist(w[:1]),
    "pinv": lambda w: tandem.linalg.pinv(w[:0]),
    "gru_cell": lambda w: nn.GRUCell(2, 4)(w[:0], tandem.zeros(0, 4)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_constant_results_have_a_history(name):
    w = tandem.ones(3, 2, requires_grad=True)
    y = EMPTY[name](w)
    assert y.requires_grad
    y.sum().backward()
    assert w.grad.tolist() == [[0, 0]] * 3


# ---- gradcheck ------------------------------------------------------------------------------------------------------


def test_gradcheck_moves_what_the_function_closes_over():
    check = tandem.autograd.gradcheck
    w = leaf(2.0, 3.0, dtype=D)
    for fast in (False, True):
        assert check(lambda _: (w * w).sum(), (w,), fast_mode=fast)
        assert check(lambda a: (w * a).sum(), (w,), fast_mode=fast)
        assert not check(lambda a: (w * a.detach()).sum(), (w,), fast_mode=fast, raise_exception=False)
    assert w.tolist() == [2, 3]
    m = nn.Linear(2, 2).double()
    x = tandem.tensor([[1.0, 2.0]], dtype=D, requires_grad=True)
    assert check(lambda x, *_: m(x), (x, *m.parameters()))
    assert tandem.autograd.gradgradcheck(lambda x, *_: m(x) ** 2, (x, *m.parameters()))
    assert check(lambda a: a.sum() * 2, (tandem.ones(1, dtype=D).expand(3).requires_grad_(),))
