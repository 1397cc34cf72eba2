"""Random programs and a training step on the device under test: the bits of the CPU's eager run in every mode."""

from __future__ import annotations

import pytest
from conftest import MODES, assert_same_bits, run_in
from guarded import DEVICE, GUARDED
from hypothesis import given
from programs import differences, examples, execute, inputs, programs

import tandem
from tandem import nn


def compare(program, shapes, order, modes):
    """With the CPU's eager run; where products take part, of which a GPU promises less, with the device's own."""
    expected = execute("eager", program, shapes, order)
    if not GUARDED and any(step.name == "matmul" for step in program):
        with DEVICE:
            expected = execute("eager", program, shapes, order)
    for mode in modes:
        with DEVICE:
            found = differences(execute(mode, program, shapes, order), expected)
        assert found is None, f"{mode}: {found}"


@examples(80)
@given(program=programs, shapes=inputs)
def test_values(program, shapes):
    compare(program, shapes, 0, ("eager", "lazy", "compiled"))


@examples(80)
@given(program=programs, shapes=inputs)
def test_second_derivatives(program, shapes):
    compare(program, shapes, 2, ("eager", "lazy", "compiled again"))


def losses(mode: str, device: tandem.device | None) -> list[tandem.Tensor]:
    """Three steps of the network of examples/fashion_mnist.py on made-up images; losses, then weights."""
    tandem.manual_seed(3)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    images, labels = tandem.randn(3, 16, 1, 28, 28), tandem.randint(0, 10, (3, 16))
    if device is not None:
        model, images, labels = model.to(device), images.to(device), labels.to(device)
    optimizer = tandem.optim.Adam(model.parameters(), lr=2e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    found = []
    compiled = tandem.compile(step)
    for x, y in zip(images, labels, strict=True):
        loss = compiled(x, y) if mode == "compiled" else run_in(mode, step, x, y)
        assert device is None or loss.device == device
        found.append(loss.detach().cpu())
    return found + [p.detach().cpu() for p in model.parameters()]


@pytest.mark.parametrize("mode", MODES)
def test_training(mode):
    for got, want in zip(losses(mode, DEVICE), losses("eager", None if GUARDED else DEVICE), strict=True):
        assert_same_bits(got, want)


@pytest.mark.skipif(GUARDED, reason="has the CPU's bits")
def test_training_is_close_to_the_cpus():
    for got, want in zip(losses("eager", DEVICE), losses("eager", None), strict=True):
        tandem.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
