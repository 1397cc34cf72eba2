"""Saving and loading: trees, dtypes, shared storage, the safetensors layout, damaged files."""

import copy
import io
import json
import os
import pickle
import struct
from collections import OrderedDict

import numpy as np
import pytest

import tandem
from tandem import nn, optim

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def round_trip(value):
    stream = io.BytesIO()
    tandem.save(value, stream)
    stream.seek(0)
    return tandem.load(stream)


def test_tree_of_plain_values():
    value = {
        "a": [1, 2.5, None, True, "text", float("inf"), 2**70, -0.0],
        3: (1, (2,), []),
        "o": OrderedDict(z=1, a=2),
        "s": {1, 2},
        "b": b"\x00\xff",
        ("k", 1): {},
        "m": bytearray(b"\x01\xfe"),
        "d": tandem.device("cpu"),
    }
    back = round_trip(value)
    assert back == value and list(back) == list(value)
    assert type(back["m"]) is bytearray and type(back["d"]) is tandem.device
    assert type(back["o"]) is OrderedDict and list(back["o"]) == ["z", "a"]
    assert np.isnan(round_trip(float("nan")))


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    dtype = getattr(tandem, name)
    x = tandem.arange(6).reshape(2, 3).to(dtype)
    back = round_trip({"x": x, "empty": x[:0], "scalar": x[1, 0]})
    assert back["x"].dtype == dtype and back["x"].tolist() == x.tolist()
    assert list(back["empty"].shape) == [0, 3] and back["scalar"].item() == x[1, 0].item()
    assert back["scalar"].dim() == 0


def test_layouts_and_shared_storage():
    base = tandem.arange(12, dtype=tandem.float32).reshape(3, 4)
    back = round_trip({"base": base, "column": base[:, 1], "turned": base.t(), "apart": base.clone()})
    assert back["turned"].tolist() == base.t().tolist() and back["column"].tolist() == [1.0, 5.0, 9.0]
    back["base"][0, 1] = 77.0
    assert back["column"][0].item() == 77.0 and back["turned"][1, 0].item() == 77.0
    assert back["apart"][0, 1].item() == 1.0
    alone = round_trip(base[::2, 1:3])
    assert alone.tolist() == [[1.0, 2.0], [9.0, 10.0]]
    stream = io.BytesIO()
    tandem.save(tandem.zeros(100000)[:2], stream)
    assert len(stream.getvalue()) < 1000


def test_one_tensor_twice_stays_one_storage():
    w = tandem.ones(2)
    a, b = round_trip([w, w])
    a.fill_(5.0)
    assert b.tolist() == [5.0, 5.0]


def test_parameters_and_requires_grad():
    back = round_trip({"p": nn.Parameter(tandem.ones(2)), "t": tandem.ones(1, requires_grad=True), "u": tandem.ones(1)})
    assert isinstance(back["p"], nn.Parameter) and back["p"].requires_grad
    assert back["t"].requires_grad and not back["u"].requires_grad


def test_training_state_continues(tmp_path):
    def step(net, optimizer):
        optimizer.zero_grad()
        net(tandem.ones(1, 2)).sum().backward()
        optimizer.step()

    net = nn.Linear(2, 2)
    optimizer = optim.Adam(net.parameters())
    step(net, optimizer)
    path = tmp_path / "state"
    tandem.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, path)
    saved = tandem.load(path)
    other = nn.Linear(2, 2)
    other_optimizer = optim.Adam(other.parameters())
    other.load_state_dict(saved["net"])
    other_optimizer.load_state_dict(saved["optimizer"])
    step(net, optimizer)
    step(other, other_optimizer)
    assert net.weight.tolist() == other.weight.tolist()


def test_the_layout_is_that_of_safetensors(tmp_path):
    path = tmp_path / "x.safetensors"
    tandem.save({"layer": {"w": tandem.arange(4, dtype=tandem.float32).reshape(2, 2)}, "n": 3}, path)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    entry = header["layer.w"]
    assert (8 + length) % 8 == 0 and entry["dtype"] == "F32" and entry["shape"] == [2, 2]
    start, stop = entry["data_offsets"]
    values = np.frombuffer(raw[8 + length :][start:stop], dtype="<f4")
    assert values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert all(isinstance(v, str) for v in header["__metadata__"].values())


def test_files_of_others_load_as_flat_dicts(tmp_path):
    body = np.arange(3, dtype="<i4").tobytes()
    header = json.dumps({"w": {"dtype": "I32", "shape": [3], "data_offsets": [0, 12]}}).encode()
    path = tmp_path / "other.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + body)
    back = tandem.load(path)
    assert list(back) == ["w"] and back["w"].tolist() == [0, 1, 2]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    tandem.save([1], path)
    with pytest.raises(TypeError, match=r"save: model\.net: cannot save a function, which has no pickle"):
        tandem.save({"model": {"net": lambda x: x}}, path)
    assert tandem.load(path) == [1] and os.listdir(tmp_path) == ["x"]
    with pytest.raises(FileNotFoundError):
        tandem.save([1], tmp_path / "missing" / "x")


