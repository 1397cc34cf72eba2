"""Runs a program in several processes, bounded in time, and sees to it that none is left."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import tandem

PACKAGE = str(Path(tandem.__file__).parents[1])
LIMIT = 40  # seconds, for a test's processes

START = """
import datetime, os, signal, sys, time
import tandem
from tandem import nn
import tandem.distributed as dist
rank, world = int(sys.argv[1]), int(sys.argv[2])
tandem.set_num_threads(1)

def seconds(s):
    return datetime.timedelta(seconds=s)

def raises(kind, words, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as e:
        assert words in str(e), f"{words!r} is not in {e}"
    else:
        raise AssertionError(f"no {kind.__name__}: {words}")

def start(timeout=30):
    dist.init_process_group("gloo", init_method=sys.argv[3], rank=rank, world_size=world, timeout=seconds(timeout))
"""


def environment(**more: str) -> dict[str, str]:
    # A process that is ended leaves no half of a kernel behind, and all find those of each other.
    return {**os.environ, "PYTHONPATH": PACKAGE, "PYTHONUNBUFFERED": "1", **more}


def run(program: str, world: int = 2, fails: dict[int, int] | None = None, begin: str = "start()") -> list[str]:
    """What each rank printed. `fails`: the statuses of ranks that do not end with 0."""
    text = START + (begin + "\n") + textwrap.dedent(program)
    with tempfile.TemporaryDirectory() as folder:
        url = f"file://{folder}/store"
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", text, str(rank), str(world), url],
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        deadline = time.monotonic() + LIMIT
        printed = []
        try:
            for p in ranks:
                out, err = p.communicate(timeout=max(0.1, deadline - time.monotonic()))
                printed.append((out, err))
        finally:
            for p in ranks:
                p.kill()
                p.wait()
    expected = [(fails or {}).get(rank, 0) for rank in range(world)]
    said = "".join(f"rank {rank}:\n{out}{err}" for rank, (out, err) in enumerate(printed))
    assert [p.returncode for p in ranks] == expected, said
    return [out for out, _ in printed]
