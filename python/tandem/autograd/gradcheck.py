"""`gradcheck` and `gradgradcheck`: analytic derivatives against central differences, best in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.autograd import forward_ad
from tandem.autograd.function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative that differs from the numerical one, a RuntimeError that says where and by how much.

    >>> import tandem
    >>> from tandem.autograd.gradcheck import GradcheckError
    >>> x = tandem.ones(2, dtype=tandem.float64, requires_grad=True)
    >>> try:
    ...     _ = tandem.autograd.gradcheck(lambda x: x * x.detach(), (x,))
    ... except GradcheckError as error:
    ...     print(str(error).splitlines()[0])
    Jacobian mismatch for output 0 with respect to input 0,
    """


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare gradients of `func` with central differences (f(x + eps) - f(x - eps)) / (2 eps).

    Each derivative has to be within atol + rtol * |numerical|.

    Args:
        func: takes tensors, returns a tensor or several.
        inputs: its arguments; those that require grad, best in float64, are moved by `eps` element by element.
        raise_exception: raise GradcheckError saying where they differ, or else return False.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: whether a backward has to bear that nobody gave gradients of the outputs, or of one.
        check_grad_dtypes: whether a gradient must have the dtype of its input.
        fast_mode: move all elements at once, along one random direction.
        check_backward_ad: whether to compare what backward passes give.
        check_forward_ad: whether to compare the tangents of `forward_ad`, too.
        check_batched_grad: whether a backward of all cotangents at once has to give what one of each gives.
        check_batched_forward_grad: whether all tangents at once, by `vmap`, have to give what one of each gives.
        masked: accepted for PyTorch's sake.

    A backward has to give zeros for cotangents of zeros, and an output without derivative must not change.

    Raises:
        ValueError: no input requires grad.
        AssertionError: neither kind of derivative is to be checked, batches of one that is not checked are, or the
            shape or dtype of an output depends on values.

    Example:
        >>> import tandem
        >>> x = tandem.rand(3, dtype=tandem.float64, requires_grad=True)
        >>> tandem.autograd.gradcheck(lambda x: tandem.tanh(x) * x, (x,))
        True
    """
    for asked, done, kind, needed in (
        (check_batched_grad, check_backward_ad, "grad", "backward"),
        (check_batched_forward_grad, check_forward_ad, "forward_grad", "forward"),
    ):
        if asked and not done:
            raise AssertionError(f"Setting check_batched_{kind}=True requires check_{needed}_ad to be True")
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check_inputs(args)
        if not _outputs(func, args):
            _check_constant(func, args, eps)
            return True
        if check_backward_ad:
            _check(func, args, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode)
        for place in _places(args):
            for number in range(len(_outputs(func, args))):
                if check_forward_ad:
                    numerical = _differences(func, args, place, number, eps)
                    tangents = _tangents(func, args, place, number)
                    _compare(numerical, tangents, place, number, atol, rtol, "computed with forward mode ")
                    if check_batched_forward_grad:
                        _check_batched_tangents(func, args, place, number, tangents)
                if check_batched_grad:
                    _check_batched(func, args, place, number)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients of `func`, as a function of the inputs and of the outputs' gradients.

    Args:
        func, inputs: those of `gradcheck`.
        grad_outputs: cotangents of the outputs, among the inputs where they require grad; random if not given.
        gen_non_contig_grad_outputs: make the random ones not contiguous.
        check_fwd_over_rev, check_rev_over_rev: whether to take derivatives of the gradients forward, and backward.
        masked: accepted for PyTorch's sake.

    The other arguments, the result and the errors are those of `gradcheck`.

    Example:
        >>> import tandem
        >>> x = tandem.rand(3, dtype=tandem.float64, requires_grad=True)
        >>> tandem.autograd.gradgradcheck(lambda x: tandem.tanh(x) * x, (x,))
        True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        outputs = _outputs(func, args)
        cotangents = [tandem.randn(list(y.shape), dtype=y.dtype, device=y.device) for y in outputs]
        if gen_non_contig_grad_outputs:
            cotangents = [tandem.stack([g, g], -1)[..., 0] for g in cotangents]
        cotangents = [g.detach().requires_grad_() for g in cotangents]
    else:
        cotangents = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    count = len(args)

    def gradients(*all_args: Any) -> tuple[Tensor, ...]:
        values, seeds = all_args[:count], all_args[count:]
        wanted = [a for a in values if isinstance(a, Tensor) and a.requires_grad]
        outputs = _outputs(func, values)
        grads = tandem.autograd.grad(outputs, wanted, seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradients,
        (*args, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _results(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    """The results of `func` that have a floating dtype."""
    result = func(*args)
    results = [result] if isinstance(result, Tensor) else list(result)
    return [y for y in results if isinstance(y, Tensor) and y.is_floating_point()]


def _outputs(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    """The results of `func` that are differentiable."""
    return [y for y in _results(func, args) if y.requires_grad]


def _places(args: Sequence[Any]) -> list[int]:
    """Where the inputs are whose derivatives are asked for."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return places


