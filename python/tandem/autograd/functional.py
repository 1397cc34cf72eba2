"""Derivatives of a function at a point, for functions of tensors: products with vectors, Jacobians, Hessians.

All take `func`, which takes tensors and returns a tensor or a tuple of them, and `inputs`, a tensor or a tuple of them.
`create_graph=True` gives results that can be differentiated again; `strict=True` makes an output that does not depend
on an input an error, instead of zeros, and with `create_graph=True` a result that does not depend on the inputs.
`tandem.func` offers the same for nested containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar, overload

from tandem import _C
from tandem._C import Tensor
from tandem.autograd.grad_mode import enable_grad, no_grad
from tandem.func._transforms import _over_basis

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

#: A tensor, or several.
Tensors: TypeAlias = Tensor | tuple[Tensor, ...]
T = TypeVar("T", Tensor, tuple[Tensor, ...])
R = TypeVar("R")


def _tuple(value: Any, what: str, api: str) -> tuple[bool, tuple[Any, ...]]:
    """(was it a tuple, as a tuple of tensors)."""
    is_tuple = isinstance(value, tuple)
    values = value if is_tuple else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, _C.Tensor):
            where = f"value at index {i}" if is_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {api} must be either a Tensor or a tuple of Tensors but the {where} has type "
                f"{type(v)}."
            )
    return is_tuple, values


def _check_vector(v: tuple[Any, ...], like: tuple[Any, ...], is_tuple: bool) -> None:
    if len(v) != len(like):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            where = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(f"{where}v has invalid size: should be {b.shape} but got {a.shape}.")


class _Call:
    """`func` at a point, as `_C._vjp` and `_C._linearize` want it."""

    def __init__(self, func: Callable[..., Any], api: str, strict: bool):
        self.func, self.api, self.strict = func, api, strict
        self.is_tuple = False

    def __call__(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.is_tuple, outputs = _tuple(self.func(*inputs), "outputs of the user-provided function", self.api)
        if self.strict:
            _check_depends(inputs, outputs, self.api)
        return outputs


def _check_depends(inputs: tuple[Any, ...], outputs: tuple[Any, ...], api: str) -> None:
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                f"a differentiable manner from the input when running in strict mode."
            )
        if api == "hessian":
            continue  # which asks the gradient
        ones = _C.ones(y.shape, dtype=y.dtype, device=y.device)
        for k, g in enumerate(_C._grad((y,), inputs, (ones,), retain_graph=True, allow_unused=True)):
            if g is None:
                output = f"Output {i}" if api == "jacobian" else "The output"
                raise RuntimeError(
                    f"{output} of the user-provided function is independent of input {k}. This is not allowed in "
                    f"strict mode."
                )


def _check_results(results: Iterable[Any], what: str, call: _Call, create_graph: bool) -> None:
    """In strict mode, what can be differentiated again has to depend on the inputs."""
    for i, value in enumerate(results if call.strict and create_graph else ()):
        if not value.requires_grad:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict "
                f"mode when create_graph=True."
            )


def _points(xs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """The inputs; with `create_graph` the results have a history also where the caller's inputs require no gradient.

    Without it they are constants, of which a transform of `func` around this call would not know.
    """
    if not create_graph:
        if _C._in_transform():
            raise RuntimeError(
                "autograd.functional inside of a function being transformed by tandem.func needs create_graph=True, or "
                "the transform would take its results for constants. Use the transforms of tandem.func instead."
            )
        return xs
    return tuple(x if x.requires_grad else x.detach().requires_grad_() for x in xs)


def _mode(create_graph: bool) -> Any:
    return enable_grad() if create_graph else no_grad()


def _finish(values: Any, create_graph: bool) -> tuple[Any, ...]:
    return tuple(values) if create_graph else tuple(v.detach() for v in values)


def _one_or_all(values: Any, is_tuple: bool) -> Any:
    return tuple(values) if is_tuple else values[0]


def _vector(v: Any, like: Any, is_tuple: bool, api: str, what: str) -> tuple[Any, ...]:
    if v is not None:
        _, vs = _tuple(v, "v", api)
        _check_vector(vs, like, is_tuple)
        return vs
    if len(like) != 1 or like[0].numel() != 1:
        raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
    return (_C.ones(like[0].shape, dtype=like[0].dtype, device=like[0].device),)


def vjp(
    func: Callable[..., R], inputs: T, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[R, T]:
    """(`func(*inputs)`, v times the Jacobian).

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: of the shapes of the outputs; None for one output of one element.
        create_graph: the results can be differentiated again.
        strict: an output that does not depend on an input is a RuntimeError, instead of zeros.

    TypeError where something else than tensors is given or returned, RuntimeError for a `v` that does not fit.

    >>> import tandem
    >>> tandem.autograd.functional.vjp(tandem.exp, tandem.zeros(2), tandem.ones(2))
    (tensor([1., 1.]), tensor([1., 1.]))
    """
    is_tuple, xs = _tuple(inputs, "inputs", "vjp")
    call = _Call(func, "vjp", strict)
    with _mode(create_graph):
        outputs, pullback = _C._vjp(call, _points(xs, create_graph))
        vs = _vector(v, outputs, call.is_tuple, "vjp", "user-provided function returns")
        grads = _C._call_linear(pullback, vs)
    _check_results(grads, "jacobian", call, create_graph)
    ys = _finish(outputs, create_graph)
    return _one_or_all(ys, call.is_tuple), _one_or_all(_finish(grads, create_graph), is_tuple)


def jvp(
    func: Callable[..., R], inputs: T, v: T | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[R, R]:
    """(`func(*inputs)`, the Jacobian times v): `v` has the shapes of the inputs, and may be None for one element.

    `create_graph`, `strict` and the errors are those of `vjp`.

    >>> import tandem
    >>> tandem.autograd.functional.jvp(tandem.square, tandem.tensor([3.0]), tandem.tensor([2.0]))
    (tensor([9.]), tensor([12.]))
    """
    is_tuple, xs = _tuple(inputs, "inputs", "jvp")
    vs = _vector(v, xs, is_tuple, "jvp", "input to the user-provided function is")
    call = _Call(func, "jvp", strict)
    with _mode(create_graph):
        outputs, pushforward = _C._linearize(call, _points(xs, create_graph))
        moved = _C._call_linear(pushforward, vs)
    _check_results(moved, "jacobian", call, create_graph)
    ys = _finish(outputs, create_graph)
    return _one_or_all(ys, call.is_tuple), _one_or_all(_finish(moved, create_graph), call.is_tuple)


@overload
def jacobian(
    func: Callable[..., Tensor],
    inputs: Tensor,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tensor: ...
@overload
def jacobian(
    func: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> tuple[Tensor, ...]: ...
@overload
def jacobian(
    func: Callable[..., tuple[Tensor, ...]],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> tuple[Any, ...]: ...
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`: for an output of shape O and an input of shape I, a tensor of shape O + I.

    A tuple for several inputs, a tuple of those for several outputs.

    Args:
        func, inputs, create_graph, strict: those of `vjp`.
        vectorize: accepted, except with `strict`; all rows are computed at once in any case.
        strategy: "reverse-mode", by rows, or "forward-mode", by columns, for more outputs than inputs.

    >>> import tandem
    >>> tandem.autograd.functional.jacobian(tandem.square, tandem.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strict and (vectorize or strategy == "forward-mode"):
        option, default = ("vectorize=True", "vectorize=False")
        if strategy == "forward-mode":
            option, default = 'strategy="forward-mode"', 'strategy="reverse-mode"'
        raise RuntimeError(
            f"torch.autograd.functional.jacobian: `strict=True` and `{option}` are not supported together. Please "
            f"either set `strict=False` or `{default}`."
        )
    is_tuple, xs = _tuple(inputs, "inputs", "jacobian")
    call = _Call(func, "jacobian", strict)
    with _mode(create_graph):
        points = _points(xs, create_graph)
        blocks = _blocks_by_columns(call, points) if strategy == "forward-mode" else _blocks_by_rows(call, points)
    for row in blocks:
        _check_results(row, "jacobian", call, create_graph)
    rows = [_one_or_all(_finish(row, create_graph), is_tuple) for row in blocks]
    return _one_or_all(rows, call.is_tuple)


def _blocks_by_rows(call: _Call, xs: tuple[Any, ...]) -> list[list[Any]]:
    outputs, pullback = _C._vjp(call, xs)
    rows = _over_basis(lambda *c: _C._call_linear(pullback, c), list(outputs), None)
    blocks, start = [], 0
    for y in outputs:
        n = y.numel()
        blocks.append([r.narrow(0, start, n).reshape((*y.shape, *x.shape)) for r, x in zip(rows, xs)])
        start += n
    return blocks


def _blocks_by_columns(call: _Call, xs: tuple[Any, ...]) -> list[list[Any]]:
    outputs, pushforward = _C._linearize(call, xs)
    columns = _over_basis(lambda *t: _C._call_linear(pushforward, t), list(xs), None)
    blocks = []
    for y, column in zip(outputs, columns):
        block, start = [], 0
        for x in xs:
            n = x.numel()
            block.append(column.narrow(0, start, n).movedim(0, -1).reshape((*y.shape, *x.shape)))
            start += n
        blocks.append(block)
    return blocks


def _construct_standard_basis_for(tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]) -> tuple[Tensor, ...]:
    """The identity matrix of all elements, cut into the columns of each tensor, in its dtype; packages import it."""
    if len(tensors) != len(tensor_numels):
        raise AssertionError(
            "Expected tensors and tensor_numels to have the same length, but got "
            f"{len(tensors)} and {len(tensor_numels)}"
        )
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total, start, chunks = sum(tensor_numels), 0, []
    for tensor, n in zip(tensors, tensor_numels):
        chunks.append(tensor.new_zeros(total, n))
        chunks[-1].diagonal(start).fill_(1)
        start -= n
    return tuple(chunks)


def _gradient(func: Callable[..., Any], api: str, strict: bool) -> Callable[..., Any]:
    """The gradient of a function with one 0-d (or one-element) output, as a function of several tensors."""

    def gradient(*xs: Any) -> Any:
        def single(points: tuple[Any, ...]) -> Any:
            is_tuple, out = _tuple(func(*points), "outputs of the user-provided function", api)
            if is_tuple or out[0].numel() != 1:
                raise RuntimeError(
                    f"The function given to {api} should return a single Tensor"
                    if is_tuple
                    else f"The Tensor returned by the function given to {api} should contain a single element"
                )
            if strict:
                _check_depends(points, out, api)
            return (out[0].reshape(()),)

        outputs, pullback = _C._vjp(single, xs)
        ones = _C.ones(outputs[0].shape, dtype=outputs[0].dtype, device=outputs[0].device)
        grads = tuple(_C._call_linear(pullback, (ones,)))
        for i, grad in enumerate(grads if strict else ()):
            if not grad.requires_grad:
                raise RuntimeError(
                    f"While computing the hessian, found that the jacobian of the user-provided function with respect "
                    f"to input {i} is independent of the input. This is not allowed in strict mode. You should ensure "
                    f"that your function is at least twice differentiable with respect to it."
                )
        return grads

    return gradient


@overload
def hessian(
    func: Callable[..., Tensor],
    inputs: Tensor,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensor: ...
@overload
def hessian(
    func: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> tuple[tuple[Tensor, ...], ...]: ...
def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a `func` whose value has one element.

    A tensor of shape I + I for one input of shape I, a tuple of tuples for several.

    Args:
        func, inputs, create_graph, strict: those of `vjp`.
        vectorize: accepted, except with `strict`; all rows are computed at once in any case.
        outer_jacobian_strategy: how the Jacobian of the gradient is computed; see `jacobian`.

    >>> import tandem
    >>> tandem.autograd.functional.hessian(lambda x: (x ** 3).sum(), tandem.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, xs = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    gradient = _gradient(func, "hessian", strict)
    blocks = jacobian(gradient, xs, create_graph, strict, strict and vectorize, outer_jacobian_strategy)
    return blocks if is_tuple else blocks[0][0]


def _second(func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool, api: str, forward: bool) -> Any:
    is_tuple, xs = _tuple(inputs, "inputs", api)
    vs = _vector(v, xs, is_tuple, api, "input to the user-provided function is")
    values: list[Any] = []

    def watched(*points: Any) -> Any:
        out = func(*points)
        values.append(out)
        return out

    call = _Call(_gradient(watched, api, strict), api, strict)
    with _mode(create_graph):
        points = _points(xs, create_graph)
        _, linear = (_C._linearize if forward else _C._vjp)(call, points)
        moved = _C._call_linear(linear, vs)
        value = values[0] if not create_graph else func(*points)
    _check_results(moved, "hessian", call, create_graph)
    return value if create_graph else value.detach(), _one_or_all(_finish(moved, create_graph), is_tuple)


def hvp(
    func: Callable[..., Tensor], inputs: T, v: T | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, T]:
    """(`func(*inputs)`, the Hessian times v), for a `func` whose value has one element.

    `v` has the shapes of the inputs; `create_graph`, `strict` and the errors are those of `vjp`.

    >>> import tandem
    >>> tandem.autograd.functional.hvp(lambda x: (x ** 3).sum(), tandem.tensor([1.0, 2.0]), tandem.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _second(func, inputs, v, create_graph, strict, "hvp", True)


def vhp(
    func: Callable[..., Tensor], inputs: T, v: T | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, T]:
    """(`func(*inputs)`, v times the Hessian), for a `func` whose value has one element; cheaper than `hvp`.

    `v` has the shapes of the inputs; `create_graph`, `strict` and the errors are those of `vjp`.

    >>> import tandem
    >>> tandem.autograd.functional.vhp(lambda x: (x ** 3).sum(), tandem.tensor([1.0, 2.0]), tandem.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _second(func, inputs, v, create_graph, strict, "vhp", False)
