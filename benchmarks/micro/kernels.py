"""Memory-bound work on 4096×1024 float32: what fusing saves."""

from compare.timing import seconds_per_call

TITLE = "kernels, 4096×1024 float32"
ROWS = {
    "copy": ("a copy", "ms"),
    "gelu": ("bias + tanh-GELU written out", "ms"),
    "gelu_grad": ("the same, forward and backward", "ms"),
    "softmax": ("softmax over rows", "ms"),
    "layer_norm": ("layer_norm", "ms"),
    "norm_gelu": ("add, layer_norm, GELU", "ms"),
    "norm_gelu_grad": ("the same, forward and backward", "ms"),
    "sum": ("sum of all", "ms"),
    "column_sum": ("sum of squares over rows", "ms"),
    "adamw": ("AdamW step, 8 parameters of 1M", "ms"),
    "adamw_small": ("AdamW step, 300 small parameters", "ms"),
}
SHAPE = (4096, 1024)


def torch_like(T):
    F = T.nn.functional
    T.manual_seed(0)
    x, skip, bias, scale = T.randn(*SHAPE), T.randn(*SHAPE), T.randn(SHAPE[1]), T.randn(SHAPE[1])
    ones, out = T.ones(*SHAPE), T.empty(*SHAPE)

    def gelu(x, bias):
        y = x + bias
        return 0.5 * y * (1.0 + T.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))

    def norm_gelu(x, bias):
        return F.gelu(F.layer_norm(x + skip, (SHAPE[1],), scale, bias))

    forward = {
        "gelu": gelu,
        "softmax": lambda x, bias: T.softmax(x, -1),
        "layer_norm": lambda x, bias: F.layer_norm(x, (SHAPE[1],), scale, bias),
        "norm_gelu": norm_gelu,
        "sum": lambda x, bias: x.sum(),
        "column_sum": lambda x, bias: (x * x).sum(0),
    }
    yield "copy", "eager", seconds_per_call(lambda: out.copy_(x))
    for mode in ("eager", "compiled"):
        for row, function in forward.items():
            run = T.compile(function) if mode == "compiled" else function
            yield row, mode, seconds_per_call(lambda run=run: run(x, bias))
        for row, function in (("gelu_grad", gelu), ("norm_gelu_grad", norm_gelu)):
            run = T.compile(function) if mode == "compiled" else function
            leaf, leaf_bias = x.clone().requires_grad_(), bias.clone().requires_grad_()

            def step(run=run, leaf=leaf, leaf_bias=leaf_bias):
                leaf.grad = leaf_bias.grad = None
                run(leaf, leaf_bias).backward(ones)

            yield row, mode, seconds_per_call(step)
    for row, shapes in (("adamw", [(1024, 1024)] * 8), ("adamw_small", [(64,)] * 200 + [(64, 64)] * 100)):
        parameters = [T.nn.Parameter(T.randn(*shape)) for shape in shapes]
        for parameter in parameters:
            parameter.grad = T.randn(*parameter.shape)
        optimizer = T.optim.AdamW(parameters, lr=1e-3)
        yield row, "eager", seconds_per_call(optimizer.step)


def numpy():
    import numpy as np

    generator = np.random.default_rng(0)
    x = generator.standard_normal(SHAPE, np.float32)
    bias, out = x[0].copy(), np.empty_like(x)

    def gelu():
        y = x + bias
        return np.float32(0.5) * y * (1 + np.tanh(np.float32(0.7978845608) * (y + np.float32(0.044715) * y * y * y)))

    def softmax():
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    calls = {
        "copy": lambda: np.copyto(out, x),
        "gelu": gelu,
        "softmax": softmax,
        "sum": x.sum,
        "column_sum": lambda: (x * x).sum(0),
    }
    for row, call in calls.items():
        yield row, "eager", seconds_per_call(call)


def jax():
    import jax
    import jax.numpy as jnp

    x = jax.random.normal(jax.random.key(0), SHAPE)
    skip, bias, scale, ones = x + 1, x[0] * 1, x[1] * 1, jnp.ones(SHAPE)

    def layer_norm(x, bias):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias

    def gelu(x, bias):
        y = x + bias
        return 0.5 * y * (1 + jnp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))

    def norm_gelu(x, bias):
        return jax.nn.gelu(layer_norm(x + skip, bias), approximate=False)

    def with_gradients(function):
        def run(x, bias):
            result, pull = jax.vjp(function, x, bias)
            return result, pull(ones)

        return run

    functions = {
        "copy": lambda x, bias: x + 0,
        "gelu": gelu,
        "gelu_grad": with_gradients(gelu),
        "softmax": lambda x, bias: jax.nn.softmax(x, -1),
        "layer_norm": layer_norm,
        "norm_gelu": norm_gelu,
        "norm_gelu_grad": with_gradients(norm_gelu),
        "sum": lambda x, bias: x.sum(),
        "column_sum": lambda x, bias: (x * x).sum(0),
    }
    for row, function in functions.items():
        run = jax.jit(function)
        yield row, "compiled", seconds_per_call(lambda run=run: run(x, bias), jax.block_until_ready)
