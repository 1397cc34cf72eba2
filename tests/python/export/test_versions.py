"""Files of every version of the format, which are read for ever (tests/data)."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from exporting import Jobs

import tandem
from tandem.export import load

DATA = Path(__file__).parents[2] / "data"
SAVED = sorted(DATA.glob("program-*.tandem"))
MAKE = runpy.run_path(str(DATA / "make.py"))


def test_there_is_one_of_this_version():
    assert DATA / f"program-{MAKE['VERSION']}.tandem" in SAVED


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
@pytest.mark.parametrize("ir_only", [False, True])
def test_it_gives_what_it_gave(path, ir_only):
    """Library functions may round in another way some day; what the file's own code computes may not."""
    found = MAKE["results"](load(path, verify=True, ir_only=ir_only))
    expected = np.load(path.with_suffix(".npz"))
    assert found.keys() == set(expected.files)
    for name, value in found.items():
        assert value.dtype == expected[name].dtype and value.shape == expected[name].shape, name
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_it_runs_in_c(path, tmp_path):
    program = load(path)
    jobs = Jobs(tmp_path)
    for size in (2, 4):
        args = MAKE["arguments"]("forward", size)
        jobs.add(program, "forward", args, [program(*args)], sizes=(size,))
    assert jobs.run() == []
    assert program.notes == {"license": "CC0"} and isinstance(program.graph, str)


def test_writing_it_again_is_refused():
    with pytest.raises(SystemExit, match="is there already"):
        runpy.run_path(str(DATA / "make.py"), run_name="__main__")
    assert tandem.export.load(SAVED[0]).entries == ["forward", "step", "pairs", "draw"]
