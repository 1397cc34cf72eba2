"""Calls that PyTorch refuses: what would be wrong silently if it were taken is an error that says so."""

from __future__ import annotations

import numpy as np
import pytest

import tandem
from tandem.nn import functional as F

# ---- numbers --------------------------------------------------------------------------------------------------------

v = tandem.ones(3)
m = tandem.ones(3, 3)

# A number has no gradient: calls that would drop the one of `x`.
NUMBERS = {
    "addcmul": lambda x: v.addcmul(v, v, value=x),
    "addcdiv_": lambda x: v.clone().addcdiv_(v, v, value=x),
    "add, alpha": lambda x: v.add(v, alpha=x),
    "sub, alpha": lambda x: tandem.rsub(v, 2.0, alpha=x),
    "addmm, beta": lambda x: tandem.addmm(v, m, m, beta=x),
    "addmm, alpha": lambda x: m.addmm_(m, m, alpha=x),
    "addr": lambda x: tandem.addr(m, v, v, alpha=x),
    "full": lambda x: tandem.full((2,), x),
    "full_like": lambda x: tandem.full_like(v, x),
    "new_full": lambda x: v.new_full((2,), x),
    "arange": lambda x: tandem.arange(x),
    "threshold": lambda x: F.threshold(v, x, 1.0),
    "index_add": lambda x: v.index_add(0, tandem.tensor([0]), tandem.ones(1), alpha=x),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_asks_for_a_gradient(name):
    x = tandem.tensor(2.0, requires_grad=True)
    with pytest.raises(TypeError):
        NUMBERS[name](x)
    NUMBERS[name](x.detach())


def test_numbers_whose_gradient_is_kept():
    x = tandem.tensor(2.0, requires_grad=True)
    for made in (v.clamp(min=x), v.clone().fill_(x), v.masked_fill(v > 0, x), v * x, tandem.linspace(x.detach(), 3, 2)):
        assert made.requires_grad or made.shape == (2,)


def test_permutations_that_a_dtype_does_not_hold():
    most = {"uint8": 256, "int8": 128, "float16": 2049, "bfloat16": 257, "int16": 2**15}
    for name, n in most.items():
        dtype = getattr(tandem, name)
        assert tandem.randperm(n, dtype=dtype).double().sum() == n * (n - 1) // 2
        with pytest.raises(RuntimeError, match=f"n must not be greater than {n} for {name}, but got {n + 1}"):
            tandem.randperm(n + 1, dtype=dtype)
    assert tandem.randperm(1, dtype=tandem.uint8).tolist() == [0]
    with pytest.raises(NotImplementedError):
        tandem.randperm(2, dtype=tandem.bool)


# ---- places ---------------------------------------------------------------------------------------------------------


def test_index_copy_does_not_count_from_the_end(mode):
    from conftest import run_in

    x, source = tandem.zeros(3, 4), tandem.ones(3, 2)
    good = run_in(mode, lambda: x.index_copy(1, tandem.tensor([3, 0]), source))
    assert good[0].tolist() == [1, 0, 0, 1]
    for form in ("index_copy", "index_copy_"):
        for places, wrong in (([0, -1], -1), ([4, 0], 4)):
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
                run_in(mode, lambda form=form, places=places: getattr(x, form)(1, tandem.tensor(places), source))
    assert not x.any()
    # index_fill does, here as in PyTorch.
    assert tandem.zeros(9).index_fill(0, tandem.tensor([-1]), 1.0).nonzero().item() == 8


def test_what_says_where_shares_no_memory_with_what_is_written():
    places = tandem.tensor([2, 1, 0])
    mask = tandem.tensor([True, False, True, True])
    with pytest.raises(RuntimeError, match="unsupported operation"):
        places.index_fill_(0, places, 0)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        mask[1:].masked_fill_(mask[:-1], False)
    x = tandem.arange(4)
    assert x.masked_fill_(mask, x[1]).tolist() == [1, 1, 1, 1]
    assert tandem.arange(3).index_fill_(0, tandem.tensor([0]), 7).tolist() == [7, 1, 2]


def test_a_start_that_is_no_number():
    x = tandem.arange(3)
    assert x.narrow(0, tandem.tensor(1), 2).tolist() == [1, 2]
    for start in (tandem.tensor([1]), tandem.tensor(1.0), tandem.tensor(True)):
        with pytest.raises(RuntimeError, match="0-dim integral"):
            x.narrow(0, start, 1)


# ---- sizes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: tandem.ones(2).resize_(2**32, 2**32),
        lambda: tandem.ones(2).resize_(2**29, 2**29, 8, 2),
        lambda: tandem.empty(0, 4, 2**61),
        lambda: tandem.empty(1).resize_(0, 4, 2**61),
    ],
)
def test_sizes_and_strides_that_overflow(make):
    with pytest.raises(RuntimeError, match="overflows"):
        make()


