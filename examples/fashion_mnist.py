"""Train a small CNN on Fashion-MNIST eagerly, lazily and compiled, and show that all three give the same bits.

    python examples/fashion_mnist.py [--mode eager|lazy|compiled|all] [--epochs N] [--seed N] [--data DIR]

Each mode starts from the same seed and sees the same batches. At the end every loss and every weight of the modes is
compared bit for bit; the exit status is 1 if one differs or the test accuracy is below the bar.
"""

import argparse
import gzip
import struct
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

F = nn.functional
MODES = ("eager", "lazy", "compiled")
CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
DATA = Path("/usr/share/datasets/fashion-mnist")  # where Debian's dataset-fashion-mnist puts them
ACCURACY_BAR = 0.87
BATCH = 64
Labelled = tuple[Tensor, Tensor]


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array in a gzipped IDX file: two zero bytes, a type code (8 is uint8), the rank, big-endian sizes, data."""
    with gzip.open(path) as file:
        data = file.read()
    zero, code, rank = struct.unpack(">HBB", data[:4])
    if zero != 0 or code != 8:
        raise ValueError(f"{path} is not an IDX file of uint8")
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def load(directory: Path, part: str) -> Labelled:
    """Images as float32 [n, 1, 28, 28], centred and scaled; labels as int64 [n]."""
    images = read_idx(directory / f"{part}-images-idx3-ubyte.gz").astype(np.float32)
    labels = read_idx(directory / f"{part}-labels-idx1-ubyte.gz").astype(np.int64)
    images = (images / 255.0 - 0.286) / 0.353
    return tandem.from_numpy(images[:, None].astype(np.float32)), tandem.from_numpy(labels)


def make_model() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def in_mode(mode: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function` as it is, recorded and run as one graph, or compiled."""
    if mode == "compiled":
        return tandem.compile(function)
    if mode == "lazy":

        def recorded(*args: Tensor) -> Tensor:
            with tandem.lazy():
                return function(*args)

        return recorded
    return function


@dataclass
class Run:
    mode: str
    losses: list[float]
    weights: list[bytes]  # one object a parameter
    predictions: NDArray[np.int64]
    accuracy: float
    images_per_second: float
    launches: int
    peak_bytes: int


def train(mode: str, train_set: Labelled, test_set: Labelled, epochs: int, seed: int) -> Run:
    images, labels = train_set
    tandem.manual_seed(seed)
    model = make_model()
    optimizer = tandem.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = tandem.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.3)  # a new rate is no new trace

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run_step = in_mode(mode, step)
    losses: list[float] = []
    seconds, before = 0.0, tandem.counters()
    for epoch in range(epochs):
        order = tandem.randperm(len(images))
        starts = range(0, len(images), BATCH)
        with tqdm(starts, desc=f"{mode:8} epoch {epoch + 1}/{epochs}", unit="step", mininterval=0.2) as bar:
            begin = time.perf_counter()
            for i, start in enumerate(bar):
                index = order[start : start + BATCH]
                losses.append(run_step(images[index], labels[index]).item())
                if i % 25 == 0 or start + BATCH >= len(images):
                    rate = min(start + BATCH, len(images)) / (time.perf_counter() - begin)
                    bar.set_postfix_str(f"loss {losses[-1]:.4f}, {rate:,.0f} images/s", refresh=False)
            seconds += time.perf_counter() - begin
        scheduler.step()
    after = tandem.counters()

    predictions = predict(mode, model, test_set[0])
    return Run(
        mode=mode,
        losses=losses,
        weights=[p.detach().numpy().tobytes() for p in model.parameters()],
        predictions=predictions,
        accuracy=float((predictions == test_set[1].numpy()).mean()),
        images_per_second=epochs * len(images) / seconds,
        launches=after["kernel_launches"] - before["kernel_launches"],
        peak_bytes=after["peak_bytes"],
    )


def predict(mode: str, model: nn.Module, images: Tensor) -> NDArray[np.int64]:
    model.eval()

    def most_likely(x: Tensor) -> Tensor:
        scores: Tensor = model(x)
        return scores.argmax(1)

    best = in_mode(mode, most_likely)
    with tandem.no_grad():
        return np.concatenate([best(images[i : i + 1000]).numpy() for i in range(0, len(images), 1000)])


