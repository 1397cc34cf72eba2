"""How `tandem.load` takes the bytes of files: read into place, mapped, from open files and streams, and cut short."""

import gzip
import io
import os
import struct
import threading
import zipfile
import zlib

import numpy as np
import pytest

import tandem

DTYPES = ["float32", "bfloat16", "float16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"]


def state():
    made = {f"{name}.{n}": tandem.arange(n).to(getattr(tandem, name)) for n in (1, 3, 0, 8) for name in DTYPES}
    base = tandem.arange(12.0).reshape(3, 4)
    return made | {"base": base, "column": base[:, 1], "scalar": tandem.tensor(2.5), "step": 3}


def equal(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        other = b[name]
        if not isinstance(value, tandem.Tensor):
            assert value == other
            continue
        assert value.dtype == other.dtype and value.shape == other.shape and value.tolist() == other.tolist()
        assert other.is_contiguous() == value.is_contiguous()
        assert other.numel() == 0 or other.data_ptr() % other.element_size() == 0


def torch_zip(pickled: bytes, *members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", pickled)
        for name, data in members:
            archive.writestr(f"a/{name}", data)
    return file.getvalue()


def vectors(count: int) -> bytes:
    """The pickle of PyTorch's of a list of float32 vectors of two elements, in storages "0", "1" and so on."""
    one = (
        "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0{}X\x03\0\0\0cpuK\x02tQ"
        "K\0K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
    )
    return ("\x80\x02(" + "".join(one.format(i) for i in range(count)) + "l.").encode("latin1")


ONES = np.ones(2, np.float32).tobytes()


@pytest.mark.parametrize("mmap", [False, True])
def test_every_dtype_and_layout(mmap, tmp_path):
    path = tmp_path / "x"
    tandem.save(state(), path)
    read = tandem.load(path, mmap=mmap)
    equal(state(), read)
    read["base"].zero_()
    assert read["column"].tolist() == [0, 0, 0]  # one storage


def test_what_is_mapped_belongs_to_this_process(tmp_path):
    path = tmp_path / "x"
    tandem.save({"w": tandem.zeros(5000), "p": tandem.nn.Parameter(tandem.ones(3))}, path)
    before = path.read_bytes()
    first, second = tandem.load(path, mmap=True), tandem.load(path, mmap=True)
    first["w"].fill_(7)
    assert path.read_bytes() == before and second["w"].sum().item() == 0
    part = first.pop("w")[10:12]
    path.unlink()  # the mapping outlives the name
    assert part.tolist() == [7, 7] and second["p"].tolist() == [1, 1, 1] and second["p"].requires_grad
    assert isinstance(second["p"], tandem.nn.Parameter)
    (second["p"] * 2).sum().backward()
    assert second["p"].grad.tolist() == [2, 2, 2]


def test_what_is_mapped_is_not_read(tmp_path):
    path = tmp_path / "x"
    tandem.save({"w": tandem.ones(2_000_000), "b": tandem.ones(2)}, path)

    def resident():
        with open("/proc/self/smaps") as file:
            lines = file.read().split(str(path))[1].splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))

    read = tandem.load(path, mmap=True)
    assert resident() < 1000  # KiB
    assert read["w"][-1].item() == 1


def test_members_lie_at_multiples_of_their_elements(tmp_path):
    path = tmp_path / "x"
    odd = {"mask": tandem.ones(3).bool(), "h": tandem.ones(3).half(), "w": tandem.ones(3), "d": tandem.ones(1).double()}
    tandem.save(odd, path)
    read = tandem.load(path, mmap=True)
    equal(odd, read)
    assert list(read) == list(odd)
    assert read["d"].data_ptr() % 64 == 0
    with open("/proc/self/maps") as file:
        ranges = [line.split()[0].split("-") for line in file if str(path) in line]
    for tensor in read.values():
        assert any(int(low, 16) <= tensor.data_ptr() < int(high, 16) for low, high in ranges)


