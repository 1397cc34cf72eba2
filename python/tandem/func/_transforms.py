"""Derivatives of functions of tensors and of containers of tensors, made of `_C._vjp`, `_C._linearize` and `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from tandem import _C
from tandem.func._vmap import vmap
from tandem.utils._pytree import TreeSpec, same_structure, tree_flatten, tree_map, tree_unflatten

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]

Argnums = int | tuple[int, ...]
R = TypeVar("R")
A = TypeVar("A")


def _chosen(args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    """The places of the arguments to differentiate by."""
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    places = []
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
        places.append(n % len(args))
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(places)


class _Point:
    """Where a function is differentiated: the chosen arguments as a flat list of tensors, and how to call it there."""

    def __init__(self, api: str, func: Callable[..., Any], args: Any, kwargs: Any, argnums: Any, has_aux: bool):
        self.api, self.func, self.args, self.kwargs, self.has_aux = api, func, args, kwargs, has_aux
        self.places = _chosen(args, argnums)
        chosen = args[self.places[0]] if isinstance(argnums, int) else tuple(args[i] for i in self.places)
        self.single = isinstance(argnums, int)
        self.primals, self.spec = tree_flatten(chosen)
        for p in self.primals:
            if not isinstance(p, _C.Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(p)}")
        self.out_spec: TreeSpec | None = None
        self.aux_spec: TreeSpec | None = None
        self.num_outputs = 0

    def __call__(self, primals: Any) -> Any:
        """The function on a flat list; its outputs, then the tensors of its aux, as a flat list."""
        chosen = tree_unflatten(primals, self.spec)
        args = list(self.args)
        for place, value in zip(self.places, (chosen,) if self.single else chosen):
            args[place] = value
        out = self.func(*args, **self.kwargs)
        aux: Any = None
        if self.has_aux:
            if not (isinstance(out, tuple) and len(out) == 2):
                raise RuntimeError(
                    f"{self.api}: output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            out, aux = out
        flat, self.out_spec = tree_flatten(out)
        self.check(out, flat)
        self.num_outputs = len(flat)
        if not self.has_aux:
            return flat
        tensors, self.aux_spec = tree_flatten(aux)
        for a in tensors:
            if not isinstance(a, _C.Tensor):
                raise RuntimeError(f"{self.api}: Expected tensors, got unsupported type {type(a)} in aux")
        return flat + tensors

    def check(self, out: Any, flat: list[Any]) -> None:
        """Errors of the output."""
        for o in flat:
            if not isinstance(o, _C.Tensor):
                raise RuntimeError(f"{self.api}: expected f to return only tensors, got unsupported type {type(o)}")
        if not flat:
            raise RuntimeError(
                f"{self.api}: Expected f to be a function that has non-empty output (got output = {out})"
            )

    def split(self, outputs: Any) -> tuple[list[Any], Any]:
        """What came back of the flat call: outputs, and aux in its structure."""
        n = self.num_outputs
        aux = None if self.aux_spec is None else tree_unflatten(list(outputs[n:]), self.aux_spec)
        return list(outputs[:n]), aux


class _MovingPoint(_Point):
    """One that moves along tangents."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        for p in self.primals:
            _check_moves("primal", p)


def _check_moves(what: str, t: Any) -> None:
    if isinstance(t, _C.Tensor) and not t.is_floating_point():
        raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")


class _StrictPoint(_MovingPoint):
    """One of whose outputs each has to depend on the primals."""

    def __call__(self, primals: Any) -> Any:
        flat = super().__call__(primals)
        for y in flat[: self.num_outputs]:
            ones = (_C.ones(y.shape, dtype=y.dtype, device=y.device),)
            options = {"retain_graph": True, "allow_unused": True}
            if not y.requires_grad or all(g is None for g in _C._grad((y,), tuple(primals), ones, **options)):
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
        return flat


