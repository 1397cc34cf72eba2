"""What programs see of a device that is not the CPU, and what the guarded one catches."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from guarded import DEVICE, GUARDED, KIND, LIBRARY, OTHER, there, two

import tandem
from tandem import nn

only_guarded = pytest.mark.skipif(not GUARDED, reason="of the guarded device alone")


def run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, as some of these end it."""
    start = f"import ctypes, tandem\nd = tandem.device(tandem._C._load_devices({str(LIBRARY)!r}))\n"
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-c", start + body], env={**os.environ, **path, **environment}, capture_output=True, text=True
    )


# ---- what the fixture catches ---------------------------------------------------------------------------------------


@only_guarded
def test_a_host_read_is_a_fault():
    body = "x = tandem.ones(4, device=d)\nprint(x.cpu().tolist(), flush=True)\nctypes.string_at(x.data_ptr(), 4)"
    done = run(body)
    assert done.stdout.strip() == "[1.0, 1.0, 1.0, 1.0]" and done.returncode == -11, done.stderr


@only_guarded
def test_a_missing_library_function_is_named():
    done = run("a = tandem.ones(2, 2, device=d)\na @ a", TANDEM_GUARDED_WITHOUT="matmul_plain")
    assert "matmul is not available on guarded:0" in done.stderr, done.stderr


def test_errors_of_values_come_when_the_host_waits():
    x = tandem.arange(4.0, device=DEVICE)
    y = x.gather(0, tandem.tensor([1, 9], device=DEVICE))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for dimension 0 with size 4"):
        y.cpu()
    assert x.cpu().tolist() == [0, 1, 2, 3] and (x + 1).cpu().tolist() == [1, 2, 3, 4]


@only_guarded
def test_the_smallest_device():
    """That of CONTRIBUTING.md."""
    body = (
        f"kind = tandem._C._load_devices({str(LIBRARY).replace('guarded', 'twin')!r})\n"
        "model = tandem.nn.Linear(3, 2).to(kind)\n"
        "step = tandem.compile(lambda x: tandem.relu(model(x)).sum())\n"
        "with tandem.device(kind):\n    x = tandem.ones(4, 3)\n"
        "loss = [step(x), step(x), model(x).relu().sum()]\nloss[0].backward()\n"
        "print(kind, model.weight.grad.device, x.device, loss[0].item() == loss[1].item() == loss[2].item())"
    )
    done = run(body)
    assert done.stdout.strip() == "twin twin:0 twin:0 True", done.stderr


# ---- tensors --------------------------------------------------------------------------------------------------------


def test_moving():
    x = tandem.arange(6.0).reshape(2, 3)
    y = x.to(DEVICE)
    assert y.device == DEVICE and str(y.device) == f"{KIND}:0" and y.get_device() == 0
    assert not y.is_cpu and y.is_cuda is not GUARDED and y.cpu().tolist() == x.tolist()
    assert y.to(DEVICE) is y and y.to(y) is y and y.to(KIND, tandem.float64).dtype is tandem.float64
    assert y.t().to("cpu").tolist() == x.t().tolist()
    assert y.to(device=DEVICE, non_blocking=True) is y and y.to(DEVICE, copy=True) is not y
    assert y.tolist() == x.tolist() and y[1, 2].item() == 5.0 and float(y.sum()) == 15.0
    with pytest.raises(TypeError, match=f"can't convert {KIND}:0 device type tensor to numpy"):
        y.numpy()
    assert f"device='{KIND}:0'" in repr(y)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: tandem.zeros(2, 3, device=d),
        lambda d: tandem.full((2,), 7, device=d),
        lambda d: tandem.empty(2, device=d).fill_(1),
        lambda d: tandem.arange(5, device=d),
        lambda d: tandem.linspace(0, 1, 5, device=d),
        lambda d: tandem.eye(3, device=d),
        lambda d: tandem.tensor([[1, 2], [3, 4]], device=d),
        lambda d: tandem.as_tensor(np.ones(3), device=d),
        lambda d: tandem.tril_indices(3, 3, device=d),
        lambda d: tandem.rand(3, device=d),
        lambda d: tandem.randn(3, device=d, dtype=tandem.float64),
        lambda d: tandem.randint(0, 10, (4,), device=d),
        lambda d: tandem.randperm(6, device=d),
        lambda d: tandem.zeros_like(tandem.ones(2), device=d),
        lambda d: tandem.ones(2).new_full((3,), 4, device=d),
        lambda d: tandem.scalar_tensor(3, device=d),
        lambda d: tandem.hann_window(8, device=d),
        lambda d: tandem.kaiser_window(8, device=d),
        lambda d: tandem.signal.windows.nuttall(7, device=d),
        lambda d: tandem.combinations(tandem.arange(4, device=d)),
    ],
)
def test_factories(make):
    tandem.manual_seed(5)
    want = make("cpu")
    tandem.manual_seed(5)
    got = make(DEVICE)
    assert got.device == DEVICE and got.dtype is want.dtype and got.cpu().tolist() == want.tolist()


