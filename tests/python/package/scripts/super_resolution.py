"""Super-resolution with sub-pixel convolution (Shi et al. 2016): pictures are doubled in size."""

import argparse
from math import log10

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

rng = np.random.RandomState(11)


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        for conv in (self.conv1, self.conv2, self.conv3, self.conv4):
            fan_in = conv.weight[0].numel()
            values = rng.normal(0, (2 / fan_in) ** 0.5, tuple(conv.weight.shape))
            conv.weight = nn.Parameter(torch.tensor(values, dtype=torch.float32))
            nn.init.zeros_(conv.bias)


class Waves(Dataset):
    """Smooth pictures, and their 2 x 2 means."""

    def __init__(self, count, size=24):
        y, x = np.mgrid[0:size, 0:size] / 6.0
        f = rng.uniform(0.3, 1.5, (count, 4, 1, 1))
        self.large = np.sin(f[:, 0] * x + f[:, 1] * y) * np.cos(f[:, 2] * x - f[:, 3] * y) * 0.5 + 0.5

    def __len__(self):
        return len(self.large)

    def __getitem__(self, index):
        target = torch.from_numpy(self.large[index]).float().unsqueeze(0)
        return nn.functional.avg_pool2d(target, 2), target


def main():
    parser = argparse.ArgumentParser(description="Super-resolution")
    parser.add_argument("--upscale_factor", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.002)
    opt = parser.parse_args()
    loader = DataLoader(Waves(80), batch_size=opt.batch_size, shuffle=False, num_workers=0)
    model = Net(upscale_factor=opt.upscale_factor)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=opt.lr)
    for iteration, (input, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        loss.backward()
        optimizer.step()
        print(f"step {iteration} loss {loss.item():.7f}")
    with torch.no_grad():
        input, target = Waves(4)[0]
        mse = criterion(model(input.unsqueeze(0)), target.unsqueeze(0))
        assert np.isfinite(10 * log10(1 / mse.item()))


if __name__ == "__main__":
    main()
