"""What compiling costs, the first time and for a new shape, and what a compiled call costs when it has little to do."""

from compare.timing import seconds_once, seconds_per_call

TITLE = "compile time and call overhead"
ROWS = {
    "first": ("first compiled call of a process, x + 1", "ms"),
    "compile_gelu": ("first call of bias + tanh-GELU", "ms"),
    "new_shape": ("its first call with a second shape", "ms"),
    "third_shape": ("its first call with a third shape", "ms"),
    "compile_softmax": ("first call of a softmax", "ms"),
    "compile_mlp": ("first call of a 4×64 tanh network", "ms"),
    "one_input": ("compiled call, 1 input", "us"),
    "hundred_inputs": ("compiled call, 100 inputs", "us"),
    "recorded_operation": ("an operation of a body that runs on every call, above Python's own time", "us"),
    "lazy_operation": ("the same in a lazy block", "us"),
    "hundred_parameters": ("compiled call, module of 100 parameters", "us"),
}


def torch_like(T):
    nn = T.nn

    def gelu(x, bias):
        y = x + bias
        return 0.5 * y * (1.0 + T.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))

    def network(layers):
        return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), *layers, nn.Linear(64, 1))

    x, bias = T.randn(512, 512), T.randn(512)
    run = T.compile(lambda x: x + 1.0)
    yield "first", "compiled", seconds_once(lambda: run(x))
    compiled = T.compile(gelu)
    yield "compile_gelu", "compiled", seconds_once(lambda: compiled(x, bias))
    narrow, narrow_bias = T.randn(300, 333), T.randn(333)
    yield "new_shape", "compiled", seconds_once(lambda: compiled(narrow, narrow_bias))
    small, small_bias = T.randn(210, 190), T.randn(190)
    yield "third_shape", "compiled", seconds_once(lambda: compiled(small, small_bias))
    softmax = T.compile(lambda x: T.softmax(x * 2.0, -1))
    yield "compile_softmax", "compiled", seconds_once(lambda: softmax(x))
    mlp = T.compile(network([layer for _ in range(3) for layer in (nn.Linear(64, 64), nn.Tanh())]))
    rows = T.randn(32, 8)
    yield "compile_mlp", "compiled", seconds_once(lambda: mlp(rows))

    one = T.ones(1)
    increment = T.compile(lambda a: a + 1.0)
    yield "one_input", "compiled", seconds_per_call(lambda: increment(one))
    if T.__name__ == "tandem":
        yield from recorded_operations(T)
    many = [T.ones(1) for _ in range(100)]
    total = T.compile(lambda values: sum(values[1:], values[0]))
    yield "hundred_inputs", "compiled", seconds_per_call(lambda: total(many))
    deep = nn.Sequential(*[nn.Linear(4, 4) for _ in range(50)])
    fast, row = T.compile(deep), T.ones(1, 4)
    with T.no_grad():
        yield "hundred_parameters", "compiled", seconds_per_call(lambda: fast(row))
        yield "hundred_parameters", "eager", seconds_per_call(lambda: deep(row))


def recorded_operations(T):
    """What recording takes: the time of a body of many multiplications, less that of the plan, and of as many calls of
    a method that does nothing."""
    x, y = T.ones(4), T.ones(4)
    count = 200

    def products():
        z = x
        for _ in range(count):
            z = z * y
        return z

    def calls():
        for _ in range(count):
            x.dim()

    calls_made = []

    def with_an_effect():
        calls_made.append(1)
        calls_made.clear()
        return products()

    def in_a_block():
        with T.lazy():
            return products()

    besides = seconds_per_call(T.compile(products)) + seconds_per_call(calls)
    for row, run in (("recorded_operation", T.compile(with_an_effect)), ("lazy_operation", in_a_block)):
        yield row, "compiled", (seconds_per_call(run) - besides) / count


def jax():
    import jax
    import jax.numpy as jnp

    def gelu(x, bias):
        y = x + bias
        return 0.5 * y * (1 + jnp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))

    def mlp(weights, x):
        for weight in weights[:-1]:
            x = jnp.tanh(x @ weight)
        return x @ weights[-1]

    x, bias = jnp.ones((512, 512)), jnp.ones(512)
    narrow, narrow_bias = jnp.ones((300, 333)), jnp.ones(333)
    weights = [jnp.ones(shape) for shape in ((8, 64), (64, 64), (64, 64), (64, 64), (64, 1))]
    rows, one, many = jnp.ones((32, 8)), jnp.ones(1), [jnp.ones(1) for _ in range(100)]
    wait = jax.block_until_ready
    small, small_bias = jnp.ones((210, 190)), jnp.ones(190)
    wait([x, bias, narrow, narrow_bias, small, small_bias, weights, rows, one, many])

    yield "first", "compiled", seconds_once(lambda: jax.jit(lambda x: x + 1.0)(x), wait)
    compiled = jax.jit(gelu)
    yield "compile_gelu", "compiled", seconds_once(lambda: compiled(x, bias), wait)
    yield "new_shape", "compiled", seconds_once(lambda: compiled(narrow, narrow_bias), wait)
    yield "third_shape", "compiled", seconds_once(lambda: compiled(small, small_bias), wait)
    yield "compile_softmax", "compiled", seconds_once(lambda: jax.jit(lambda x: jax.nn.softmax(x * 2.0, -1))(x), wait)
    yield "compile_mlp", "compiled", seconds_once(lambda: jax.jit(mlp)(weights, rows), wait)
    increment, total = jax.jit(lambda a: a + 1.0), jax.jit(lambda values: sum(values[1:], values[0]))
    yield "one_input", "compiled", seconds_per_call(lambda: increment(one), wait)
    yield "hundred_inputs", "compiled", seconds_per_call(lambda: total(many), wait)
