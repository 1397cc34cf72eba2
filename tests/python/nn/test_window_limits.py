"""What windows, edges and resampling refuse, and inputs of nothing; halves that are repeated."""

from __future__ import annotations

import pytest

import tandem
from tandem.nn import functional as F

ERRORS = [
    *(
        (lambda mode=mode, shape=shape, sides=sides: F.pad(tandem.zeros(shape), sides, mode=mode), "other non-zero")
        for mode in ("reflect", "replicate")
        for shape, sides in (
            ((2, 0, 9), (1, 1)),
            ((0, 4), (1, 1)),
            ((0, 3, 0), (0, 0, 0, 0)),
            ((0, 1, 1), (1, 1, 1, 1)),
        )
    ),
    *(
        (
            lambda index=index, mode=mode: F.embedding_bag(tandem.tensor([[index, 0]]), tandem.zeros(3, 2), mode=mode),
            "out",
        )
        for index in (-1, 3)
        for mode in ("sum", "mean", "max")
    ),
    *(
        (
            lambda f=f, mode=mode: F.interpolate(tandem.zeros(1, 1, 2, 2), scale_factor=f, mode=mode),
            "converted to int64",
        )
        for f, mode in ((1e20, "nearest"), (-1e20, "bilinear"), (float("nan"), "bicubic"), (float("inf"), "area"))
    ),
    (lambda: F.interpolate(tandem.zeros(1, 1, 2, 2), scale_factor=1e9), "Storage size calculation overflowed"),
    (lambda: F.fractional_max_pool2d(tandem.zeros(1, 1, 7, 7), (2,), output_size=2), "kernel_size must either"),
    (lambda: F.fractional_max_pool3d(tandem.zeros(1, 1, 7, 7, 7), 2, output_size=(2,) * 4), "output_size must either"),
    (
        lambda: F.fractional_max_pool2d(
            tandem.zeros(1, 1, 7, 7), 2, output_size=3, _random_samples=tandem.ones(1, 1, 2).double()
        ),
        "same dtype as input",
    ),
    (lambda: tandem.nn.Linear(2, 2).to("cpu", copy=True), "does not accept copy"),
]


@pytest.mark.parametrize("wrong, text", ERRORS, ids=range(len(ERRORS)))
def test_errors_name_what_is_wrong(wrong, text):
    with pytest.raises(RuntimeError, match=text):
        wrong()


def test_what_has_no_kernel_for_a_dtype_is_not_implemented():
    x = tandem.ones(1, 2, 4, 4, dtype=tandem.int32)
    for wrong in (
        lambda: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda: F.interpolate(x, scale_factor=2, mode="bicubic"),
        lambda: F.avg_pool2d(x, 2),
        lambda: F.adaptive_avg_pool2d(x, 2),
        lambda: F.batch_norm(x, None, None, training=True),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for 'int32'"):
            wrong()


def test_edges_of_a_batch_of_nothing():
    for mode in ("reflect", "replicate", "circular"):
        assert F.pad(tandem.zeros(0, 2, 5), (1, 2), mode=mode).shape == (0, 2, 8)
    assert F.pad(tandem.zeros(2, 0, 5), (1, 2), mode="circular").shape == (2, 0, 8)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float16])
def test_gradients_of_repeated_elements_are_rounded_once(mode, dtype):
    tandem.manual_seed(3)
    for shape in ((2, 3, 7), (2, 3, 5, 7), (2, 3, 3, 4, 5)):
        x = tandem.randn(shape).to(dtype).requires_grad_()
        wide = x.detach().float().requires_grad_()
        y = F.interpolate(x, scale_factor=3, mode=mode)
        g = tandem.randn(y.shape).to(dtype)
        y.backward(g)
        F.interpolate(wide, scale_factor=3, mode=mode).backward(g.float())
        assert y.dtype is dtype and tandem.equal(x.grad, wide.grad.to(dtype))
