"""Files that PyTorch's `torch.save` wrote, of its present format and of the one before version 1.6, and damaged ones.

tests/data/torch_*.pt hold one object, saved by PyTorch 2.13 in either format.
"""

import io
import pickle
import zipfile
from argparse import Namespace
from collections import OrderedDict
from pathlib import Path

import pytest

import tandem
from tandem import nn

FILES = sorted((Path(__file__).parents[2] / "data").glob("torch_*.pt"))


def test_both_formats_are_there():
    assert [f.name for f in FILES] == ["torch_1_5.pt", "torch_2_13.pt"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_what_is_in_them(file):
    read = tandem.load(file)
    assert read["w"].tolist() == [[0, 3], [1, 4], [2, 5]] and read["w"].stride() == (1, 3)
    assert read["part"].tolist() == [2, 3]
    read["part"].fill_(9)
    assert read["w"].tolist() == [[0, 9], [1, 4], [9, 5]]  # one storage
    assert read["half"].dtype == tandem.float16 and read["half"].tolist() == [1.5, -2.0]
    assert read["bf"].dtype == tandem.bfloat16 and read["bf"].tolist() == [3.0]
    assert read["i"].dtype == tandem.int8 and read["i"].tolist() == [[-1]]
    assert read["b"].tolist() == [True, False] and read["none"].shape == (0, 2)
    assert isinstance(read["p"], nn.Parameter) and read["p"].requires_grad and read["p"].is_leaf
    plain = [1, (2.5, "x", None, b"\xff"), {3}, tandem.Size([1, 2]), tandem.float16, tandem.device("cpu")]
    assert read["plain"] == plain and type(read["plain"][3]) is tandem.Size
    assert type(read["state"]) is OrderedDict
    assert str(nn.BatchNorm1d(2).load_state_dict(read["state"])) == "<All keys matched successfully>"
    assert tandem.load(io.BytesIO(file.read_bytes()), map_location="cpu", weights_only=True)["i"].item() == -1


def archive(pickled: bytes, **members: bytes) -> io.BytesIO:
    """A file as PyTorch's, of a pickle and other members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("a/data.pkl", pickled)
        for name, data in members.items():
            z.writestr(f"a/{name.replace('__', '/')}", data)
    file.seek(0)
    return file


def tensor_pickle(size: bytes = b"K\x02\x85", offset: bytes = b"K\x00", count: bytes = b"K\x02") -> bytes:
    """The pickle of one float32 vector of the storage "0", in protocol 2."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + count + b"tQ"
    args = b"(" + storage + offset + size + b"K\x01\x85\x89ccollections\nOrderedDict\n)Rt"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + args + b"R."


TWO = b"\x00\x00\x80?\x00\x00\x00@"


def test_a_vector():
    assert tandem.load(archive(tensor_pickle(), data__0=TWO, byteorder=b"little")).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (archive(tensor_pickle(), data__0=TWO, byteorder=b"big"), "only little-endian"),
        (archive(tensor_pickle()), "data/0"),
        (archive(tensor_pickle(), data__0=TWO[:7]), "7 bytes for 2 elements"),
        (archive(tensor_pickle(size=b"K\x03\x85"), data__0=TWO), "reaches past 2 elements"),
        (archive(tensor_pickle(offset=b"K\x01"), data__0=TWO), "reaches past 2 elements"),
        (archive(tensor_pickle(size=b"J\xff\xff\xff\xff\x85"), data__0=TWO), "bad layout"),
        (archive(tensor_pickle(count=b"K\x03"), data__0=TWO), "8 bytes for 3 elements"),
        (archive(tensor_pickle()[:-3], data__0=TWO), "data.pkl"),
        (io.BytesIO(b"PK\x03\x04 and no more"), "the archive"),
        (io.BytesIO(FILES[0].read_bytes()[:-5]), "3 bytes for 1 elements"),
    ],
)
def test_damaged_files(file, text):
    with pytest.raises(RuntimeError, match=f"is damaged or not a file of PyTorch's.*({text})"):
        tandem.load(file)


def test_a_compressed_member_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", tensor_pickle())
    with pytest.raises(RuntimeError, match="compressed"):
        tandem.load(io.BytesIO(file.getvalue()))


def test_classes_are_called_only_for_who_trusts_the_file():
    file = archive(pickle.dumps(slice(1, 2), protocol=2))
    with pytest.raises(pickle.UnpicklingError, match=r"names __builtin__.slice.*weights_only=False"):
        tandem.load(file)
    file.seek(0)
    assert tandem.load(file, weights_only=False) == slice(1, 2)
    for name in ("system", "getattr"):
        evil = archive(b"\x80\x02c" + (b"os" if name == "system" else b"builtins") + b"\n" + name.encode() + b"\n.")
        with pytest.raises(pickle.UnpicklingError, match=name):
            tandem.load(evil)


def test_the_environment_says_who_trusts_files(monkeypatch):
    data = pickle.dumps(slice(1, 2), protocol=2)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert tandem.load(archive(data)) == slice(1, 2)
    with pytest.raises(pickle.UnpicklingError):
        tandem.load(archive(data), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        tandem.load(archive(data))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        tandem.load(archive(data), weights_only=False)


def test_safe_classes_are_called():
    for value, safe in ((slice(1, 2), [slice]), (Namespace(a=[1]), [Namespace])):
        data = pickle.dumps({"v": value}, protocol=2)
        with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
            tandem.load(archive(data))
        with tandem.serialization.safe_globals(safe):
            assert tandem.load(archive(data)) == {"v": value}


def test_classes_of_pytorch_are_named():
    module = archive(b"\x80\x02ctorch.nn.modules.linear\nLinear\n.")
    with pytest.raises(NotImplementedError, match=r"PyTorch's torch.nn.modules.linear.Linear.*state_dict"):
        tandem.load(module, weights_only=False)


def test_where_tensors_were():
    on_gpu = tensor_pickle().replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    assert tandem.load(archive(on_gpu, data__0=TWO), map_location="cpu").tolist() == [1, 2]
    assert tandem.load(archive(on_gpu, data__0=TWO), map_location={"cuda:0": "cpu"}).tolist() == [1, 2]
    seen = []
    tandem.load(archive(on_gpu, data__0=TWO), map_location=lambda tensor, place: seen.append(place) or tensor)
    assert seen == ["cuda:0"]


def test_a_storage_by_itself():
    whole = tensor_pickle()
    # What the persistent id gives, without the function that makes a tensor of it.
    begin, end = whole.index(b"(X\x07\x00\x00\x00storage"), whole.index(b"Q") + 1
    storage = tandem.load(archive(b"\x80\x02" + whole[begin:end] + b".", data__0=TWO))
    assert isinstance(storage, tandem.TypedStorage) and storage.tolist() == [1, 2]
    assert storage.dtype == tandem.float32 and len(storage) == 2
