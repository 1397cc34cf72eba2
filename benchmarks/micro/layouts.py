"""float32 arrays of three sizes whose dims lie in memory in another order than their own, eager: copies, elementwise
operations out of place and in place, and reductions of every subset of the dims. A row is what is done, the shape in
memory, the order of dims in which it is seen, and a size.
"""

import itertools

from compare.timing import seconds_per_call

TITLE = "permuted arrays of 16 elements, 64 K and 4 M"
ROWS: dict[str, tuple[str, str]] = {}  # every name that was measured, in µs
UNIT = "us"
SHAPES = {
    "16": ((4, 4), (2, 2, 4), (2, 2, 2, 2)),
    "64 K": ((256, 256), (32, 32, 64), (4, 16, 32, 32)),
    "4 M": ((2048, 2048), (64, 64, 1024), (16, 64, 64, 64)),
}
ORDERS = {2: [(1, 0)], 3: [(2, 0, 1), (2, 1, 0), (0, 2, 1)], 4: [(0, 3, 1, 2), (3, 2, 1, 0)]}


def calls(T, x, other, dense):
    """What is done with `x`, of which `other` has the layout, and `dense` the shape."""
    F = T.nn.functional
    functions = {
        "contiguous": lambda: x.contiguous(),
        "dense.copy_(x)": lambda: dense.copy_(x),
        "x.copy_(dense)": lambda: x.copy_(dense),
        "x + dense": lambda: x + dense,
        "x + x": lambda: x + other,
        "x.add_(dense)": lambda: x.add_(dense),
        "dense.add_(x)": lambda: dense.add_(x),
        "x.add_(x)": lambda: x.add_(other),
        "x.clamp_": lambda: x.clamp_(-1, 1),
        "x[..., ::2].clamp_": lambda: x[..., ::2].clamp_(-1, 1),
        "hardtanh_(x)": lambda: F.hardtanh_(x),
        "x.lerp_(dense)": lambda: x.lerp_(dense, 0.5),
        "x.addcmul_(x, x)": lambda: x.addcmul_(other, other),
    }
    for count in range(1, x.dim() + 1):
        for dims in itertools.combinations(range(x.dim()), count):
            functions[f"sum of {dims}"] = lambda dims=dims: x.sum(dims)
            functions[f"amax of {dims}"] = lambda dims=dims: x.amax(dims)
    return functions


def torch_like(T):
    T.manual_seed(0)
    for size, shapes in SHAPES.items():
        for shape in shapes:
            for order in ORDERS[len(shape)]:
                x, other = (T.randn(*shape).permute(*order) for _ in range(2))
                dense = T.randn(*x.shape)
                seen = f"{'×'.join(map(str, shape))} as {''.join(map(str, order))}"
                for name, call in calls(T, x, other, dense).items():
                    row = f"{name}, {seen}, {size}"
                    yield row, "eager", seconds_per_call(call, budget=0.05, shortest=0.002)
