"""The tensor object: making it, its attributes, conversion to and from Python and NumPy, copies, identity, lifetime."""

import contextlib
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import tandem

DTYPES = {
    tandem.bool: np.bool_,
    tandem.uint8: np.uint8,
    tandem.int8: np.int8,
    tandem.int16: np.int16,
    tandem.int32: np.int32,
    tandem.int64: np.int64,
    tandem.float16: np.float16,
    tandem.float32: np.float32,
    tandem.float64: np.float64,
}


# ---- making ----


@pytest.mark.parametrize(
    "data, dtype, shape",
    [
        (1, tandem.int64, ()),
        (1.5, tandem.float32, ()),
        (True, tandem.bool, ()),
        ([], tandem.float32, (0,)),
        ([[]], tandem.float32, (1, 0)),
        ([1, 2], tandem.int64, (2,)),
        ([1, 2.5], tandem.float32, (2,)),
        ([True, 2], tandem.int64, (2,)),
        ([[1.0], (2.0,)], tandem.float32, (2, 1)),
        (np.float64(1), tandem.float64, ()),
        ([np.float64(1)], tandem.float64, (1,)),
        (np.ones((2, 3), np.int16), tandem.int16, (2, 3)),
        (range(4), tandem.int64, (4,)),
        ([np.arange(2), np.arange(2)], tandem.int64, (2, 2)),
    ],
)
def test_tensor_infers_shape_and_dtype(data, dtype, shape):
    t = tandem.tensor(data)
    assert t.dtype is dtype
    assert t.shape == shape
    np.testing.assert_array_equal(t.numpy(), np.array(data))


@pytest.mark.parametrize("dtype", [*DTYPES, tandem.bfloat16])
def test_tensor_of_a_given_dtype(dtype):
    t = tandem.tensor([[0, 1], [2, 100]], dtype=dtype)
    assert t.dtype is dtype
    assert t.tolist() == [[0, 1], [2, 100]] if dtype is not tandem.bool else [[False, True], [True, True]]


def test_integers_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="cannot be converted to uint8 without overflow"):
        tandem.tensor([300], dtype=tandem.uint8)
    with pytest.raises(ValueError, match="Overflow"):
        tandem.tensor(2**64)


def test_bfloat16_rounds_to_nearest_even():
    values = [1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.4e38, float("inf")]
    assert tandem.tensor(values, dtype=tandem.bfloat16).tolist() == [
        1.0,
        1 + 2**-6,
        1 + 2**-7,
        float("inf"),
        float("inf"),
    ]


def test_tensor_copies_and_as_tensor_shares():
    a = np.zeros(3, np.float32)
    copied, shared = tandem.tensor(a), tandem.as_tensor(a)
    a[0] = 1
    assert copied.tolist() == [0, 0, 0]
    assert shared.tolist() == [1, 0, 0]
    assert tandem.as_tensor(shared) is shared


def test_default_dtype():
    tandem.set_default_dtype(tandem.float64)
    try:
        assert tandem.tensor(1.0).dtype is tandem.float64
        assert tandem.Tensor(2).dtype is tandem.float64
    finally:
        tandem.set_default_dtype(tandem.float32)


def test_old_constructor():
    assert tandem.Tensor().shape == (0,)
    assert tandem.Tensor(2, 3).shape == (2, 3)
    assert tandem.Tensor([2, 3]).tolist() == [2.0, 3.0]


# ---- attributes ----


def test_sizes_strides_and_bytes():
    t = tandem.zeros(2, 3, 4).transpose(0, 2)
    assert (t.shape, t.size(), t.size(0), t.size(-1)) == ((4, 3, 2), (4, 3, 2), 4, 2)
    assert (t.stride(), t.stride(0), t.stride(-1)) == ((1, 4, 12), 1, 12)
    assert (t.dim(), t.ndim, t.numel(), t.itemsize, t.nbytes, len(t)) == (3, 3, 24, 4, 96, 4)
    assert not t.is_contiguous() and t.contiguous().is_contiguous()
    assert t[1].storage_offset() == 1
    assert t.data_ptr() + 4 == t[1].data_ptr()