def _check_inputs(args: tuple[Any, ...]) -> None:
    for place in _places(args):
        if args[place].dtype != tandem.float64:
            import warnings

            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point: differences of "
                f"{args[place].dtype} are too coarse for the default tolerances",
                stacklevel=3,
            )


def _check_constant(func: Callable[..., Any], args: tuple[Any, ...], eps: float) -> None:
    """Where no output requires a gradient, none may change with the inputs."""
    for number in range(len(_results(func, args))):
        for place in _places(args):
            if _largest(_differences(func, args, place, number, eps, of=_results)) > 0:
                raise GradcheckError(
                    f"Numerical gradient for function expected to be zero: output {number} requires no gradient and "
                    f"changes with input {place}"
                )


def _check(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_undefined: bool,
    check_dtypes: bool,
    fast: bool,
) -> None:
    places = _places(args)
    outputs = _outputs(func, args)
    wanted = [args[i] for i in places]
    for number in range(len(outputs)):
        if fast:
            _check_direction(func, args, places, number, eps, atol, rtol, nondet_tol)
            continue
        analytic = _jacobian(func, args, wanted, number, check_dtypes)
        again = _jacobian(func, args, wanted, number, False)
        for which, place in enumerate(places):
            numerical = _differences(func, args, place, number, eps)
            _compare(numerical, analytic[which], place, number, atol, rtol)
            _check_same(analytic[which], again[which], place, number, nondet_tol)
    _check_zero_cotangents(func, args, places)
    if check_undefined:
        _check_missing_cotangents(func, args, places)


def _check_same(first: Tensor, second: Tensor, place: int, number: int, nondet_tol: float) -> None:
    spread = _largest(first - second)
    if spread > nondet_tol:
        raise GradcheckError(
            f"Backward is not reentrant: two passes for input {place} and output {number} differ by {spread}"
        )


def _jacobian(
    func: Callable[..., Any], args: tuple[Any, ...], wanted: list[Tensor], number: int, check_dtypes: bool
) -> list[Tensor]:
    """For each wanted input a matrix [input elements, output elements], by one backward pass an output element."""
    output = _outputs(func, args)[number]
    count = output.numel()
    columns: list[list[Tensor]] = [[] for _ in wanted]
    for i in range(count):
        seed = tandem.zeros(count, dtype=output.dtype, device=output.device)
        seed[i] = 1.0
        grads = tandem.autograd.grad(
            [output], wanted, [seed.reshape(list(output.shape))], retain_graph=True, allow_unused=True
        )
        for which, (x, g) in enumerate(zip(wanted, grads, strict=True)):
            if g is None:
                g = tandem.zeros_like(x)
            elif list(g.shape) != list(x.shape):
                raise GradcheckError(f"grad has shape {list(g.shape)} for an input of shape {list(x.shape)}")
            elif check_dtypes and g.dtype != x.dtype:
                raise GradcheckError(f"grad has dtype {g.dtype} for an input of dtype {x.dtype}")
            columns[which].append(g.detach().reshape(-1))
    return [
        tandem.stack(column, 1) if column else tandem.zeros([x.numel(), 0], dtype=x.dtype, device=x.device)
        for x, column in zip(wanted, columns, strict=True)
    ]


