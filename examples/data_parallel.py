"""Train a small network in several processes, each with a part of every batch, and show that all have the same bits.

    python -m tandem.distributed.run --nproc-per-node 2 examples/data_parallel.py [--steps N]

Each process takes a GPU where there is one for each, else they share the CPU. It draws its share of the data, gradients
are averaged beside the backward, and sums are in the order of ranks: a second run prints the same numbers, to the last
digit.
"""

import argparse
import hashlib
import os

import tandem
from tandem import distributed as dist
from tandem import nn
from tandem.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(count: int) -> TensorDataset:
    """Points of the plane in two spirals, and which one each is of."""
    t = tandem.rand(count) * 3 + 0.3
    label = tandem.randint(0, 2, (count,))
    angle = 2 * t + 3.1416 * label
    points = tandem.stack([t * tandem.cos(angle), t * tandem.sin(angle)], 1)
    return TensorDataset(points + 0.05 * tandem.randn(count, 2), label)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps

    device, local = "cpu", int(os.environ["LOCAL_RANK"])
    if tandem.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"]):
        device = f"cuda:{local}"
        tandem.cuda.set_device(local)
    dist.init_process_group()  # what the launcher put into the environment says how
    tandem.manual_seed(0)
    data = make_data(4096)
    sampler = DistributedSampler(data, seed=1)
    loader = DataLoader(data, batch_size=128 // dist.get_world_size(), sampler=sampler, drop_last=True)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)).to(device)
    )
    optimizer = tandem.optim.Adam(model.parameters(), lr=3e-3)

    step, epoch = 0, 0
    while step < steps:
        sampler.set_epoch(epoch)
        for x, label in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.to(device)), label.to(device))
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0 or step == steps:
                mean = loss.detach()
                dist.all_reduce(mean, dist.ReduceOp.AVG)
                if dist.get_rank() == 0:
                    print(f"step {step}: loss {mean.item():.6f}")
            if step == steps:
                break
        epoch += 1

    digest = hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()
    digests: list[str] = [""] * dist.get_world_size()
    dist.all_gather_object(digests, digest)
    if dist.get_rank() == 0:
        print(f"{len(digests)} processes, {len(set(digests))} set of weights: {digest[:16]}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