def test_size_is_a_tuple():
    s = tandem.zeros(2, 3).shape
    assert repr(s) == "tandem.Size([2, 3])"
    assert isinstance(s, tuple) and s.numel() == 6 and hash(s) == hash((2, 3))
    assert isinstance(s[1:], tandem.Size) and isinstance(s + (4,), tandem.Size) and s[0] == 2
    assert pickle.loads(pickle.dumps(s)) == s
    for made in (s * 2, 2 * s, s * 1, s * 0):
        assert type(made) is tandem.Size and made == (2, 3) * (len(made) // 2)


def test_sizes_hold_ints_alone():
    class Three:
        def __index__(self):
            return 3

    for value in (tandem.tensor(3), Three(), np.int32(3)):
        made = (tandem.Size((value, True)), tandem.Size((2,)) + (value,), (value,) + tandem.Size((2,)))
        assert made == ((3, 1), (2, 3), (3, 2))
        assert all(type(s) is tandem.Size and all(type(n) is int for n in s) for s in made)
    for wrong in (tandem.tensor(3.0), 3.0, "3"):
        for make in (lambda v: tandem.Size((v,)), lambda v: tandem.Size(()) + (v,), lambda v: (v,) + tandem.Size(())):
            with pytest.raises(TypeError, match=r"Size\(\) takes an iterable of 'int' \(item 0 is '"):
                make(wrong)
    with pytest.raises(TypeError):
        tandem.Size((2,)) + [3]


def test_dtype_objects():
    assert repr(tandem.float32) == str(tandem.float32) == "tandem.float32"
    assert tandem.float is tandem.float32 and tandem.long is tandem.int64 and tandem.half is tandem.float16
    assert tandem.float16.is_floating_point and not tandem.int8.is_floating_point
    assert (tandem.bfloat16.itemsize, tandem.uint8.is_signed) == (2, False)
    assert pickle.loads(pickle.dumps(tandem.int16)) is tandem.int16
    assert copy.deepcopy(tandem.int16) is tandem.int16


def test_device_objects():
    assert repr(tandem.zeros(1).device) == "device(type='cpu')"
    assert tandem.device("cpu") == tandem.zeros(1).device != tandem.device("cuda:1")
    assert (tandem.device("cuda:1").index, str(tandem.device("cuda:1"))) == (1, "cuda:1")
    assert tandem.zeros(1, device="cpu").to("cpu").cpu().shape == (1,)


def test_limits():
    for dtype in (tandem.float16, tandem.float32, tandem.float64):
        ours, theirs = tandem.finfo(dtype), np.finfo(DTYPES[dtype])
        assert (ours.eps, ours.max, ours.min, ours.tiny, ours.bits) == (
            float(theirs.eps), float(theirs.max), float(theirs.min), float(theirs.tiny), theirs.bits)  # fmt: skip
    for dtype in (tandem.uint8, tandem.int8, tandem.int16, tandem.int32, tandem.int64):
        assert (tandem.iinfo(dtype).min, tandem.iinfo(dtype).max) == (
            np.iinfo(DTYPES[dtype]).min, np.iinfo(DTYPES[dtype]).max)  # fmt: skip
    assert repr(tandem.iinfo(tandem.int8)) == "iinfo(min=-128, max=127, dtype=int8)"


@pytest.mark.parametrize("a", [*DTYPES, tandem.bfloat16])
@pytest.mark.parametrize("b", list(DTYPES))
def test_promotion(a, b):
    promoted = tandem.promote_types(a, b)
    assert promoted is tandem.promote_types(b, a)
    if a in DTYPES:
        theirs = np.promote_types(DTYPES[a], DTYPES[b])
        # Integers never widen a floating-point type.
        if not (a.is_floating_point != b.is_floating_point):
            assert DTYPES[promoted] == theirs
        else:
            assert promoted is (a if a.is_floating_point else b)


# ---- to and from Python ----


def test_numbers():
    t = tandem.tensor([2.5])
    assert (t.item(), float(t), int(t), bool(t)) == (2.5, 2.5, 2, True)
    assert [10, 20, 30][tandem.tensor(1)] == 20
    assert tandem.tensor(True).item() is True
    assert f"{tandem.tensor(1.5):.3f}" == "1.500"


def test_tolist():
    assert tandem.arange(6).reshape(2, 3).t().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tandem.tensor(1.0).tolist() == 1.0
    assert tandem.zeros(2, 0).tolist() == [[], []]


def test_iteration_and_membership():
    t = tandem.arange(4).reshape(2, 2)
    assert [row.tolist() for row in t] == [[0, 1], [2, 3]]
    a, b = t
    assert b.tolist() == [2, 3]
    assert 3 in t and 5 not in t


def test_unusual_numbers_as_operands():
    t = tandem.ones(2)
    assert (t * np.float64(2)).dtype is tandem.float32
    assert (np.float64(2) * t).tolist() == [2.0, 2.0]
    assert isinstance(np.float32(2) + t, tandem.Tensor)
    assert (t + True).tolist() == [2.0, 2.0]
    assert t.__add__("x") is NotImplemented


# ---- NumPy ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_memory_both_ways(dtype):
    a = np.arange(6).reshape(2, 3).astype(DTYPES[dtype])
    t = tandem.from_numpy(a)
    assert t.dtype is dtype and t.data_ptr() == a.ctypes.data
    back = t.numpy()
    assert back.dtype == a.dtype and back.ctypes.data == a.ctypes.data
    a[0, 0] = 1
    assert t[0, 0].item() == back[0, 0] == 1


def test_numpy_strides():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert tandem.from_numpy(a[1::2, ::3]).tolist() == a[1::2, ::3].tolist()
    assert tandem.from_numpy(a.T).stride() == (1, 6)
    t = tandem.from_numpy(a)
    np.testing.assert_array_equal(t.t()[1:].numpy(), a.T[1:])
    np.testing.assert_array_equal(t[:1].expand(3, 6).numpy(), np.repeat(a[:1], 3, 0))


def test_numpy_edges():
    assert tandem.from_numpy(np.array(3.0)).item() == 3.0
    assert tandem.zeros(2, 0).numpy().shape == (2, 0)
    assert tandem.from_numpy(np.zeros((0, 3))).shape == (0, 3)
    assert np.asarray(tandem.ones(2)).tolist() == [1.0, 1.0]
    assert np.asarray(tandem.ones(2), dtype=np.int8).dtype == np.int8
    array = tandem.arange(5).numpy()
    gc.collect()
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_numpy_keeps_its_memory_alive():
    t = tandem.from_numpy(np.full(1000, 7.0))
    gc.collect()
    assert t[999].item() == 7.0


def test_read_only_arrays_warn():
    a = np.ones(2)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable, and no tensor is non-writable"):
        tandem.from_numpy(a)
    with pytest.warns(UserWarning, match="The given buffer is not writable, and no tensor is non-writable"):
        tandem.frombuffer(b"ab", dtype=tandem.uint8)


def test_dlpack():
    t = tandem.arange(3)
    assert np.from_dlpack(t).tolist() == [0, 1, 2]
    assert tandem.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]


