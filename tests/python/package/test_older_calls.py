"""The orders of arguments that older programs use: beta, input, alpha, ... all of them positional."""

from __future__ import annotations

import pytest
from conftest import assert_same_bits, run_in

import tandem

A, B, X = (
    tandem.tensor([[1.0, 2.0], [3.0, 4.0]]),
    tandem.tensor([[[1.0, -2.0], [0.5, 4.0]]]),
    tandem.tensor([1.0, -3.0]),
)

# The call in the older order, and as it is written now.
CALLS = {
    "add": (lambda: tandem.add(X, 2, X * X), lambda: tandem.add(X, X * X, alpha=2)),
    "add by name": (lambda: tandem.add(X, 2, other=X), lambda: tandem.add(X, X, alpha=2)),
    "Tensor.add": (lambda: X.add(2, X), lambda: X.add(X, alpha=2)),
    "add_": (lambda: X.clone().add_(2, X), lambda: X.add(X, alpha=2)),
    "add, out": (lambda: tandem.add(X, 2, X, out=tandem.empty(2)), lambda: X * 3),
    "add, a tensor for a number": (lambda: tandem.add(X, tandem.tensor(2.0), X), lambda: X * 3),
    "sub": (lambda: tandem.sub(X, 2, X), lambda: tandem.sub(X, X, alpha=2)),
    "sub_": (lambda: X.clone().sub_(2, X), lambda: tandem.sub(X, X, alpha=2)),
    "addmm": (lambda: tandem.addmm(2, A, 3, A, A), lambda: tandem.addmm(A, A, A, beta=2, alpha=3)),
    "addmm, beta": (lambda: tandem.addmm(2, A, A, A), lambda: tandem.addmm(A, A, A, beta=2)),
    "addmm, alpha by name": (
        lambda: tandem.addmm(2, A, alpha=3, mat1=A, mat2=A),
        lambda: tandem.addmm(A, A, A, beta=2, alpha=3),
    ),
    "Tensor.addmm": (lambda: A.addmm(2, 3, A, A), lambda: A.addmm(A, A, beta=2, alpha=3)),
    "addmm_": (lambda: A.clone().addmm_(2, A, A), lambda: A.addmm(A, A, beta=2)),
    "addmv": (lambda: tandem.addmv(2, X, 3, A, X), lambda: tandem.addmv(X, A, X, beta=2, alpha=3)),
    "Tensor.addmv": (lambda: X.addmv(2, A, X), lambda: X.addmv(A, X, beta=2)),
    "addr": (lambda: tandem.addr(2, A, 3, X, X), lambda: tandem.addr(A, X, X, beta=2, alpha=3)),
    "addr_": (lambda: A.clone().addr_(2, 3, X, X), lambda: A.addr(X, X, beta=2, alpha=3)),
    "baddbmm": (lambda: tandem.baddbmm(2, B, 3, B, B), lambda: tandem.baddbmm(B, B, B, beta=2, alpha=3)),
    "baddbmm_": (lambda: B.clone().baddbmm_(2, B, B), lambda: B.baddbmm(B, B, beta=2)),
    "addbmm": (lambda: tandem.addbmm(2, A, B, B), lambda: tandem.addbmm(A, B, B, beta=2)),
    "Tensor.addbmm": (lambda: A.addbmm(2, 3, B, B), lambda: A.addbmm(B, B, beta=2, alpha=3)),
    "addcmul": (lambda: tandem.addcmul(X, 2, X, X), lambda: tandem.addcmul(X, X, X, value=2)),
    "addcmul_": (lambda: X.clone().addcmul_(2, X, X), lambda: X.addcmul(X, X, value=2)),
    "addcdiv": (lambda: tandem.addcdiv(X, 2, X, X), lambda: tandem.addcdiv(X, X, X, value=2)),
    "Tensor.addcdiv": (lambda: X.addcdiv(2, X, X), lambda: X.addcdiv(X, X, value=2)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:This overload of")
def test_older_orders(name, mode):
    older, now = CALLS[name]
    assert_same_bits(run_in(mode, older), run_in(mode, now))


def test_what_is_no_order():
    for call in (
        lambda: tandem.mul(X, 2, X),
        lambda: tandem.add(X, X, 2),
        lambda: tandem.addmm(2, A, A),
        lambda: tandem.addcmul(2, X, X, X),
        lambda: X.add(2, X, X),
    ):
        with pytest.raises(TypeError) as e:
            call()
        # What is expected is said in the present order alone.
        assert "alpha, Tensor other" not in str(e.value) and "value, Tensor" not in str(e.value)


def test_the_warning_shows_the_call_to_write():
    tandem.set_warn_always(True)
    try:
        with pytest.warns(
            UserWarning, match=r"overload of add_ is deprecated:\n.*alpha.*other.*\n(.*\n)+.*other.*alpha"
        ):
            X.clone().add_(2, X)
    finally:
        tandem.set_warn_always(False)


def test_what_is_built_in():
    for name, question in (("has_cuda", tandem.backends.cuda.is_built), ("has_mps", tandem.backends.mps.is_built)):
        with pytest.warns(UserWarning, match=f"'{name}' is deprecated, please use 'torch.backends"):
            assert getattr(tandem, name) is question()


def test_fusion_strategies_are_kept():
    before = tandem.jit.set_fusion_strategy([("DYNAMIC", 3)])
    assert tandem.jit.set_fusion_strategy(before) == [("DYNAMIC", 3)]
    with pytest.raises(ValueError, match="got: NONE"):
        tandem.jit.set_fusion_strategy([("NONE", 3)])
