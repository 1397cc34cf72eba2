"""`GradScaler`: gradients of float16 computations scaled up, so that small ones do not become zero."""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tandem import _C
from tandem._C import Tensor
from tandem._foreach import FOREACH
from tandem.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from tandem.optim import Optimizer

__all__ = ["GradScaler"]

T = TypeVar("T")


def _any_infinite(tensors: list[Tensor]) -> Tensor:
    """Is any element of the tensors, which are on one device, infinite or NaN?"""
    if not _C._is_recording() and {*map(type, tensors)} <= {Tensor}:
        return _C._any_infinite(tensors).any()
    return functools.reduce(operator.or_, [(~t.isfinite()).any() for t in tensors])


def _adapt(
    scale: Tensor, tracker: Tensor, finite: Tensor, growth_factor: float, backoff_factor: float, growth_interval: int
) -> None:
    """Lowers the scale, or counts a good step and raises it after enough of them; nothing is read."""
    good = tracker + 1
    enough = good == growth_interval
    grown = scale * growth_factor
    raised = _C.where(enough & grown.isfinite(), grown, scale)
    scale.copy_(_C.where(finite, raised, scale * backoff_factor))
    tracker.copy_(_C.where(finite & ~enough, good, 0))


def _need_number(op: str, **tensors: Tensor) -> None:
    for name, t in tensors.items():
        if t.numel() != 1:
            raise RuntimeError(f"{op}: {name} must be a 1-element tensor, but its shape is {list(t.shape)}")


