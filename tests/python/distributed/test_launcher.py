"""`python -m tandem.distributed.run` and `multiprocessing.spawn`: what processes find, and what follows a failure."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from operations import ROOT
from processes import LIMIT, environment

pytestmark = pytest.mark.cpu


def launch(*args: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tandem.distributed.run", *args]
    return subprocess.run(command, cwd=cwd, env=environment(**more), capture_output=True, text=True, timeout=LIMIT)


def script(folder: Path, text: str) -> str:
    (folder / "script.py").write_text(textwrap.dedent(text))
    return "script.py"


def alive(pids: list[int]) -> list[int]:
    """Those that still run."""
    left = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            continue
        if state not in "ZX":
            left.append(pid)
    return left


def test_processes_find_each_other(tmp_path):
    name = script(
        tmp_path,
        """
        import os, sys
        import tandem, tandem.distributed as dist
        dist.init_process_group()
        assert dist.is_torchelastic_launched() and __name__ == "__main__"
        x = tandem.tensor([dist.get_rank() + 1.0])
        dist.all_reduce(x)
        names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR OMP_NUM_THREADS"
        sys.stdout.write(" ".join([*(os.environ[n] for n in names.split()), str(x.item()), *sys.argv[1:]]) + "\\n")
        """,
    )
    done = launch("--nproc-per-node", "3", name, "--nproc_per_node", "x", cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"{rank} {rank} 3 3 127.0.0.1 1 6.0 --nproc_per_node x" for rank in range(3)
    ]


def test_scripts_that_import_torch(tmp_path):
    name = script(
        tmp_path,
        """
        import os
        import torch
        import torch.distributed as dist
        from torch.distributed.elastic.multiprocessing.errors import record
        from torch.nn.parallel import DistributedDataParallel as DDP
        from torch.utils.data import DataLoader, TensorDataset
        from torch.utils.data.distributed import DistributedSampler

        @record
        def main():
            dist.init_process_group(backend="gloo")
            torch.manual_seed(0)
            data = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
            loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
            model = DDP(torch.nn.Linear(4, 1))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(2):
                loader.sampler.set_epoch(epoch)
                for x, y in loader:
                    optimizer.zero_grad()
                    torch.nn.functional.mse_loss(model(x), y).backward()
                    optimizer.step()
            weights = [torch.zeros(1, 4) for _ in range(dist.get_world_size())]
            dist.all_gather(weights, model.module.weight.detach())
            assert torch.equal(weights[0], weights[1])
            dist.destroy_process_group()
            if int(os.environ["RANK"]) == 0:
                print("done")

        if __name__ == "__main__":
            main()
        """,
    )
    done = launch("--standalone", "--nproc_per_node=2", "-m", "tandem", name, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr


@pytest.mark.parametrize(
    ("how", "words"),
    [("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"), ("sys.exit(7)", "ended with status 7")],
    ids=["killed", "exit"],
)
def test_one_that_fails_ends_all(tmp_path, how, words):
    name = script(
        tmp_path,
        f"""
        import os, pathlib, signal, subprocess, sys, time
        import tandem, tandem.distributed as dist
        dist.init_process_group()
        rank = dist.get_rank()
        child = subprocess.Popen(["sleep", "600"])  # as the workers of a loader
        pathlib.Path(f"pids{{rank}}").write_text(f"{{os.getpid()}} {{child.pid}}")
        dist.barrier()
        if rank == 1:
            {how}
        signal.signal(signal.SIGTERM, signal.SIG_IGN if rank == 2 else signal.SIG_DFL)
        if rank == 0:
            time.sleep(600)
        dist.barrier()
        """,
    )
    begun = time.monotonic()
    done = launch("--nproc-per-node", "3", name, cwd=tmp_path)
    assert done.returncode == 1 and time.monotonic() - begun < 20
    assert re.search(
        rf"rank 1 \(local rank 1, process \d+\) of script.py {words}; the other ranks were ended", done.stderr
    )
    pids = [int(pid) for rank in range(3) for pid in (tmp_path / f"pids{rank}").read_text().split()]
    assert len(pids) == 6 and alive(pids) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_launcher(tmp_path, number):
    name = script(
        tmp_path,
        """
        import os, pathlib, time
        pathlib.Path(f"pid{os.environ['RANK']}").write_text(str(os.getpid()))
        time.sleep(600)
        """,
    )
    command = [sys.executable, "-m", "tandem.distributed.run", "--nproc-per-node", "2", name]
    launcher = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    files = [tmp_path / "pid0", tmp_path / "pid1"]
    while not all(f.exists() and f.read_text() for f in files) and time.monotonic() < deadline:
        time.sleep(0.05)
    launcher.send_signal(number)
    _, err = launcher.communicate(timeout=20)
    assert launcher.returncode == (128 + number if number == signal.SIGTERM else -number), err
    pids = [int(f.read_text()) for f in files]
    while alive(pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(pids) == []


def test_what_the_launcher_refuses(tmp_path):
    for args, words in (
        (["--nproc-per-node", "none", "x.py"], "should be a number of processes, gpu, cpu or auto, not 'none'"),
        (["--max-restarts", "3", "x.py"], "invalid choice: 3"),
        (["--nproc-per-node", "gpu", "x.py"], "--nproc-per-node gpu: there is no GPU"),
        (["--rdzv-endpoint", "here:x", "x.py"], "should be HOST or HOST:PORT, not 'here:x'"),
        (["--nnodes", "2", "--rdzv-endpoint", "localhost", "x.py"], "several machines need --master-port"),
        (["--nnodes", "2", "x.py"], "several machines need --master-port"),
        (["--node-rank", "1", "x.py"], "--node-rank 1 is none of 1 machines"),
        (["--no-python", "./absent"], "./absent cannot be started: No such file or directory"),
        ([], "the following arguments are required: script"),
    ):
        done = launch(*args, cwd=tmp_path)
        assert done.returncode != 0 and words in done.stderr, done.stderr


SPAWN = """
import os, signal, sys, time
import tandem
import tandem.distributed as dist
import tandem.multiprocessing as mp

