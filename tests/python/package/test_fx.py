"""Graphs of Python functions: `tandem.fx`."""

from __future__ import annotations

import copy
import math
import operator
import pickle

import pytest

import tandem
from tandem import fx, nn
from tandem.nn import functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.w = nn.Parameter(tandem.ones(3))
        self.register_buffer("b", tandem.arange(3.0))
        self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x, scale=2.0):
        first, rest = tandem.split(x, [1, 2], dim=1)
        y = self.layer(x) * self.w.exp() + self.b
        y = self.body(y)
        y = F.softmax(y, dim=-1) + F.interpolate(y[None], scale_factor=1.0)[0]
        z = tandem.einsum("ij,kj->ik", y, y)
        return {"z": z * math.sqrt(2) + x.shape[0] * scale, "first": first + rest.sum(1, keepdim=True)}


X = tandem.linspace(-1, 1, 12).reshape(4, 3)


def same(a, b):
    return a.keys() == b.keys() and all(tandem.equal(a[k], b[k]) for k in a)


def test_a_traced_module_gives_the_same():
    model = Model()
    traced = fx.symbolic_trace(model)
    assert same(traced(X), model(X)) and same(traced(X, 3.0), model(X, 3.0))
    assert [n.op for n in traced.graph.nodes].count("call_module") == 3
    assert traced.state_dict().keys() == model.state_dict().keys()
    traced(X)["z"].sum().backward()
    assert model.w.grad is not None


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles_run_the_same_code(again):
    traced = fx.symbolic_trace(Model())
    other = again(traced)
    assert isinstance(other, fx.GraphModule) and other.code == traced.code and type(other).__name__ == "Model"
    expected = traced(X)
    assert same(other(X), expected)
    other.graph.output_node().args = (next(iter(other.graph.nodes)),)
    other.recompile()
    assert tandem.equal(other(X), X) and same(traced(X), expected)


def test_interpreters_and_transformers_run_it():
    traced = fx.symbolic_trace(Model())
    assert same(fx.Interpreter(traced).run(X), traced(X))
    assert same(fx.Transformer(traced).transform()(X), traced(X))


def test_graph_modules_are_compiled():
    traced = fx.symbolic_trace(Model())
    compiled = tandem.compile(traced)
    for _ in range(3):
        assert same(compiled(X), traced(X))


def test_operations_on_parameters_alone_follow_them():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(tandem.ones(2, 3))

        def forward(self, x):
            return x @ self.w.t() * self.w.shape[0]

    model = Scaled()
    traced = fx.symbolic_trace(model)
    with tandem.no_grad():
        model.w.fill_(2.0)
    assert tandem.equal(traced(X), model(X))
    with tandem.no_grad():
        traced.w.mul_(2)
    assert tandem.equal(traced(X), model(X))


def test_modules_are_called_as_before_after_a_trace():
    call = nn.Module.__call__
    for function in (lambda x: x + 1, lambda x: x if x > 0 else -x):
        try:
            fx.symbolic_trace(function)
        except fx.proxy.TraceError:
            pass
    assert nn.Module.__call__ is call and math.sqrt(4.0) == 2.0
    assert F.softmax.__module__.startswith("tandem")


def test_arguments_of_all_kinds_have_places():
    def function(a, b=2, *rest, c, **names):
        return a + b + rest[0] + c + names["d"]

    traced = fx.symbolic_trace(function, {"b": 5})
    assert [n.target for n in traced.graph.find_nodes(op="placeholder")] == ["a", "b", "*rest", "c", "**names"]
    assert traced(1, 5, 2, c=3, d=4) == 15
    simple = fx.symbolic_trace(lambda *args, **kwargs: args[1] - kwargs["y"])
    assert simple(1, 2, y=3) == -1


def test_conditions_and_loops_of_proxies_are_errors():
    for function, words in (
        (lambda x: x if x > 0 else -x, "control flow"),
        (lambda x: [y for y in x], "cannot be iterated"),
        (len, "'len' is not supported"),
    ):
        with pytest.raises((fx.proxy.TraceError, RuntimeError), match=words):
            fx.symbolic_trace(lambda x, f=function: f(x), {"f": function})


def test_graphs_are_built_and_changed_by_hand():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x", tandem.Tensor))
    tandem._assert(x.shape[-1] == 3, "three columns")
    y = tandem.tensordot(x, x, dims=([1], [1]))
    z = (2 - y) ** 2
    graph.output(z.node, tandem.Tensor)
    graph.lint()
    module = fx.GraphModule({}, graph)
    assert tandem.equal(module(X), (2 - X @ X.T) ** 2)
    with pytest.raises(AssertionError, match="three columns"):
        module(X[:, :2])

    einsum = fx.symbolic_trace(lambda a, b: tandem.einsum("ij,jk", [a, b]))
    (node,) = einsum.graph.find_nodes(op="call_function")
    assert node.target is tandem.einsum and [str(a) for a in node.args] == ["ij,jk", "a", "b"]


def test_nodes_are_moved_replaced_and_erased():
    traced = fx.symbolic_trace(lambda x: (x * 2).relu() + 1)
    graph = traced.graph
    relu = graph.find_nodes(op="call_method")[0]
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(relu)
    with graph.inserting_after(relu):
        neg = graph.call_function(operator.neg, (relu,))
    relu.replace_all_uses_with(neg, lambda user: user is not neg)
    unused = graph.call_function(operator.add, (relu, 1))
    graph.output_node().prepend(unused)
    assert graph.eliminate_dead_code() and unused not in list(graph.nodes)
    traced.recompile()
    assert traced(tandem.tensor(3.0)).item() == -5
    assert graph.lint() is None and [n.name for n in graph.nodes] == ["x", "mul", "relu", "neg", "add", "output"]
    with pytest.raises(NotImplementedError, match="does not support mutation"):
        fx.symbolic_trace(lambda x: tandem.cat([x, x])).graph.find_nodes(op="call_function")[0].args[0].append(1)


def test_a_pattern_is_replaced_wherever_it_is():
    traced = fx.symbolic_trace(lambda x, y: tandem.sigmoid(x) * x + tandem.sigmoid(y) * y)
    found = fx.replace_pattern(traced, lambda a: tandem.sigmoid(a) * a, lambda a: F.silu(a))
    assert len(found) == 2 and "sigmoid" not in traced.code
    assert tandem.allclose(traced(X, X + 1), F.silu(X) + F.silu(X + 1))
    # Not where something else reads what is on the way.
    shared = fx.symbolic_trace(lambda x: (lambda s: s * x + s)(tandem.sigmoid(x)))
    assert fx.replace_pattern(shared, lambda a: tandem.sigmoid(a) * a, lambda a: F.silu(a)) == []


def test_attributes_are_taken_from_dicts_and_modules():
    graph = fx.Graph()
    graph.output(graph.call_module("a.layer", (graph.get_attr("a.shift"),)))
    module = fx.GraphModule({"a.layer": nn.ReLU(), "a.shift": tandem.tensor([-1.0, 2.0])}, graph)
    assert module().tolist() == [0, 2] and list(module.state_dict()) == ["a.shift"]
    with pytest.raises(RuntimeError, match="references attribute a.shift"):
        fx.GraphModule({"a.layer": nn.ReLU()}, graph)
