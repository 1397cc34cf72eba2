"""Processes that are lost or late: a clear error on all other ranks within the timeout, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from processes import environment, run

pytestmark = pytest.mark.cpu

LOST = "the connection to rank 1 was closed: its process has ended or left the group"


@pytest.mark.parametrize(
    "call",
    [
        "dist.all_reduce(tandem.ones(4))",
        "dist.all_reduce(tandem.ones(3_000_000))",
        "dist.barrier()",
        "dist.all_reduce(tandem.ones(4), async_op=True).wait()",
    ],
)
def test_a_killed_rank_is_an_error_on_all_others(call):
    begun = time.monotonic()
    run(
        f"""
        for k in range(3):
            {call}
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        began = time.monotonic()
        name = {call!r}.partition("(")[0].partition(".")[2]
        def again():
            {call}
        for _ in range(2):  # the group is of no use
            raises(dist.DistBackendError, "{LOST}", again)
            raises(dist.DistBackendError, f"{{name}}: ", again)
        assert time.monotonic() - began < 10
        """,
        world=3,
        fails={1: -signal.SIGKILL},
    )
    assert time.monotonic() - begun < 30


def test_a_rank_that_ends_is_an_error_where_its_message_is_waited_for():
    run(
        """
        if rank == 1:
            sys.exit(3)
        raises(dist.DistBackendError, "recv: the connection to rank 1 was closed", dist.recv, tandem.ones(2), 1)
        raises(dist.DistBackendError, "closed", dist.send, tandem.ones(2), 1)
        """,
        fails={1: 3},
    )


def test_a_rank_that_is_late_is_named():
    run(
        """
        group = dist.new_group(timeout=seconds(2))
        if rank == 2:
            time.sleep(4)
            raises(dist.DistBackendError, "gave up: rank 2 did not take part within 2 s", dist.barrier, group)
        else:
            began = time.monotonic()
            words = "rank 2 did not take part within 2 s"
            raises(dist.DistBackendError, words, dist.all_reduce, tandem.ones(2), group=group)
            assert time.monotonic() - began < 3.5
        dist.barrier()  # other groups go on
        """,
        world=3,
    )


def test_a_monitored_barrier_and_messages_have_timeouts():
    run(
        """
        if rank == 0:
            raises(dist.DistBackendError, "monitored_barrier: rank 1 did not take part within 0.5 s",
                   dist.monitored_barrier, timeout=seconds(0.5))
        else:
            time.sleep(1)
        """
    )
    run(
        """
        if rank == 0:
            work = dist.irecv(tandem.ones(1), 1)
            raises(dist.DistBackendError, "irecv: not done within 0.5 s", work.wait, seconds(0.5))
            raises(dist.DistBackendError, "irecv was not done within 0.5 s", dist.barrier)
        else:
            words = "recv: rank 0 gave up: irecv was not done within 0.5 s"
            raises(dist.DistBackendError, words, dist.recv, tandem.ones(1), 0)
        """
    )


def test_a_wait_for_any_rank_ends_with_its_group():
    run(
        """
        a, b = dist.new_group(), dist.new_group()
        works = [dist.irecv(tandem.ones(1), group=a), dist.irecv(tandem.ones(1), 1 - rank, group=a)]
        dist.destroy_process_group(a)
        for work in works:
            raises(dist.DistBackendError, "irecv: the group was destroyed", work.wait)
        if rank == 0:
            work = dist.irecv(tandem.ones(1), group=b)
            raises(dist.DistBackendError, "irecv: not done within 0.3 s", work.wait, seconds(0.3))
        dist.barrier()
        dist.destroy_process_group()
        """
    )


def test_absent_ranks_are_named_when_the_group_is_made():
    run(
        """
        words = "2, 3 did not arrive within 2 s"
        url = sys.argv[3]
        raises(dist.DistStoreError, words, dist.init_process_group, "gloo", url, seconds(2), 4, rank)
        """,
        begin="",
    )


def test_where_processes_meet():
    run(
        """
        raises(ValueError, "environment variable RANK expected", dist.init_process_group)
        os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT="not one")
        raises(ValueError, "MASTER_PORT should be a number, not 'not one'", dist.init_process_group)
        for method, at, words in (
            ("udp://host:1", 0, "no rendezvous for 'udp://host:1'"),
            ("file://", 0, "names no file"),
            ("tcp://host", 0, "is no address"),
            ("tcp://localhost:1", -1, "needs rank="),
            ("tcp://localhost:1", 1, "ranks are 0 to world_size - 1"),
        ):
            raises(ValueError, words, dist.init_process_group, init_method=method, rank=at, world_size=1)
        raises(NotImplementedError, "the backend mpi is not part of Tandem", dist.init_process_group, "mpi")
        raises(ValueError, "Invalid backend: 'carrier pigeon'", dist.init_process_group, "carrier pigeon")
        raises(TypeError, "datetime.timedelta, got 3", dist.init_process_group, timeout=3)
        raises(dist.DistNetworkError, "could not be reached within 1 s", dist.init_process_group,
               init_method="tcp://127.0.0.1:1", rank=1, world_size=2, timeout=seconds(1))
        # A port that is free: rank 0 asks for one and tells the other by the file.
        files = dist.FileStore(sys.argv[3].removeprefix("file://"))
        if rank == 0:
            import socket
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            files.set("port", str(port))
        os.environ["MASTER_PORT"] = port = files.get("port").decode()
        for method, more in ((None, {}), (f"tcp://127.0.0.1:{port}", {"rank": rank, "world_size": 2}),
                             (f"tcp://localhost:{port}?rank={rank}&world_size=2", {})):
            dist.init_process_group("cpu:gloo,cuda:nccl", method, timeout=seconds(20), **more)
            x = tandem.ones(1)
            dist.all_reduce(x)
            assert x.item() == 2 and dist.get_rank() == rank
            raises(ValueError, "twice", dist.init_process_group)
            dist.barrier()
            dist.destroy_process_group()
        """,
        begin="",
    )


def test_stores():
    run(
        """
        import tempfile, threading
        with tempfile.TemporaryDirectory() as folder:
            tcp = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=seconds(5))
            pairs = [(dist.FileStore(folder + "/f", 2), dist.FileStore(folder + "/f", 2)),
                     (tcp, dist.TCPStore("127.0.0.1", tcp.port, timeout=seconds(5)))]
            for a, b in pairs:
                a.set("key", b"1\\x00two")
                assert b.get("key") == b"1\\x00two" and b.check(["key"]) and not b.check(["key", "other"])
                assert a.add("n", 3) == 3 and b.add("n", -1) == 2 and a.get("n") == b"2"
                assert b.compare_set("key", "no", "new") == b"1\\x00two" and b.compare_set("fresh", "", "new") == b"new"
                assert a.num_keys() == 3 and a.delete_key("fresh") and not a.delete_key("fresh")
                threading.Timer(0.2, lambda: a.set("late", "now")).start()
                assert b.get("late") == b"now"
                b.set_timeout(seconds(0.2))
                raises(dist.DistStoreError, "wait timeout after 0.2 s, waiting for keys: absent", b.get, "absent")
                part = dist.PrefixStore("part", b)
                part.set("key", "x")
                assert a.get("part/key") == b"x"
                raises(dist.DistStoreError, "no number", a.add, "key", 1)
                a.set("large", b"x" * 3_000_000)
                b.set_timeout(seconds(5))
                assert len(b.get("large")) == 3_000_000
            words = "cannot listen at 127.0.0.1"
            raises(dist.DistNetworkError, words, dist.TCPStore, "127.0.0.1", tcp.port, is_master=True)
        """,
        world=1,
        begin="",
    )


def test_a_library_that_is_missing_is_named(tmp_path):
    program = f"""
import tandem, pathlib
from tandem.distributed import _gloo
def init():
    try:
        tandem.distributed.init_process_group("gloo", store=tandem.distributed.HashStore(), rank=0, world_size=1)
    except RuntimeError as e:
        print(e)
_gloo.LIBRARY = pathlib.Path({str(tmp_path)!r}) / "libtandem_gloo.so"
init()
_gloo.LIBRARY.write_bytes(b"no library")
init()
assert not tandem.distributed.is_initialized()
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    absent, broken = done.stdout.splitlines()
    assert "libtandem_gloo.so is not part of this build" in absent and "libgloo-dev" in absent
    assert "libtandem_gloo.so cannot be opened" in broken and "libgloo0" in broken


def test_nothing_is_opened_before_the_first_group():
    program = """
import tandem, tandem.distributed, tandem.nn
assert tandem.distributed.is_available()
print("gloo" in open("/proc/self/maps").read())
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_nothing_imports_it_early():
    program = "import sys, tandem; print([m for m in sys.modules if 'distributed' in m]); tandem.distributed.ReduceOp"
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
    assert os.path.isdir("/proc/self")
