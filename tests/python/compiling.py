"""What the tests of `compile` share: a compiled function that counts its runs, a small vector, a small network."""

from __future__ import annotations

import tandem
from tandem import nn


class counting:  # noqa: N801
    """A function, compiled; `runs` counts how often its Python body ran."""

    def __init__(self, function):
        self.function, self.runs = function, 0
        self.compiled = tandem.compile(self.body)

    def body(self, *args, **kwargs):
        self.runs += 1
        return self.function(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        return self.compiled(*args, **kwargs)


def vector(*values, **options):
    return tandem.tensor([float(v) for v in values], **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.second = nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3)
        self.register_buffer("calls", tandem.zeros(1))
        self.slope = 2

    def forward(self, x):
        self.calls.add_(1)
        return self.second(self.drop(tandem.tanh(self.first(x)))) * self.slope
