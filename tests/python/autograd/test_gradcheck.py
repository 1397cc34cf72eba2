"""What gradcheck checks beside backward passes: tangents, and backward passes of several cotangents at once."""

import pytest

import tandem
from tandem.autograd import gradcheck, gradgradcheck
from tandem.autograd.gradcheck import GradcheckError


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

    with pytest.raises(RuntimeError, match="computed with forward mode mismatch for output 0 with respect to input 0"):
        gradcheck(wrong, leaf(), check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(wrong, leaf(), check_forward_ad=True, check_backward_ad=False, raise_exception=False) is False
    assert gradcheck(Lopsided.apply, leaf(), check_forward_ad=True)
    with pytest.raises(RuntimeError, match="computed with forward mode mismatch"):
        gradgradcheck(Lopsided.apply, leaf(), check_fwd_over_rev=True, check_rev_over_rev=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(wrong, leaf().detach(), check_forward_ad=True, check_backward_ad=False)


def test_batches_of_tangents():
    def each(x, y):
        return x * y.sin(), x + 1

    args = (leaf(), leaf().detach())
    assert gradcheck(each, args, check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises(RuntimeError, match="failed while testing batched tangents of output 0"):
        gradcheck(
            lambda x: x * tandem.rand_like(x).ge(-1), leaf(), check_forward_ad=True, check_batched_forward_grad=True
        )


@pytest.mark.parametrize(
    "given",
    [
        {"check_backward_ad": False},
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
        {"check_batched_forward_grad": True},
    ],
)
def test_what_cannot_be_checked_is_an_error(given):
    with pytest.raises(AssertionError, match="to be True"):
        gradcheck(lambda x: x * 2, leaf(), **given)


class Derivative(tandem.autograd.Function):
    """The input, whose backward is a function of the cotangent."""

    @staticmethod
    def forward(ctx, x, backward):
        ctx.backward = backward
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return ctx.backward(g), None


def needs_cotangent(g):
    if g is None:
        raise RuntimeError("no cotangent")
    return g


def hooked(x):
    y = x.clone()
    y.register_hook(needs_cotangent)
    return y


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: Derivative.apply(x, lambda g: g * (1 + tandem.rand_like(g) * 1e-6)), "Backward is not reentrant"),
        (lambda x: Derivative.apply(x, lambda g: g + 1e-7), "backward not multiplied by grad_output"),
        (hooked, "Expected backward function to handle undefined output grads: no cotangent"),
        (lambda x: x.detach() * 2, "Numerical gradient for function expected to be zero"),
    ],
)
def test_what_is_wrong_beside_the_jacobian_is_found(f, text, fast):
    with pytest.raises(GradcheckError, match=text):
        gradcheck(f, leaf(), fast_mode=fast)
    assert gradcheck(f, leaf(), fast_mode=fast, raise_exception=False) is False


@pytest.mark.parametrize("fast", [False, True])
def test_outputs_without_derivative_and_that_change_their_form(fast):
    assert gradcheck(lambda x: (), leaf(), fast_mode=fast)
    assert gradcheck(lambda x: tandem.ones(2), leaf(), fast_mode=fast)
    one = tandem.ones(1, dtype=tandem.float64, requires_grad=True)
    for form, f in (
        ("shape", lambda x: tandem.cat([x, x]) if x.item() >= 1 else x * 1),
        ("dtype", lambda x: x.float() if x.item() >= 1 else x * 1),
    ):
        with pytest.raises(AssertionError, match=f"with the same {form} when inputs are perturbed"):
            gradcheck(f, one, fast_mode=fast, check_grad_dtypes=False)


def test_given_cotangents_are_inputs_only_where_they_require_grad():
    coarse = tandem.ones(2, 3)  # float32, for which differences of this length are nothing but rounding
    assert gradgradcheck(lambda x: x.exp(), leaf(), [coarse])
    assert gradgradcheck(lambda x: x.exp(), leaf(), tandem.ones(2, 3, dtype=tandem.float64, requires_grad=True))


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
