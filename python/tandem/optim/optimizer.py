"""`Optimizer`: parameter groups with their hyperparameters, and a state for each parameter.

A subclass creates state, bumps the version when it does, and updates in `step`; `_group_step.py` has what most of them
share.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias, TypeVar, overload

import tandem
from tandem import _C, Tensor
from tandem.nn.hooks import RemovableHandle
from tandem.nn.parameter import forget_gradient

__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


R = TypeVar("R")

#: What optimizers take: parameters, pairs of name and parameter, or groups.
ParamsT: TypeAlias = Iterable[Tensor | tuple[str, Tensor] | dict[str, Any]]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


_global_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_post_hooks: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer; it may return new (args, kwargs).

    Returns a handle whose `remove()` ends that.

    >>> import tandem
    >>> from tandem.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
    >>> tandem.optim.SGD([tandem.ones(1, requires_grad=True)], lr=0.1).step()
    before
    >>> handle.remove()
    """
    return _add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer.

    Returns a handle whose `remove()` ends that.

    >>> import tandem
    >>> from tandem.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("after"))
    >>> tandem.optim.SGD([tandem.ones(1, requires_grad=True)], lr=0.1).step()
    after
    >>> handle.remove()
    """
    return _add_hook(_global_post_hooks, hook)


def _add_hook(hooks: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def single_element(name: str, value: Any) -> None:
    """ValueError for a hyperparameter that is a tensor of more than one element."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")


