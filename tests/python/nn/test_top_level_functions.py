"""Functions of nn.functional at the top level, with ATen's order of parameters, and what their native forms tell."""

from __future__ import annotations

import pytest
from conftest import run_in

import tandem
import tandem.nn.functional as F

WORDS = ("none", "mean", "sum")


def values(*shape):
    tandem.manual_seed(0)
    return tandem.randn(*shape, requires_grad=True)


def same(ours, theirs, *inputs):
    """Equal bits, and equal gradients."""
    assert ours.equal(theirs)
    weight = tandem.arange(1.0, ours.numel() + 1).reshape(ours.shape)
    for a, b in zip(*(tandem.autograd.grad((y * weight).sum(), inputs) for y in (ours, theirs))):
        assert a.equal(b)


def losses():
    a, b = values(3, 4), values(3, 4).detach() * 2
    signs, zero_one = b.sign(), (b > 0).float()
    lengths = tandem.tensor([4, 4]), tandem.tensor([2, 1])
    logs, targets = values(4, 2, 3).log_softmax(2), tandem.tensor([[1, 2], [2, 2]])
    t = tandem
    return {
        "bce": (
            lambda r: t.binary_cross_entropy_with_logits(a, zero_one, None, b[0], r),
            lambda w: F.binary_cross_entropy_with_logits(a, zero_one, pos_weight=b[0], reduction=w),
        ),
        "cosine": (
            lambda r: t.cosine_embedding_loss(a, b, signs[:, 0], 0.1, r),
            lambda w: F.cosine_embedding_loss(a, b, signs[:, 0], 0.1, reduction=w),
        ),
        "ctc": (
            lambda r: t.ctc_loss(logs, targets, *lengths, 0, r, True) + a.sum() * 0,
            lambda w: F.ctc_loss(logs, targets, *lengths, 0, w, True) + a.sum() * 0,
        ),
        "hinge": (
            lambda r: t.hinge_embedding_loss(a, signs, 0.5, r),
            lambda w: F.hinge_embedding_loss(a, signs, 0.5, reduction=w),
        ),
        "ranking": (
            lambda r: t.margin_ranking_loss(a, b, signs, 0.5, r),
            lambda w: F.margin_ranking_loss(a, b, signs, 0.5, reduction=w),
        ),
        "poisson": (
            lambda r: t.poisson_nll_loss(a, zero_one, True, True, 1e-6, r),
            lambda w: F.poisson_nll_loss(a, zero_one, True, True, eps=1e-6, reduction=w),
        ),
        "triplet": (
            lambda r: t.triplet_margin_loss(a, b, b + 1, 1.0, 1.0, 1e-3, True, r),
            lambda w: F.triplet_margin_loss(a, b, b + 1, 1.0, 1.0, 1e-3, True, reduction=w),
        ),
    }, a


@pytest.mark.parametrize("name", losses()[0])
def test_losses_reduce_by_numbers(name):
    pairs, a = losses()
    top, named = pairs[name]
    for number, word in enumerate(WORDS):
        same(top(number), named(word), a)
    assert top(7).equal(named("none"))
    with pytest.raises(TypeError, match="argument 'reduction' must be int, not str"):
        top("mean")


def test_losses_reduce_nothing_by_default(recwarn):
    x = tandem.rand(3, 4)
    one = tandem.ones(3)
    for loss in (
        tandem.kl_div(x, x),
        tandem.binary_cross_entropy_with_logits(x, x),
        tandem.hinge_embedding_loss(x, x.sign()),
        tandem.margin_ranking_loss(x, x, x.sign()),
    ):
        assert loss.shape == (3, 4)
    assert tandem.cosine_embedding_loss(x, x, one).shape == tandem.triplet_margin_loss(x, x, x).shape == (3,)
    assert tandem.kl_div(x, x, 1).allclose(tandem.kl_div(x, x).mean())
    assert tandem.kl_div(x, x, log_target=True, reduction=2).allclose(F.kl_div(x, x, reduction="sum", log_target=True))
    assert not recwarn
    assert tandem.triplet_margin_loss(x, x, x, -1.0, reduction=1).item() == 0


def test_normalisation():
    x, w, b = values(2, 3, 4), values(4).detach(), values(4).detach() + 1
    same(tandem.layer_norm(x, (4,), w, b, 1e-3, False), F.layer_norm(x, (4,), w, b, 1e-3), x)
    w, b = w[:3], b[:3]
    ours, theirs = [(tandem.zeros(3), tandem.ones(3)) for _ in range(2)]
    for training in (True, False):
        made = tandem.batch_norm(x, w, b, *ours, training, 0.2, 1e-4, True)
        same(made, F.batch_norm(x, *theirs, w, b, training, 0.2, 1e-4), x)
        made = tandem.instance_norm(x, w, b, *ours, training, 0.2, 1e-4, True)
        same(made, F.instance_norm(x, *theirs, w, b, training, 0.2, 1e-4), x)
    assert all(a.equal(b) for a, b in zip(ours, theirs))
    assert tandem.batch_norm(x[:1, :, 0], None, None, None, None, True, 0.1, 1e-5, True).abs().max() == 0
    with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
        tandem.batch_norm(x, None, None, None, None, False, 0.1, 1e-5, True)
    with pytest.raises(RuntimeError, match="to be defined when use_input_stats is false"):
        tandem.instance_norm(x, None, None, None, None, False, 0.1, 1e-5, True)


