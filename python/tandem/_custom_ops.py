"""`CustomOpDef`: an operation that a program defined, and how it is called. `tandem.library` makes them."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tandem import _C
from tandem._c_names import BelowAutograd
from tandem._schemas import Schema
from tandem.autograd.function import Function, _innermost_axis, _mapped

__all__ = ["CustomOpDef"]

_log = logging.getLogger("tandem.library")


class CustomOpDef:
    """An operation by its name `namespace::name`; a call runs its function. Made by `custom_op`.

    >>> import tandem
    >>> @tandem.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: tandem.Tensor) -> tandem.Tensor:
    ...     return x * 2
    >>> twice(tandem.ones(1)), tandem.ops.docs.twice.default(tandem.ones(1))
    (tensor([2.]), tensor([2.]))
    """

    def __init__(self, name: str, schema: Schema | None = None, signature: inspect.Signature | None = None):
        self._qualname = name
        self._schema_known = schema
        self._signature = schema.signature if schema is not None and signature is None else signature
        parameters = self._signature.parameters.values() if self._signature is not None else ()
        # Where arguments are by place or name: their names, and what they are if they are not given.
        self._plain = all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters)
        self._positional = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
        self._keywords = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        kinds = schema.types if schema is not None else {}
        self._tensors = tuple(i for i, name in enumerate(self._positional) if kinds.get(name) == "Tensor")
        self._function: Callable[..., Any] | None = None  # for all devices that have none of their own
        self._first: Callable[..., Any] | None = None  # the one that the operation was made of
        self._by_device: dict[str, Callable[..., Any]] = {}
        self._disabled: set[str | None] = set()
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._fake: Callable[..., Any] | None = None
        self._rule: Callable[..., Any] | None = None  # of vmap
        self._mutates: Sequence[str] = schema.mutates if schema is not None else ()  # names of arguments
        self._own_results = False  # must results have memory of their own?
        self._composite = False  # is its derivative that of the operations that it is made of?
        self._overloads: dict[str, CustomOpDef] = {}
        self._defined = True  # or is it only what overloads are found by?
        self._above: dict[str, Callable[..., Any]] = {}  # what runs first: for a device, or for all ("")
        self.tags: list[Any] = []
        self._autocast: dict[str, Any] = {}  # dtypes, by device
        self._call = _differentiable(self)
        self.__name__ = name.rpartition("::")[2]

    @property
    def default(self) -> CustomOpDef:
        """The operation itself: it has one overload."""
        return self

    def overloads(self) -> list[str]:
        """'default', and the names of those that were defined as `namespace::name.overload`."""
        return ["default", *self._overloads]

    def __getattr__(self, name: str) -> Any:
        overloads = self.__dict__.get("_overloads", {})
        if name not in overloads:
            raise AttributeError(f"the operation has no overload '{name}'", name=name, obj=self)
        return overloads[name]

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Takes what gives results without values, for the device "meta" and `opcheck`; the function itself."""
        self._fake = fn
        return fn

    def register_kernel(
        self, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /
    ) -> Any:
        """The function for devices ("cpu", "cuda"), or for all that have none of their own (None); a decorator without
        `func`. ValueError for devices of an operation that takes neither tensors nor a `device`."""
        schema = self._schema_known
        if device_types is not None and schema is not None and not schema.takes_tensors:
            if not any(kind.startswith("Device") for kind in schema.types.values()):
                raise ValueError(
                    "Functions without tensor inputs are required to have a `device: torch.device` argument"
                )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if device_types is None:
                self._function = function
            else:
                types = (device_types,) if isinstance(device_types, str) else device_types
                self._by_device.update(dict.fromkeys(types, function))
            return function

        return register if func is None else register(func)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A block in which the function for a device is not called, and the one that the operation was made of is.

        >>> import tandem
        >>> @tandem.library.custom_op("docs::next", mutates_args=())
        ... def after(x: tandem.Tensor) -> tandem.Tensor:
        ...     return x + 1
        >>> _ = after.register_kernel("cpu", lambda x: x + 2)
        >>> with after.set_kernel_enabled("cpu", enabled=False):
        ...     after(tandem.zeros(1))
        tensor([1.])
        """
        was = device_type in self._disabled
        verb = "enable" if enabled else "disable"
        if device_type not in self._by_device:
            _log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.", verb, device_type
            )
        if was != enabled:
            _log.warning("Attempted to %s kernel for %s but it was already %sd.", verb, device_type, verb)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if was else self._disabled.discard)(device_type)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """The rule of vmap: `func(info, in_dims, *args, **kwargs)` gives (results, where their examples lie), for
        arguments with all examples, which `in_dims` says the place of (None: shared). Without a rule the function
        itself is run, whose operations have rules, or, if it reads values, on one example after another. A decorator
        without `func`."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if self._schema_known is not None and self._schema_known.keyword_tensors:
                raise NotImplementedError(f"register_vmap of {self._qualname} with kwarg-only Tensor args")
            self._rule = function
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """In a block of `autocast` for a device, floating arguments on it (not of float64) are converted to this dtype,
        and the operation runs without autocast. ValueError for a device that has none."""
        import tandem

        if not isinstance(device_type, str):
            raise TypeError(f"register_autocast: expected a str as device_type, not {type(device_type).__name__}")
        _C.device(device_type)
        if not tandem.amp.is_autocast_available(device_type):
            raise ValueError(f"Device type '{device_type}' does not support autocast.")
        self._autocast[device_type] = cast_inputs

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The derivative: `backward(ctx, *grads)` gives one gradient an argument, from what
        `setup_context(ctx, inputs, output)` kept."""
        if self._schema_known is not None and self._schema_known.keyword_tensors:
            raise NotImplementedError(f"register_autograd of {self._qualname} with kwarg-only Tensor args")
        self._backward, self._setup = backward, setup_context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._overloads:
            return self._overload(args, kwargs)._call_bound(args, kwargs)
        return self._call_bound(args, kwargs)

    def _call_bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        asked = (*args, *kwargs.values()) if kwargs else args
        for given in asked:
            if isinstance(given, (list, tuple)):
                asked = tuple([y for x in asked for y in (x if isinstance(x, list | tuple) else (x,))])
                break
        if _C._has_torch_function(asked):
            return _C._handle_torch_function(self, self.__name__, asked, args, kwargs)
        if self._signature is not None:
            args, kwargs = self._bound(args, kwargs)
            if self._tensors:
                self._check_tensors(args)
        if self._above and not BelowAutograd.depth.get():
            tensors = [*_tensors_of(args), *_tensors_of(tuple(kwargs.values()))]
            above = self._above.get(tensors[0].device.type if tensors else "", self._above.get(""))
            if above is not None:
                return above(*args, **kwargs)
        if self._autocast:
            on_cpu, _, _, on_gpu, _ = _C._autocast_get()
            for device in self._autocast:
                if on_cpu if device == "cpu" else on_gpu:
                    return self._converted(device, args, kwargs)
        if self._composite and self._backward is None or not _C.is_grad_enabled():
            return self._run(args, kwargs)
        lists = _Lists(args)
        flat = lists.flat(args)
        if not any(isinstance(x, _C.Tensor) and x.requires_grad for x in flat):
            return self._run(args, kwargs)
        if self._rule is not None:
            axis = _innermost_axis(flat)
            # What is differentiated outside the vmap is differentiated through the rule.
            if axis is not None and not (self._backward is not None and _C._transformed_inside(axis)):
                return self._run(args, kwargs)
        result = self._call.apply(*flat, _lists=lists, **kwargs)
        return list(result) if lists.gave_list else result

    def _converted(self, device: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results for arguments in the dtype of `register_autocast`, without autocast."""
        import tandem
        from tandem.utils._pytree import tree_map

        def converted(x: Any) -> Any:
            fits = isinstance(x, _C.Tensor) and x.device.type == device and x.is_floating_point()
            return x.to(self._autocast[device]) if fits and x.dtype is not _C.float64 else x

        args, kwargs = tree_map(converted, (args, kwargs))
        with tandem.amp.autocast(device, enabled=False):
            return self._call_bound(args, kwargs)

    def _check_tensors(self, args: tuple[Any, ...]) -> None:
        """RuntimeError for what is no tensor where one is expected."""
        for place in self._tensors:
            if not isinstance(args[place], _C.Tensor):
                raise RuntimeError(
                    f"{self._qualname}() Expected a value of type 'Tensor' for argument '{self._positional[place]}' "
                    f"but instead found type '{type(args[place]).__name__}'."
                )

    def _left_out(self, args: tuple[Any, ...]) -> int:
        """How many of the last arguments are what they are if they are not given: they need no gradients."""
        count = 0
        for name, value in zip(reversed(self._positional[: len(args)]), reversed(args)):
            if name not in self._defaults or isinstance(value, _C.Tensor) or value != self._defaults[name]:
                break
            count += 1
        return count

    def _overload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CustomOpDef:
        """The first of the overloads that takes the arguments."""
        has_function = self._function is not None or self._by_device
        candidates = [self, *self._overloads.values()] if has_function else list(self._overloads.values())
        for op in candidates[:-1]:
            try:
                if op._signature is not None:
                    op._signature.bind(*args, **kwargs)
                return op
            except TypeError:
                pass
        return candidates[-1]

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results without a history of the operation's own."""
        if self._rule is not None:
            axis = _innermost_axis(args)
            if axis is not None:
                return _mapped(f"the rule of {self._qualname}", self._rule, axis, args, kwargs)
        function = self._function
        if self._by_device or self._fake is not None or function is None:
            function = self._kernel(args, kwargs)
        try:
            result = function(*args, **kwargs)
        except RuntimeError as e:
            axis = _innermost_axis(args)
            if axis is None or self._mutates or not self._own_results or not str(e).startswith("vmap:"):
                raise
            return self._one_by_one(axis, args, kwargs)  # it reads values
        if self._own_results:
            self._check_results(args, kwargs, result)
        if self._mutates:
            given = self._given(args, kwargs)
            for name in self._mutates:
                _count_writes(given.get(name))
        return result

    def _one_by_one(self, axis: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of a function that cannot take the examples of an axis of vmap together."""
        from tandem.utils._pytree import tree_map

        def result(i: int) -> Any:
            example = tree_map(lambda a: _C._batch_out(a, 0, axis)[i] if axis in _C._batch_axes(a) else a, args)
            return self._run(example, kwargs)

        size = next(size for number, size, _ in _C._active_axes() if number == axis)
        first, *others = map(result, range(size))
        return tree_map(lambda *all_of: _C._batch_in(_C.stack(list(all_of)), 0, axis), first, *others)

    def _kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """The function for the device of the arguments; NotImplementedError if there is none."""
        tensors = _tensors_of(args)
        if not tensors:
            tensors = [x for x in kwargs.values() if isinstance(x, _C.Tensor)]
        kind = next((x.device.type for x in tensors if x.dim() > 0), tensors[0].device.type if tensors else None)
        schema = self._schema_known
        if kind is None and schema is not None:
            places = [name for name, of in schema.types.items() if of.startswith("Device")]
            given = self._given(args, kwargs)
            kind = _C.device(given[places[0]]).type if places and given.get(places[0]) is not None else None
        kind = kind or "cpu"
        if kind in self._disabled and self._first is not None:
            return self._first
        if kind == "meta" and self._fake is not None and kind not in self._by_device:
            return self._fake
        function = self._by_device.get(kind, self._function)
        if function is None:
            raise NotImplementedError(f"{self._qualname} does not have a kernel registered for {kind}")
        return function

    def _check_results(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """RuntimeError if a result is in memory of an argument or of another result."""
        tensors = _tensors_of(args)
        for r in result if isinstance(result, list | tuple) else (result,):
            if not isinstance(r, _C.Tensor) or r.numel() == 0:
                continue
            if any(_C._same_memory(r, x) for x in tensors):
                raise RuntimeError(
                    f"{self._qualname}: the results of a custom operation must not be its arguments and may not alias "
                    f"them or one another. Return a clone instead."
                )
            tensors.append(r)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by their names."""
        return {**dict(zip(self._positional, args)), **kwargs}

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All positional arguments, in order, and those that are keywords only; RuntimeError where they do not fit."""
        given = dict(zip(self._positional, args))
        values = {**self._defaults, **given, **kwargs}
        names = self._positional + self._keywords
        known = len(args) <= len(self._positional) and not any(name in given for name in kwargs)
        if self._plain and known and len(values) == len(names) and all(name in values for name in names):
            return tuple([values[name] for name in self._positional]), {name: values[name] for name in self._keywords}
        try:
            bound = self._signature.bind(*args, **kwargs)  # type: ignore[union-attr]
        except TypeError as e:
            raise RuntimeError(f"{self._qualname}(): {e}; its arguments are {self._signature}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs


class _Lists:
    """Which arguments of a call are lists of tensors: `Function` knows tensors alone."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.counts = [len(a) if _is_list(a) else None for a in args]
        self.any = any(count is not None for count in self.counts)
        self.gave_list = False

    def flat(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One value an argument, with those of lists one by one; None for all of a list where it is None."""
        if not self.any:
            return tuple(values)
        out: list[Any] = []
        for value, count in zip(values, self.counts, strict=True):
            out += [value] if count is None else [None] * count if value is None else list(value)
        return tuple(out)

    def nested(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments as they were."""
        if not self.any:
            return tuple(flat)
        rest = iter(flat)
        return tuple(next(rest) if count is None else [next(rest) for _ in range(count)] for count in self.counts)


def _tensors_of(args: tuple[Any, ...]) -> list[Any]:
    """The tensors among arguments, and in lists among them."""
    return [x for x in _Lists(args).flat(args) if isinstance(x, _C.Tensor)]


def _is_list(a: Any) -> bool:
    return isinstance(a, (list, tuple)) and len(a) > 0 and all(isinstance(x, _C.Tensor) or x is None for x in a)


def _count_writes(x: Any) -> None:
    """What a function wrote to by means that are not seen counts as written to."""
    for t in x if isinstance(x, list | tuple) else (x,):
        if isinstance(t, _C.Tensor):
            _C._count_write(t)


def _differentiable(op: CustomOpDef) -> type[Function]:
    """The Function that calls are where a gradient is wanted."""

    class Call(Function):
        _plain_in_transforms = True

        @staticmethod
        def forward(ctx: Any, *inputs: Any, _lists: _Lists, **kwargs: Any) -> Any:
            args = _lists.nested(inputs)
            output = op._run(args, kwargs)
            if op._setup is not None:
                given = {"keyword_only_inputs": kwargs} if kwargs else {}
                op._setup(ctx=ctx, inputs=args, output=output, **given)
            ctx._lists, ctx._left_out = _lists, op._left_out(args)
            _lists.gave_list = isinstance(output, list)
            return tuple(output) if _lists.gave_list else output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if op._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._qualname} but no autograd formula was registered. Please use "
                    "register_autograd to add one."
                )
            lists = ctx._lists
            if lists.any and len(ctx.needs_input_grad) > len(lists.counts):
                ctx.needs_input_grad = lists.nested(ctx.needs_input_grad)
            # A list is one result, with a list of gradients.
            result = op._backward(ctx, list(grads)) if lists.gave_list else op._backward(ctx, *grads)
            result = result if isinstance(result, tuple) else (result,)
            if 0 < len(lists.counts) - len(result) <= ctx._left_out:
                result += (None,) * (len(lists.counts) - len(result))
            return lists.flat(result) if lists.any else result

    return Call


# Whole traces have no say in what a program registers.
_C._set_opaque(CustomOpDef._run)
