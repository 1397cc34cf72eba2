"""Files of saved programs: signatures, weights beside them, files in memory."""

from __future__ import annotations

import io
import zipfile

import pytest
from conftest import assert_same_bits

import tandem
from tandem.export import add_target, export, generate_key, load, save, sign
from tandem.export._archive import read_archive, write_archive


@pytest.fixture
def program():
    tandem.manual_seed(2)
    return export(tandem.nn.Sequential(tandem.nn.Linear(3, 4), tandem.nn.Tanh()), (tandem.randn(2, 3),))


def changed(path, to, member, at=-1):
    """A copy of a file in which one byte of a member differs, with the checksums that the zip archive should have."""
    members = read_archive(path)
    content = members[member]
    data = bytearray(content if isinstance(content, bytes) else content.numpy().tobytes())
    data[at] ^= 1
    write_archive(to, {**members, member: bytes(data)})
    return to


def test_signatures(program, tmp_path):
    secret, public = generate_key()
    path = tmp_path / "program.tandem"
    program.save(path)
    with pytest.raises(ValueError, match="is not signed"):
        load(path, require_signature=public)
    sign(path, secret)
    x = tandem.randn(2, 3)
    assert_same_bits(load(path, require_signature=public)(x), program(x))
    assert_same_bits(load(path)(x), program(x))
    other_secret, other_public = generate_key()
    for key in (other_public, secret):
        with pytest.raises(ValueError, match="not signed with the key that is required"):
            load(path, require_signature=key)
    for key in (public[:-1], b""):
        with pytest.raises(ValueError, match="a public key has 32 bytes, not"):
            load(path, require_signature=key)
    # Every member counts: the manifest by the signature, others by the hashes in it.
    for member in read_archive(path):
        with pytest.raises(ValueError, match="not signed with the key|is damaged"):
            load(changed(path, tmp_path / "other.tandem", member), require_signature=public)
    write_archive(tmp_path / "other.tandem", {**read_archive(path), "cpu/x86-64-v3/more.o": b"more"})
    with pytest.raises(ValueError, match="`cpu/x86-64-v3/more.o` is not in its manifest"):
        load(tmp_path / "other.tandem", require_signature=public)
    # Signed again, by another.
    before = zipfile.ZipFile(path).namelist()
    sign(path, other_secret)
    assert zipfile.ZipFile(path).namelist() == before
    assert load(path, require_signature=other_public).entries == ["forward"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.tandem", "program.tandem"]


def test_what_cannot_be_signed(program, tmp_path):
    secret, public = generate_key()
    program.save(tmp_path / "program.tandem")
    with pytest.raises(ValueError, match="a secret key has 32 bytes, not 31"):
        sign(tmp_path / "program.tandem", secret[1:])
    tandem.save({"x": tandem.ones(2)}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="other.pt: not a saved program"):
        sign(tmp_path / "other.pt", secret)
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="text: not a saved program"):
        sign(tmp_path / "text", secret)
    with pytest.raises(FileNotFoundError):
        sign(tmp_path / "absent", secret)
    # A damaged file is not signed: the checksum of the zip archive says so.
    content = bytearray((tmp_path / "program.tandem").read_bytes())
    with zipfile.ZipFile(tmp_path / "program.tandem") as file:
        weights = file.read("weights.safetensors")
    content[content.index(weights) + len(weights) - 1] ^= 1
    (tmp_path / "program.tandem").write_bytes(content)
    with pytest.raises(ValueError, match="not a saved program: Bad CRC"):
        sign(tmp_path / "program.tandem", secret)


def test_damage_is_found(program, tmp_path):
    path = tmp_path / "program.tandem"
    program.save(path)
    for member in read_archive(path):
        with pytest.raises(ValueError, match="saved program"):
            load(changed(path, tmp_path / "other.tandem", member, at=20 if member == "manifest" else -1), verify=True)
    # Weights are compared only where that is asked for.
    assert load(changed(path, tmp_path / "other.tandem", "weights.safetensors")).entries == ["forward"]


def test_external_weights(program, tmp_path):
    path, beside = tmp_path / "program.tandem", tmp_path / "program.tandem.safetensors"
    program.save(path, external_weights=True)
    assert "weights.safetensors" not in zipfile.ZipFile(path).namelist()
    assert_same_bits(tandem.load(beside)["0.weight"], program.state_dict["0.weight"])
    x = tandem.randn(2, 3)
    assert_same_bits(load(path, verify=True)(x), program(x))
    # Saved again it is one file.
    save(load(path), tmp_path / "one.tandem")
    assert_same_bits(load(tmp_path / "one.tandem", verify=True)(x), program(x))
    secret, public = generate_key()
    sign(path, secret)
    assert_same_bits(load(path, require_signature=public)(x), program(x))

    weights = beside.read_bytes()
    beside.write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    with pytest.raises(ValueError, match="`weights.safetensors` is damaged"):
        load(path, require_signature=public)
    with pytest.raises(ValueError, match="`weights.safetensors` is damaged"):
        load(path, verify=True)
    for other in (weights[:-1], weights + b"0", b""):
        beside.write_bytes(other)
        words = f"the weights of a saved program have {len(other)} bytes, and should have {len(weights)}"
        with pytest.raises(ValueError, match=words):
            load(path)
    # Those of another program, of the same sizes: as when a process ended between the two files.
    other = export(tandem.nn.Sequential(tandem.nn.Linear(3, 4), tandem.nn.Tanh()), (tandem.randn(2, 3),))
    other.save(tmp_path / "other.tandem", external_weights=True)
    (tmp_path / "other.tandem.safetensors").replace(beside)
    with pytest.raises(ValueError, match="beside a saved program are not those that it was saved with"):
        load(path)
    beside.unlink()
    with pytest.raises(ValueError, match=r"its weights are neither in it nor in .*program.tandem.safetensors"):
        load(path)
    with pytest.raises(ValueError, match="external_weights needs a path"):
        program.save(io.BytesIO(), external_weights=True)


def test_targets_beside_external_weights(tmp_path):
    """They are added to the program's own file; the weights stay in theirs."""
    path, beside = tmp_path / "program.tandem", tmp_path / "program.tandem.safetensors"
    x = tandem.randn(2, 3)
    program = export(tandem.nn.Sequential(tandem.nn.Linear(3, 4), tandem.nn.Tanh()), (x,), targets=["x86-64-v3"])
    program.save(path, external_weights=True)
    weights = beside.read_bytes()
    add_target(path, "x86-64-v4")
    assert beside.read_bytes() == weights and "weights.safetensors" not in zipfile.ZipFile(path).namelist()
    added = load(path, verify=True)
    assert added.targets == ["x86-64-v3", "x86-64-v4"]
    assert_same_bits(added(x), program(x))


def test_sizes_of_64_bits(program, tmp_path, monkeypatch):
    """As files of more than 2 GiB have them."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    path = tmp_path / "program.tandem"
    program.save(path)
    assert b"PK\x06\x06" in path.read_bytes()
    monkeypatch.undo()
    x = tandem.randn(2, 3)
    assert_same_bits(load(path, verify=True)(x), program(x))


def test_files_in_memory(program):
    file = io.BytesIO()
    save(program, file)
    x = tandem.randn(2, 3)
    for _ in range(2):
        file.seek(0)
        loaded = load(file, verify=True)
        assert_same_bits(loaded(x), program(x))
        file = io.BytesIO()
        save(loaded, file)
    with pytest.raises(ValueError, match="the file: not a saved program"):
        load(io.BytesIO(b"no"))
