"""Forecasting waves: two LSTM cells read a series step by step and continue it."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

rng = np.random.RandomState(10)


class Sequence(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        c_t = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main():
    shift = rng.randint(0, 100, (12, 1))
    waves = np.sin((np.arange(40) + shift) / 6.0).astype("float64")
    input, target = torch.from_numpy(waves[3:, :-1]), torch.from_numpy(waves[3:, 1:])
    test_input, test_target = torch.from_numpy(waves[:3, :-1]), torch.from_numpy(waves[:3, 1:])
    seq = Sequence()
    seq.double()
    for p in seq.parameters():
        p.data.copy_(torch.from_numpy(rng.uniform(-0.3, 0.3, tuple(p.shape))))
    criterion = nn.SmoothL1Loss(beta=0.5)
    optimizer = optim.RMSprop(seq.parameters(), lr=0.01, alpha=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    for step in range(10):
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.9f}")
    with torch.no_grad():
        pred = seq(test_input, future=5)
        assert pred.shape == (3, 44) and criterion(pred[:, :-5], test_target).item() >= 0


if __name__ == "__main__":
    main()
