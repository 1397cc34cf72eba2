"""A program for a GPU where there is one, and the CPU elsewhere: typed, as `mypy --strict` checks."""

from __future__ import annotations

import tandem
from tandem import nn


def train(device: tandem.device, steps: int) -> float:
    model = nn.Linear(4, 2).to(device, non_blocking=True)
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.1)
    scaler = tandem.amp.GradScaler(device.type, enabled=device.type == "cuda")
    data = tandem.utils.data.TensorDataset(tandem.ones(6, 4))
    loader = tandem.utils.data.DataLoader(data, batch_size=2, pin_memory=tandem.cuda.is_available())
    total = tandem.zeros((), device=device)
    for _ in range(steps):
        for (x,) in loader:
            optimizer.zero_grad()
            with tandem.autocast(device.type, enabled=device.type == "cuda"):
                loss = model(x.to(device, non_blocking=True)).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += loss.detach()
    return float(total.item())


def on_a_stream() -> float:
    properties = tandem.cuda.get_device_properties(tandem.cuda.current_device())
    names: list[str] = [properties.name, tandem.cuda.get_device_name()]
    side: tandem.cuda.Stream = tandem.cuda.Stream(priority=-1)
    begin, end = tandem.cuda.Event(enable_timing=True), tandem.cuda.Event(enable_timing=True)
    side.wait_stream(tandem.cuda.current_stream())
    with tandem.cuda.stream(side):
        begin.record()
        x = tandem.ones(len(names)).pin_memory().cuda(non_blocking=True)
        x.record_stream(side)
        end.record(side)
    end.synchronize()
    free, total = tandem.cuda.mem_get_info()
    held: int = tandem.cuda.memory_allocated() + tandem.cuda.max_memory_reserved()
    return begin.elapsed_time(end) + free / total + held


place = tandem.device("cuda" if tandem.cuda.is_available() else "cpu")
assert train(place, 2) > 0
if tandem.cuda.is_available():
    with tandem.cuda.device(0):
        on_a_stream()
    graph = tandem.cuda.CUDAGraph()
    with tandem.cuda.graph(graph):
        y = tandem.ones(2, device=place) * 2
    graph.replay()
    tandem.cuda.synchronize()
else:
    assert tandem.cuda.device_count() == 0 and tandem.accelerator.current_accelerator() is None