def test_misaligned_members_are_copied(tmp_path):
    path = tmp_path / "x"
    header = (
        b'{"m":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    )
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\1" + ONES)
    read = tandem.load(path, mmap=True)
    assert read["w"].tolist() == [1, 1] and read["w"].data_ptr() % 4 == 0 and read["m"].item() is True


@pytest.mark.parametrize("mmap", [False, True])
def test_files_that_end_early(mmap, tmp_path):
    path = tmp_path / "x"
    tandem.save(state(), path)
    whole = path.read_bytes()
    for length in [*range(0, 200, 7), len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        error, text = (RuntimeError, "is damaged") if length else (EOFError, "is empty")
        with pytest.raises(error, match=text):
            tandem.load(path, mmap=mmap)


@pytest.mark.parametrize("buffering", [-1, 0])
def test_open_files(buffering, tmp_path):
    path = tmp_path / "x"
    tandem.save(state(), path)
    with path.open("rb", buffering) as file:
        equal(state(), tandem.load(file))
        assert file.read() == b""  # it stands at the end
        file.seek(0)
        equal(state(), tandem.load(file))
        with pytest.raises(ValueError, match="string filename in order to use mmap"):
            tandem.load(file, mmap=True)
    with path.open("r+b") as file:
        raw = file.read()
        file.seek(0)
        file.write(raw[:8])
        file.seek(0)
        equal(state(), tandem.load(file))


def test_streams_from_where_they_stand(tmp_path):
    raw = io.BytesIO()
    raw.write(b"before")
    tandem.save(state(), raw)
    raw.seek(6)
    equal(state(), tandem.load(raw))
    path = tmp_path / "x"
    path.write_bytes(raw.getvalue())
    with path.open("rb") as file:
        file.seek(6)
        equal(state(), tandem.load(file))
    with gzip.open(tmp_path / "z", "wb") as packed:
        tandem.save(state(), packed)
    with gzip.open(tmp_path / "z") as packed:
        equal(state(), tandem.load(packed))
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(raw.getvalue()[6:]))
    writer.start()
    equal(state(), tandem.load(tmp_path / "pipe", mmap=True))
    writer.join()


@pytest.mark.parametrize("mmap", [False, True])
def test_archives(mmap, tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(torch_zip(vectors(2), ("data/0", ONES), ("data/1", ONES)))
    one, two = tandem.load(path, mmap=mmap)
    one.fill_(3)
    assert one.tolist() == [3, 3] and two.tolist() == [1, 1]
    assert tandem.load(path)[0].tolist() == [1, 1]
    with path.open("rb") as file:
        assert tandem.load(file)[1].tolist() == [1, 1]


def test_checksums_of_archives_are_not_looked_at(tmp_path):
    raw = torch_zip(vectors(1), ("data/0", ONES))
    check = struct.pack("<I", zlib.crc32(ONES))
    assert raw.count(check) == 2
    assert tandem.load(io.BytesIO(raw.replace(check, b"\0\0\0\0")))[0].tolist() == [1, 1]


@pytest.mark.parametrize("mmap", [False, True])
def test_damaged_archives(mmap, tmp_path):
    path = tmp_path / "x.pt"
    raw = torch_zip(vectors(2), ("data/0", ONES), ("data/1", ONES))

    def refused(data, text):
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match=f"is damaged.*{text}"):
            tandem.load(path, mmap=mmap)

    for length in (4, 20, len(raw) // 2, len(raw) - 1):
        refused(raw[:length], "the archive")
    entry = raw.rindex(b"PK\1\2")  # of data/1, in the directory
    offset = entry + 42
    for wrong in (1, 2**31, len(raw) - 4):
        refused(raw[:offset] + struct.pack("<I", wrong) + raw[offset + 4 :], "no member where")
    size = struct.pack("<II", 2**30, 2**30)
    refused(raw[: entry + 20] + size + raw[entry + 28 :], "the file is cut off")
    local = raw.rindex(b"PK\3\4")  # whose name and extra field reach past the end
    refused(raw[: local + 26] + b"\xff\xff\xff\xff" + raw[local + 30 :], "the file is cut off")
    refused(raw[: entry + 8] + b"\1" + raw[entry + 9 :], "no member where")


def test_members_that_overlap_take_no_more_than_the_file():
    kib = np.ones(256, np.float32).tobytes()
    pickled = vectors(9).replace(b"cpuK\x02", b"cpuM\x00\x01")  # 256 elements
    raw = bytearray(torch_zip(pickled, *((f"data/{i}", kib if i == 0 else b"") for i in range(9))))
    at = first = raw.index(b"PK\1\2", raw.index(b"PK\1\2") + 1)
    while (at := raw.find(b"PK\1\2", at + 1)) >= 0:  # all are where the first is
        raw[at + 16 : at + 28], raw[at + 42 : at + 46] = raw[first + 16 : first + 28], raw[first + 42 : first + 46]
    with pytest.raises(RuntimeError, match="is damaged.*members that overlap"):
        tandem.load(io.BytesIO(bytes(raw)))
