"""What programs on a GPU say every day, beside the CPU doing the same: where tensors are made and moved to, indices on
the other device, derivatives, layers, distributions. Numbers are the CPU's."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
from gpu_here import DEVICES, MARKS, ones, two

import tandem
from tandem import nn
from tandem.autograd import functional as autograd_functional
from tandem.nn.utils import parametrizations, prune, rnn

pytestmark = MARKS
CUDA = "cuda"


def on_both(f):
    """What `f` of a device gives, lists of tensors: on the GPU all of it there, with the CPU's bits."""
    results = []
    for place in ("cpu", CUDA):
        tandem.manual_seed(0)
        results.append(f(place))
    for k, (a, b) in enumerate(zip(*results, strict=True)):
        assert b.is_cuda and a.dtype is b.dtype and a.shape == b.shape, k
        assert tandem.equal(a, b.cpu()), (k, a, b)


# ---- indices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_indices_and_masks_on_the_cpu(compiled):
    i, mask = tandem.tensor([2, 0]), tandem.tensor([True, False, True])

    def read(x):
        return [x[i], x[mask], x[:, i], x[i, i], x[mask, 1], x[mask][:, i], x[tandem.tensor(1)]]

    def write(x):
        x[i, i] = 7.0
        x[mask, 0] = tandem.tensor(3.0)
        x[:, mask] += 1
        x[x > 6] = 0.5
        x[tandem.tensor([[True, False, False]] * 3)] = -1.0
        x.index_put_((i,), ones(3) if x.is_cuda else tandem.ones(3), accumulate=True)
        return [x]

    if compiled:
        read, write = tandem.compile(read), tandem.compile(write)
    for _ in range(2):
        on_both(lambda place: read(tandem.arange(9.0).reshape(3, 3).to(place)))
        on_both(lambda place: write(tandem.arange(9.0).reshape(3, 3).to(place)))


def test_gradients_of_what_indices_on_the_cpu_read():
    def gradient(place):
        x = tandem.arange(3.0).to(place).requires_grad_()
        (x[tandem.tensor([0, 0, 2])] * x[tandem.tensor([True, True, True])]).sum().backward()
        return [x.grad]

    on_both(gradient)


def test_indices_on_another_device_than_the_cpu():
    x = tandem.arange(3.0)
    for act in (lambda: x[ones(1).long()], lambda: x.__setitem__(ones(3) > 0, tandem.ones(3)), lambda: x[ones(3) > 0]):
        with pytest.raises(RuntimeError, match="either on cpu or on the same device as the indexed tensor .cpu."):
            act()
    with pytest.raises(RuntimeError, match="same device.*arguments of index_put.$"):
        ones(3)[tandem.tensor([0, 1])] = tandem.ones(2)


def test_numbers_on_the_cpu_go_along():
    two, start = tandem.tensor(2.0), tandem.tensor(1)
    at = tandem.tensor([1])

    def results(place):
        x = tandem.arange(4.0).to(place)
        return [x.index_fill(0, at.to(place), two), tandem.fill(x, two), x.narrow(0, start, 2), x.clone().fill_(two)]

    on_both(results)
    weight = tandem.tensor(3.0, requires_grad=True)
    x = ones(3)
    x[tandem.tensor([0, 2])] = weight
    tandem.fill(x, weight).sum().add(x.sum()).backward(tandem.tensor(2.0))
    assert weight.grad.is_cpu and weight.grad.item() == 10


MADE_HERE = {
    "a number": lambda x: tandem.where(x > 0, x, tandem.tensor(-1e9)) * tandem.tensor(0.5) + tandem.tensor(3),
    "bounds": lambda x: x.clamp(min=tandem.tensor(0.1)),
    "a value": lambda x: x.index_fill(0, tandem.tensor([0]).to(x.device), tandem.tensor(7.0)),
    "indices": lambda x: x[tandem.tensor([2, 0])],
    "moved": lambda x: x + tandem.tensor([1.0, 2.0, 3.0]).to(x.device),
}


@pytest.mark.parametrize("name", MADE_HERE)
def test_what_a_compiled_function_makes_on_the_cpu(name):
    """It is a constant of the plan, which is the GPU's alone, and of a saved program."""
    body, x = MADE_HERE[name], tandem.tensor([-1.0, 0.5, 2.0], device=CUDA)
    compiled = tandem.compile(body, fullgraph=True)
    with tandem.lazy():
        lazy = body(x)
    for got in (compiled(x), compiled(x), lazy, tandem.export.export(body, (x,))(x)):
        assert got.is_cuda and tandem.equal(got, body(x))
    on_both(lambda place: [compiled(x.to(place))])


