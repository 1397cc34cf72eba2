"""Every everyday operation alone, on float32 (or what it works on) of three sizes, eager: no fusing helps here. 16
elements show what a call costs, 64 K (256 KiB) what a kernel does in the cache, 4 M (16 MiB) what memory gives.

A row is a name of the library and a size; `calls` says how each is called. What a library lacks is left out of its
column.
"""

import dataclasses
import functools
import math
import sys

from compare.timing import seconds_per_call

TITLE = "operations on 16 elements, 64 K and 4 M"
ROWS: dict[str, tuple[str, str]] = {}  # every name that was measured, in µs
UNIT = "us"
TURNS = 3  # a row takes 0.15 s, in which a neighbour's work on the memory can double its time

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad erf erfc erfinv exp exp2 expm1 floor frac isfinite "
    "isinf isnan isneginf isposinf log log10 log1p log2 logical_not logit nan_to_num neg positive rad2deg "
    "reciprocal round rsqrt sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc clone ravel flatten"
).split()
BINARY = (
    "add atan2 copysign div eq floor_divide fmax fmin fmod ge gt heaviside hypot isclose ldexp le logaddexp logaddexp2 "
    "logical_and logical_or logical_xor lt maximum minimum mul ne pow remainder rsub sub true_divide xlogy"
).split()
REDUCTIONS = (
    "all amax amin any argmax argmin count_nonzero max mean min nanmean nansum norm prod std std_mean sum "
    "var var_mean aminmax"
).split()
ROWWISE = "softmax log_softmax cumsum cumprod cummax cummin logcumsumexp argsort sort msort".split()
ACTIVATIONS = (
    "celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu softplus softshrink "
    "softsign tanhshrink glu softmin normalize"
).split()
LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits kl_div".split()


@dataclasses.dataclass(frozen=True)
class Size:
    """Shapes of about as many elements each."""

    text: str
    n: int  # rows
    row: int
    matrix: int
    square: int
    batch: tuple[int, int, int]
    image: tuple[int, int, int, int]
    line: tuple[int, int, int]
    words: tuple[int, int, int]  # of a vocabulary, their width, how many are looked up
    query: tuple[int, int, int, int]

    @property
    def timing(self):
        """The large ones take turns with everything else in memory and need more repeats."""
        return {"budget": 0.15} if self.n > 1000 else {"budget": 0.05, "shortest": 0.002}


SIZES = (
    Size(
        "4 M",
        4096,
        1024,
        1024,
        2048,
        (64, 256, 256),
        (32, 32, 64, 64),
        (64, 32, 2048),
        (10000, 256, 16384),
        (8, 8, 512, 64),
    ),
    Size("64 K", 256, 256, 256, 256, (4, 128, 128), (1, 16, 64, 64), (2, 16, 2048), (1000, 256, 256), (1, 8, 128, 64)),
    Size("16", 4, 4, 4, 4, (1, 4, 4), (1, 1, 4, 4), (1, 1, 16), (10, 4, 4), (1, 1, 4, 4)),
)


