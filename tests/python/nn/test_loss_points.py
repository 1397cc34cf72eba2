"""Losses and distances at the ends of their domains and at ties, where the formulas of PyTorch 2.13 are special."""

from __future__ import annotations

import itertools
import math

import pytest
from conftest import run_in

import tandem
from tandem import tensor
from tandem.nn import functional as F

F64 = tandem.float64


def slopes(loss, *leaves):
    """First derivatives by the leaves, and those of the sum of the first one."""
    first = tandem.autograd.grad(loss(*leaves).sum(), leaves, create_graph=True)
    return (*first, *tandem.autograd.grad(first[0].sum(), leaves, allow_unused=True))


@pytest.mark.parametrize("dtype", [tandem.float32, F64])
def test_binary_cross_entropy_of_probabilities_near_the_wrong_end(dtype, mode):
    """The slope is (x - t) / max(x (1 - x), 1e-12): what a sigmoid far below 0 is pulled with is less than 1."""

    def run(x, t):
        return slopes(lambda x: F.binary_cross_entropy(x, t, reduction="none"), x)

    x = tensor([0.0, 0.0, 1.0, 1e-13, 1e-13, 0.25], dtype=dtype).requires_grad_()
    first, second = run_in(mode, run, x, tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], dtype=dtype))
    tandem.testing.assert_close(first, tensor([0.0, -1e12, 1e12, -1e12, 0.1, -4.0], dtype=dtype))
    tandem.testing.assert_close(second[5:], tensor([16.0], dtype=dtype))

    def pulled(z):
        return tandem.autograd.grad(F.binary_cross_entropy(z.sigmoid(), tandem.ones_like(z)), z)[0]

    z = tensor([-30.0], dtype=dtype).requires_grad_()
    tandem.testing.assert_close(run_in(mode, pulled, z), tensor([-math.exp(-30) * 1e12], dtype=dtype))


def test_slopes_by_targets_of_binary_cross_entropy(mode):
    def run(x, t):
        return tandem.autograd.grad(F.binary_cross_entropy(x, t, reduction="sum"), t)[0]

    x = tensor([0.25, 0.0, 1.0], dtype=F64)
    got = run_in(mode, run, x, tensor([0.5, 0.5, 0.5], dtype=F64).requires_grad_())
    assert got.tolist() == [pytest.approx(math.log(3)), math.inf, -math.inf]
    assert tandem.autograd.gradgradcheck(F.binary_cross_entropy, (tensor([0.3, 0.8]).double().requires_grad_(), x[:2]))


@pytest.mark.parametrize("dtype", [tandem.float32, F64])
def test_slopes_of_logits_that_are_far_below_zero(dtype, mode):
    """sigmoid(x) - t, which is as small as it is: differences of the slopes of terms are 0 or rounding."""

    def run(x, t):
        plain = slopes(lambda x: F.binary_cross_entropy_with_logits(x, t, reduction="none"), x)
        weighted = slopes(
            lambda x: F.binary_cross_entropy_with_logits(x, t, pos_weight=tensor(3.0), reduction="none"), x
        )
        return *plain, *weighted

    x = tensor([-20.0, -30.0, -80.0, 0.0], dtype=dtype).requires_grad_()
    small = tensor([math.exp(v) / (1 + math.exp(v)) for v in x.tolist()], dtype=dtype)
    first, second, weighted, _ = run_in(mode, run, x, tensor([0.0, 0.0, 0.0, 1.0], dtype=dtype))
    tandem.testing.assert_close(first, small - tensor([0.0, 0.0, 0.0, 1.0], dtype=dtype), rtol=1e-6, atol=0)
    tandem.testing.assert_close(second, small * (1 - small), rtol=1e-6, atol=0)
    tandem.testing.assert_close(weighted, tensor([*small.tolist()[:3], -1.5], dtype=dtype), rtol=1e-6, atol=0)


def test_derivatives_of_binary_cross_entropy_with_logits():
    x, t, w = (tensor(v, dtype=F64).requires_grad_() for v in ([-1.5, 0.3], [0.2, 0.9], [2.0, 0.5]))

    def loss(x, t, w):
        return F.binary_cross_entropy_with_logits(x, t, pos_weight=w)

    assert tandem.autograd.gradcheck(loss, (x, t, w)) and tandem.autograd.gradgradcheck(loss, (x, t, w))


def test_cosine_embedding_loss_of_zero(mode):
    """1e-12 is added to squared lengths: the slope at a zero vector is y / (|y| * 1e-6)."""

    def run(x):
        return slopes(lambda x: F.cosine_embedding_loss(x, y, tensor([1, 1]), reduction="none"), x)[0]

    y = tensor([[3.0, 4.0], [3.0, 4.0]], dtype=F64)
    x = tensor([[0.0, 0.0], [4.0, 3.0]], dtype=F64).requires_grad_()
    got = run_in(mode, run, x)
    tandem.testing.assert_close(got[0], tensor([-0.6e6, -0.8e6], dtype=F64))
    assert F.cosine_embedding_loss(x, y, tensor([1, 1]), reduction="none").tolist() == [1.0, pytest.approx(0.04)]
    half = tensor([[300.0, 400.0]]).half()  # whose squares are beyond float16
    assert F.cosine_embedding_loss(half, half, tensor([1])).item() == 0


