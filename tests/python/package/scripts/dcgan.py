"""A deep convolutional GAN: transposed convolutions make 16 x 16 pictures, strided ones judge them."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

nz, ngf, ndf, nc = 16, 8, 8, 1
rng = np.random.RandomState(2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        m.weight.data.copy_(torch.from_numpy(rng.normal(0.0, 0.05, tuple(m.weight.shape))))
    elif name.find("BatchNorm") != -1:
        m.weight.data.copy_(torch.from_numpy(rng.normal(1.0, 0.02, tuple(m.weight.shape))))
        m.bias.data.fill_(0)


def noise(n):
    return torch.from_numpy(rng.standard_normal((n, nz, 1, 1)).astype("float32"))


def real_pictures(n):
    """Bright discs on a dark ground, values in [-1, 1]."""
    y, x = np.mgrid[0:16, 0:16]
    cy, cx = rng.uniform(5, 11, (2, n, 1, 1))
    inside = (y - cy) ** 2 + (x - cx) ** 2 < rng.uniform(4, 25, (n, 1, 1))
    return torch.tensor(inside[:, None] * 2.0 - 1.0, dtype=torch.float32)


def main():
    netG, netD = Generator(), Discriminator()
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCELoss()
    optimizerD = optim.Adam(netD.parameters(), lr=0.0005, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.0005, betas=(0.5, 0.999))
    real_label, fake_label, batch = 1.0, 0.0, 16
    for i in range(10):
        # Discriminator: maximise log(D(x)) + log(1 - D(G(z))).
        netD.zero_grad()
        label = torch.full((batch,), real_label)
        errD_real = criterion(netD(real_pictures(batch)), label)
        errD_real.backward()
        fake = netG(noise(batch))
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()
        # Generator: maximise log(D(G(z))).
        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        print(f"step {i} loss {errD.item():.7f} {errG.item():.7f}")


if __name__ == "__main__":
    main()
