"""Classes of tensors, and other objects, that say what operations on them do: `__torch_function__`."""

from __future__ import annotations

import copy
import operator
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
    assert X[Duck()] == X[0, Duck()] == X[[Duck()]] == ("__getitem__", (Duck,), 2, None)
    before = X.clone()
    X[Duck()] = 1
    X[0] = Duck()
    assert tandem.equal(X, before)


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


# ---- modes ----------------------------------------------------------------------------------------------------------


class Noting(tandem.overrides.TorchFunctionMode):
    def __init__(self, log, name=""):
        super().__init__()
        self.log, self.name = log, name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(self.name + func.__name__)
        return func(*args, **(kwargs or {}))


class Answering(tandem.overrides.TorchFunctionMode):
    def __init__(self, answer):
        self.answer = answer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.answer


def test_a_mode_is_asked_about_every_operation():
    log = []
    with Noting(log) as mode:
        assert tandem.overrides._get_current_function_mode() is mode
        x = tandem.ones(2)
        y = x + 1
        tandem.add(x, y).sum()
        x[0] = 3
        _ = -x[0], 2 - x @ y, x.T
    assert log == "ones add add sum __setitem__ __getitem__ neg matmul __rsub__ __get__".split()
    assert tandem.overrides._get_current_function_mode() is None and type(x + 1) is tandem.Tensor and len(log) == 10


def test_modes_nest_the_innermost_first():
    log = []
    with Noting(log, "outer "), Noting(log, "inner "):
        tandem.zeros(1)
        with tandem.overrides.BaseTorchFunctionMode():
            assert len(tandem.overrides._get_current_function_mode_stack()) == 3
            tandem.ones(1)
    assert log == ["inner zeros", "outer zeros", "inner ones", "outer ones"]


def test_a_mode_decides_before_classes_and_may_pass():
    x = X.as_subclass(Kept)
    with Answering(42):
        assert tandem.ones(2) == 42 and x + 1 == 42
        with tandem._C.DisableTorchFunctionSubclass():
            assert tandem.ones(2) == 42
        with tandem._C.DisableTorchFunction():
            assert tandem.ones(2).tolist() == [1, 1]
        assert tandem.rand(1) == 42
    with Answering(NotImplemented):
        assert tandem.add(Duck(), 1)[0] == "add"
        with pytest.raises(TypeError, match="__torch_function__ of the mode Answering returned NotImplemented"):
            tandem.ones(2)
    with tandem.overrides.TorchFunctionMode(), pytest.raises(NotImplementedError, match="no __torch_function__"):
        tandem.ones(2)


