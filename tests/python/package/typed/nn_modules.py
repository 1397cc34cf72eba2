"""Modules as a user types them: subclasses with an annotated forward, parameters, buffers, containers, states."""

from collections import OrderedDict
from collections.abc import Iterator

import tandem
import tandem.nn.functional as F
from tandem import Tensor, nn


class Block(nn.Module):
    running: Tensor
    shift: Tensor | None

    def __init__(self, width: int, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        self.dropout = nn.Dropout(dropout)
        self.scale = nn.Parameter(tandem.ones(width))
        self.register_buffer("running", tandem.zeros(width))
        self.register_buffer("shift", None, persistent=False)
        self.register_parameter("bias", None)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(self.norm(x))
        with tandem.no_grad():
            self.running.mul_(0.9).add_(y.mean(0), alpha=0.1)
        out: Tensor = x + self.dropout(y) * self.scale
        return out

    def extra_repr(self) -> str:
        return f"width={self.scale.numel()}"


class Net(nn.Module):
    def __init__(self, sizes: list[int], classes: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(sizes[0], size) for size in sizes)
        self.heads = nn.ModuleDict({"main": nn.Linear(sizes[0], classes)})
        self.gains = nn.ParameterList([tandem.ones(1) for _ in sizes])
        self.apply(self._start)

    @staticmethod
    def _start(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
            nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, head: str = "main") -> Tensor:
        for block, gain in zip(self.blocks, self.gains, strict=True):
            x = block(x) * gain
        out: Tensor = self.heads[head](x)
        return F.log_softmax(out, dim=-1)


def count(parameters: Iterator[nn.Parameter]) -> int:
    return sum(p.numel() for p in parameters if p.requires_grad)


def walk(net: Net) -> list[str]:
    names = [name for name, _ in net.named_parameters()] + [name for name, _ in net.named_buffers()]
    kinds: list[type[nn.Module]] = [type(child) for child in net.children()]
    for name, module in net.named_modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
            assert module is net.get_submodule(name)
    assert nn.ModuleList in kinds
    return names


def convert(net: Net) -> Net:
    same: Net = net.to("cpu").to(tandem.float64).float().train().eval().requires_grad_(True)
    return same.to(device=tandem.device("cpu"), dtype=tandem.float32).cpu()


def states(net: Net) -> bool:
    state: dict[str, object] = net.state_dict()
    result = net.load_state_dict(net.state_dict(), strict=True)
    return not result.missing_keys and not result.unexpected_keys and len(state) > 0


def indexed(net: nn.Sequential) -> tuple[nn.Module, nn.Sequential]:
    net.append(nn.ReLU()).insert(0, nn.Identity())
    named = nn.Sequential(OrderedDict([("first", nn.Linear(2, 2)), ("last", nn.Tanh())]))
    assert len(net + named) == len(net) + 2
    return net[0], net[1:]


def hooked(net: nn.Module, x: Tensor) -> list[tuple[int, ...]]:
    seen: list[tuple[int, ...]] = []

    def record(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append(tuple(output.shape))

    def twice(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(a * 2 for a in args)

    handle = net.register_forward_hook(record)
    with net.register_forward_pre_hook(twice):
        net(x)
    handle.remove()
    return seen


net = Net([8, 16], 3)
x = tandem.randn(4, 8)
loss = F.nll_loss(net(x), tandem.tensor([0, 1, 2, 0]))
loss.backward()
net.zero_grad(set_to_none=True)
assert count(net.parameters()) > 0 and "blocks.0.scale" in walk(net)
assert states(convert(net))
first, rest = indexed(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
assert isinstance(first, nn.Identity) and isinstance(rest, nn.Sequential)
assert hooked(net, x) == [(4, 3)]
