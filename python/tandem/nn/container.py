"""Containers of modules and of parameters."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Collection, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import tandem
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(index: SupportsIndex, length: int) -> int:
    """A non-negative position; IndexError outside the list."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length if length else index


class _ModuleSequence(Module):
    """Modules in order, held under the names "0", "1", and so on."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # none is None

    def _replace_all(self, modules: Iterable[Module]) -> None:
        self.__dict__["_modules"] = {}
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _key(self, index: SupportsIndex) -> str:
        """The name of the module at `index`; a `Sequential` made of a dict has names of its own."""
        index = operator.index(index)
        try:
            return list(self._modules)[index]
        except IndexError:
            raise IndexError(f"index {index} is out of range") from None

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __setitem__(self, index: SupportsIndex, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        if isinstance(index, slice):
            for key in list(self._modules)[index]:
                delattr(self, key)
        else:
            delattr(self, self._key(index))
        self._replace_all(list(self._modules.values()))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; returns self."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules)}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before position `index`; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        length = len(self)
        if not -length <= index <= length:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._replace_all(modules)
        return self

    def pop(self, key: int | slice = -1) -> Module:
        """Remove and return the module at the index `key`; of a slice, one that holds those modules."""
        module: Module = self[key]  # type: ignore[index]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Modules called one after the other, each with what the one before returned.

    Takes modules, or one dict of names and modules (TypeError for anything else). An index is a module (IndexError
    where there is none), a slice a `Sequential` of the same modules; `+` joins two.

    Example:
        >>> import tandem
        >>> net = tandem.nn.Sequential(tandem.nn.Linear(2, 8), tandem.nn.Tanh(), tandem.nn.Linear(8, 1))
        >>> net(tandem.zeros(5, 2)).shape
        tandem.Size([5, 1])
        >>> len(net[:2])
        2
    """

    @overload
    def __init__(self, *args: Module) -> None: ...
    @overload
    def __init__(self, arg: OrderedDict[str, Module] | dict[str, Module], /) -> None: ...
    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Module | Self:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        """The same modules, `other` times one after another."""
        return Sequential(*self._times(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(self._times(other)[len(self) :])

    def _times(self, count: int) -> list[Module]:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")
        return list(self) * count

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end; returns self."""
        return super().extend(sequential)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_ModuleSequence):
    """A list whose modules are registered, under the names "0", "1" and so on; it has no `forward`.

    An index is a module (IndexError where there is none), a slice a `ModuleList`. TypeError for anything but modules.

    Example:
        >>> import tandem
        >>> layers = tandem.nn.ModuleList(tandem.nn.Linear(4, 4) for _ in range(3))
        >>> len(list(layers.parameters()))
        6
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _key(self, index: SupportsIndex) -> str:
        # The names are the places, unless modules were added by others.
        name = str(_position(index, len(self._modules)))
        return name if name in self._modules else super()._key(index)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Module | Self:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Neighbours that look alike are shown once, with their number."""
        shown = [(name, repr(module)) for name, module in self._modules.items()]
        if not shown:
            return f"{self._get_name()}()"
        lines = []
        for text, group in itertools.groupby(shown, lambda item: item[1]):
            names = [name for name, _ in group]
            head = f"({names[0]}): " if len(names) == 1 else f"({names[0]}-{names[-1]}): {len(names)} x "
            lines.append("  " + (head + text).replace("\n", "\n  "))
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict whose modules are registered under their keys, in the order of insertion; it has no `forward`.

    Keys are strings without a dot that name no attribute (KeyError), values modules (TypeError).

    Example:
        >>> import tandem
        >>> m = tandem.nn.ModuleDict({"a": tandem.nn.ReLU()})
        >>> "a" in m, list(m)
        (True, ['a'])
    """

    _modules: dict[str, Module]  # type: ignore[assignment]  # none is None

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module under `key`."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Pairs of key and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add the modules of a mapping or of pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleDict.update should be called with a mapping or pairs, but got {type(modules)}")
        pairs: Any = modules.items() if hasattr(modules, "items") else modules
        for i, pair in enumerate(pairs):
            if not isinstance(pair, Collection):
                raise TypeError(f"ModuleDict update sequence element #{i} should be a pair; is {type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"ModuleDict update sequence element #{i} has to be a pair of key and module")
            key, module = pair
            self[key] = module


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; anything else is kept as it is."""
    if isinstance(value, tandem.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(value: Any, elements: Any = None) -> str:
    if isinstance(value, tandem.Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        return f"{kind} containing: [{elements or value.dtype} of size {'x'.join(map(str, value.shape))}]"
    return f"Object of type: {type(value).__name__}"


class ParameterList(Module):
    """A list of parameters; tensors put in become parameters, other values are kept as they are.

    An index is a value (IndexError where there is none), a slice a `ParameterList`. RuntimeError when called.

    Example:
        >>> import tandem
        >>> ps = tandem.nn.ParameterList([tandem.zeros(2), tandem.ones(3)])
        >>> len(list(ps.parameters()))
        2
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(len(self))))
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: SupportsIndex, value: Any) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a value at the end; returns self."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end; returns self."""
        if not isinstance(values, Iterable) or isinstance(values, tandem.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_describe(value)}" for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters; tensors put in become parameters, other values are kept as they are.

    Keys are strings (TypeError), in the order of insertion, of a dict in their own; KeyError for one that there is
    not. RuntimeError when called.

    Example:
        >>> import tandem
        >>> ps = tandem.nn.ParameterDict({"w": tandem.zeros(2)})
        >>> [name for name, _ in ps.named_parameters()]
        ['w']
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict keys have to be strings, got {type(key).__name__}")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        self[key]
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __or__(self, other: ParameterDict) -> ParameterDict:
        together = self.copy()
        together.update(other)
        return together

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict(other.items()) | self

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def keys(self) -> Iterable[str]:
        """The keys, in the order of insertion."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of key and value."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value under `key`, or `default`."""
        return self[key] if key in self else default

    def pop(self, key: str) -> Any:
        """Remove and return the value under `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the key and value that were added last; KeyError if there are none."""
        if not self._keys:
            raise KeyError("popitem(): ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under `key`, which is `default` from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new ParameterDict with `default` under each of the keys."""
        return ParameterDict([(key, default) for key in keys])

    def copy(self) -> ParameterDict:
        """A new ParameterDict of the same values."""
        return ParameterDict(self.items())

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | ParameterDict) -> None:
        """Add the values of a mapping or of pairs; those of a mapping that is neither an OrderedDict nor a
        ParameterDict in the order of their keys."""
        pairs: Any = parameters.items() if hasattr(parameters, "items") else parameters
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs, key=operator.itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_describe(value, tandem.typename(value))}" for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
