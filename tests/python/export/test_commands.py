"""`python -m tandem inspect`, `run` and `bench`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem
from tandem.export import Entry, _commands, entries, generate_key, load, sign
from tandem.export._archive import read_archive, write_archive


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a program and files of inputs, which the commands run in."""
    monkeypatch.chdir(tmp_path)
    tandem.manual_seed(4)
    model = tandem.nn.Linear(3, 2)
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

    def step(x, y):
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return {"loss": loss, "file": x.sum()}

    def others(mask, half, ids, scale):
        return half * scale, mask.sum() + ids.sum()

    x, y = tandem.ones(4, 3), tandem.zeros(4, 2)
    mixed = (tandem.ones(2, dtype=tandem.bool), tandem.ones(2, dtype=tandem.bfloat16), tandem.ones(3).long(), 2.0)
    program = entries(
        forward=Entry(model, (x,)),
        step=Entry(step, (x, y), training=True),
        others=Entry(others, mixed),
        noise=Entry(lambda: tandem.randn(3)),
        notes={"license": "[bold]none[/bold]"},
    )
    program.save("p.tandem")
    np.save("x.npy", np.full((4, 3), 2, np.float32))
    np.save("y.npy", np.ones((4, 2), np.float32))
    np.savez("both.npz", x=np.load("x.npy"), y=np.load("y.npy"))
    np.savez(
        "mixed.npz", mask=np.array([True, False]), half=np.array([0.5, 3], np.float32), ids=np.array([1, 2, 3]),
    )  # fmt: skip
    return tmp_path


def command(text: str) -> int:
    name, *arguments = text.split()
    return _commands.main(name, arguments)


@pytest.mark.usefixtures("folder")
def test_inspect(capsys):
    assert command("inspect p.tandem") == 0
    out = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert ["note: license", "[bold]none[/bold]"] in rows
    assert ["made by", f"tandem {tandem.__version__}"] in rows
    assert ["signed", "no"] in rows and ["hashes", "all members are as they were saved"] in rows
    assert ["argument", "x", "float32", "[4, 3]", "48 bytes", ""] in rows
    assert ["number", "lr", "float", "0.5", "", "yes"] in rows
    assert ["result", "loss", "float32", "[]", "4 bytes", ""] in rows
    assert ["weight", "parameter", "float32", "[2, 3]", "24 bytes", "yes"] in rows
    assert {row[0] for row in rows} >= {"x86-64-v3", "x86-64-v4"}
    for name in ("forward", "step", "others", "noise"):
        assert f"entry {name}" in out


@pytest.mark.usefixtures("folder")
def test_inspect_of_signed_and_damaged_files(capsys):
    load("p.tandem").save("q.tandem", external_weights=True)
    sign("q.tandem", generate_key()[0])
    assert command("inspect q.tandem") == 0
    out = capsys.readouterr().out
    assert "in q.tandem.safetensors" in out and "yes; load(require_signature=key)" in out
    members = read_archive("p.tandem")
    weights = members["weights.safetensors"].numpy().copy()
    weights[-1] ^= 1
    write_archive("q.tandem", {**members, "weights.safetensors": weights.tobytes()})
    assert command("inspect q.tandem") == 1
    assert "`weights.safetensors` is damaged" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_run(capsys):
    program = load("p.tandem")
    assert command("run p.tandem x.npy") == 0
    expected = program(tandem.full((4, 3), 2.0))
    assert capsys.readouterr().out == f"result = {expected}\n"
    x, y = tandem.full((4, 3), 2.0), tandem.ones(4, 2)
    assert command("run p.tandem --entry step y=y.npy x.npy --number lr=0.25 --output o.npz --save-state s") == 0
    first = program.run("step", x, y, numbers={"lr": 0.25})
    written = np.load("o.npz")
    assert sorted(written.files) == ["file", "loss"]
    assert_same_bits(tandem.tensor(written["loss"]), first["loss"])
    assert_same_bits(tandem.load("s")["weight"], program.state_dict["weight"])
    assert command("run p.tandem both.npz --state s --entry step --output o.npz") == 0
    assert_same_bits(tandem.tensor(np.load("o.npz")["loss"]), program.run("step", x, y)["loss"])
    assert command("run p.tandem --entry others mixed.npz --number scale=3 --output o.npz") == 0
    assert [np.load("o.npz")[k].tolist() for k in ("0", "1")] == [[1.5, 9], 7]
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("folder")
def test_made_inputs_and_seeds():
    program = load("p.tandem")

    def results(text):
        assert command(f"run p.tandem --output o.npz {text}") == 0
        found = np.load("o.npz")
        return [found[k].tolist() for k in found.files]

    assert results("--zeros") == [program(tandem.zeros(4, 3)).tolist()]
    assert results("--random --seed 1") == results("--random --seed 1") != results("--random --seed 2")
    np.save("h.npy", np.ones(2, np.float32))
    assert results("--zeros half=h.npy --entry others") == [[2, 2], 0]
    assert results("--entry noise --seed 7") == results("--entry noise --seed 7") != results("--entry noise --seed 8")
    program.manual_seed(7)
    assert results("--entry noise --seed 7") == [program.run("noise").tolist()]