def test_what_a_compiled_function_finds_on_the_cpu():
    """It may be another number at the next call."""
    x, number, several = ones(3), tandem.tensor(2.0), tandem.arange(3.0)
    scaled = tandem.compile(lambda x: x * number + several.to(x.device))
    for value in (2.0, 3.0, 4.0):
        number.fill_(value)
        several.add_(1)
        assert tandem.equal(scaled(x), x * number + several.cuda())
    with tandem.lazy():
        before = x * number
        number.fill_(9.0)
        after = x * number
    assert before.tolist() == [4] * 3 and after.tolist() == [9] * 3
    program = tandem.export.export(lambda x: x * number, (x,))  # which keeps the number of now
    number.fill_(5.0)
    assert program(x).tolist() == [9] * 3


def test_results_are_not_written_to_another_device():
    x, here = ones(2), tandem.empty(2)
    for act in (
        lambda: tandem.cat([x], out=here),
        lambda: tandem.matmul(x.reshape(1, 2), x, out=here[:1]),
        lambda: tandem.sort(x, out=(here, tandem.empty(2, dtype=tandem.int64))),
        lambda: tandem.ones(2, device="cpu", out=x),
    ):
        with pytest.raises(RuntimeError, match="Expected out tensor to have device (cuda:0|cpu), but got"):
            act()
    with pytest.raises(RuntimeError, match="same device"):
        tandem.add(x, x, out=here)
    assert tandem.zeros(2, out=x) is x and x.tolist() == [0, 0]


# ---- where tensors are made, and moved to ---------------------------------------------------------------------------


def test_what_tensors_are_made_from():
    here, there = tandem.ones(2), ones(2)
    with pytest.warns(UserWarning, match="To copy construct"):
        assert tandem.tensor(here, device=CUDA).is_cuda and tandem.tensor(there, device="cpu").is_cpu
        assert tandem.tensor(there).is_cuda and there.new_tensor(here).is_cuda
    assert tandem.tensor([there[0], there[1]]).is_cpu and tandem.as_tensor(there).is_cuda
    with tandem.device(CUDA), pytest.warns(UserWarning, match="To copy construct"):
        assert tandem.tensor(here).is_cuda and tandem.as_tensor(here).is_cuda and tandem.as_tensor([1]).is_cuda


def test_older_ways_to_move():
    x = tandem.arange(2.0)
    assert x.type_as(ones(1, dtype=tandem.float64)).type() == "tandem.cuda.DoubleTensor"
    for kind in (tandem.cuda.HalfTensor, "tandem.cuda.HalfTensor", "torch.cuda.HalfTensor"):
        assert x.type(kind).is_cuda and x.type(kind).dtype is tandem.float16
    for kind in (tandem.LongTensor, "torch.LongTensor"):
        assert x.cuda().type(kind).is_cpu and x.type(kind).tolist() == [0, 1]
    assert x.cuda().type(tandem.float64).is_cuda
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        x.cuda("cpu")
    with pytest.raises(
        RuntimeError, match='storage of a tensor on device "cpu" to a storage on different device "cuda:0"'
    ):
        x.set_(ones(2))
    p = nn.Parameter(ones(2))
    with pytest.raises(RuntimeError, match="assigned grad has data located on a different device: cpu.*on cuda:0"):
        p.grad = tandem.ones(2)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cuda:0 but got cpu"):
        (p * 2).backward(tandem.ones(2))


def test_moves_keep_strides():
    x = tandem.arange(24.0).reshape(1, 2, 3, 4)
    last = x.to(memory_format=tandem.channels_last)
    for y in (last.cuda(), last.to(CUDA), x.to(CUDA, memory_format=tandem.channels_last), last.cuda().cpu()):
        assert y.stride() == (24, 1, 8, 2) and y._base is None and y.tolist() == x.tolist()
    assert last.to(CUDA, memory_format=tandem.contiguous_format).stride() == x.stride()
    assert x[0, 0].t().cuda().stride() == (1, 4) and x[..., ::2].cuda().stride() == (12, 6, 2, 1)
    w = last.clone().requires_grad_()
    (w.cuda() * 2).sum().backward()
    assert w.grad.tolist() == tandem.full_like(x, 2).tolist()