def test_sizes_without_elements():
    assert tandem.empty(2**62, 0, 4).stride() == (4, 4, 1)
    assert tandem.empty(4, 0, 2**40).numel() == 0


def test_unflatten_into_nothing():
    with pytest.raises(RuntimeError, match="non-empty"):
        tandem.ones(1).unflatten(0, ())


def test_dims_of_a_tensor_without_dims():
    for unique in (tandem.unique, tandem.unique_consecutive):
        with pytest.raises(IndexError):
            unique(tandem.tensor(3), dim=0)


def test_least_squares_of_other_shapes():
    solve = tandem.linalg.lstsq
    for a, b in (((1, 1, 1), (3, 1)), ((3, 3), (2, 3, 3)), ((2, 3, 3), (3,))):
        with pytest.raises(RuntimeError, match=r"torch\.linalg\.lstsq"):
            solve(tandem.ones(a), tandem.ones(b))
    eyes = tandem.eye(3).expand(2, 3, 3)
    assert solve(eyes, tandem.ones(2, 3)).solution.tolist() == [[1, 1, 1]] * 2
    assert solve(eyes, tandem.ones(2, 3, 1)).solution.shape == (2, 3, 1)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_the_inverse_by_a_singular_factor(batch, mode):
    from conftest import run_in

    factor = tandem.eye(3).expand(*batch, 3, 3).clone()
    assert tandem.equal(run_in(mode, lambda: tandem.cholesky_inverse(factor)), factor)
    factor[..., 1, 1] = 0
    with pytest.raises(tandem.linalg.LinAlgError, match="diagonal element 2 is zero"):
        run_in(mode, lambda: tandem.cholesky_inverse(factor))


# ---- results --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: tandem.linalg.multi_dot([v, v], out=tandem.empty(0, dtype=tandem.float64)),
        lambda: tandem.nonzero_static(v, size=3, out=tandem.empty(3, 1)),
        lambda: tandem.histogram(v, 1, out=(tandem.empty(0, dtype=tandem.float64), tandem.empty(0))),
        lambda: tandem.histogram(v, 1, out=(tandem.empty(0), tandem.empty(0, dtype=tandem.float64))),
    ],
)
def test_results_of_another_dtype(call):
    with pytest.raises(RuntimeError, match="dtype"):
        call()


@pytest.mark.parametrize(
    "data",
    [[1.0], 1.0, np.ones(2), tandem.ones(2, dtype=tandem.float64)],
    ids=["list", "number", "array", "tensor"],
)
def test_what_cannot_be_had_without_a_copy(data):
    with pytest.raises(ValueError, match="without a copy"):
        tandem.asarray(data, dtype=tandem.float32, copy=False)
    assert tandem.asarray(data, dtype=tandem.float32).dtype is tandem.float32


def test_a_buffer_ends_where_it_ends():
    b = bytearray(b"12345678")
    for options in ({"offset": 8}, {"offset": 9}, {"offset": -1}, {"offset": 4, "count": 5}, {"count": 2**62}):
        with pytest.raises(ValueError, match="frombuffer"):
            tandem.frombuffer(b, dtype=tandem.uint8, **options)
    for other in ([1, 2], 3, "abc", None, tandem.ones(2)):
        with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
            tandem.frombuffer(other, dtype=tandem.uint8)
    assert tandem.frombuffer(b, dtype=tandem.uint8, offset=7).tolist() == [ord("8")]


def test_settings_of_other_types():
    with pytest.raises(TypeError, match="must be bool, not int"):
        tandem.use_deterministic_algorithms(1)
    with pytest.raises(RuntimeError, match="positive"):
        tandem.set_num_interop_threads(0)


def test_numbers_of_numpy_and_devices_that_differ():
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        tandem.asarray(np.float64(2), copy=False)
    assert tandem.asarray(np.array(2.0), copy=False).item() == tandem.asarray(np.float64(2)).item() == 2
    with pytest.raises(RuntimeError, match="same device"):
        tandem.meshgrid(tandem.ones(2), tandem.ones(2, device="meta"), indexing="ij")
