"""Lists of tensors on a GPU: optimizers, `_foreach_*`, clipping and unscaling take a launch or two for all of them,
with the CPU's bits."""

from __future__ import annotations

import math

import devices
import pytest
import stand_ins
from same_bits import assert_same_bits

import tandem
from tandem import Tensor, nn

devices.emulate()

CUDA = "cuda"
# Some of one element, some that fill no vector, three that are cut into pieces.
SIZES = [(1,), (), (3,), (64,), (5, 7), (64,), (1024,), (1025,), (130, 131), (20000,), (64,), (1 << 18,)]
OPTIMIZERS = {
    "SGD": {"lr": 0.1},
    "SGD momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.1},
    "Adam amsgrad": {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"lr": 0.1},
    "RMSprop": {"lr": 0.1, "momentum": 0.5, "centered": True},
    "NAdam": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 0.1},
    "Adamax": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "Rprop": {"lr": 0.1},
    "ASGD": {"lr": 0.1},
}


def made(sizes: list[tuple[int, ...]], *dtypes: tandem.dtype, seed: int = 0) -> list[Tensor]:
    tandem.manual_seed(seed)
    dtypes = dtypes or (tandem.float32,)
    return [(tandem.randn(size) * 3).to(dtypes[i % len(dtypes)]) for i, size in enumerate(sizes)]


def launches() -> int:
    return tandem.counters()["kernel_launches"]


