# ruff: noqa: E501  (one error a line)
"""Errors: their class and text, and that they leave tensors as they were. Classes are PyTorch's."""

import numpy as np
import pytest
from conftest import run_in

import tandem

nn = tandem.nn
F = nn.functional

x = tandem.ones(3, 4)
i = tandem.ones(3, dtype=tandem.int64)
b = tandem.tensor([True, False])

ROWS = [
    # arguments
    (lambda: tandem.real([1.0]), TypeError, r"real\(\): argument 'input' \(position 1\) must be Tensor, not list"),
    (lambda: tandem.is_complex(1.0), TypeError, r"is_complex\(\): argument 'input' \(position 1\) must be Tensor"),
    (lambda: tandem.is_floating_point(1.0), TypeError, r"is_floating_point\(\): argument 'input' .* must be Tensor"),
    (lambda: tandem.tanh("a"), TypeError, r"tanh\(\): argument 'input' \(position 1\) must be Tensor, not str"),
    (lambda: tandem.tanh(), TypeError, r'tanh\(\) missing 1 required positional arguments: "input"'),
    (lambda: tandem.tanh(x, foo=1), TypeError, r"tanh\(\) got an unexpected keyword argument 'foo'"),
    (lambda: tandem.tanh(x, input=x), TypeError, r"tanh\(\) got multiple values for argument 'input'"),
    (lambda: tandem.max(x, "a"), TypeError, r"max\(\) received an invalid combination of arguments - got \(Tensor, str\)"),
    (lambda: x.tanh(1), TypeError, r"tanh\(\) received an invalid combination of arguments"),
    (lambda: tandem.zeros("a"), TypeError, r"zeros\(\): argument 'size' \(position 1\) must be tuple of ints, not str"),
    (lambda: tandem.zeros(2, dtype=5), TypeError, r"zeros\(\): argument 'dtype' must be tandem.dtype, not int"),
    (lambda: tandem.cat(x), TypeError, r"cat\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor"),
    (lambda: x.sum(dim="a"), TypeError, r"argument 'dim' must be tuple of ints, not str"),
    (lambda: x + "a", TypeError, r"unsupported operand type\(s\) for \+: 'tandem.Tensor' and 'str'|'Tensor' and 'str'"),
    (lambda: x.nothing, AttributeError, "object has no attribute 'nothing'"),
    # shapes
    (lambda: x + tandem.ones(5), RuntimeError, r"(?s)add.*\[3, 4\].*\[5\]|size of tensor a \(4\)"),
    (lambda: x @ x, RuntimeError, r"(?s)mat.*\[3, 4\].*\[3, 4\]|3x4 and 3x4"),
    (lambda: x.view(5), RuntimeError, r"shape '\[5\]' is invalid for input of size 12"),
    (lambda: x.reshape(-1, 5), RuntimeError, r"shape '\[-1, 5\]' is invalid for input of size 12"),
    (lambda: x.t().view(12), RuntimeError, "view size is not compatible"),
    (lambda: x.expand(2, 4), RuntimeError, r"expand|expanded size"),
    (lambda: tandem.cat([x, tandem.ones(2, 2)]), RuntimeError, r"(?s)cat.*|Sizes of tensors must match"),
    (lambda: tandem.stack([x, tandem.ones(2, 2)]), RuntimeError, r"stack expects each tensor to be equal size|stack"),
    # dims
    (lambda: x.sum(2), IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"),
    (lambda: x.transpose(0, 5), IndexError, "Dimension out of range"),
    (lambda: x.sum((0, 0)), RuntimeError, "appears multiple times in the list of dims|dim 0 appears"),
    # indices
    (lambda: x[5], IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
    (lambda: x[0, -5], IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
    (lambda: x[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
    (lambda: tandem.tensor(1.0)[0], IndexError, "invalid index of a 0-dim tensor"),
    (lambda: x[::-1], ValueError, "step must be greater than zero"),
    (lambda: x[1.5], IndexError, "only integers, slices"),
    (lambda: x["a"], TypeError, "invalid data type 'str'"),
    (lambda: x[b], IndexError, r"The shape of the mask \[2\] at index 0 does not match the shape of the indexed tensor \[3, 4\]"),
    (lambda: x[tandem.tensor([0, 1]), tandem.tensor([0, 1, 2])], IndexError,
     r"indexing tensors could not be broadcast together with shapes \[2\], \[3\]"),
    (lambda: x[tandem.tensor([1.0])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda: x[tandem.tensor([7])], IndexError, "out of (bounds|range)"),
    (lambda: x.__setitem__(5, 1), IndexError, "index 5 is out of bounds"),
    (lambda: x.__setitem__(0, tandem.ones(7)), RuntimeError, ""),
    (lambda: x.__delitem__(0), TypeError, "does not support deleting items"),
    # data
    (lambda: tandem.tensor([[1, 2], [3]]), ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
    (lambda: tandem.tensor("a"), TypeError, "invalid data type 'str'"),
    (lambda: tandem.tensor([1, "a"]), TypeError, "cannot make an element of 'str'"),
    (lambda: tandem.tensor([1, None]), RuntimeError, "Could not infer dtype of NoneType"),
    (lambda: tandem.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
    (lambda: tandem.tensor([1], requires_grad=True), RuntimeError, "floating point"),
    (lambda: tandem.from_numpy(np.ones(3)[::-1]), ValueError, "At least one stride in the given numpy array is negative"),
    (lambda: tandem.from_numpy(np.ones(3, complex)), TypeError, "can't convert np.ndarray of type numpy.complex128"),
    (lambda: tandem.from_numpy(np.array(["a"])), TypeError, "can't convert np.ndarray of type numpy.str_"),
    (lambda: tandem.from_numpy([1]), TypeError, r"expected np.ndarray \(got list\)"),
    (lambda: tandem.ones(1, requires_grad=True).numpy(), RuntimeError, r"Can't call numpy\(\) on Tensor that requires grad"),
    (lambda: tandem.ones(1, dtype=tandem.bfloat16).numpy(), TypeError, "unsupported ScalarType BFloat16"),
    # numbers
    (lambda: bool(x), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
    (lambda: bool(tandem.ones(0)), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
    (lambda: x.item(), RuntimeError, "a Tensor with 12 elements cannot be converted to Scalar"),
    (lambda: float(x), ValueError, "only one element tensors can be converted to Python scalars"),
    (lambda: [1][tandem.ones(1)], TypeError, "only integer tensors of a single element can be converted to an index"),
    (lambda: len(tandem.tensor(1)), TypeError, r"len\(\) of a 0-d tensor"),
    (lambda: list(tandem.tensor(1)), TypeError, "iteration over a 0-d tensor"),
    (lambda: -b, RuntimeError, "on a bool tensor is not supported"),
    (lambda: b - b, RuntimeError, "with two bool tensors"),
    (lambda: ~x, TypeError, "only implemented on integer and Boolean-type tensors"),
    # devices
    (lambda: x.cuda(), RuntimeError, "CPU only"),
    (lambda: tandem.ones(2, device="cuda"), RuntimeError, "'cuda' is not available"),
    (lambda: x.to("cuda:0"), RuntimeError, "'cuda' is not available"),
    (lambda: x.to("foo"), RuntimeError, "device type at start of device string: foo"),
    # out=
    (lambda: tandem.add(x, 1.5, out=tandem.ones(3, 4, dtype=tandem.int64)), RuntimeError, "can't be cast to the desired output type"),
    (lambda: tandem.add(tandem.ones(1, requires_grad=True), 1, out=tandem.ones(1)), RuntimeError,
     "don't support automatic differentiation"),
    # writes
    (lambda: i.add_(1.5), RuntimeError, "can't be cast"),
    (lambda: tandem.ones(1, 4).expand(3, 4).add_(1), RuntimeError, "more than one element of the written-to tensor"),
    (lambda: tandem.ones(3).add_(tandem.ones(2, 3)), RuntimeError, "output with shape|broadcast"),
    # settings
    (lambda: tandem.set_num_threads(0), RuntimeError, "positive integer"),
    (lambda: tandem.set_default_dtype(tandem.int64), TypeError, "only floating-point types"),
    (lambda: tandem.set_default_dtype(float), TypeError, "invalid dtype object: only floating-point types"),
    (lambda: tandem.ones(1).type(float), ValueError, "invalid type: 'float'"),
    (lambda: tandem.nn.Linear(1, 1).type(int), ValueError, "invalid type: 'int'"),
    (lambda: tandem.finfo(tandem.int64), TypeError, "requires a floating point input type"),
    (lambda: tandem.manual_seed("a"), (TypeError, ValueError), ""),
    # autograd
    (lambda: tandem.ones(2, requires_grad=True).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
    (lambda: tandem.ones(1).backward(), RuntimeError, "does not require grad"),
    (lambda: setattr(tandem.ones(2, requires_grad=True), "grad", tandem.ones(3)), RuntimeError, ""),
    (lambda: i.requires_grad_(), RuntimeError, "floating point"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, text", ROWS, ids=range(len(ROWS)))
def test_error(call, error, text):
    before = (x.tolist(), i.tolist(), b.tolist())
    with pytest.raises(error, match=text):
        call()
    assert (x.tolist(), i.tolist(), b.tolist()) == before


def test_a_huge_allocation_leaves_the_process_working():
    with pytest.raises(tandem.OutOfMemoryError, match="bytes|GiB|TiB"):
        tandem.empty(1 << 50)
    assert issubclass(tandem.OutOfMemoryError, RuntimeError)
    assert (tandem.ones(3) + 1).tolist() == [2, 2, 2]


def test_reading_a_value_inside_compile_names_the_line():
    def f(x):
        return x * 2 if x.sum() > 0 else x  # the line

    with pytest.raises(tandem.DataReadError, match=r"test_errors\.py(.|\n)*(where|cond)"):
        tandem.compile(f, fullgraph=True)(tandem.ones(3))
    compiled = tandem.compile(f)
    for sign in (1, -1, 1):
        x = tandem.ones(3) * sign
        assert compiled(x).tolist() == f(x).tolist()


HUGE = 2**62
TOO_LARGE = [
    (lambda: tandem.ones(5, 1, 1).expand(5, 5, -2), RuntimeError, r"The expanded size of the tensor \(-2\)"),
    (lambda: tandem.ones(5, 1).broadcast_to(5, -HUGE), RuntimeError, "The expanded size of the tensor"),
    (lambda: tandem.ones(1).expand(2**32, 2**32), RuntimeError, "expand: .* too many elements to count"),
    (lambda: tandem.ones(5, 1, 1).expand(5, 5, HUGE), RuntimeError, "expand: .* too many elements to count"),
    (lambda: tandem.zeros(0).view(2**32, 2**32), RuntimeError, "view: .* too many elements to count"),
    (lambda: tandem.zeros(0).reshape(2**32, 2**32, -1), RuntimeError, "reshape: .* too many elements to count"),
    (lambda: tandem.ones(5).as_strided((2, 2), (HUGE, HUGE)), RuntimeError, "out of bounds for storage of 5 elements"),
    (lambda: tandem.ones(5).as_strided((5,), (HUGE,)), RuntimeError, "out of bounds for storage of 5 elements"),
    (lambda: tandem.ones(5).as_strided((HUGE, 3), (4, 1)), RuntimeError, "as_strided: .* too many elements to count"),
    (lambda: tandem.ones(5).as_strided((2**32, 2**32), (0, 0)), RuntimeError, "too many elements to count"),
    (lambda: tandem.ones(5).narrow(0, 1, 2**63 - 1), RuntimeError, "exceeds dimension size"),
    (lambda: F.pixel_shuffle(tandem.ones(1, 4, 1, 1), 2**32), RuntimeError, "the square of upscale_factor"),
]


@pytest.mark.parametrize("case", range(len(TOO_LARGE)))
def test_windows_that_no_memory_holds(case):
    """Sizes and strides whose products no int64 holds are an error, not a window of another size."""
    call, error, text = TOO_LARGE[case]
    with pytest.raises(error, match=text):
        call()


def test_steps_beyond_the_end(mode):
    def body(x):
        return x[:: 2**63 - 1], x[1 :: 2**62], x.unfold(0, 2, 2**62), x[:0:HUGE]

    got = run_in(mode, body, tandem.arange(5.0))
    assert [t.tolist() for t in got] == [[0.0], [1.0], [[0.0, 1.0]], []]


ON_ONE_ELEMENT = [
    lambda x: x + 1, lambda x: x.sum(0), lambda x: x.clone(), lambda x: x.flip(0), lambda x: x.repeat(2),
    lambda x: x.expand(4), lambda x: x.view(1, 1), lambda x: x[0], lambda x: x[1:], lambda x: x.narrow(0, 1, 0),
    lambda x: x.diff(), lambda x: x.unfold(0, 1, 1), lambda x: x.view(tandem.int32),
    lambda x: x.unsqueeze(-1).view(tandem.int16), lambda x: x.as_strided((1,), (1,)), lambda x: x.unsqueeze(0).T + 1,
    lambda x: tandem.cat([x, x]), lambda x: x.sort()[0], lambda x: x.matmul(x), lambda x: x[tandem.tensor([0])],
    lambda x: tandem.from_numpy(x.numpy().copy()), lambda x: x.fill_(3), lambda x: x.copy_(tandem.ones(1)),
]  # fmt: skip


@pytest.mark.parametrize("step", [2**61, 2**62, 2**63 - 1])
@pytest.mark.parametrize("number", range(len(ON_ONE_ELEMENT)))
def test_a_stride_that_nobody_uses(mode, number, step):
    """A dim of one element may have any stride."""
    call = ON_ONE_ELEMENT[number]
    got = run_in(mode, call, tandem.arange(5.0)[1::step])
    assert got.tolist() == call(tandem.ones(1)).tolist()


def test_tensors_of_no_dims_stand_for_numbers():
    x = tandem.arange(12.0).reshape(3, 4)
    two, one = tandem.tensor(2), tandem.tensor(1)
    assert [p.shape for p in tandem.hsplit(x, two)] == [(3, 2), (3, 2)]
    assert [p.tolist() for p in tandem.tensor_split(x[0], two)] == [[0, 1], [2, 3]]
    assert x.sum(one).tolist() == x.sum(dim=one).tolist() == x.sum(1).tolist()
    assert x.view(two, -1).shape == x.view((two, 6)).shape == (2, 6) and x.flip(one).tolist() == x.flip(1).tolist()
    assert tandem.logit(x / 12, tandem.tensor(0.1)).tolist() == tandem.logit(x / 12, tandem.tensor(0.1).item()).tolist()
    for wrong in (tandem.ones(1, dtype=tandem.int64), tandem.tensor(1.0), tandem.tensor(True)):
        with pytest.raises(TypeError, match="must be"):
            x.softmax(wrong)
    with pytest.raises(TypeError, match="must be float"):
        tandem.logit(x, tandem.tensor(0.1, requires_grad=True))


@pytest.mark.parametrize("write", [lambda x, y: x.copy_(y), lambda x, y: x.__setitem__(slice(None), y)])
@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((3,), r"^copy_: the shapes \[2\] and \[3\] do not broadcast"),
        ((2, 1, 2), r"^copy_: output with shape \[2\] doesn't match the broadcast shape \[2, 1, 2\]"),
    ],
)
def test_what_does_not_fit_where_it_is_written(write, shape, text):
    with pytest.raises(RuntimeError, match=text):
        write(tandem.zeros(2), tandem.zeros(shape))