def work(i, url, how):
    dist.init_process_group("gloo", url, rank=i, world_size=2)
    x = tandem.tensor([float(i)])
    dist.all_reduce(x)
    assert x.item() == 1
    if how == "fine":
        dist.destroy_process_group()
        return
    if i == 1:
        if how == "raise":
            raise ValueError("from within")
        if how == "exit":
            sys.exit(5)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)

if __name__ == "__main__":
    for how in ("fine", "raise", "exit", "kill"):
        begun = time.monotonic()
        context = mp.spawn(work, (f"file://{os.getcwd()}/{how}", how), nprocs=2, join=False)
        try:
            while not context.join():
                pass
            print("fine", context.pids() != [None, None])
        except mp.ProcessRaisedException as e:
            print("raised", e.error_index, "ValueError: from within" in str(e) and "in work" in str(e))
        except mp.ProcessExitedException as e:
            print("exited", e.error_index, e.exit_code, e.signal_name, e)
        assert all(p.exitcode is not None for p in context.processes) and time.monotonic() - begun < 15
"""


def test_spawn(tmp_path):
    (tmp_path / "program.py").write_text(SPAWN)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "fine True",
        "raised 1 True",
        "exited 1 5 None process 1 terminated with exit code 5",
        "exited 1 -9 SIGKILL process 1 terminated with signal SIGKILL",
    ]


def test_the_example_trains(tmp_path):
    example = ROOT / "examples/data_parallel.py"
    both = [launch("--nproc-per-node", "2", str(example), "--steps", "30", cwd=tmp_path) for _ in range(2)]
    for done in both:
        assert done.returncode == 0, done.stderr
    assert both[0].stdout == both[1].stdout and "loss" in both[0].stdout
    assert os.listdir(tmp_path) == []