class _ScalarPoint(_Point):
    def check(self, out: Any, flat: list[Any]) -> None:
        if not isinstance(out, _C.Tensor):
            raise RuntimeError(f"{self.api}: Expected f(*args) to return a Tensor, got {type(out)}")
        if out.dim() != 0:
            raise RuntimeError(
                f"{self.api}: Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} dims. Maybe "
                f"you wanted to use the vjp or jacrev APIs instead?"
            )


@overload
def grad_and_value(
    func: Callable[..., R], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Callable[..., tuple[Any, R]]: ...
@overload
def grad_and_value(
    func: Callable[..., tuple[R, A]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Callable[..., tuple[Any, tuple[R, A]]]: ...
@overload
def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]: ...
def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives (gradient, value) of a `func` whose value is a 0-d tensor.

    Args:
        func: takes tensors, or containers of tensors; with `has_aux` it returns (value, aux).
        argnums: the argument to differentiate by, or a tuple of them; the gradient has its structure.
        has_aux: the result is (gradient, (value, aux)).

    >>> import tandem
    >>> tandem.func.grad_and_value(lambda x: x * x)(tandem.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        point = _ScalarPoint("grad_and_value(f)(*args)", func, args, kwargs, argnums, has_aux)
        outputs, pullback = _C._vjp(point, point.primals, True)
        (value,), aux = point.split(outputs)
        grads = _C._call_linear(pullback, (_C.ones(value.shape, dtype=value.dtype, device=value.device),))
        return tree_unflatten(grads, point.spec), (value, aux) if has_aux else value

    return wrapped


@overload
def value_and_grad(
    func: Callable[..., R], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Callable[..., tuple[R, Any]]: ...
@overload
def value_and_grad(
    func: Callable[..., tuple[R, A]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Callable[..., tuple[tuple[R, A], Any]]: ...
@overload
def value_and_grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]: ...
def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives (value, gradient) of a `func` whose value is a 0-d tensor.

    Args:
        func: takes tensors, or containers of tensors; with `has_aux` it returns (value, aux).
        argnums: the argument to differentiate by, or a tuple of them; the gradient has its structure.
        has_aux: the result is ((value, aux), gradient).

    >>> import tandem
    >>> tandem.func.value_and_grad(lambda x: x * x)(tandem.tensor(3.0))
    (tensor(9.), tensor(6.))
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return wrapped


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a `func` whose value is a 0-d tensor, as a function of the same arguments.

    Args:
        func: takes tensors, or containers of tensors; with `has_aux` it returns (value, aux).
        argnums: the argument to differentiate by, or a tuple of them; the gradient has its structure.
        has_aux: the result is (gradient, aux).

    It nests: `grad(grad(f))` is the second derivative, `vmap(grad(f))` the gradient for each example.

    >>> import tandem
    >>> tandem.func.grad(tandem.func.grad(tandem.sin))(tandem.tensor(0.0)).item()
    -0.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _check_floating(outputs: list[Any]) -> None:
    for y in outputs:
        if not y.is_floating_point():
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{y.dtype}"
            )


def _ones_of_scalar(output: Any) -> Any:
    """What stands for a cotangent of None, as in `backward`."""
    if output.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return _C.ones(output.shape, dtype=output.dtype, device=output.device)


@overload
def vjp(
    func: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    func: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., tuple[Any, ...]], A]: ...
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`func(*primals)`, and the function from cotangents of its outputs to a tuple of cotangents of `primals`.

    With `has_aux` `func` returns (output, aux), and the result is (output, vjp_fn, aux).

    >>> import tandem
    >>> y, pull = tandem.func.vjp(tandem.exp, tandem.zeros(2))
    >>> pull(tandem.ones(2))
    (tensor([1., 1.]),)
    """
    point = _Point("vjp(f, *primals)", func, primals, {}, tuple(range(len(primals))), has_aux)
    outputs, pullback = _C._vjp(point, point.primals, True)
    values, aux = point.split(outputs)
    spec = point.out_spec
    assert spec is not None
    _check_floating(values)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, given = tree_flatten(cotangents)
        if not same_structure(given, spec):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given}, primal output: {spec}"
            )
        filled = [_ones_of_scalar(v) if g is None else g for g, v in zip(flat, values)]
        return tree_unflatten(_C._call_linear(pullback, filled), point.spec)

    output = tree_unflatten(values, spec)
    return (output, vjp_fn, aux) if has_aux else (output, vjp_fn)


_JVP = "jvp(f, primals, tangents)"


def _check_tuple(what: str, elements: list[Any]) -> None:
    if not elements:
        raise RuntimeError(f"{_JVP}: Expected {what} to contain at least one Tensor.")
    for e in elements:
        if not isinstance(e, _C.Tensor):
            raise RuntimeError(f"{_JVP}: Expected {what} to only contain Tensors, got {type(e)}")


@overload
def jvp(
    func: Callable[..., R], primals: Any, tangents: Any, *, strict: bool = False, has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    func: Callable[..., tuple[R, A]], primals: Any, tangents: Any, *, strict: bool = False, has_aux: Literal[True]
) -> tuple[R, R, A]: ...
def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(`func(*primals)`, its tangent when the primals move along `tangents`).

    `primals` and `tangents` are tuples of one structure. With `has_aux` `func` returns (output, aux), and the result
    is (output, tangent, aux). With `strict` an output that does not depend on the primals is a RuntimeError.

    >>> import tandem
    >>> tandem.func.jvp(tandem.square, (tandem.tensor(3.0),), (tandem.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    _check_tuple("primals", tree_flatten(primals)[0])
    kind = _StrictPoint if strict else _MovingPoint
    point = kind(_JVP, func, primals, {}, tuple(range(len(primals))), has_aux)
    flat, spec = tree_flatten(tangents)
    if not same_structure(spec, point.spec):
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {tree_flatten(primals)[1]} and "
            f"tangents with structure {spec}"
        )
    _check_tuple("tangents", flat)
    for t in flat:
        _check_moves("tangent", t)
    outputs, pushforward = _C._linearize(point, point.primals, True)
    values, aux = point.split(outputs)
    assert point.out_spec is not None
    moved = _C._call_linear(pushforward, flat)[: point.num_outputs]
    result = tree_unflatten(values, point.out_spec), tree_unflatten(moved, point.out_spec)
    return (*result, aux) if has_aux else result


def linearize(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """`func(*primals)`, and the function from tangents of `primals` to tangents of its outputs.

    `func` runs once, however many tangents are pushed forward.

    >>> import tandem
    >>> y, push = tandem.func.linearize(tandem.square, tandem.tensor(3.0))
    >>> push(tandem.tensor(1.0)), push(tandem.tensor(2.0))
    (tensor(6.), tensor(12.))
    """
    point = _MovingPoint("linearize(f, *primals)", func, primals, {}, tuple(range(len(primals))), False)
    outputs, pushforward = _C._linearize(point, point.primals, True)
    values, _ = point.split(outputs)
    spec = point.out_spec
    assert spec is not None

    def jvp_fn(*tangents: Any) -> Any:
        flat, given = tree_flatten(tangents)
        if given != point.spec:
            raise RuntimeError(
                f"Expected the tangents to have the structure of the primals: {point.spec}, but got {given}"
            )
        return tree_unflatten(_C._call_linear(pushforward, flat), spec)

    return tree_unflatten(values, spec), jvp_fn


# ---- Jacobians ------------------------------------------------------------------------------------------------------


def _basis(tensors: list[Any], start: int, stop: int) -> list[Any]:
    """Rows start..stop of the unit matrix over all elements of the tensors, in pieces of their shapes."""
    pieces, column = [], 0
    for t in tensors:
        n = t.numel()
        row = _C.arange(start, stop, device=t.device).unsqueeze(1)
        unit = (row == _C.arange(column, column + n, device=t.device)).to(t.dtype)
        pieces.append(unit.reshape(stop - start, *t.shape))
        column += n
    return pieces


def _over_basis(map_rows: Callable[..., Any], tensors: list[Any], chunk_size: int | None) -> list[Any]:
    """`map_rows` of every unit vector over the tensors: for each of its results, [elements of all tensors, ...]."""
    total = sum(t.numel() for t in tensors)
    step = total if chunk_size is None else min(chunk_size, total)
    parts = []
    for start in range(0, total, max(step, 1)):
        stop = min(start + step, total)
        if stop - start == 1:
            rows = map_rows(*(b.squeeze(0) for b in _basis(tensors, start, stop)))
            parts.append([r.unsqueeze(0) for r in rows])
        else:
            parts.append(vmap(map_rows)(*_basis(tensors, start, stop)))
    return [p[0] if len(p) == 1 else _C.cat(list(p), 0) for p in zip(*parts)]


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `func`, by pulling back all unit cotangents at once.

    For an output of shape O and an argument of shape I it has shape O + I; for containers, the structure of the output
    with that of the argument (a tuple if `argnums` is one) at each leaf.

    Args:
        func: takes tensors, or containers of tensors; with `has_aux` it returns (output, aux).
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: the result is (Jacobian, aux).
        chunk_size: at most so many rows at a time, for less memory.

    >>> import tandem
    >>> tandem.func.jacrev(tandem.sin)(tandem.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        point = _Point("jacrev(f)(*args)", func, args, kwargs, argnums, has_aux)
        outputs, pullback = _C._vjp(point, point.primals, True)
        values, aux = point.split(outputs)
        _check_floating(values)
        rows = _over_basis(lambda *cotangents: _C._call_linear(pullback, cotangents), values, chunk_size)
        jacobians, start = [], 0
        for y in values:
            n = y.numel()
            pieces = [
                (r.narrow(0, start, n) if rows else _C.zeros(0, dtype=x.dtype, device=x.device)).reshape(
                    (*y.shape, *x.shape)
                )
                for r, x in zip(rows or point.primals, point.primals)
            ]
            jacobians.append(tree_unflatten(pieces, point.spec))
            start += n
        assert point.out_spec is not None
        result = tree_unflatten(jacobians, point.out_spec)
        return (result, aux) if has_aux else result

    return wrapped


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The Jacobian of `func`, by pushing forward all unit tangents at once; results as of `jacrev`.

    It suits functions with more outputs than inputs.

    Args:
        func, argnums, has_aux: those of `jacrev`.
        randomness: what random numbers do inside, as in `vmap`.

    >>> import tandem
    >>> tandem.func.jacfwd(tandem.square)(tandem.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        point = _MovingPoint("jacfwd(f)(*args)", func, args, kwargs, argnums, has_aux)
        total = sum(x.numel() for x in point.primals)
        # Every tangent is a call of its own: `func` draws for each of them, or for all.
        axis = _C._vmap_enter(total, randomness)
        try:
            outputs, pushforward = _C._linearize(point, point.primals, True)
            values, aux = point.split(outputs)
            basis = [_C._batch_in(b, 0, axis) for b in _basis(point.primals, 0, total)]
            moved = _C._call_linear(pushforward, basis)[: len(values)] if total else []
            columns = [_C._batch_out(m, 0, axis) for m in moved]
            aux = tree_map(lambda a: _C._batch_out(a, 0, axis)[0] if axis in _C._batch_axes(a) else a, aux)
        finally:
            _C._vmap_exit()
        jacobians = []
        for i, y in enumerate(values):
            pieces, start = [], 0
            for x in point.primals:
                n = x.numel()
                piece = (
                    columns[i].narrow(0, start, n).movedim(0, -1)
                    if columns
                    else _C.zeros(0, dtype=y.dtype, device=y.device)
                )
                pieces.append(piece.reshape((*y.shape, *x.shape)))
                start += n
            jacobians.append(tree_unflatten(pieces, point.spec))
        assert point.out_spec is not None
        result = tree_unflatten(jacobians, point.out_spec)
        return (result, aux) if has_aux else result

    return wrapped


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives of `func`: `jacfwd(jacrev(func))`.

    For an output of shape O and an argument of shape I it has shape O + I + I; `argnums` says by which argument, or by
    which of them, as in `jacrev`.

    >>> import tandem
    >>> tandem.func.hessian(lambda x: (x ** 3).sum())(tandem.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
