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


def test_directions_leave_the_generator_and_allow_for_many_elements():
    def noisy(x):
        with tandem.random.fork_rng():
            return x * tandem.rand(x.shape, dtype=x.dtype)

    tandem.manual_seed(1)
    assert gradcheck(noisy, leaf(), fast_mode=True)
    drawn = tandem.rand(2)
    tandem.manual_seed(1)
    assert drawn.tolist() == tandem.rand(2).tolist()
    # Rounding adds up over the elements of a sum, to more than one of them may be off by.
    x = tandem.linspace(-1.0, 1.0, 40000, dtype=tandem.float64).sin().requires_grad_()
    assert gradcheck(lambda x: tandem.nn.functional.layer_norm(x, (40000,)), x, fast_mode=True)

    def wrong(x):
        return x * x.detach()

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(wrong, leaf(), fast_mode=True)
