"""`Function`: an operation with a derivative of the user's own."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

import tandem
from tandem import _C
from tandem._C import Tensor

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

F = TypeVar("F", bound=Callable[..., Any])


def _map_tensors(value: Any, f: Callable[[Any], Any]) -> Any:
    """`value` with `f` of each tensor in it, looked for in dicts, lists and tuples."""
    if isinstance(value, _C.Tensor):
        return f(value)
    if type(value) in (list, tuple):
        return type(value)(_map_tensors(v, f) for v in value)
    if type(value) is dict:
        return {k: _map_tensors(v, f) for k, v in value.items()}
    return value


class FunctionCtx:
    """What a `Function`'s forward and backward share. Attributes of any name may be set on it.

    `needs_input_grad` says for each argument of `forward` whether a gradient is wanted for it, `saved_tensors` are
    those given to `save_for_backward`. Tensors are best kept that way: writes to them are noticed then.

    >>> import tandem
    >>> class Scale(tandem.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * ctx.factor, None
    >>> x = tandem.ones(1, requires_grad=True)
    >>> Scale.apply(x, 3.0).backward(); x.grad
    tensor([3.])
    """

    _handle: Any = None
    _saved: tuple[Any, ...] | None = None
    _dirty: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materialize = True
    #: Whether the backward gets zeros for outputs without derivative too, or None.
    _materialize_non_diff_grads = True
    #: For each argument of `forward`: is a gradient wanted for it?
    needs_input_grad: tuple[bool, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for the backward, as `ctx.saved_tensors`."""
        for t in tensors:
            if t is not None and not isinstance(t, _C.Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(t).__name__}"
                )
        self._saved = tensors

    def _tensors(self) -> list[Any]:
        """The tensors among the attributes, and in tuples and lists among them."""
        found: list[Any] = []

        def keep(t: Any) -> Any:
            found.append(t)
            return t

        _map_tensors(self.__dict__, keep)
        return found

    def _remade(self, handle: Any, tensors: list[Any]) -> FunctionCtx:
        """A copy for another call of the same operation, with its tensors in the order of `_tensors`."""
        copy = object.__new__(type(self))
        rest = iter(tensors)
        copy.__dict__.update(_map_tensors(self.__dict__, lambda _: next(rest)), _handle=handle)
        return copy

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for `jvp`, as `ctx.saved_tensors`, where `save_for_backward` keeps none."""
        if self._saved is None:
            self.save_for_backward(*tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What `save_for_backward` kept."""
        if self._handle is None:
            return self._saved or ()
        return _C._function_saved(self._handle)

    @property
    def saved_variables(self) -> tuple[Tensor, ...]:
        """The older name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def to_save(self) -> tuple[Tensor | None, ...] | None:
        """What was given to `save_for_backward`, in the forward."""
        return self._saved

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which arguments the forward wrote in place; they must be among its outputs."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that nobody gave are zeros (the default) or None in the backward."""
        self._materialize = value


