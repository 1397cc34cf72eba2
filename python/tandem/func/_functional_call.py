"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tandem import _C
from tandem._C import Tensor

if TYPE_CHECKING:
    from tandem.nn import Module, ModuleList

__all__ = ["functional_call", "stack_module_state"]

#: Of an attribute that a module does not have.
_ABSENT = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    Args:
        module: what to call; it is as before afterwards.
        parameter_and_buffer_dicts: tensors by the names that `named_parameters` and `named_buffers` give, or a
            sequence of such dicts without a name in common. Names that are absent keep the module's own; a name that
            the module lacks is an attribute of it during the call. A buffer that the call assigns anew is written back
            to the dict, where one dict is given; the module keeps its own.
        args: the arguments; one that is no tuple is the only one.
        kwargs: keyword arguments.
        tie_weights: a tensor given for one of several names of one parameter stands for all of them.
        strict: every parameter and buffer must be given (one of those that are tied), and nothing else.

    TypeError for what is no tensor, or stands for what is none.

    >>> import tandem
    >>> layer = tandem.nn.Linear(2, 1)
    >>> given = {"weight": tandem.ones(1, 2), "bias": tandem.zeros(1)}
    >>> tandem.func.functional_call(layer, given, tandem.ones(2))
    tensor([2.])
    """
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _Loan(module, parameter_and_buffer_dicts, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def reparametrized(
    module: Module, parameters_and_buffers: dict[str, Tensor], *, tie_weights: bool = False, strict: bool = False
) -> AbstractContextManager[None]:
    """`module` has the given tensors in a `with` block, as in a call by `functional_call`.

    >>> import tandem
    >>> from tandem.func._functional_call import reparametrized
    >>> layer = tandem.nn.Linear(2, 1)
    >>> with reparametrized(layer, {"weight": tandem.ones(1, 2), "bias": tandem.zeros(1)}):
    ...     layer(tandem.ones(2))
    tensor([2.])
    """
    return _Loan(module, parameters_and_buffers, tie_weights, strict)


class _Loan:
    """Tensors in place of a module's in a `with` block: `functional_call` says which."""

    def __init__(self, module: Any, dicts: Any, tie_weights: bool, strict: bool) -> None:
        self.dicts = dicts
        given = _merged(dicts)
        if strict or tie_weights:
            slots = _slots(module)
            tied = _tied(slots, given) if tie_weights else given
            unknown = sorted(repr(n) for n in given if n not in slots and _slot(module, n) is None)
            missing = sorted(repr(n) for n in slots if n not in tied)
            if strict and (unknown or missing):
                text = [f"Unexpected key(s): {', '.join(unknown)}."] if unknown else []
                text += [f"Missing key(s): {', '.join(missing)}."] if missing else []
                raise RuntimeError("\n\t".join([f"Error(s) in reparametrizing for {type(module).__name__}:", *text]))
            given = tied
        self.places: list[tuple[Any, ...]] = []
        self.extra: list[tuple[Any, ...]] = []
        for name, value in given.items():
            if not (value is None or isinstance(value, _C.Tensor)):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            slot = _slot(module, name)
            if slot is None:
                self.extra.append(_extra(module, name, value))
            else:
                self.places.append((name, slot[0], slot[1], value))
        self.lent: list[tuple[Any, ...]] = []
        self.added: list[tuple[Any, ...]] = []

    def __enter__(self) -> None:
        try:
            for name, holder, key, value in self.places:
                self.lent.append((name, holder, key, value, holder[key]))
                _C._lend(holder, key, value)
            for owner, key, value in self.extra:
                self.added.append((owner, key, getattr(owner, key, _ABSENT)))
                setattr(owner, key, value)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        for owner, key, was in reversed(self.added):
            if was is not _ABSENT:
                setattr(owner, key, was)
            elif hasattr(owner, key):
                delattr(owner, key)
        # Where the module assigned another tensor, that is what the caller's dict holds from now on.
        for name, holder, key, value, was in reversed(self.lent):
            now = holder.get(key, value)
            _C._lend(holder, key, was)
            if now is not value and isinstance(self.dicts, dict) and name in self.dicts:
                self.dicts[name] = now


def _extra(module: Any, name: str, value: Any) -> tuple[Any, str, Any]:
    """(module, attribute, value) for a name that is neither a parameter nor a buffer."""
    *path, key = name.split(".")
    for part in path:
        inner = module._modules.get(part)
        if inner is None:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = inner
    now = getattr(module, key, value)
    if not (now is None or isinstance(now, _C.Tensor)):
        raise TypeError(f"attribute `{key}`: {now} is not an instance of torch.Tensor")
    return module, key, value


def _merged(dicts: Any) -> dict[str, Any]:
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for d in dicts for name, value in d.items()}


def _slots(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is kept: (dict, key) by name. A module within itself is not entered again."""
    slots = {}

    def walk(m: Any, prefix: str, above: tuple[Any, ...]) -> None:
        for holder in (m._parameters, m._buffers):
            for key, value in holder.items():
                if value is not None:
                    slots[prefix + key] = holder, key
        for name, child in m._modules.items():
            if child is not None and not any(child is a for a in above):
                walk(child, f"{prefix}{name}.", (*above, child))

    walk(module, "", (module,))
    return slots


def _slot(module: Any, name: str) -> tuple[dict[str, Any], str] | None:
    """Where the parameter or buffer called `name` is kept, None if there is none: the path may run in circles."""
    *path, key = name.split(".")
    for part in path:
        module = module._modules.get(part)
        if module is None:
            return None
    for holder in (module._parameters, module._buffers):
        if key in holder:
            return holder, key
    return None


def _tied(slots: dict[str, tuple[dict[str, Any], str]], given: dict[str, Any]) -> dict[str, Any]:
    groups: dict[int, list[str]] = {}
    for name, (holder, key) in slots.items():
        groups.setdefault(id(holder[key]), []).append(name)
    result = dict(given)
    for names in groups.values():
        values = [given[n] for n in names if n in given]
        if not values or len(names) == 1:
            continue
        if any(v is not values[0] for v in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                f"tie_weights=False"
            )
        result.update(dict.fromkeys(names, values[0]))
    return result


def stack_module_state(
    models: Sequence[Module] | ModuleList,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Parameters and buffers of several modules of one kind, each stacked along a new first dim.

    With `vmap` and `functional_call` they run as one. The stacks are new leaves that require gradients as the originals
    do. RuntimeError if there is no module, their classes differ, or only some are in training mode.

    >>> import tandem
    >>> models = [tandem.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = tandem.func.stack_module_state(models)
    >>> params["weight"].shape
    tandem.Size([3, 1, 2])
    >>> run = lambda p, b, x: tandem.func.functional_call(models[0], (p, b), x)
    >>> tandem.vmap(run, in_dims=(0, 0, None))(params, buffers, tandem.ones(5, 2)).shape
    tandem.Size([3, 5, 1])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {
        name: _stacked(name, [dict(m.named_parameters())[name] for m in models])
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked(name, [dict(m.named_buffers())[name] for m in models]) for name, _ in models[0].named_buffers()
    }
    return params, buffers


def _stacked(name: str, tensors: list[Any]) -> Any:
    wanted = tensors[0].requires_grad
    if any(t.requires_grad != wanted for t in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return _C.stack([t.detach() for t in tensors]).requires_grad_(wanted)
