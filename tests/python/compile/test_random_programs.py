"""Random programs of views, in-place writes and arithmetic: every mode and number of threads gives eager's bits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import WITHOUT_A_PASS, check, differences, examples, execute, inputs, programs

import tandem


@examples(250)
@given(program=programs, shapes=inputs)
def test_values(program, shapes):
    check(program, shapes, 0, ("lazy", "compiled", "compiled again"))


@examples(200)
@given(program=programs, shapes=inputs)
def test_gradients(program, shapes):
    check(program, shapes, 1, ("lazy", "compiled", "compiled again", "compiled forward"))


@examples(120)
@given(program=programs, shapes=inputs)
def test_second_derivatives(program, shapes):
    check(program, shapes, 2, ("lazy", "compiled again", "compiled forward"))


@examples(40)
@given(program=programs, threads=st.sampled_from([1, 2, 3]))
def test_threads(program, threads):
    shapes = [(300, 257), (257,), (300, 1)]
    tandem.set_num_threads(1)
    expected = execute("eager", program, shapes, 1)
    tandem.set_num_threads(threads)
    for mode in ("eager", "compiled again"):
        found = differences(execute(mode, program, shapes, 1), expected)
        assert found is None, f"{mode} with {threads} threads: {found}"


@pytest.mark.skipif(WITHOUT_A_PASS, reason="runs itself without a pass")
@pytest.mark.parametrize("name", ["canonicalize", "fold_conversions", "cse", "fuse", "make_in_place", "plan_memory"])
def test_each_pass_may_be_left_out(name):
    """Passes change how fast a program runs, never its bits: so a wrong one can be found by leaving it out."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{__file__}::test_gradients"]
    env = {**os.environ, "TANDEM_DISABLE": name}
    out = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stdout[-3000:]
