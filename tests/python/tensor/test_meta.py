"""Tensors on the device `meta`: shapes, dtypes and strides of every operation, and no elements."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
import warnings
from typing import Any

import devices
import pytest
from conftest import run_in
from operations import VISIBLE, Typed, dtypes, layouts, leaves
from samples import samples

import tandem
from tandem import nn

META = tandem.device("meta")
NO_DATA = "Cannot copy out of meta tensor; no data!"
# Whose sizes elements decide, or what reads lengths.
BY_VALUES = (
    "argwhere bincount ctc_loss_lists index_put repeat_interleave_counts repeat_interleave_tensor tensor_split_tensor "
    "unique unique_consecutive where_true"
).split()


def looks(tensors: list[tandem.Tensor]) -> list[Any]:
    return [(t.shape, t.dtype, t.stride() if t.numel() else ()) for t in tensors]


@pytest.mark.parametrize("name", [name for name in VISIBLE if name not in BY_VALUES])
def test_operation(name, mode):
    op = VISIBLE[name]
    dtype, layout = dtypes(op)[0], layouts(op)[sum(name.encode()) % len(layouts(op))]
    for sample in itertools.islice(samples(op, dtype), 4):
        row = Typed.of(op, sample, dtype, layout)
        if not row.tensors:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = row.run()
            moved = Typed(op, *devices.all_there((row.args, row.kwargs), META), dtype, layout)
            got = leaves(run_in(mode, lambda *tensors, moved=moved: moved.run(list(tensors)), *moved.tensors))
        assert looks(got) == looks(want) and all(t.is_meta for t in got), row


def test_what_it_says_of_itself():
    x = tandem.empty(2, 3, device="meta")
    assert x.device == META and repr(x.device) == "device(type='meta')" and META.index is None and str(META) == "meta"
    assert x.is_meta and not x.is_cpu and not x.is_cuda and x.get_device() == -1 and x.data_ptr() == 0
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))" and x.type() == "tandem.meta.FloatTensor"
    assert "dtype=tandem.int64" in repr(tandem.tensor([1], device="meta"))
    assert x.untyped_storage().nbytes() == 24 and x.untyped_storage().device == META
    # No memory stands behind it.
    large = tandem.empty(10**7, 10**7, device="meta")
    assert (large @ large).shape == large.shape and (large + 1).sum(0).shape == (10**7,)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x.sum()),
        lambda x: x.tolist(),
        lambda x: x.cpu(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: tandem.equal(x, x),
        lambda x: tandem.zeros(2, 3).copy_(x),
    ],
)
def test_elements_cannot_be_read(read):
    with pytest.raises(NotImplementedError, match=NO_DATA):
        read(tandem.ones(2, 3, device="meta"))


def test_beside_other_devices():
    x = tandem.ones(2, 3, device="meta")
    assert (x + tandem.tensor(1.0)).is_meta and x[tandem.tensor([0, 1, 1])].shape == (3, 3)
    assert x.copy_(tandem.ones(3)) is x and tandem.ones_like(tandem.ones(2), device="meta").is_meta
    x[x > 0] = 0
    with pytest.raises(RuntimeError, match="at least two devices, meta and cpu"):
        x + tandem.ones(2, 3)
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        tandem.device(0)
    with pytest.raises(RuntimeError, match="'xpu' is not available: Tandem computes on the CPU only here"):
        tandem.ones(1, device="xpu")


def test_training_step(mode):
    with META:
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
        x, y = tandem.randn(2, 3, 8, 8), tandem.zeros(2, dtype=tandem.int64)
    assert {p.device for p in model.parameters()} == {META} and tandem.ones(1).is_cpu
    optimizer = tandem.optim.AdamW(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(2):
        assert run_in(mode, step, x, y).is_meta
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in model.parameters())


def test_modules_get_their_memory():
    with META:
        model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with pytest.raises(NotImplementedError, match=r"Please use tandem.nn.Module.to_empty\(\)"):
        model.to("cpu")
    state = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict()
    with pytest.warns(UserWarning, match="0.weight: copying from a non-meta parameter .* which is a no-op"):
        model.load_state_dict(state)
    assert model[0].weight.is_meta and model.to(tandem.float64)[0].weight.dtype is tandem.float64
    model.load_state_dict(state, assign=True)
    assert model(tandem.ones(4, 2)).shape == (4, 3) and isinstance(model[0].weight, nn.Parameter)
    assert tandem.equal(model[0].weight, state["0.weight"])
    empty = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    assert empty.weight.is_cpu and empty(tandem.ones(1, 2)).shape == (1, 3)


def test_parameters_that_come_from_meta_or_go_there_are_new_ones():
    layer = nn.Linear(2, 3)
    layer.weight.grad = tandem.ones(3, 2)
    here = layer.weight
    there = layer.to("meta").weight
    assert there is not here and here.is_cpu and there.is_meta and there.grad.is_meta and here.grad.is_cpu
    assert there.requires_grad and layer.double().weight is there
    back = layer.to_empty(device="cpu").weight
    assert back is not there and isinstance(back, nn.Parameter) and back.is_cpu and back.grad.is_cpu and there.is_meta


def test_copies_and_files():
    x = tandem.empty(2, 3, device="meta").t()
    p = nn.Parameter(tandem.empty(2, device="meta"))
    assert copy.deepcopy(x).is_meta
    back, parameter = pickle.loads(pickle.dumps((x, p)))
    assert back.is_meta and back.stride() == x.stride() and isinstance(parameter, nn.Parameter) and parameter.is_meta
    file = io.BytesIO()
    tandem.save({"w": tandem.ones(2)}, file)
    file.seek(0)
    assert tandem.load(file, map_location="meta")["w"].is_meta
