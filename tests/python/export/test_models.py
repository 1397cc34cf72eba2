"""Training steps of the kinds of models that people train, saved: three steps with eager's bits, here and in C."""

from __future__ import annotations

import copy

import pytest
from conftest import assert_same_bits
from exporting import Jobs

import tandem
from tandem import nn
from tandem.export import training_step

F = nn.functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.norms[0](x)).reshape(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.wide(self.norms[1](x))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 16)
        self.blocks = nn.Sequential(Block(16, 2), Block(16, 4))
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens):
        return self.head(self.blocks(self.table(tokens)))


def language():
    model = Language()
    tokens = tandem.randint(0, 11, (3, 9))
    return model, lambda t: F.cross_entropy(model(t[:, :-1]).reshape(-1, 11), t[:, 1:].reshape(-1)), tokens


def residual():
    """A network of third order: the derivatives of its second derivative."""
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def loss(points):
        x = points.detach().requires_grad_()
        (du,) = tandem.autograd.grad(model(x).sum(), x, create_graph=True)
        (ddu,) = tandem.autograd.grad(du.sum(), x, create_graph=True)
        return (ddu + tandem.sin(x)).square().mean()

    return model, loss, tandem.rand(64, 1)


def recurrent():
    model = nn.LSTM(5, 8, num_layers=2, dropout=0.2)
    return model, lambda x: model(x)[0].square().mean(), tandem.randn(7, 3, 5)


def images():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 3, 2, stride=2)
    )
    return model, lambda x: F.l1_loss(model(x), x), tandem.randn(2, 3, 12, 10)


def halves():
    model = nn.Sequential(nn.Linear(6, 12), nn.SiLU(), nn.Linear(12, 2)).to(tandem.bfloat16)
    return model, lambda x: model(x).float().square().mean(), tandem.randn(5, 6).to(tandem.bfloat16)


@pytest.mark.parametrize("kind", [language, residual, recurrent, images, halves])
def test_training(kind, tmp_path):
    tandem.manual_seed(2)
    model, loss, x = kind()
    optimizer = tandem.optim.AdamW(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad()
        value = loss(x)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return value

    program = training_step(step, (x,))
    jobs = Jobs(tmp_path)
    before = copy.deepcopy(model.state_dict())
    expected = [step(x) for _ in range(3)]
    jobs.add(program, "step", [x], expected[:1])
    for value in expected:
        assert_same_bits(program(x), value)
    for name, value in model.state_dict().items():
        assert_same_bits(program.state_dict[name], value)
        assert_same_bits(program.fork().state_dict[name], before[name])
    assert jobs.run() == []
