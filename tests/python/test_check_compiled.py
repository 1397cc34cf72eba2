"""`TANDEM_CHECK_COMPILED=1`: compiled calls are made again by the body, and all bits are compared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """if True:
    import tandem
    from tandem import nn

    tandem.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = tandem.optim.Adam(net.parameters(), lr=0.01)
    kept = tandem.zeros(3)

    @tandem.compile
    def step(x, scale):
        optimizer.zero_grad()
        loss = (net(x) * scale).square().mean()
        loss.backward()
        optimizer.step()
        kept.add_(1)
        return loss, {"twice": loss * 2, "rows": net[0].weight[:2]}

    losses = [step(tandem.randn(5, 4), float(k))[0].item() for k in range(6)]
    print(losses, kept.tolist(), step.runs)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


def test_a_right_program_gives_the_same_under_the_check():
    plain, checked = run(PROGRAM), run(PROGRAM, TANDEM_CHECK_COMPILED="1")
    assert plain.returncode == checked.returncode == 0, checked.stderr
    losses, runs = plain.stdout.rsplit(" ", 1)
    again, checked_runs = checked.stdout.rsplit(" ", 1)
    assert losses == again
    assert int(runs) <= 3 and int(checked_runs) == 6, "the body runs again for every call that ran the plan"


def test_a_difference_is_an_error_that_names_the_value():
    # A constant of the code is changed in its memory, which no guard sees and no program may do.
    code = """if True:
        import ctypes, tandem
        body = lambda x: x * 2.5
        f = tandem.compile(body)
        print(f(tandem.ones(2)).tolist(), f(tandem.ones(2)).tolist())
        number = next(k for k in body.__code__.co_consts if isinstance(k, float))
        ctypes.c_double.from_address(id(number) + object.__basicsize__).value = 3.0
        f(tandem.ones(2))
        """
    found = run(code, TANDEM_CHECK_COMPILED="1")
    assert found.stdout.strip() == "[2.5, 2.5] [2.5, 2.5]"
    assert "TANDEM_CHECK_COMPILED: a bit of result differs from the eager call's" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random_programs", "compile_programs", "compile_steps", "compile_fast_path"])
def test_programs_under_the_check(name):
    """Random programs with and without Python's state, the steps of examples and scripts, a model of every module and
    a step of every optimizer: each call that runs a plan is compared with the body's."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{name}.py"]
    environment = {**os.environ, "TANDEM_CHECK_COMPILED": "1"}
    done = subprocess.run(
        command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stdout[-5000:]
