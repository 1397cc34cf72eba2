"""Factorisations and what is solved by them, eager, of one matrix and of batches; with gradients of some."""

import functools

from compare.timing import seconds_per_call

TITLE = "factorisations"
SIZES = {"16": (16,), "256": (256,), "512": (512,), "64 × 16": (64, 16), "64 × 64": (64, 64)}
WITH_GRADIENTS = "cholesky det eigh inv matrix_exp qr solve solve_triangular".split()
NAMES = [*WITH_GRADIENTS, *"cholesky_solve eigvalsh lstsq lu_factor slogdet svd svdvals".split()]
ROWS = {
    f"{name}{kind}, {size}": (f"{name}{kind} of {size}", "us")
    for size in SIZES
    for name in NAMES
    for kind in ("", " backward")
    if not kind or name in WITH_GRADIENTS
}


def calls(T, a, spd, triangle, columns):
    """What each name does with matrices."""
    return {
        "cholesky": lambda: T.linalg.cholesky(spd),
        "cholesky_solve": lambda: T.cholesky_solve(columns, triangle),
        "det": lambda: T.linalg.det(a),
        "eigh": lambda: sum(part.sum() for part in T.linalg.eigh(spd)),
        "eigvalsh": lambda: T.linalg.eigvalsh(spd),
        "inv": lambda: T.linalg.inv(a),
        "lstsq": lambda: T.linalg.lstsq(a, columns).solution,
        "lu_factor": lambda: T.linalg.lu_factor(a),
        "matrix_exp": lambda: T.linalg.matrix_exp(a - spd),
        "qr": lambda: sum(part.sum() for part in T.linalg.qr(a)),
        "slogdet": lambda: T.linalg.slogdet(a),
        "solve": lambda: T.linalg.solve(a, columns),
        "solve_triangular": lambda: T.linalg.solve_triangular(triangle, a, upper=False),
        "svd": lambda: T.linalg.svd(a, full_matrices=False),
        "svdvals": lambda: T.linalg.svdvals(a),
    }


def gradients(T, call, operands):
    return T.autograd.grad(call().sum(), operands, allow_unused=True)


def torch_like(T):
    T.manual_seed(0)
    for size, shape in SIZES.items():
        n = shape[-1]
        values = T.randn(*shape, n) / n**0.5
        operands = [values + T.eye(n), values @ values.mT + T.eye(n), values.tril() / 4 + T.eye(n), values[..., :4]]
        for name, call in calls(T, *operands).items():
            yield f"{name}, {size}", "eager", seconds_per_call(call)
        leaves = [x.clone().requires_grad_() for x in operands]
        taped = calls(T, *leaves)
        for name in WITH_GRADIENTS:
            call = functools.partial(gradients, T, taped[name], leaves)
            yield f"{name} backward, {size}", "eager", seconds_per_call(call)
