"""Saved programs of each version of their format, which are read for ever: `program-<version>.tandem` has what a format
can say, `program-<version>.npz` what its entries gave when it was written.

    python tests/data/make.py

writes the files of the version at hand. They are written once, when a version is released, and then never again: what
the tests find is that new readers read old files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tandem
from tandem import Tensor, nn
from tandem.export import Dim, Entry, entries

HERE = Path(__file__).parent
VERSION = "1.4"


def arguments(entry: str, size: int) -> list[Tensor]:
    """What an entry is called with, without a random generator that may change."""

    def wave(*shape: int) -> Tensor:
        return (tandem.arange(float(np.prod(shape))) * 0.7).sin().reshape(shape)

    return {
        "forward": [wave(size, 4)],
        "step": [wave(4, 4), tandem.tensor([0, 2, 1, 2])],
        "pairs": [wave(size, 3), tandem.arange(size) % 2],
        "draw": [],
    }[entry]


CALLS = [("forward", 3), ("step", 0), ("step", 0), ("forward", 4), ("pairs", 2), ("pairs", 7), ("draw", 0), ("draw", 0)]


def make() -> tandem.export.ExportedProgram:
    tandem.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 3))
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    def pairs(x: Tensor, i: Tensor, by: float) -> dict[str, object]:
        both = x @ x.T
        bounded = both.half().masked_fill(both > 1, by).float()
        return {
            "sorted": both.sort(0)[0],
            "mean": (bounded * by).mean(),
            "picked": (x[i], x.cumsum(0)),
            "name": "pairs",
        }

    batch, n = Dim("batch", min=2, max=4), Dim("n", max=8)
    return entries(
        forward=Entry(lambda x: model(x).softmax(1), tuple(arguments("forward", 2)), dynamic_shapes=({0: batch},)),
        step=Entry(step, tuple(arguments("step", 0)), training=True),
        pairs=Entry(pairs, (*arguments("pairs", 3), 0.5), dynamic_shapes=({0: n}, {0: n}, None)),
        draw=Entry(lambda: (tandem.rand(3), tandem.randint(0, 9, (2,)))),
        notes={"license": "CC0"},
    )  # fmt: skip


def results(program: tandem.export.ExportedProgram) -> dict[str, np.ndarray]:
    """The results of the calls one after the other, and the state that they leave, by name."""
    found: dict[str, np.ndarray] = {}
    for number, (entry, size) in enumerate(CALLS):
        numbers = [0.25] if entry == "pairs" else []
        result = program.run(entry, *arguments(entry, size), *numbers)
        if entry == "pairs":
            assert result.pop("name") == "pairs"
            result = (result["sorted"], result["mean"], *result["picked"])
        for k, t in enumerate(result if isinstance(result, tuple) else (result,)):
            found[f"{number}.{k}"] = t.numpy()
    return found | {f"state.{name}": t.numpy() for name, t in program.state_dict.items()}


if __name__ == "__main__":
    path = HERE / f"program-{VERSION}.tandem"
    if path.exists():
        sys.exit(f"{path} is there already, and stays what it is")
    program = make()
    program.save(path)
    np.savez_compressed(path.with_suffix(".npz"), **results(program))
