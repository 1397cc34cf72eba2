"""What `tandem.save` keeps of objects: their types, which of them are one object, and their tensors."""

import collections
import dataclasses
import enum
import io
import pickle

import numpy as np
import pytest

import tandem
from tandem import nn

Pair = collections.namedtuple("Pair", "a b")


class Level(enum.IntEnum):
    HIGH = 3


class Name(str, enum.Enum):  # noqa: UP042
    A = "x"


class Rows(list):
    pass


class Settings(dict):
    pass


class Text(str):
    pass


@dataclasses.dataclass
class Run:
    step: int
    weight: tandem.Tensor


def round_trip(value, **how):
    file = io.BytesIO()
    tandem.save(value, file)
    file.seek(0)
    return tandem.load(file, **how)


PLAIN = {
    "size": tandem.Size([1, 2]),
    "counter": collections.Counter("aab"),
    "ordered": collections.OrderedDict(b=1, a=2),
    "float64": np.float64(1.5),
    "int32": np.int32(3),
    "bool": np.bool_(True),
}
OBJECTS = {
    "defaultdict": collections.defaultdict(list, a=[1]),
    "named tuple": Pair(1, (2, "x")),
    "IntEnum": Level.HIGH,
    "str enum": Name.A,
    "list": Rows([1, 2]),
    "dict": Settings(a=1),
    "str": Text("x"),
    "objects": np.array([1, "a"], dtype=object),
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("name", PLAIN)
def test_plain_values_keep_their_types(name, trusted):
    back = round_trip({"value": PLAIN[name]}, weights_only=not trusted)["value"]
    assert type(back) is type(PLAIN[name]) and back == PLAIN[name]


@pytest.mark.parametrize("name", OBJECTS)
def test_values_of_other_classes_keep_them(name):
    value = OBJECTS[name]
    back = round_trip([value], weights_only=False)[0]
    assert type(back) is type(value) and repr(back) == repr(value)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        round_trip([value])


def test_attributes_and_factories_are_kept():
    settings = Settings(a=1)
    settings.source = "file"
    counts = collections.defaultdict(int, a=1)
    back = round_trip([settings, counts], weights_only=False)
    assert back[0].source == "file" and back[1]["missing"] == 0


def test_named_tuples_of_tensors():
    pair = round_trip(Pair(tandem.ones(2), 3), weights_only=False)
    assert type(pair) is Pair and pair.a.tolist() == [1, 1]
    with tandem.serialization.safe_globals([Pair]):
        assert round_trip(Pair(tandem.ones(2), 3)).b == 3
    packed = nn.utils.rnn.pack_sequence([tandem.ones(2), tandem.zeros(1)])
    back = round_trip(packed, weights_only=False, map_location="cpu")
    assert type(back) is type(packed) and back.data.tolist() == packed.data.tolist()


@pytest.mark.parametrize("location", [None, "cpu", "meta"])
def test_one_object_stays_one(location):
    w, rows = nn.Parameter(tandem.ones(2)), [1]
    back = round_trip({"w": w, "tied": [w], "rows": rows, "again": (rows,), "array": np.ones(2)}, map_location=location)
    assert back["w"] is back["tied"][0] and type(back["w"]) is nn.Parameter
    assert back["rows"] is back["again"][0] and back["rows"] == [1]
    assert back["w"].is_meta == (location == "meta")


def test_cycles():
    rows, table = [1], {}
    rows.append(rows)
    table["self"] = (table,)
    back = round_trip([rows, table], map_location="cpu")
    assert back[0][1] is back[0] and back[1]["self"][0] is back[1]


def test_tensors_of_objects_are_those_of_the_file():
    layer, w = nn.Linear(2, 2), tandem.arange(3.0)
    back = round_trip({"layer": layer, "weight": layer.weight, "run": Run(2, w), "part": w[1:]}, weights_only=False)
    assert back["layer"].weight is back["weight"] and back["run"].step == 2
    back["part"].zero_()
    assert back["run"].weight.tolist() == [0, 0, 0]
    moved = round_trip([layer], weights_only=False, map_location="meta")[0]
    assert moved.weight.is_meta and type(moved.weight) is nn.Parameter


def test_a_function_restores_as_load_does():
    restore = tandem.serialization.default_restore_location
    back = round_trip([tandem.ones(2)], map_location=lambda storage, place: restore(storage, place))
    assert back[0].tolist() == [1, 1]
    assert round_trip(tandem.ones(2), map_location=lambda storage, place: restore(storage, "meta")).is_meta


def test_a_stream_holds_several_files():
    file = io.BytesIO()
    for value in (tandem.ones(1), {"a": [2]}, tandem.zeros(2)):
        pickle.dump("head", file)
        tandem.save(value, file)
    file.seek(0)
    for value in ([1], {"a": [2]}, [0, 0]):
        assert pickle.load(file) == "head"
        back = tandem.load(file)
        assert (back.tolist() if isinstance(back, tandem.Tensor) else back) == value


def test_an_unknown_number_is_an_error():
    file = io.BytesIO()
    tandem.save([[1], {"a": tandem.ones(1)}], file)
    raw = file.getvalue().replace(b"[[1],", b'[{\\"again\\": 1},')
    if raw == file.getvalue():
        raw = file.getvalue().replace(b"[[1], ", b'[{\\"again\\":1}, ')
    head = int.from_bytes(raw[:8], "little") + len(raw) - len(file.getvalue())
    with pytest.raises(RuntimeError, match="no object has the number 1 yet"):
        tandem.load(io.BytesIO(head.to_bytes(8, "little") + raw[8:]))


def test_objects_of_safe_classes_may_hold_shapes_devices_and_dtypes():
    normal = tandem.distributions.Normal(tandem.zeros(2), 1.0)
    normal.made_of = (tandem.device("cpu"), tandem.bfloat16)
    file = io.BytesIO()
    tandem.save(normal, file)
    file.seek(0)
    with tandem.serialization.safe_globals([tandem.distributions.Normal]):
        back = tandem.load(file)
    assert back.batch_shape == (2,) and type(back.batch_shape) is tandem.Size and back.made_of == normal.made_of
    assert back.log_prob(tandem.ones(2)).equal(normal.log_prob(tandem.ones(2)))
