"""A training loop: a data set of one's own, loaders, optimizers, schedules, mixed precision, checkpoints, files."""

import io
from collections.abc import Iterator

import tandem
from tandem import Tensor, nn
from tandem.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler, ReduceLROnPlateau, StepLR
from tandem.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from tandem.utils.checkpoint import checkpoint
from tandem.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split


class Lines(Dataset[tuple[Tensor, Tensor]]):
    """Points on a line."""

    def __init__(self, count: int) -> None:
        self.x = tandem.linspace(-1, 1, count).unsqueeze(1)
        self.y = 3 * self.x + 1

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))


class Net(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return y


class Halving(LRScheduler):
    def get_lr(self) -> list[float]:
        return [float(base) * 0.5**self.last_epoch for base in self.base_lrs]


def collate(batch: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return tandem.stack([x for x, _ in batch]), tandem.stack([y for _, y in batch])


def epoch(model: nn.Module, loader: DataLoader[tuple[Tensor, Tensor]], optimizer: tandem.optim.Optimizer) -> float:
    criterion = nn.MSELoss()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss: Tensor = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += float(loss)
    return total / len(loader)


def main() -> None:
    tandem.manual_seed(0)
    data = Lines(32)
    parts: list[Subset[tuple[Tensor, Tensor]]] = random_split(data, [0.75, 0.25], tandem.Generator().manual_seed(1))
    loader = DataLoader(parts[0], batch_size=8, shuffle=True, collate_fn=collate)
    model = Net()
    optimizer = tandem.optim.Adam(
        [{"params": model.layers[0].parameters()}, {"params": model.layers[2].parameters(), "lr": 1e-2}],
        lr=5e-2,
        betas=(0.9, 0.99),
    )
    schedulers: list[LRScheduler] = [
        StepLR(optimizer, step_size=4),
        CosineAnnealingLR(optimizer, T_max=10, eta_min=1e-4),
        LambdaLR(optimizer, lambda step: 0.95**step),
        Halving(optimizer),
    ]
    plateau = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=2)
    losses = []
    for _ in range(3):
        losses.append(epoch(model, loader, optimizer))
        schedulers[0].step()
        plateau.step(losses[-1])
    rates = [float(rate) for rate in schedulers[0].get_last_lr()]

    sgd = tandem.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    swa = SWALR(sgd, swa_lr=0.05)
    scaler = tandem.amp.GradScaler("cpu", init_scale=8.0)
    sgd.zero_grad()
    x, y = data[0]
    with tandem.autocast("cpu", dtype=tandem.bfloat16):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(sgd)
    scaler.update()
    swa.step()
    averaged.update_parameters(model)
    update_bn([x], averaged)
    out: Tensor = checkpoint(model.forward, x, use_reentrant=False)

    lbfgs = tandem.optim.LBFGS(model.parameters(), lr=0.5, max_iter=2, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        lbfgs.zero_grad()
        value = nn.functional.mse_loss(model(data.x), data.y)
        value.backward()
        return value

    final: Tensor = lbfgs.step(closure)
    file = io.BytesIO()
    tandem.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, file)
    file.seek(0)
    state = tandem.load(file, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    sizes = [len(xs) for (xs,) in DataLoader(TensorDataset(tandem.arange(5)), batch_size=2, drop_last=True)]
    streamed = sum(int(batch.sum()) for batch in DataLoader(Stream(), batch_size=2))
    assert losses[-1] < losses[0] and len(rates) == 2 and sizes == [2, 2] and streamed == 10
    assert out.shape == (1,) and float(final) < 10 and tandem.is_tensor(final)


if __name__ == "__main__":
    main()
