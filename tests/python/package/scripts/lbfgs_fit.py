"""A network fitted to noisy samples of a curve with L-BFGS, whose step calls a closure several times."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.set_default_dtype(torch.float64)
rng = np.random.RandomState(9)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


def main():
    x = torch.linspace(-2, 2, 80).unsqueeze(1)
    y = torch.sin(2 * x) * torch.exp(-x.abs() / 2) + 0.02 * torch.from_numpy(rng.standard_normal((80, 1)))
    net = Net()
    for p in net.parameters():
        p.data.copy_(torch.from_numpy(rng.uniform(-0.7, 0.7, tuple(p.shape))))
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(net.parameters(), lr=0.8, max_iter=4, history_size=8, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        return loss

    for step in range(10):
        loss = optimizer.step(closure)
        print(f"step {step} loss {loss.item():.9f}")
    with torch.no_grad():
        assert criterion(net(x), y).item() < loss.item() + 1e-9


if __name__ == "__main__":
    main()
