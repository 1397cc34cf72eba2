"""The part of `Module` that registers hooks and runs them around `forward`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tandem.nn.global_hooks import (
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
)
from tandem.nn.hooks import BackwardBoundary, RegularBackwardHook, RemovableHandle, add_hook

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HOOK_DICTS", "HookMethods"]

HOOK_DICTS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
)


class _WithoutModule:
    """A hook that is not called with its module. An object and no closure, so that modules can be pickled."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.hook(*args)


class _InPlace:
    """A hook of `state_dict` that must return nothing."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, *args: Any) -> None:
        if self.hook(*args) is not None:
            raise RuntimeError("state_dict post-hook must return None: it changes the dict in place")


class HookMethods:
    """The hooks of a module; `Module` derives from it and holds the dicts named in `HOOK_DICTS`.

    Every `register_...` method returns a `RemovableHandle`. Hooks run in the order of registration, those registered
    with `prepend` first, and in compiled functions are part of what was traced.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        >>> layer(tandem.ones(2))
        tensor([2., 2.])
        >>> handle.remove()
        >>> layer(tandem.ones(2))
        tensor([1., 1.])
    """

    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_hooks: dict[int, Callable[..., Any]]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _backward_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]

    forward: Callable[..., Any]

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        try:
            for key, hook in [*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
                if key in self._forward_pre_hooks_with_kwargs:
                    replaced = hook(self, args, kwargs)
                    if replaced is not None:
                        if not (isinstance(replaced, tuple) and len(replaced) == 2):
                            raise RuntimeError(
                                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                f"{replaced}."
                            )
                        args, kwargs = replaced
                else:
                    replaced = hook(self, args)
                    if replaced is not None:
                        args = replaced if isinstance(replaced, tuple) else (replaced,)
            boundary = None
            backward_hooks = [*_global_backward_hooks.values(), *self._backward_hooks.values()]
            backward_pre_hooks = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
            if backward_hooks or backward_pre_hooks:
                boundary = BackwardBoundary(self, backward_hooks, backward_pre_hooks)
                args = boundary.wrap_inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook in [*_global_forward_hooks.items(), *self._forward_hooks.items()]:
                called.add(key)
                result = self._run_forward_hook(key, hook, args, kwargs, result)
            return result if boundary is None else boundary.wrap_outputs(result)
        except Exception:
            # Hooks with always_call=True run although the call failed; the first error is the one to report.
            always = {**_global_forward_hooks_always_called, **self._forward_hooks_always_called}
            for key, hook in [*_global_forward_hooks.items(), *self._forward_hooks.items()]:
                if key in always and key not in called:
                    try:
                        self._run_forward_hook(key, hook, args, kwargs, None)
                    except Exception:  # noqa: S110
                        pass
            raise

    def _run_forward_hook(self, key: int, hook: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> Any:
        if key in self._forward_hooks_with_kwargs or key in _global_forward_hooks_with_kwargs:
            replaced = hook(self, args, kwargs, result)
        else:
            replaced = hook(self, args, result)
        return result if replaced is None else replaced

    def _add_hook(self, kind: str, hook: Callable[..., Any], prepend: bool = False, **flags: bool) -> RemovableHandle:
        own = self.__dict__
        return add_hook(own[kind], hook, prepend, [(own[name], wanted) for name, wanted in flags.items()])

    def register_forward_pre_hook(
        self,
        hook: Callable[[Self, tuple[Any, ...]], Any] | Callable[[Self, tuple[Any, ...], dict[str, Any]], Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; a returned value replaces the positional arguments.

        With `with_kwargs`, `hook(module, args, kwargs)` may return `(new_args, new_kwargs)`.
        """
        return self._add_hook("_forward_pre_hooks", hook, prepend, _forward_pre_hooks_with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook: Callable[[Self, tuple[Any, ...], Any], Any] | Callable[[Self, tuple[Any, ...], dict[str, Any], Any], Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a returned value replaces the output.

        With `with_kwargs` the hook takes `(module, args, kwargs, output)`; with `always_call` it runs although
        `forward` raised.
        """
        return self._add_hook(
            "_forward_hooks",
            hook,
            prepend,
            _forward_hooks_with_kwargs=with_kwargs,
            _forward_hooks_always_called=always_call,
        )

    def _need_one_kind(self, others: bool) -> None:
        if others:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )

    def register_backward_hook(self, hook: Callable[[Self, Any, Any], Any]) -> RemovableHandle:
        """Deprecated for `register_full_backward_hook`: call `hook(module, grad_input, grad_output)` when the last
        operation of the module passes its gradients on; `grad_input` are those of that operation.

        A returned tuple replaces them. RuntimeError where the module has full backward hooks.
        """
        self._need_one_kind(bool(self._backward_hooks))
        return self._add_hook("_forward_hooks", RegularBackwardHook(hook))

    def register_full_backward_hook(
        self, hook: Callable[[Self, Any, Any], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        A returned tuple replaces `grad_input`. RuntimeError where the module has hooks of `register_backward_hook`.
        """
        self._need_one_kind(any(isinstance(h, RegularBackwardHook) for h in self._forward_hooks.values()))
        return self._add_hook("_backward_hooks", hook, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[[Self, Any], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's own backward; a returned value replaces it."""
        return self._add_hook("_backward_pre_hooks", hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable[[Self, str, bool], None]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's part of `state_dict` is collected."""
        return self._add_hook("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(
        self, hook: Callable[[Self, dict[str, Any], str, dict[str, Any]], Any]
    ) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after it was; the hook changes it in place.

        `state_dict` raises RuntimeError where the hook returns something.
        """
        return self._add_hook("_state_dict_hooks", _InPlace(hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form: what the hook returns, unless it is None, takes the place of the dict."""
        return self._add_hook("_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return self._add_hook("_load_state_dict_pre_hooks", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return self._add_hook("_load_state_dict_pre_hooks", hook if with_module else _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[[Self, Any], None]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the two lists in place."""
        return self._add_hook("_load_state_dict_post_hooks", hook)
