"""Hooks of all modules: called around every module's `forward` and backward, or when a module gets a member."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tandem
from tandem.nn.hooks import RegularBackwardHook, RemovableHandle, add_hook

if TYPE_CHECKING:
    from tandem.nn.module import Module

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_global_forward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_forward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_backward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_backward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
_global_parameter_registration_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_buffer_registration_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_module_registration_hooks: dict[int, Callable[..., Any]] = OrderedDict()

# While one of these has a hook, modules are called by Python's code.
tandem._C._watch_hooks(
    _global_forward_pre_hooks, _global_forward_hooks, _global_backward_pre_hooks, _global_backward_hooks
)


def register_module_forward_pre_hook(hook: Callable[[Module, tuple[Any, ...]], Any]) -> RemovableHandle:
    """Call `hook(module, args)` before every module's `forward` and the module's own hooks; a returned value replaces
    the positional arguments.

    Example:
        >>> import tandem
        >>> with tandem.nn.global_hooks.register_module_forward_pre_hook(lambda module, args: args[0] * 2):
        ...     tandem.nn.Identity()(tandem.ones(2))
        tensor([2., 2.])
    """
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's `forward` and before the module's own hooks; a returned
    value replaces the output.

    With `with_kwargs` the hook takes `(module, args, kwargs, output)`; with `always_call` it runs although `forward`
    raised.

    Example:
        >>> import tandem
        >>> net = tandem.nn.Sequential(tandem.nn.Linear(2, 3), tandem.nn.ReLU())
        >>> def show(module, args, output):
        ...     print(type(module).__name__, tuple(output.shape))
        >>> with tandem.nn.global_hooks.register_module_forward_hook(show):
        ...     _ = net(tandem.ones(1, 2))
        Linear (1, 3)
        ReLU (1, 3)
        Sequential (1, 3)
    """
    marks = ((_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call))
    return add_hook(_global_forward_hooks, hook, marks=marks)


def register_module_full_backward_pre_hook(hook: Callable[[Module, Any], Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before every module's backward; a returned value replaces the gradients.

    Example:
        >>> import tandem
        >>> x = tandem.ones(1, requires_grad=True)
        >>> with tandem.nn.global_hooks.register_module_full_backward_pre_hook(lambda module, grads: (grads[0] * 3,)):
        ...     tandem.nn.Identity()(x).backward()
        >>> x.grad
        tensor([3.])
    """
    return add_hook(_global_backward_pre_hooks, hook)


def register_module_backward_hook(hook: Callable[[Module, Any, Any], Any]) -> RemovableHandle:
    """Deprecated for `register_module_full_backward_hook`: call `hook(module, grad_input, grad_output)` when the last
    operation of a module passes its gradients on, for every module; `grad_input` are those of that operation.

    A returned tuple replaces them. RuntimeError where all modules have full backward hooks.

    Example:
        >>> import tandem
        >>> x = tandem.ones(1, requires_grad=True)
        >>> with tandem.nn.global_hooks.register_module_backward_hook(lambda module, gi, go: print(go)):
        ...     tandem.nn.ReLU()(x).backward()
        (tensor([1.]),)
    """
    _need_one_kind(bool(_global_backward_hooks))
    return add_hook(_global_forward_hooks, RegularBackwardHook(hook))


def _need_one_kind(has_other: bool) -> None:
    if has_other:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )


def register_module_full_backward_hook(hook: Callable[[Module, Any, Any], Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of a module's inputs are known, for every
    module; a returned tuple replaces `grad_input`. RuntimeError where there are hooks of
    `register_module_backward_hook`.

    Example:
        >>> import tandem
        >>> x = tandem.ones(1, requires_grad=True)
        >>> with tandem.nn.global_hooks.register_module_full_backward_hook(lambda module, gi, go: print(go)):
        ...     tandem.nn.ReLU()(x).backward()
        (tensor([1.]),)
    """
    _need_one_kind(any(isinstance(h, RegularBackwardHook) for h in _global_forward_hooks.values()))
    return add_hook(_global_backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[[Module, str, Any], Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when any module gets a parameter; a returned parameter replaces it.

    Example:
        >>> import tandem
        >>> with tandem.nn.global_hooks.register_module_parameter_registration_hook(lambda m, name, p: print(name)):
        ...     _ = tandem.nn.Linear(2, 2)
        weight
        bias
    """
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[[Module, str, Any], Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when any module gets a buffer; a returned tensor replaces it.

    Example:
        >>> import tandem
        >>> with tandem.nn.global_hooks.register_module_buffer_registration_hook(lambda m, name, b: print(name)):
        ...     tandem.nn.Module().register_buffer("steps", tandem.zeros(1))
        steps
    """
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[[Module, str, Any], Any]) -> RemovableHandle:
    """Call `hook(module, name, child)` when any module gets a child; a returned module replaces it.

    Example:
        >>> import tandem
        >>> with tandem.nn.global_hooks.register_module_module_registration_hook(lambda m, name, child: print(name)):
        ...     _ = tandem.nn.Sequential(tandem.nn.ReLU())
        0
    """
    return add_hook(_global_module_registration_hooks, hook)


def registered(hooks: dict[int, Callable[..., Any]], module: Module, name: str, member: Any) -> Any:
    """What `module` gets as `name`: `member`, or what the hooks have in its place."""
    for hook in hooks.values():
        replaced = hook(module, name, member)
        if replaced is not None:
            member = replaced
    return member