def damaged(change, tmp_path):
    path = tmp_path / "x"
    tandem.save({"good": tandem.ones(2), "bad": tandem.arange(4)}, path)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    raw = change(header, raw[8 + length :])
    if not isinstance(raw, bytes):
        text = json.dumps(raw[0]).encode()
        raw = struct.pack("<Q", len(text)) + text + raw[1]
    path.write_bytes(raw)
    return path


def edit(name, **fields):
    def change(header, body):
        header[name].update(fields)
        return header, body

    return change


def without(name):
    return lambda header, body: ({k: v for k, v in header.items() if k != name}, body)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda h, b: (h, b[:-1]), "member 'good': ends at byte 40 of 39: the file is cut off"),
        (edit("bad", dtype="F99"), "member 'bad': unknown dtype 'F99'"),
        (edit("bad", shape=[5]), r"member 'bad': shape \[5\] of int64 does not fill 32 bytes"),
        (edit("bad", shape=[-4]), "member 'bad': bad shape"),
        (edit("bad", data_offsets=[9, 3]), "member 'bad': bad range of bytes"),
        (without("bad"), "member 'bad': missing in the header"),
        (lambda h, b: b"123", "the header's length: the file has only 3 bytes"),
        (lambda h, b: struct.pack("<Q", 2**60), "the header: .* bytes announced"),
        (lambda h, b: struct.pack("<Q", 4) + b"{{{{", "the header: not readable as JSON"),
        (lambda h, b: ({**h, "__metadata__": {"tandem": "["}}, b), "the tree: not readable as JSON"),
        (lambda h, b: ({**h, "__metadata__": {"tandem": '{"evil": 1}'}}, b), "the tree: unknown kind 'evil'"),
    ],
)
def test_damaged_files_name_the_member(change, text, tmp_path):
    path = damaged(change, tmp_path)
    with pytest.raises(RuntimeError, match=text) as error:
        tandem.load(path)
    assert "is damaged" in str(error.value) and str(path) in str(error.value)