# ---- identity, copies, pickles, lifetime ----


def test_one_object_for_one_tensor():
    x = tandem.ones(2, requires_grad=True)
    x.grad = tandem.ones(2)
    assert x.grad is x.grad
    assert len({x, x.detach(), x}) == 2
    assert hash(x) == hash(x)


def test_attributes_and_weak_references():
    t = tandem.ones(1)
    t.note = "kept"
    assert t.note == "kept"
    alive = weakref.ref(t)
    assert alive() is t
    del t
    assert alive() is None


def test_cycles_are_collected():
    t = tandem.ones(1)
    t.me = t
    alive = weakref.ref(t)
    del t
    gc.collect()
    assert alive() is None


def test_subclasses():
    class Mine(tandem.Tensor):
        def twice(self):
            return self * 2

    m = tandem.Tensor._make_subclass(Mine, tandem.ones(2), True)
    assert type(m) is Mine and m.requires_grad and m.is_leaf
    assert type(m.twice()) is Mine
    assert type(tandem.ones(1).as_subclass(Mine)) is Mine


def test_copy_and_deepcopy():
    t = tandem.ones(2, requires_grad=True)
    t.extra = [1]
    shallow, deep = copy.copy(t), copy.deepcopy(t)
    assert shallow.data_ptr() == t.data_ptr() and deep.data_ptr() != t.data_ptr()
    assert deep.requires_grad and deep.extra == [1] and deep.extra is not t.extra
    twice = copy.deepcopy([t, t])
    assert twice[0] is twice[1]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(t * 2)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("order", [1, -1])
def test_deepcopy_of_tensors_that_share_memory(lazy, order):
    x = tandem.arange(6.0)
    shared = [x, x[2:4], x.view(2, 3).t(), x.view(2, 3)[:, 1], x[:2].expand(3, 2), x[6:], x[1:].detach()][::order]
    with tandem.lazy() if lazy else contextlib.nullcontext():
        copies = copy.deepcopy({"all": shared, "again": shared[0]})["all"]
        copies[::order][1][0] = 99.0
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert copies[::order][0].tolist() == [0, 1, 99, 3, 4, 5]
    for mine, theirs in zip(copies, shared, strict=True):
        assert (mine.stride(), mine.storage_offset()) == (theirs.stride(), theirs.storage_offset())
        assert mine._base is None
        assert mine.reshape(-1).tolist() == [99.0 if v == 2 else v for v in theirs.reshape(-1).tolist()]


