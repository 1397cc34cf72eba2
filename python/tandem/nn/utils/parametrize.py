"""Parametrizations: a parameter of a module computed by other modules from what is trained instead.

`register_parametrization(layer, "weight", f)` moves `layer.weight` to `layer.parametrizations.weight.original` and
makes `layer.weight` the value of `f(original)`, computed at every access (once inside `cached()`). Several are applied
in turn. The layer gets a class of its own, which holds the property.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, cast

import tandem
from tandem import Tensor
from tandem.nn.container import ModuleDict, ModuleList
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside the block.

    Example:
        >>> import tandem
        >>> from tandem.nn.utils import parametrize
        >>> layer = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            _cache.clear()


def _assign(parameter: Tensor, value: Tensor) -> None:
    """Take over the value; the parameter stays the same object, also with another shape."""
    with tandem.no_grad():
        parameter.data = value.detach().to(dtype=parameter.dtype)


def _right_inverse(parametrization: Module, value: Any) -> Any:
    """What the parametrization, which has a `right_inverse`, starts from for a wanted value."""
    return cast(Any, parametrization).right_inverse(value)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors they start from.

    Those are `original`, or `original0`, `original1` and so on where the first one's `right_inverse` returns several.
    Without `unsafe` the value must keep shape and dtype (ValueError). Called, it computes the value.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 3))
        >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
        ['original0', 'original1']
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        start = original
        with tandem.no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):  # what it has no inverse for is the value itself
                        start = _right_inverse(module, start)
        if not isinstance(start, Tensor) and not isinstance(start, (list, tuple)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            if original.dtype != start.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {start.dtype}"
                )
            _assign(original, start)
            if isinstance(original, Parameter):
                self.register_parameter("original", original)
            else:
                self.register_buffer("original", original)
        else:
            for i, value in enumerate(start):
                if not isinstance(value, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(value).__name__}."
                    )
                if isinstance(original, Parameter):
                    self.register_parameter(f"original{i}", Parameter(value.detach(), original.requires_grad))
                else:
                    self.register_buffer(f"original{i}", value)
        if not unsafe:
            self._check(original.shape, original.dtype)

    def _check(self, shape: Any, dtype: Any) -> None:
        value = self()
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        _expect_like(value, shape, dtype)

    def _originals(self) -> list[Tensor]:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`."""
        with tandem.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = _right_inverse(module, value)
            values = [value] if self.is_tensor else list(value)
            if len(values) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(values)}."
                )
            for original, new in zip(self._originals(), values, strict=True):
                _assign(original, new)

    def forward(self) -> Tensor:
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _lists(module: Module) -> ModuleDict:
    """The parametrizations of a parametrized module by the names of tensors."""
    return cast(ModuleDict, module.parametrizations)


def _value(module: Module, name: str) -> Tensor:
    parametrization = _lists(module)[name]
    if _depth == 0:
        return parametrization()
    key = (id(module), name)
    if key not in _cache:
        _cache[key] = parametrization()
    return _cache[key]


def _inject_class(module: Module) -> None:
    """A class of the module's own, which properties can be added to."""
    cls = type(module)

    def deepcopied(self: Module, memo: dict[int, Any]) -> Module:
        known = memo.get(id(self))
        if known is not None:
            return known
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        # Each copy has its own class: removing a parametrization from one must not touch the other.
        replica.__class__ = type(type(self).__name__, type(self).__bases__, dict(vars(type(self))))
        return replica

    def reduced(self: Module, protocol: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Load the weights into a "
            "module that was parametrized in the same way."
        )

    members: dict[str, Any] = {"__reduce_ex__": reduced}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)
    module.parametrizations = ModuleDict()


def _inject_property(module: Module, name: str) -> None:
    def get(self: Module) -> Tensor:
        return _value(self, name)

    def set_(self: Module, value: Tensor) -> None:
        _right_inverse(_lists(self)[name], value)

    setattr(type(module), name, property(get, set_))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has a parametrization, of `tensor_name` if given.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 3))
        >>> parametrize = tandem.nn.utils.parametrize
        >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
        (True, False)
    """
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make `module.tensor_name` the value of `parametrization` of what it was; returns the module.

    With a `right_inverse` the parametrization says what to start from for a wanted value. Without `unsafe` it must keep
    shape and dtype (ValueError).

    Example:
        >>> import tandem
        >>> class Symmetric(tandem.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).transpose(-1, -2)
        >>> layer = tandem.nn.Linear(3, 3)
        >>> _ = tandem.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known = cast(ParametrizationList, _lists(module)[tensor_name])
        if not unsafe:
            value = getattr(module, tensor_name)
            result = parametrization(value)
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            _expect_like(result, value.shape, value.dtype)
            if hasattr(parametrization, "right_inverse"):
                with tandem.no_grad(), contextlib.suppress(NotImplementedError):
                    _expect_inverse(_right_inverse(parametrization, result), value)
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
        _inject_property(module, tensor_name)
        _lists(module)[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _expect_like(value: Tensor, shape: Any, dtype: Any) -> None:
    for what, was, now in (("dtype", dtype, value.dtype), ("shape", tuple(shape), tuple(value.shape))):
        if was != now:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                f"enabled.\nunparametrized {what}: {was}\nparametrized {what}: {now}"
            )


def _expect_inverse(value: Any, like: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(value).__name__}")
    for what, was, now in (("dtype", like.dtype, value.dtype), ("shape", tuple(like.shape), tuple(value.shape))):
        if was != now:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as the parametrized "
                f"one, unless the `unsafe` flag is enabled.\nparametrized {what}: {was}\nreturned {what}: {now}"
            )


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Undo `register_parametrization`; returns the module.

    The tensor keeps its parametrized value if `leave_parametrized`, else it becomes the original again (ValueError if
    that was several tensors, and where there is no parametrization).

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 3))
        >>> tandem.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrization = cast(ParametrizationList, _lists(module)[tensor_name])
    if parametrization.is_tensor:
        (original,) = parametrization._originals()
        if leave_parametrized:
            with tandem.no_grad():
                value = getattr(module, tensor_name)
            _assign(original, value)
    elif leave_parametrized:
        with tandem.no_grad():
            value = getattr(module, tensor_name).detach().clone()
        first = parametrization._originals()[0]
        original = Parameter(value, first.requires_grad) if isinstance(first, Parameter) else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del _lists(module)[tensor_name]
    if len(_lists(module)) == 0:
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class the module had before it was parametrized.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 3))
        >>> tandem.nn.utils.parametrize.type_before_parametrizations(layer) is tandem.nn.Linear
        True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` copies of the parametrizations of `from_module`, with their tensors; returns `to_module`.

    Those of `tensor_name`, or of all tensors when None.

    Example:
        >>> import tandem
        >>> first = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 3))
        >>> second = tandem.nn.Linear(2, 3)
        >>> _ = tandem.nn.utils.parametrize.transfer_parametrizations_and_params(first, second)
        >>> second.weight.equal(first.weight)
        True
    """
    names = [tensor_name] if tensor_name is not None else list(_lists(from_module))
    for name in names:
        source = cast(ParametrizationList, _lists(from_module)[name])
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for part in source:
            register_parametrization(to_module, name, copy.deepcopy(part), unsafe=True)
        target = cast(ParametrizationList, _lists(to_module)[name])
        for own, other in zip(target._originals(), source._originals(), strict=True):
            _assign(own, other)
    return to_module
