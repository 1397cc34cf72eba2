"""The table of operations as saved programs: run by the C functions in another process, they give eager's bits."""

from __future__ import annotations

import re
import warnings

import pytest
from exporting import TARGET, Jobs, raw, same
from operations import VISIBLE, Typed, dtypes, leaves
from references import UNSPECIFIED
from samples import samples

import tandem
from tandem.export import Dim, export
from tandem.export._export import _resized

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


def dynamic(tree, size, n):
    """`dynamic_shapes` that make each dim of a size the size `n`."""
    if isinstance(tree, tandem.Tensor):
        return tuple([n if d == size else None for d in tree.shape])
    if isinstance(tree, dict):
        return {key: dynamic(value, size, n) for key, value in tree.items()}
    return [dynamic(value, size, n) for value in tree] if isinstance(tree, (list, tuple)) else None


def with_size(tree, size, now):
    """The tensors of a tree with dims of another size."""
    if isinstance(tree, tandem.Tensor):
        return _resized(tree, [now if d == size else d for d in tree.shape])
    if isinstance(tree, dict):
        return {key: with_size(value, size, now) for key, value in tree.items()}
    return type(tree)(with_size(v, size, now) for v in tree) if isinstance(tree, (list, tuple)) else tree


@pytest.mark.parametrize("group", range(GROUPS))
def test_sizes(group):
    """Each operation with a size of its arguments that calls choose, wherever it can have others."""
    tried, left_out, wrong = 0, [], []
    for name in NAMES[group::GROUPS]:
        op = VISIBLE[name]
        for sample in samples(op, some_dtypes(op)[0]):
            row = Typed.of(op, sample, some_dtypes(op)[0], "contiguous")
            found = [d for t in row.tensors for d in t.shape]
            if not found:
                continue
            tried += 1
            size = found[0]
            n = Dim("n", min=max(size - 1, 0), max=size + 2)
            spec = [*dynamic(row.args, size, n), *dynamic(row.kwargs, size, n).values()]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    program = export(op.call, row.args, row.kwargs, dynamic_shapes=spec, targets=[TARGET])
            except Exception as e:
                assert refused(e) or "n = " in str(e), f"{row}: {type(e).__name__}: {e}"
                left_out.append(f"{row}: {e}")
                continue
            for now in range(n.min, n.max + 1):
                args, kwargs = with_size(row.args, size, now), with_size(row.kwargs, size, now)
                results = []
                for call in (op.call, program):
                    tandem.manual_seed(7)
                    program.manual_seed(7)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        copies = [with_size(tree, -1, 0) for tree in (args, kwargs)]
                        try:
                            results.append(leaves((call(*copies[0], **copies[1]),)))
                        except (RuntimeError, IndexError, ValueError) as e:
                            results.append(e)  # an index of the example is none for fewer elements
                if any(isinstance(r, Exception) for r in results):
                    if type(results[0]) is not type(results[1]):
                        wrong.append(f"{row}, n = {now}: {results}")
                elif len(results[0]) != len(results[1]) or not all(map(same, *[map(raw, r) for r in results])):
                    wrong.append(f"{row}, n = {now}")
    assert wrong == [], wrong[:10]
    assert len(left_out) < tried / 5, (tried, left_out)