def test_default_device():
    with DEVICE as entered:
        assert entered == DEVICE and tandem.ones(2).device == tandem.tensor([1]).device == DEVICE
        with tandem.device("cpu"):
            assert tandem.zeros(1).is_cpu
        assert (tandem.ones(2, device="cpu") * 2).is_cpu
        # What composites of tensors make inside goes where the tensors are.
        logits = tandem.ones(2, 3, device="cpu")
        assert nn.functional.cross_entropy(logits, tandem.tensor([0, 1], device="cpu")).is_cpu
        assert nn.Linear(2, 2).weight.device == DEVICE
    assert tandem.ones(1).is_cpu
    tandem.set_default_device(DEVICE)
    try:
        assert tandem.get_default_device() == DEVICE and tandem.zeros(2).device == DEVICE
    finally:
        tandem.set_default_device(None)
    assert tandem.get_default_device() == tandem.device("cpu")


def test_modules_take_a_device():
    layer = nn.LSTM(3, 4, device=DEVICE)
    assert {p.device for p in layer.parameters()} == {DEVICE}
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(DEVICE)
    assert {t.device for t in model.state_dict().values()} == {DEVICE}
    out = model(tandem.ones(5, 3, device=DEVICE))
    out.sum().backward()
    assert out.device == DEVICE and {p.grad.device for p in model.parameters()} == {DEVICE}
    assert model.cpu()(tandem.ones(5, 3)).is_cpu


def test_tensors_of_several_devices():
    x, y = tandem.ones(2, device=DEVICE), tandem.ones(2)
    message = f"Expected all tensors to be on the same device, but found at least two devices, {KIND}:0 and cpu!"
    for call in (lambda: x + y, lambda: y + x, lambda: x.dot(y), lambda: x.add_(y), lambda: tandem.cat([x, y])):
        with pytest.raises(RuntimeError, match=message):
            call()
    assert (x + tandem.tensor(3.0)).cpu().tolist() == [4, 4]  # a number on the CPU goes along
    assert y.copy_(x * 2).tolist() == [2, 2] and x.copy_(tandem.tensor([5.0, 6.0])).cpu().tolist() == [5, 6]
    with pytest.raises(RuntimeError, match="of its kind"):
        tandem.ones(1, device=f"{KIND}:77")


@two
def test_two_devices_of_a_kind():
    x, y = tandem.ones(2, device=DEVICE), tandem.ones(2).to(OTHER)
    assert y.device == OTHER and y.to(DEVICE).device == DEVICE
    with pytest.raises(RuntimeError, match=f"{KIND}:0 and {KIND}:1|{KIND}:1 and {KIND}:0"):
        x + y
    with pytest.raises(RuntimeError, match="there are 2 of its kind"):
        tandem.ones(1, device=f"{KIND}:7")


