"""Tensors made of several others: stacked ones, and those of lists that hold arrays of NumPy."""

import itertools
import warnings

import numpy as np
import pytest

import tandem

SHAPES = [(), (3,), (1,), (0,), (2, 3), (2, 0), (0, 3), (1, 1), (2, 3, 4), (1, 3, 4), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_stacked_are_arrays_stacked(shape, count):
    arrays = [np.random.default_rng(i).normal(size=shape).astype(np.float32) for i in range(count)]
    tensors = [tandem.from_numpy(a.copy()) for a in arrays]
    for dim in range(len(shape) + 1):
        made = tandem.stack(tensors, dim)
        assert made.is_contiguous() and made._base is None and made.storage_offset() == 0
        assert np.array_equal(made.numpy(), np.stack(arrays, dim))
        assert made.stride() == tandem.empty(made.shape).stride()
        made += 1
        assert all(np.array_equal(t.numpy(), a) for t, a in zip(tensors, arrays, strict=True))


def test_stacked_dtypes_and_layouts():
    assert tandem.stack([tandem.ones(2), tandem.ones(2, dtype=tandem.float64)]).dtype is tandem.float64
    assert tandem.stack([tandem.ones(2).bool(), tandem.ones(2, dtype=tandem.int8)]).dtype is tandem.int8
    wide = tandem.arange(24.0).reshape(2, 3, 4)
    turned = [wide.permute(2, 0, 1), wide.permute(2, 0, 1) + 1]
    assert tandem.stack(turned).tolist() == [t.tolist() for t in turned]
    image = tandem.ones(2, 3, 4, 5).to(memory_format=tandem.channels_last)
    assert tandem.stack([image, image]).shape == (2, 2, 3, 4, 5)
    with pytest.raises(RuntimeError, match=r"but got \[2\] at entry 0 and \[3\] at entry 2"):
        tandem.stack([tandem.ones(2), tandem.ones(2), tandem.ones(3)])


def test_stacked_have_histories():
    x, y = tandem.ones(2, requires_grad=True), tandem.zeros(2)
    (tandem.stack([y, x, x]) * tandem.arange(3.0)[:, None]).sum().backward()
    assert x.grad.tolist() == [3, 3]
    base = tandem.zeros(4)
    part = base[:2]  # which has no history yet
    base.mul_(tandem.ones(4, requires_grad=True))
    assert tandem.stack([part, y]).requires_grad
    with tandem.no_grad():
        assert not tandem.stack([x, x]).requires_grad
    with tandem.inference_mode():
        assert tandem.stack([y, y]).is_inference()
    rows = tandem.stack([y, y])
    rows.requires_grad_()
    rows.sum().backward()
    assert rows.is_leaf and rows.grad.shape == (2, 2)


def test_stacked_within_transforms():
    x = tandem.arange(6.0).reshape(3, 2)
    other = tandem.ones(2)
    each = tandem.func.vmap(lambda row: tandem.stack([row, other, row * 2]))(x)
    assert each.tolist() == [[r, [1, 1], [2 * v for v in r]] for r in x.tolist()]
    turned = tandem.func.vmap(lambda column: tandem.stack([column, column]), in_dims=1, out_dims=1)(x)
    assert turned.tolist() == tandem.stack([x.T, x.T]).tolist()
    _, tangent = tandem.func.jvp(lambda v: tandem.stack([v, v * v]), (other,), (other,))
    assert tangent.tolist() == [[1, 1], [2, 2]]
    assert tandem.compile(lambda a, b: tandem.stack([a, b]) * 2)(other, other).tolist() == [[2, 2], [2, 2]]
    with tandem.lazy():
        recorded = tandem.stack([other, other + 1])
    assert recorded.tolist() == [[1, 1], [2, 2]]


ARRAYS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
@pytest.mark.parametrize(("first", "second"), list(itertools.product(ARRAYS, ARRAYS)))
def test_lists_of_arrays_are_lists_of_their_elements(first, second):
    arrays = [np.arange(6).reshape(2, 3).astype(first), (np.arange(12).reshape(2, 6) % 5)[:, ::2].astype(second)]
    scalars = [[list(row) for row in a] for a in arrays]  # NumPy's scalars, which keep their dtypes
    for nest in (lambda a: a, lambda a: [a], tuple):
        for dtype in (None, tandem.float32, tandem.int64, tandem.bool, tandem.bfloat16):
            made = tandem.tensor(nest(arrays), dtype=dtype)
            expected = tandem.tensor(nest(scalars), dtype=dtype)
            assert made.dtype is expected.dtype and made.shape == expected.shape
            assert made.tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
def test_lists_of_arrays_and_others():
    row = np.array([1.5, 2.5], np.float32)
    assert tandem.tensor([row, [1, 2], (True, np.int8(2))]).tolist() == [[1.5, 2.5], [1, 2], [1, 2]]
    assert tandem.tensor([[1, 2], row]).tolist() == [[1, 2], [1.5, 2.5]]
    assert tandem.tensor([np.zeros((0, 2)), np.zeros((0, 2))]).shape == (2, 0)  # as in PyTorch
    assert tandem.tensor([np.array(3.0), 2]).tolist() == [3, 2]
    assert tandem.tensor([np.arange(3, dtype=">i4"), [1, 2, 3]]).tolist() == [[0, 1, 2], [1, 2, 3]]
    assert tandem.tensor([np.arange(2, dtype=np.uint16)]).tolist() == [[0, 1]]
    assert tandem.tensor([np.asfortranarray(np.arange(4.0).reshape(2, 2))]).tolist() == [[[0, 1], [2, 3]]]
    constant = row.copy()
    constant.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tandem.tensor([constant, constant]).tolist() == [[1.5, 2.5]] * 2
    for wrong in ([row, np.zeros(3)], [row, np.zeros((2, 1))], [row, 1.0], [np.zeros((2, 2)), row]):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=r"tensor\(\)|expected sequence"):
            tandem.tensor(wrong)
    assert tandem.tensor([[np.zeros(0)]]).dtype is tandem.float64
    with pytest.raises(RuntimeError, match="cannot be converted to uint8 without overflow"):
        tandem.tensor([np.array([300])], dtype=tandem.uint8)
    with pytest.raises((RuntimeError, TypeError)):
        tandem.tensor([np.array(["a", "b"])])
