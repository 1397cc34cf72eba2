"""Matrix products by shape and layout, eager: large, thin, batched, and of vectors; some of them in bfloat16."""

from compare.timing import seconds_per_call

TITLE = "matrix products"
# Row → (m, n, k, batch, transposed operands)
SHAPES = {
    "square": (1024, 1024, 1024, None, ""),
    "square_a": (1024, 1024, 1024, None, "a"),
    "square_b": (1024, 1024, 1024, None, "b"),
    "weight": (1024, 256, 3200, None, "a"),
    "step": (32, 1024, 256, None, "b"),
    "tall": (10000, 16, 16, None, "b"),
    "long": (16, 16, 10000, None, "a"),
    "column": (2000, 1, 2000, None, ""),
    "row": (1, 2000, 2000, None, "b"),
    "batch": (256, 256, 256, 64, ""),
    "heads": (64, 64, 64, 128, "b"),
    "query": (1, 64, 64, 512, "b"),
    "rotations": (3, 3, 3, 16384, ""),
    "points": (49152, 3, 3, None, ""),
}
HALVES = ("square", "square_b", "weight", "step", "batch", "heads")
ROWS = {
    row: (f"{f'{batch} × ' if batch else ''}{m}×{k} @ {k}×{n}" + (f", {of} transposed" if of else ""), "us")
    for row, (m, n, k, batch, of) in SHAPES.items()
}
ROWS |= {f"{row}_bfloat16": (f"{ROWS[row][0]}, bfloat16", "us") for row in HALVES}


def torch_like(T):
    T.manual_seed(0)

    def operand(rows, columns, batch, transposed):
        lead = (batch,) if batch else ()
        return T.randn(*lead, columns, rows).transpose(-1, -2) if transposed else T.randn(*lead, rows, columns)

    for row, (m, n, k, batch, of) in SHAPES.items():
        a, b = operand(m, k, batch, "a" in of), operand(k, n, batch, "b" in of)
        yield row, "eager", seconds_per_call(lambda a=a, b=b: a @ b)
        if row in HALVES:
            a, b = a.bfloat16(), b.bfloat16()
            yield f"{row}_bfloat16", "eager", seconds_per_call(lambda a=a, b=b: a @ b)
