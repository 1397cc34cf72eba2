"""`tandem.export` of functions whose tensors are on a GPU: what the program gives there and after a file are eager's
bits there, on the CPU the CPU's; state, gradients, sizes, the C functions."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import pytest
from c_program import CProgram
from devices import libraries
from gpu_here import MARKS, ones, two
from same_bits import assert_same_bits

import tandem
from tandem import nn
from tandem.export import Dim, Entry, entries, export, load, save, training_step, with_gradients

pytestmark = MARKS


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "program.tandem")


def perceptron() -> nn.Module:
    tandem.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.BatchNorm1d(16), nn.Linear(16, 3)).cuda().eval()


def there(*size: int) -> tandem.Tensor:
    return tandem.randn(*size).cuda()


def assert_bits(found, expected) -> None:
    """The same bits, on the same device."""
    assert found.device == expected.device, (found.device, expected.device)
    assert_same_bits(found.detach().cpu(), expected.detach().cpu())


def test_a_model(file):
    model, x = perceptron(), there(4, 6)
    program = export(model, (x,))
    assert program.targets == ["x86-64-v3", "x86-64-v4", "sm_90"] and program.target == "sm_90"
    assert program.device == tandem.device("cuda:0") and all(p.is_cuda for p in model.parameters())
    save(program, file)
    loaded = load(file, verify=True)
    for made in (program, loaded, loaded.fork(), copy.deepcopy(loaded), pickle.loads(pickle.dumps(program))):
        assert_bits(made(x), model(x))
        assert made(x.cpu()).is_cpu
        for name, value in model.state_dict().items():
            assert_bits(made.state_dict[name], value)
    module = loaded.module()
    assert all(t.is_cuda for t in module.state_dict().values())
    assert_bits(module(x), model(x))
    here = load(file, device="cpu")
    assert here.target.startswith("x86")
    assert_bits(here(x.cpu()), copy.deepcopy(model).cpu()(x.cpu()))
    save(program, file, external_weights=True)
    assert_bits(load(file)(x), model(x))


def test_the_c_functions(file):
    model, x = perceptron(), there(4, 6)
    save(entries(sum=Entry(lambda x: x.sum(), (x,)), forward=Entry(model, (x,))), file)
    os.environ.setdefault("TANDEM_CUDA", str(libraries().parent / "python/tandem/libtandem_cuda.so"))
    for device, place in ((b"cuda", "cuda"), (None, "cpu")):
        program = CProgram(file, device)
        result = tandem.empty(4, 3, device=place)
        given = x.to(place)
        tandem.cuda.synchronize()
        program.run_on([given], [result], None, entry=1)
        program.check(program.library.tandem_wait(program.context))
        assert_bits(result, copy.deepcopy(model).to(place)(given))
        program.close()


def test_modules_of_programs_move():
    model, x = nn.Linear(3, 2), tandem.randn(4, 3)
    moved = export(model, (x,), targets=["x86-64-v3", "sm_90"]).module().cuda()
    assert_bits(moved(x.cuda()), copy.deepcopy(model).cuda()(x.cuda()))
    assert moved.weight.is_cuda and moved.cuda() is moved
    back = export(copy.deepcopy(model).cuda(), (x.cuda(),)).module().to("cpu")
    assert_bits(back(x), model(x))

    class Count(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", tandem.zeros(()))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n

    counting = export(Count().cuda(), (ones(2),)).module()
    counting(ones(2))
    assert counting.cpu()(tandem.ones(2)).tolist() == [3, 3] and counting.n.is_cpu


def test_sizes_that_calls_choose():
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16)).cuda()
    program = export(model, (there(4, 6),), dynamic_shapes=({0: Dim("n", min=1, max=6)},))
    for n in (4, 1, 6):
        x = there(n, 6)
        assert_bits(program(x), model(x))


def trainer():
    tandem.manual_seed(2)
    model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.3), nn.Tanh(), nn.Linear(16, 3)).cuda()
    optimizer = tandem.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x, target):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return model, step


def test_a_training_step(file, tmp_path):
    """Its state is on the GPU, can be set from anywhere, and goes with the program."""
    model, step = trainer()
    x, target = there(10, 6), tandem.randint(0, 3, (10,)).cuda()
    program = training_step(step, (x, target))
    save(program, file)
    expected = []
    tandem.manual_seed(5)
    for _ in range(3):
        expected.append(step(x, target))

    def assert_trained(made) -> None:
        for name, value in model.named_parameters():
            assert_bits(made.state_dict[name], value)

    loaded = load(file)
    for made in (program, loaded):
        made.manual_seed(5)
        for want in expected:
            assert_bits(made(x, target), want)
        assert_trained(made)
    state = tmp_path / "state.safetensors"
    loaded.save_state(state)
    other = load(file)
    other.load_state(state)
    assert_trained(other)
    for device in ("cuda", "cpu"):
        other = load(file)
        other.load_state_dict({name: t.to(device) for name, t in loaded.state_dict.items()})
        assert_trained(other)
    for made in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert_trained(made)
        loaded.manual_seed(1), made.manual_seed(1)
        assert_bits(made.fork()(x, target), loaded.fork()(x, target))
    here = load(file, device="cpu")
    here.load_state_dict(loaded.state_dict)
    assert here(x.cpu(), target.cpu()).is_cpu


def test_entries_share_their_state():
    tandem.manual_seed(1)
    model, x = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).cuda(), there(5, 4)
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    program = entries(
        forward=Entry(model, (x,)),
        norm=Entry(lambda: model[0].weight.norm()),
        step=Entry(step, (x,), training=True),
    )
    for _ in range(2):
        assert_bits(program(x), model(x))
        assert_bits(program.run("step", x, numbers={"lr": 0.1}), step(x))
        assert_bits(program.run("norm"), model[0].weight.norm())


def test_gradients():
    field = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)).cuda()
    derivatives = with_gradients(lambda t: field(t).sum(), orders=2)
    t = tandem.linspace(0, 1, 5).reshape(5, 1).cuda()
    program = export(derivatives, (t,))
    for found, expected in zip(program(t), derivatives(t), strict=True):
        assert_bits(found, expected)


def test_random_numbers_of_the_gpu(file):
    """The program goes on from the generator of the GPU, which exporting leaves as it is."""
    tandem.manual_seed(3)
    tandem.rand(2, device="cuda")
    before = tandem.cuda.get_rng_state()
    save(export(lambda x: x + tandem.rand_like(x), (ones(3),)), file)
    assert tandem.equal(tandem.cuda.get_rng_state(), before)
    assert_bits(load(file)(ones(3)), ones(3) + tandem.rand(3, device="cuda"))


def test_moves_within_the_device():
    """Those to where a tensor is already are no reason to refuse a function."""
    place, x = tandem.device("cuda"), ones(2)

    def body(x):
        return x.to(place) + x.cuda() * tandem.ones(2, device=place) + tandem.arange(2, device=x.device)

    assert_bits(export(body, (x,))(x), body(x))


def test_traced_modules(file):
    model, x = nn.Linear(3, 2).cuda(), there(4, 3)
    traced = tandem.jit.trace(model, x)
    assert_bits(traced(x), model(x))
    traced.save(file)
    for place in (None, "cuda"):
        assert_bits(tandem.jit.load(file, map_location=place)(x), model(x))
    assert_bits(tandem.jit.load(file, map_location="cpu")(x.cpu()), copy.deepcopy(model).cpu()(x.cpu()))


def test_streams():
    model, x = nn.Linear(3, 2).cuda(), there(4, 3)
    program = export(model, (x,))
    stream = tandem.cuda.Stream()
    stream.wait_stream(tandem.cuda.current_stream())
    with tandem.cuda.stream(stream):
        result = program(x)
    tandem.cuda.current_stream().wait_stream(stream)
    assert_bits(result, model(x))


@two
def test_another_gpu(file):
    model, x = nn.Linear(3, 2).to("cuda:1"), tandem.randn(4, 3, device="cuda:1")
    program = export(model, (x,))
    assert program.device == tandem.device("cuda:1")
    assert_bits(program(x), model(x))
    save(program, file)
    assert_bits(load(file, device="cuda:1")(x), model(x))
    assert load(file).device == tandem.device("cuda:0")
    with tandem.cuda.device(1):
        assert load(file, device="cuda").device == load(file).device == tandem.device("cuda:1")


def test_what_is_refused():
    x, weight = ones(2), tandem.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be saved: .*operations on several devices; move the tensors"):
        export(lambda x: x * (weight * 2), (x,))
    with pytest.raises(NotImplementedError, match="`a` runs on cuda:0, and `b` on cpu: the entries of a program"):
        entries(a=Entry(lambda x: x + 1, (x,)), b=Entry(lambda x: x + 1, (tandem.ones(2),)))
    program = export(lambda x: x + 1, (x,), targets=["x86-64-v3"])  # without code for this GPU
    assert program(x).tolist() == [2, 2]


NOWHERE = """
import sys, tandem
try:
    tandem.export.load(sys.argv[1])
except RuntimeError as error:
    print(error)
print(tandem.export.load(sys.argv[1], device="cpu")(tandem.ones(2)).tolist())
"""


def test_where_there_is_no_gpu(file):
    save(export(lambda x: x + 1, (ones(2),)), file)
    environment = {**os.environ, "TANDEM_CUDA_DRIVER": "/nowhere/libcuda.so"}
    done = subprocess.run([sys.executable, "-c", NOWHERE, file], env=environment, capture_output=True, text=True)
    assert "made on a GPU: load(..., device='cpu') runs it here" in done.stdout and "[2.0, 2.0]" in done.stdout, done
    command = [sys.executable, "-m", "tandem", "inspect", file]
    for where in (environment, os.environ):
        shown = subprocess.run(command, env=where, capture_output=True, text=True)
        assert shown.returncode == 0 and "a GPU: cuda" in shown.stdout, shown
