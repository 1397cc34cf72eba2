"""What all optimizers but LBFGS share: the options of a constructor, checked by name, and a step that goes through the
groups and hands each one's parameters, gradients and state to the optimizer's own `_update`, as lists.

An update is one operation of `ir/ops/optim.td` over such lists; its formula is in `ir/schema/optimizer_updates.h`.
Numbers reach it through `scalars`, so that a compiled step reads them anew at every call.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any, overload

import tandem
from tandem import Tensor
from tandem.optim.optimizer import Optimizer, R, complete_older_state, single_element

# ---- options ---------------------------------------------------------------------------------------------------------

_IN_WORDS = {"lr": "learning rate", "eps": "epsilon value"}
_AT_LEAST_ZERO = {
    "lr",
    "eps",
    "weight_decay",
    "momentum",
    "alpha",
    "rho",
    "lr_decay",
    "initial_accumulator_value",
    "momentum_decay",
}


def checked(arguments: dict[str, Any], unchecked: tuple[str, ...] = ()) -> dict[str, Any]:
    """The defaults of an optimizer: its constructor's arguments (`locals()`), each checked by its name.

    A negative rate or decay, and a beta outside [0, 1), is a ValueError. Tensors stand for numbers where they have one
    element. `foreach`, `fused` and `capturable` choose between implementations that are one here: a step is single
    operations already and can be compiled; only their contradictions are errors.
    """
    options = {k: v for k, v in arguments.items() if k not in ("self", "params", "__class__")}
    for name, value in options.items():
        if name in ("lr", "betas") and any(isinstance(v, Tensor) for v in (value if name == "betas" else (value,))):
            _check_tensor_option(name, value, options)
        if name == "betas":
            for i, beta in enumerate(value):
                if not 0.0 <= beta < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        elif name == "rho" and not value <= 1.0 or name in _AT_LEAST_ZERO - {*unchecked} and not value >= 0.0:
            raise ValueError(f"Invalid {_IN_WORDS.get(name, name + ' value')}: {value}")
    if options.get("fused"):
        if options["differentiable"]:
            raise RuntimeError("`fused` does not support `differentiable`")
        if options["foreach"]:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    return options


def _check_tensor_option(name: str, value: Any, options: dict[str, Any]) -> None:
    if name == "lr":
        single_element(name, value)
        each = [(name, value)]
    else:
        if not all(isinstance(beta, Tensor) for beta in value):
            raise ValueError("betas must be either both floats or both Tensors")
        each = [(f"betas[{i}]", beta) for i, beta in enumerate(value)]
    for label, tensor in each:
        if options.get("foreach") and options.get("capturable") is False and "amsgrad" in options:
            raise ValueError(f"{label} as a Tensor is not supported for capturable=False and foreach=True")
        single_element(label, tensor)


# ---- reading groups --------------------------------------------------------------------------------------------------


def scalars(group: dict[str, Any], *names: str) -> list[Any]:
    """The hyperparameters of these names for an update: their values, or while a function is being compiled proxies of
    them. A pair of numbers (betas) counts as two.

    Never compare or convert them; what decides the structure of a step asks `is_zero`.
    """
    return tandem._C._runtime_scalars(group, *names)


def scalar(group: dict[str, Any], name: str) -> Any:
    """The one hyperparameter `name`, as `scalars` gives it."""
    return scalars(group, name)[0]


def is_zero(group: dict[str, Any], name: str) -> bool:
    """Is the hyperparameter `name` zero? A compiled step is traced again when the answer changes."""
    return tandem._C._runtime_is_zero(group, name)


def state_scalar(value: float, param: Tensor) -> Tensor:
    """A 0-d state: a count of steps, a product of rates."""
    dtype = tandem.float64 if tandem.get_default_dtype() == tandem.float64 else tandem.float32
    return tandem.tensor(value, dtype=dtype, device=param.device)


# ---- steps -----------------------------------------------------------------------------------------------------------

_grad = operator.attrgetter("grad")


def _rounds(params: list[Tensor], grads: list[Any]) -> list[tuple[list[Tensor], list[Any]]]:
    """Lists without repeats: what comes twice is updated twice, each time from what the update before left."""
    rounds: list[tuple[list[Tensor], list[Any]]] = []
    seen: dict[int, int] = {}
    for param, grad in zip(params, grads, strict=True):
        number = seen[id(param)] = seen.get(id(param), -1) + 1
        if number == len(rounds):
            rounds.append(([], []))
        rounds[number][0].append(param)
        rounds[number][1].append(grad)
    return rounds


class GroupOptimizer(Optimizer):
    """An optimizer that updates a group at a time.

    A subclass says what the state of a parameter is at first (`_init_state`; a count of steps is added by `counts`) and
    how a group is updated (`_update`).
    """

    counts = True
    _in_tensors = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        complete_older_state(self)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], R]) -> R: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, called first, returned."""
        loss = self._run_closure(closure)
        with tandem.set_grad_enabled(self.defaults["differentiable"]):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        params = group["params"]
        grads = list(map(_grad, params))
        if any(map(operator.is_, grads, itertools.repeat(None))):
            params = [p for p, g in zip(params, grads, strict=True) if g is not None]
            grads = [g for g in grads if g is not None]
        # Without counts the one operation on the whole lists goes through repeats one after another.
        for some, theirs in _rounds(params, grads) if self._repeats and self.counts else ((params, grads),):
            if some:
                step = GroupStep(group, some, theirs, self._states_of(some, group))
                if self.counts:
                    step.run("count_update", step["step"])
                self._update(step, group)

    def _states_of(self, params: list[Tensor], group: dict[str, Any]) -> list[dict[str, Any]]:
        """The state of each of `params`, made where there is none."""
        # Maps over C functions: with hundreds of small parameters these lists are most of the step.
        states = list(map(self.state.__getitem__, params))
        if all(states):
            return states
        return [state or self._first_state(p, group) for p, state in zip(params, states, strict=True)]

    def _first_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Makes the state of `param`."""
        tandem._C._makes_state()
        state = self.state[param]
        with tandem.no_grad():
            if self.counts:
                state["step"] = state_scalar(0.0, param)
            state.update(self._init_state(param, group))
        return state

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The first state of `param`, besides the count of steps."""
        return {}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        """Update the parameters and the state of one group."""
        raise NotImplementedError


class GroupStep:
    """One step of one group: its parameters and gradients, and by `step[name]` lists of their state."""

    def __init__(self, group: dict[str, Any], params: list[Any], grads: list[Any], states: list[Any]) -> None:
        self.params = params
        self.grads = grads
        self.states = states
        self.differentiable = group["differentiable"]

    def __getitem__(self, name: str) -> list[Any]:
        return list(map(operator.itemgetter(name), self.states))

    def has(self, name: str) -> list[Any] | None:
        """The state `name`, or None where it is not kept."""
        return self[name] if name in self.states[0] else None

    def run(self, update: str, *operands: Any) -> None:
        """Run a record of `ir/ops/optim.td`: lists, None for state that is not kept, then numbers."""
        tandem._C._optimizer_update(update, self.differentiable, *operands)
