"""Steps over many parameters: those alike run together, by several threads, and get what each would get alone."""

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem
from tandem import optim

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.01, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=tandem.tensor(0.01)),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "adadelta": lambda p: optim.Adadelta(p),
    "adamax": lambda p: optim.Adamax(p),
    "nadam": lambda p: optim.NAdam(p),
    "radam": lambda p: optim.RAdam(p),
    "rprop": lambda p: optim.Rprop(p),
    "asgd": lambda p: optim.ASGD(p),
}
SHAPES = [(64,), (64, 64), (3, 5), (), (0,), (1,), (1, 1), (40_000,), (7,), (128, 200)]


@pytest.fixture(params=[1, 4])
def threads(request):
    before = tandem.get_num_threads()
    tandem.set_num_threads(request.param)
    yield
    tandem.set_num_threads(before)


def parameters(seed):
    """Rows of all kinds, most of them like the one before."""
    tandem.manual_seed(seed)
    made = [tandem.randn(shape) for shape in SHAPES for _ in range(6)]
    made += [tandem.randn(30, 20).t(), tandem.randn(8, 8).t(), tandem.randn(40)[::2]]
    made += [tandem.randn(50, dtype=tandem.float64) for _ in range(3)]
    made += [tandem.randn(50).to(tandem.bfloat16) for _ in range(3)] + [tandem.randn(50) for _ in range(3)]
    return [p.requires_grad_() for p in made]


def steps(optimizers, params):
    for n in range(3):
        for i, p in enumerate(params):
            tandem.manual_seed(100 * n + i)
            p.grad = tandem.randn(p.shape).to(p.dtype)
        for o in optimizers:
            o.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_parameters_get_what_each_gets_alone(name, threads):
    together, alone = parameters(1), parameters(1)
    one = OPTIMIZERS[name](together)
    each = [OPTIMIZERS[name]([p]) for p in alone]
    steps([one], together)
    steps(each, alone)
    for p, q, o in zip(together, alone, each, strict=True):
        assert_same_bits(p, q)
        assert p._version == q._version
        for key, value in o.state[q].items():
            if isinstance(value, tandem.Tensor):
                assert_same_bits(one.state[p][key], value)


def overlapping(kind):
    if kind == "windows":
        base = tandem.linspace(-1, 1, 40_000)
        params = [base[i * 3000 : i * 3000 + 6000] for i in range(12)]
    elif kind == "arrays":
        array = np.linspace(-1, 1, 40_000, dtype=np.float32)
        params = [tandem.from_numpy(array[i * 3000 : i * 3000 + 6000]) for i in range(12)]
    else:
        whole = tandem.linspace(-1, 1, 6000)
        params = [whole.detach() for _ in range(12)]
    return [p.detach().requires_grad_() for p in params]


@pytest.mark.parametrize("kind", ["windows", "arrays", "the same"])
def test_parameters_on_one_memory_are_updated_one_after_the_other(kind, threads):
    together, alone = overlapping(kind), overlapping(kind)
    steps([OPTIMIZERS["adamw"](together)], together)
    steps([OPTIMIZERS["adamw"]([p]) for p in alone], alone)
    for p, q in zip(together, alone, strict=True):
        assert_same_bits(p, q)


def test_a_gradient_on_the_memory_of_another_parameter_is_read_as_that_leaves_it(threads):
    def made():
        tandem.manual_seed(3)
        params = [tandem.randn(9000).requires_grad_() for _ in range(8)]
        for p, before in zip(params[1:], params, strict=False):
            p.grad = before.detach()
        params[0].grad = tandem.ones(9000)
        return params

    together, alone = made(), made()
    optim.SGD(together, lr=0.5, momentum=0.9).step()
    for p in alone:
        optim.SGD([p], lr=0.5, momentum=0.9).step()
    for p, q in zip(together, alone, strict=True):
        assert_same_bits(p, q)


def test_what_does_not_fit_is_an_error_that_names_the_shapes():
    params = [tandem.zeros(3, requires_grad=True) for _ in range(4)]
    optimizer = optim.AdamW(params)
    steps([optimizer], params)
    optimizer.state[params[2]]["exp_avg"] = tandem.zeros(5)
    with pytest.raises(RuntimeError, match=r"parameter of shape \[3\], but operand 1 of shape \[5\]"):
        optimizer.step()
