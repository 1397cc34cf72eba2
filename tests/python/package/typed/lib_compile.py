"""`tandem.compile` and `tandem.lazy`: a decorated function, method or module keeps its type."""

import tandem
from tandem import Tensor


@tandem.compile
def scaled(x: Tensor, scale: float = 2.0) -> Tensor:
    return tandem.tanh(x) * scale


@tandem.compile(fullgraph=True, dynamic=None)
def pair(x: Tensor) -> tuple[Tensor, Tensor]:
    return x + 1, x * 2


class Counter:
    @tandem.compile
    def add(self, x: Tensor, n: int) -> Tensor:
        return x + n


class Net(tandem.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = tandem.nn.Linear(2, 1)
        self.width = 2

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        return y


def main() -> None:
    x = tandem.zeros(2)
    y: Tensor = scaled(x, scale=3.0)
    first, second = pair(x)
    text: str = scaled.explain(x, 3.0)
    z: Tensor = Counter().add(x, 3)
    net = tandem.compile(Net())
    width: int = net.width
    doubled = tandem.compile(lambda t: t * 2)
    total: Tensor = net(tandem.ones(1, width)).sum() + y.sum() + first.sum() + second.sum() + z.sum()
    with tandem.lazy():
        later = total * 2
    assert bool(text) and tandem.equal(doubled(total), later)


if __name__ == "__main__":
    main()