def test_no_random_damage_goes_beyond_a_runtime_error():
    stream = io.BytesIO()
    tandem.save({"a": tandem.ones(3), "b": [1, tandem.zeros(2)]}, stream)
    raw = stream.getvalue()
    rng = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(raw)
        broken[rng.integers(len(raw))] = rng.integers(32, 127)
        try:
            tandem.load(io.BytesIO(bytes(broken[: rng.integers(len(raw) // 2, len(raw) + 1)])))
        except RuntimeError:
            pass


def test_bfloat16_keeps_its_bits():
    x = tandem.tensor([1.0, -0.0, float("inf"), 3.140625]).to(tandem.bfloat16)
    shared = tandem.zeros(4).to(tandem.bfloat16)
    back = round_trip({"x": x, "s": shared, "v": shared[1:]})
    assert back["x"].tolist() == x.tolist() and str(back["x"].tolist()[1]) == "-0.0"
    back["s"][1] = 2.0
    assert back["v"][0].item() == 2.0


OBJECTS = {
    "module": lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU()),
    "transformer": lambda: nn.TransformerEncoderLayer(4, 2, activation="gelu"),
    "recurrent": lambda: nn.LSTM(2, 3),
    "lazy": lambda: nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()),
    "weight norm": lambda: nn.utils.weight_norm(nn.Linear(2, 2)),
    "optimizer": lambda: tandem.optim.Adam([tandem.ones(1, requires_grad=True)]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_saved_as_pickles(name):
    file = io.BytesIO()
    saved = OBJECTS[name]()
    tandem.save({"object": saved, "step": 3}, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*pass weights_only=False"):
        tandem.load(file)
    file.seek(0)
    back = tandem.load(file, weights_only=False)
    assert type(back["object"]) is type(saved) and back["step"] == 3 and repr(back["object"]) == repr(saved)
    if isinstance(saved, nn.Module) and name != "lazy":
        for a, b in zip(saved.parameters(), back["object"].parameters(), strict=True):
            assert a.tolist() == b.tolist() and b.requires_grad


def test_lazy_modules_go_on_after_pickling():
    for copied in (pickle.loads(pickle.dumps(nn.LazyLinear(3))), copy.deepcopy(nn.LazyLinear(3))):
        assert copied(tandem.ones(4, 2)).shape == (4, 3)
    fresh = pickle.loads(pickle.dumps(nn.LazyLinear(3)))
    fresh.load_state_dict(nn.Linear(2, 3).state_dict())  # the hook before loading belongs to the copy
    assert fresh.weight.shape == (3, 2)


def test_functions_and_results_can_be_pickled():
    for f in (nn.functional.relu, nn.functional.gelu, tandem.add, tandem.linalg.norm, tandem.special.expit):
        assert pickle.loads(pickle.dumps(f)) is f
    assert pickle.loads(pickle.dumps(tandem.Tensor.add)) is tandem.Tensor.add
    top = pickle.loads(pickle.dumps(tandem.tensor([[1.0, 3.0]]).max(1)))
    assert type(top) is type(tandem.ones(1, 1).max(1)) and top.values.tolist() == [3] and top.indices.tolist() == [1]
    x = pickle.loads(pickle.dumps(tandem.ones(1, requires_grad=True) * 2))
    assert x.tolist() == [2] and x.requires_grad and x.is_leaf


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_writes_every_type(protocol):
    for value in (
        tandem.Size([2, 3]),
        tandem.device("cpu"),
        tandem.float16,
        tandem.strided,
        tandem.channels_last,
        tandem.finfo(tandem.float32),
        tandem.add,
        tandem.Tensor.add,
    ):
        back = pickle.loads(pickle.dumps(value, protocol))
        assert type(back) is type(value) and back == value
    x = tandem.tensor([[1.0, 3.0]], requires_grad=True)
    for value in (
        x,
        x.detach(),
        nn.Parameter(x.detach()),
        x.detach().max(1),
        tandem.distributions.Normal(x.detach(), 1.0),
    ):
        assert repr(pickle.loads(pickle.dumps(value, protocol))) == repr(value)


def copies(generator):
    yield copy.copy(generator)
    yield copy.deepcopy({"generator": generator})["generator"]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(generator, protocol))


def test_copies_of_generators_go_on_from_the_same_state():
    own = tandem.Generator().manual_seed(-3)
    for generator in (own, tandem.default_generator):
        tandem.rand(3, generator=generator)
        for other in copies(generator):
            assert type(other) is tandem.Generator and other.device == generator.device
            assert other.initial_seed() == generator.initial_seed()
            state = generator.get_state()
            assert tandem.equal(tandem.rand(3, generator=other), tandem.rand(3, generator=generator))
            assert not tandem.equal(generator.get_state(), state)  # each has a state of its own
    with pytest.raises(RuntimeError, match="the state of a generator is"):
        own.__setstate__(tandem.zeros(3, dtype=tandem.uint8))


def test_files_that_are_open_can_be_read_by_name(tmp_path):
    with open(tmp_path / "state", "wb") as f:
        tandem.save({"w": tandem.ones(3)}, f)
        assert tandem.load(tmp_path / "state")["w"].tolist() == [1, 1, 1]


def test_lazy_modules_have_no_shapes_in_files(tmp_path):
    lazy = tandem.nn.LazyLinear(4)
    state = lazy.state_dict()
    assert isinstance(state["weight"], tandem.nn.UninitializedParameter)
    tandem.save(state, tmp_path / "state")
    read = tandem.load(tmp_path / "state")
    assert type(read["weight"]) is tandem.nn.UninitializedParameter and read["weight"].requires_grad
    other = tandem.nn.LazyLinear(4)
    other.load_state_dict(read)
    assert other(tandem.ones(2, 3)).shape == (2, 4)
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        tandem.nn.Linear(3, 4).load_state_dict(read)
    norm = tandem.nn.LazyBatchNorm1d()
    tandem.save(norm.state_dict(), tmp_path / "state")
    assert isinstance(tandem.load(tmp_path / "state")["running_mean"], tandem.nn.UninitializedBuffer)


class Marked(tandem.Tensor):
    """A class of tensors that files name."""


def test_attributes_of_tensors_are_saved():
    x = tandem.arange(6.0)
    x.name, x.parts = "all", {"n": 2, "t": tandem.ones(2)}
    y = x[2:]
    y.name = "some"
    p = nn.Parameter(tandem.ones(2))
    p.decay = False
    read_x, read_y, read_p = round_trip([x, y, p])
    assert (read_x.name, read_y.name, read_p.decay) == ("all", "some", False)
    assert read_x.parts["n"] == 2 and read_x.parts["t"].tolist() == [1, 1]
    assert type(read_p) is nn.Parameter and not read_y.__dict__.keys() - {"name"}
    read_x[2] = 9
    assert read_y[0] == 9
    assert read_x.tolist() == [0, 1, 9, 3, 4, 5]


def test_classes_of_tensors_are_saved_by_name():
    x = tandem.ones(2).as_subclass(Marked)
    x.name = "one"
    with pytest.raises(pickle.UnpicklingError, match="Marked.*add_safe_globals"):
        round_trip(x)
    with tandem.serialization.safe_globals([Marked]):
        read = round_trip({"x": x})["x"]
    assert type(read) is Marked and read.name == "one" and read.tolist() == [1, 1]
    stream = io.BytesIO()
    tandem.save(x, stream)
    for location in (None, "cpu", lambda t, place: t * 2):
        stream.seek(0)
        read = tandem.load(stream, map_location=location, weights_only=False)
        assert type(read) is Marked and read.name == "one"
    forged = stream.getvalue().replace(b"Marked", b"pytest")
    with pytest.raises(RuntimeError, match="is no class of tensors"):
        tandem.load(io.BytesIO(forged), weights_only=False)


class Runs:
    def __reduce__(self):
        return print, ("ran",)


def test_objects_of_safe_classes_are_read(capsys):
    from argparse import Namespace

    value = {"args": Namespace(lr=0.1, inner=Namespace(names={"a"}, order=OrderedDict(b=1))), "n": 2}
    with pytest.raises(pickle.UnpicklingError, match="names argparse.Namespace.*add_safe_globals"):
        round_trip(value)
    with tandem.serialization.safe_globals([Namespace]):
        assert round_trip(value) == value
        for other in (Namespace(f=print), Runs(), Namespace(run=Runs())):
            with pytest.raises(pickle.UnpicklingError, match="names builtins.print"):
                round_trip(other)
    assert capsys.readouterr().out == ""
    with tandem.serialization.safe_globals([(dict, "argparse.Namespace")]):
        assert type(round_trip([Namespace()])[0]) is dict


def test_tensors_without_elements_are_saved():
    model = nn.Linear(2, 3, device="meta", dtype=tandem.bfloat16)
    state = round_trip(model.state_dict())
    assert {name: (t.device.type, tuple(t.shape), t.dtype) for name, t in state.items()} == {
        "weight": ("meta", (3, 2), tandem.bfloat16),
        "bias": ("meta", (3,), tandem.bfloat16),
    }
    stream = io.BytesIO()
    tandem.save([tandem.empty(2, 3, device="meta").t(), model.weight], stream)
    stream.seek(0)
    turned, weight = tandem.load(stream, map_location="cpu")
    assert turned.is_meta and turned.stride() == (1, 3)
    assert type(weight) is nn.Parameter and weight.requires_grad


def test_options_of_checksums():
    assert tandem.serialization.get_crc32_options()
    tandem.serialization.set_crc32_options(False)
    assert not tandem.serialization.get_crc32_options() and round_trip(tandem.ones(1)).item() == 1
    tandem.serialization.set_crc32_options(True)


def test_storages_are_saved_with_the_tensors_that_they_are_of():
    x = tandem.arange(6.0).reshape(2, 3)
    tensor, part, storage = round_trip([x, x[1], x.storage()])
    assert type(storage) is tandem.TypedStorage and storage.dtype is tandem.float32
    assert storage.tolist() == x.flatten().tolist()
    storage[3] = 10.0
    assert tensor[1, 0] == part[0] == 10
    assert round_trip(x[1].storage()).tolist() == x.flatten().tolist()
    assert round_trip({"s": tandem.UntypedStorage([1, 2])})["s"].tolist() == [1, 2]
    assert len(round_trip(tandem.empty(0).storage())) == 0


def test_objects_are_pickled_by_the_module_that_is_given():
    class Text(pickle.Pickler):
        def reducer_override(self, value):
            return (complex, (value.number, 0)) if isinstance(value, Local) else NotImplemented

    class Local:
        number = 3

    class Loud(pickle.Unpickler):
        def load(self):
            return "loaded", super().load()

    class Module:
        Pickler, Unpickler = Text, Loud

    stream = io.BytesIO()
    tandem.save([Local()], stream, pickle_module=Module)
    stream.seek(0)
    assert tandem.load(stream, pickle_module=Module) == [("loaded", 3 + 0j)]
    stream.seek(0)
    with pytest.raises(RuntimeError, match="pickle_module"):
        tandem.load(stream, pickle_module=Module, weights_only=True)


def test_streams_are_read_until_they_end():
    stream = io.BytesIO()
    for number in range(3):
        tandem.save(number, stream)
    stream.seek(0)
    found = []
    with pytest.raises(EOFError):
        while True:
            found.append(tandem.load(stream))
    assert found == [0, 1, 2]


@pytest.mark.parametrize("f", [3, None, b"data"])
def test_what_is_no_file_has_no_attribute_of_one(f):
    with pytest.raises(AttributeError, match="read"):
        tandem.load(f)
    with pytest.raises(AttributeError, match="write"):
        tandem.save(1, f)
