"""The networks that cases measure, for a library with PyTorch's names."""

MLP = (64, 128, 128, 128, 1)


def tanh_network(T, sizes):
    nn = T.nn
    layers = []
    for fan_in, fan_out in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(fan_in, fan_out), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def cnn(T):
    """Of 28x28 images, 10 classes."""
    nn = T.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def transformer(T, layers, width, heads):
    """Causal, its norms first."""
    nn, F = T.nn, T.nn.functional

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            batch, tokens, _ = x.shape
            parts = self.qkv(self.norms[0](x)).reshape(batch, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
            attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
            return x + self.wide(self.norms[1](x))

    return nn.Sequential(*[Layer() for _ in range(layers)])
