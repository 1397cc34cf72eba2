"""Tensors on several GPUs of one process: copies to all, sums, pieces and their union. None of it has a derivative:
what is to be differentiated is moved by `to`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.cuda._devices import Device, index_of
from tandem.cuda.streams import current_stream
from tandem.cuda.streams import stream as in_stream

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _names(devices: Any, function: str) -> list[str]:
    return [f"cuda:{index_of(d, f'comm.{function}')}" for d in devices]


def _one_of(devices: Any, out: Any) -> None:
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )


@tandem.no_grad()
def broadcast(
    tensor: Tensor, devices: Iterable[Device] | None = None, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """`tensor` on each of `devices`, or copied into each of `out`; one of both is given. A tensor that is there already
    is not copied.

    >>> import tandem
    >>> x = tandem.ones(2, device="cuda")  # doctest: +SKIP
    >>> [t.device for t in tandem.cuda.comm.broadcast(x, [0, 1])]  # doctest: +SKIP
    [device(type='cuda', index=0), device(type='cuda', index=1)]
    """
    _one_of(devices, out)
    if out is not None:
        return tuple(o.copy_(tensor, non_blocking=True) for o in out)
    return tuple(tensor.to(name, non_blocking=True) for name in _names(devices, "broadcast"))


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Iterable[Device], buffer_size: int = 10485760
) -> list[list[Tensor]]:
    """`tensors` on each of `devices`: a list for each. `buffer_size` is accepted.

    >>> import tandem
    >>> tandem.cuda.comm.broadcast_coalesced([tandem.ones(2)], [0])  # doctest: +SKIP
    [[tensor([1., 1.], device='cuda:0')]]
    """
    return [[broadcast(t, [d])[0] for t in tensors] for d in devices]


@tandem.no_grad()
def reduce_add(inputs: Sequence[Tensor], destination: Device = None) -> Tensor:
    """The sum of tensors on GPUs, on `destination`, where one of them is: that one, then the others in their order.

    ValueError where their shapes differ.

    >>> import tandem
    >>> parts = [tandem.ones(2, device="cuda:0"), tandem.ones(2, device="cuda:1")]  # doctest: +SKIP
    >>> tandem.cuda.comm.reduce_add(parts)  # doctest: +SKIP
    tensor([2., 2.], device='cuda:0')
    """
    index = index_of(destination, "comm.reduce_add")
    root = None
    for k, t in enumerate(inputs):
        if not t.is_cuda:
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {k} is on {t.device}")
        if t.shape != inputs[0].shape:
            got, expected = ("x".join(map(str, s)) for s in (t.shape, inputs[0].shape))
            raise ValueError(f"input {k} has invalid size: got {got}, but expected {expected}")
        if t.get_device() == index:
            root = k
    if root is None:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    result = inputs[root]
    for k, t in enumerate(inputs):
        if k != root:
            result = result + t.to(result.device, non_blocking=True)
    return result


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Device = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """`reduce_add` of the first tensors of each sequence, of the second ones, and so on. `buffer_size` is accepted.

    >>> import tandem
    >>> tandem.cuda.comm.reduce_add_coalesced([[tandem.ones(2, device="cuda")]])  # doctest: +SKIP
    (tensor([1., 1.], device='cuda:0'),)
    """
    return tuple(reduce_add(group, destination) for group in zip(*inputs, strict=True))


@tandem.no_grad()
def scatter(
    tensor: Tensor,
    devices: Iterable[Device] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[Any] | None = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Pieces of `tensor` along `dim`, each on one of `devices`, or copied into `out`, whose sizes they have.

    Args:
        chunk_sizes: the size of each; equal ones, but for the last, where it is left out.
        streams: in which each is copied.

    >>> import tandem
    >>> [t.tolist() for t in tandem.cuda.comm.scatter(tandem.arange(4), [0, 1])]  # doctest: +SKIP
    [[0, 1], [2, 3]]
    """
    if out is not None:
        for name, value in (("devices", devices), ("chunk_sizes", chunk_sizes)):
            if value is not None:
                raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={value}")
        chunk_sizes = [o.size(dim) for o in out]
        names = [str(o.device) for o in out]
    else:
        if devices is None:
            raise TypeError("scatter: expected devices, or out")
        names = _names(devices, "scatter")
    if chunk_sizes is None:
        pieces = tensor.chunk(len(names), dim)
    elif sum(chunk_sizes) != tensor.size(dim) or len(chunk_sizes) != len(names):
        raise RuntimeError(
            f"scatter: pieces of sizes {list(chunk_sizes)} for {len(names)} devices are not those of a dim of "
            f"{tensor.size(dim)}"
        )
    else:
        pieces = tensor.split(list(chunk_sizes), dim)
    results = []
    for k, piece in enumerate(pieces):
        chosen = streams[k] if streams is not None else None
        if chosen is not None and tensor.is_cuda:
            chosen.wait_stream(current_stream(tensor.device))
        with in_stream(chosen):
            results.append(
                out[k].copy_(piece, non_blocking=True) if out is not None else piece.to(names[k], non_blocking=True)
            )
    return tuple(results)


@tandem.no_grad()
def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Device = None, *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side along `dim`: on `destination`, a GPU or `"cpu"` (-1), or in `out`.

    >>> import tandem
    >>> parts = tandem.cuda.comm.scatter(tandem.arange(4), [0, 1])  # doctest: +SKIP
    >>> tandem.cuda.comm.gather(parts, destination="cpu")  # doctest: +SKIP
    tensor([0, 1, 2, 3])
    """
    if out is not None and destination is not None:
        raise RuntimeError(
            f"'destination' must not be specified when 'out' is specified, but got destination={destination}"
        )
    if out is not None:
        where = str(out.device)
    elif destination in (-1, "cpu", tandem.device("cpu")):
        where = "cpu"
    else:
        where = f"cuda:{index_of(destination, 'comm.gather')}"
    joined = tandem.cat([t.to(where) for t in tensors], dim)
    return joined if out is None else out.copy_(joined)