def _output_at(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    place: int,
    value: Tensor,
    number: int,
    of: Callable[..., list[Tensor]] = _outputs,
) -> Tensor:
    """An output where an input has another value. It is moved in place: `func` may see it through a closure, too."""
    given = [a.clone() if isinstance(a, Tensor) and not a.requires_grad else a for a in args]
    x = args[place].detach()
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        given[place] = value.requires_grad_()
        return of(func, given)[number].detach().clone()
    before = x.clone()
    x.copy_(value)
    try:
        return of(func, given)[number].detach().clone()
    finally:
        x.copy_(before)


def _difference(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    place: int,
    step: Tensor,
    number: int,
    eps: float,
    of: Callable[..., list[Tensor]] = _outputs,
) -> Tensor:
    """The derivative of an output along `step`, whose length is `eps`, by a central difference."""
    x = args[place].detach()
    high = _output_at(func, args, place, x + step, number, of)
    low = _output_at(func, args, place, x - step, number, of)
    for what in ("shape", "dtype"):
        one, other = getattr(high, what), getattr(low, what)
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but got "
                f"{one} and {other} for output {number} and input {place}"
            )
    return (high - low) / (2 * eps)


def _differences(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    place: int,
    number: int,
    eps: float,
    of: Callable[..., list[Tensor]] = _outputs,
) -> Tensor:
    """The matrix [input elements, output elements] by central differences."""
    x = args[place].detach()
    rows = []
    for i in range(x.numel()):
        step = tandem.zeros(x.numel(), dtype=x.dtype, device=x.device)
        step[i] = eps
        rows.append(_difference(func, args, place, step.reshape(list(x.shape)), number, eps, of).reshape(-1))
    count = of(func, args)[number].numel()
    return tandem.stack(rows, 0) if rows else tandem.zeros([0, count], dtype=x.dtype, device=x.device)


def _tangents(func: Callable[..., Any], args: tuple[Any, ...], place: int, number: int) -> Tensor:
    """The matrix [input elements, output elements] by one forward derivative an input element."""
    x = args[place]
    rows = []
    for i in range(x.numel()):
        step = tandem.zeros(x.numel(), dtype=x.dtype, device=x.device)
        step[i] = 1.0
        given = list(args)
        with forward_ad.dual_level():
            given[place] = forward_ad.make_dual(x, step.reshape(list(x.shape)))
            primal, tangent = forward_ad.unpack_dual(_outputs(func, given)[number])
        rows.append((tandem.zeros_like(primal) if tangent is None else tangent).detach().reshape(-1))
    count = _outputs(func, args)[number].numel()
    return tandem.stack(rows, 0) if rows else tandem.zeros([0, count], dtype=x.dtype, device=x.device)


def _check_batched(func: Callable[..., Any], args: tuple[Any, ...], place: int, number: int) -> None:
    output = _outputs(func, args)[number]
    count = output.numel()
    if count == 0:
        return
    # A few suffice; one for each element would be a square of the output.
    generator = tandem.Generator()
    generator.manual_seed(0)
    seeds = tandem.stack([_unit(output, generator) for _ in range(min(count, 10))])
    one = [
        tandem.autograd.grad([output], [args[place]], [seed], retain_graph=True, allow_unused=True)[0] for seed in seeds
    ]
    failed = (
        f"gradcheck or gradgradcheck failed while testing batched gradient of output {number} with respect to input "
        f"{place}"
    )
    try:
        (all_of,) = tandem.autograd.grad([output], [args[place]], [seeds], allow_unused=True, is_grads_batched=True)
    except RuntimeError as exc:
        raise GradcheckError(f"{failed}: {exc}") from exc
    expected = None if one[0] is None else tandem.stack([g for g in one if g is not None])
    if (expected is None) != (all_of is None):
        raise GradcheckError(f"{failed}: it is missing")
    if expected is not None and all_of is not None and not tandem.allclose(all_of, expected):
        raise GradcheckError(
            f"{failed}: it differs from those of one cotangent each,\nbatched:{all_of}\neach:{expected}\n"
        )