class Function:
    """Base of operations with a derivative of their own: override `forward` and `backward`, call `apply`.

    Example:
        >>> import tandem
        >>> class Cube(tandem.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         x, = ctx.saved_tensors
        ...         return 3 * x * x * g
        >>> x = tandem.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward(); x.grad
        tensor(12.)
    """

    _backward_cls: ClassVar[type[FunctionCtx]] = FunctionCtx

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the class of its contexts, through which its static methods and constants can be reached."""
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(cls.__name__ + "Backward", (FunctionCtx,), {"_forward_cls": cls})

    def __init__(self) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated: its methods are static, and a call is {type(self).__name__}"
            ".apply(...)",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"Legacy autograd function with non-static forward method is deprecated: make forward and backward of "
            f"{type(self).__name__} static methods, and call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation: `forward(ctx, *args)`, or `forward(*args)` together with `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Saves what the backward needs, for a forward without `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the arguments of `forward` (None for those without) from those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    #: Whether `tandem.vmap` maps the operation as what its forward and backward are made of; otherwise by `vmap`.
    generate_vmap_rule = False
    #: Whether transforms of `func` take it as it is, without `setup_context` and a rule for `vmap`.
    _plain_in_transforms = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """How `tandem.vmap` maps the operation, where that is not what forward and backward are made of.

        `info` has `batch_size` and `randomness`; `in_dims` says for each argument where its examples lie (None: they
        share it), in the arguments' structure. Returns (outputs, out_dims).
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod.")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the outputs from those of the inputs: instead of `backward`, which follows from it."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation and record it.

        RuntimeError in a function that is transformed (`vmap`, `func.grad` ...) without `setup_context`, and in one
        that is mapped unless there is either a `vmap` or `generate_vmap_rule`.
        """
        if cls.setup_context is not Function.setup_context:
            args, kwargs = _with_defaults(cls.forward, args, kwargs)
        mapped = bool(_C._active_axes())
        axis = None
        if (mapped or _C._in_transform()) and not cls._plain_in_transforms:
            _check_transformed(cls, mapped, kwargs)
            if mapped and not cls.generate_vmap_rule:
                axis = _innermost_axis(args)
                if axis is not None and not _C._transformed_inside(axis):
                    return _mapped(cls.__name__ + ".vmap", cls.vmap, axis, args, kwargs)
        ctx = cls._backward_cls()
        inputs = tuple(a if isinstance(a, _C.Tensor) else None for a in args)
        handle = _C._function_begin(cls.__name__ + "Backward", inputs)
        ctx.needs_input_grad = tuple(a is not None and a.requires_grad for a in inputs)
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            elif axis is None:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:  # The derivative is that of an example: it is taken within the vmap.
                output = _mapped(cls.__name__ + ".vmap", cls.vmap, axis, args, kwargs, same=True)
                cls.setup_context(ctx, args, output)
        finally:
            _C._set_grad_enabled(before)
        single = not isinstance(output, (tuple, list))
        outputs = (output,) if single else tuple(output)
        if any(all(t is not a for a in inputs) for t in ctx._dirty):
            warnings.warn(
                f"{cls.__name__}: mark_dirty was given a tensor that is no argument of forward; only arguments that it "
                "wrote in place are to be marked",
                stacklevel=2,
            )
        if handle is not None:
            ctx._handle = handle
            backward = cls.backward if cls.backward is not Function.backward else cls.vjp
            if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
                raise RuntimeError(
                    f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {cls.__name__} "
                    "should implement one of them."
                )
            if backward is Function.backward and cls.jvp is not Function.jvp:
                backward = _transposed(cls.jvp, inputs)
            results = _C._function_end(handle, ctx, backward, outputs, inputs, ctx._saved, ctx._non_differentiable,
                                       ctx._dirty, ctx._materialize, ctx._materialize_non_diff_grads)  # fmt: skip
            outputs = tuple(new if isinstance(old, _C.Tensor) else old for old, new in zip(outputs, results))
            ctx._saved = None
            ctx._dirty = ctx._non_differentiable = ()
        return outputs[0] if single else outputs


class InplaceFunction(Function):
    """Base of operations that may write their input: nothing but a `Function`.

    >>> import tandem
    >>> class Double(tandem.autograd.function.InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.mark_dirty(x)
    ...         return x.mul_(2)
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = tandem.ones(1, requires_grad=True)
    >>> Double.apply(x.clone()).backward(); x.grad
    tensor([2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class VmapInfo(NamedTuple):
    """What `vmap` of a Function is told: how many examples there are, and how they draw random numbers.

    >>> from tandem.autograd.function import VmapInfo
    >>> VmapInfo(batch_size=3, randomness="error").batch_size
    3
    """

    batch_size: int
    randomness: str


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call in their places, those that were left out among them: `setup_context` unpacks all."""
    code = getattr(forward, "__code__", None)
    if not kwargs and (not getattr(forward, "__defaults__", None) or (code and len(args) >= code.co_argcount)):
        return args, kwargs
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _check_transformed(cls: type[Function], mapped: bool, kwargs: dict[str, Any]) -> None:
    """Errors of a call within a transform."""
    name = cls.__name__
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with function transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod, which {name} does not"
        )
    if not mapped:
        return
    if any(isinstance(v, _C.Tensor) for v in tandem.utils._pytree.tree_flatten(kwargs)[0]):
        raise NotImplementedError(f"vmap of {name}: kwarg-only Tensor args are not supported. Got: {kwargs}")
    has_rule = cls.vmap is not Function.vmap
    if has_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and a vmap staticmethod of its "
            "own. Set generate_vmap_rule=False or delete the vmap staticmethod."
        )
    if not has_rule and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Implement the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )


def _innermost_axis(args: tuple[Any, ...]) -> int | None:
    """The axis of the innermost `vmap` that an argument, or one in a container among them, takes part in."""
    return max((x for a in tandem.utils._pytree.tree_flatten(args)[0] for x in _C._batch_axes(a)), default=None)


def _writes(value: Any) -> int:
    """How often a tensor was written to, as far as it is counted."""
    return value._version if isinstance(value, _C.Tensor) and not value.is_inference() else 0


def _mapped(
    name: str, rule: Callable[..., Any], axis: int, args: tuple[Any, ...], kwargs: dict[str, Any], same: bool = False
) -> Any:
    """A call of the rule of an operation for `vmap`, for the innermost axis that an argument has. What it writes to and
    gives back, or if `same` what it gives back, of its arguments is what it was called with."""
    pytree = tandem.utils._pytree
    flat, spec = pytree.tree_flatten(args)
    dims = [0 if axis in _C._batch_axes(a) else None for a in flat]
    plain = [a if d is None else _C._batch_out(a, 0, axis) for a, d in zip(flat, dims)]
    size, randomness = next((size, mode) for number, size, mode in _C._active_axes() if number == axis)
    in_dims = pytree.tree_unflatten(dims, spec)
    before = [_writes(p) for p in plain]
    returned = rule(VmapInfo(size, randomness), in_dims, *pytree.tree_unflatten(plain, spec), **kwargs)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            f"{name}: expected the vmap staticmethod to have two returns, a tuple (outputs, out_dims), "
            f"but got {f'{len(returned)} of them' if isinstance(returned, tuple) else type(returned).__name__}"
        )
    outputs, out_dims = returned
    values, out_spec = pytree.tree_flatten(outputs)
    out = pytree.broadcast_prefix(out_dims, out_spec)
    if out is None:
        raise RuntimeError(
            f"{name}: the vmap staticmethod returned an incompatible (outputs, out_dims) tuple: out_dims "
            f"{out_dims} has not the structure of the outputs, {out_spec}"
        )
    made = [v if d is None else _C._batch_in(v, d, axis) for v, d in zip(values, out)]
    for place, (value, out_dim) in enumerate(zip(values, out)):
        for p, dim, a, version in zip(plain, dims, flat, before):
            if value is p and out_dim == dim and isinstance(a, _C.Tensor) and (same or _writes(p) != version):
                made[place] = a if same or not p.requires_grad else a.copy_(made[place])
    return pytree.tree_unflatten(made, out_spec)


def _transposed(jvp: Any, inputs: tuple[Any, ...]) -> Callable[..., Any]:
    """The backward of a Function that states its jvp, which is linear in the tangents."""
    shapes = [None if a is None else (a.shape, a.dtype, a.device) for a in inputs]
    places = [i for i, a in enumerate(inputs) if a is not None and a.is_floating_point()]

    def backward(ctx: Any, *grads: Any) -> Any:
        def moved(tangents: tuple[Any, ...]) -> tuple[Any, ...]:
            full = [None] * len(shapes)
            for place, t in zip(places, tangents):
                full[place] = t
            out = jvp(ctx, *full)
            return out if isinstance(out, tuple) else (out,)

        zeros = [_C.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in (shapes[i] for i in places)]  # type: ignore[misc]
        _, pullback = _C._vjp(moved, zeros)
        result: list[Any] = [None] * len(shapes)
        for place, g in zip(places, _C._call_linear(pullback, grads)):
            result[place] = g
        return tuple(result)

    return backward


def once_differentiable(backward: F) -> F:
    """Decorates a backward that is not made of differentiable operations: differentiating it is a RuntimeError.

    >>> import tandem
    >>> class Double(tandem.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @tandem.autograd.once_differentiable
    ...     def backward(ctx, g):
    ...         return tandem.from_numpy(g.numpy() * 2)
    >>> x = tandem.ones(1, requires_grad=True)
    >>> Double.apply(x).backward(); x.grad
    tensor([2.])
    """

    class Refuse(Function):
        _plain_in_transforms = True

        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            return tuple(t.clone() for t in tensors)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            outputs = backward(ctx, *grads)
        finally:
            _C._set_grad_enabled(before)
        if not before or not any(isinstance(g, _C.Tensor) and g.requires_grad for g in grads):
            return outputs
        values = outputs if isinstance(outputs, tuple) else (outputs,)
        places = [i for i, v in enumerate(values) if v is not None]
        with_error = Refuse.apply(*(values[i].detach().requires_grad_() for i in places))
        guarded = list(values)
        for i, v in zip(places, with_error):
            guarded[i] = v
        return tuple(guarded) if isinstance(outputs, tuple) else guarded[0]

    return cast(F, wrapper)
