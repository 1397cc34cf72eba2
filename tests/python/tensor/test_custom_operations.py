"""`tandem.library`: operations of one's own are what their definitions say, or `opcheck` says what they are not."""

from __future__ import annotations

import pytest

import tandem


def _twice(name, function, fake=tandem.empty_like, backward=lambda ctx, g: g * 2):
    op = tandem.library.custom_op(f"tests::{name}", function, mutates_args=())
    if fake is not None:
        op.register_fake(fake)
    op.register_autograd(backward)
    return op


@pytest.mark.parametrize(
    ("made", "test", "words"),
    [
        (lambda: _twice("right", lambda x: x * 2), None, ""),
        (lambda: _twice("writes", lambda x: x.detach().mul_(2).clone()), "test_schema", "x is not defined as mutable"),
        (lambda: _twice("returns", lambda x: x.view(-1)), "test_schema", "x is not defined to alias output"),
        (lambda: _twice("no_fake", lambda x: x * 2, None), "test_faketensor", "no fake impl registered"),
        (lambda: _twice("wrong_fake", lambda x: x * 2, lambda x: x[:1]), "test_faketensor", "says"),
        (
            lambda: _twice("fails", lambda x: x * 2, backward=lambda ctx, g: ctx.missing),
            "test_autograd_registration",
            "missing",
        ),
        (lambda: _twice("draws", lambda x: x * tandem.rand(())), "test_aot_dispatch_dynamic", "not close"),
    ],
)
def test_operations_are_checked(made, test, words):
    op, x = made(), tandem.tensor([1.0, 2.0], requires_grad=True)
    outcomes = tandem.library.opcheck(op, (x,), raise_exception=False)
    assert list(outcomes) == [
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ]
    assert x.tolist() == [1.0, 2.0]
    if test is None:
        assert set(outcomes.values()) == {"SUCCESS"}
    else:
        assert words in str(outcomes[test])
        with pytest.raises(RuntimeError, match=f"{test} failed with"):
            tandem.library.opcheck(op, (x,), test_utils=test)


def test_operations_may_change_what_they_say():
    op = tandem.library.custom_op("tests::adds", lambda x, y: x.add_(y).clone(), mutates_args=("x",))
    assert tandem.library.opcheck(op, (tandem.ones(2),), {"y": tandem.ones(2)}, test_utils="test_schema")
    with pytest.raises(ValueError, match="there is no test"):
        tandem.library.opcheck(op, (), test_utils="test_nothing")


def test_lists_of_tensors_have_derivatives():
    @tandem.library.custom_op("tests::scaled_parts", mutates_args=())
    def scaled_parts(parts: list[tandem.Tensor], factor: float, shift: tandem.Tensor) -> list[tandem.Tensor]:
        return [part * factor + shift for part in parts]

    def backward(ctx, grads):
        assert isinstance(grads, list) and len(grads) == 2
        return [g * ctx.factor for g in grads], None, sum(grads)

    def setup(ctx, inputs, output):
        assert isinstance(inputs[0], list) and isinstance(output, list)
        ctx.factor = inputs[1]

    scaled_parts.register_autograd(backward, setup_context=setup)
    a, b, shift = (tandem.tensor([x], requires_grad=True) for x in (1.0, 2.0, 3.0))
    first, second = parts = scaled_parts([a, b], 4.0, shift)
    assert isinstance(parts, list) and first.item() == 7 and second.item() == 11
    grads = tandem.autograd.grad(first + 10 * second, [a, b, shift])
    assert [g.item() for g in grads] == [4, 40, 11]
    (alone,) = tandem.autograd.grad(sum(scaled_parts([a.detach(), b], 4.0, shift.detach())), [b])
    assert alone.item() == 4


def test_the_context_is_set_up_by_names():
    @tandem.library.custom_op("tests::times_by_name", mutates_args=())
    def times(x: tandem.Tensor, *, factor: float) -> tandem.Tensor:
        return x * factor

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.factor = keyword_only_inputs["factor"]

    times.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=setup)
    x = tandem.ones(2, requires_grad=True)
    times(x, factor=3.0).sum().backward()
    assert x.grad.tolist() == [3, 3]
