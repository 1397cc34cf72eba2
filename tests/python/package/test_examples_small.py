"""The examples that newcomers meet first, with fewer steps: README's twenty lines and the programs in examples/."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from operations import ROOT

import tandem


def twenty_lines(steps: int, compiled: bool = True) -> str:
    """The example of README.md with another number of steps."""
    text, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert "for i in range(500):" in text and "@tandem.compile" in text
    assert len(text.splitlines()) <= 25
    text = text.replace("range(500)", f"range({steps})")
    return text if compiled else re.sub(r"@tandem\.compile.*", "", text)


def test_the_twenty_lines_learn(capsys):
    exec(compile(twenty_lines(60), "README.md", "exec"), {"__name__": "__main__"})
    loss, traces = capsys.readouterr().out.split()
    assert float(loss) < 0.3 and int(traces) > 0


def test_the_twenty_lines_give_the_same_losses_without_compile(capsys):
    printed = []
    for compiled in (True, False):
        exec(compile(twenty_lines(25, compiled), "README.md", "exec"), {"__name__": "__main__"})
        printed.append(capsys.readouterr().out.split()[0])
    assert printed[0] == printed[1]


def test_the_twenty_lines_are_traced_a_few_times_only(capsys):
    # The first step makes gradients and the optimizer's state; from then on nothing changes.
    before = tandem.counters()["graph_traces"]
    exec(compile(twenty_lines(10), "README.md", "exec"), {"__name__": "__main__"})
    assert tandem.counters()["graph_traces"] - before <= 3


@pytest.mark.parametrize("name", ["fashion_mnist", "pinn"])
def test_examples_take_help(name):
    out = subprocess.run(
        [sys.executable, str(ROOT / f"examples/{name}.py"), "--help"], capture_output=True, text=True, timeout=60
    )
    assert out.returncode == 0, out.stderr
    for option in ("--mode", "--epochs", "--seed"):
        assert option in out.stdout


def test_pinn_runs_a_few_steps(tmp_path):
    command = [sys.executable, str(ROOT / "examples/pinn.py"), "--mode", "compiled", "--epochs", "3"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert "Traceback" not in out.stderr, out.stderr