def steps(place: str, name: str, *dtypes: tandem.dtype) -> list[Tensor]:
    params = [t.to(place).requires_grad_() for t in made(SIZES, *dtypes)]
    optimizer = getattr(tandem.optim, name.partition(" ")[0])(params, **OPTIMIZERS[name])
    for step in range(2):
        for p, g in zip(params, made(SIZES, *dtypes, seed=step + 1), strict=True):
            p.grad = g.to(place)
        optimizer.step()
    states = [value for p in params for value in optimizer.state[p].values() if isinstance(value, Tensor)]
    return [t.detach().cpu() for t in (*params, *states)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_have_the_bits_of_the_cpu(name):
    for here, there in zip(steps("cpu", name), steps(CUDA, name), strict=True):
        assert_same_bits(there, here)


def test_dtypes_in_turn():
    for dtypes in ((tandem.float64,), (tandem.float32, tandem.bfloat16), (tandem.float16, tandem.float32)):
        for here, there in zip(steps("cpu", "AdamW", *dtypes), steps(CUDA, "AdamW", *dtypes), strict=True):
            assert_same_bits(there, here)


@pytest.mark.parametrize(("dtypes", "most"), [((tandem.float32,), 8), ((tandem.float32, tandem.bfloat16), 16)])
def test_a_step_is_a_few_launches(dtypes, most):
    params = [t.to(CUDA).requires_grad_() for t in made([(64,)] * 200, *dtypes)]
    for p in params:
        p.grad = tandem.ones_like(p)
    optimizer = tandem.optim.AdamW(params)
    optimizer.step()
    before = launches()
    optimizer.step()
    assert launches() - before <= most


def test_what_shares_memory_goes_one_after_another():
    """Views of one memory, and one parameter twice, are updated in their order."""
    results = []
    for place in ("cpu", CUDA):
        memory = tandem.arange(96.0).to(place)
        params = [memory[:64].requires_grad_(), memory[32:].requires_grad_()]
        for p in params:
            p.grad = tandem.ones_like(p)
        with pytest.warns(UserWarning, match="duplicate"):
            optimizer = tandem.optim.SGD([*params, params[0]], lr=0.1, momentum=0.9, weight_decay=0.5)
        optimizer.step()
        optimizer.step()
        lists = [memory.clone() for _ in range(2)]
        lists.append(lists[0][8:40])
        tandem._foreach_mul_(lists, 2.0)
        tandem._foreach_add_(lists, [lists[1], lists[0], lists[1][:32]])
        results.append([memory.detach().cpu(), *(t.detach().cpu() for t in lists)])
    for here, there in zip(*results, strict=True):
        assert_same_bits(there, here)


def test_parameters_without_a_dense_layout():
    results = []
    for place in ("cpu", CUDA):
        dense, turned, apart = (t.to(place) for t in made([(8, 9), (8, 9), (8, 18)]))
        params = [dense.requires_grad_(), turned.t().detach().requires_grad_(), apart[:, ::2].detach().requires_grad_()]
        for p in params:
            p.grad = tandem.ones_like(p)
        optimizer = tandem.optim.Adam(params, lr=0.1)
        optimizer.step()
        results.append([p.detach().cpu() for p in params])
    for here, there in zip(*results, strict=True):
        assert_same_bits(there.contiguous(), here.contiguous())


FOREACH = {
    "_foreach_add": lambda f, a, b: f(a, b),
    "_foreach_mul": lambda f, a, b: f(a, 1.5),
    "_foreach_sub": lambda f, a, b: f(a, [float(i) for i in range(len(a))]),
    "_foreach_div": lambda f, a, b: f(a, tandem.tensor(3.0, device=a[0].device)),
    "_foreach_neg": lambda f, a, b: f(a),
    "_foreach_exp": lambda f, a, b: f(a),
    "_foreach_maximum": lambda f, a, b: f(a, b),
    "_foreach_sqrt_": lambda f, a, b: f(a),
    "_foreach_mul_": lambda f, a, b: f(a, b),
    "_foreach_add_": lambda f, a, b: f(a, 2),
    "_foreach_addcdiv_": lambda f, a, b: f(a, b, a, 0.5),
}


@pytest.mark.parametrize("name", FOREACH)
def test_operations_on_lists(name):
    results = []
    for place in ("cpu", CUDA):
        a, b = ([t.to(place) for t in made(SIZES, seed=seed)] for seed in (1, 2))
        out = FOREACH[name](getattr(tandem, name), a, b)
        assert (out is a) == name.endswith("_")
        results.append([t.cpu() for t in out])
    for here, there in zip(*results, strict=True):
        assert_same_bits(there, here)


def test_operations_on_lists_of_all_kinds():
    """Integers, histories, broadcasting, unlike devices, recordings: as the operation would have it for each."""
    for place in ("cpu", CUDA):
        x = tandem.arange(4, device=place)
        assert [t.tolist() for t in tandem._foreach_add([x, x * 2], 1)] == [[1, 2, 3, 4], [1, 3, 5, 7]]
        w = tandem.ones(3, device=place, requires_grad=True)
        a, b = tandem._foreach_mul([w, w.detach()], [2.0, 3.0])
        (a.sum() + b.sum()).backward()
        assert w.grad.tolist() == [2.0, 2.0, 2.0] and a.requires_grad and not b.requires_grad
        with pytest.raises(RuntimeError, match="leaf"):
            tandem._foreach_add_([w], 1.0)
        wide = tandem._foreach_add([tandem.ones(2, 3, device=place)], [tandem.ones(3, device=place)])
        assert wide[0].tolist() == [[2.0] * 3] * 2
        y = tandem.ones(8, device=place)
        with pytest.raises(RuntimeError, match="doesn't match|shape"):
            tandem._foreach_add_([y, y[:2]], [tandem.ones(8, device=place), tandem.ones(5, device=place)])
        assert y.tolist() == [2.0] * 8  # the ones before the wrong one
        version = y._version
        tandem._foreach_mul_([y], 2.0)
        assert y._version == version + 1
        with tandem.lazy():
            z = tandem._foreach_mul([y, y], 0.5)
        assert z[1].tolist() == [2.0] * 8
    mixed = tandem._foreach_mul([tandem.ones(2), tandem.ones(2, device=CUDA)], 2.0)
    assert [t.device.type for t in mixed] == ["cpu", "cuda"]


@pytest.mark.parametrize("dtypes", [(tandem.float32,), (tandem.float64,), (tandem.float32, tandem.float64)], ids=str)
def test_clipping(dtypes):
    results = []
    sizes = [*SIZES, (70000,)]
    for place in ("cpu", CUDA):
        params = [t.to(place).requires_grad_() for t in made(sizes, *dtypes)]
        for p, g in zip(params, made(sizes, *dtypes, seed=3), strict=True):
            p.grad = g.to(place)
        before = [p.grad.clone() for p in params]
        norm = nn.utils.clip_grad_norm_(params, 1.0)
        one_by_one = tandem.sqrt(tandem.stack([(g * g).sum() for g in before]).sum())
        assert_same_bits(norm, one_by_one)
        results.append([norm.cpu(), *(p.grad.cpu() for p in params)])
    for here, there in zip(*results, strict=True):
        assert_same_bits(there, here)


def test_clipping_is_a_few_launches():
    params = [t.to(CUDA).requires_grad_() for t in made([(64,)] * 200)]
    for p in params:
        p.grad = tandem.ones_like(p)
    nn.utils.clip_grad_norm_(params, 1.0)
    before = launches()
    nn.utils.clip_grad_norm_(params, 1.0)
    assert launches() - before <= 14


@pytest.mark.parametrize("bad", [None, math.inf, math.nan])
def test_unscaling(bad):
    results = []
    for place in ("cpu", CUDA):
        params = [t.to(place).requires_grad_() for t in made(SIZES)]
        for p, g in zip(params, made(SIZES, seed=3), strict=True):
            p.grad = g.to(place)
        if bad is not None:
            params[-2].grad[5] = bad
        scaler = tandem.amp.GradScaler(place, init_scale=8.0)
        scaler.scale(tandem.ones(1, device=place))
        optimizer = tandem.optim.SGD(params, lr=0.1)
        scaler.unscale_(optimizer)
        grads = [p.grad.cpu() for p in params]
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == (8.0 if bad is None else 4.0)
        results.append([*grads, *(p.detach().cpu() for p in params)])
    for here, there in zip(*results, strict=True):
        assert_same_bits(there, here)


def test_in_a_graph():
    """What a step of many parameters queues is captured as it is, and replayed on what the parameters are then."""
    params = [t.to(CUDA).requires_grad_() for t in made([(64,)] * 100)]
    twins = [p.detach().cpu().requires_grad_() for p in params]
    for p, q in zip(params, twins, strict=True):
        p.grad, q.grad = tandem.ones_like(p), tandem.ones_like(q)
    here, there = (tandem.optim.Adam(all_, lr=0.1) for all_ in (twins, params))
    there.step()
    here.step()
    graph = tandem.cuda.CUDAGraph()
    with tandem.cuda.graph(graph):
        there.step()
    for _ in range(3):
        graph.replay()
        here.step()
    for p, q in zip(params, twins, strict=True):
        assert_same_bits(p.detach().cpu(), q.detach())


STEP = """
import tandem
params = [tandem.ones(n, device='cuda', requires_grad=True) for n in (3, 70, 1000)]
for p in params:
    p.grad = tandem.ones_like(p)
optimizer = tandem.optim.SGD(params, lr=0.1, momentum=0.9)
optimizer.step()  # which makes the momentum
tandem.compile(optimizer.step)()
"""


def test_a_list_is_compiled_once(tmp_path):
    """By its own kernel, and not by that of one parameter as well."""
    texts = [path.read_text() for path in stand_ins.dumped(tmp_path, STEP)]
    assert len(texts) == 3, [text[-800:] for text in texts]
