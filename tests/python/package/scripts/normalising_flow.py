"""A normalising flow: affine couplings (Dinh et al. 2017) fit the density of two moons."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Independent, Normal

rng = np.random.RandomState(8)


class Coupling(nn.Module):
    """Half of the dims scale and shift the others."""

    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(
            nn.Linear(dim // 2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, dim)
        )

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=-1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        z = torch.cat([b, a] if self.flip else [a, b], dim=-1)
        return z, s.sum(dim=-1)

    def inverse(self, z):
        a, b = z.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=-1)
        b = (b - t) * torch.exp(-torch.tanh(s))
        return torch.cat([b, a] if self.flip else [a, b], dim=-1)


class Flow(nn.Module):
    def __init__(self, dim=2, hidden=24, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, hidden, flip=i % 2 == 1) for i in range(layers))
        self.register_buffer("loc", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    @property
    def base(self):
        return Independent(Normal(self.loc, self.scale), 1)

    def log_prob(self, x):
        total = torch.zeros(x.shape[0])
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return self.base.log_prob(x) + total

    def sample(self, count):
        with torch.no_grad():
            x = self.base.sample((count,))
            for layer in reversed(self.layers):
                x = layer.inverse(x)
        return x


def two_moons(count):
    angle = rng.uniform(0, np.pi, count)
    upper = rng.uniform(size=count) < 0.5
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    points = np.stack([x, y], 1) + 0.05 * rng.standard_normal((count, 2))
    return torch.as_tensor(points, dtype=torch.float32)


def main():
    flow = Flow()
    with torch.no_grad():
        for p in flow.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-0.4, 0.4, tuple(p.shape))))
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    for step in range(10):
        loss = -flow.log_prob(two_moons(128)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.7f}")
    x = two_moons(8)
    z, _ = flow.layers[0](x)
    assert torch.allclose(flow.layers[0].inverse(z), x, atol=1e-5)
    assert flow.sample(5).shape == (5, 2)


if __name__ == "__main__":
    main()
