"""vmap: every operation over a batch equals one call an example; nesting, in_dims, random numbers, writes, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import run_in
from operations import TOLERANCE, VISIBLE, Typed, array_of, dtypes, leaves, name_of
from references import UNSPECIFIED
from samples import for_gradients, samples

import tandem
from tandem.func import grad, vmap

# What cannot be mapped says so: a size or a value is read, or numbers are drawn.
REFUSED = re.compile(r"size that depends on data|calling \.item\(\)|randomness error mode|data-dependent control flow")
UNMAPPED = set(UNSPECIFIED)


def close(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(array_of(actual), expected, rtol=tolerance, atol=tolerance)


def varied(t: tandem.Tensor, k: int) -> tandem.Tensor:
    """Another tensor like `t`, still a valid argument: floats moved a little, integers and bools rearranged."""
    if t.is_floating_point():
        return t * (1 + 0.125 * k)
    return t.flip(0) if t.dim() and k == 1 else t.clone()


# Integer arguments that are no indices and floats whose order matters stay valid under `varied`.
MAPPED = {
    n: op
    for n, op in VISIBLE.items()
    if n not in UNMAPPED and op.samples != "none" and not n.startswith(("view", "as_strided"))
}


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.filterwarnings("ignore")
def test_every_operation(name):
    op = MAPPED[name]
    dtype = dtypes(op)[0]
    for sample in samples(op, dtype):
        typed = Typed.of(op, sample, dtype, "contiguous")
        tensors = typed.tensors
        if not tensors:
            continue
        check(typed, tensors, [True] * len(tensors))
        if len(tensors) > 1:
            for shared in range(len(tensors)):
                check(typed, tensors, [i != shared for i in range(len(tensors))])


def check(typed: Typed, tensors: list[tandem.Tensor], mapped: list[bool]) -> None:
    examples = [[varied(t, k) if m else t for t, m in zip(tensors, mapped)] for k in range(3)]
    stacked = [tandem.stack([e[i] for e in examples]) if m else t for i, (t, m) in enumerate(zip(tensors, mapped))]
    try:
        want = [leaves(typed.run(e)) for e in examples]
    except (RuntimeError, IndexError, ValueError):
        return  # the variation is no valid argument
    try:
        got = vmap(lambda *ts: tuple(leaves(typed.run(list(ts)))), tuple(0 if m else None for m in mapped))(*stacked)
    except RuntimeError as e:
        if REFUSED.search(str(e)):
            return
        raise
    for i, g in enumerate(got):
        expected = np.stack([array_of(w[i]) for w in want])
        assert g.dtype is want[0][i].dtype, f"{typed}: {g.dtype}"
        tolerance = TOLERANCE.get(name_of(g.dtype), 0) * 4
        scale = max(1.0, float(np.abs(np.nan_to_num(expected.astype(np.float64), posinf=0, neginf=0)).max(initial=0)))
        np.testing.assert_allclose(
            array_of(g), expected, rtol=tolerance, atol=tolerance * scale, err_msg=f"{typed} {mapped}"
        )


GRADIENTS = {n: op for n, op in MAPPED.items() if op.differentiable and any(True for _ in for_gradients(op))}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.filterwarnings("ignore")
def test_every_gradient(name):
    """vmap of grad, and grad of vmap by an operand that all examples share."""
    op = GRADIENTS[name]
    for sample in for_gradients(op):
        typed = Typed.of(op, sample, "float64", "contiguous")
        tensors = typed.tensors
        places = [i for i, t in enumerate(tensors) if t.is_floating_point()]
        if not places:
            continue
        place = places[0]

        def loss(*ts, typed=typed):
            out = [o for o in leaves(typed.run(list(ts))) if o.is_floating_point()]
            return sum(((o * o).sum() for o in out), tandem.zeros((), dtype=tandem.float64))

        examples = [[varied(t, k) for t in tensors] for k in range(2)]
        stacked = [tandem.stack(list(column)) for column in zip(*examples)]
        try:
            want = [grad(loss, argnums=place)(*e) for e in examples]
        except (RuntimeError, IndexError, ValueError):
            continue  # the variation is no valid argument
        try:
            got = vmap(grad(loss, argnums=place))(*stacked)
        except RuntimeError as e:
            if REFUSED.search(str(e)):
                return
            raise
        np.testing.assert_allclose(array_of(got), np.stack([array_of(w) for w in want]), rtol=1e-9, atol=1e-9)
        if len(tensors) < 2:
            continue
        dims = tuple(None if i == place else 0 for i in range(len(tensors)))
        others = [s if i != place else tensors[i] for i, s in enumerate(stacked)]
        total = grad(lambda *ts, dims=dims, f=loss: vmap(f, dims)(*ts).sum(), argnums=place)(*others)
        one = [[tensors[i] if i == place else t for i, t in enumerate(e)] for e in examples]
        want = [grad(loss, argnums=place)(*e) for e in one]
        np.testing.assert_allclose(array_of(total), sum(array_of(w) for w in want), rtol=1e-9, atol=1e-9)


# ---- dims and structure ---------------------------------------------------------------------------------------------


def test_in_and_out_dims(mode):
    x, y = tandem.randn(3, 4, 5), tandem.randn(5, 3)
    got = run_in(mode, vmap(lambda x, y: x.sum(1) + y, in_dims=(2, 0), out_dims=1), x, y)
    close(got, (x.numpy().sum(1) + y.numpy().T))
    got = run_in(mode, vmap(lambda x: x * 2, in_dims=-1, out_dims=-1), x)
    close(got, 2 * x.numpy())


def test_containers():
    x = tandem.randn(4, 3)
    out = vmap(lambda d, s: {"a": d["x"] * s, "b": [d["y"]]}, in_dims=({"x": 0, "y": None}, None))(
        {"x": x, "y": tandem.ones(2)}, 3.0
    )
    close(out["a"], 3 * x.numpy())
    assert out["b"][0].shape == (4, 2)
    first, second = vmap(lambda x: (x, 5), out_dims=(0, None))(x)
    assert second == 5 and first.equal(x)


def test_nested(mode):
    x, y = tandem.randn(3, 4), tandem.randn(5, 4)
    got = run_in(mode, lambda x, y: vmap(lambda a: vmap(lambda b: (a * b).sum())(y))(x), x, y)
    close(got, x.numpy() @ y.numpy().T)
    z = tandem.randn(2, 3, 4)
    close(vmap(vmap(vmap(tandem.sin)))(z), np.sin(z.numpy()))
    a, b = tandem.randn(2, 3, 4), tandem.randn(5, 4, 6)
    got = vmap(lambda a: vmap(lambda b: a @ b, out_dims=2)(b))(a)
    close(got, np.einsum("xij,yjk->xiky", a.numpy(), b.numpy()), 1e-5)


def test_chunks():
    x = tandem.randn(10, 3)
    for chunk in (1, 3, 5, 10, 50):
        assert vmap(lambda x: x.cumsum(0), chunk_size=chunk)(x).equal(x.cumsum(1))


def test_chunks_see_the_same_numbers(mode):
    def body(x):
        return vmap(lambda x: x + tandem.rand(3), randomness="same", chunk_size=4)(x)

    got = run_in(mode, body, tandem.zeros(10, 3))
    assert got[0].any() and got.equal(got[:1].expand(10, 3))


def test_empty_batch():
    assert vmap(lambda x: x.sum(0))(tandem.zeros(0, 3)).shape == (0,)
    assert vmap(lambda x: x.sort(0)[0])(tandem.zeros(0, 3)).shape == (0, 3)


def test_shapes_are_those_of_one_example():
    def f(x):
        assert x.shape == (3,) and x.dim() == 1 and x.numel() == 3 and len(x) == 3 and x.size(0) == 3
        return x.reshape(x.shape[0], 1).expand(3, x.numel())

    assert vmap(f)(tandem.ones(4, 3)).shape == (4, 3, 3)


def test_promotion_is_that_of_one_example():
    scalars, x = tandem.ones(3, dtype=tandem.float64), tandem.ones(2)
    assert vmap(lambda s: s * x)(scalars).dtype is tandem.float32
    assert vmap(lambda s: s + 1.5)(tandem.ones(3, dtype=tandem.int64)).dtype is tandem.float32


def test_views_and_indexing():
    x = tandem.randn(4, 6)
    close(vmap(lambda x: x.view(2, 3).t()[1:, ::2].flatten())(x), x.numpy().reshape(4, 2, 3).swapaxes(1, 2)[:, 1:, ::2]
          .reshape(4, -1))  # fmt: skip
    index = tandem.tensor([[0, 2], [1, 1], [5, 0], [3, 4]])
    rows = np.take_along_axis(x.numpy(), index.numpy(), 1)
    close(vmap(lambda x, i: x[i])(x, index), rows)
    close(vmap(lambda i: x[0][i])(index), x.numpy()[0][index.numpy()])
    close(vmap(lambda x: x[tandem.tensor([1, 2])])(x), x.numpy()[:, [1, 2]])


def test_an_index_that_is_mapped_over():
    x = tandem.arange(12.0).reshape(4, 3)
    at = tandem.tensor([0, 2, 1, 1])
    assert vmap(lambda i: x[i])(at).tolist() == x[at].tolist()
    assert vmap(lambda i: x[1:, i])(at).tolist() == x[1:, at].t().tolist()
    assert vmap(lambda row, i: row[i])(x, at).tolist() == x.gather(1, at.unsqueeze(1)).squeeze(1).tolist()

    def changed(row, i):
        row = row.clone()
        row[i] = 9.0
        return row

    assert vmap(changed)(x, at).tolist() == x.scatter(1, at.unsqueeze(1), 9.0).tolist()
    with pytest.raises(IndexError, match="index 8 is out of bounds for dimension 0 with size 4"):
        vmap(lambda i: x[i])(at + 8)


def test_writes():
    x = tandem.randn(3, 4)

    def f(x):
        y = x.clone()
        y[1:3] = y[1:3] * 2
        y.add_(1)
        y[0] = 7.0
        z = tandem.zeros_like(x)
        z[2] = x[2]
        return y, z

    y, z = vmap(f)(x)
    want = x.numpy().copy()
    want[:, 1:3] *= 2
    want += 1
    want[:, 0] = 7
    close(y, want)
    close(z, np.where(np.arange(4) == 2, x.numpy(), 0))
    g = grad(lambda x: vmap(f)(x)[0].sum())(x)
    close(g, np.tile([0.0, 2, 2, 1], (3, 1)))


def test_write_into_an_input_is_seen():
    x = tandem.zeros(3, 2)
    vmap(lambda x: x.add_(1))(x)
    close(x, np.ones((3, 2)))


# ---- random numbers -------------------------------------------------------------------------------------------------


def test_randomness(mode):
    x = tandem.zeros(50, 3)
    different = run_in(mode, vmap(lambda x: x + tandem.rand(3), randomness="different"), x)
    assert len(np.unique(different.numpy())) > 140
    same = run_in(mode, vmap(lambda x: x + tandem.rand(3), randomness="same"), x)
    assert len(np.unique(same.numpy())) == 3
    dropped = run_in(mode, vmap(lambda x: tandem.nn.functional.dropout(x + 1, 0.5), randomness="different"), x)
    assert 0.3 < float((dropped == 0).float().mean()) < 0.7
    orders = run_in(mode, vmap(lambda x: tandem.randperm(30) + x[0].long(), randomness="different"), x)
    assert len({tuple(r) for r in orders.tolist()}) > 1
    assert all(sorted(r) == list(range(30)) for r in orders.tolist())


DRAWS = {
    "gamma": tandem._standard_gamma,
    "poisson": tandem.poisson,
    "binomial": lambda r: tandem.binomial(r * 20, r / 10),
    "bernoulli": lambda r: tandem.bernoulli(r / 10),
    "normal": lambda r: tandem.normal(r, 1.0),
    "normal of deviation": lambda r: tandem.normal(0.0, r),
    "multinomial": lambda r: tandem.multinomial(r, 40, True),
    "Dirichlet": lambda r: tandem.distributions.Dirichlet(r, validate_args=False).sample(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_randomness_of_draws_with_parameters(name, mode):
    """The same for every example, or for each its own, whether or not the parameters are batched."""
    draw, rates = DRAWS[name], tandem.full((3, 40), 5.0)

    def examples(randomness, batched):
        function = vmap(
            (lambda x, r: draw(x)) if batched else (lambda x, r: draw(r)), in_dims=(0, None), randomness=randomness
        )
        return run_in(mode, function, rates, rates[0])

    for batched in (True, False):
        got = examples("different", batched)
        assert got.shape == rates.shape
        assert not (got[0] == got[1]).all() and not (got[1] == got[2]).all()
        with pytest.raises(RuntimeError, match="randomness error mode"):
            examples("error", batched)
    same = examples("same", False)
    assert same.shape == rates.shape
    assert (same[0] == same[1]).all() and (same[1] == same[2]).all()
    if name != "Dirichlet":
        with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
            examples("same", True)


def test_draws_of_nested_vmaps():
    rates = tandem.full((4, 30), 5.0)
    both = vmap(vmap(tandem.poisson, randomness="different"), randomness="different")(rates[None].expand(3, 4, 30))
    assert both.shape == (3, 4, 30)
    assert both.reshape(12, 30).unique(dim=0).shape[0] == 12
    # Of the inner axis each its own, of the outer, which the parameters lack, all the same.
    mixed = vmap(lambda _: vmap(tandem.poisson, randomness="different")(rates), randomness="same")(tandem.zeros(3))
    assert (mixed[0] == mixed[2]).all() and not (mixed[0, 0] == mixed[0, 1]).all()


def test_nested_randomness():
    x = tandem.zeros(4, 5)
    both = vmap(vmap(lambda x: x + tandem.rand(()), randomness="different"), randomness="same")(x)
    assert both[0].equal(both[3]) and len(np.unique(both.numpy())) == 5


# ---- a Function of one's own ----------------------------------------------------------------------------------------


class Scaled(tandem.autograd.Function):
    generate_vmap_rule = True
    calls: list[tuple[int, tuple[int | None, ...]]] = []

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, g * x


class ScaledByHand(Scaled):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, w):
        Scaled.calls.append((info.batch_size, in_dims))
        if in_dims[1] is None:
            return x * w, 0
        return x.movedim(in_dims[0], 0) * w, 0


class OnlyForward(tandem.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(output)

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return t * y


def test_functions():
    x, w = tandem.randn(4, 3), tandem.randn(3)
    close(vmap(Scaled.apply, (0, None))(x, w), x.numpy() * w.numpy())
    got = vmap(grad(lambda x, w: Scaled.apply(x, w).sum(), argnums=1), (0, None))(x, w)
    close(got, x.numpy())
    Scaled.calls.clear()
    close(vmap(ScaledByHand.apply, (0, None))(x, w), x.numpy() * w.numpy())
    assert Scaled.calls == [(4, (0, None))]


def test_functions_of_containers():
    class Added(tandem.autograd.Function):
        @staticmethod
        def forward(x, others):
            return x + others[0] + others[1]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, others):
            assert in_dims == (0, [0, None])
            return {"sum": x + others[0] + others[1]}, {"sum": 0}

    x, y, z = tandem.randn(4, 3), tandem.randn(4, 3), tandem.randn(3)
    got = vmap(lambda x, y: Added.apply(x, [y, z])["sum"])(x, y)
    close(got, x.numpy() + y.numpy() + z.numpy())


@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp", "jacrev", "jacfwd", "hessian"])
def test_functions_without_setup_context_are_refused(transform):
    class Plain(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def f(x):
        return Plain.apply(x)

    x = tandem.ones(3)
    at = {"vmap": (x,), "jvp": ((x[0],), (x[0],))}.get(transform, (x[0],))
    with pytest.raises(RuntimeError, match="must override the setup_context"):
        tandem.func.jvp(f, *at) if transform == "jvp" else getattr(tandem.func, transform)(f)(*at)


def test_functions_without_a_rule_or_with_two_are_not_mapped():
    class Neither(Scaled):
        generate_vmap_rule = False

    class Both(ScaledByHand):
        generate_vmap_rule = True

    x = tandem.ones(2, 3)
    for function, text in ((Neither, "does not have vmap support"), (Both, "both generate_vmap_rule=True and")):
        with pytest.raises(RuntimeError, match=text):
            vmap(function.apply)(x, x)
        close(grad(lambda x: function.apply(x, x).sum())(x), 2 * x.numpy())  # noqa: B023


def test_jacfwd_draws_as_vmap():
    x = tandem.zeros(3)

    def f(x):
        return x + x.sum() * tandem.rand(())

    with pytest.raises(RuntimeError, match="random"):
        tandem.func.jacfwd(f)(x)
    with pytest.raises(RuntimeError, match="random"):
        tandem.func.hessian(lambda x: (f(x) ** 2).sum())(x)
    drawn = tandem.func.jacfwd(f, randomness="same")(x) - tandem.eye(3)
    close(drawn, np.full((3, 3), drawn[0, 0].item()))
    drawn, aux = tandem.func.jacfwd(lambda x: (f(x), tandem.rand(2)), has_aux=True, randomness="different")(x)
    assert len(set((drawn - tandem.eye(3))[1].tolist())) == 3 and aux.shape == (2,)


def test_aux_holds_tensors():
    x = tandem.ones(2)
    for aux in (1, None, (x, "a")):
        for transform in (grad, tandem.func.jacrev, tandem.func.jacfwd):
            with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
                transform(lambda x: (x.sum(), aux), has_aux=True)(x)  # noqa: B023
    assert tandem.func.vjp(lambda x: (x, {"a": []}), x, has_aux=True)[2] == {"a": []}


def test_function_with_jvp_only():
    x = tandem.tensor([0.0, 1.0])
    close(tandem.func.jvp(OnlyForward.apply, (x,), (tandem.ones(2),))[1], np.exp(x.numpy()))
    close(grad(lambda x: OnlyForward.apply(x).sum())(x), np.exp(x.numpy()))


# ---- errors ---------------------------------------------------------------------------------------------------------

X = tandem.ones(3, 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: vmap(lambda x: x.sum().item())(X), RuntimeError, r"calling \.item\(\) on a Tensor"),
        (lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X), RuntimeError, "data-dependent control flow"),
        (lambda: vmap(lambda x: x.nonzero())(X), RuntimeError, "size that depends on data"),
        (lambda: vmap(lambda x: x + tandem.rand(2))(X), RuntimeError, "randomness error mode"),
        (lambda: vmap(lambda x: tandem.zeros(2).add_(x))(X), RuntimeError, "`other` being vmapped over but `self` not"),
        (lambda: vmap(lambda x: x)(), ValueError, "got no inputs"),
        (lambda: vmap(lambda x: x, in_dims=None)(X), ValueError, "expected `in_dims` to be int or"),
        (lambda: vmap(lambda x, y: x, in_dims=(None, None))(X, X), ValueError, "at least one Tensor to vmap over"),
        (lambda: vmap(lambda x, y: x)(X, tandem.ones(4)), ValueError, r"same size in the mapped dimension.*\[3, 4\]"),
        (lambda: vmap(lambda x: x, in_dims=2)(X), ValueError, "dimensionality 2 so expected in_dim to satisfy"),
        (lambda: vmap(lambda x: x)(5), ValueError, "We cannot vmap over non-Tensor arguments"),
        (lambda: vmap(lambda x: 5)(X), ValueError, "must only return Tensors, got type <class 'int'>"),
        (lambda: vmap(lambda x: x, out_dims=None)(X), ValueError, "can not return a BatchedTensor when"),
        (lambda: vmap(lambda x: (x, x), out_dims=(0, 0, 0))(X), ValueError, "out_dims is not compatible"),
        (lambda: vmap(lambda x: x, out_dims="a")(X), ValueError, "`out_dims` must be an int, None or"),
        (lambda: vmap(lambda x: x, randomness="any"), RuntimeError, "Only allowed values for randomness"),
        (lambda: vmap(lambda x: x, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
        (lambda: vmap(lambda x: x.requires_grad_().sum().backward())(X), RuntimeError, "inside a functorch transform"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert tandem.rand(1).shape == (1,)  # no vmap was left open


def test_repr():
    shown = []
    vmap(lambda x: shown.append(repr(x)) or x)(tandem.ones(2, 1))
    assert shown[0].startswith("BatchedTensor(lvl=1, bdim=0") and "[1.]" in shown[0]


@pytest.mark.parametrize(("returned", "got"), [(lambda x: x, "Tensor"), (lambda x: (x, x, 0, 0), "4 of them")])
def test_the_vmap_of_a_function_returns_outputs_and_dims(returned, got):
    class Mapped(tandem.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return returned(x)

    # Of two examples, so that the tensor alone could be unpacked as two values.
    with pytest.raises(RuntimeError, match=f"Mapped.vmap: expected .* to have two returns.*{got}"):
        tandem.vmap(Mapped.apply)(tandem.ones(2, 3))


def test_data_of_examples_is_refused():
    x, y = tandem.arange(6.0).reshape(2, 3), tandem.arange(3.0)
    with pytest.raises(RuntimeError, match="accessing `data`"):
        vmap(lambda a: a.data)(x)

    def replaced(a):
        copied = y.clone()
        copied.data = a
        return copied

    with pytest.raises(RuntimeError, match="mutating directly with `.data`"):
        vmap(replaced)(x)
    # What all examples share has data, and so do the variables of a transform within.
    assert vmap(lambda a: a * y.data)(x).tolist() == (x * y).tolist()
    assert vmap(grad(lambda a: (a.data * a).sum()))(x).tolist() == x.tolist()


@pytest.mark.parametrize("write", [lambda a, o: tandem.sin(a, out=o), lambda a, o: tandem.cumsum(a, 0, out=o)])
def test_out_of_examples_is_refused(write):
    x, y = tandem.arange(6.0).reshape(2, 3), tandem.arange(3.0)
    for a, out in ((x, tandem.empty(2, 3)), (x, y.clone()), (y, tandem.empty(2, 3))):
        dims = (0 if a is x else None, 0 if out.dim() == 2 else None)
        with pytest.raises(RuntimeError, match="vmap: .*out= is not supported"):
            vmap(lambda a, o: write(a, o).clone(), in_dims=dims)(a, out)
    shared = tandem.empty(3)
    assert vmap(lambda a: a + write(y, shared))(x).tolist() == (x + write(y, tandem.empty(3))).tolist()


def test_bincount_of_examples():
    x = tandem.tensor([[0, 1, 1], [2, 2, 0]])
    weights = tandem.arange(6.0).reshape(2, 3)
    assert vmap(lambda a: tandem.bincount(a, minlength=4))(x).tolist() == [[1, 2, 0, 0], [1, 0, 2, 0]]
    counted = vmap(lambda a, w: tandem.bincount(a, w, minlength=3))(x, weights)
    assert counted.tolist() == [[0, 3, 0], [5, 0, 7]]
    with pytest.raises(RuntimeError, match="bincount: the largest numbers of the examples differ"):
        vmap(tandem.bincount)(x)
    assert vmap(tandem.bincount)(x[:, :2].flip(0)[:1]).tolist() == [[0, 0, 2]]
    with pytest.raises(RuntimeError, match="non-negative"):
        vmap(tandem.bincount)(x - 1)