@two
def test_a_default_device_with_an_index():
    tandem.set_default_device("cuda:1")
    try:
        assert tandem.ones(1).get_device() == 1 and tandem.ones(1, device=CUDA).get_device() == 0
        assert (
            tandem.tensor([1.0]).get_device() == 1 and pickle.loads(pickle.dumps(tandem.ones(1, device="cpu"))).is_cpu
        )
        file = io.BytesIO()
        tandem.save(tandem.ones(1, device="cpu"), file)
        file.seek(0)
        assert tandem.load(file).is_cpu
    finally:
        tandem.set_default_device(None)


def test_samplers_draw_where_their_generator_is():
    data = list(range(8))
    make = {
        "random": lambda g: tandem.utils.data.RandomSampler(data, generator=g),
        "replaced": lambda g: tandem.utils.data.RandomSampler(data, replacement=True, num_samples=5, generator=g),
        "weighted": lambda g: tandem.utils.data.WeightedRandomSampler([0.3, 0.7], 4, generator=g),
        "few": lambda g: tandem.utils.data.WeightedRandomSampler([0.3, 0.7, 0.1], 2, replacement=False, generator=g),
        "shares": lambda g: tandem.utils.data.DistributedSampler(data, num_replicas=2, rank=0),
    }
    for name, sampler in make.items():
        want = list(sampler(tandem.Generator().manual_seed(3)))
        tandem.set_default_device(CUDA)
        try:
            for place in ("cpu", CUDA):
                assert list(sampler(tandem.Generator(place).manual_seed(3))) == want, (name, place)
            assert len(list(sampler(None))) == len(want)
        finally:
            tandem.set_default_device(None)


def test_storages():
    x = tandem.arange(3.0, device=CUDA)
    memory = x[1:].untyped_storage()
    assert str(memory.device) == "cuda:0" and memory.is_cuda and not memory.is_cpu and memory.get_device() == 0
    assert memory.tolist() == memory.cpu().tolist() == tandem.arange(3.0).untyped_storage().tolist()
    assert memory.cpu().device.type == "cpu" and memory.cpu().cuda().is_cuda and memory.cuda() is memory
    assert memory.clone().data_ptr() != memory.data_ptr()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        assert x.storage().device == x.device


def test_memory_that_other_libraries_see():
    x = tandem.arange(6.0, device=CUDA).reshape(2, 3)
    array = x.__cuda_array_interface__
    assert array == {"typestr": "<f4", "shape": (2, 3), "strides": None, "data": (x.data_ptr(), False), "version": 2}
    assert x.t().__cuda_array_interface__["strides"] == (4, 12)
    kinds = {
        tandem.bool: "|b1",
        tandem.uint8: "|u1",
        tandem.int64: "<i8",
        tandem.float16: "<f2",
        tandem.bfloat16: "<V2",
    }
    assert {d: x.to(d).__cuda_array_interface__["typestr"] for d in kinds} == kinds
    with pytest.raises(RuntimeError, match="Variable that requires grad"):
        _ = ones(1, requires_grad=True).__cuda_array_interface__
    assert not hasattr(x.cpu(), "__cuda_array_interface__")
    assert x.__dlpack_device__() == (2, 0) and tandem.from_dlpack(x).data_ptr() == x.data_ptr()


def test_comparing_tensors_on_two_devices():
    x = tandem.arange(3.0)
    tandem.testing.assert_close(x, x.cuda(), check_device=False)
    with pytest.raises(AssertionError, match="Mismatched elements: 3 / 3"):
        tandem.testing.assert_close(x + 1, x.cuda(), check_device=False)
    with pytest.raises(AssertionError, match="'device' do not match: cpu != cuda:0"):
        tandem.testing.assert_close(x, x.cuda())


# ---- derivatives ----------------------------------------------------------------------------------------------------


def scalar(x):
    return (x.sin() * x * x).sum()


