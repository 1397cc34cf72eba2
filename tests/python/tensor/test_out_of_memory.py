"""Every allocation made to fail, one after the other. Each time there is an exception, or the right result where a plan
that fails is followed by the body; all tensors are as before, and the same call works afterwards."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from operations import VISIBLE, Typed, dtypes
from samples import samples

import tandem
from tandem import _C, nn

F = nn.functional
MOST = 400


def picture(tensors):
    """All that is to see of tensors and their gradients."""
    return [
        (t.detach().clone().numpy().tobytes(), t.shape, t.requires_grad, t.is_leaf, None if g is None else g.tolist())
        for t in tensors
        for g in (t.grad if t.is_leaf else None,)
    ]


def values(results):
    if isinstance(results, tandem.Tensor):
        return picture([results])
    return [values(r) if isinstance(r, (tandem.Tensor, list, tuple)) else r for r in results or ()]


def sweep(make, run, block=False, partly=False):
    """`run(*make())` with each of its allocations failing in turn; how many there are.

    `block`: a lazy one, which keeps of its steps what eager would have kept, each tensor whole. `partly`: it changes
    tensors before it takes the last memory, and says so where that fails.
    """
    tensors = make()
    tandem.manual_seed(3)
    wanted = values(run(*tensors)), picture(tensors)
    for place in range(MOST):
        tensors = make()
        before = picture(tensors)
        tandem.manual_seed(3)
        raised, results = None, None
        _C._fail_allocation(place)
        try:
            results = run(*tensors)
        except tandem.OutOfMemoryError as error:
            raised = error
        finally:
            failed = _C._fail_allocation(-1)
        if raised is None:
            assert (values(results), picture(tensors)) == wanted, f"allocation {place}"
            if not failed:
                return place
        else:
            assert "out of memory" in str(raised)
            left = picture(tensors)
            if "in the middle of a run" in str(raised):
                assert partly, f"allocation {place}"
                tensors = make()
            elif block:
                assert all(t in either for t, *either in zip(left, before, wanted[1], strict=True)), f"{place}"
                tensors = make()
            else:
                assert left == before, f"allocation {place}"
            tandem.manual_seed(3)
            again = run(*tensors)
            assert (values(again), picture(tensors)) == wanted, f"after allocation {place}"
        assert (tandem.ones(3) + 1).tolist() == [2, 2, 2]
    raise AssertionError("more allocations than were tried")


# ---- eager: every operation -----------------------------------------------------------------------------------------


def first_sample(op):
    dtype = "float32" if "float32" in dtypes(op) else dtypes(op)[0]
    for args, kwargs in itertools.islice(samples(op, dtype), 1):
        return Typed.of(op, (args, kwargs), dtype, "contiguous")
    return None


@pytest.mark.parametrize("name", [n for n, op in VISIBLE.items() if op.samples != "none"])
def test_every_operation(name):
    typed = first_sample(VISIBLE[name])
    if typed is None or name in ("empty", "empty_like", "empty_strided", "new_empty"):
        return

    def make():
        return [t.clone() for t in typed.tensors]

    sweep(make, lambda *t: typed.run(list(t)))
    if not VISIBLE[name].gradient:
        return

    def gradients(*tensors):
        wanted = [t for t in tensors if t.requires_grad]
        results = [r for r in typed.run(list(tensors)) if r.requires_grad]
        if not results or not wanted:
            return []
        return tandem.autograd.grad(results, wanted, [tandem.ones_like(r) for r in results], allow_unused=True)

    def leaves():
        return [t.requires_grad_() if t.is_floating_point() else t for t in make()]

    try:
        gradients(*leaves())
    except RuntimeError:
        return
    sweep(leaves, gradients)


IN_PLACE = {
    "add_": lambda x, y: x.add_(y),
    "add_ of a transposed operand": lambda x, y: x.add_(y.t()),
    "mul_ of itself": lambda x, y: x.mul_(x),
    "copy_ of another dtype": lambda x, y: x.copy_(y.double()),
    "a window": lambda x, y: x[1:, ::2].mul_(y[1:, ::2]),
    "setitem by a mask": lambda x, y: x.__setitem__(y > 0, 3.0),
    "setitem by indices": lambda x, y: x.__setitem__(tandem.tensor([0, 2, 0]), y[:3]),
    "index_add_": lambda x, y: x.index_add_(0, tandem.tensor([3, 1]), y[:2]),
    "scatter_": lambda x, y: x.scatter_(1, tandem.tensor([[0, 1, 2, 3]]), y),
    "cumsum_": lambda x, y: x.cumsum_(0),
    "clamp_": lambda x, y: x.clamp_(y, 0.5),
    "normal_": lambda x, y: x.normal_(),
    "addmm_": lambda x, y: x.addmm_(y, y),
    "out=": lambda x, y: tandem.matmul(y, y, out=x),
    "out= of a window": lambda x, y: tandem.add(y[:2], 1, out=x[:, :][1:3]),
    "sort(out=)": lambda x, y: tandem.sort(y, out=(x, tandem.zeros(4, 4, dtype=tandem.int64))),
}


def pair():
    tandem.manual_seed(1)
    return [tandem.randn(4, 4), tandem.randn(4, 4)]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    sweep(pair, lambda x, y: [IN_PLACE[name](x, y) is None])


# ---- programs in every mode -----------------------------------------------------------------------------------------


def elements(x, w, b):
    return (x * 2 + b).sigmoid().sum(1)


def network(x, w, b):
    h = F.gelu(x @ w + b)
    return F.layer_norm(h, (8,)).softmax(-1)


def several(x, w, b):
    h = x @ w
    return h.sort(0)[0], h.cumsum(1), h.max(0)[1]


def convolved(x, w, b):
    image = x.reshape(1, 1, 5, 8)
    return F.max_pool2d(F.conv2d(image, w[:3, :3].reshape(1, 1, 3, 3)), 2)


def written(x, w, b):
    """Its last step is the only one to be seen outside."""
    h = x @ w
    h[1:] += b
    x.copy_(h)
    return h


PROGRAMS = [elements, network, several, convolved, written]


def arguments(grad=False):
    tandem.manual_seed(2)
    made = [tandem.randn(5, 8), tandem.randn(8, 8), tandem.randn(8)]
    for t in made[1:]:
        t.requires_grad_(grad)
    return made


@pytest.mark.parametrize("program", PROGRAMS)
def test_lazy(program):
    def run(*tensors):
        with tandem.lazy():
            return program(*tensors)

    sweep(arguments, run, block=True)


@pytest.mark.parametrize("how", ["the first call", "later calls"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled(program, how):
    known = tandem.compile(program)
    known(*arguments())
    known(*arguments())

    def run(*tensors):
        return (known if how == "later calls" else tandem.compile(program))(*tensors)

    sweep(arguments, run)


def images():
    tandem.manual_seed(2)
    return [
        tandem.randn(4, 3, 12, 12),
        tandem.randn(8, 3, 3, 3),
        tandem.randn(8, 8, 3, 3),
        *(tandem.zeros(8), tandem.ones(8), tandem.zeros(1, 2, 20, 8)),
    ]


def normalised(x, first, last, mean, variance, cache):
    """The mean and the variance change before the last convolution takes memory."""
    return F.conv2d(F.batch_norm(F.conv2d(x, first), mean, variance, training=True), last)


def cached(x, first, last, mean, variance, cache):
    cache[:, :, 1:2] = x[:1, :2, :1, :8]
    return F.conv2d(F.conv2d(x, first), last * cache.sum())


@pytest.mark.parametrize("program", [normalised, cached])
def test_changes_in_the_middle(program):
    """A call that failed after a change is not made again by the body, which would change it twice."""
    compiled = tandem.compile(program)
    compiled(*images())
    sweep(images, compiled, partly=True)
    sweep(images, lambda *tensors: tandem.compile(program)(*tensors), partly=True)


def test_a_whole_step():
    """It changes its tensors at the end, when no more memory is taken."""

    def make():
        x, first, last, *_ = images()
        weight = tandem.randn(10, 512) * 0.1
        return [x, first.requires_grad_(), last.requires_grad_(), weight.requires_grad_(), tandem.zeros(10, 512)]

    def step(x, first, last, weight, momentum):
        weights = (first, last, weight)
        hidden = F.conv2d(F.conv2d(x, first).relu(), last).relu().flatten(1)
        gradients = tandem.autograd.grad(F.cross_entropy(hidden @ weight.t(), tandem.arange(4)), weights)
        with tandem.no_grad():
            momentum.mul_(0.9).add_(gradients[2])
            for w, g in zip(weights, (*gradients[:2], momentum), strict=True):
                w.sub_(g, alpha=0.1)
        return []

    compiled = tandem.compile(step)
    compiled(*make())
    sweep(make, compiled)


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("program", [elements, network, several, convolved])
def test_backward(program, mode):
    compiled = tandem.compile(program)

    def run(*tensors):
        def step():
            result = (compiled if mode == "compiled" else program)(*tensors)
            first = result if isinstance(result, tandem.Tensor) else result[0]
            first.square().sum().backward()

        if mode == "lazy":
            with tandem.lazy():
                step()
        else:
            step()
        return []

    sweep(lambda: arguments(grad=True), run, block=mode == "lazy")


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_backward_that_accumulates(mode):
    def make():
        made = arguments(grad=True)
        for t in made[1:]:
            t.grad = tandem.ones_like(t)
        return made

    def step(x, w, b):
        network(x, w, b).square().sum().backward()

    compiled = tandem.compile(step)

    def run(*tensors):
        if mode == "compiled":
            compiled(*tensors)
        elif mode == "lazy":
            with tandem.lazy():
                step(*tensors)
        else:
            step(*tensors)
        return []

    sweep(make, run, block=mode == "lazy")


def test_the_huge_request_of_a_lazy_block():
    for read in (True, False):
        with pytest.raises(tandem.OutOfMemoryError):
            with tandem.lazy():
                b = tandem.empty(10**12) + 1
                if read:
                    b[0].item()
        assert (tandem.ones(2) + 1).tolist() == [2, 2]


def test_other_threads():
    """Kernels that run on several threads take their scratch there."""
    before = tandem.get_num_threads()
    tandem.set_num_threads(2)
    try:
        x = tandem.from_numpy(np.random.default_rng(0).standard_normal((128, 3, 512)).astype(np.float32))
        for call in (
            lambda t: t.sort(-1)[0],
            lambda t: t.transpose(0, 2).cumsum(0),
            lambda t: F.conv1d(t[:16], tandem.ones(16, 3, 5)),
            lambda t: t.median(-1)[0],
            lambda t: tandem.matmul(t, t.transpose(1, 2)),
        ):
            sweep(lambda: [x.clone()], lambda t, call=call: [call(t)])
    finally:
        tandem.set_num_threads(before)
