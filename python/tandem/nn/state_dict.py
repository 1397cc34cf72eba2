"""Reading and writing a module's state: the two halves of `state_dict` and `load_state_dict`."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tandem
from tandem import __future__
from tandem.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from tandem.nn.module import Module

__all__ = ["IncompatibleKeys"]

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found on one side only: names of the module, and names of the state.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.Linear(2, 3)
        >>> layer.load_state_dict({"weight": tandem.zeros(3, 2), "scale": tandem.ones(1)}, strict=False)
        _IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['scale'])
        >>> layer.load_state_dict(layer.state_dict())
        <All keys matched successfully>
    """

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def __str__(self) -> str:
        return repr(self)


IncompatibleKeys.__name__ = IncompatibleKeys.__qualname__ = "_IncompatibleKeys"  # PyTorch's name
_IncompatibleKeys = IncompatibleKeys


def _persistent(module: Module) -> dict[str, tandem.Tensor | None]:
    """The module's own parameters and persistent buffers by name, with those that are None."""
    if not module._buffers:
        return module._parameters  # type: ignore[return-value]  # nobody writes to it
    passing = module._non_persistent_buffers_set
    return {**module._parameters, **{name: b for name, b in module._buffers.items() if name not in passing}}


def collect(module: Module, destination: dict[str, Any], prefix: str, keep_vars: bool) -> dict[str, Any]:
    """Fill `destination` with the state of `module` and of its children."""
    described: dict[str, Any] | None = getattr(destination, "_metadata", None)
    if described is not None:
        described[prefix[:-1]] = {"version": module._version}
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    hooks = module._state_dict_hooks
    if hooks:
        metadata = {} if described is None else described.get(prefix[:-1], {})
        for hook in hooks.values():
            replaced = hook(module, destination, prefix, metadata)
            if replaced is not None:
                destination = replaced
    return destination


def save_own(module: Module, destination: dict[str, Any], prefix: str, keep_vars: bool, extra: bool) -> None:
    """Write what `module` itself holds into `destination`, and its extra state if it has any."""
    for name, tensor in _persistent(module).items():
        if tensor is not None:
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
    if extra:
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def _swap(target: tandem.Tensor, value: tandem.Tensor, assign: bool) -> None:
    """Swap `target` with what its `module_load` makes of `value`."""
    with tandem.no_grad():
        new = target.module_load(value, assign=assign)
    if new is value or new is target:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in "
            "module_load"
        )
    if isinstance(target, Parameter):
        wanted = target.requires_grad
        new = new.requires_grad_(wanted) if isinstance(new, Parameter) else Parameter(new, requires_grad=wanted)
    tandem.utils.swap_tensors(target, new)


def _load_tensor(module: Module, name: str, target: tandem.Tensor, key: str, value: Any, assign: bool) -> str | None:
    """Copy `value` into the module's parameter or buffer `name`, or put it in its place; what is wrong, if anything."""
    if not isinstance(value, tandem.Tensor):
        return (
            f'While copying the parameter named "{key}", expected a tensor from checkpoint but received {type(value)}'
        )
    if is_lazy(value) and is_lazy(target):
        return None  # neither has a shape yet
    if value.shape != target.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
    if target.is_meta and not value.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
            "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
            "state dictionary to their corresponding key in the module instead of copying them in place?)",
            stacklevel=3,
        )
    if __future__.get_swap_module_params_on_conversion():
        _swap(target, value, assign)
    elif assign:
        if isinstance(target, Parameter) and not isinstance(value, Parameter):
            value = Parameter(value, requires_grad=target.requires_grad)
        setattr(module, name, value)
    else:
        target.copy_(value)
    return None


def load_own(
    module: Module,
    state: dict[str, Any],
    prefix: str,
    metadata: dict[str, Any],
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
    extra: bool,
) -> None:
    """Copy what belongs to `module` itself out of `state`, and its extra state if it takes any; problems are appended
    to the three lists."""
    for hook in module._load_state_dict_pre_hooks.values():
        hook(module, state, prefix, metadata, strict, missing, unexpected, errors)
    assign = metadata.get("assign_to_params_buffers", False)
    own = _persistent(module)
    if own:
        with tandem.no_grad():
            for name, target in list(own.items()):
                if target is None:
                    continue
                key = prefix + name
                if key in state:
                    wrong = _load_tensor(module, name, target, key, state[key], assign)
                    if wrong is not None:
                        errors.append(wrong)
                elif strict:
                    missing.append(key)

    if extra:
        key = prefix + EXTRA_STATE
        if key in state:
            module.set_extra_state(state[key])
        elif strict:
            missing.append(key)
    if strict:
        start, children = len(prefix), module._modules
        for key in state:
            if key.startswith(prefix):
                head, dot, _ = key[start:].partition(".")
                if dot and head in children:
                    continue
                name = key[start:]
                known = own.get(name) is not None or (extra and name == EXTRA_STATE)
                if not known or name in children:
                    unexpected.append(key)


def _load_tree(
    module: Module,
    prefix: str,
    visible: dict[str, Any],
    metadata: dict[str, Any],
    assign: bool,
    problems: tuple[list[str], list[str], list[str]],
) -> None:
    """Load what `visible` has under `prefix` into `module` and its children; problems are appended to the lists of
    missing and unexpected keys and of errors."""
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(visible, prefix, local, True, *problems)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = {k: v for k, v in visible.items() if k.startswith(inner)}
            _load_tree(child, inner, part, metadata, assign, problems)
    keys = IncompatibleKeys(*problems[:2])
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError("a load_state_dict post-hook must change the keys in place and return None")


def load(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Load `state_dict` into `module` and its children; raises RuntimeError listing everything that does not fit."""
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    metadata = getattr(state_dict, "_metadata", None)
    state = OrderedDict(state_dict)

    _load_tree(module, "", state, metadata or {}, assign, (missing, unexpected, errors))
    if strict:
        if unexpected:
            errors.insert(0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected)))
        if missing:
            errors.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing)))
    if errors:
        raise RuntimeError(
            "Error(s) in loading state_dict for {}:\n\t{}".format(type(module).__name__, "\n\t".join(errors))
        )
    return IncompatibleKeys(missing, unexpected)
