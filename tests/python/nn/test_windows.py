"""Convolutions, pools, padding, resampling, norms and lookup beyond their table rows: state, modules, modes, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn
from tandem.nn import functional as F


def values(*shape: int, seed: int = 0) -> tandem.Tensor:
    return tandem.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape)).requires_grad_()


def test_embedding_divides_gradients_by_how_often_a_row_was_read():
    weight = values(5, 3)
    rows = tandem.tensor([0, 2, 2, 2, 4])
    out = F.embedding(rows, weight, padding_idx=0, scale_grad_by_freq=True)
    assert_same_bits(out.detach(), weight.detach()[rows])
    (g,) = tandem.autograd.grad(out.sum(), weight, create_graph=True)
    assert g[:, 0].tolist() == [0.0, 0.0, pytest.approx(1.0), 0.0, 1.0]
    # What is passed on to that gradient is not divided.
    scale = tandem.ones_like(out).requires_grad_()
    (g,) = tandem.autograd.grad(out, weight, scale, create_graph=True)
    (again,) = tandem.autograd.grad(g[:, 0].sum(), scale)
    assert again.tolist() == [[0.0] * 3, *[[1.0, 0.0, 0.0]] * 4]


def test_embedding_limits_the_rows_it_reads_in_place():
    weight = tandem.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    out = F.embedding(tandem.tensor([0, 1, 0]), weight, max_norm=1.0)
    np.testing.assert_allclose(out.numpy(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-6)


def test_batch_norm_moves_its_running_statistics():
    x = values(6, 3, 4).detach()
    mean, var = tandem.zeros(3, dtype=tandem.float64), tandem.ones(3, dtype=tandem.float64)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    flat = np.moveaxis(x.numpy(), 1, 0).reshape(3, -1)
    np.testing.assert_allclose(mean.numpy(), 0.25 * flat.mean(1))
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * flat.var(1, ddof=1))
    own_mean, own_var = tandem.zeros(3, dtype=tandem.float64), tandem.ones(3, dtype=tandem.float64)
    F.instance_norm(x, own_mean, own_var, momentum=0.5)
    np.testing.assert_allclose(own_mean.numpy(), 0.5 * x.numpy().mean((0, 2)))
    np.testing.assert_allclose(own_var.numpy(), 0.5 + 0.5 * x.numpy().var(2, ddof=1).mean(0))


def test_a_plain_average_of_batches():
    layer = nn.BatchNorm1d(2, momentum=None, dtype=tandem.float64)
    batches = [values(5, 2, seed=i).detach() for i in range(3)]
    for b in batches:
        layer(b)
    np.testing.assert_allclose(layer.running_mean.numpy(), np.mean([b.numpy().mean(0) for b in batches], 0))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_puts_maxima_back(n):
    x = values(2, 3, *(6,) * n).detach()
    pooled, places = getattr(F, f"max_pool{n}d")(x, 2, return_indices=True)
    back = getattr(F, f"max_unpool{n}d")(pooled, places, 2)
    assert back.shape == x.shape
    kept = back != 0
    assert_same_bits(back[kept], x[kept])
    assert kept.sum().item() == pooled.numel()


def test_average_pools_take_lists():
    x = tandem.arange(8.0).reshape(1, 1, 8)
    one, pool = tandem.nn.AvgPool1d([4], [2], [1]), tandem.nn.AvgPool1d(4, 2, 1)
    assert one(x).tolist() == pool(x).tolist() and (one.kernel_size, one.stride, one.padding) == ((4,), (2,), (1,))


def test_pools_see_nan_and_infinity():
    x = tandem.tensor([[[1.0, float("nan"), -float("inf"), -float("inf")]]])
    y, at = F.max_pool1d(x, 2, return_indices=True)
    assert np.isnan(y[0, 0, 0].item()) and y[0, 0, 1].item() == -float("inf")
    assert at.tolist() == [[[1, 2]]]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "bfloat16"])
def test_pools_of_other_dtypes(dtype):
    x = tandem.tensor([[[[5, 1, 2], [3, 4, 8], [7, 6, 9]]]], dtype=getattr(tandem, dtype))
    y, at = F.max_pool2d(x, 2, 1, return_indices=True)
    assert y.dtype == x.dtype and y.tolist() == [[[[5, 8], [7, 9]]]]
    assert at.tolist() == [[[[0, 5], [6, 8]]]]


def step(x, w):
    y = F.max_pool2d(F.conv2d(x, w, padding="same"), 3, 2, 1, ceil_mode=True)
    y = F.interpolate(y, scale_factor=1.7, mode="bilinear") + F.interpolate(y, scale_factor=1.7, mode="bicubic")
    y = F.avg_pool2d(F.pad(y, (1, 2, 0, 1), mode="reflect"), 2, 1)
    y = F.fold(F.unfold(y, 3, padding=1), y.shape[2:], 3, padding=1)
    y = F.batch_norm(F.conv_transpose2d(y, w, stride=2), None, None, training=True)
    loss = (y * y * F.adaptive_avg_pool2d(y, (3, 5)).mean()).sum()
    return loss, *tandem.autograd.grad(loss, (x, w))


def test_modes_and_threads_give_the_same_bits():
    tandem.manual_seed(0)
    x = tandem.randn(3, 2, 17, 19).requires_grad_()
    w = tandem.randn(4, 2, 3, 2).requires_grad_()
    expected = step(x, w)
    threads = tandem.get_num_threads()
    tandem.set_num_threads(1)
    runs = [step(x, w)]
    tandem.set_num_threads(threads)
    with tandem.lazy():
        recorded = step(x, w)
    compiled = tandem.compile(step)
    for run in (*runs, recorded, compiled(x, w), compiled(x, w)):
        for a, b in zip(run, expected, strict=True):
            assert_same_bits(a.detach(), b.detach())


def test_windows_of_a_window_have_second_derivatives():
    # The gradient of the inner padding is a window with an offset, read again through a window.
    x, w = values(1, 1, 10, 11, 12), values(1)
    f = lambda x, w: F.pad(F.pad(x, [0, 1, 0, 1, 0, 1]), [0, 0, 0, 0, 4, 4]) * w  # noqa: E731
    y = f(x, w)
    gx, gw = tandem.autograd.grad((y * y).sum(), (x, w), create_graph=True)
    np.testing.assert_allclose(gx.detach().numpy(), 2 * x.detach().numpy() * w.item() ** 2)
    (again,) = tandem.autograd.grad((gx * gx).sum(), x)
    np.testing.assert_allclose(again.numpy(), 8 * x.detach().numpy() * w.item() ** 4)
    y = tandem.as_strided(x.reshape(-1)[5:], [3], [2], 6)
    (g,) = tandem.autograd.grad((y * y).sum(), x)
    wanted = np.zeros(x.numel())
    wanted[6:12:2] = 2 * x.detach().numpy().reshape(-1)[6:12:2]
    np.testing.assert_allclose(g.numpy().reshape(-1), wanted)


CALLS = {
    "conv3d": (lambda x, w: F.conv3d(x, w, stride=2, padding=1), (1, 2, 4, 3, 3), (2, 2, 3, 2, 2)),
    "conv_transpose3d": (lambda x, w: F.conv_transpose3d(x, w, stride=2, padding=1), (1, 2, 2, 3, 2), (2, 2, 3, 2, 2)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g.tanh(), "bicubic", "reflection"), (1, 2, 4, 3), (1, 2, 2, 2)),
    "instance_norm": (lambda x, w: F.instance_norm(x, weight=w), (2, 3, 4), (3,)),
    "embedding_bag": (
        lambda w, s: F.embedding_bag(
            tandem.tensor([0, 2, 1]), w, tandem.tensor([0, 2]), mode="sum", per_sample_weights=s
        ),
        (3, 2),
        (3,),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_second_orders(name):
    f, *shapes = CALLS[name]
    args = [values(*s, seed=i) for i, s in enumerate(shapes)]
    assert tandem.autograd.gradcheck(f, args)
    assert tandem.autograd.gradgradcheck(f, args)


MODULES = [
    (lambda: nn.Conv3d(2, 4, (1, 3, 3), padding="same"), (1, 2, 4, 5, 5), (1, 4, 4, 5, 5)),
    (lambda: nn.ConvTranspose1d(3, 2, 4, stride=2, output_padding=1), (2, 3, 5), (2, 2, 13)),
    (lambda: nn.ConvTranspose3d(2, 4, 2, stride=2, groups=2), (1, 2, 2, 3, 4), (1, 4, 4, 6, 8)),
    (lambda: nn.MaxPool3d(2), (1, 2, 4, 4, 5), (1, 2, 2, 2, 2)),
    (lambda: nn.AvgPool3d(2, divisor_override=3), (1, 2, 4, 4, 5), (1, 2, 2, 2, 2)),
    (lambda: nn.AdaptiveAvgPool3d((1, None, 2)), (1, 2, 4, 3, 5), (1, 2, 1, 3, 2)),
    (lambda: nn.AdaptiveMaxPool3d(2), (1, 2, 4, 3, 5), (1, 2, 2, 2, 2)),
    (lambda: nn.BatchNorm3d(2), (2, 2, 3, 3, 3), (2, 2, 3, 3, 3)),
    (lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True), (3, 8), (3, 8)),
    (lambda: nn.InstanceNorm3d(3), (2, 3, 2, 2, 2), (2, 3, 2, 2, 2)),
    (lambda: nn.LocalResponseNorm(3), (2, 5, 4), (2, 5, 4)),
    (lambda: nn.Upsample(size=(4, 6), mode="bicubic", align_corners=True), (1, 2, 3, 3), (1, 2, 4, 6)),
    (lambda: nn.UpsamplingBilinear2d(scale_factor=2), (1, 2, 3, 3), (1, 2, 6, 6)),
    (lambda: nn.UpsamplingNearest2d(size=5), (1, 2, 3, 3), (1, 2, 5, 5)),
    (lambda: nn.Fold((4, 4), 2, stride=2), (1, 8, 4), (1, 2, 4, 4)),
    (lambda: nn.ChannelShuffle(2), (1, 4, 2, 2), (1, 4, 2, 2)),
    (lambda: nn.CircularPad2d((1, 0, 2, 1)), (1, 2, 3, 3), (1, 2, 6, 4)),
    (lambda: nn.ReflectionPad3d(1), (1, 2, 3, 3, 3), (1, 2, 5, 5, 5)),
    (lambda: nn.ZeroPad1d((1, -1)), (2, 3, 4), (2, 3, 4)),
    (lambda: nn.ConstantPad3d(1, 2.5), (1, 2, 1, 2, 1), (1, 2, 3, 4, 3)),
]


@pytest.mark.parametrize("make, given, wanted", MODULES, ids=range(len(MODULES)))
def test_modules_make_the_right_shape_and_repr(make, given, wanted):
    layer = make()
    assert tuple(layer(tandem.randn(*given)).shape) == wanted
    assert type(layer).__name__ in repr(layer)


BAGS = {
    "a mean": dict(mode="mean"),
    "a mean of rows that count": dict(mode="mean", padding_idx=2),
    "a maximum": dict(mode="max", padding_idx=2),
    "a sum to the last offset": dict(mode="sum", include_last_offset=True),
    "a sum by frequency": dict(mode="sum", scale_grad_by_freq=True),
    "a mean of few": dict(mode="mean", include_last_offset=True, padding_idx=0, scale_grad_by_freq=True),
}


@pytest.mark.parametrize("name", BAGS)
@pytest.mark.parametrize("listed", [True, False])
def test_second_orders_of_bags(name, listed):
    index = tandem.tensor([0, 2, 1, 3, 3, 0])
    options = dict(BAGS[name])
    weights = [values(6, seed=1)] if options["mode"] == "sum" else []

    def bags(w, *factors):
        more = {"per_sample_weights": factors[0] if listed else factors[0].reshape(3, 2)} if factors else {}
        if listed:
            return F.embedding_bag(index, w, tandem.tensor([0, 2, 2, 5]), **options, **more)
        return F.embedding_bag(index.reshape(3, 2), w, **options, **more)

    assert tandem.autograd.gradgradcheck(bags, [values(4, 3), *weights])
    if "scale_grad_by_freq" not in options:
        assert tandem.autograd.gradcheck(bags, [values(4, 3), *weights])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_examples(mode):
    """Under vmap each example is the call on it alone, whichever operands have examples."""
    tables, index = values(3, 4, 2).detach(), tandem.tensor([[0, 1, 3], [2, 2, 1], [3, 0, 0]])
    offsets = tandem.tensor([0, 2])
    f = lambda w, i: F.embedding_bag(i, w, offsets, mode=mode)  # noqa: E731
    for dims in ((0, 0), (0, None), (None, 0)):
        args = [a if d == 0 else a[0] for a, d in zip((tables, index), dims, strict=True)]
        got = tandem.func.vmap(f, dims)(*args)
        for k in range(3):
            assert_same_bits(got[k], f(*(a[k] if d == 0 else a for a, d in zip(args, dims, strict=True))))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.float16], ids=str)
def test_columns_of_bags_are_summed_alike_however_many_there_are(dtype):
    """Columns are taken in vectors: those of a wide table are those of a table of each alone."""
    tandem.manual_seed(4)
    table = tandem.randn(50, 300).to(dtype)
    rows, begins = tandem.randint(0, 50, (90,)), tandem.tensor([0, 1, 1, 4, 30, 31])
    weights = tandem.randn(90).to(dtype)
    for width in (1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 72, 100, 256, 257, 300):
        for mode, factors, padding in (("sum", weights, None), ("sum", None, 3), ("mean", None, None)):

            def bag(x, mode=mode, factors=factors, padding=padding):
                return F.embedding_bag(rows, x, begins, mode=mode, per_sample_weights=factors, padding_idx=padding)

            whole = bag(table[:, :width].contiguous())
            for column in {0, width // 2, width - 1}:
                assert_same_bits(bag(table[:, column : column + 1].contiguous()), whole[:, column : column + 1])


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_gradients_of_positions_read_equally_often_are_sums_in_order(mode, dtype):
    for size, times in itertools.product((1, 5, 8, 33, 2100), (2, 3, 4)):
        for shape in ((2, 3, size), (1, 2, size, 5)):
            x = tandem.randn(*shape).to(dtype).requires_grad_()
            y = F.interpolate(x, scale_factor=(times, 1)[: len(shape) - 2], mode=mode)
            g = tandem.randn(*y.shape).to(dtype)
            g[0, 0, 0] = -0.0
            (gradient,) = tandem.autograd.grad(y, x, g)
            wide = g.double() if dtype == tandem.float64 else g.float()
            want = tandem.zeros_like(gradient, dtype=wide.dtype)
            for k in range(times):
                want = want + wide[:, :, k::times]
            assert_same_bits(gradient, want.to(dtype))


def test_a_bag_divides_gradients_by_how_often_a_row_was_read():
    weight = values(4, 2)
    out = F.embedding_bag(tandem.tensor([1, 1, 3]), weight, tandem.tensor([0]), mode="sum", scale_grad_by_freq=True)
    assert tandem.autograd.grad(out.sum(), weight)[0][:, 0].tolist() == [0.0, 1.0, 0.0, 1.0]


def test_embedding_bag_module():
    layer = nn.EmbeddingBag(6, 2, mode="max", padding_idx=-1)
    assert layer.padding_idx == 5 and layer.weight[5].tolist() == [0.0, 0.0]
    out = layer(tandem.tensor([0, 1, 5, 5]), tandem.tensor([0, 2]))
    assert_same_bits(out[0].detach(), layer.weight[:2].detach().amax(0))
    assert out[1].tolist() == [0.0, 0.0]


ERRORS = [
    (lambda: F.conv2d(tandem.zeros(1, 2, 4, 4), tandem.zeros(3, 3, 3, 3)), "to have 3 channels, but got 2 channels"),
    (
        lambda: F.conv1d(tandem.zeros(1, 2, 2), tandem.zeros(3, 2, 3)),
        r"input size per channel: \(2\)\. Kernel size: \(3\)",
    ),
    (
        lambda: F.conv2d(tandem.zeros(4, 4), tandem.zeros(3, 1, 3, 3)),
        r"Expected 3D \(unbatched\) or 4D \(batched\) input",
    ),
    (lambda: F.conv2d(tandem.zeros(1, 1, 4, 4), tandem.zeros(1, 1, 2, 2), stride=2, padding="same"), "strided"),
    (
        lambda: F.conv_transpose1d(tandem.zeros(1, 1, 4), tandem.zeros(1, 1, 2), output_padding=1),
        "output padding must be",
    ),
    (lambda: F.max_pool2d(tandem.zeros(1, 1, 4, 4), 2, padding=2), "pad should be at most half of kernel size"),
    (
        lambda: F.max_pool1d(tandem.zeros(1, 1, 9), 3, padding=2, dilation=2),
        "pad should be at most half of kernel size",
    ),
    (lambda: F.max_pool2d(tandem.zeros(1, 1, 2, 2), 3), "output size is too small"),
    (lambda: F.avg_pool2d(tandem.zeros(1, 1, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
    (lambda: F.pad(tandem.zeros(1, 1, 3), (3, 0), mode="reflect"), "Padding size should be less than"),
    (lambda: F.pad(tandem.zeros(3), (1, 2, 3)), "divisible by 2"),
    (lambda: F.fold(tandem.zeros(1, 5, 4), (4, 4), 2), "divisible by the product of kernel_size"),
    (lambda: F.pixel_shuffle(tandem.zeros(1, 3, 2, 2), 2), "divisible by the square of upscale_factor"),
    (lambda: F.group_norm(tandem.zeros(2, 5, 3), 2), "divisible by num_groups"),
    (lambda: F.embedding(tandem.tensor([0.5]), tandem.zeros(3, 2)), "Long, Int"),
    (
        lambda: F.embedding_bag(
            tandem.tensor([[0]]), tandem.zeros(3, 2), mode="sum", per_sample_weights=tandem.zeros(1, 1).double()
        ),
        "type float32 does not equal float64",
    ),
    (lambda: F.grid_sample(tandem.zeros(1, 1, 2, 2), tandem.zeros(1, 2, 2, 3)), "to have size 2 in last dimension"),
]


@pytest.mark.parametrize("channels", [2, 16])
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.bfloat16])
def test_an_output_padding_as_wide_as_the_step(channels, dtype):
    """The input of the convolution that this reverses ends behind its last window."""
    for stride, dilation, padding, more, kernel in (
        (1, 2, 0, 1, (2, 3)),
        (2, 4, 0, 3, (2, 3)),
        (2, 4, 1, 2, (2, 3)),
        (1, 3, 0, 1, (1, 1)),  # behind windows of an element each
    ):
        arrays = (tandem.randn(3, channels, 5, 4), tandem.randn(channels, 8, *kernel))
        results = []
        for kind in (dtype, tandem.float64):
            x, w = (a.to(dtype).to(kind).requires_grad_() for a in arrays)
            y = F.conv_transpose2d(x, w, None, stride, padding, more, 1, dilation)
            first = tandem.autograd.grad((y * y).sum(), (x, w), create_graph=True)
            results.append([y, *first, *tandem.autograd.grad(sum((g * g).sum() for g in first), (x, w))])
        for got, want in zip(*results, strict=True):
            close = 1e-4 if dtype == tandem.float32 else 2e-2
            assert (got.double() - want).abs().max() <= close * want.abs().max()


@pytest.mark.parametrize("wrong, text", ERRORS, ids=range(len(ERRORS)))
def test_errors_name_what_is_wrong(wrong, text):
    with pytest.raises(RuntimeError, match=text):
        wrong()


def test_argument_errors():
    with pytest.raises(ValueError, match="max mode does not support scaling the gradient by the frequency"):
        F.embedding_bag(tandem.tensor([[0]]), tandem.zeros(3, 2), mode="max", scale_grad_by_freq=True)
    with pytest.raises(ValueError, match="only one of size or scale_factor"):
        F.interpolate(tandem.zeros(1, 1, 2), size=3, scale_factor=2)
    with pytest.raises(NotImplementedError, match="Got 3D input, but bilinear mode needs 4D input"):
        F.interpolate(tandem.zeros(1, 1, 2), size=3, mode="bilinear")
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.batch_norm(tandem.zeros(1, 2), None, None, training=True)
    for size, groups in [((1, 4, 1), 4), ((1, 4), 4), ((1, 1, 1, 1), 1)]:
        with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
            F.group_norm(tandem.zeros(size), groups)
        assert not tandem.group_norm(tandem.zeros(size), groups).any()
    for size, groups in [((2, 4, 1), 4), ((1, 4), 2), ((0, 4), 4), ((1, 4, 0), 4)]:
        assert F.group_norm(tandem.zeros(size), groups).shape == size
    for scores in (tandem.zeros(1), tandem.zeros(())):
        with pytest.raises(RuntimeError, match="Expected at least 2 dimensions for input"):
            F.group_norm(scores, 1)
    for pool in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d, F.adaptive_avg_pool3d, F.adaptive_max_pool3d):
        with pytest.raises(RuntimeError, match=f"{pool.__name__}: .*output_size"):
            pool(tandem.zeros(1, 2, 4, 4, 4)[..., 0] if "2d" in pool.__name__ else tandem.zeros(1, 2, 4, 4, 4), (2,))
    with pytest.raises(AssertionError, match="Padding_idx must be within"):
        F.embedding(tandem.tensor([0]), tandem.zeros(3, 2), padding_idx=3)
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 4D input\)"):
        nn.CircularPad1d(1)(tandem.ones(1, 2, 3, 3))
    with pytest.raises(ValueError, match="valid sizes"):
        nn.ConvTranspose2d(1, 1, 2, stride=2)(tandem.zeros(1, 1, 2, 2), output_size=(9, 9))


def largest_of_windows(x, size, kernel, stride, padding, dilation):
    """Values and flat places of the maxima, place by place: the first of equal ones, the last NaN."""
    values, places = np.full(size, -np.inf, x.dtype), np.full(size, -1)
    for at in np.ndindex(*size):
        for k in np.ndindex(*kernel):
            y, z = (a * s - p + j * d for a, s, p, j, d in zip(at, stride, padding, k, dilation, strict=True))
            if not (0 <= y < x.shape[0] and 0 <= z < x.shape[1]):
                continue
            if places[at] < 0 or x[y, z] > values[at] or np.isnan(x[y, z]):
                values[at], places[at] = x[y, z], y * x.shape[1] + z
    return values, places


@pytest.mark.parametrize("seed", range(60))
def test_max_pool_of_any_windows(seed):
    rng = np.random.default_rng(seed)
    kernel, stride, dilation = (rng.integers(1, end, 2).tolist() for end in (5, 6, 4))
    padding = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
    least = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    shape = [int(n + rng.integers(0, 20)) for n in least]
    x = rng.integers(-3, 4, (3, *shape)).astype(["float32", "float64", "float16"][seed % 3])
    x[rng.random(x.shape) < 0.1] = -np.inf
    if seed % 2:
        x[rng.random(x.shape) < 0.05] = np.nan
    ceil = bool(rng.integers(0, 2))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil}
    values, places = F.max_pool2d(tandem.tensor(x), kernel, return_indices=True, **options)
    alone = F.max_pool2d(tandem.tensor(x), kernel, **options)
    np.testing.assert_array_equal(alone.numpy(), values.numpy())
    for plane in range(len(x)):
        expected = largest_of_windows(x[plane], values.shape[1:], kernel, stride, padding, dilation)
        np.testing.assert_array_equal(values[plane].numpy(), expected[0])
        seen = expected[1] >= 0
        np.testing.assert_array_equal(places[plane].numpy()[seen], expected[1][seen])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("columns", [*range(1, 10), 14, 16, 17, 33])
def test_max_pool_of_windows_that_divide_the_planes(columns, dtype):
    """Rows of all planes are taken together; the values are those that are found with their places."""
    rng = np.random.default_rng(columns)
    for down, rows in ((1, 3), (2, 1), (2, 7), (3, 2)):
        for planes in (1, 2, 5, 4100 // (rows * columns) + 3):
            array = rng.choice([-np.inf, -1.5, -0.0, 0.0, 2.0], (planes, down * rows, 2 * columns)).astype("float32")
            for x in (array, np.where(rng.random(array.shape) < 0.02, np.nan, array)):
                x = tandem.tensor(x, dtype=getattr(tandem, dtype))
                values, _ = F.max_pool2d(x, (down, 2), return_indices=True)
                assert_same_bits(F.max_pool2d(x, (down, 2)), values)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("kernel, stride, padding", [(1, 1, 0), (2, 1, 1), (3, 1, 1), (2, 2, 0), (2, 2, 1), (3, 2, 1)])
def test_max_pool_of_narrow_windows(kernel, stride, padding, dtype):
    """Short rows, planes with a NaN or infinities of both signs, the least and the greatest integers."""
    rng = np.random.default_rng(kernel * 10 + stride)
    options = {"stride": stride, "padding": padding}
    for width in (*range(kernel, 13), 17, 35):
        x = rng.integers(0, 4, (5, 6, width)).astype(dtype)
        if x.dtype.kind == "f":
            x[1, rng.random(x[1].shape) < 0.1] = np.nan
            x[2] = rng.choice([-np.inf, np.inf, 1], x[2].shape)
            x[3] = np.where(rng.random(x[3].shape) < 0.5, -0.0, 0.0)
        else:
            least = np.iinfo(x.dtype)
            x[1] = rng.choice(np.array([least.min, least.max, least.max - 1], x.dtype), x[1].shape)
            x[2] = least.min
        values, places = F.max_pool2d(tandem.tensor(x), kernel, return_indices=True, **options)
        assert_same_bits(F.max_pool2d(tandem.tensor(x), kernel, **options), values)
        for plane in range(len(x)):
            # The order of integers of 64 bits, which float64 does not have, is that of their ranks.
            ranks = x[plane] if x.dtype.kind == "f" else np.unique(x, return_inverse=True)[1].reshape(x.shape)[plane]
            _, expected = largest_of_windows(
                ranks.astype("float64"), values.shape[1:], *((n, n) for n in (kernel, stride, padding, 1))
            )
            np.testing.assert_array_equal(places[plane].numpy(), expected)
            assert_same_bits(values[plane], tandem.tensor(x[plane].reshape(-1)[expected]))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_a_window_that_sees_nothing_has_the_least_integer(dtype):
    """Its two places lie before and behind the input."""
    x = tandem.tensor([[[5, 7]]], dtype=getattr(tandem, dtype))
    assert F.max_pool1d(x, 2, 1, 1, 3).item() == tandem.iinfo(x.dtype).min


def test_averages_of_integers():
    x = tandem.tensor([[[-(2**63), 0, 6, 5]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[-(2**62), 5]]]
    assert F.avg_pool2d(x[None], (1, 2), divisor_override=-1).tolist() == [[[[-(2**63), -11]]]]
    for dtype in ("bool", "uint8", "int8", "int16", "int32"):
        with pytest.raises(RuntimeError, match=f"\"avg_pool2d\" not implemented for '{dtype}'"):
            F.avg_pool2d(tandem.ones(1, 16, 16, dtype=getattr(tandem, dtype)), 16)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int8"])
@pytest.mark.parametrize(
    "kernel, stride, padding",
    [((7, 7), (7, 7), (0, 0)), ((6, 5), (5, 4), (3, 2)), ((19, 23), (1, 1), (0, 0)), ((2, 9), (2, 3), (1, 4))],
)
def test_max_pool_of_wide_windows(kernel, stride, padding, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (4, 20, 24)).astype(dtype)
    if x.dtype.kind == "f":
        x[1, rng.random(x[1].shape) < 0.05] = np.nan
        x[2] = np.where(rng.random(x[2].shape) < 0.5, -0.0, 0.0)
        x[3] = -np.inf
    options = {"stride": stride, "padding": padding}
    values, places = F.max_pool2d(tandem.tensor(x), kernel, return_indices=True, **options)
    alone = F.max_pool2d(tandem.tensor(x), kernel, **options)
    assert_same_bits(alone, values)
    for plane in range(len(x)):
        wide = x[plane].astype("float64")
        _, expected = largest_of_windows(wide, values.shape[1:], kernel, stride, padding, (1, 1))
        np.testing.assert_array_equal(places[plane].numpy(), expected)
        assert_same_bits(values[plane], tandem.tensor(x[plane].reshape(-1)[expected]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8"])
@pytest.mark.parametrize(
    "kernel,stride", [(3, 3), (4, 4), (3, 4), (5, 5), (6, 7), (7, 7), (8, 8), (13, 13), (15, 16), (16, 16), (7, 5)]
)
def test_max_pool_of_windows_in_a_line(kernel, stride, dtype):
    rng = np.random.default_rng(kernel)
    for length in (kernel, kernel + 1, 8 * stride, 8 * stride + kernel - 1, 61 * stride + 3, 1024):
        x = rng.integers(-9, 9, (2, 3, length)).astype(dtype)
        if x.dtype.kind == "f":
            x[rng.random(x.shape) < 0.02] = np.nan
            x[1, 1] = -np.inf
        values, places = F.max_pool1d(tandem.tensor(x), kernel, stride, return_indices=True)
        assert_same_bits(F.max_pool1d(tandem.tensor(x), kernel, stride), values)
        for at in np.ndindex(2, 3):
            _, expected = largest_of_windows(
                x[at][None].astype("float64"), (1, values.shape[2]), (1, kernel), (1, stride), (0, 0), (1, 1)
            )
            np.testing.assert_array_equal(places[at].numpy(), expected[0])
            np.testing.assert_array_equal(values[at].numpy(), x[at][expected[0]])


def test_adaptive_max_pool_that_divides_evenly_or_not():
    x = np.random.default_rng(0).normal(size=(2, 12, 20)).astype(np.float32)
    for size in ((4, 5), (3, 6), (5, 7), (12, 20), (1, 1)):
        values, places = F.adaptive_max_pool2d(tandem.tensor(x), size, return_indices=True)
        for i, j in np.ndindex(*size):
            rows = slice(i * 12 // size[0], -(-(i + 1) * 12 // size[0]))
            columns = slice(j * 20 // size[1], -(-(j + 1) * 20 // size[1]))
            np.testing.assert_array_equal(values[:, i, j].numpy(), x[:, rows, columns].max((1, 2)))
        np.testing.assert_array_equal(
            np.take_along_axis(x.reshape(2, -1), places.numpy().reshape(2, -1), 1), values.numpy().reshape(2, -1)
        )


NAN, INF = float("nan"), float("inf")


# What PyTorch gives for x = NaN, inf and -inf, y = 0 in images of 1 .. 9, and in volumes of 1 .. 27.
@pytest.mark.parametrize(
    ("kind", "padding", "image", "volume"),
    [
        ("bilinear", "zeros", (NAN, NAN, NAN), (0.0, 0.0, 0.0)),
        ("bilinear", "border", (4.0, 6.0, 4.0), (15.0, 15.0, 13.0)),
        ("bilinear", "reflection", (4.0, 4.0, 4.0), (15.0, 15.0, 15.0)),
        ("nearest", "zeros", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ("nearest", "border", (4.0, 6.0, 4.0), (15.0, 15.0, 13.0)),
        ("nearest", "reflection", (4.0, 4.0, 4.0), (15.0, 15.0, 15.0)),
        ("bicubic", "zeros", (NAN, NAN, NAN), None),
        ("bicubic", "border", (NAN, NAN, NAN), None),
        ("bicubic", "reflection", (NAN, NAN, NAN), None),
    ],
)
@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_grids_that_are_no_places(mode, kind, padding, image, volume):
    for dims, want in ((2, image), (3, volume)):
        if want is None:
            continue
        x = tandem.arange(1.0, 3.0**dims + 1).view(1, 1, *[3] * dims)
        for corners in (False, True):
            for value, result in zip((NAN, INF, -INF), want, strict=True):
                grid = tandem.zeros(1, *[1] * dims, dims)
                grid[..., 0] = value
                got = run_in(mode, lambda g, x=x, c=corners: F.grid_sample(x, g, kind, padding, c), grid)
                np.testing.assert_equal(got.item(), result)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("ceil", [False, True])
def test_power_pools_at_infinity_are_the_extreme_sizes(dims, ceil, mode):
    x = values(2, 3, *[5] * dims)
    pool, largest = getattr(F, f"lp_pool{dims}d"), getattr(F, f"max_pool{dims}d")
    for p, want in ((np.inf, largest(x.abs(), 2, ceil_mode=ceil)), (-np.inf, -largest(-x.abs(), 2, ceil_mode=ceil))):

        def run(x, p=p):
            y = pool(x, p, 2, ceil_mode=ceil)
            return y, tandem.autograd.grad(y.sum(), x)[0]

        y, slope = run_in(mode, run, x)
        assert_same_bits(y, want)
        assert_same_bits(slope, tandem.autograd.grad(want.sum(), x)[0])
    assert getattr(nn, f"LPPool{dims}d")(float("inf"), 2)(x).equal(largest(x.abs(), 2))


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pools_of_nothing(dims):
    pool = getattr(F, f"fractional_max_pool{dims}d")
    sizes = [6] * dims
    empty = tandem.ones(0, 2, *sizes, requires_grad=True)
    values, places = pool(empty, 2, output_size=[3] * dims, return_indices=True)
    assert values.shape == places.shape == (0, 2, *[3] * dims) and places.dtype == tandem.int64
    values.sum().backward()
    assert empty.grad.shape == empty.shape
    x = tandem.ones(1, 2, *sizes, requires_grad=True)
    none = pool(x, 1, output_size=[0] + [1] * (dims - 1))
    assert none.shape == (1, 2, 0, *[1] * (dims - 1))
    none.sum().backward()
    assert x.grad.count_nonzero().item() == 0
    with pytest.raises(RuntimeError, match="non-zero size for non-batch dimensions"):
        pool(tandem.ones(1, 0, *sizes), 2, output_size=[3] * dims)


def test_unpooling_takes_one_size_a_dim():
    x, places = tandem.ones(1, 1, 2, 2), tandem.zeros(1, 1, 2, 2, dtype=tandem.int64)
    for name, arguments in (("kernel_size", ((2, 2, 2),)), ("stride", (2, (2, 2, 2))), ("padding", (2, 2, (0, 0, 0)))):
        with pytest.raises(RuntimeError, match=f"max_unpool2d: {name} should have one element or 2, but got 3"):
            F.max_unpool2d(x, places, *arguments)
