"""Programs whose sizes calls choose: the bits of eager calls for every size, and what is refused."""

from __future__ import annotations

import itertools

import pytest
from exporting import TARGET, Jobs

import tandem
from tandem import nn
from tandem.export import Dim, Entry, dims, entries, export, load, training_step


def exported(fn, args, spec, **kwargs):
    return export(fn, args, dynamic_shapes=spec, targets=[TARGET], **kwargs)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bool(((a == b) | (a.isnan() & b.isnan())).all())


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.last = nn.Conv2d(4, 8, 3, stride=2), nn.Linear(8, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(nn.functional.relu(self.norm(self.first(x))), 2)
        return self.last(nn.functional.adaptive_avg_pool2d(self.second(x), 1).flatten(1)).softmax(1)


def attention(q, k, v, mask):
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def causal(x):
    t = x.shape[1]
    hidden = tandem.ones(t, t).triu(1).bool()
    return (x @ x.transpose(1, 2)).masked_fill(hidden, float("-inf")).softmax(-1) @ x


FUNCTIONS = {
    "gelu": (nn.functional.gelu, [("n",)], {"n": (0, 40)}),
    "mlp": (nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), [("b", 6)], {"b": (1, 20)}),
    "convolutions": (Convolutions().eval(), [("b", 1, "h", "w")], {"b": (1, 3), "h": (6, 13), "w": (7, 11)}),
    "product": (lambda x, y: x @ y, [("a", "b"), ("b", "c")], {"a": (0, 5), "b": (0, 5), "c": (1, 5)}),
    "attention": (attention, [(1, 2, "q", 4), (1, 2, "k", 4), (1, 2, "k", 4), ("q", "k")], {"q": (1, 9), "k": (1, 9)}),
    "causal": (causal, [("b", "t", 4)], {"b": (1, 3), "t": (1, 12)}),
    "mean": (lambda x: (x - x.mean(0)) / x.std(0), [("b", 3)], {"b": (2, 40)}),
    "sizes": (lambda x: x.reshape(-1, 3).cumsum(0).flip(0) * x.shape[0], [("b", 6)], {"b": (1, 17)}),
    "bytes": (lambda x: (x > 0).sum(1).to(tandem.int8), [("b", 7)], {"b": (1, 150)}),
    "sort": (lambda x: x.sort(-1).values[..., :2].contiguous(), [("b", "n")], {"b": (1, 4), "n": (2, 9)}),
    "unfold": (lambda x: tandem.cat([x, x[:, 1:]], 1).unfold(1, 2, 1).amax(-1), [(2, "n")], {"n": (2, 20)}),
    "many": (lambda x: x.exp().sum() + x.sin().max(), [("n",)], {"n": (1, 300)}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, tmp_path):
    """For each combination of sizes, in Python, and for some in C in a process without Tandem."""
    fn, shapes, ranges = FUNCTIONS[name]
    tandem.manual_seed(0)
    by_name = {key: Dim(key, min=least, max=most) for key, (least, most) in ranges.items()}
    spec = tuple([tuple([by_name.get(d) for d in shape]) for shape in shapes])
    every = itertools.product(*[range(least, most + 1) for least, most in ranges.values()])
    of = [dict(zip(ranges, sizes, strict=True)) for sizes in every]

    def arguments(sizes):
        return tuple([tandem.randn([sizes.get(d, d) for d in shape]) for shape in shapes])

    program = exported(fn, arguments(of[len(of) // 2]), spec)
    jobs = Jobs(tmp_path)
    order = [*of[::-1], *of[: len(of) // 2]]  # also sizes that were there before, some of them forgotten since
    for k, sizes in enumerate(order):
        args = arguments(sizes)
        with tandem.no_grad():
            expected = fn(*args)
        result = program(*args)
        assert same(result, expected), sizes
        if k % max(len(order) // 8, 1) == 0:
            jobs.add(program, "forward", list(args), [expected], 1 + k % 2, tuple(sizes.values()))
    assert jobs.run() == []


def test_derivatives_of_any_order():
    field = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    f = tandem.export.with_gradients(lambda x: field(x).sum(), orders=3)
    program = exported(f, (tandem.rand(5, 2),), ({0: Dim("points", max=33)},))
    for n in range(1, 34):
        x = tandem.rand(n, 2)
        assert all(same(a, b) for a, b in zip(program(x), f(x), strict=True)), n


def trained():
    tandem.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(64, 5)
    )
    optimizer = tandem.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return model, step


def batches():
    generator = tandem.Generator().manual_seed(3)
    for n in (4, 1, 9, 16, 9, 2):
        yield tandem.rand(n, 1, 6, 6, generator=generator), tandem.randint(0, 5, (n,), generator=generator)


def test_training_step():
    """Steps of batches of different sizes leave model and optimizer as in Python: weights, statistics, draws."""
    model, step = trained()
    batch = Dim("batch", max=16)
    x, y = next(batches())
    program = training_step(step, (x, y), dynamic_shapes={"x": {0: batch}, "y": {0: batch}}, targets=[TARGET])
    before = {name: t.clone() for name, t in model.state_dict().items()}
    assert all(same(before[k], t) for k, t in program.state_dict.items() if k in before)
    program.manual_seed(7)
    tandem.manual_seed(7)
    for x, y in batches():
        assert program.run("step", x, y).item() == step(x, y).item()
    state = program.state_dict
    assert all(same(state[name], t) for name, t in model.state_dict().items())
    assert not all(same(before[name], t) for name, t in model.state_dict().items())


def test_entries_share_state_and_keep_sizes_apart():
    weight = nn.Parameter(tandem.arange(6.0).reshape(2, 3))
    n = Dim("n", max=8)
    program = entries(
        rows=Entry(lambda x: x @ weight, (tandem.ones(3, 2),), dynamic_shapes=({0: n},)),
        grow=Entry(lambda by: weight.add_(by).sum(), (tandem.ones(1),), training=False),
        columns=Entry(lambda x: weight @ x, (tandem.ones(3, 4),), dynamic_shapes=({1: n},)),
        targets=[TARGET],
    )
    assert program.run("rows", tandem.ones(5, 2)).shape == (5, 3)
    program.run("grow", tandem.ones(1))
    expected = program.state_dict["weight"]
    assert same(program.run("columns", tandem.eye(3)), expected)
    assert same(program.run("rows", tandem.eye(2)), expected)


def test_files(tmp_path):
    """Sizes are in the file, whoever reads it, with whatever code."""
    path = tmp_path / "mlp.tandem"
    model = FUNCTIONS["mlp"][0]
    exported(model, (tandem.rand(4, 6),), ({0: Dim("batch", max=12)},)).save(path)
    tandem.export.add_target(path, next(t for t in tandem.export._export.TARGETS if t != TARGET))
    for program in (load(path), load(path, ir_only=True), load(path).fork(), load(path).module()):
        for n in (1, 4, 12):
            x = tandem.rand(n, 6)
            assert same(program(x), model(x).detach())
    assert "float32[batch, 6]) -> tandem.float32[batch, 3]\n    batch from 1 to 12" in repr(load(path))


def test_new_sizes_compile_nothing():
    program = exported(FUNCTIONS["convolutions"][0], (tandem.rand(2, 1, 8, 8),), ({2: Dim("h", min=6, max=40)},))
    program(tandem.rand(2, 1, 8, 8))
    before = tandem.counters()
    for h in range(6, 41):
        program(tandem.rand(2, 1, h, 8))
    after = tandem.counters()
    for what in ("kernel_compiles", "kernel_cache_hits", "plan_builds", "graph_traces"):
        assert after[what] == before[what], what


def test_names_of_dims():
    """As PyTorch has them: by name or position, a dict or a tuple by dim, containers, formulas, hints."""
    x, y = tandem.ones(4, 3), tandem.ones(9)
    n, m = dims("n", "m", max=6)

    def f(pair, scale=None):
        a, b = pair["a"], pair["b"][0]
        return a.sum(0) * b.sum() if scale is None else a.sum(0) * b.sum() * scale

    for spec in (
        {"pair": {"a": {0: n}, "b": [{0: 2 * n + 1}]}},
        ({"a": (n, None), "b": ((n * 2 + 1,),)},),
        [{"a": [n, Dim.STATIC], "b": [{0: 2 * (n + 1) - 1}]}],
        {"pair": {"a": {0: n, 1: 3}, "b": [{0: 2 * n + 1}]}},
    ):
        program = exported(f, ({"a": x, "b": [y]},), spec)
        assert "pair.b.0: tandem.float32[2*n+1]" in repr(program)
        result = program({"a": tandem.ones(2, 3), "b": [tandem.ones(5)]})
        assert result.tolist() == [10.0] * 3
        with pytest.raises(ValueError, match=r"forward: pair.b.0's dim 0 is 9, and must be 2 \* n \+ 1 = 5, because "
                           r"pair.a's dim 0 is 2"):  # fmt: skip
            program({"a": tandem.ones(2, 3), "b": [tandem.ones(9)]})
    program = exported(f, ({"a": x, "b": [y]},), {"pair": {"a": {0: Dim.DYNAMIC}, "b": [{0: m + 3}]}})
    assert [size[0] for size in program._about["entries"][0]["sizes"]] == ["pair_a_0", "m"]
    assert program({"a": tandem.ones(7, 3), "b": [tandem.ones(4)]}).tolist() == [28.0] * 3
    keyword = export(
        f, ({"a": x, "b": [y]},), {"scale": tandem.ones(4)[:1]}, dynamic_shapes=({"a": {0: n}, "b": None}, {0: None})
    )
    assert keyword({"a": tandem.ones(1, 3), "b": [y]}, scale=tandem.ones(1)).tolist() == [9.0] * 3
    # Nothing that varies is what there was without it.
    assert exported(f, ({"a": x, "b": [y]},), {"pair": None})._about["entries"][0]["sizes"] == []


def test_calls_that_do_not_fit():
    b = Dim("b", min=2, max=5)
    program = exported(lambda x, y: x * y, (tandem.ones(4, 3), tandem.ones(4, 1)), {"x": {0: b}, "y": {0: b}})
    for x, y, message in (
        ((6, 3), (6, 1), r"forward: x's dim 0 \(b\) is 6, and must be from 2 to 5"),
        ((1, 3), (1, 1), r"x's dim 0 \(b\) is 1, and must be from 2 to 5"),
        ((3, 3), (4, 1), r"y's dim 0 is 4, and must be b = 3, because x's dim 0 is 3"),
        ((3, 4), (3, 1), r"expected x to be float32 \[3, 3\], got float32 \[3, 4\]"),
        ((3,), (3, 1), r"expected x to have 2 dims, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            program(tandem.ones(x), tandem.ones(y))
        assert same(program(tandem.ones(2, 3), tandem.ones(2, 1)), tandem.ones(2, 3))
    even = exported(lambda x: x * 2, (tandem.ones(4),), ({0: 2 * b},))
    with pytest.raises(ValueError, match=r"x's dim 0 is 7, which is no value of 2 \* b"):
        even(tandem.ones(7))


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (({0: Dim.AUTO(max=4)}, None), NotImplementedError, "Dim.AUTO; say Dim"),
        (({0: Dim.DYNAMIC(max=3)}, None), ValueError, "dim 0 is 4 in the example, which is not x_0 for a x_0 from 1"),
        ({"z": None}, ValueError, "'z' is no argument; they are x, y"),
        (({0: Dim("b")},), ValueError, "it is for 1 arguments, and there are 2"),
        (7, ValueError, "expected a dict or a tuple, got int"),
        (({2: Dim("b")}, None), ValueError, "x has 2 dims, and no dim 2"),
        (({-1: Dim("b")}, None), ValueError, "x has 2 dims, and no dim -1"),
        (((Dim("b"),), None), ValueError, "x has 2 dims, not 1"),
        (({0: "b"}, None), ValueError, "x's dim 0: expected a Dim, got 'b'"),
        (({0: 5}, None), ValueError, "x's dim 0 is 4 in the example, not 5"),
        (({0: Dim("b", max=3)}, None), ValueError, "x's dim 0 is 4 in the example, which is not b for a b from 1 to 3"),
        (({0: 3 * Dim("b")}, None), ValueError, r"which is not 3\*b for a b"),
        (({0: Dim("b", max=9) - 2}, None), ValueError, r"x's dim 0 would be -1: b-2 with b = 1"),
        (({0: Dim("b"), 1: Dim("b")}, None), ValueError, "b is 4 by x's dim 0, and 3 by x's dim 1"),
        (({0: Dim("b", max=8)}, {0: Dim("b", max=9)}), ValueError, "b has two ranges"),
        (({0: Dim("b"), 1: Dim("c")}, None), ValueError, "b from 1 to 1024, c from 1 to 1024 are 1048576 combinations"),
        (({0: Dim.AUTO}, None), NotImplementedError, "Dim.AUTO; say Dim"),
    ],
)  # fmt: skip
def test_what_is_no_description(spec, error, message):
    with pytest.raises(error, match=f"export: forward: dynamic_shapes: .*{message}"):
        exported(lambda x, y: x + y, (tandem.ones(4, 3), tandem.ones(4, 3)), spec)


def test_no_dims():
    for make, message in (
        (lambda: Dim("two words"), "no identifier"),
        (lambda: Dim("n", min=4, max=3), "min=4 and max=3 leave no size"),
        (lambda: Dim("n", min=-1), "leave no size"),
        (lambda: Dim("n") * 0, "the factor must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(NotImplementedError, match="by integers alone"):
        Dim("n") * 0.5


def test_functions_that_do_not_fit():
    n = Dim("n", max=200)
    x = tandem.ones(4)
    with pytest.raises(RuntimeError, match=r"with n = 1 it gives .*must not depend on sizes"):
        exported(lambda x: (x, x.shape[0]), (x,), ({0: n},))
    with pytest.raises(RuntimeError, match=r"with n = 1"):
        exported(lambda x: x + tandem.ones(4) @ tandem.ones(x.shape[0]), (x,), ({0: n},))
    with pytest.raises(
        RuntimeError, match=r"result is float32 \[\], and it is float32 \[1\]|is float32 \[2\], and it is"
    ):
        exported(lambda x: x.sum() if x.shape[0] > 1 else x, (x,), ({0: n},))
    with pytest.raises(tandem.DataReadError, match=r"test_sizes.py:\d+"):
        exported(lambda x: x if x.sum() > 0 else -x, (x,), ({0: n},))

    def sums(x):
        for k in range(x.shape[0]):  # an instruction each
            x = x.cumsum(0) * k
        return x

    with pytest.raises(NotImplementedError, match=r"more than 64 structures from its least sizes to n = 65"):
        exported(sums, (x,), ({0: n},))
    few = exported(sums, (x,), ({0: Dim("n", max=9)},))
    for k in range(1, 10):
        given = tandem.rand(k)
        assert same(few(given), sums(given))


def test_operations_that_warn_do_so_where_they_are_saved():
    """A program has nobody to warn; a size that an operation warns of refuses no other."""
    x = tandem.rand(4, 3)
    with pytest.warns(UserWarning, match="export: forward: .*degrees of freedom"):
        program = exported(lambda x: x.var(0), (x,), ({0: Dim("n", max=6)},))
    for n in range(2, 7):
        given = tandem.rand(n, 3)
        assert same(program(given), given.var(0))
    assert program(tandem.rand(1, 3)).isnan().all()
