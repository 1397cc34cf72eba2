"""Gloo on GPUs: memory goes by the host, and reductions are added on the GPU.

The thread of the group does the whole operation, in a stream that first waits for what the current one had when it was
called, and waits for that stream at the end. So a `Work` that is done is done for every stream.
"""

from __future__ import annotations

from collections.abc import Callable

import tandem
from tandem._C import Tensor
from tandem.distributed._transport import Message, Parts, Transport


def check_capture(device: tandem.device, operation: str) -> None:
    """RuntimeError where the current stream is being captured."""
    if tandem.cuda.current_stream(device)._stream.is_capturing():
        raise RuntimeError(f"{operation}: operations between processes cannot be captured in a CUDAGraph")


def in_stream(operation: str, body: Callable[[int], None], device: tandem.device) -> Callable[[int], None]:
    """`body`, called now, done later and on another thread."""
    check_capture(device, operation)
    begin = tandem.cuda.current_stream(device).record_event()

    def run(tag: int) -> None:
        stream = tandem.cuda.Stream(device)
        with tandem.cuda.stream(stream):
            begin.wait(stream)
            body(tag)
            stream.synchronize()

    return run


def _reach(parts: Parts) -> tuple[int, int]:
    """From where to where the parts are."""
    filled = [(at, at + count) for at, count in parts if count > 0]
    return (min(a for a, _ in filled), max(b for _, b in filled)) if filled else (0, 0)


def _from(parts: Parts, begin: int) -> list[tuple[int, int]]:
    return [(at - begin if count > 0 else 0, count) for at, count in parts]


class Staged(Transport):
    """Moves memory of GPUs by copies on the host, with a transport for that."""

    def __init__(self, host: Transport) -> None:
        self._host = host

    def exchange(self, tag: int, out: Tensor, sends: Parts, into: Tensor, receives: Parts, seconds: float) -> None:
        out, into = out.view(-1), into.view(-1)
        begin, end = _reach(sends)
        given = out[begin:end].cpu()
        first, last = _reach(receives)
        taken = tandem.empty(last - first, dtype=into.dtype)
        arriving = _from(receives, first)
        self._host.exchange(tag, given, _from(sends, begin), taken, arriving, seconds)
        for at, count in sorted(arriving):
            if count > 0:
                into[first + at : first + at + count].copy_(taken[at : at + count])

    def abort(self, why: str) -> None:
        self._host.abort(why)

    def close(self) -> None:
        """Nothing: the transport of the host is its group's."""


class Arriving(Message):
    """A message that is received on the host, for memory of a GPU."""

    def __init__(self, message: Message, taken: Tensor, into: Tensor) -> None:
        self._message, self._taken, self._into = message, taken, into
        self._copied = False

    def wait(self, seconds: float) -> bool:
        if not self._message.wait(seconds):
            return False
        if not self._copied:
            self._copied = True
            with tandem.inference_mode():
                self._into.copy_(self._taken)
        return True

    def peer(self) -> int:
        return self._message.peer()


def received(post: Callable[[Tensor], Message], into: Tensor) -> Message:
    """The message that `post` waits for with memory of the host."""
    taken = tandem.empty(into.numel(), dtype=into.dtype)
    return Arriving(post(taken), taken, into)
