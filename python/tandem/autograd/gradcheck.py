"""`gradcheck` and `gradgradcheck`: analytic derivatives against central differences, best in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.autograd import forward_ad

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
        check_undefined_grad: whether a backward has to bear outputs whose gradients nobody gave.
        check_grad_dtypes: whether a gradient must have the dtype of its input.
        fast_mode: move all elements at once, along one random direction.
        check_backward_ad: whether to compare what backward passes give.
        check_forward_ad: whether to compare the tangents of `forward_ad`, too.
        check_batched_grad: whether a backward of all cotangents at once has to give what one of each gives.
        check_batched_forward_grad: must be False.
        masked: accepted for PyTorch's sake.

    ValueError if no input requires grad, and for `check_batched_forward_grad`.

    Example:
        >>> import tandem
        >>> x = tandem.rand(3, dtype=tandem.float64, requires_grad=True)
        >>> tandem.autograd.gradcheck(lambda x: tandem.tanh(x) * x, (x,))
        True
    """
    if check_batched_forward_grad:
        raise ValueError("gradcheck: batched tangents cannot be checked")
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        if check_backward_ad:
            _check(func, args, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode)
        for place in _places(args):
            for number in range(len(_outputs(func, args))):
                if check_forward_ad:
                    numerical = _differences(func, args, place, number, eps)
                    _compare(numerical, _tangents(func, args, place, number), place, number, atol, rtol)
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
        grad_outputs: cotangents of the outputs; random if not given.
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
        given = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
        cotangents = [g.detach().requires_grad_() if not g.requires_grad else g for g in given]
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


def _outputs(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    """The results of `func` that are differentiable."""
    result = func(*args)
    results = [result] if isinstance(result, Tensor) else list(result)
    return [y for y in results if isinstance(y, Tensor) and y.is_floating_point() and y.requires_grad]


def _places(args: Sequence[Any]) -> list[int]:
    """Where the inputs are whose derivatives are asked for."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return places


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
    for place in places:
        if args[place].dtype != tandem.float64:
            import warnings

            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point: differences of "
                f"{args[place].dtype} are too coarse for the default tolerances",
                stacklevel=4,
            )
    outputs = _outputs(func, args)
    if not outputs:
        raise GradcheckError("gradcheck: no output of the function requires a gradient")
    wanted = [args[i] for i in places]
    if check_undefined:
        _check_missing_cotangents(func, args, wanted)
    for number in range(len(outputs)):
        if fast:
            _check_direction(func, args, places, number, eps, atol, rtol)
            continue
        analytic = _jacobian(func, args, wanted, number, check_dtypes)
        again = _jacobian(func, args, wanted, number, False)
        for which, place in enumerate(places):
            spread = _largest(analytic[which] - again[which])
            if spread > nondet_tol:
                raise GradcheckError(
                    f"Backward is not reentrant: two passes for input {place} and output {number} differ by {spread}"
                )
            numerical = _differences(func, args, place, number, eps)
            _compare(numerical, analytic[which], place, number, atol, rtol)


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


def _output_at(func: Callable[..., Any], args: tuple[Any, ...], place: int, value: Tensor, number: int) -> Tensor:
    """An output where an input has another value. It is moved in place: `func` may see it through a closure, too."""
    given = [a.clone() if isinstance(a, Tensor) and not a.requires_grad else a for a in args]
    x = args[place].detach()
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        given[place] = value.requires_grad_()
        return _outputs(func, given)[number].detach().clone()
    before = x.clone()
    x.copy_(value)
    try:
        return _outputs(func, given)[number].detach().clone()
    finally:
        x.copy_(before)


def _differences(func: Callable[..., Any], args: tuple[Any, ...], place: int, number: int, eps: float) -> Tensor:
    """The matrix [input elements, output elements] by central differences."""
    x = args[place].detach()
    rows = []
    for i in range(x.numel()):
        step = tandem.zeros(x.numel(), dtype=x.dtype, device=x.device)
        step[i] = eps
        step = step.reshape(list(x.shape))
        high = _output_at(func, args, place, x + step, number)
        low = _output_at(func, args, place, x - step, number)
        rows.append((high - low).reshape(-1) / (2 * eps))
    count = _outputs(func, args)[number].numel()
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
    seeds = tandem.eye(count, dtype=output.dtype, device=output.device).reshape([count, *output.shape])
    one = [
        tandem.autograd.grad([output], [args[place]], [seed], retain_graph=True, allow_unused=True)[0] for seed in seeds
    ]
    (all_of,) = tandem.autograd.grad([output], [args[place]], [seeds], allow_unused=True, is_grads_batched=True)
    expected = None if one[0] is None else tandem.stack([g for g in one if g is not None])
    if (expected is None) != (all_of is None):
        raise GradcheckError(f"Batched gradient of output {number} with respect to input {place} is missing")
    if expected is not None and all_of is not None and not tandem.allclose(all_of, expected):
        raise GradcheckError(
            f"Batched gradients of output {number} with respect to input {place} differ from those of one cotangent "
            f"each,\nbatched:{all_of}\neach:{expected}\n"
        )


def _largest(x: Tensor) -> float:
    return float(tandem.abs(x).max().item()) if x.numel() else 0.0


def _compare(numerical: Tensor, analytic: Tensor, place: int, number: int, atol: float, rtol: float) -> None:
    analytic = analytic.to(numerical.dtype)
    if not bool(tandem.isclose(analytic, numerical, rtol=rtol, atol=atol).all().item()):
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{numerical}\n"
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
) -> None:
    """One directional derivative an input against u · J · v, with random u and v of length 1.

    `atol` is what each element of J may be off by: u · J · v by that times the elements of u and v.
    """
    generator = tandem.Generator()  # of its own: `func` draws what it would draw without the check
    generator.manual_seed(0)
    output = _outputs(func, args)[number]
    seed = _unit(output, generator)
    grads = tandem.autograd.grad([output], [args[i] for i in places], [seed], allow_unused=True)
    for place, grad in zip(places, grads, strict=True):
        x = args[place].detach()
        direction = _unit(x, generator)
        high = _output_at(func, args, place, x + direction * eps, number)
        low = _output_at(func, args, place, x - direction * eps, number)
        numerical = ((high - low) / (2 * eps) * seed).sum()
        analytic = tandem.zeros_like(numerical) if grad is None else (grad.detach() * direction).sum()
        allowed = atol * float(seed.abs().sum().item()) * float(direction.abs().sum().item())
        _compare(numerical.reshape(1), analytic.reshape(1), place, number, allowed, rtol)


def _unit(like: Tensor, generator: tandem.Generator) -> Tensor:
    v = tandem.randn(list(like.shape), dtype=like.dtype, generator=generator).to(like.device)
    return v / tandem.sqrt((v * v).sum()).clamp(min=1e-30)


def _check_missing_cotangents(func: Callable[..., Any], args: tuple[Any, ...], wanted: list[Tensor]) -> None:
    """A backward pass that reaches only some of several outputs has to work."""
    outputs = _outputs(func, args)
    for output in outputs if len(outputs) > 1 else []:
        try:
            seed = tandem.ones_like(output.detach())
            tandem.autograd.grad([output], wanted, [seed], retain_graph=True, allow_unused=True)
        except RuntimeError as exc:
            raise GradcheckError(f"backward fails when only some outputs have a gradient: {exc}") from exc
