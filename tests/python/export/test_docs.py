"""docs/deploy.md: its blocks run in order, as one program. Blocks of C are files, named by their first line; those of
the shell find the header and the library under $PREFIX, as they are after `make install`."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from operations import ROOT, generated

import tandem

GUIDE = ROOT / "docs/deploy.md"


def run_shell(block: str, prefix: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        env={**os.environ, "PATH": path, "PREFIX": str(prefix)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "TANDEM_SANITIZE:STRING=\n" not in (generated().parent / "CMakeCache.txt").read_text():
        pytest.skip("programs of users are not built under a sanitizer")
    prefix, work = tmp_path / "prefix", tmp_path / "work"
    prefix.mkdir()
    work.mkdir()
    (prefix / "include").symlink_to(ROOT / "include")
    (prefix / "lib").symlink_to(generated().parent / "lib")
    monkeypatch.chdir(work)
    names: dict[str, object] = {}
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    text = GUIDE.read_text()
    kinds = []
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        kind, block = found.groups()
        kinds.append(kind)
        line = text.count("\n", 0, found.start(2))
        if kind == "python":
            test = doctest.DocTestParser().get_doctest(block, names, GUIDE.name, str(GUIDE), line)
            failed, _ = runner.run(test, out=said.append, clear_globs=False)
            assert test.examples and not failed, "".join(said)
            names = test.globs
        elif kind == "c":
            file = re.match(r"/\* (\w+\.c) \*/\n", block)
            assert file, block
            Path(file[1]).write_text(block)
        else:
            assert kind == "sh", kind
            run_shell(block, prefix)
    assert {"python", "c", "sh"} == set(kinds) and text.count("\n```") == 2 * len(kinds)


def test_it_says_what_there_is() -> None:
    text = GUIDE.read_text()
    header = (ROOT / "include/tandem/program.h").read_text()
    for name in set(re.findall(r"\btandem_\w+|\bTANDEM_[A-Z_]+", text)):
        assert re.search(rf"\b{name}\b", header), name
    for code in re.findall(r"^  (TANDEM_[A-Z_]+) = \d+,? +/\*", header, re.M):
        assert f"`{code}`" in text, code
    assert [n for n in tandem.export.__all__ if not re.search(rf"\b{n}\b", text)] == []