def test_deepcopy_of_a_module_whose_buffers_share_memory():
    net = tandem.nn.Module()
    net.register_buffer("all", tandem.zeros(4))
    net.register_buffer("part", net.all[1:3])
    twin = copy.deepcopy(net)
    twin.part.fill_(7)
    assert twin.all.tolist() == [0, 7, 7, 0] and not net.all.any()


@pytest.mark.parametrize("dtype", [*DTYPES, tandem.bfloat16])
def test_pickle(dtype):
    t = tandem.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    back = pickle.loads(pickle.dumps(t))
    assert back.dtype is dtype and back.shape == (2, 3) and back.tolist() == t.tolist()


def test_pickle_keeps_class_and_gradient_request():
    p = tandem.nn.Parameter(tandem.ones(2))
    back = pickle.loads(pickle.dumps(p))
    assert type(back) is tandem.nn.Parameter and back.requires_grad
    empty = pickle.loads(pickle.dumps(tandem.zeros(0, 3)))
    assert empty.shape == (0, 3)


# ---- conversion ----


def test_to():
    t = tandem.ones(2)
    assert t.to(tandem.float32) is t and t.to("cpu") is t and t.cpu() is t
    assert t.to(tandem.float64).dtype is t.double().dtype is tandem.float64
    assert t.to("cpu", tandem.int32).dtype is t.int().dtype is tandem.int32
    assert t.to(tandem.zeros(1, dtype=tandem.bool)).dtype is t.bool().dtype is tandem.bool
    assert t.to(tandem.float32, copy=True) is not t
    assert t.to(dtype=tandem.half).dtype is tandem.float16
    assert t.type() == "tandem.FloatTensor" and t.type(tandem.int64).type() == "tandem.LongTensor"
    assert t.type("torch.DoubleTensor").dtype is tandem.float64
    assert t.type_as(tandem.zeros(1, dtype=tandem.int8)).dtype is tandem.int8


def test_new_tensors_of_the_same_dtype():
    t = tandem.ones(1, dtype=tandem.float64)
    for made in (t.new_zeros(2, 3), t.new_ones((2, 3)), t.new_empty([2, 3]), t.new_full((2, 3), 7)):
        assert made.dtype is tandem.float64 and made.shape == (2, 3)
    assert t.new_full((2,), 7).tolist() == [7.0, 7.0]
    assert t.new_tensor([1, 2]).dtype is tandem.float64
    assert t.new_zeros(2, dtype=tandem.int8, requires_grad=False).dtype is tandem.int8


# ---- writes ----


def test_fill_copy_zero():
    t = tandem.empty(2, 2)
    assert t.fill_(3) is t and t.tolist() == [[3, 3], [3, 3]]
    assert t.copy_(tandem.tensor([1, 2])).tolist() == [[1, 2], [1, 2]]
    assert t.zero_().tolist() == [[0, 0], [0, 0]]
    before = t._version
    t.add_(1)
    assert t._version == before + 1


def test_random_in_place():
    t = tandem.empty(1000)
    t.uniform_(-2, 3)
    assert -2 <= t.amin().item() < -1.9 and 2.9 < t.amax().item() < 3
    t.normal_(5, 0.1)
    assert abs(t.mean().item() - 5) < 0.02
    t.random_(10)
    assert sorted(set(t.tolist())) == list(range(10))
    t.bernoulli_(0.25)
    assert 0.2 < t.mean().item() < 0.3


def test_generators():
    g = tandem.Generator().manual_seed(3)
    a = tandem.rand(4, generator=g)
    tandem.rand(4)
    state = g.get_state()
    b = tandem.rand(4, generator=g)
    assert not tandem.equal(a, b)
    g.set_state(state)
    assert tandem.equal(tandem.rand(4, generator=g), b)
    assert g.initial_seed() == 3 and tandem.manual_seed(7).initial_seed() == tandem.initial_seed() == 7
    with tandem.random.fork_rng():
        c = tandem.rand(2)
    assert tandem.equal(tandem.rand(2), c)


# ---- the rest ----


