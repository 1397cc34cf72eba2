"""What gradcheck checks beside backward passes: tangents, and backward passes of several cotangents at once."""

import pytest

import tandem
from tandem.autograd import gradcheck, gradgradcheck


def leaf():
    return tandem.arange(6, dtype=tandem.float64).reshape(2, 3).sin().requires_grad_()


class Lopsided(tandem.autograd.Function):
    """A square whose derivative is right for inputs that do not move."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x.detach()


def test_tangents_and_batches():
    for f in (lambda x: x.exp() * x, lambda x: (x.sin().sum(0), x @ x.t()), lambda x: x.prod(1)):
        assert gradcheck(f, leaf(), check_forward_ad=True, check_batched_grad=True)
        assert gradcheck(f, leaf(), check_forward_ad=True, check_backward_ad=False, fast_mode=True)
    assert gradgradcheck(lambda x: x.exp() * x, leaf(), check_fwd_over_rev=True, check_batched_grad=True)
    assert gradgradcheck(lambda x: x**3, leaf(), check_fwd_over_rev=True, check_rev_over_rev=False)
    y = leaf()
    assert gradcheck(lambda x, y: x * y.sin(), (leaf(), y), check_forward_ad=True, check_batched_grad=True)


def test_what_is_wrong_is_found():
    def wrong(x):
        return x * x.detach()

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(wrong, leaf(), check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(wrong, leaf(), check_forward_ad=True, check_backward_ad=False, raise_exception=False) is False
    assert gradcheck(Lopsided.apply, leaf(), check_forward_ad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradgradcheck(Lopsided.apply, leaf(), check_fwd_over_rev=True, check_rev_over_rev=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(wrong, leaf().detach(), check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(ValueError, match="batched tangents"):
        gradcheck(wrong, leaf(), check_batched_forward_grad=True)