def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies the tensors by a number, in place; `found_inf` becomes 1 where one held an infinity or a NaN."""
    _need_number("_amp_foreach_non_finite_check_and_unscale_", found_inf=found_inf, inv_scale=inv_scale)
    with no_grad():
        if len(self):
            found_inf.copy_(_C.where(_any_infinite(list(self)), 1.0, found_inf))
            FOREACH["_foreach_mul_"](self, inv_scale.reshape(()))


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """The scale itself, lowered where `found_inf` is not 0, and else raised after so many good steps."""
    _need_number("_amp_update_scale_", scale=self, growth_tracker=growth_tracker, found_inf=found_inf)
    with no_grad():
        _adapt(self, growth_tracker, found_inf == 0, scale_growth_factor, scale_backoff_factor, growth_interval)
    return self


# The names of `tandem` by which other people's scalers know them.
STEPS_OF_SCALES = {f.__name__: f for f in (_amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_)}


class GradScaler:
    """Scales losses, so that gradients in float16 do not underflow, and unscales gradients before a step.

    A step whose gradients hold an infinity or a NaN is left out, and the scale is lowered; after a number of good steps
    it is raised.

    Args:
        device: "cpu" or "cuda"; "cuda" without a GPU warns and disables the scaler.
        init_scale: the first scale.
        growth_factor: by what it is raised.
        backoff_factor: by what it is lowered.
        growth_interval: after how many good steps it is raised.
        enabled: False makes `scale`, `step` and the rest do what a program without a scaler does.

    >>> import tandem
    >>> w = tandem.ones(2, requires_grad=True)
    >>> optimizer = tandem.optim.SGD([w], lr=0.5)
    >>> scaler = tandem.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(optimizer); scaler.update(); w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if device == "cuda" and enabled and not _C._device_count("cuda"):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor = init_scale, growth_factor
        self._backoff_factor, self._growth_interval = backoff_factor, growth_interval
        self._scale: Any = None
        # Good steps since the scale changed: a tensor as soon as the scale is one, until then what it begins with.
        self._growth_tracker: Any = None
        self._init_growth_tracker = 0
        # "states" is None, or after `scale` and until `update` by optimizer "ready", "unscaled" or "stepped", and
        # whether all gradients were finite, a tensor. It is lent, so that a compiled step is known to give it back.
        self._iteration: dict[str, Any] = {"states": None}

    def _need_scale(self, name: str) -> Any:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                f"scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    @overload
    def scale(self, outputs: Tensor) -> Tensor: ...
    @overload
    def scale(self, outputs: T) -> T: ...
    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            if self._scale is None:
                self._scale = _C.full((), float(self._init_scale), dtype=_C.float32, device=outputs.device)
                self._growth_tracker = _C.full((), self._init_growth_tracker, dtype=_C.int32, device=outputs.device)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _state(self, optimizer: Optimizer) -> dict[str, Any]:
        states = self._iteration["states"]
        if states is None:
            states = {}
            _C._lend(self._iteration, "states", states)
        return states.setdefault(id(optimizer), {"stage": "ready", "finite": None})

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place; `step` does so if nobody did."""
        if not self._enabled:
            return
        scale = self._need_scale("unscale_")
        state = self._state(optimizer)
        if state["stage"] == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        found = self._gradients(optimizer)
        if any(g.dtype is _C.float16 for grads in found.values() for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        with no_grad():
            state["finite"] = self._finite(found)
            inverse = scale.double().reciprocal().float()
            for place, grads in found.items():
                FOREACH["_foreach_mul_"](grads, inverse.to(place))
        state["stage"] = "unscaled"

    def _gradients(self, optimizer: Optimizer) -> dict[Any, list[Tensor]]:
        """The gradients of the optimizer's parameters, by their device."""
        found: dict[Any, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    found.setdefault(p.grad.device, []).append(p.grad)
        return found

    def _finite(self, found: dict[Any, list[Tensor]]) -> Tensor:
        """Are all gradients finite?"""
        if not found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        first, *others = map(_any_infinite, found.values())
        for other in others:
            first = first | other.to(first.device)
        return ~first

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)`, unless a gradient is infinite or NaN; what it returned.

        On a GPU, and where operations are recorded, nothing is read: parameters and state become what they were. That
        is not so for the first step, which makes an optimizer's state, for one with hooks, and for those whose steps
        are other people's code or look at values (`LBFGS`).
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        state = self._state(optimizer)
        if state["stage"] == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_its_own(optimizer, state, args, kwargs)
            state["stage"] = "stepped"
            return result
        if state["stage"] == "ready":
            self.unscale_(optimizer)
        finite, result = state["finite"], None
        waits = finite.device.type != "cpu" or _C._is_recording()
        # Of its class: what wraps an optimizer has a step of its own.
        in_tensors = getattr(type(optimizer), "_in_tensors", False) and not args and not kwargs
        if not waits or not in_tensors or not optimizer._step_where(finite):
            result = optimizer.step(*args, **kwargs) if finite.item() else None
        state["stage"] = "stepped"
        return result

    def _step_of_its_own(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """A step of an optimizer that divides gradients by the scale and leaves bad steps out itself: it finds the
        scale as its `grad_scale` (None if they are divided already) and as its `found_inf` a number that is not 0 if a
        gradient is not finite. One whose step takes a `grad_scaler` asks that."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler passes itself as `grad_scaler` to the step of an optimizer, which is deprecated: give the "
                "step no such parameter and read the optimizer's attributes `grad_scale` and `found_inf`.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["finite"] is None:
            with no_grad():
                state["finite"] = self._finite(self._gradients(optimizer))
        optimizer.grad_scale = self._scale if state["stage"] == "ready" else None
        optimizer.found_inf = (~state["finite"]).float().to(self._scale.device)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """After the steps of an iteration: lower, keep or raise the scale, or set it to `new_scale`."""
        if not self._enabled:
            return
        scale = self._need_scale("update")
        if new_scale is not None:
            if isinstance(new_scale, _C.Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.fill_(float(new_scale))
        else:
            states = self._iteration["states"] or {}
            checks = [state["finite"] for state in states.values() if state["finite"] is not None]
            if not checks:
                raise AssertionError("No inf checks were recorded prior to update.")
            finite, *others = (check.to(scale.device) for check in checks)
            for other in others:
                finite = finite & other
            with no_grad():
                factors = self._growth_factor, self._backoff_factor, self._growth_interval
                _adapt(scale, self._growth_tracker, finite, *factors)
        _C._lend(self._iteration, "states", None)

    def get_scale(self) -> float:
        """The scale; 1 if disabled. Reads the data."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def get_growth_factor(self) -> float:
        """By what the scale is raised."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by what the scale is raised."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale is lowered."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set by what the scale is lowered."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale is raised."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale is raised."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Does the scaler do anything?"""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])
