"""Who shares memory with whom: older constructors, storages, arrays, and what a larger size does to them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tandem

MADE_OF_A_TENSOR = {
    "Tensor": lambda x: tandem.Tensor(x),
    "FloatTensor": lambda x: tandem.FloatTensor(x),
    "new": lambda x: tandem.ones(1).new(x),
    "Tensor of a storage": lambda x: tandem.Tensor(x.untyped_storage()),
    "FloatTensor of a storage": lambda x: tandem.FloatTensor(x.untyped_storage()),
    "new of a storage": lambda x: x.new(x.storage()),
}


@pytest.mark.parametrize("name", MADE_OF_A_TENSOR)
def test_older_constructors_share_the_memory(name, recwarn):
    x = tandem.arange(3.0)
    made = MADE_OF_A_TENSOR[name](x)
    made += 1
    assert x.tolist() == made.tolist() == [1, 2, 3]
    assert not any("copy construct" in str(w.message) for w in recwarn)


def test_older_constructors_of_another_dtype():
    x = tandem.arange(3)
    for make in (tandem.FloatTensor, tandem.ones(1).new, tandem.BoolTensor, tandem.ones(1, dtype=tandem.float64).new):
        with pytest.raises(TypeError, match="expected a Tensor of"):
            make(x)
    y = tandem.ones(2, requires_grad=True)
    assert not tandem.FloatTensor(y).requires_grad and not y.new(y).requires_grad
    with pytest.raises(RuntimeError, match="int64"):
        tandem.FloatTensor(x.storage())


def test_new_of_a_size():
    assert tandem.ones(2, dtype=tandem.int8).new(size=(3, 4)).shape == (3, 4)
    assert tandem.ones(2).new(tandem.Size((2, 1))).shape == (2, 1)


def test_memory_that_arrays_look_at_does_not_move():
    array = np.zeros(4, np.float32)
    x = tandem.from_numpy(array)
    y = tandem.zeros(4)
    seen = y.numpy()
    for t in (x, y):
        with pytest.raises(RuntimeError, match="not resizable"):
            t.resize_(5)
        assert t.resize_(2, 2).shape == (2, 2)
        t.fill_(1)
    assert array.tolist() == seen.tolist() == [1, 1, 1, 1]
    del seen
    assert y.resize_(5).shape == (5,)


def test_what_is_nowhere_is_not_the_same():
    a, b = tandem.empty(0), tandem.empty(0)
    assert a.is_set_to(a) and not a.is_set_to(b)
    c = tandem.ones(2)
    assert c.is_set_to(c.view(2)) and not c.is_set_to(c.clone())


def test_a_format_for_a_new_size():
    x = tandem.arange(24.0).resize_(1, 3, 2, 4, memory_format=tandem.channels_last)
    assert x.stride() == (24, 1, 12, 3) and x[0, 1, 0, 0] == 1
    y = tandem.empty(0).resize_as_(x, memory_format=tandem.preserve_format)
    assert y.stride() == x.stride() and y.is_contiguous(memory_format=tandem.channels_last)
    assert y.resize_as_(x).stride() == x.stride() and y.resize_(24).stride() == (1,)
    with pytest.raises(RuntimeError, match="required rank 4"):
        y.resize_(24, memory_format=tandem.channels_last)
    with pytest.raises(RuntimeError, match="preserve"):
        y.resize_(24, memory_format=tandem.preserve_format)


def test_sizes_of_storages():
    sizes = [sys.getsizeof(tandem.empty(n).untyped_storage()) for n in (0, 10, 100)]
    assert sizes[2] - sizes[0] == 10 * (sizes[1] - sizes[0]) == 400
