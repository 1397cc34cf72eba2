"""Save the programs that the others in this folder run: a classifier, a training step, and a function of three numbers.

    python examples/deploy/export.py FOLDER [--steps N] [--seed N] [--data DIR] [--digits]

Into FOLDER go `digits.tandem`, `train.tandem` and `minimal.tandem`; images and labels as plain IDX files, and one image
as PGM. The data is Fashion-MNIST, or MNIST with `--digits --data DIR`.
"""

from __future__ import annotations

import argparse
import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tandem
from tandem import Tensor, nn

DATA = Path("/usr/share/datasets/fashion-mnist")  # where Debian's dataset-fashion-mnist puts them
CLOTHES = "T-shirt trouser pullover dress coat sandal shirt sneaker bag boot"
BATCH = 64
KEPT = 1024  # images in the files for C++


def read_idx(path: Path, header: int) -> NDArray[np.uint8]:
    """The bytes of a gzipped IDX file, behind its header; images are of 28 x 28."""
    with gzip.open(path) as file:
        data = np.frombuffer(file.read(), np.uint8, offset=header)
    return data.reshape(-1, 28, 28) if header == 16 else data


def write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    """An IDX file: two zero bytes, 8 for bytes, the rank, big-endian sizes, the elements."""
    path.write_bytes(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


def make_model() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 10),
    )  # fmt: skip


def scaled(images: Tensor) -> Tensor:
    """Bytes [n, 28, 28] as the model takes them: so no program has to know how."""
    return ((images.float() / 255.0 - 0.286) / 0.353).unsqueeze(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--steps", type=int, default=300, help="training steps before saving")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the four .gz files (default: {DATA})")
    parser.add_argument("--digits", action="store_true", help="the classes are the ten digits")
    args = parser.parse_args()
    if not (args.data / "train-images-idx3-ubyte.gz").exists():
        parser.error(f"no images in {args.data}: apt-get install dataset-fashion-mnist, or say --data DIR")
    args.folder.mkdir(parents=True, exist_ok=True)

    images = read_idx(args.data / "train-images-idx3-ubyte.gz", 16)
    labels = read_idx(args.data / "train-labels-idx1-ubyte.gz", 8)
    tests = read_idx(args.data / "t10k-images-idx3-ubyte.gz", 16)
    x, y = tandem.from_numpy(images.copy()), tandem.from_numpy(labels.copy())

    tandem.manual_seed(args.seed)
    model = make_model()
    optimizer = tandem.optim.Adam(model.parameters(), lr=2e-3)

    def step(images: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(scaled(images)), labels.long())
        loss.backward()
        optimizer.step()
        return loss

    run_step = tandem.compile(step)
    for k in range(args.steps):
        first = k * BATCH % (len(x) - BATCH)
        run_step(x[first : first + BATCH], y[first : first + BATCH])

    def forward(image: Tensor) -> Tensor:
        return model(scaled(image.unsqueeze(0))).softmax(1)[0]

    classes = " ".join(map(str, range(10))) if args.digits else CLOTHES
    program = tandem.export.export(forward, (x[0],), notes={"classes": classes})
    program.save(args.folder / "digits.tandem")
    tandem.export.training_step(step, (x[:BATCH], y[:BATCH])).save(args.folder / "train.tandem")
    weights = tandem.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
    tandem.export.export(lambda x: (weights @ x).tanh(), (tandem.ones(3),)).save(args.folder / "minimal.tandem")

    write_idx(args.folder / "images.idx", images[-KEPT:])
    write_idx(args.folder / "labels.idx", labels[-KEPT:])
    write_idx(args.folder / "tests.idx", tests[:KEPT])
    (args.folder / "image.pgm").write_bytes(b"P5 28 28 255\n" + tests[0].tobytes())
    print(f"Wrote three programs and images for them to {args.folder}.")


if __name__ == "__main__":
    main()
