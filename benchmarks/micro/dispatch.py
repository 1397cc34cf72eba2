"""What a call costs when the work is next to nothing."""

from compare.timing import seconds_per_call

TITLE = "dispatch"
ROWS = {
    "add": ("a + b, 1 element", "ns"),
    "add_scalar": ("a + 1.0, 1 element", "ns"),
    "add_tape": ("w + w with a tape node, 16 elements", "ns"),
    "matmul": ("matmul of 4×4", "ns"),
    "sum": ("sum of 16", "ns"),
    "index": ("x[0]", "ns"),
    "reshape": ("a view of 16 as 4×4", "ns"),
    "item": ("item()", "ns"),
    "create": ("a tensor of a list of 3", "ns"),
    "linear": ("nn.Linear(4, 4) of 2 rows", "ns"),
    "backward": ("10 mul, sum, backward", "us"),
}


def torch_like(T):
    one, sixteen, square = T.ones(1), T.ones(16), T.ones(4, 4)
    weight = T.ones(16, requires_grad=True)
    linear, rows = T.nn.Linear(4, 4), T.ones(2, 4)

    def backward():
        product = weight
        for _ in range(10):
            product = product * weight
        product.sum().backward()
        weight.grad = None

    calls = {
        "add": lambda: one + one,
        "add_scalar": lambda: one + 1.0,
        "add_tape": lambda: weight + weight,
        "matmul": lambda: square @ square,
        "sum": lambda: sixteen.sum(),
        "index": lambda: sixteen[0],
        "reshape": lambda: sixteen.view(4, 4),
        "item": lambda: one.item(),
        "create": lambda: T.tensor([1.0, 2.0, 3.0]),
        "linear": lambda: linear(rows),
        "backward": backward,
    }
    for row, call in calls.items():
        yield row, "eager", seconds_per_call(call)


def arrays(one, sixteen, square, create):
    return {
        "add": lambda: one + one,
        "add_scalar": lambda: one + 1.0,
        "matmul": lambda: square @ square,
        "sum": lambda: sixteen.sum(),
        "index": lambda: sixteen[0],
        "reshape": lambda: sixteen.reshape(4, 4),
        "item": lambda: one.item(),
        "create": lambda: create([1.0, 2.0, 3.0]),
    }


def numpy():
    import numpy as np

    ones = [np.ones(shape, np.float32) for shape in (1, 16, (4, 4))]
    for row, call in arrays(*ones, lambda values: np.array(values, np.float32)).items():
        yield row, "eager", seconds_per_call(call)


def jax():
    """JAX without jit, in the column of JAX: it has no other way to run single operations."""
    import jax
    import jax.numpy as jnp

    ones = [jnp.ones(shape) for shape in (1, 16, (4, 4))]
    for row, call in arrays(*ones, jnp.array).items():
        yield row, "compiled", seconds_per_call(call, jax.block_until_ready)