def test_native_normalisation():
    x = values(2, 3, 4)
    out, mean, rstd = tandem.native_layer_norm(x, (3, 4), None, None, 1e-3)
    same(out, F.layer_norm(x, (3, 4), eps=1e-3), x)
    assert mean.shape == rstd.shape == (2, 1, 1) and not mean.requires_grad
    tandem.testing.assert_close((x - mean) * rstd, out)
    out, mean, rstd = tandem.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-3)
    tandem.testing.assert_close((x - mean[:, None]) * rstd[:, None], out)
    out, mean, rstd = tandem.native_batch_norm(x, None, None, tandem.zeros(3), tandem.ones(3), False, 0.1, 0.0)
    assert out.equal(x) and mean.shape == rstd.shape == (0,)
    out, mean, rstd = tandem.native_group_norm(x, None, None, 2, 3, 4, 1, 1e-3)
    assert mean.shape == (2, 1) and out.equal(F.group_norm(x, 1, eps=1e-3))
    tandem.testing.assert_close((x - mean[:, None]) * rstd[:, None], out)
    with pytest.raises(RuntimeError, match=r"N=2, C=3 and 5 values a channel, but got \[2, 3, 4\]"):
        tandem.native_group_norm(x, None, None, 2, 3, 5, 1, 1e-3)
    out, mean, rstd = tandem.native_group_norm(x[:0], None, None, 0, 3, 4, 3, 1e-3)
    assert out.shape == (0, 3, 4) and mean.shape == rstd.shape == (0, 3)
    for dim, dims in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
        assert tandem.norm_except_dim(x, 2, dim).allclose(x.norm(2, dims, keepdim=True))
    assert tandem.norm_except_dim(x, 1, -1).allclose(x.abs().sum())
    assert tandem.norm_except_dim(tandem.tensor([3.0, -4.0])).tolist() == [3.0, 4.0]
    with pytest.raises(IndexError, match=r"dim 3 of a tensor of shape \[2, 3, 4\]"):
        tandem.norm_except_dim(x, 2, 3)


def test_tables():
    table, at = values(4, 3), tandem.tensor([0, 3, 1, 0])
    for padding, known in ((-1, None), (0, 0), (9, None)):
        for by_count in (False, True):
            same(
                tandem.embedding(table, at, padding, by_count),
                F.embedding(at, table, known, scale_grad_by_freq=by_count),
                table,
            )
    with pytest.raises(RuntimeError, match="'weight' must be 2-D"):
        tandem.embedding(at, table)
    large = table.detach() * 9
    kept = large.clone()
    assert tandem.embedding_renorm_(large, tandem.tensor([1]), 1.0, 2.0) is large
    assert large[1].norm().allclose(tandem.tensor(1.0)) and large[0].equal(kept[0])


def test_bags():
    table, at, starts = values(4, 3), tandem.tensor([0, 3, 1, 2, 1]), tandem.tensor([0, 2, 2])
    for mode, word in enumerate(("sum", "mean", "max")):
        for padding in (None, 1, -3):
            out, bag, size, row = tandem.embedding_bag(table, at, starts, False, mode, padding_idx=padding)
            same(out, F.embedding_bag(at, table, starts, mode=word, padding_idx=padding), table)
            assert bag.tolist() == ([] if mode == 0 and padding is None else [0, 0, 2, 2, 2])
            counts = [2, 0, 3] if padding is None else [2, 0, 1]
            assert size.tolist() == ([0, 0, 0] if mode == 0 else counts)
            if mode < 2:
                assert row.tolist() == size.tolist()
            else:
                assert (
                    row[0].tolist() == [i.item() for i in at[:2][table[at[:2]].argmax(0)]]
                    and row[1].tolist() == [0] * 3
                )
                rows = at[2:] if padding is None else at[3:4]
                assert row[2].tolist() == rows[table[rows].argmax(0)].tolist()
    ends = tandem.tensor([0, 2, 2, 5])
    assert tandem.embedding_bag(table, at, ends, mode=1, include_last_offset=True)[2].tolist() == [2, 0, 3]
    factors = tandem.arange(1.0, 6.0)
    out = tandem.embedding_bag(table, at, starts, per_sample_weights=factors)[0]
    assert out.equal(F.embedding_bag(at, table, starts, mode="sum", per_sample_weights=factors))
    parts = tandem.embedding_bag(table, at.int(), starts.int(), mode=2)[1:]
    assert [p.dtype for p in parts] == [tandem.int32] * 3
    with pytest.raises(RuntimeError, match="`mode` must be sum, mean, or max"):
        tandem.embedding_bag(table, at, starts, mode=3)