def test_modes_end_with_their_block_and_see_what_functions_ask():
    class Failing(tandem.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise ValueError(func.__name__)

    with pytest.raises(ValueError, match="ones"), Failing():
        tandem.ones(2)
    assert tandem.overrides._len_torch_function_stack() == 0 and tandem.ones(1).item() == 1

    def double(x):
        if tandem.overrides.has_torch_function((x,)):
            return tandem.overrides.handle_torch_function(double, (x,), x)
        return x * 2

    log = []
    with Noting(log):
        assert double(3) == 6
        with pytest.warns(UserWarning, match="no longer necessary"):
            Noting.push(log)
    assert log == ["double"]


def test_modules_gradients_and_compiled_calls_under_modes():
    log = []

    @tandem.compile
    def f(x):
        return x.relu() * 2

    for _ in range(3):
        f(X)
    net = nn.Linear(2, 2)
    with Noting(log):
        net(X).sum().backward()
        assert (f(X) == X * 2).all()
    assert log[:3] == ["linear", "sum", "backward"] and "relu" in log
    log.clear()
    assert f(X).tolist() == (X * 2).tolist() and log == []
    with pytest.raises(NotImplementedError, match="use tandem.overrides.TorchFunctionMode"):
        from tandem.utils._python_dispatch import TorchDispatchMode

        with TorchDispatchMode():
            pass


# ---- what makes no tensors ------------------------------------------------------------------------------------------


def named(func):
    return f"{func.__self__.__name__}.{func.__name__}" if func.__name__ in PROPERTY else func.__name__


PROPERTY = ("__get__", "__set__", "__delete__")


class Names(tandem.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(named(func))
        return func(*args, **(kwargs or {}))


PROPERTIES = """
shape dtype device layout ndim itemsize nbytes is_cuda is_cpu is_mps is_meta is_sparse is_quantized is_nested
is_xpu is_ipu is_mtia is_maia is_vulkan is_mkldnn is_sparse_csr is_xla T mT H mH real requires_grad is_leaf
retains_grad grad grad_fn output_nr _version _base data
""".split()

# What is read of a tensor, and what PyTorch's modes are told.
READS = {
    **{name: (lambda x, name=name: getattr(x, name), [f"{name}.__get__"]) for name in PROPERTIES},
    **{
        name: (lambda x, name=name: getattr(x, name)(), [name])
        for name in """size stride dim numel storage_offset element_size data_ptr is_floating_point is_complex is_signed
        is_inference is_pinned is_shared get_device is_contiguous item tolist numpy cpu zero_ float double half
        bfloat16 int long short char byte bool is_conj is_neg share_memory_ untyped_storage is_nonzero __array__
        __dlpack_device__ __reversed__""".split()
    },
    "len()": (len, ["__len__"]),
    "bool()": (bool, ["__bool__"]),
    "int()": (int, ["__int__"]),
    "float()": (float, ["__float__"]),
    "index": (lambda x: [3, 4][x.long()[0]], ["long", "__getitem__", "__index__"]),
    "in": (lambda x: 1 in x, ["__contains__"]),
    "deepcopy": (copy.deepcopy, ["__deepcopy__"]),
    "+=": (lambda x: operator.iadd(x, 1), ["add_"]),
    "//=": (lambda x: operator.ifloordiv(x, 1), ["floor_divide_"]),
    "**=": (lambda x: operator.ipow(x, 2), ["pow_"]),
    "set grad": (lambda x: setattr(x, "grad", None), ["grad.__set__"]),
    "delete grad": (lambda x: delattr(x, "grad"), ["grad.__delete__"]),
    "set requires_grad": (lambda x: setattr(x, "requires_grad", True), ["requires_grad.__set__"]),
    "set data": (lambda x: setattr(x, "data", tandem.ones(1)), ["ones", "data.__set__"]),
    "retain_grad": (lambda x: x.requires_grad_().retain_grad(), ["requires_grad_", "retain_grad"]),
    "register_hook": (lambda x: x.requires_grad_().register_hook(print), ["requires_grad_", "register_hook"]),
}


@pytest.mark.parametrize("name", READS)
def test_modes_and_classes_are_asked_about_reads(name):
    read, expected = READS[name]
    with Names() as mode:
        read(tandem.ones(1, 1))
    assert mode.seen == ["ones", *expected]

    Logged.log = []
    read(tandem.ones(1, 1).as_subclass(Logged))
    made = [n for n in expected if n not in ("ones", "__getitem__")]
    assert [n for n in map(named, Logged.log) if n in made] == made


def test_an_answer_takes_the_place_of_what_is_read():
    class Sized(tandem.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            answers = {"shape.__get__": (7, 7), "__len__": 7, "__bool__": False, "__int__": 3, "dim": 5}
            if named(func) in answers:
                return answers[named(func)]
            if named(func) == "grad.__set__":
                raise KeyError("mine")
            return super().__torch_function__(func, types, args, kwargs or {})

    x = tandem.ones(2).as_subclass(Sized)
    assert (x.shape, len(x), bool(x), int(x), x.dim()) == ((7, 7), 7, False, 3, 5)
    with pytest.raises(KeyError, match="mine"):
        x.grad = None
    assert (x + 1).size() == (2,)


def test_the_inherited_function_is_not_asked_about_reads():
    """It would change nothing."""
    x = tandem.ones(2).as_subclass(Kept)
    assert x.shape == (2,) and len(x) == 2 and x.tolist() == [1, 1] and not x.requires_grad
    assert type(x.T) is type(x.data) is type(x.detach()) is Kept


def test_conversions_name_themselves():
    with Names() as mode:
        x = tandem.tensor([1.0, 0.0])
        assert (~x.bool() & x.bool()).tolist() == [False, False]
    assert mode.seen == ["tensor", "bool", "__invert__", "bool", "__and__", "tolist"]


def test_handle_torch_function_asks_modes_and_classes():
    def double(x):
        if tandem.overrides.has_torch_function((x,)):
            return tandem.overrides.handle_torch_function(double, (x,), x)
        return x * 2

    with Names() as mode:
        assert double(3) == 6  # the mode's call comes back with no mode
    assert mode.seen == ["double"]

    class Refusing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'double': .* of Refusing returned"):
        double(Refusing())


def test_classes_are_asked_about_functions_as_users_call_them():
    class Asked:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, args, kwargs

    a = Asked()
    assert tandem.einsum("i,i", [a, X]) == (tandem.einsum, ("i,i", a, X), {})
    assert tandem.einsum(X, [0, 1], a, [1]) == (tandem.einsum, ("AB,B", X, a), {})
    assert tandem.tensordot(X, a, 1) == (tandem.tensordot, (X, a), {"dims": 1, "out": None})
    assert tandem._assert(a, "no") is None
    assert tandem.einsum("ij->i", X.as_subclass(Kept)).tolist() == [3, 7]
    assert type(tandem.tensordot(X.as_subclass(Kept), X)) is Kept


class Choosy:
    """No Tensor; answers `answers`, and refuses the rest."""

    def __init__(self, *answers):
        self.answers = answers

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        choosy = next(a for a in args if isinstance(a, Choosy))
        return "choosy" if func in choosy.answers else NotImplemented


class Refuses(tandem.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Reflects(tandem.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "reflected" if func in (tandem.Tensor.__rpow__, tandem.Tensor.__rsub__) else NotImplemented


class Plain(tandem.Tensor):
    pass


def test_objects_beside_tensors_of_a_class_are_asked_in_their_turn():
    choosy, refuses, plain = (
        Choosy(tandem.mm),
        tandem.ones(2, 2).as_subclass(Refuses),
        tandem.ones(2, 2).as_subclass(Plain),
    )
    for args in ((choosy, refuses), (refuses, choosy), (choosy, plain)):
        assert tandem.mm(*args) == "choosy"
    with pytest.raises(TypeError, match="Refuses, Choosy returned NotImplemented"):
        tandem.div(refuses, choosy)


def test_an_operator_that_is_refused_asks_the_other_side_for_its_own():
    refuses, reflects = tandem.ones(2).as_subclass(Refuses), tandem.ones(2).as_subclass(Reflects)
    assert refuses**reflects == "reflected" and refuses - reflects == "reflected"
    with pytest.raises(TypeError, match="'div'.*returned NotImplemented"):
        refuses / reflects

    class Unit:
        def __rmul__(self, other):
            return "unit"

    assert tandem.ones(2).as_subclass(Plain) * Unit() == "unit"
    with pytest.raises(TypeError, match="unsupported operand"):
        tandem.ones(2).as_subclass(Plain) / Unit()


def test_unequal_is_the_method_ne():
    seen = []

    class Notes(tandem.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    assert (tandem.ones(2).as_subclass(Notes) != 1).tolist() == [False, False]
    assert seen[0] == tandem.Tensor.ne


def test_derivatives_ask_what_is_no_tensor():
    class Named:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args

    a, x = Named(), tandem.ones(1, requires_grad=True)
    assert tandem.autograd.grad(a, [x]) == ("grad", ((a,), (x,)))
    assert tandem.distributions.utils.broadcast_all(a, x) == ("broadcast_tensors", (a, x))
    tandem.autograd.backward([a])
    with pytest.raises(TypeError):
        tandem.autograd.grad(object(), x)
    with pytest.raises(ValueError, match="Number"):
        tandem.distributions.utils.broadcast_all(a, "x")


def test_modes_are_asked_by_plain_methods():
    class Wrong(tandem.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    with pytest.raises(RuntimeError, match="classmethod is not supported"), Wrong():
        tandem.ones(1)
