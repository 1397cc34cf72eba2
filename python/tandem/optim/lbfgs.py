"""L-BFGS: a quasi-Newton method that evaluates its closure several times a step, and its line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tandem
from tandem import Tensor
from tandem.optim.optimizer import Optimizer, ParamsT, R, single_element

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.5): directions from the last `history_size`
    changes of parameters and gradients.

    `step` needs a closure that computes the loss and its gradients anew. It reads their values to decide when to stop,
    so that a step cannot be compiled as a whole; the closure can.

    Args:
        params: parameters, one group.
        lr: length of a step, or the first that the line search tries.
        max_iter: iterations a step.
        max_eval: evaluations of the closure a step, max_iter * 5 // 4 by default.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when parameters or loss change by less.
        history_size: how many changes are kept.
        line_search_fn: None, or "strong_wolfe".

    Example:
        >>> import tandem
        >>> w = tandem.zeros(2, requires_grad=True)
        >>> optimizer = tandem.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - tandem.tensor([1.0, 2.0])) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> loss = optimizer.step(closure)
        >>> [round(x, 4) for x in w.tolist()]
        [1.0, 2.0]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        single_element("lr", lr)
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Any] = self.param_groups[0]["params"]

    @tandem.no_grad()
    def step(self, closure: Callable[[], R]) -> R:  # type: ignore[override]
        """Up to `max_iter` iterations; returns the loss that `closure` returned first."""
        if len(self.param_groups) != 1:
            raise AssertionError("Expected exactly one param_group")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first = self._run_closure(closure)
        loss, grad = float(first), self._flat_grad()
        evaluations = 1
        state["func_evals"] += 1
        if self._is_flat(grad):
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad)
            before, lr = loss, float(group["lr"])
            state.update(prev_flat_grad=grad.clone(), prev_loss=loss, d=direction)
            total = float(grad.abs().sum()) if state["n_iter"] == 1 else 1.0
            state["t"] = lr * (1.0 / max(1.0, total))
            slope = float(grad.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            used, last = 0, iteration == group["max_iter"]
            if group["line_search_fn"] is not None:
                loss, grad, state["t"], used = self._search(closure, state["t"], direction, loss, grad, slope)
                self._move(direction, state["t"])
            else:
                self._move(direction, state["t"])
                if not last:  # the next step begins with an evaluation of its own
                    loss, grad, used = float(self._run_closure(closure)), self._flat_grad(), 1
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"] or self._is_flat(grad):
                break
            if float((direction * state["t"]).abs().max()) <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _direction(self, state: dict[str, Any], grad: Tensor) -> Tensor:
        """Minus the gradient, times an estimate of the inverse Hessian made of the last changes."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        changes, steps, weights = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if float(curvature) > 1e-10:
            if len(changes) == self.param_groups[0]["history_size"]:
                for history in (changes, steps, weights):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            weights.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        history = list(zip(changes, steps, weights, strict=True))
        direction, shares = grad.neg(), []
        for change, step, weight in reversed(history):
            shares.append(step.dot(direction) * weight)
            direction = direction - change * shares[-1]
        direction = direction * state["H_diag"]
        state["al"] = shares[::-1]
        for (change, step, weight), share in zip(history, state["al"], strict=True):
            direction = direction + step * (share - change.dot(direction) * weight)
        return direction

    def _search(
        self, closure: Any, t: float, direction: Tensor, loss: float, grad: Tensor, slope: float
    ) -> tuple[float, Tensor, float, int]:
        """A length along `direction`; the parameters stay where they are."""

        def at(start: list[Tensor], length: float, direction: Tensor) -> tuple[float, Tensor]:
            self._move(direction, length)
            value = float(self._run_closure(closure))
            gradient = self._flat_grad()
            for p, origin in zip(self._params, start, strict=True):
                p.copy_(origin)
            return value, gradient

        return _strong_wolfe(at, [p.clone() for p in self._params], t, direction, loss, grad, slope)

    def _is_flat(self, grad: Tensor) -> bool:
        return float(grad.abs().max()) <= self.param_groups[0]["tolerance_grad"]

    def _flat_grad(self) -> Tensor:
        """All gradients as one vector, zeros where there is none."""
        return tandem.cat([(tandem.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])

    def _move(self, direction: Tensor, length: float) -> None:
        """Add length * direction to the parameters."""
        offset = 0
        for p in self._params:
            p.add_(direction[offset : offset + p.numel()].view_as(p), alpha=length)
            offset += p.numel()


class _Point(NamedTuple):
    """What is known at length `t` along the direction of a search."""

    t: float
    loss: Any
    grad: Tensor
    slope: float


def _strong_wolfe(
    obj_func: Callable[[Any, float, Tensor], tuple[Any, Tensor]],
    x: Any,
    t: float,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Tensor, float, int]:
    """Loss, gradient and length of a point that meets the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5
    and 3.6), and how often `obj_func` was called: steps grow until they bracket one, and the bracket shrinks, both by
    cubic interpolation.

    `obj_func(x, length, d)` gives loss and gradient; `f`, `g` and `gtd` are loss, gradient and slope at length 0.
    """

    def at(length: float) -> _Point:
        loss, grad = obj_func(x, length, d)
        return _Point(length, loss, grad, float(grad.dot(d)))

    def too_high(p: _Point) -> bool:
        return p.loss > start.loss + c1 * p.t * start.slope

    def flat(p: _Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    def found(p: _Point, evaluations: int) -> tuple[Any, Tensor, float, int]:
        return p.loss, p.grad, p.t, evaluations

    largest = float(d.abs().max())
    start = _Point(0.0, f, g.clone(), float(gtd))
    before, point = start, at(t)
    rounds = 0
    while True:
        if rounds == max_ls:
            before = start
            break
        if too_high(point) or (rounds > 1 and point.loss >= before.loss):
            break
        if flat(point):
            return found(point, rounds + 1)
        if point.slope >= 0:
            break
        bounds = point.t + 0.01 * (point.t - before.t), point.t * 10
        before, point = point, at(_between(before, point, bounds))
        rounds += 1

    ends = [before, point]
    low = 0 if ends[0].loss <= ends[1].loss else 1  # the better end
    stuck = False
    evaluations = rounds + 1
    while rounds < max_ls and abs(ends[1].t - ends[0].t) * largest >= tolerance_change:
        least, greatest = sorted((ends[0].t, ends[1].t))
        t = _between(ends[0], ends[1])
        # A length near an end makes little progress: the second in a row is moved inwards.
        margin = 0.1 * (greatest - least)
        near = min(greatest - t, t - least) < margin
        if near and (stuck or t >= greatest or t <= least):
            t = greatest - margin if abs(t - greatest) < abs(t - least) else least + margin
            near = False
        stuck = near
        point = at(t)
        evaluations += 1
        rounds += 1
        if too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        if flat(point):
            return found(point, evaluations)
        if point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
    return found(ends[low], evaluations)


def _between(a: _Point, b: _Point, bounds: tuple[float, float] | None = None) -> float:
    return float(_cubic_interpolate(a.t, a.loss, a.slope, b.t, b.loss, b.slope, bounds))


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """The minimum, within bounds, of the cubic through values and slopes at two points; the middle without one.

    Numbers, or tensors of one element; without `bounds` they are the points.
    """
    least, greatest = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    if x1 == x2:
        return (least + greatest) / 2
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (least + greatest) / 2
    d2 = square.sqrt() if isinstance(square, Tensor) else math.sqrt(square)
    if x1 > x2:
        x1, g1, x2, g2 = x2, g2, x1, g1
    rise = g2 - g1 + 2 * d2
    if rise == 0:
        return (least + greatest) / 2
    t = x2 - (x2 - x1) * ((g2 + d2 - d1) / rise)
    return min(max(t, least), greatest)