def _check_batched_tangents(
    func: Callable[..., Any], args: tuple[Any, ...], place: int, number: int, expected: Tensor
) -> None:
    x = args[place].detach()
    if x.numel() == 0:
        return

    def push(step: Tensor) -> Tensor:
        given = list(args)
        with forward_ad.dual_level():
            given[place] = forward_ad.make_dual(x, step)
            primal, tangent = forward_ad.unpack_dual(_outputs(func, given)[number])
        return tandem.zeros_like(primal) if tangent is None else tangent

    steps = tandem.eye(x.numel(), dtype=x.dtype, device=x.device).reshape([x.numel(), *x.shape])
    failed = f"gradcheck failed while testing batched tangents of output {number} with respect to input {place}"
    try:
        all_of = tandem.vmap(push)(steps).detach().reshape(x.numel(), -1)
    except RuntimeError as exc:
        raise GradcheckError(f"{failed}: {exc}") from exc
    if not tandem.allclose(all_of, expected):
        raise GradcheckError(
            f"{failed}: they differ from those of one tangent each,\nbatched:{all_of}\neach:{expected}\n"
        )


def _largest(x: Tensor) -> float:
    return float(tandem.abs(x).max().item()) if x.numel() else 0.0


def _compare(
    numerical: Tensor, analytic: Tensor, place: int, number: int, atol: float, rtol: float, how: str = ""
) -> None:
    analytic = analytic.to(numerical.dtype)
    if not bool(tandem.isclose(analytic, numerical, rtol=rtol, atol=atol).all().item()):
        raise GradcheckError(
            f"Jacobian {how}mismatch for output {number} with respect to input {place},\nnumerical:{numerical}\n"
            f"analytical:{analytic}\n"
        )


def _check_direction(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    places: list[int],
    number: int,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    """One directional derivative an input against u · J · v, with random u and v of length 1.

    `atol` is what each element of J may be off by: u · J · v by that times the elements of u and v.
    """
    generator = tandem.Generator()  # of its own: `func` draws what it would draw without the check
    generator.manual_seed(0)
    output = _outputs(func, args)[number]
    seed = _unit(output, generator)
    wanted = [args[i] for i in places]
    grads = tandem.autograd.grad([output], wanted, [seed], allow_unused=True, retain_graph=True)
    again = tandem.autograd.grad([output], wanted, [seed], allow_unused=True)
    for place, grad, second in zip(places, grads, again, strict=True):
        direction = _unit(args[place].detach(), generator)
        numerical = (_difference(func, args, place, direction * eps, number, eps) * seed).sum()
        analytic = tandem.zeros_like(numerical) if grad is None else (grad.detach() * direction).sum()
        if grad is not None and second is not None:
            _check_same(grad.detach(), second.detach(), place, number, nondet_tol)
        allowed = atol * float(seed.abs().sum().item()) * float(direction.abs().sum().item())
        _compare(numerical.reshape(1), analytic.reshape(1), place, number, allowed, rtol)


def _unit(like: Tensor, generator: tandem.Generator) -> Tensor:
    v = tandem.randn(list(like.shape), dtype=like.dtype, generator=generator).to(like.device)
    return v / tandem.sqrt((v * v).sum()).clamp(min=1e-30)


class _Undefined(Function):
    """The input, whose gradient nobody gives."""

    _plain_in_transforms = True

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        return None


def _check_zero_cotangents(func: Callable[..., Any], args: tuple[Any, ...], places: list[int]) -> None:
    """Gradients are multiples of the cotangents: zero where those are."""
    _check_zeros(_outputs(func, args), args, places, "backward not multiplied by grad_output")


def _check_missing_cotangents(func: Callable[..., Any], args: tuple[Any, ...], places: list[int]) -> None:
    """A backward pass works without the cotangents of all outputs, and of each of several."""
    count = len(_outputs(func, args))
    for without in [range(count), *([[i] for i in range(count)] if count > 1 else [])]:
        given = [_Undefined.apply(y) if i in without else y for i, y in enumerate(_outputs(func, args))]
        try:
            _check_zeros(given, args, places, "Expected all input grads to be zero when all output grads are undefined")
        except GradcheckError:
            raise
        except RuntimeError as exc:
            raise GradcheckError(f"Expected backward function to handle undefined output grads: {exc}") from exc


def _check_zeros(outputs: list[Tensor], args: tuple[Any, ...], places: list[int], otherwise: str) -> None:
    seeds = [tandem.zeros_like(y.detach()) for y in outputs]
    grads = tandem.autograd.grad(outputs, [args[i] for i in places], seeds, allow_unused=True)
    for place, g in zip(places, grads, strict=True):
        if g is not None and not bool((g == 0).all().item()):
            raise GradcheckError(f"{otherwise}: the gradient of input {place} is {g.detach()}")
