"""`Module`: a tree of parameters, buffers and submodules with a `forward`.

Map: attribute rules (`__setattr__` and its like sort parameters, buffers and modules into their dicts) · registration ·
calling (hooks are in `hook_methods.py`) · walking the tree (conversions are in `conversion.py`) · flags · state (in
`state_dict.py`) · `repr`.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import tandem
from tandem.nn import state_dict as _state
from tandem.nn.conversion import ConversionMethods, type_name
from tandem.nn.global_hooks import (
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    registered,
)
from tandem.nn.hook_methods import HOOK_DICTS, HookMethods
from tandem.nn.parameter import Buffer, Parameter, forget_gradient

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Module"]


class Module(HookMethods, ConversionMethods):
    """Base class of all neural network modules.

    A subclass calls `super().__init__()`, assigns parameters, buffers and modules as attributes, and defines `forward`.

    Example:
        >>> import tandem
        >>> class Affine(tandem.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = tandem.nn.Parameter(tandem.full((2,), 3.0))
        ...     def forward(self, x):
        ...         return x * self.scale
        >>> Affine()(tandem.ones(2)).tolist()
        [3.0, 3.0]
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, tandem.Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _version = 1  # of the layout of this class's entries in a state_dict

    # Whether the arguments of the constructor are for the next class in line, of several that a class derives from.
    call_super_init: ClassVar[bool] = False
    dump_patches: ClassVar[bool] = False  # of no effect, as in PyTorch

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            given = next(iter(kwargs)) if kwargs else None
            what = (
                f"got an unexpected keyword argument '{given}'" if given else f"takes 1 argument, {len(args) + 1} given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {what}")
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        for name in HOOK_DICTS:
            own[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        tandem._C._quicken_module(cls, Module.__getattr__, Module.__call__)

    # --- attributes -------------------------------------------------------------------------------------------------

    # This and `__call__` say what is meant; python/src/module_slots.cpp does the same without frames.
    def __getattr__(self, name: str) -> tandem.Tensor | Module:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            found = own.get(kind)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        params = own.get("_parameters")
        # Most values are neither, which is soon known.
        may_be_either = isinstance(value, tandem.Tensor) and type(value) is not tandem.Tensor
        if may_be_either and isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' (tandem.nn.Parameter or None expected)"
                )
            params[name] = None
        elif isinstance(value, Module):
            if params is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, keep="_modules")
            own["_modules"][name] = registered(_global_module_registration_hooks, self, name, value)
        elif params is not None and name in own["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' (tandem.nn.Module or None expected)"
                )
            own["_modules"][name] = registered(_global_module_registration_hooks, self, name, None)
        elif (may_be_either and isinstance(value, Buffer)) or (params is not None and name in own["_buffers"]):
            if params is None:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            if value is not None and not isinstance(value, tandem.Tensor):
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as buffer '{name}' (tandem.nn.Buffer, tandem.Tensor or None "
                    "expected)"
                )
            if name in own["_buffers"]:
                own["_buffers"][name] = registered(_global_buffer_registration_hooks, self, name, value)
                if may_be_either and isinstance(value, Buffer):
                    unsaved = own["_non_persistent_buffers_set"]
                    (unsaved.discard if value.persistent else unsaved.add)(name)
            elif isinstance(value, Buffer):
                # An override may know of no other buffers than those that are saved.
                self.register_buffer(name, value, *(() if value.persistent else (False,)))
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in own[kind]:
                del own[kind][name]
                own["_non_persistent_buffers_set"].discard(name)
                break
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        own = self.__dict__
        names = {*dir(type(self)), *own, *own["_parameters"], *own["_buffers"], *own["_modules"]}
        return sorted(n for n in names if not n[:1].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        for name in HOOK_DICTS:
            own.setdefault(name, OrderedDict())
        own.setdefault("_non_persistent_buffers_set", set())

    def _forget(self, name: str, keep: str) -> None:
        """Remove `name` from wherever it is but the dict `keep`, where a new value takes the old one's place."""
        own = self.__dict__
        own.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != keep:
                own[kind].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    # --- registration -----------------------------------------------------------------------------------------------

    def _check_name(self, name: object, what: str, taken: dict[str, Any]) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type_name(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in taken:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`; None keeps the name without a parameter.

        Raises KeyError for a bad or taken name, TypeError for anything but a `Parameter`, ValueError for a parameter
        that was computed from others.
        """
        self._check_name(name, "parameter", self.__dict__.get("_parameters", {}))
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type_name(param)}' object to parameter '{name}' (tandem.nn.Parameter or None "
                    "required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    "explicitly. To express a parameter as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = registered(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: tandem.Tensor | None, persistent: bool = True) -> None:
        """Add a buffer under `name`: state that is no parameter. Only persistent ones are in the `state_dict`.

        Raises KeyError for a bad or taken name, TypeError for anything but a tensor or None.

        Example:
            >>> import tandem
            >>> m = tandem.nn.Module()
            >>> m.register_buffer("steps", tandem.zeros(1))
            >>> m.steps, list(m.state_dict())
            (tensor([0.]), ['steps'])
        """
        self._check_name(name, "buffer", self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, tandem.Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (tandem.Tensor or None required)"
            )
        self._buffers[name] = registered(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name(name, "module", self.__dict__.get("_modules", {}))
        self._modules[name] = registered(_global_module_registration_hooks, self, name, module)

    register_module = add_module

    # --- calling ----------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        if not (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile `forward` in place: calls of this module run what `tandem.compile(module, ...)` would."""
        object.__setattr__(self, "forward", tandem.compile(self.forward, *args, **kwargs))

    # --- walking the tree -------------------------------------------------------------------------------------------

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or (remove_duplicate and id(member) in seen):
                    continue
                seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs of dotted name and parameter, each parameter once unless `remove_duplicate` is False.

        Example:
            >>> import tandem
            >>> net = tandem.nn.Sequential(tandem.nn.Linear(2, 3), tandem.nn.ReLU())
            >>> [(name, tuple(p.shape)) for name, p in net.named_parameters()]
            [('0.weight', (3, 2)), ('0.bias', (3,))]
        """
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of the module, and of its children if `recurse`."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, tandem.Tensor]]:
        """Pairs of dotted name and buffer, each buffer once."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[tandem.Tensor]:
        """The buffers of the module, and of its children if `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs of name and direct child, each child once."""
        seen: set[int] = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Module]:
        """The direct children."""
        seen: set[int] = set()
        for child in self._modules.values():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield child

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Pairs of dotted name and module: this one (named by `prefix`) and all below it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, each once unless `remove_duplicate` is false."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def get_submodule(self, target: str) -> Module:
        """The module at the dotted path `target`; AttributeError if there is none."""
        module: Module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at the dotted path `target`; with `strict` there must be one already (AttributeError)."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        if not isinstance(module, Module):
            raise ValueError(f'"module" is not an nn.Module, found {type(module)}')
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path `target`; AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module._parameters:
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return module._parameters[name]  # type: ignore[return-value]  # None where the name has no parameter

    def get_buffer(self, target: str) -> tandem.Tensor:
        """The buffer at the dotted path `target`; AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]  # type: ignore[return-value]  # None where the name has no buffer

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` on every module below and then on this one, for initialisation for example; returns the module.

        Example:
            >>> import tandem
            >>> net = tandem.nn.Sequential(tandem.nn.Linear(2, 2), tandem.nn.ReLU())
            >>> _ = net.apply(lambda module: print(type(module).__name__))
            Linear
            ReLU
            Sequential
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # --- flags ------------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below; `Dropout` and its like read it as `self.training`."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters here and below take part in differentiation."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or fill them with zeros if not `set_to_none`."""
        for param in self.parameters():
            forget_gradient(param, set_to_none)

    # --- state ------------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Further state for the `state_dict`; define it together with `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} defines no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} defines no extra state")

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        extra = type(self).get_extra_state is not Module.get_extra_state
        _state.save_own(self, destination, prefix, keep_vars, extra)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        extra = type(self).set_extra_state is not Module.set_extra_state
        lists = missing_keys, unexpected_keys, error_msgs
        _state.load_own(self, state_dict, prefix, local_metadata, strict, *lists, extra)

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, detached (unless `keep_vars`) but sharing storage.

        The arguments by place, in this order, are deprecated.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=, prefix=, "
                "keep_vars=)",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and not prefix else prefix
            keep_vars = args[2] if len(args) > 2 and not keep_vars else keep_vars
        if destination is None:
            made: Any = OrderedDict()
            made._metadata = OrderedDict()
            destination = made
        return _state.collect(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _state.IncompatibleKeys:
        """Copy values of `state_dict` into the module (with `assign`, take its tensors themselves).

        Returns the missing and unexpected keys. Raises RuntimeError listing them if `strict`, and whenever a shape
        differs.

        Example:
            >>> import tandem
            >>> net = tandem.nn.Linear(2, 2)
            >>> net.load_state_dict(tandem.nn.Linear(2, 2).state_dict())
            <All keys matched successfully>
        """
        return _state.load(self, state_dict, strict, assign)

    # --- text -------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses besides the children."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        if not children and len(extra) <= 1:
            return f"{self._get_name()}({''.join(extra)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra + children) + "\n)"


tandem._C._quicken_module(Module, Module.__getattr__, Module.__call__)