def test_convolutions():
    x, w, b = values(2, 3, 7, 6), values(4, 3, 3, 2).detach(), values(4).detach()
    ours = tandem.convolution(x, w, b, (2, 1), (1, 0), (1, 2), False, (0, 0), 1)
    same(ours, F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2)), x)
    same(tandem.convolution(x, w, None, [2], [1], [1], False, [0], 1), F.conv2d(x, w, None, 2, 1), x)
    back = values(3, 2, 2, 2).detach()
    ours = tandem.convolution(x, back, None, [2], [1], [1], True, [1], 1)
    same(ours, F.conv_transpose2d(x, back, None, 2, 1, 1), x)
    for dims in (1, 3):
        x, w = values(1, 2, *[4] * dims), values(2, 1, *[2] * dims).detach()
        same(
            tandem.convolution(x, w, None, [1], [0], [1], False, [0], 2), getattr(F, f"conv{dims}d")(x, w, groups=2), x
        )
    with pytest.raises(RuntimeError, match=r"3-dimensional input for 3-dimensional weight \[2, 3, 2\], but got 2-dim"):
        tandem.convolution(values(3, 4), values(2, 3, 2), None, [1], [0], [1], False, [0], 1)
    x, w, b = values(5, 2, 3), values(2, 3, 4).detach(), values(4).detach()
    ours = tandem.conv_tbc(x, w, b, 1)
    assert ours.is_contiguous() and F.conv_tbc is tandem.conv_tbc
    same(ours, F.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=1).permute(2, 0, 1), x)
    with pytest.raises(TypeError, match=r"conv_tbc\(\): argument 'bias' must be Tensor, not NoneType"):
        tandem.conv_tbc(x, w, None)
    with pytest.raises(RuntimeError, match=r"expected weight to have 3 dims, but got shape \[3, 4\]"):
        tandem.conv_tbc(x, w[0], b)
    a, b = values(3, 2), values(3, 4)
    same(tandem.bilinear(a, b, values(5, 2, 4), values(5)), F.bilinear(a, b, values(5, 2, 4), values(5)), a)
    w = values(5, 2, 4)
    for call, words in (
        (lambda: F.bilinear(a, b[:1], w), r"batch dimensions do not match: got \[3, 2\] and \[1, 4\]"),
        (lambda: F.bilinear(a[None], b, w), r"batch dimensions do not match: got \[1, 3, 2\] and \[3, 4\]"),
        (lambda: F.bilinear(a, b, w, values(1)), r"bias size does not match weight size: got \[1\] but expected \[5\]"),
        (lambda: F.bilinear(a, b.bfloat16(), w), "all tensors must have the same dtype, got .*bfloat16"),
        (lambda: F.bilinear(a, b, w, values(5).half()), "all tensors must have the same dtype, got .*float16"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    for dtype in (tandem.int32, tandem.uint8, tandem.int64):
        ones = tandem.ones(2, 3, dtype=dtype)
        assert F.bilinear(ones, ones, tandem.ones(1, 3, 3, dtype=dtype)).dtype is dtype


def test_places():
    x = values(1, 2, 3, 4)
    same(tandem.constant_pad_nd(x, (1, -1, 0, 2), 2.0), F.pad(x, (1, -1, 0, 2), value=2.0), x)
    with pytest.raises(RuntimeError, match="Length of pad must be even but instead it equals 1"):
        tandem.constant_pad_nd(x, (1,))
    grid = tandem.linspace(-1.2, 1.2, 16).reshape(1, 2, 4, 2)
    for i, mode in enumerate(("bilinear", "nearest", "bicubic")):
        for j, edge in enumerate(("zeros", "border", "reflection")):
            expected = F.grid_sample(x, grid, mode, edge, i == j)
            same(tandem.grid_sampler(x, grid, i, j, i == j), expected, x)
            assert tandem.grid_sampler_2d(x, grid, i, j, i == j).equal(expected)
    volume, points = values(1, 1, 2, 3, 4), tandem.linspace(-1, 1, 12).reshape(1, 1, 2, 2, 3)
    same(
        tandem.grid_sampler_3d(volume, points, 0, 1, True),
        F.grid_sample(volume, points, "bilinear", "border", True),
        volume,
    )
    with pytest.raises(RuntimeError, match="expected padding_mode to be 0, 1 or 2, but got 3"):
        tandem.grid_sampler(x, grid, 0, 3, False)
    with pytest.raises(
        RuntimeError, match=r"grid_sampler_3d: expected input to have 5 dims, but got shape \[1, 2, 3, 4\]"
    ):
        tandem.grid_sampler_3d(x, grid, 0, 0, False)
    theta = tandem.eye(2, 3).unsqueeze(0)
    assert tandem.affine_grid_generator(theta, (1, 1, 2, 3), True).equal(F.affine_grid(theta, (1, 1, 2, 3), True))
    same(tandem.native_channel_shuffle(x, 2), F.channel_shuffle(x, 2), x)
    assert F.native_channel_shuffle(x, 2).equal(F.channel_shuffle(x, 2))


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"])
def test_dropout(name):
    top, named, written = (getattr(m, n) for m, n in ((tandem, name), (F, name), (tandem, f"{name}_")))
    x = values(4, 5, 3)
    outs = []
    for function in (top, named):
        tandem.manual_seed(3)
        outs.append(function(x, 0.4, True))
    same(*outs, x)
    assert top(x, 0.4, False) is x
    tandem.manual_seed(3)
    other = x.detach().clone()
    assert written(other, 0.4, True) is other and other.equal(outs[0])
    assert written(other, 0.4, False) is other and other.equal(outs[0])
    with pytest.raises(RuntimeError, match="has to be between 0 and 1, but got 1.5"):
        written(other, 1.5, True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        written(x, 0.4, True)
    if name.startswith("feature"):
        with pytest.raises(RuntimeError, match="Feature dropout requires at least 2 dimensions"):
            top(x[0, 0], 0.4, True)


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4)])
def test_dropout_in_place_of_nothing_writes_nothing(name, shape):
    x = tandem.randn(shape, requires_grad=True)
    y = x.softmax(-1)
    out = getattr(F, name)(y, 0.0, True, True)
    assert y._version == 0 and out.equal(y)
    (out * out).sum().backward()
    getattr(F, name)(y, 0.5, False, True)
    assert y._version == 0


