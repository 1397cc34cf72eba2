"""Files of saved programs that are damaged anywhere load, or are refused with an error that says so."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tandem
from tandem import nn
from tandem.export import ExportedProgram, export, load

# Loads every version of a file that standard input names, and runs it if it loads. In a process of its own: what is
# tested is that it lives.
PROBE = """
import sys
import tandem
from tandem.export import load
x = tandem.ones(2, 1, 6, 6)
for line in sys.stdin:
    path, verify = line.split("|")
    try:
        load(path, verify=verify.strip() == "verify")(x)
        print("loaded")
    except (ValueError, NotImplementedError) as e:
        assert str(e), "an error says what is wrong"
        print("refused")
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    tandem.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)).eval()
    path = tmp_path_factory.mktemp("damaged") / "program.tandem"
    export(model, (tandem.ones(2, 1, 6, 6),)).save(path)
    return path


def outcomes(folder: Path, versions: list[bytes], verify: bool) -> list[str]:
    paths = []
    for k, data in enumerate(versions):
        paths.append(folder / f"{k}.tandem")
        paths[-1].write_bytes(data)
    lines = "".join(f"{p}|{'verify' if verify else ''}\n" for p in paths)
    done = subprocess.run([sys.executable, "-c", PROBE], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def members(path: Path) -> dict[str, tuple[int, int]]:
    """Where the bytes of each member are."""
    data, places = path.read_bytes(), {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            head = info.header_offset
            names = sum(int.from_bytes(data[head + k : head + k + 2], "little") for k in (26, 28))
            places[info.filename] = (head + 30 + names, info.file_size)
    return places


def test_any_byte(saved, tmp_path):
    data, rng = saved.read_bytes(), random.Random(5)
    versions = [flipped(data, rng.randrange(len(data)), rng.randrange(8)) for _ in range(200)]
    # The directory at the end, and the manifest, are few of the bytes.
    begin, size = members(saved)["manifest"]
    versions += [flipped(data, rng.randrange(begin, begin + size), rng.randrange(8)) for _ in range(100)]
    versions += [flipped(data, len(data) - 1 - rng.randrange(400), rng.randrange(8)) for _ in range(100)]
    found = outcomes(tmp_path, versions, verify=False)
    assert set(found) <= {"loaded", "refused"} and len(found) == len(versions)
    assert found[200:300] == ["refused"] * 100, "the manifest has a checksum"


def test_any_length(saved, tmp_path):
    data, rng = saved.read_bytes(), random.Random(6)
    versions = [data[: rng.randrange(len(data))] for _ in range(60)] + [b"", data[:10], data + b"more" * 20]
    found = outcomes(tmp_path, versions, verify=False)
    assert found[:-1] == ["refused"] * (len(versions) - 1)


def test_verified(saved, tmp_path):
    """With `verify` a flip of any bit of any member is found."""
    data, rng = saved.read_bytes(), random.Random(7)
    places = {name: place for name, place in members(saved).items() if place[1] > 0}
    versions = [
        flipped(data, begin + rng.randrange(size), rng.randrange(8))
        for begin, size in places.values()
        for _ in range(8)
    ]
    assert outcomes(tmp_path, versions, verify=True) == ["refused"] * len(versions)
    assert outcomes(tmp_path, [data], verify=True) == ["loaded"]


def test_members_missing(saved, tmp_path):
    for left_out in members(saved):
        path = tmp_path / "without.tandem"
        with zipfile.ZipFile(saved) as archive, zipfile.ZipFile(path, "w") as made:
            for info in archive.infolist():
                if info.filename != left_out:
                    made.writestr(zipfile.ZipInfo(info.filename), archive.read(info))
        with pytest.raises((ValueError, NotImplementedError)):
            load(path)


def test_not_a_file(tmp_path):
    with pytest.raises(ValueError, match="not a file"):
        load(tmp_path)
    with pytest.raises(ValueError, match="No such file"):
        load(tmp_path / "none.tandem")


def test_structures_that_contradict_the_rest(saved):
    """How arguments and results are put together is JSON in the manifest, which Python alone reads."""
    program = load(saved)
    parts = {name: program._program.member(name) for name in program._program.members()}
    parts["weights.safetensors"] = tandem.frombuffer(bytearray(parts["weights.safetensors"]), dtype=tandem.uint8)
    for before, after in (
        (b'"tuple"', b'"tupla"'),
        (b'"inputs"', b'"inputz"'),
        (b'["tensor", 0]', b'["tensor", 1]'),
        (b'["tensor", 0]', b'["tensor","0"'),
        (b'"results"', b'"resultz"'),
        (b'"parameters": ["input"]', b'"parameters": [       ]'),
    ):
        assert before in parts["manifest"]
        changed = {**parts, "manifest": parts["manifest"].replace(before, after)}
        if before[:4] == b'"par':
            made = ExportedProgram(tandem._C.Program(changed), changed)  # as files that do not tell
            assert made(tandem.ones(2, 1, 6, 6)).shape == (2, 3)
            continue
        with pytest.raises(ValueError, match="contradicts itself: how arguments and results of `forward` are put"):
            ExportedProgram(tandem._C.Program(changed), changed)
