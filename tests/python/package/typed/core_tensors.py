"""Everyday tensor code as a user types it: what the stubs of the core must know."""

import tandem as torch
import tandem.nn.functional as F
from tandem import Tensor


def norm(x: Tensor, p: float = 2.0) -> Tensor:
    return (x.abs() ** p).sum(dim=-1, keepdim=True) ** (1 / p)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights: Tensor = F.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
    return weights @ v


def layers(x: Tensor, weight: Tensor) -> Tensor:
    x = F.gelu(F.linear(x, weight)) + F.silu(x, inplace=False)
    image = F.conv2d(x.view(1, 1, *x.shape), torch.ones(2, 1, 3, 3), padding=1, stride=(1, 1))
    return F.layer_norm(F.relu(image).flatten(1), (image.numel(),))


def shapes(x: Tensor) -> tuple[int, ...]:
    a = x.view(2, 6).reshape((3, 4)).permute(1, 0).transpose(0, 1)
    b = torch.zeros(2, 3, dtype=torch.float32).expand(4, 2, 3).repeat(1, 1, 2)
    rows: int = a.size(0)
    values, indices = a.max(dim=0)
    top = a.topk(2).indices + a.argmax(dim=0)[:2]
    first, second = a.chunk(2)
    grid_y, grid_x = torch.meshgrid(values, values, indexing="ij")
    joined = torch.cat([a, a], dim=0).unsqueeze(0)
    where = torch.where(a > 0, a, 0.0)
    assert rows == 3 and first.shape[1] == second.shape[1] == 4 and indices.dtype == torch.int64
    assert grid_x.shape == grid_y.shape and b.ndim == 3 and top.dim() == 2 and where.shape == a.shape
    return tuple(torch.stack((joined, joined)).shape)


def in_place(x: Tensor) -> Tensor:
    x.add_(1).mul_(2.0).clamp_(0, 10)
    torch.add(x, x, out=x)
    x[0, :2] = 5
    x += x.new_zeros(x.size(-1))
    return x.to(torch.float64).to("cpu").float().detach_()


def gradient(x: Tensor) -> Tensor | None:
    x = x.clone().requires_grad_()
    loss = F.cross_entropy(x, torch.tensor([0, 1, 2])) + F.mse_loss(x, x.detach(), reduction="sum")
    loss.backward()
    value = float(loss.item())
    assert value > 0 and x.requires_grad and len(x.tolist()) == 3
    return x.grad


def elements(x: Tensor) -> float:
    total = 0.0
    for row in x:
        total += float(row.sum()) + int(row.numel())
    return total + float(x.numpy().sum())


x = torch.rand(3, 4) + torch.arange(12).reshape(3, 4)
norm(x)
attention(x, x, x)
layers(x, torch.eye(4))
assert shapes(x) == (2, 1, 6, 4)
in_place(x.clone())
assert gradient(x) is not None
elements(x)
