"""Whole training steps: forward, backward and optimizer. Tandem and JAX compile the step as one; PyTorch's compiler
takes the model, and its optimizer runs as it does eagerly."""

import math

from compare.timing import seconds_per_call
from models.networks import MLP, cnn, tanh_network, transformer

TITLE = "training steps"
ROWS = {
    "mlp_32": ("MLP 64-128-128-128-1, SGD, batch 32", "us"),
    "mlp_32_recorded": ("the same, with an effect for which the body runs on every call", "us"),
    "mlp_1024": ("MLP of the same sizes, batch 1024", "us"),
    "cnn": ("CNN of 2 convolutions and 2 linear layers, Adam, batch 64", "ms"),
    "cnn_recorded": ("the same, its body run on every call", "ms"),
    "gpt": ("4 transformer layers of 128, 4 heads, AdamW, 12×64 tokens", "ms"),
    "gpt_recorded": ("the same, its body run on every call", "ms"),
    "lstm": ("LSTM of 2 layers of 256, SGD, batch 32, length 100", "ms"),
    "pinn": ("u'' = -sin, 4×64 tanh, 1024 points, Adam (third order)", "ms"),
}
PINN = (1, 64, 64, 64, 64, 1)


def torch_like(T):
    nn, F = T.nn, T.nn.functional
    whole_steps = T.__name__ == "tandem"

    def fit(model, optimizer, loss, mode):
        forward = T.compile(model) if mode == "compiled" and not whole_steps else model

        def step():
            optimizer.zero_grad()
            value = loss(forward)
            value.backward()
            optimizer.step()
            return value

        return T.compile(step) if mode == "compiled" and whole_steps else step

    def recorded(step):
        """The step with an effect in Python, which no plan repeats."""
        calls = []

        def counted():
            calls.append(1)
            calls.clear()
            return step()

        return T.compile(counted)

    def residual(model):
        x = points.detach().requires_grad_()
        (du,) = T.autograd.grad(model(x).sum(), x, create_graph=True)
        (ddu,) = T.autograd.grad(du.sum(), x, create_graph=True)
        return (ddu + T.sin(x)).square().mean()

    T.manual_seed(0)
    points = T.linspace(0, math.pi, 1024).reshape(-1, 1) if hasattr(T, "linspace") else T.rand(1024, 1) * math.pi
    images, labels = T.randn(64, 1, 28, 28), T.randint(0, 10, (64,))
    for mode in ("eager", "compiled"):
        for row, batch in (("mlp_32", 32), ("mlp_1024", 1024)):
            model, x, y = tanh_network(T, MLP), T.randn(batch, 64), T.randn(batch, 1)
            sgd = T.optim.SGD(model.parameters(), lr=0.01)
            step = fit(model, sgd, lambda forward, x=x, y=y: F.mse_loss(forward(x), y), mode)
            yield row, mode, seconds_per_call(step)
            if mode == "compiled" and whole_steps and row == "mlp_32":
                yield "mlp_32_recorded", mode, seconds_per_call(recorded(step))
        model = cnn(T)
        adam = T.optim.Adam(model.parameters(), lr=1e-3)
        step = fit(model, adam, lambda forward: F.cross_entropy(forward(images), labels), mode)
        yield "cnn", mode, seconds_per_call(step, budget=1.0)
        if mode == "compiled" and whole_steps:
            yield "cnn_recorded", mode, seconds_per_call(recorded(step), budget=1.0)
        gpt, tokens = transformer(T, 4, 128, 4), T.randn(12, 64, 128)
        adamw = T.optim.AdamW(gpt.parameters(), lr=1e-3)
        step = fit(gpt, adamw, lambda forward, x=tokens: forward(x).square().mean(), mode)
        yield "gpt", mode, seconds_per_call(step, budget=2.0)
        if mode == "compiled" and whole_steps:
            yield "gpt_recorded", mode, seconds_per_call(recorded(step), budget=2.0)
        if mode == "eager" or whole_steps:  # PyTorch leaves LSTMs and second derivatives uncompiled
            lstm, sequences = nn.LSTM(256, 256, num_layers=2), T.randn(100, 32, 256)
            sgd = T.optim.SGD(lstm.parameters(), lr=0.01)
            step = fit(lstm, sgd, lambda forward, x=sequences: forward(x)[0].square().mean(), mode)
            yield "lstm", mode, seconds_per_call(step, budget=2.0)
            model = tanh_network(T, PINN)
            adam = T.optim.Adam(model.parameters(), lr=1e-3)
            yield "pinn", mode, seconds_per_call(fit(model, adam, residual, mode), budget=1.0)


def jax():
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)

    def network(sizes):
        return [(jax.random.normal(key, pair) / pair[0] ** 0.5, jnp.zeros(pair[1])) for pair in zip(sizes, sizes[1:])]

    def tanh_network(layers, x):
        for weight, bias in layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        return x @ layers[-1][0] + layers[-1][1]

    def sgd(loss):
        def step(state, *data):
            value, gradients = jax.value_and_grad(loss)(state, *data)
            return jax.tree.map(lambda p, g: p - 0.01 * g, state, gradients), value

        return jax.jit(step)

    def adam(loss):
        def step(state, *data):
            parameters, mean, square, count = state
            value, gradients = jax.value_and_grad(loss)(parameters, *data)
            count = count + 1
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
            square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradients)
            rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            move = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), parameters, mean, square)
            return (move, mean, square, count), value

        return jax.jit(step)

    def with_moments(parameters):
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return parameters, zeros, zeros, jnp.zeros(())

    def convolution(x, weight, bias):
        y = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME") + bias[:, None, None]
        return jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def cnn(p, x):
        x = convolution(convolution(x, *p[0]), *p[1]).reshape(len(x), -1)
        return jax.nn.relu(x @ p[2][0] + p[2][1]) @ p[3][0] + p[3][1]

    def cross_entropy(p, x, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(cnn(p, x), -1), y[:, None], 1).mean()

    def residual(layers, x):
        def u(x):
            return tanh_network(layers, x).sum()

        ddu = jax.grad(lambda x: jax.grad(u)(x).sum())(x)
        return ((ddu + jnp.sin(x)) ** 2).mean()

    def measure(step, state, *data):
        return seconds_per_call(lambda: step(state, *data), jax.block_until_ready, budget=1.0)

    for row, batch in (("mlp_32", 32), ("mlp_1024", 1024)):
        x, y = jax.random.normal(key, (batch, 64)), jax.random.normal(key, (batch, 1))
        step = sgd(lambda layers, x, y: ((tanh_network(layers, x) - y) ** 2).mean())
        yield row, "compiled", measure(step, network(MLP), x, y)
    shapes = ((16, 1, 3, 3), 16), ((32, 16, 3, 3), 32), ((1568, 128), 128), ((128, 10), 10)
    layers = [(0.05 * jax.random.normal(key, weight), jnp.zeros(bias)) for weight, bias in shapes]
    images, labels = jax.random.normal(key, (64, 1, 28, 28)), jax.random.randint(key, (64,), 0, 10)
    yield "cnn", "compiled", measure(adam(cross_entropy), with_moments(layers), images, labels)
    points = jnp.linspace(0, math.pi, 1024).reshape(-1, 1)
    yield "pinn", "compiled", measure(adam(residual), with_moments(network(PINN)), points)