def test_gradients_cross_devices():
    x = tandem.ones(3, requires_grad=True)
    y = (x.to(DEVICE) * tandem.tensor([1.0, 2.0, 3.0], device=DEVICE)).pow(3)
    (g,) = tandem.autograd.grad(y.sum(), x, create_graph=True)
    assert g.is_cpu and g.tolist() == [3, 24, 81]
    g.sum().backward()
    assert x.grad.is_cpu and x.grad.tolist() == [6, 48, 162]


def test_generators():
    g = tandem.Generator(device=DEVICE).manual_seed(3)
    assert g.device == DEVICE
    assert tandem.equal(
        tandem.rand(4, generator=g, device=DEVICE).cpu(), tandem.rand(4, generator=tandem.Generator().manual_seed(3))
    )
    with pytest.raises(RuntimeError, match=f"Expected a 'cpu' device type for generator but found '{KIND}:0'"):
        tandem.rand(2, generator=g)
    tandem.manual_seed(1)
    first = tandem.rand(2)
    tandem.rand(2, device=DEVICE)
    second = tandem.rand(2)
    tandem.manual_seed(1)
    assert tandem.equal(tandem.rand(2), first) and tandem.equal(tandem.rand(2), second)


def test_a_recording_of_two_devices():
    """Each device's part is a trace of its own; a compiled body that moves tensors runs on every call."""
    x, y = tandem.ones(3), tandem.ones(3, device=DEVICE)
    with tandem.lazy():
        a, b = x * 2, y * 3
        c = a + b.cpu()
    assert a.tolist() == [2] * 3 and b.cpu().tolist() == [3] * 3 and c.tolist() == [5] * 3
    compiled = tandem.compile(lambda x, y: (x * 2 + (y * 3).cpu()).to(DEVICE) + y)
    for k in range(3):
        assert compiled(x + k, y).cpu().tolist() == [2 * (1 + k) + 3 + 1] * 3
    same = tandem.compile(lambda t: t * 2 + 1)
    assert same(x).tolist() == [3] * 3 and same(y).cpu().tolist() == [3] * 3
    runs = same.runs
    assert same(x).is_cpu and same(y).device == DEVICE and same.runs == runs


def test_sizes_that_depend_on_data():
    x = there(tandem.tensor([1.0, -2.0, 3.0, -4.0]))
    assert x[x > 0].cpu().tolist() == [1, 3] and x.nonzero().shape == (4, 1)
    positive = tandem.compile(lambda t: t[t > 0] * 2)
    for k in (0.0, 0.0, 3.0, 0.0):
        assert positive(x + k).cpu().tolist() == [v * 2 for v in (x + k).cpu().tolist() if v > 0]


# ---- several processes ----------------------------------------------------------------------------------------------


def test_a_backend_is_for_tensors_of_its_device():
    dist = tandem.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = tandem.ones(2, device=DEVICE)
        if KIND == "cuda":  # by way of the host
            dist.all_reduce(x)
            nn.parallel.DistributedDataParallel(nn.Linear(2, 2, device=DEVICE))
            assert x.tolist() == [1, 1]
        else:
            words = f"all_reduce: tensor is float32 [2] on {KIND}:0, and the backend gloo is for tensors on cpu"
            with pytest.raises(ValueError) as caught:
                dist.all_reduce(x)
            assert words in str(caught.value)
            with pytest.raises(ValueError, match=f"on {KIND}:0, and the backend gloo"):
                nn.parallel.DistributedDataParallel(nn.Linear(2, 2, device=DEVICE))
        # What the operations need besides is where the tensors are, and not where new ones are made.
        with DEVICE:
            y = tandem.ones(2, device="cpu")
            parts = [tandem.zeros(2, device="cpu")]
            dist.all_gather(parts, y)
            objects = [None]
            dist.all_gather_object(objects, "text")
            model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2, device="cpu"), find_unused_parameters=True)
            model(y).sum().backward()
        assert parts[0].tolist() == [1, 1] and objects == ["text"] and model.module.bias.grad.tolist() == [1, 1]
    finally:
        dist.destroy_process_group()