@pytest.mark.usefixtures("folder")
def test_sizes(capsys):
    n, m = tandem.export.dims("n", "m", max=9)
    examples = (tandem.ones(4, 3), tandem.ones(3, 5))
    tandem.export.export(lambda x, y: x @ y, examples, dynamic_shapes=({0: n}, {1: 2 * m - 1})).save("s.tandem")
    assert command("inspect s.tandem") == 0
    out = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert ["size", "n", "", "1 to 9; what follows is for 4", "", ""] in rows
    assert ["argument", "y", "float32", "[3, 2*m-1]", "60 bytes", ""] in rows
    assert ["result", "result", "float32", "[n, 2*m-1]", "80 bytes", ""] in rows
    np.save("seven.npy", np.ones((7, 3), np.float32))
    for text, shape in (
        ("run s.tandem seven.npy --zeros --output o.npz", (7, 5)),
        ("run s.tandem seven.npy --random --size m=9 --output o.npz", (7, 17)),
        ("run s.tandem --zeros --size n=2 --output o.npz", (2, 5)),
    ):
        assert command(text) == 0
        assert np.load("o.npz")["result"].shape == shape
    assert command("bench s.tandem --size n=9 --seconds 0.01") == 0
    np.save("wide.npy", np.ones((7, 4), np.float32))
    capsys.readouterr()
    for text, words in (
        ("run s.tandem wide.npy --zeros", "expected x to be float32 [n, 3], got float32 [7, 4]"),
        ("run s.tandem --zeros --size n=10", "--size n=10: n goes from 1 to 9"),
        ("run s.tandem --zeros --size k=1", "forward has no size called 'k': it has n, m"),
        ("run s.tandem seven.npy --zeros --size n=2 --entry forward", ""),
    ):
        assert (command(text) == 2) == bool(words)
        assert words in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_bench(capsys):
    threads = tandem.get_num_threads()
    try:
        assert command("bench p.tandem --seconds 0.01 --threads 1 --entry step --number lr=0") == 0
    finally:
        tandem.set_num_threads(threads)
    out = capsys.readouterr().out
    assert "p.tandem: step, x86-64-v" in out and "1 threads" in out and "median (us)" in out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("inspect absent", "absent: no such file"),
        ("inspect x.npy", "x.npy: not a saved program"),
        ("run both.npz", "both.npz: not a saved program"),
        ("run p.tandem", "forward needs input: give files, --zeros or --random"),
        ("run p.tandem --entry step x.npy", "step needs y"),
        ("run p.tandem absent.npy", "absent.npy: no such file"),
        ("run p.tandem p.tandem", "p.tandem: neither .npy nor .npz"),
        ("run p.tandem x.npy x.npy", "x.npy: forward takes 1 tensors"),
        ("run p.tandem z=x.npy", "forward has no argument called 'z': it has input"),
        ("run p.tandem both.npz", "forward has no argument called 'x': it has input"),
        ("run p.tandem z=both.npz", "names its arrays itself"),
        ("run p.tandem y.npy", "y.npy: expected input to be float32 [4, 3], got float32 [4, 2]"),
        ("run p.tandem --entry step x.npy x=x.npy", "x.npy: x is given twice"),
        ("run p.tandem --entry others half=x.npy", "expected half to be float32 [2], got float32 [4, 3]"),
        ("run p.tandem --entry absent", "no entry 'absent': it has forward, step, others, noise"),
        ("run p.tandem x.npy --number lr=1", "forward has no number called 'lr': it has none"),
        ("run p.tandem --entry step --number lr", "--number lr: expected NAME=VALUE"),
        ("run p.tandem --entry step --number lr=fast", "--number lr=fast: 'fast' is no float"),
        ("run p.tandem x.npy --state x.npy", "not a file of tensors"),
        ("run p.tandem x.npy --state absent", "absent"),
        ("run p.tandem x.npy --output absent/o.npz", "No such file"),
        ("run p.tandem x.npy --save-state absent/s", "absent/s"),
        ("run p.tandem x.npy --threads 0", "positive"),
        ("bench p.tandem --seconds 0", "--seconds 0.0: expected a positive number"),
    ],
)
def test_errors(text, words, capsys):
    assert command(text) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"python -m tandem {text.split()[0]}: error: ") and err.count("\n") == 1
    assert words in err


@pytest.mark.usefixtures("folder")
def test_from_a_shell():
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "tandem", *arguments], capture_output=True, text=True, check=False)

    done = run("run", "p.tandem", "--zeros")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("result = tensor([")
    done = run("run", "absent")
    assert done.returncode == 2 and done.stderr == "python -m tandem run: error: absent: no such file\n"
    done = run("run", "p.tandem", "--fast")
    assert done.returncode == 2 and "unrecognized arguments: --fast" in done.stderr
    assert "python -m tandem inspect file" in run("--help").stdout