def calls(T, size):
    """{name: a function of no arguments}."""
    F = T.nn.functional
    T.manual_seed(0)
    N, ROW = size.n, size.row
    x, y = T.rand(N, ROW) * 0.8 + 0.1, T.rand(N, ROW) * 0.8 + 0.1
    signed = T.randn(N, ROW)  # activations bend at zero
    v, mask = T.rand(ROW), T.rand(N, ROW) > 0.5
    rows = T.randint(0, N, (N,))
    places = T.randint(0, ROW, (N, ROW))
    flat = T.randint(0, N * ROW, (N * ROW,))
    a, b, square = T.rand(size.matrix, size.matrix), T.rand(size.matrix, size.matrix), T.rand(size.square, size.square)
    batch_a, batch_b = T.rand(*size.batch), T.rand(*size.batch)
    image, line = T.rand(*size.image), T.rand(*size.line)
    channels, line_channels = size.image[1], size.line[1]
    kernel, bias = T.rand(channels, channels, 3, 3), T.rand(channels)
    kernel1, bias1 = T.rand(line_channels, line_channels, 3), T.rand(line_channels)
    table, words = T.rand(size.words[0], size.words[1]), T.randint(0, size.words[0], (size.words[2],))
    target, labels = T.randint(0, ROW, (N,)), T.rand(N, ROW)
    query = T.rand(*size.query)
    sorted_row = T.sort(v)[0]
    outer = x.view(-1)[: size.square]
    half_image, half_kernel = image.bfloat16(), kernel.bfloat16()
    half, integers = x.bfloat16(), T.randint(0, 9, (size.matrix, size.matrix))
    turned, other_turned = square.t(), T.rand(size.square, size.square).t()
    channels_last = image.contiguous(memory_format=T.channels_last)
    volume = line.permute(2, 1, 0)
    leaf = x.view(-1, 4).clone().requires_grad_()
    running, products = leaf.cummax(1)[0], leaf.prod(1)
    steps, ones = T.ones_like(running), T.ones_like(products)
    pairs, read, small_integers = x.view(-1, 2, 2), T.empty(N, ROW), integers.int()
    system, column = T.rand(size.matrix, size.matrix) + T.eye(size.matrix) * size.matrix, T.rand(size.matrix, 1)
    whole_image, whole_kernel = (image[:1] * 9).long(), (kernel * 9).long()
    blocks = [a[: size.matrix // 4, : size.matrix // 4]] * 8
    x16, y16 = x.half(), y.half()
    kron = {1024: (64, 32), 256: (16, 16), 4: (2, 2)}[size.matrix]
    functions = {}

    def put(prefix, module, names, make):
        for name in names:
            if hasattr(module, name):
                functions[prefix + name] = make(getattr(module, name))

    put("", T, UNARY, lambda f: lambda: f(x))
    put("", T, BINARY, lambda f: lambda: f(x, y))
    put("", T, REDUCTIONS, lambda f: lambda: f(x))
    for name in ("amax", "amin", "argmax", "logsumexp", "mean", "sum", "var", "prod", "norm", "any"):
        for dim in (0, 1):
            functions[f"{name} dim={dim}"] = functools.partial(getattr(T, name), x, dim=dim)
    functions["max dim=1"] = lambda: T.max(x, 1)
    put("", T, ROWWISE[:-1], lambda f: lambda: f(x, 1))
    put("", T, ROWWISE[-1:], lambda f: lambda: f(x))
    put("F.", F, ACTIVATIONS, lambda f: lambda: f(signed))
    put("F.", F, LOSSES, lambda f: lambda: f(x, y))
    given = {
        "acosh": lambda: T.acosh(x + 1),
        "add of transposes": lambda: turned + other_turned,
        "add of a transpose and itself, int64": lambda: places.t() + places.t(),
        "add to dims in reverse": lambda: volume + 1,
        "eq of transposes, int64": lambda: places.t() == places.t(),
        "addcdiv": lambda: T.addcdiv(x, y, y, value=0.5),
        "addcmul": lambda: T.addcmul(x, y, y, value=0.5),
        "addmm": lambda: T.addmm(v, a, b),
        "addmv": lambda: T.addmv(v, a, v),
        "addr": lambda: T.addr(a, v, v),
        "allclose": lambda: T.allclose(x, x),
        "arange": lambda: T.arange(N * ROW),
        "baddbmm": lambda: T.baddbmm(batch_a, batch_a, batch_b),
        "block_diag": lambda: T.block_diag(*blocks),
        "bmm": lambda: T.bmm(batch_a, batch_b),
        "bmm of 2x2": lambda: T.bmm(pairs, pairs),
        "bool": lambda: x.bool(),
        "bucketize": lambda: T.bucketize(x, sorted_row),
        "cat": lambda: T.cat([x[: N // 2], y[: N // 2]]),
        "cat dim=1": lambda: T.cat([x[:, : ROW // 2], y[:, : ROW // 2]], 1),
        "clamp": lambda: x.clamp(0.2, 0.7),
        "column_stack": lambda: T.column_stack([x, y]),
        "contiguous of a transpose": lambda: square.t().contiguous(),
        "contiguous of a transpose, int64": lambda: places.t().contiguous(),
        "cummax of rows of 4": lambda: x.view(-1, 4).cummax(1),
        "cummax of rows of 4, its gradient": lambda: T.autograd.grad(running, leaf, steps, retain_graph=True),
        "cumsum of rows of 4": lambda: x.view(-1, 4).cumsum(1),
        "cumsum, bfloat16": lambda: half.cumsum(1),
        "diag_embed": lambda: T.diag_embed(a),
        "diff": lambda: T.diff(x),
        "dist": lambda: T.dist(x, y),
        "dot": lambda: T.dot(x.view(-1), y.view(-1)),
        "double": lambda: x.double(),
        "einsum bij,bjk": lambda: T.einsum("bij,bjk->bik", batch_a, batch_b),
        "einsum ij,kj": lambda: T.einsum("ij,kj->ik", a, b),
        "equal": lambda: T.equal(x, x),
        "eye": lambda: T.eye(size.square),
        "flip": lambda: x.flip(0, 1),
        "full": lambda: T.full((N, ROW), 2.0),
        "gather": lambda: x.gather(1, places),
        "half": lambda: x.half(),
        "bfloat16": lambda: x.bfloat16(),
        "index by integers": lambda: x[rows],
        "index_add": lambda: x.index_add(0, rows, y),
        "index_add, float16": lambda: x16.index_add(0, rows, y16),
        "index_copy": lambda: x.index_copy(0, rows, y),
        "index_fill": lambda: x.index_fill(0, rows, 1.0),
        "index_put accumulate": lambda: x.clone().index_put_((rows,), y, accumulate=True),
        "index_select": lambda: x.index_select(0, rows),
        "index_select, out": lambda: T.index_select(x, 0, rows, out=read),
        "index by a mask": lambda: x[mask],
        "inner": lambda: T.inner(a, b),
        "int": lambda: x.int(),
        "isin": lambda: T.isin(x, v[:16]),
        "kron": lambda: T.kron(a[: kron[0], : kron[0]], b[: kron[1], : kron[1]]),
        "lerp": lambda: T.lerp(x, y, 0.3),
        "linspace": lambda: T.linspace(0, 1, N * ROW),
        "long": lambda: x.long(),
        "masked_fill": lambda: x.masked_fill(mask, 0.0),
        "masked_scatter": lambda: x.masked_scatter(mask, y),
        "masked_select": lambda: x.masked_select(mask),
        "matmul": lambda: a @ b,
        "matmul, int64": lambda: integers @ integers,
        "matmul of one row, int32": lambda: small_integers[:1] @ small_integers,
        "meshgrid": lambda: T.meshgrid(v, v, indexing="ij")[0] + 0,
        "mm 4096x1024": lambda: x @ a,
        "mv": lambda: T.mv(x, v),
        "nonzero": lambda: mask.nonzero(),
        "outer": lambda: T.outer(outer, outer),
        "F.one_hot": lambda: F.one_hot(target, ROW),
        "F.pdist": lambda: F.pdist(x[:512, :16]),
        "permute, copied": lambda: image.permute(0, 2, 3, 1).contiguous(),
        "polygamma 1": lambda: T.polygamma(1, x),
        "polygamma 2": lambda: T.polygamma(2, x),
        "pow -1": lambda: x**-1,
        "pow -2": lambda: x**-2,
        "prod of rows of 4, its gradient": lambda: T.autograd.grad(products, leaf, ones, retain_graph=True),
        "randperm": lambda: T.randperm(N * ROW),
        "repeat": lambda: x[: N // 4].repeat(2, 2),
        "repeat_interleave": lambda: x[: N // 2].repeat_interleave(2, 0),
        "roll": lambda: x.roll((5, 7), (0, 1)),
        "rot90": lambda: T.rot90(square),
        "scatter": lambda: x.scatter(1, places, y),
        "scatter_add": lambda: x.scatter_add(1, places, y),
        "scatter_reduce amax": lambda: x.scatter_reduce(1, places, y, "amax"),
        "searchsorted": lambda: T.searchsorted(sorted_row, x),
        "select_scatter": lambda: x.select_scatter(v, 0, 3),
        "slice_scatter": lambda: x.slice_scatter(y[: N // 2], 0, 0, N // 2),
        "solve_triangular of one column": lambda: T.linalg.solve_triangular(system, column, upper=True),
        "sort of rows of 4, int64": lambda: places.view(-1, 4).sort(1),
        "stack": lambda: T.stack([x[: N // 2], y[: N // 2]]),
        "take": lambda: T.take(x, flat),
        "tensordot": lambda: T.tensordot(a, b, 1),
        "tile": lambda: T.tile(x[: N // 4], (2, 2)),
        "topk": lambda: x.topk(min(16, ROW)),
        "topk dim=0": lambda: x.topk(min(16, N), 0),
        "trace": lambda: square.trace(),
        "tril": lambda: square.tril(),
        "triu": lambda: square.triu(),
        "unfold": lambda: x.unfold(1, min(8, ROW), min(8, ROW)).contiguous(),
        "unique": lambda: T.unique(places[: max(1, N // 8)]),
        "vdot": lambda: T.vdot(x.view(-1), y.view(-1)),
        "where": lambda: T.where(mask, x, y),
        "zeros_like": lambda: T.zeros_like(x),
        "rand": lambda: T.rand(N, ROW),
        "randn": lambda: T.randn(N, ROW),
        "F.dropout": lambda: F.dropout(x, 0.5),
        "F.adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, min(8, size.image[2] // 2)),
        "F.adaptive_max_pool2d": lambda: F.adaptive_max_pool2d(image, min(8, size.image[2] // 2)),
        "F.avg_pool1d": lambda: F.avg_pool1d(line, 2),
        "F.avg_pool2d": lambda: F.avg_pool2d(image, 2),
        "F.avg_pool2d, channels_last": lambda: F.avg_pool2d(channels_last, 2),
        "F.adaptive_avg_pool2d, channels_last": lambda: F.adaptive_avg_pool2d(
            channels_last, min(7, size.image[2] // 2)
        ),
        "F.batch_norm": lambda: F.batch_norm(image, None, None, bias, bias, True),
        "F.binary_cross_entropy": lambda: F.binary_cross_entropy(x, labels),
        "F.conv1d": lambda: F.conv1d(line, kernel1, bias1, padding=1),
        "F.conv2d": lambda: F.conv2d(image, kernel, bias, padding=1),
        "F.conv2d, bfloat16": lambda: F.conv2d(half_image, half_kernel, padding=1),
        "F.conv2d, int64": lambda: F.conv2d(whole_image, whole_kernel),
        "F.conv_transpose2d": lambda: F.conv_transpose2d(image, kernel, bias, padding=1),
        "F.cosine_similarity": lambda: F.cosine_similarity(x, y),
        "F.cross_entropy": lambda: F.cross_entropy(x, target),
        "F.embedding": lambda: F.embedding(words, table),
        "F.group_norm": lambda: F.group_norm(image, min(8, channels), bias, bias),
        "F.instance_norm": lambda: F.instance_norm(image),
        "F.interpolate bilinear": lambda: F.interpolate(image, scale_factor=2, mode="bilinear"),
        "F.interpolate bilinear, channels_last": lambda: F.interpolate(channels_last, scale_factor=2, mode="bilinear"),
        "F.interpolate nearest, channels_last": lambda: F.interpolate(channels_last, scale_factor=2),
        "F.interpolate nearest by half, channels_last": lambda: F.interpolate(channels_last, scale_factor=0.5),
        "F.layer_norm": lambda: F.layer_norm(x, (ROW,), v, v),
        "F.linear": lambda: F.linear(x, a, v),
        "F.max_pool1d": lambda: F.max_pool1d(line, 2),
        "F.max_pool2d": lambda: F.max_pool2d(image, 2),
        "F.max_pool2d of 7": lambda: F.max_pool2d(image, min(7, size.image[2])),
        "F.adaptive_max_pool2d to 1": lambda: F.adaptive_max_pool2d(image, 1),
        "F.nll_loss": lambda: F.nll_loss(x, target),
        "F.pad": lambda: F.pad(image, (1, 1, 1, 1)),
        "F.pad reflect": lambda: F.pad(image, (1, 1, 1, 1), mode="reflect"),
        "F.pixel_shuffle": lambda: F.pixel_shuffle(image, 2 if channels % 4 == 0 else 1),
        "F.pixel_unshuffle": lambda: F.pixel_unshuffle(image, 2),
        "F.prelu": lambda: F.prelu(signed, v),
        "F.rms_norm": lambda: F.rms_norm(x, (ROW,), v),
        "F.scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(query, query, query),
        "F.scaled_dot_product_attention causal": lambda: F.scaled_dot_product_attention(
            query, query, query, is_causal=True
        ),
        "F.threshold": lambda: F.threshold(x, 0.5, 0.0),
        "F.unfold": lambda: F.unfold(image, 3),
    }
    functions.update(given)
    return functions


def torch_like(T):
    for size in SIZES:
        for name, call in calls(T, size).items():
            row = f"{name}, {size.text}"
            try:
                call()
            except (AttributeError, NotImplementedError, RuntimeError, TypeError) as error:
                print(f"{T.__name__}: {row}: {error}", file=sys.stderr)
                continue
            yield row, "eager", seconds_per_call(call, **size.timing)


def summary(results):
    """{row: {(library, mode): seconds}} in one line: the mean of the ratios to PyTorch, and what is slower than it."""
    ratios = {}
    for name, values in results.items():
        ours, theirs = values.get(("tandem", "eager")), values.get(("torch", "eager"))
        if ours and theirs:
            ratios[name] = theirs / ours
    if not ratios:
        return ""
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slow = ", ".join(f"{name} {1 / r:.2f}×" for name, r in sorted(ratios.items(), key=lambda i: i[1]) if r < 1)
    return f"{len(ratios)} operations: geometric mean {mean:.2f}× of PyTorch's speed. Slower than it: {slow or 'none'}."
