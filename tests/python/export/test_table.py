"""The table of operations as saved programs: run by the C functions in another process, they give eager's bits."""

from __future__ import annotations

import re
import warnings

import pytest
from exporting import TARGET, Jobs
from operations import VISIBLE, Typed, dtypes
from references import UNSPECIFIED
from samples import samples

import tandem
from tandem.export import export

# What no saved program can do, and why.
REFUSED = {
    NotImplementedError: "a size depends on data|no tensor",
    tandem.DataReadError: "value",
    TypeError: "takes and gives",
}


def refused(error: Exception) -> bool:
    return any(type(error) is kind and re.search(text, str(error)) for kind, text in REFUSED.items())


def unique(tensors):
    """Each tensor once: one in two places is one result."""
    return list({id(t): t for t in tensors}.values())


def some_dtypes(op):
    known = dtypes(op)
    return [d for d in ("float32", "int64", "bfloat16", "bool") if d in known][:3] or list(known)[:1]


GROUPS = 12
NAMES = [n for n in VISIBLE if n not in UNSPECIFIED]


@pytest.mark.parametrize("group", range(GROUPS))
def test_operations(group, tmp_path):
    jobs, rows, left_out = Jobs(tmp_path), [], []
    for name in NAMES[group::GROUPS]:
        op = VISIBLE[name]
        for dtype in some_dtypes(op):
            for sample in samples(op, dtype):
                row = Typed.of(op, sample, dtype, "contiguous")
                if not row.tensors:
                    continue
                tandem.manual_seed(7)
                expected = row.run()
                tandem.manual_seed(7)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # to note one for a test is an effect of the call
                        program = export(op.call, row.args, row.kwargs, targets=[TARGET])
                except Exception as e:
                    if not refused(e):
                        raise AssertionError(f"{row}: {type(e).__name__}: {e}") from e
                    left_out.append(f"{name}: {e}")
                    continue
                entry = program._entries[0]
                tensors, _ = entry.read(row.args, row.kwargs)
                tandem.manual_seed(7)
                jobs.add(program, "forward", [t.clone() for t in tensors], unique(expected))
                rows.append(str(row))
    wrong = jobs.run()
    assert wrong == [], "\n".join(f"{rows[int(w.split()[1].strip(','))]}: {w}" for w in wrong[:10])
    assert len(jobs.jobs) > 100 and len(left_out) < len(jobs.jobs) / 10, left_out