def print_table(runs: list[Run]) -> None:
    print(f"\n{'mode':10}{'images/s':>10}{'final loss':>12}{'accuracy':>10}{'launches':>12}{'peak MiB':>10}")
    for run in runs:
        print(
            f"{run.mode:10}{run.images_per_second:>10,.0f}{run.losses[-1]:>12.6f}{run.accuracy:>10.2%}"
            f"{run.launches:>12,}{run.peak_bytes / 2**20:>10,.0f}"
        )
    print("(peak: the process's, up to the end of that mode's training)\n")


def same_bits(runs: list[Run]) -> bool:
    """Compares every run with the first and says what it found."""
    first, agree = runs[0], True
    for run in runs[1:]:
        differing = [i for i, (a, b) in enumerate(zip(first.losses, run.losses)) if a != b]
        if differing:
            i = differing[0]
            print(f"{run.mode}: loss of step {i} is {run.losses[i]!r}, {first.mode}'s {first.losses[i]!r}")
        weights = sum(a != b for a, b in zip(first.weights, run.weights))
        if weights:
            print(f"{run.mode}: {weights} of {len(run.weights)} parameters differ from {first.mode}'s")
        agree = agree and not differing and not weights
    if agree and len(runs) > 1:
        names = ", ".join(run.mode for run in runs)
        print(f"All {len(first.losses)} losses and all final weights agree bit for bit: {names}.")
    return agree


def plot(runs: list[Run], test_set: Labelled, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.5), width_ratios=(1, 1.1), layout="constrained")
    for width, run in zip((5, 3, 1), runs):
        window = min(25, len(run.losses))
        left.plot(np.convolve(run.losses, np.ones(window) / window, "valid"), linewidth=width, label=run.mode)
    left.set(
        xlabel="step", ylabel="training loss, mean of 25 steps", title="Loss curves lie on each other", yscale="log"
    )
    left.legend()

    images, labels = test_set[0].numpy(), test_set[1].numpy()
    rows, columns = 5, 7
    grid = np.full((rows * 34, columns * 30), images.max())
    for k in range(rows * columns):
        y, x = k // columns * 34, k % columns * 30
        grid[y : y + 28, x : x + 28] = -images[k, 0]
        guess = runs[-1].predictions[k]
        right.text(x + 14, y + 32, CLASSES[guess], ha="center", fontsize=8, color="k" if guess == labels[k] else "r")
    right.imshow(grid, cmap="gray", vmin=-images.max(), vmax=-images.min())
    right.set(title=f"Test images and predictions (accuracy {runs[-1].accuracy:.1%}; errors red)")
    right.axis("off")
    figure.savefig(path, dpi=110)
    print(f"Wrote {path}.")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mode", choices=(*MODES, "all"), default="all", help="how to run (default: all three)")
    parser.add_argument("--epochs", type=int, default=2, help="passes over the training images in each mode")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and batches")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the four .gz files (default: {DATA})")
    parser.add_argument("--plot", type=Path, default=Path("fashion_mnist.png"), help="picture to write")
    args = parser.parse_args()
    if args.epochs < 1:
        parser.error("--epochs must be at least 1")
    if not (args.data / "train-images-idx3-ubyte.gz").exists():
        parser.error(f"no Fashion-MNIST in {args.data}: apt-get install dataset-fashion-mnist, or say --data DIR")

    train_set, test_set = load(args.data, "train"), load(args.data, "t10k")
    modes = MODES if args.mode == "all" else (args.mode,)
    runs = [train(mode, train_set, test_set, args.epochs, args.seed) for mode in modes]
    print_table(runs)
    agree = same_bits(runs)
    plot(runs, test_set, args.plot)
    worst = min(run.accuracy for run in runs)
    if worst < ACCURACY_BAR:
        print(f"Test accuracy {worst:.2%} is below {ACCURACY_BAR:.0%}.")
    return 0 if agree and worst >= ACCURACY_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
