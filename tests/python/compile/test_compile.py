"""`compile`: what a call depends on, and that a repeated call runs no Python. Its effects: test_compile_state.py."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest
from compiling import Net, counting, vector
from conftest import assert_same_bits

import tandem
from tandem import nn

FACTOR = 2.0


# ---- signatures -----------------------------------------------------------------------------------------------------


def test_a_repeated_call_runs_no_python():
    f = counting(lambda x: tandem.tanh(x) * 2 + x.sum())
    x = tandem.randn(5, 7)
    before = tandem.counters()["graph_traces"]
    results = [f(x) for _ in range(4)]
    assert f.runs == 1 and tandem.counters()["graph_traces"] == before + 1
    for y in results:
        assert_same_bits(y, tandem.tanh(x) * 2 + x.sum())
    assert len({y.data_ptr() for y in results}) == 4


def test_new_values_need_no_trace():
    f = counting(lambda x, y: x @ y)
    for _ in range(3):
        x, y = tandem.randn(3, 4), tandem.randn(4, 5)
        assert_same_bits(f(x, y), x @ y)
    assert f.runs == 1


@pytest.mark.parametrize(
    "change", ["dtype", "shape", "rank", "requires_grad", "grad mode", "strides", "int", "bool", "str", "None"]
)
def test_what_is_part_of_the_signature(change):
    def body(x, n=2, flag=False, mode="a", extra=None):
        y = x * n
        if flag:
            y = y + 1
        if mode == "b":
            y = y - 5
        return y if extra is None else y + extra

    f = counting(body)
    x = tandem.randn(4, 4)
    f(x)
    args, kwargs = (x,), {}
    if change == "dtype":
        args = (x.double(),)
    elif change == "shape":
        args = (tandem.randn(4, 6),)
    elif change == "rank":
        args = (tandem.randn(4),)
    elif change == "requires_grad":
        args = (x.clone().requires_grad_(),)
    elif change == "strides":
        args = (x.t(),)
    elif change == "int":
        kwargs = {"n": 3}
    elif change == "bool":
        kwargs = {"flag": True}
    elif change == "str":
        kwargs = {"mode": "b"}
    elif change == "None":
        kwargs = {"extra": vector(1)}
    with tandem.set_grad_enabled(change != "grad mode"):
        assert_same_bits(f(*args, **kwargs), body(*args, **kwargs))
        f(*args, **kwargs)
    assert f.runs == 2
    assert_same_bits(f(x), body(x))
    assert f.runs == 2


def test_new_shapes_compile_no_kernel():
    f = tandem.compile(lambda x, b: tandem.softmax(tandem.tanh(x * 2 + b), -1).sum(0))
    f(tandem.randn(8, 20), tandem.randn(20))
    before = tandem.counters()["kernel_compiles"]
    for rows, columns in ((9, 20), (31, 47), (100, 64)):
        x, b = tandem.randn(rows, columns), tandem.randn(columns)
        y = f(x, b)
        assert y.shape == (columns,)
    assert tandem.counters()["kernel_compiles"] == before


def test_floats_are_run_time_values():
    f = counting(lambda x, a, b=1.0: x * a + tandem.exp(x) / b - a * b)
    x = tandem.randn(6)
    for a, b in ((1.5, 2.0), (-0.25, 3.0), (0.0, 0.5), (1.0, 1.0)):
        assert_same_bits(f(x, a, b=b), x * a + tandem.exp(x) / b - a * b)
    assert f.runs == 1


def test_arithmetic_of_float_arguments():
    def body(x, s):
        return x * (s + 1) + (2 - s) * x - x / (s * s) + (-s) * x

    f = counting(body)
    x = tandem.rand(6) + 0.5
    for s in (1.5, 0.25, 3.0):
        np.testing.assert_allclose(f(x, s).numpy(), body(x, s).numpy(), rtol=1e-6)
        assert_same_bits(f(x, s), body(x, s))
    assert f.runs == 1


def test_an_exponent_is_a_run_time_value():
    f = counting(lambda x, s: x**s)
    x = tandem.rand(6) + 0.5
    for s in (1.5, 2.0, 0.5, 1.5, 2.0):
        assert_same_bits(f(x, s), x**s)
    assert f.runs == 1


def test_a_comparison_guards_the_value_of_a_float():
    def body(x, s):
        return x * s if s > 1 else x - s

    f = counting(body)
    x = tandem.randn(4)
    for s in (2.0, 0.5, 2.0, 0.5):
        assert_same_bits(f(x, s), body(x, s))
    assert f.runs == 2


def test_nested_containers_and_keywords():
    def body(batch, *rest, weights, **options):
        total = batch["x"] * weights[0][0] + batch["pair"][1]
        for r in rest:
            total = total + r
        return {"total": total, "parts": [total.sum(), (options["shift"] + total, None, "name")]}

    f = counting(body)
    for _ in range(3):
        x, y, z, w = (tandem.randn(3) for _ in range(4))
        args = ({"x": x, "pair": (z, y)}, z, w)
        options = {"weights": [(w, 1)], "shift": y}
        got, want = f(*args, **options), body(*args, **options)
        assert list(got) == ["total", "parts"] and isinstance(got["parts"][1], tuple)
        assert got["parts"][1][1:] == (None, "name")
        assert_same_bits(got["total"], want["total"])
        assert_same_bits(got["parts"][0], want["parts"][0])
        assert_same_bits(got["parts"][1][0], want["parts"][1][0])
    assert f.runs == 1


def test_containers_of_other_lengths_are_other_signatures():
    f = counting(lambda xs: sum(xs[1:], xs[0]))
    xs = [tandem.randn(3) for _ in range(4)]
    assert_same_bits(f(xs[:2]), xs[0] + xs[1])
    assert_same_bits(f(xs), xs[0] + xs[1] + xs[2] + xs[3])
    assert_same_bits(f(tuple(xs[:2])), xs[0] + xs[1])
    assert f.runs == 3


@pytest.mark.parametrize("other", ["same", "overlapping", "distinct"])
def test_alias_patterns(other):
    def body(x, y):
        x.mul_(2)
        return y + 1, x * y

    def arguments(kind):
        base = vector(*range(8))
        x = base[:6]
        return (x, {"same": x, "overlapping": base[2:], "distinct": vector(*range(2, 8))}[kind]), base

    f = counting(body)
    for kind in ("distinct", other, "same", other):
        args, base = arguments(kind)
        expected_args, expected_base = arguments(kind)
        got, want = f(*args), body(*expected_args)
        for a, b in zip(got, want, strict=True):
            assert_same_bits(a, b)
        assert_same_bits(base, expected_base)
    # Memory that arguments share in part is taken whole, which takes a second look.
    assert f.runs == len({"distinct", other, "same"}) + (other == "overlapping")


def test_strided_arguments():
    f = counting(lambda x: (x * 2).sum(1) + x[:, 0])
    base = tandem.randn(12, 10)
    for x in (base, base[::2], base[:, ::3], base.t(), base[1:, 2:], base[:1].expand(12, 10), base[:0]):
        assert_same_bits(f(x), (x * 2).sum(1) + x[:, 0])
        assert_same_bits(f(x), (x * 2).sum(1) + x[:, 0])


def test_results_that_are_arguments_views_and_constants():
    x, captured = tandem.randn(3, 4), tandem.randn(2)

    @tandem.compile
    def f(x):
        y = x + 1
        return x, x.t(), y, y[1:], captured, 7, "text", None

    for _ in range(2):
        same, transposed, y, part, c, *rest = f(x)
        assert same is x and c is captured and rest == [7, "text", None]
        assert transposed.data_ptr() == x.data_ptr() and transposed.stride() == (1, 4)
        y.mul_(0)
        assert part.sum().item() == 0


# ---- what a function reaches outside its arguments ------------------------------------------------------------------


def test_captured_tensors_are_read_at_each_call():
    w, buffer = tandem.randn(4), tandem.zeros(4)

    def body(x):
        buffer.mul_(0.5).add_(x)
        return x * w + buffer

    f = counting(body)
    x, mirror = tandem.randn(4), tandem.zeros(4)
    for i in range(4):
        if i == 2:
            w.fill_(3.0)
        mirror.mul_(0.5).add_(x)
        assert_same_bits(f(x), x * w + mirror)
        assert_same_bits(buffer, mirror)
    assert f.runs == 1


def test_data_of_a_captured_tensor_may_be_replaced():
    w = tandem.randn(4)
    f = counting(lambda x: x * w)
    x = tandem.randn(4)
    f(x)
    w.data = tandem.ones(4)
    assert_same_bits(f(x), x)


def test_globals_and_cells_that_are_rebound():
    global FACTOR
    cell = tandem.ones(3)

    @tandem.compile
    def f(x):
        return x * FACTOR + cell

    x = tandem.randn(3)
    try:
        assert_same_bits(f(x), x * 2.0 + cell)
        FACTOR = 5.0
        assert_same_bits(f(x), x * 5.0 + cell)
        cell = tandem.full((3,), 4.0)
        assert_same_bits(f(x), x * 5.0 + cell)
        assert_same_bits(f(x), x * 5.0 + cell)
        assert f.runs == 3
    finally:
        FACTOR = 2.0


def test_cells_of_functions_that_an_attribute_holds():
    cell = tandem.ones(3)
    f = counting(lambda x: x * cell)
    x = tandem.randn(3)
    assert_same_bits(f(x), x)
    cell = tandem.full((3,), 4.0)
    assert_same_bits(f(x), x * 4)
    assert f.runs == 2


def helper(x):
    return x * 2


def test_functions_called_by_the_function_are_watched():
    global helper
    old = helper
    f = counting(lambda x: helper(x) + 1)
    x = tandem.randn(3)
    try:
        assert_same_bits(f(x), x * 2 + 1)
        helper = lambda x: x * 3  # noqa: E731
        assert_same_bits(f(x), x * 3 + 1)
    finally:
        helper = old


def test_lists_and_dicts_are_watched_where_they_are_read():
    layers, options = [vector(1, 2), vector(3, 4)], {"shift": 1}

    @tandem.compile
    def f(x):
        for w in layers:
            x = x * w
        return x + options["shift"]

    x = vector(1, 1)
    assert f(x).tolist() == [4, 9]
    layers.append(vector(2, 2))
    assert f(x).tolist() == [7, 17]
    layers[0] = vector(0, 0)
    assert f(x).tolist() == [1, 1]
    options["shift"] = 10
    assert f(x).tolist() == [10, 10]


def test_module_flags_and_attributes_are_guarded():
    net = Net()
    compiled = tandem.compile(net)
    x = tandem.randn(5, 6)

    def both():
        tandem.manual_seed(3)
        got = compiled(x)
        tandem.manual_seed(3)
        return got, net(x)

    assert_same_bits(*both())
    assert_same_bits(*both())
    net.eval()
    assert_same_bits(*both())
    net.slope = 3
    assert_same_bits(*both())
    net.train()
    net.drop.p = 0.1
    assert_same_bits(*both())
    assert net.calls.item() == 10


def test_parameters_and_submodules_may_be_replaced():
    net = Net().eval()
    f = counting(lambda x: net(x))
    x = tandem.randn(2, 6)
    assert_same_bits(f(x), net(x))
    net.first.weight = nn.Parameter(tandem.randn(8, 6))
    assert_same_bits(f(x), net(x))
    net.second = nn.Linear(8, 3, bias=False)
    assert_same_bits(f(x), net(x))
    net.load_state_dict({k: v + 1 for k, v in net.state_dict().items()})
    runs = f.runs
    assert_same_bits(f(x), net(x))
    assert f.runs == runs


def test_methods_and_compiled_modules():
    net = Net().eval()
    x = tandem.randn(2, 6)
    step = tandem.compile(net.forward)
    assert_same_bits(step(x), net(x))
    assert_same_bits(step(x), net(x))
    compiled = tandem.compile(net)
    assert isinstance(compiled, nn.Module)
    assert {id(p) for p in compiled.parameters()} == {id(p) for p in net.parameters()}
    assert_same_bits(compiled(x), net(x))


def test_pytorch_options_are_accepted():
    f = tandem.compile(lambda x: x + 1, fullgraph=True, dynamic=True, mode="reduce-overhead")
    assert f(vector(1)).tolist() == [2]
    assert tandem.compile(helper, disable=True) is helper

    @tandem.compile(mode="max-autotune", fullgraph=False)
    def g(x):
        """The doc."""
        return x * 2

    assert g(vector(1)).tolist() == [2] and g.__name__ == "g" and g.__doc__ == "The doc."


def test_a_comparison_of_tensors_can_be_returned():
    f = tandem.compile(lambda x, y: (tandem.allclose(x, y), {"equal": tandem.equal(x, y)}, x + y))
    for a, b, close, same in ((1, 1, True, True), (1, 2, False, False), (1, 1 + 1e-6, True, False)):
        got = f(vector(a), vector(b))
        assert got[:2] == (close, {"equal": same}) and type(got[0]) is bool and type(got[1]["equal"]) is bool
    for value in (1, 2):
        assert tandem.compile(lambda x: x * 2 if tandem.allclose(x, x) else x)(vector(value)).tolist() == [2 * value]
    with pytest.raises(tandem.DataReadError, match=r"test_compile\.py:\d+"):
        tandem.compile(lambda x: x * 2 if tandem.allclose(x, x) else x, fullgraph=True)(vector(1))


def test_collections_are_no_part_of_the_body():
    """What the cyclic collector runs is not watched: it waits, but not for a body that runs on every call."""
    runs = []
    before = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: runs.append(time.perf_counter()))
    gc.set_threshold(1)
    try:
        f = tandem.compile(lambda x: [[x * k] for k in range(20)][-1][0], fullgraph=True)
        assert f(vector(3)).tolist() == f(vector(3)).tolist() == [57]
        assert gc.isenabled() and runs
        seen = tandem.compile(lambda x: (x + 1, gc.isenabled()))
        assert [seen(vector(1))[1] for _ in range(3)] == [True] * 3
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()


def test_what_collections_do_to_tensors_is_no_part_of_the_plan():
    count = tandem.zeros(())
    before = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: count.add_(1))
    gc.set_threshold(1)
    try:
        f = tandem.compile(lambda x: [[x * k] for k in range(20)][-1][0], fullgraph=True)
        f(vector(3))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()
    seen = count.item()
    assert seen > 0 and [f(vector(3)).item() for _ in range(3)] == [57] * 3 and count.item() == seen
