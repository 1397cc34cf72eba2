"""Classes of tensors, and other objects, that say what operations on them do: `__torch_function__`."""

from __future__ import annotations

import copy
import pickle

import pytest
from conftest import run_in

import tandem
from tandem import nn
from tandem.nn import functional as F


class Kept(tandem.Tensor):
    def twice(self):
        return self * 2


class Finer(Kept):
    pass


class Other(tandem.Tensor):
    pass


class Logged(tandem.Tensor):
    log: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, len(args), kwargs


X = tandem.tensor([[1.0, 2.0], [3.0, 4.0]])

OPERATIONS = {
    "operator": lambda x: x + 1,
    "reflected": lambda x: 1 - x,
    "tensor on the left": lambda x: X * x,
    "parameter on the left": lambda x: nn.Parameter(X) / x,
    "power": lambda x: 2**x,
    "matmul": lambda x: X @ x,
    "unary": lambda x: -x,
    "comparison": lambda x: x > 1,
    "equality": lambda x: x == X,
    "mask": lambda x: ~(x > 1),
    "function": lambda x: tandem.sum(x, 0),
    "keyword": lambda x: tandem.add(X, other=x),
    "method": lambda x: x.exp(),
    "own method": lambda x: x.as_subclass(Kept).twice().as_subclass(type(x)),
    "list": lambda x: tandem.stack([X, x]),
    "index": lambda x: x[0],
    "mask index": lambda x: x[x > 1],
    "property": lambda x: x.T,
    "data": lambda x: x.data,
    "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(),
    "dtype": lambda x: x.double(),
    "new": lambda x: x.new_zeros(2),
    "like": lambda x: tandem.zeros_like(x),
    "nn function": lambda x: F.gelu(x),
    "python function": lambda x: F.dropout(x, 0.0),
    "einsum": lambda x: tandem.einsum("ij,jk->ik", X, x),
    "module": lambda x: nn.Linear(2, 3)(x),
    "network": lambda x: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.LayerNorm(3))(x),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_have_the_class(name, mode):
    operation = OPERATIONS[name]
    tandem.manual_seed(0)
    y = run_in(mode, operation, X.as_subclass(Kept))
    assert type(y) is Kept
    assert type(operation(X.as_subclass(Logged))) is Logged
    tandem.manual_seed(0)
    plain = run_in(mode, operation, X)
    if mode == "eager" or not name.startswith(("module", "network")):  # a compiled call draws its weights once more
        assert type(plain) is tandem.Tensor and y.tolist() == plain.tolist()


def test_results_in_tuples_and_writes_have_the_class():
    x = X.as_subclass(Kept)
    top = x.max(0)
    assert [type(t) for t in top] == [Kept] * 2 and type(top).__name__ == "max" and type(top.values) is Kept
    assert [type(t) for t in x.split(1)] == [Kept] * 2 and [type(t) for t in x] == [Kept] * 2
    y = x.clone()
    same = y.add_(1)
    y += 1
    y[0] = 0
    assert same is y and type(y) is Kept and y.tolist() == [[0, 0], [5, 6]]
    assert type(x.sum().item()) is float and type(x.shape) is tandem.Size and x.tolist() == X.tolist()


def test_gradients_pass_through_classes():
    x = X.clone().requires_grad_()
    y = (x.as_subclass(Kept) * 3).twice().sum()
    assert type(y) is Kept and y.requires_grad
    y.backward()
    assert type(x.grad) is tandem.Tensor and x.grad.tolist() == [[6.0] * 2] * 2


def test_the_finer_class_wins_and_strangers_do_not_mix():
    a, b, c = (X.as_subclass(cls) for cls in (Kept, Finer, Other))
    assert type(a + b) is Finer and type(b + a) is Finer and type(tandem.stack([a, b])) is Finer
    with pytest.raises(TypeError, match="'add': __torch_function__ of .*Kept, .*Other returned NotImplemented"):
        tandem.add(a, c)
    with pytest.raises(TypeError, match="returned NotImplemented"):
        a + c


def test_the_class_is_asked_with_what_was_called():
    x, other = X.as_subclass(Logged), X.as_subclass(Kept)
    asked = []

    class Asking(tandem.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((func, types, len(args), kwargs))
            return "answer"

    y = X.as_subclass(Asking)
    assert tandem.clamp(y, 0, max=1) == "answer" and y + 1 == "answer" and 1 + y == "answer" and y.T == "answer"
    assert F.softmax(y, -1) == "answer" and y[0] == "answer" and repr(X) != "answer"
    assert asked[:4] == [
        (tandem.clamp, (Asking,), 2, {"max": 1}),
        (tandem.Tensor.add, (Asking,), 2, None),
        (tandem.Tensor.add, (Asking,), 2, None),
        (tandem.Tensor.T.__get__, (Asking,), 1, None),
    ]
    Logged.log.clear()
    assert type(x.relu()) is Logged and Logged.log == [tandem.Tensor.relu]
    assert "Logged" not in repr(other) and repr(x).startswith("Logged([[1., 2.]")


def test_other_objects_may_answer():
    assert tandem.add(Duck(), 1) == ("add", (Duck,), 2, None)
    assert tandem.cat([X, Duck()]) == ("cat", (Duck,), 1, None)
    assert (X + Duck())[0] == "add" and (Duck() + X)[0] == "add" and (X @ Duck())[0] == "matmul"
    assert X.add(Duck())[0] == "add" and F.linear(X, Duck())[0] == "linear"


def test_classes_can_be_left_out():
    x = X.as_subclass(Kept)
    with tandem._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is tandem.Tensor and type(x[0]) is tandem.Tensor
    assert type(x + 1) is Kept
    assert type(nn.Parameter(X) + 1) is tandem.Tensor and type(nn.Buffer(X)[0]) is tandem.Tensor


def test_copies_and_pickles_keep_the_class():
    x = X.as_subclass(Kept)
    assert type(copy.copy(x)) is type(copy.deepcopy(x)) is type(pickle.loads(pickle.dumps(x))) is Kept


def test_errors_of_operations_come_through():
    x = X.as_subclass(Kept)
    with pytest.raises(RuntimeError, match="inner dimensions differ"):
        x @ tandem.ones(3, 3)
    assert type(x + 1) is Kept  # asked again after the error


def test_compiled_calls_ask_the_class_every_time():
    @tandem.compile
    def f(x):
        return x.relu() * 2

    Logged.log.clear()
    x = X.as_subclass(Logged)
    for calls in (1, 2, 3):
        assert type(f(x)) is Logged and len(Logged.log) == 2 * calls
