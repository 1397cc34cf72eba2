"""How processes find each other: what an `init_method` says of the store, the rank and the number of processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tandem.distributed._stores import FileStore, Store
from tandem.distributed._tcp_store import TCPStore

__all__ = ["rendezvous"]

# The launcher sets this where it has the store itself, so that its port is taken from the start.
LAUNCHERS_STORE = "TORCHELASTIC_USE_AGENT_STORE"


def number(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{what} should be a number, not {text!r}") from None


def from_environment(name: str, environment: Mapping[str, str]) -> str:
    if not environment.get(name):
        raise ValueError(
            f"Error initializing tandem.distributed using env:// rendezvous: environment variable {name} expected, "
            "but not set (python -m tandem.distributed.run sets it)"
        )
    return environment[name]


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Where processes find each other: once a store, the rank of this one, and how many there are.

    Args:
        url, rank, world_size: as `init_method` and the others of `init_process_group`.
        kwargs: may have `timeout`, a timedelta.

    >>> import tandem, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store, rank, world_size = next(tandem.distributed.rendezvous(f"file://{folder}/store", 0, 1))
    >>> rank, world_size
    (0, 1)
    """
    yield find_store(url, rank, world_size, kwargs.get("timeout", timedelta(minutes=30)))


def find_store(init_method: str, rank: int, world_size: int, timeout: timedelta) -> tuple[Store, int, int]:
    """The store at `env://`, `tcp://host:port` or `file:///path`, the rank and the number of processes; what is -1 is
    read from the environment, or from `?rank=0&world_size=2` behind a URL."""
    url = urlsplit(init_method)
    query = {key: values[-1] for key, values in parse_qs(url.query).items()}
    if url.scheme == "env":
        query = {"rank": os.environ.get("RANK", ""), "world_size": os.environ.get("WORLD_SIZE", "")} | query
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value < 0:
            text = query.get(name) or (from_environment(name.upper(), os.environ) if url.scheme == "env" else "")
            if not text:
                raise ValueError(f"init_process_group: {init_method} needs {name}=, as an argument or behind a '?'")
            value = number(text, name)
        query[name] = str(value)
    rank, world_size = int(query["rank"]), int(query["world_size"])
    if world_size < 1 or not 0 <= rank < world_size:
        raise ValueError(f"init_process_group: rank {rank} of {world_size}: ranks are 0 to world_size - 1")
    if url.scheme == "file":
        if not url.path or url.netloc not in ("", "localhost"):
            raise ValueError(f"init_process_group: {init_method} names no file; write file:///path")
        return FileStore(url.path, world_size), rank, world_size
    if url.scheme == "tcp":
        host, port = url.hostname, url.port
        if not host or port is None:
            raise ValueError(f"init_process_group: {init_method} is no address; write tcp://host:port")
        return TCPStore(host, port, world_size, rank == 0, timeout), rank, world_size
    if url.scheme != "env":
        raise ValueError(f"init_process_group: no rendezvous for {init_method!r}: use env://, tcp:// or file://")
    host = from_environment("MASTER_ADDR", os.environ)
    port = number(from_environment("MASTER_PORT", os.environ), "MASTER_PORT")
    master = rank == 0 and os.environ.get(LAUNCHERS_STORE) != "True"
    return TCPStore(host, port, world_size, master, timeout), rank, world_size
