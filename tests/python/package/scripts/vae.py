"""A variational autoencoder on small pictures of squares."""

import numpy as np
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

rng = np.random.RandomState(1)


def make_pictures(count, size=12):
    """Filled squares at random places."""
    pictures = np.zeros((count, 1, size, size), dtype=np.float32)
    for picture in pictures:
        width = rng.randint(3, 7)
        y, x = rng.randint(0, size - width, 2)
        picture[0, y : y + width, x : x + width] = 1
    return torch.from_numpy(pictures)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(144, 64)
        self.fc21 = nn.Linear(64, 8)
        self.fc22 = nn.Linear(64, 8)
        self.fc3 = nn.Linear(8, 64)
        self.fc4 = nn.Linear(64, 144)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.from_numpy(rng.standard_normal(tuple(std.shape)).astype("float32"))
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 144))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    """Reconstruction and KL divergence, summed over elements and batch (Kingma and Welling, 2014, appendix B)."""
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 144), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def init_weights(m):
    if isinstance(m, nn.Linear):
        bound = (6 / sum(m.weight.shape)) ** 0.5
        m.weight.data = torch.from_numpy(rng.uniform(-bound, bound, tuple(m.weight.shape)).astype("float32"))
        nn.init.zeros_(m.bias)


def main():
    data = make_pictures(320)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=False)
    model = VAE().to("cpu")
    model.apply(init_weights)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for batch_idx, x in enumerate(loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(x)
        loss = loss_function(recon_batch, x, mu, logvar)
        loss.backward()
        optimizer.step()
        print(f"step {batch_idx} loss {loss.item() / len(x):.7f}")


if __name__ == "__main__":
    main()