def test_ties_of_the_greatest_difference(mode):
    """Each of them has the whole gradient of `cdist` and `pdist`; an infinite one has none."""

    def run(x, y):
        return (
            tandem.autograd.grad(tandem.cdist(x, y, p=math.inf).sum(), x)[0],
            tandem.autograd.grad(tandem.pdist(x, p=math.inf).sum(), x)[0],
        )

    x = tensor([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5]], dtype=F64).requires_grad_()
    across, among = run_in(mode, run, x, tensor([[2.0, 2.0, 1.0]], dtype=F64))
    assert across.tolist() == [[-1.0, -1.0, 0.0], [0.0, -1.0, 0.0]]
    assert among.tolist() == [[-1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]
    assert tandem.cdist(x, x / 0, p=math.inf)[1].isinf().any()


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_second_derivatives_on_the_border_of_an_image(padding, mode):
    """A place on the border has no slope, and neither has the slope by the image."""

    def run(x, grid):
        first = tandem.autograd.grad(
            F.grid_sample(x, grid, padding_mode=padding, align_corners=True).sum(), grid, create_graph=True
        )[0]
        return first, tandem.autograd.grad(first.sum(), x)[0]

    x = tandem.arange(9.0, dtype=F64).square().reshape(1, 1, 3, 3).requires_grad_()
    first, second = run_in(mode, run, x, tensor([[[[1.0, -1.0], [-1.0, 1.0]]]], dtype=F64).requires_grad_())
    assert not first.any() and not second.any()


def test_losses_of_logits_of_every_dtype():
    dtypes = (tandem.float32, tandem.float64, tandem.bfloat16, tandem.int64, tandem.uint8, tandem.bool)
    want = F.binary_cross_entropy_with_logits(tandem.arange(3.0), tandem.tensor([1.0, 0.0, 1.0]))
    for of, to in itertools.product(dtypes, dtypes):
        x, target = tandem.arange(3).to(of), tandem.tensor([1, 0, 1]).to(to)
        if of == tandem.bool or to == tandem.bool:
            with pytest.raises(NotImplementedError, match="not implemented for 'bool'"):
                F.binary_cross_entropy_with_logits(x, target)
            continue
        got = F.binary_cross_entropy_with_logits(x, target)
        floats = [dtype for dtype in (of, to) if dtype.is_floating_point]
        assert got.dtype == (to if to.is_floating_point else floats[0] if floats else tandem.float32)
        assert abs(got.item() - want.item()) < (1e-2 if tandem.bfloat16 in floats else 1e-6)


def test_classes_are_in_the_last_dim_of_the_input():
    """Which a target of more dims, that the input broadcasts to, has before its last one."""
    x, target = tandem.tensor([0.5, -1.0, 2.0]), tandem.tensor([[0, 1, 2], [2, 0, 1]])
    loss = F.multilabel_soft_margin_loss(x, target, reduction="none")
    assert loss.tolist() == pytest.approx([0.3161, 0.5422, -0.5820], abs=1e-4)
    rows = F.multilabel_soft_margin_loss(x[None], target, reduction="none")
    assert rows.tolist() == pytest.approx([0.1381] * 2, abs=1e-4)


def test_the_rest_of_a_count_has_the_dtype_of_the_loss():
    x = tandem.tensor([0.5, 1.0], dtype=tandem.float16)
    assert F.poisson_nll_loss(x, tandem.tensor([1, 3]), full=True).dtype is tandem.float16
    assert F.poisson_nll_loss(x, tandem.tensor([1.0, 3.0]), full=True).dtype is tandem.float32


def test_labels_of_several_classes_are_int64(mode):
    x, labels = tandem.tensor([[0.1, 0.7, 0.3], [0.5, 0.2, 0.9]]), tandem.tensor([[1, -1, 0], [0, 2, 1]])
    assert run_in(mode, F.multilabel_margin_loss, x, labels).item() == pytest.approx(1 / 6)
    for dtype in (tandem.int32, tandem.int16, tandem.float32):
        with pytest.raises(RuntimeError, match="expected scalar type Long"):
            run_in(mode, F.multilabel_margin_loss, x, labels.to(dtype))


@pytest.mark.parametrize("delta", [1j, None, "1", tensor(1.0)], ids=repr)
def test_the_bound_of_a_huber_loss_is_a_number(delta):
    with pytest.raises(TypeError, match="delta must be a float or int, got: "):
        tandem.nn.HuberLoss(delta=delta)


def test_class_index_of_one_sample_may_have_a_dim():
    for function in (F.cross_entropy, F.nll_loss):
        x = tandem.tensor([0.5, 1.0, 2.0])
        for reduction in ("mean", "none"):
            want = function(x, tandem.tensor(1), reduction=reduction)
            assert tandem.equal(want, function(x, tandem.tensor([1]), reduction=reduction))


def test_cosine_embedding_loss_of_bools():
    x = tandem.ones(2, 3, dtype=tandem.bool)
    assert F.cosine_embedding_loss(x, x, tensor([1, -1]), reduction="none").tolist() == [0, 1]


def test_an_unknown_reduction_is_seen_before_the_classes():
    x, wrong = tandem.zeros(5, 4), tandem.full((5,), 9)
    rows, lengths = tandem.full((5, 4), 9), tandem.full((5,), 2)
    for call in (
        lambda: F.nll_loss(x, wrong, reduction="other"),
        lambda: F.cross_entropy(x, wrong, reduction="other"),
        lambda: F.multi_margin_loss(x, wrong, reduction="other"),
        lambda: F.multilabel_margin_loss(x, rows, reduction="other"),
        lambda: F.ctc_loss(tandem.zeros(6, 5, 4), rows, lengths, lengths, reduction="other"),
    ):
        with pytest.raises(ValueError, match="other is not a valid value for reduction"):
            call()