class _HooksWhenAsked:
    """The hooks of an optimizer whose class did not call `Optimizer.__init__`, made when they are first asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, optimizer: Any, owner: type | None = None) -> OrderedDict[int, Any]:
        made: OrderedDict[int, Any] = OrderedDict()
        if optimizer is not None:
            optimizer.__dict__[self.name] = made
        return made


class Optimizer:
    """Base class of optimizers: a subclass defines `step`, which updates the parameters of each of `param_groups`.

    Args:
        params: parameters, pairs of name and parameter, or dicts with "params" and hyperparameters of their own.
        defaults: hyperparameters of groups that do not give theirs.

    Raises:
        TypeError: `params` is a tensor, or holds something else than tensors.
        ValueError: there is none, one comes twice, is no leaf, or a hyperparameter is out of its range.

    All optimizers but `LBFGS` take `maximize` (climb instead of descend) and `differentiable` (steps get a history of
    their own); `foreach`, `fused` and `capturable` choose between implementations that are one here. Rates and betas
    may be tensors of one element. Parameters without a gradient are left alone.

    Example:
        >>> import tandem
        >>> class Descent(tandem.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     def step(self):
        ...         with tandem.no_grad():
        ...             for group in self.param_groups:
        ...                 for p in group["params"]:
        ...                     p.sub_(p.grad * group["lr"])
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> Descent([w], lr=0.25).step()
        >>> w.tolist()
        [0.5]
    """

    # State that is one number of its own precision: a count of steps.
    scalar_state = frozenset({"step"})

    _step_was_called = False  # for the schedules' warning about the order of calls
    _step_at_schedule: Any = None  # a `step` of the instance's own when the last schedule was made
    #: Does `step` change nothing but parameters and tensors of their state, once these are there?
    _in_tensors: ClassVar[bool] = False
    _repeats = False  # does a group hold a parameter twice?
    _step_pre_hooks = _HooksWhenAsked()
    _step_post_hooks = _HooksWhenAsked()
    _state_dict_pre_hooks = _HooksWhenAsked()
    _state_dict_post_hooks = _HooksWhenAsked()
    _load_pre_hooks = _HooksWhenAsked()
    _load_post_hooks = _HooksWhenAsked()

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self._step_was_called = False
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._make_hook_dicts()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}"
            )
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_dicts(self) -> None:
        own = self.__dict__
        for name in _HOOK_DICTS:
            own[name] = OrderedDict()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the subclass's `step` so that hooks run around it."""
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_step_hooks(cls.__dict__["step"])  # type: ignore[method-assign]
            cls._in_tensors = cls.__dict__.get("_in_tensors", False)

    def _patch_step_function(self) -> None:
        """What optimizers that do not call `__init__` call: hooks run around `step` in every class as it is."""
        if "_step_pre_hooks" not in self.__dict__:
            self._make_hook_dicts()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_step_pre_hooks" not in self.__dict__:
            self._make_hook_dicts()
        self._repeats = any(_has_repeats(group["params"]) for group in self.param_groups)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            lines = [f"Parameter Group {i}", *(f"    {k}: {group[k]}" for k in sorted(group) if k != "params")]
            text += "\n" + "\n".join(lines) + "\n"
        return text + ")"

    # --- parameters -------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with hyperparameters of their own: `{"params": [...], "lr": 0.1}`."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, Tensor):
            given = [given]
        elif isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        params, names = [], []
        any_will_do = self.defaults.get("differentiable")
        for item in given:
            if isinstance(item, tuple):
                names.append(item[0])
                item = item[1]
            if not isinstance(item, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(item).__name__}")
            if not (any_will_do or item.is_leaf or item.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
            params.append(item)
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if self.param_groups and ("param_names" in self.param_groups[0]) != bool(names):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        if _has_repeats(params):
            self._repeats = True
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        groups = self.param_groups
        if groups and not {id(p) for p in params}.isdisjoint(id(p) for g in groups for p in g["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        # The dict itself, as in PyTorch: who made it goes on to read and change the group by it.
        group = param_group
        group["params"] = params
        if names:
            group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros if not `set_to_none`."""
        for group in self.param_groups:
            for param in group["params"]:
                forget_gradient(param, set_to_none)

    # --- steps ------------------------------------------------------------------------------------------------------

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], R]) -> R: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; a subclass defines it. `closure` computes the loss anew and is run first."""
        raise NotImplementedError

    def _step_where(self, condition: Tensor) -> bool:
        """`step()` where a tensor of one bool is true, which is not read: parameters and state become what they were
        where it is false. False, and nothing is done, where that is not all that a step does."""
        hooks = self._step_pre_hooks or self._step_post_hooks or _global_pre_hooks or _global_post_hooks
        if not self._in_tensors or hooks or self.defaults.get("differentiable"):
            return False
        tensors = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state.get(p)
                if not state and self._keeps_state(group):
                    return False  # this step makes it
                tensors.append(p)
                tensors += [value for value in (state or {}).values() if isinstance(value, Tensor)]
        recording = contextlib.nullcontext() if _C._is_recording() else tandem.lazy()
        with recording, tandem.no_grad():
            before = [tensor.clone() for tensor in tensors]
            self.step()
            for tensor, value in zip(tensors, before, strict=True):
                # Through `data`: a step counts as one write to a tensor however it is made.
                tensor.data.copy_(tandem.where(condition.to(tensor.device), tensor, value))
        return True

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        """Has every parameter of a group state after its first step?"""
        return True

    def _run_closure(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with tandem.enable_grad():
            return closure()

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return `(new_args, new_kwargs)`."""
        return self._add_hook(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._add_hook(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return self._add_hook(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another dict."""
        return self._add_hook(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before `load_state_dict`; it may return another dict."""
        return self._add_hook(self._load_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return self._add_hook(self._load_post_hooks, hook, prepend)

    def _add_hook(
        self, hooks: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return _add_hook(hooks, hook, prepend)

    # --- state ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """`{"state": state by parameter number, "param_groups": groups with numbers for parameters}`."""
        for hook in self._state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups: list[dict[str, Any]] = []
        for group in self.param_groups:
            first = sum(len(packed["params"]) for packed in groups)
            # Of a parameter that comes twice the number of its last place, as PyTorch numbers them.
            numbers.update({id(p): i for i, p in enumerate(group["params"], first) if id(p) not in numbers})
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers.get(id(key), key) if isinstance(key, Tensor) else key: v for key, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take hyperparameters and state from `state_dict`; ValueError if the groups do not fit.

        Tensors of the parameter's dtype and device are taken as they are, not copied: two optimizers that loaded one
        dict share them.
        """
        state_dict = dict(state_dict)
        for hook in self._load_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        owners = {
            number: param
            for group, packed in zip(groups, saved, strict=True)
            for number, param in zip(packed["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                state[owners[key]] = _adapt(value, owners[key], self.scalar_state)
            else:
                state[key] = value
        # The dicts and lists of the groups stay the same objects: schedulers and compiled functions hold them.
        for group, packed in zip(groups, saved, strict=True):
            params = group["params"]
            if "param_names" in group and "param_names" not in packed:
                packed["param_names"] = group["param_names"]
            group.clear()
            group.update(packed, params=params)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._load_post_hooks.values():
            hook(self)


_HOOK_DICTS = [name for name, value in vars(Optimizer).items() if isinstance(value, _HooksWhenAsked)]


def _has_repeats(params: list[Any]) -> bool:
    return len(set(map(id, params))) != len(params)


def complete_older_state(optimizer: Optimizer) -> None:
    """Adds what an older version of an optimizer did not save: options, and counts of steps, which were numbers."""
    for group in optimizer.param_groups:
        for name, default in optimizer.__dict__.get("defaults", {}).items():
            if default is not required:
                group.setdefault(name, default)
    for state in optimizer.state.values():
        if isinstance(state, dict) and isinstance(state.get("step"), (int, float)):
            state["step"] = tandem.tensor(float(state["step"]), dtype=tandem.float32)


def _adapt(value: Any, param: Tensor, scalars: frozenset[str], name: str = "") -> Any:
    """Saved state on the device and in the floating dtype of its parameter, itself where it is so; `scalars` keep
    their dtype."""
    if isinstance(value, Tensor):
        dtype = param.dtype if param.is_floating_point() and name not in scalars else value.dtype
        return value.to(device=param.device, dtype=dtype)
    if isinstance(value, dict):
        return {key: _adapt(v, param, scalars, key) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_adapt(v, param, scalars, name) for v in value)
    return value


def _with_step_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(step, "_runs_hooks", False):
        return step

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not self._step_was_called:
            tandem._C._makes_state()
            self._step_was_called = True
        if not (self._step_pre_hooks or self._step_post_hooks or _global_pre_hooks or _global_post_hooks):
            return step(self, *args, **kwargs)
        for hook in [*_global_pre_hooks.values(), *self._step_pre_hooks.values()]:
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"a step pre-hook must return None or (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        result = step(self, *args, **kwargs)
        for hook in [*self._step_post_hooks.values(), *_global_post_hooks.values()]:
            hook(self, args, kwargs)
        return result

    run.__dict__["_runs_hooks"] = True
    return run