def test_native_dropout():
    x = values(50, 4)
    out, kept = tandem.native_dropout(x, 0.25, True)
    assert kept.dtype is tandem.bool and out.equal(tandem.where(kept, x * (1 / 0.75), 0.0)) and 0 < kept.sum() < 200
    assert tandem.autograd.grad(out.sum(), x)[0].equal(kept / 0.75)
    out, kept = tandem.native_dropout(x, 0.25, False)
    assert out.equal(x) and out is not x and bool(kept.all())
    assert tandem.native_dropout(x, 1.0, None)[0].abs().max() == 0


def test_activations_in_place():
    x = values(3, 4).detach()
    for written, named in (
        (lambda t: tandem.celu_(t, 2.0), lambda t: F.celu(t, 2.0)),
        (tandem.selu_, F.selu),
        (lambda t: tandem.threshold_(t, 0.2, 7.0), lambda t: F.threshold(t, 0.2, 7.0)),
        (lambda t: tandem.rrelu_(t, 0.1, 0.3), lambda t: F.rrelu(t, 0.1, 0.3)),
        (tandem.i0_, tandem.i0),
    ):
        y = x.clone()
        assert written(y) is y and y.equal(named(x))
    y, generator = x.clone(), tandem.Generator().manual_seed(5)
    tandem.rrelu_(y, 0.1, 0.3, True, generator)
    slopes = (y / x)[x < 0]
    assert y[x > 0].equal(x[x > 0]) and 0.1 <= slopes.min() and slopes.max() <= 0.3 and generator.get_offset() > 0


@pytest.mark.parametrize("mode", ["lazy", "compiled"])
def test_modes(mode):
    x, table = values(2, 3, 4).detach(), values(4, 3).detach()

    def f(x, table):
        y = tandem.native_layer_norm(x, (4,), None, None, 1e-3)
        bag = tandem.embedding_bag(table, tandem.tensor([0, 3, 1]), tandem.tensor([0, 1]), mode=2)
        return *y, *bag, tandem.kl_div(x, x.exp(), 1), tandem.permute_copy(x, (2, 0, 1))

    for a, b in zip(f(x, table), run_in(mode, f, x, table)):
        assert a.equal(b)


def test_ranks_of_what_broadcasts():
    a, b, signs = tandem.rand(2, 3), tandem.rand(3), tandem.tensor([1.0, -1.0, 1.0])
    loss = tandem.margin_ranking_loss(a, b, signs, 0.5)
    assert loss.equal(F.margin_ranking_loss(a, b.expand(2, 3), signs.expand(2, 3), 0.5, reduction="none"))
    with pytest.raises(RuntimeError):
        F.margin_ranking_loss(a, b, signs)
