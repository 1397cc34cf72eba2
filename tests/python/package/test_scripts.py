"""Scripts in the style of tutorials, written for `import torch`, run unchanged by `python -m tandem`.

Their first ten losses are compared with those that PyTorch printed, kept in scripts/losses.json (made by
benchmarks/scripts.py --record).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tandem

SCRIPTS = Path(__file__).parent / "scripts"
LOSSES = json.loads((SCRIPTS / "losses.json").read_text())


def test_every_script_has_recorded_losses():
    assert sorted(LOSSES) == sorted(p.stem for p in SCRIPTS.glob("*.py"))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_script_gives_the_losses_of_pytorch(name):
    environment = {**os.environ, "PYTHONPATH": str(Path(tandem.__file__).parents[1])}
    command = [sys.executable, "-m", "tandem", str(SCRIPTS / f"{name}.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = [[float(x) for x in line.split("loss ")[1].split()] for line in done.stdout.splitlines()]
    assert len(printed) == 10
    for actual, expected in zip(printed, LOSSES[name], strict=True):
        assert actual == pytest.approx(expected, rel=1e-4)