DERIVATIVES = {
    "grad": lambda x: tandem.func.grad(scalar)(x),
    "grad twice": lambda x: tandem.func.grad(tandem.func.grad(tandem.sin))(x[0]),
    "grad_and_value": lambda x: tandem.func.grad_and_value(scalar)(x),
    "jacrev": lambda x: tandem.func.jacrev(tandem.square)(x),
    "jacfwd": lambda x: tandem.func.jacfwd(tandem.square)(x),
    "hessian": lambda x: tandem.func.hessian(scalar)(x),
    "vmap of grad": lambda x: tandem.func.vmap(tandem.func.grad(scalar))(x.reshape(2, 2)),
    "functional jacobian": lambda x: autograd_functional.jacobian(tandem.square, x),
    "functional jacobian at once": lambda x: autograd_functional.jacobian(tandem.square, x, vectorize=True),
    "functional hessian": lambda x: autograd_functional.hessian(scalar, x),
    "functional hvp": lambda x: autograd_functional.hvp(scalar, x, x),
    "functional vjp": lambda x: autograd_functional.vjp(scalar, x),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_transforms(name):
    def results(place):
        out = DERIVATIVES[name](tandem.linspace(0.1, 1, 4, dtype=tandem.float64).to(place))
        return out if isinstance(out, tuple) else [out]

    on_both(results)


@pytest.mark.parametrize("pinned", [False, True])
def test_what_the_backward_needs_is_kept_on_the_cpu(pinned):
    x = ones(4, requires_grad=True)
    with tandem.autograd.graph.save_on_cpu(pin_memory=pinned):
        y = (x.exp() * x).sum()
    allocated = tandem.cuda.memory_allocated()
    y.backward()
    assert x.grad.is_cuda and tandem.equal(x.grad.cpu(), 2 * tandem.ones(4).exp()) and allocated > 0


def test_functions_that_state_their_forward_derivative():
    class Double(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    x = ones(3, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.is_cuda and x.grad.tolist() == [2] * 3


@pytest.mark.parametrize("targets", [[[1, 2], [3, 0]], [1, 2, 3]])
def test_targets_and_lengths_of_ctc_loss_may_be_on_the_cpu(targets):
    scores = tandem.linspace(-1, 1, 40).reshape(5, 2, 4).log_softmax(-1)
    targets, lengths, sizes = tandem.tensor(targets), tandem.tensor([5, 4]), tandem.tensor([2, 1])
    want = nn.functional.ctc_loss(scores, targets, lengths, sizes)
    for how in (lambda t: t, lambda t: t.cuda()):
        got = nn.functional.ctc_loss(scores.cuda(), how(targets), how(lengths), how(sizes))
        assert got.is_cuda and tandem.equal(got.cpu(), want)
    assert tandem.equal(nn.functional.ctc_loss(scores.cuda(), targets, (5, 4), (2, 1)).cpu(), want)


# ---- layers ---------------------------------------------------------------------------------------------------------


def test_packed_sequences():
    x = tandem.arange(24.0).reshape(3, 4, 2)

    def results(place):
        packed = rnn.pack_padded_sequence(x.to(place), tandem.tensor([2, 4, 1]), batch_first=True, enforce_sorted=False)
        assert packed.batch_sizes.is_cpu
        padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=5)
        assert lengths.is_cpu and lengths.tolist() == [2, 4, 1]
        return [packed.data, packed.sorted_indices, padded]

    on_both(results)


@pytest.mark.parametrize("how", ["moved", "made there", "default"])
def test_lazy_modules(how):
    with tandem.device(CUDA if how == "default" else "cpu"):
        place = {"device": CUDA} if how == "made there" else {}
        net = nn.Sequential(nn.LazyLinear(3, **place), nn.LazyBatchNorm1d(**place))
    if how == "moved":
        net = copy.deepcopy(net.to(CUDA))
    y = net(ones(4, 2))
    assert y.is_cuda and all(t.is_cuda for t in (*net.parameters(), *net.buffers()))
    assert net[1].running_mean.shape == (3,) and net[1].num_batches_tracked.item() == 1


LAYERS = {
    "spectral norm": lambda m: parametrizations.spectral_norm(m),
    "older spectral norm": lambda m: nn.utils.spectral_norm(m),
    "orthogonal": lambda m: parametrizations.orthogonal(m),
    "random pruning": lambda m: prune.random_unstructured(m, "weight", 0.5),
    "pruning of slices": lambda m: prune.random_structured(m, "weight", 0.5, dim=0),
    "orthogonal start": lambda m: nn.init.orthogonal_(m.weight),
    "sparse start": lambda m: nn.init.sparse_(m.weight, 0.5),
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_changes_layers(name):
    layer = nn.Linear(4, 3).cuda()
    tandem.manual_seed(1)
    with tandem.no_grad():
        LAYERS[name](layer)
    twin = nn.Linear(4, 3)
    tandem.manual_seed(1)
    with tandem.no_grad():
        LAYERS[name](twin)
    assert layer(ones(2, 4)).is_cuda
    assert all(t.is_cuda for t in (*layer.parameters(), *layer.buffers()))
    if "prun" in name or "start" in name:
        assert [t == 0 for t in layer.weight.flatten().tolist()] == [
            t == 0 for t in twin.weight.flatten().tolist()
        ] or ("prun" not in name)


@pytest.mark.parametrize("given", [tandem.float32, tandem.float16])
def test_recurrent_layers_under_autocast(given):
    x = tandem.linspace(-1, 1, 24, device=CUDA, dtype=given).reshape(3, 2, 4)
    with tandem.autocast(CUDA):
        for kind in (nn.LSTM, nn.GRU, nn.RNNCell, nn.LSTMCell, nn.GRUCell):
            layer = kind(4, 3).cuda()
            y = layer(x[0] if kind.__name__.endswith("Cell") else x)
            y = y[0] if isinstance(y, tuple) else y
            assert y.dtype is tandem.float16, kind
            y.float().sum().backward()
            assert all(p.grad.dtype is tandem.float32 for p in layer.parameters())


def test_operations_of_two_dtypes_under_autocast():
    """Those of PyTorch's list for GPUs take the wider one."""
    x, at = ones(3), tandem.tensor([0], device=CUDA)
    half = x.half()
    with tandem.autocast(CUDA):
        for y in (
            tandem.dot(x, half),
            x.scatter_add(0, at, half[:1]),
            half.scatter_add(0, at, x[:1]),
            x.index_put((at,), half[:1]),
        ):
            assert y.dtype is tandem.float32
        assert nn.functional.prelu(x, half[:1]).dtype is tandem.float16
        assert half.index_put_((at,), half[1:2].clone()) is half


def test_samples_of_fractional_pools():
    x = tandem.arange(25.0).reshape(1, 1, 5, 5)
    on_both(lambda place: [nn.functional.fractional_max_pool2d(x.to(place), 2, output_size=2)])


# ---- distributions --------------------------------------------------------------------------------------------------

D = tandem.distributions


def mixture(t):
    return D.MixtureSameFamily(D.Categorical(t([0.4, 0.6])), D.Normal(t([0.0, 1.0]), t([1.0, 2.0])))


DISTRIBUTIONS = {
    "Normal": lambda t: D.Normal(t(0.5), 2.0),
    "Laplace": lambda t: D.Laplace(t(0.5), 2.0),
    "Gumbel": lambda t: D.Gumbel(t(0.5), 2.0),
    "Uniform": lambda t: D.Uniform(t(0.5), 2.0),
    "Gamma": lambda t: D.Gamma(t(0.5), 2.0),
    "FisherSnedecor": lambda t: D.FisherSnedecor(t(3.0), 2.0),
    "VonMises": lambda t: D.VonMises(t(0.5), 2.0),
    "Bernoulli": lambda t: D.Bernoulli(logits=t([0.5, 2.0])),
    "Binomial": lambda t: D.Binomial(3, t([0.5, 0.2])),
    "Categorical": lambda t: D.Categorical(logits=t([0.5, 2.0])),
    "OneHotCategorical": lambda t: D.OneHotCategorical(t([0.5, 0.5])),
    "RelaxedBernoulli": lambda t: D.RelaxedBernoulli(t(0.5), logits=t(0.1)),
    "ContinuousBernoulli": lambda t: D.ContinuousBernoulli(t(0.3)),
    "mixture": mixture,
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    """Draws are the CPU's, numbers within parameters go where those are."""

    def results(place):
        d = DISTRIBUTIONS[name](lambda values: tandem.tensor(values, device=place))
        drawn = d.sample((3,))
        support = [d.enumerate_support()] if d.has_enumerate_support else []
        return [drawn, d.log_prob(drawn), *support]

    on_both(results)


MATRICES = {
    "MultivariateNormal": lambda t: D.MultivariateNormal(t([0.5, 1.0]), t([[2.0, 0.3], [0.3, 1.0]])),
    "by precision": lambda t: D.MultivariateNormal(t([0.5, 1.0]), precision_matrix=t([[2.0, 0.3], [0.3, 1.0]])),
    "low rank": lambda t: D.LowRankMultivariateNormal(t([0.5, 1.0]), t([[1.0], [0.5]]), t([1.0, 2.0])),
    "Wishart": lambda t: D.Wishart(3.0, t([[2.0, 0.3], [0.3, 1.0]])),
    "LKJCholesky": lambda t: D.LKJCholesky(3, t(1.5)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_distributions_with_matrices(name):
    """Their factorisations are the device's own: close to the CPU's."""
    results = []
    for place in ("cpu", CUDA):
        tandem.manual_seed(0)
        d = MATRICES[name](lambda values, place=place: tandem.tensor(values, device=place))
        drawn = d.sample((2,))
        assert drawn.device.type == place and d.log_prob(drawn).device.type == place
        results.append([drawn.cpu(), d.log_prob(drawn).cpu()])
    tandem.testing.assert_close(*results, rtol=1e-4, atol=1e-4)


def test_triangles_as_vectors():
    def results(place):
        matrix = D.utils.vec_to_tril_matrix(tandem.arange(1.0, 7).to(place))
        return [matrix, D.utils.tril_matrix_to_vec(matrix)]

    on_both(results)
    with tandem.device(CUDA):
        assert D.utils.tril_matrix_to_vec(tandem.eye(2, device="cpu")).is_cpu


# ---- graphed callables, programs in several processes ---------------------------------------------------------------


def test_graphed_callables():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).cuda()
    twin = copy.deepcopy(net)
    assert tandem.cuda.make_graphed_callables(net, (ones(3, 4),)) is net
    for k in range(3):
        losses = []
        for m in (net, twin):
            m.zero_grad()
            loss = m(tandem.linspace(-1, k, 12, device=CUDA).reshape(3, 4)).square().sum()
            loss.backward()
            losses.append(loss.item())
        assert losses[0] == losses[1] and tandem.equal(net[0].weight.grad, twin[0].weight.grad)
    assert tandem.equal(net.eval()(ones(1, 4)), twin.eval()(ones(1, 4)))
    double, total = tandem.cuda.make_graphed_callables(
        (lambda x: x * 2, lambda x, y: x + y), ((ones(2),), (ones(2),) * 2)
    )
    assert double(ones(2)).tolist() == total(ones(2), ones(2)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="sample_args must be a tuple of tensors"):
        tandem.cuda.make_graphed_callables(net, (3,))
    net.register_forward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="Modules must not have hooks"):
        tandem.cuda.make_graphed_callables(net, (ones(3, 4),))


def test_the_launcher_counts_gpus():
    from tandem.distributed import run

    assert run._count("gpu") == run._count("auto") == DEVICES


@pytest.mark.parametrize("shape", [(100,), (7, 9)])
def test_any_byte_but_zero_is_true(shape):
    count = 63 if len(shape) > 1 else 100
    x = tandem.arange(count).reshape(shape)
    seen = (tandem.nonzero, tandem.unique, tandem.argmax, tandem.argmin, tandem.argsort, tandem.logical_not)
    pairs = (tandem.sort, tandem.cummax, tandem.cummin, tandem.max, tandem.min, tandem.mode)
    bytes_ = (tandem.arange(count, dtype=tandem.uint8) * 7 % 4 * 85).reshape(shape)
    for odd in (bytes_.view(tandem.bool), bytes_.cuda().view(tandem.bool)):
        good = bytes_.to(odd.device) != 0
        values = x.to(odd.device)
        for f in seen:
            assert tandem.equal(f(odd), f(good)), (f, odd.device)
        for f in pairs:
            for found, wanted in zip(f(odd, dim=0), f(good, dim=0), strict=True):
                assert tandem.equal(found, wanted), (f, odd.device)
        assert tandem.equal(values[odd], values[good]) and tandem.equal(values.T[odd.T], values.T[good.T])
        assert tandem.equal(tandem.where(odd, values, 0), tandem.where(good, values, 0))
        assert tandem.equal(values.masked_fill(odd, 3), values.masked_fill(good, 3))
        assert odd.sum().item() == good.sum().item() and odd.any().item() == good.any().item()
        for f in (lambda m: m.to(tandem.float32), lambda m: m & m, lambda m: m == m, lambda m: tandem.cumsum(m, 0)):
            assert tandem.equal(f(odd), f(good))
