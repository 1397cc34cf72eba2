"""Plans of large traces are kept on the disk: the first step of a warm process runs no pass."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import tandem
from tandem import nn
tandem.manual_seed(0)
model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
optimizer = tandem.optim.AdamW(model.parameters())
table = nn.Embedding(7, 16)  # whose indices may be out of range: errors name a line
x = tandem.randint(0, 7, (2, 4))
def step(x):
    optimizer.zero_grad()
    loss = model(table(x)).square().mean()
    loss.backward()
    optimizer.step()
    return loss
compiled = tandem.compile(step)
losses = [compiled(x).item().hex() for _ in range(3)]
counted = tandem.counters()
print(counted["plan_builds"], counted["plan_reads"], counted["kernel_compiles"], *losses)
"""


def run(folder, program=PROGRAM, **environment):
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    file = folder / "program.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, **path, "TANDEM_CACHE_DIR": str(folder), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    builds, reads, compiles, *losses = done.stdout.split()
    return int(builds), int(reads), int(compiles), losses


def plans(folder):
    return [p for p in (folder / "plans").rglob("*") if p.is_file()]


def test_a_warm_process_runs_no_pass(tmp_path):
    builds, reads, _, cold = run(tmp_path)
    assert builds > 0 and reads == 0 and len(plans(tmp_path)) == builds
    assert run(tmp_path) == (0, builds, 0, cold)
    assert run(tmp_path, TANDEM_CACHE="off")[:2] == (builds, 0)
    # What errors would name is another line, and other switches are other passes.
    assert run(tmp_path, PROGRAM.replace("def step", "\n\ndef step"))[:2] == (builds, 0)
    without = run(tmp_path, TANDEM_DISABLE="fuse")
    assert without[:2] == (builds, 0) and without[3] == cold


def test_damaged_files_are_made_anew(tmp_path):
    builds, _, _, cold = run(tmp_path)
    for k, file in enumerate(plans(tmp_path)):
        data = bytearray(file.read_bytes())
        if k % 2 == 0:
            data[len(data) // 2] ^= 255
        file.write_bytes(data if k % 2 == 0 else data[: len(data) // 2])
    again = run(tmp_path)
    assert again[:2] == (builds, 0) and again[3] == cold
    assert run(tmp_path)[:2] == (0, builds)
