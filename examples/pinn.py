"""Solve u'' = -sin(x) on [0, pi], u(0) = u(pi) = 0, with a 4x64 tanh network (a physics-informed network).

    python examples/pinn.py [--mode eager|lazy|compiled|all] [--epochs N] [--seed N]

The second derivative in the loss comes from `autograd.grad(create_graph=True)` twice; training differentiates it a
third time. The solution is sin(x): the exit status is 1 if the relative error reaches 1 % or two modes differ in a bit.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import tandem
from tandem import Tensor, nn

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

MODES = ("eager", "lazy", "compiled")
ERROR_BAR = 0.01


def make_model(width: int = 64, depth: int = 4) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(1, width), nn.Tanh()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(width, 1))


def residual_loss(model: nn.Module, x: Tensor, ends: Tensor) -> Tensor:
    """Mean square of u'' + sin(x) inside, plus that of u at the two ends."""
    x = x.detach().requires_grad_()
    u = model(x)
    (du,) = tandem.autograd.grad(u.sum(), x, create_graph=True)
    (ddu,) = tandem.autograd.grad(du.sum(), x, create_graph=True)
    at_ends: Tensor = model(ends)
    return (ddu + tandem.sin(x)).square().mean() + at_ends.square().mean()


def in_mode(mode: str, function: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """`function` as it is, recorded and run as one graph, or compiled."""
    if mode == "compiled":
        return tandem.compile(function)
    if mode == "lazy":

        def recorded() -> Tensor:
            with tandem.lazy():
                return function()

        return recorded
    return function


@dataclass
class Run:
    mode: str
    losses: list[float]
    weights: list[bytes]  # one object a parameter
    grid: NDArray[np.float32]
    u: NDArray[np.float32]
    error: float
    steps_per_second: float


def train(mode: str, epochs: int, seed: int, points: int = 256) -> Run:
    tandem.manual_seed(seed)
    model = make_model()
    optimizer = tandem.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = tandem.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, epochs // 4), gamma=0.3)
    x = tandem.from_numpy(np.linspace(0, math.pi, points, dtype=np.float32)[:, None])
    ends = tandem.from_numpy(np.array([[0.0], [math.pi]], np.float32))

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = residual_loss(model, x, ends)
        loss.backward()
        optimizer.step()
        return loss

    run_step = in_mode(mode, step)
    losses: list[float] = []
    begin = time.perf_counter()
    with tqdm(range(epochs), desc=f"{mode:8}", unit="step", mininterval=0.2) as bar:
        for i in bar:
            losses.append(run_step().item())
            scheduler.step()
            if i % 50 == 0:
                bar.set_postfix_str(f"loss {losses[-1]:.2e}", refresh=False)
    seconds = time.perf_counter() - begin

    grid = np.linspace(0, math.pi, 1001, dtype=np.float32)
    with tandem.no_grad():
        u = model(tandem.from_numpy(grid[:, None])).numpy()[:, 0]
    error = float(np.linalg.norm(u - np.sin(grid)) / np.linalg.norm(np.sin(grid)))
    weights = [p.detach().numpy().tobytes() for p in model.parameters()]
    return Run(mode, losses, weights, grid, u, error, epochs / seconds)


def plot(runs: list[Run], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    run = runs[-1]
    left.plot(run.grid, np.sin(run.grid), linewidth=5, alpha=0.4, label="sin(x)")
    left.plot(run.grid, run.u, "k--", label="network")
    left.set(xlabel="x", ylabel="u", title=f"u'' = -sin(x): relative error {run.error:.2e}")
    left.legend()
    for width, run in zip((6, 3.5, 1), runs):
        right.semilogy(run.losses, linewidth=width, label=run.mode)
    right.set(xlabel="step", ylabel="loss")
    right.legend()
    figure.savefig(path, dpi=110)
    print(f"Wrote {path}.")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mode", choices=(*MODES, "all"), default="compiled", help="how to run (default: compiled)")
    parser.add_argument("--epochs", type=int, default=2000, help="training steps, each over all points")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights")
    parser.add_argument("--plot", type=Path, default=Path("pinn.png"), help="picture to write")
    args = parser.parse_args()
    if args.epochs < 1:
        parser.error("--epochs must be at least 1")

    modes = MODES if args.mode == "all" else (args.mode,)
    runs = [train(mode, args.epochs, args.seed) for mode in modes]
    print(f"\n{'mode':10}{'steps/s':>10}{'final loss':>14}{'relative error':>16}")
    for run in runs:
        print(f"{run.mode:10}{run.steps_per_second:>10.0f}{run.losses[-1]:>14.3e}{run.error:>16.3e}")
    agree = all((r.losses, r.weights) == (runs[0].losses, runs[0].weights) for r in runs)
    if len(runs) > 1:
        print("All losses and final weights agree bit for bit." if agree else "The modes differ.")
    plot(runs, args.plot)
    worst = max(run.error for run in runs)
    if not worst < ERROR_BAR:
        print(f"Relative error {worst:.2e} is not below {ERROR_BAR:.0%}.")
    return 0 if agree and worst < ERROR_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
