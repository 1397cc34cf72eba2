"""What one can look inside with: explain, TANDEM_LOG, TANDEM_DUMP, counters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_structure import PASSES

import tandem

PROGRAM = """
import tandem
f = tandem.compile(lambda x, y: tandem.softmax(tandem.tanh(x * 2 + y), -1).sum(0))
print(f(tandem.ones(30, 40), tandem.ones(40)).sum().item())
"""


def run(cache: Path, **environment: str) -> str:
    """What the program writes to standard error, with an empty kernel cache."""
    paths = [str(Path(tandem.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "TANDEM_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **environment,
    }
    out = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stderr
    assert float(out.stdout) == pytest.approx(30)
    return out.stderr


def test_logs_say_nothing_unless_asked(tmp_path):
    assert run(tmp_path) == ""


def test_log_of_passes(tmp_path):
    text = run(tmp_path, TANDEM_LOG="passes").lower().replace("_", "")
    for name in PASSES:
        assert name.replace("_", "") in text, f"{name} is not logged:\n{text}"
    assert " us" in text


def test_logs_of_plans_and_kernels(tmp_path):
    both = run(tmp_path, TANDEM_LOG="plans,kernels")
    assert "plan:" in both and "kernel" in both and "tanh" in both


def test_dumps(tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    run(tmp_path / "cache", TANDEM_DUMP=str(folder))
    names = sorted(p.name for p in folder.iterdir())
    assert any("trace" in n for n in names), names
    for name in PASSES:
        plain = name.replace("_", "")
        assert any(plain in n.lower().replace("_", "") for n in names), f"{name}: {names}"
    texts = [p.read_text() for p in folder.iterdir() if "trace" in p.name]
    assert any("td." in t and "tanh" in t for t in texts)


def test_explain_changes_nothing():
    @tandem.compile
    def f(x, s):
        return (tandem.tanh(x * s) * x).sum()

    x = tandem.randn(100, 10)
    text = f.explain(x, 2.0)
    for word in ("tanh", "sum", "region", "kernel"):
        assert word in text, text
    for name in PASSES:
        assert f"pass {name}: " in text, text
    assert f.runs == 1
    assert f(x, 3.0).item() == (tandem.tanh(x * 3.0) * x).sum().item()
    assert f.runs == 1, "explain has traced it already"


def test_counters_only_grow():
    before = tandem.counters()
    names = [
        "kernel_compiles",
        "kernel_cache_hits",
        "kernel_launches",
        "graph_traces",
        "plan_builds",
        "bytes_allocated",
        "peak_bytes",
    ]
    assert set(names) <= set(before)
    x = tandem.ones(1000)
    tandem.compile(lambda x: x * 2.25 + 1)(x)
    after = tandem.counters()
    assert all(after[n] >= before[n] for n in names)
    assert after["graph_traces"] == before["graph_traces"] + 1 and after["kernel_launches"] > before["kernel_launches"]
    assert after["bytes_allocated"] - before["bytes_allocated"] >= x.numel() * 4
    assert after["peak_bytes"] >= x.numel() * 4
