"""What programs ask about their surroundings, older spellings, and `tandem.testing`."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import tandem
from tandem import tensor
from tandem.testing import assert_close


def test_devices_and_libraries_answer_for_a_cpu():
    assert not tandem.backends.cudnn.is_available() and tandem.backends.cudnn.version() is None
    assert not tandem.backends.mps.is_available() and tandem.backends.cuda.is_built()
    assert not tandem.accelerator.is_available() and tandem.accelerator.current_accelerator() is None
    assert tandem.distributed.is_available() and not tandem.distributed.is_initialized()
    assert tandem.version.cuda is None and tandem.version.__version__ == tandem.__version__
    assert str(tandem.get_default_device()) == "cpu"
    tandem.set_default_device("cpu")
    with pytest.raises(RuntimeError, match="CPU only"):
        tandem.set_default_device("cuda")


def test_flags_keep_what_they_are_given():
    cudnn = tandem.backends.cudnn
    with cudnn.flags(enabled=False, deterministic=True):
        assert cudnn.deterministic and not cudnn.enabled
    assert cudnn.enabled and not cudnn.deterministic
    tandem.use_deterministic_algorithms(True)
    assert tandem.are_deterministic_algorithms_enabled()
    tandem.use_deterministic_algorithms(False)
    tandem.set_float32_matmul_precision("high")
    assert tandem.get_float32_matmul_precision() == "high"
    tandem.set_float32_matmul_precision("highest")


def test_script_decorators_leave_functions_as_they_are():
    def f(x):
        return x + 1

    assert tandem.jit.script(f) is f and tandem.jit.ignore(f) is f and tandem.jit.ignore(drop=True)(f) is f
    assert tandem.jit.unused(f) is f and tandem.jit.export(f) is f and tandem.jit.annotate(int, 3) == 3
    assert not tandem.jit.is_scripting() and not tandem.jit.is_tracing()


def test_is_compiling_is_true_while_no_value_can_be_read():
    def f(x):
        return x + 1 if tandem.compiler.is_compiling() else x - 1

    assert tandem.compile(f, fullgraph=True)(tandem.ones(1)).item() == 2
    assert tandem.compile(f)(tandem.ones(1)).item() == f(tandem.ones(1)).item() == 0
    assert not tandem.compiler.is_compiling()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("FloatTensor", "float32"), ("LongTensor", "int64"), ("BoolTensor", "bool"), ("HalfTensor", "float16")],
)
def test_typed_tensors(name, dtype):
    kind = getattr(tandem, name)
    assert kind([1, 0]).dtype is getattr(tandem, dtype) and kind([1, 0]).tolist() == [1, 0]
    assert kind(2, 3).shape == (2, 3) and kind().shape == (0,) and kind(tandem.Size([4])).shape == (4,)
    assert isinstance(kind(2), kind) and not isinstance(tandem.ones(2, dtype=tandem.int16), kind)
    assert tandem.ones(2).type(str(kind)).dtype is getattr(tandem, dtype)


def test_variable_and_names_of_types():
    x = tandem.autograd.Variable(tandem.ones(2), requires_grad=True)
    assert x.requires_grad and isinstance(x, tandem.autograd.Variable)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        tandem.autograd.Variable([1.0])
    assert tandem.typename(tandem.ones(2)) == "tandem.FloatTensor" and tandem.typename(3) == "int"
    tandem.set_default_tensor_type("torch.DoubleTensor")
    assert tandem.ones(2).dtype is tandem.float64
    tandem.set_default_tensor_type(tandem.FloatTensor)
    for other in ("Tensor", tandem.float64, float, 3):
        with pytest.raises(TypeError, match="invalid type object: only floating-point types are supported"):
            tandem.set_default_tensor_type(other)


def test_assert_close_passes_what_is_close():
    assert_close(tensor([1.0, 2.0]), tensor([1.0, 2.000001]))
    assert_close([1, tensor([1.0])], [1, tensor([1.0])])
    assert_close({"a": 1.0}, {"a": 1.0 + 1e-9})
    assert_close(tensor([float("nan")]), tensor([float("nan")]), equal_nan=True)
    assert_close(tensor([1.0]), tensor([1.0], dtype=tandem.float64), check_dtype=False)
    tandem.testing.assert_allclose([1.0, float("nan")], [1.0, float("nan")])


@pytest.mark.parametrize(
    ("actual", "expected", "options", "words"),
    [
        (
            tensor([1.0, 2, 3]),
            tensor([1.0, 2.5, 3]),
            {},
            "Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
            "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)",
        ),
        (tensor([1, 2]), tensor([1, 3]), {}, "Tensor-likes are not equal!"),
        (tensor([1.0]), tensor([1.0, 2]), {}, "attribute 'shape' do not match: tandem.Size([1]) != tandem.Size([2])."),
        (tensor([1.0]), tensor([1]), {}, "attribute 'dtype' do not match: tandem.float32 != tandem.int64."),
        (tensor([float("nan")]), tensor([float("nan")]), {}, "Mismatched elements: 1 / 1 (100.0%)"),
        (1.0, 1.5, {}, "Scalars are not close!\n\nExpected 1.5 but got 1.0."),
        ([1], [1, 2], {}, "The length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, {}, "Missing keys in the actual mapping: ['b']"),
        ({"a": [1, 2]}, {"a": [1, 3]}, {}, "The failure occurred for item ['a'][1]"),
        (1, 2, {"msg": "ours"}, "ours"),
        (1, 2, {"msg": lambda text: "ours: " + text}, "ours: Scalars are not equal!"),
    ],
)
def test_assert_close_says_what_differs(actual, expected, options, words):
    with pytest.raises(AssertionError) as e:
        assert_close(actual, expected, **options)
    assert words in str(e.value)


def test_assert_close_refuses_what_it_cannot_compare():
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        assert_close("a", "b")
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be"):
        assert_close(1, 1, rtol=0.1)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_thread_local_variables_of_others_are_not_needed_early():
    """Those of the C++ library lie where the loader puts them: PyTorch, imported first, leaves it no other room."""
    relocations = subprocess.run(
        ["readelf", "-rW", tandem._C.__file__], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    early = [line for line in relocations if "TPOFF64" in line and "DTPOFF64" not in line]
    assert early and not [line for line in early if "@" in line or "_Z" in line]