def test_threads_counters_cuda():
    tandem.set_num_threads(1)
    assert tandem.get_num_threads() == 1
    assert tandem.counters()["kernel_launches"] >= 0
    assert not tandem.cuda.is_available() and tandem.cuda.device_count() == 0
    assert tandem.is_tensor(tandem.ones(1)) and not tandem.is_tensor(1) and tandem.numel(tandem.ones(2, 3)) == 6


REPRS = [
    (lambda: tandem.tensor([1.5, 2.25]), "tensor([1.5000, 2.2500])"),
    (lambda: tandem.tensor(3), "tensor(3)"),
    (lambda: tandem.tensor([True]), "tensor([True])"),
    (lambda: tandem.tensor([1.0, float("nan"), float("inf")]), "tensor([1., nan, inf])"),
    (lambda: tandem.tensor([100000.0, 1.0]), "tensor([1.0000e+05, 1.0000e+00])"),
    (lambda: tandem.tensor([0.00001]), "tensor([1.0000e-05])"),
    (lambda: tandem.ones(2, dtype=tandem.float16), "tensor([1., 1.], dtype=tandem.float16)"),
    (lambda: tandem.zeros(2, 0, 3), "tensor([], size=(2, 0, 3))"),
    (lambda: tandem.zeros(0, dtype=tandem.int64), "tensor([], dtype=tandem.int64)"),
    (lambda: tandem.ones(2, requires_grad=True), "tensor([1., 1.], requires_grad=True)"),
    (lambda: tandem.ones(2, requires_grad=True) * 2, "tensor([2., 2.], grad_fn=<MulBackward0>)"),
    (lambda: tandem.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (
        lambda: tandem.arange(24.0).reshape(2, 3, 4),
        "tensor([[[ 0.,  1.,  2.,  3.],\n         [ 4.,  5.,  6.,  7.],\n         [ 8.,  9., 10., 11.]],\n\n"
        "        [[12., 13., 14., 15.],\n         [16., 17., 18., 19.],\n         [20., 21., 22., 23.]]])",
    ),
]


@pytest.mark.parametrize("make, text", REPRS, ids=range(len(REPRS)))
def test_repr(make, text):
    assert repr(make()) == text


def test_repr_breaks_before_a_suffix():
    # Two characters of a line are kept free, as PyTorch does.
    row = tandem.full((11,), 3.0).requires_grad_()
    assert repr(row) == "tensor([" + ", ".join(["3."] * 11) + "], requires_grad=True)"
    longer = tandem.full((13,), 3.0).requires_grad_()
    assert repr(longer) == "tensor([" + ", ".join(["3."] * 13) + "],\n       requires_grad=True)"
    wide = tandem.full((13,), 10, dtype=tandem.int16)
    assert repr(wide) == "tensor([" + ", ".join(["10"] * 13) + "],\n       dtype=tandem.int16)"


def test_repr_of_many_rows():
    lines = repr(tandem.arange(2000.0).reshape(40, 50)).splitlines()
    assert lines[0] == "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 4.7000e+01, 4.8000e+01,"
    assert lines[1] == "         4.9000e+01],"
    assert lines[6] == "        ...,"
    assert lines[-1].endswith("1.9990e+03]])")


def test_numbers_are_filled_in_the_dtype_of_the_tensor():
    x = tandem.zeros(3, dtype=tandem.float64)
    x.fill_(0.1)
    x[1] = 0.2
    assert x.tolist() == [0.1, 0.2, 0.1]
    assert tandem.zeros(2, dtype=tandem.int64).fill_(2**53 + 1).tolist() == [2**53 + 1] * 2


def test_frombuffer_is_a_leaf_that_may_require_a_gradient():
    memory = bytearray(8)
    x = tandem.frombuffer(memory, dtype=tandem.float32, requires_grad=True)
    assert x.is_leaf and x.requires_grad and not tandem.frombuffer(memory, dtype=tandem.float32).requires_grad
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        tandem.frombuffer(memory, dtype=tandem.int32, requires_grad=True)


@pytest.mark.parametrize("dim", [0, -1, 1])
@pytest.mark.parametrize("method", ["size", "stride"])
def test_tensors_without_dims_have_no_sizes(method, dim):
    with pytest.raises(IndexError, match=f"Dimension specified as {dim} but tensor has no dimensions"):
        getattr(tandem.tensor(1.0), method)(dim)
    assert getattr(tandem.tensor(1.0), method)() == ()
