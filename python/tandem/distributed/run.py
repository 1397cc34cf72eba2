"""`python -m tandem.distributed.run --nproc-per-node N script.py [args]`: run a script in several processes.

Each process finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, and
`init_process_group()` needs no more. The launcher keeps the store by which they find each other, at a port that nobody
else has. When one process fails the others are ended, the launcher says which one it was, and ends with status 1.

A script that says `import torch` is run by `python -m tandem.distributed.run -m tandem script.py [args]`.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import connection as _connection
from types import FrameType
from typing import Any, NoReturn

from tandem.distributed._errors import DistError
from tandem.distributed._rendezvous import LAUNCHERS_STORE
from tandem.distributed._tcp_store import Server

__all__ = ["ChildFailedError", "main", "record"]

_GRACE = 5.0  # seconds for processes to end by themselves once they are asked to
_PR_SET_PDEATHSIG = 1


class ChildFailedError(DistError):
    """A process that the launcher started has failed.

    >>> import tandem
    >>> from tandem.distributed.run import ChildFailedError
    >>> issubclass(ChildFailedError, RuntimeError)
    True
    """


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The function itself: what a process prints of its error is what there is to see.

    >>> import tandem
    >>> from tandem.distributed.run import record
    >>> record(len) is len
    True
    """
    return fn


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tandem.distributed.run",
        description="Run a script in several processes, each of which calls tandem.distributed.init_process_group().",
    )

    def option(name: str, **how: Any) -> None:
        # PyTorch's users write underscores, too.
        parser.add_argument(*sorted({f"--{name}", f"--{name.replace('-', '_')}"}), **how)

    option(
        "nproc-per-node",
        default="1",
        metavar="N",
        help="processes on this machine: a number, gpu (one each), cpu (one a core), or auto (gpu, else cpu)",
    )
    option("nnodes", type=int, default=1, help="machines, each of which runs this command")
    option("node-rank", type=int, default=0, help="the number of this one")
    option("master-addr", default="127.0.0.1", help="where machine 0 is reached")
    option("master-port", type=int, default=0, help="a port there; 0: any, where there is one machine")
    option("rdzv-endpoint", default="", metavar="HOST:PORT", help="the same two in one")
    option("rdzv-id", default="none", help="a name for this run, in TORCHELASTIC_RUN_ID")
    option("rdzv-backend", default="static", help="taken, without effect")
    for name in ("rdzv-conf", "role", "monitor-interval", "start-method", "local-addr"):
        option(name, help="taken, without effect")
    option("max-restarts", type=int, default=0, choices=[0], help="0: nothing is started again")
    option("standalone", action="store_true", help="taken, without effect")
    option("no-python", action="store_true", help="the script is a program of its own")
    parser.add_argument("-m", "--module", action="store_true", help="the script is the name of a module")
    parser.add_argument("training_script", metavar="script", help="what to run")
    parser.add_argument("training_script_args", metavar="args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _die_with(launcher: int) -> Callable[[], None]:
    """What a process does before it becomes the script: it is not to outlive the launcher."""
    prctl = _libc().prctl

    def before() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != launcher:
            os._exit(1)

    return before


class _Interrupted(Exception):
    def __init__(self, number: int) -> None:
        self.number = number


class _Launcher:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.local_size = _count(options.nproc_per_node)
        self.first_rank = options.node_rank * self.local_size
        host, port = options.master_addr, options.master_port
        if options.rdzv_endpoint:
            host, colon, after = options.rdzv_endpoint.partition(":")
            if colon and not after.isdigit():
                raise SystemExit(f"--rdzv-endpoint should be HOST or HOST:PORT, not {options.rdzv_endpoint!r}")
            port = int(after) if colon else port
        if options.nnodes > 1 and port == 0:
            raise SystemExit("several machines need --master-port, the same for all")
        if not 0 <= options.node_rank < options.nnodes:
            raise SystemExit(f"--node-rank {options.node_rank} is none of {options.nnodes} machines")
        # Before anything else is started, so that no thread is there yet.
        self.store = Server(host, port, stays=True) if options.node_rank == 0 else None
        self.host, self.port = host, port if self.store is None else self.store.port
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.local_ranks: dict[int, int] = {}

    def environment(self, local_rank: int) -> dict[str, str]:
        o = self.options
        world = o.nnodes * self.local_size
        numbers = {
            "RANK": self.first_rank + local_rank,
            "LOCAL_RANK": local_rank,
            "WORLD_SIZE": world,
            "LOCAL_WORLD_SIZE": self.local_size,
            "GROUP_RANK": o.node_rank,
            "GROUP_WORLD_SIZE": o.nnodes,
            "ROLE_RANK": self.first_rank + local_rank,
            "ROLE_WORLD_SIZE": world,
            "MASTER_PORT": self.port,
            "TORCHELASTIC_RESTART_COUNT": 0,
            "TORCHELASTIC_MAX_RESTARTS": 0,
        }
        texts = {"MASTER_ADDR": self.host, "TORCHELASTIC_RUN_ID": o.rdzv_id, LAUNCHERS_STORE: "True"}
        own = {**os.environ, **{name: str(value) for name, value in numbers.items()}, **texts}
        if self.local_size > 1:
            own.setdefault("OMP_NUM_THREADS", "1")
        return own

    def command(self) -> list[str]:
        o = self.options
        if o.no_python:
            return [o.training_script, *o.training_script_args]
        return [sys.executable, "-u", *(["-m"] if o.module else []), o.training_script, *o.training_script_args]

    def run(self) -> int:
        """The status to end with."""
        try:
            for local_rank in range(self.local_size):
                # A session of its own, so that what the process starts can be ended with it.
                try:
                    process = subprocess.Popen(
                        self.command(),
                        env=self.environment(local_rank),
                        start_new_session=True,
                        preexec_fn=_die_with(os.getpid()),
                    )
                except OSError as e:
                    print(f"{_NAME}: {self.command()[0]} cannot be started: {e.strerror}", file=sys.stderr)
                    return 1
                self.processes[process.pid] = process
                self.local_ranks[process.pid] = local_rank
            if self.store is not None:
                self.store.start()
            return self._wait()
        except _Interrupted as e:
            print(f"{_NAME}: {signal.Signals(e.number).name}: all ranks are ended", file=sys.stderr)
            return 128 + e.number
        finally:
            self._end_all()

    def _wait(self) -> int:
        ends = {os.pidfd_open(pid): process for pid, process in self.processes.items()}
        try:
            while ends:
                # Whichever ends first: those that follow may have failed because it did.
                ready = set(_connection.wait(list(ends)))
                ended = []
                for fd in [fd for fd in ends if fd in ready]:
                    ended.append(process := ends.pop(fd))
                    os.close(fd)
                    _bury(process)
                for process in sorted(ended, key=lambda p: p.returncode > 0):
                    if process.returncode:
                        print(f"{_NAME}: {self._told(process, bool(ends))}", file=sys.stderr)
                        return 1
        finally:
            for fd in ends:
                os.close(fd)
        return 0

    def _told(self, process: subprocess.Popen[bytes], others: bool) -> str:
        local_rank, status = self.local_ranks[process.pid], process.returncode
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return (
            f"rank {self.first_rank + local_rank} (local rank {local_rank}, process {process.pid}) of "
            f"{self.options.training_script} {how}{'; the other ranks were ended' if others else ''}"
        )

    def _end_all(self) -> None:
        """Ends what is left, and what that has started."""
        left = [p for p in self.processes.values() if p.returncode is None]
        for process in left:
            os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and not all(map(_has_ended, left)):
            time.sleep(0.02)
        for process in left:
            _bury(process)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Has it, which nobody has waited for yet?"""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _bury(process: subprocess.Popen[bytes]) -> None:
    """Ends what a process has started and, if it still runs, itself. Until it is waited for its number is its own."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _count(text: str) -> int:
    if text in ("auto", "gpu"):
        # Counted in a process of its own: the launcher opens no GPU.
        count = "import tandem; print(tandem.cuda.device_count())"
        found = subprocess.run([sys.executable, "-c", count], stdout=subprocess.PIPE, text=True, check=True)
        if int(found.stdout) > 0:
            return int(found.stdout)
        if text == "gpu":
            raise SystemExit("--nproc-per-node gpu: there is no GPU")
    if text in ("auto", "cpu"):
        return len(os.sched_getaffinity(0))
    if not text.isdigit() or int(text) < 1:
        raise SystemExit(f"--nproc-per-node should be a number of processes, gpu, cpu or auto, not {text!r}")
    return int(text)


_NAME = "tandem.distributed.run"


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise _Interrupted(number)


def main(args: Sequence[str] | None = None) -> int:
    """Run what a command line says; the status to end with: 0, 1 if a process failed, 128 and a signal's number.

    >>> import tandem
    >>> from tandem.distributed.run import main
    >>> main(["--no-python", "--nproc-per-node", "2", "true"])
    0
    """
    options = _arguments().parse_args(args)
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return _Launcher(options).run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
