"""Copies of views, memory with chosen strides, what says how memory lies, storages, and swapping objects."""

from __future__ import annotations

import math
import weakref

import pytest

import tandem
from tandem import nn


def rising(*shape):
    return tandem.arange(float(math.prod(shape))).reshape(shape)


# Each copy, and the view it is one of.
COPIES = {
    "alias": (tandem.alias_copy, lambda x: x),
    "as_strided": (lambda x, **o: tandem.as_strided_copy(x, (2, 2), (1, 4), 1, **o), None),
    "expand": (lambda x, **o: tandem.expand_copy(x, (2, 3, 4), **o), lambda x: x.expand(2, 3, 4)),
    "permute": (lambda x, **o: tandem.permute_copy(x, (1, 0), **o), lambda x: x.permute(1, 0)),
    "transpose": (lambda x, **o: tandem.transpose_copy(x, 0, 1, **o), lambda x: x.transpose(0, 1)),
    "t": (tandem.t_copy, lambda x: x.t()),
    "select": (lambda x, **o: tandem.select_copy(x, 1, -1, **o), lambda x: x[:, -1]),
    "slice": (lambda x, **o: tandem.slice_copy(x, 1, -3, None, 2, **o), lambda x: x[:, -3::2]),
    "squeeze": (lambda x, **o: tandem.squeeze_copy(x[:1], (0, 1), **o), lambda x: x[:1].squeeze((0, 1))),
    "unsqueeze": (lambda x, **o: tandem.unsqueeze_copy(x, 1, **o), lambda x: x.unsqueeze(1)),
    "unfold": (lambda x, **o: tandem.unfold_copy(x, 1, 2, 1, **o), lambda x: x.unfold(1, 2, 1)),
    "view": (lambda x, **o: tandem.view_copy(x, (2, -1), **o), lambda x: x.reshape(2, -1)),
    "diagonal": (lambda x, **o: tandem.diagonal_copy(x, 1, **o), lambda x: x.diagonal(1)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views(name):
    copy, view = COPIES[name]
    x = rising(3, 4).requires_grad_()
    made, expected = copy(x), x.as_strided((2, 2), (1, 4), 1) if view is None else view(x)
    assert made.equal(expected) and made.is_contiguous() and made.data_ptr() != x.data_ptr()
    weight = rising(*made.shape) + 1
    ours, theirs = (tandem.autograd.grad((y * weight).sum(), x)[0] for y in (made, expected))
    assert ours.equal(theirs)
    out = tandem.empty(0)
    assert copy(x.detach(), out=out) is out and out.equal(made)
    with pytest.raises(RuntimeError, match=r"out tensor to have dtype tandem\.float32, but got tandem\.float64|cast"):
        copy(x.detach(), out=tandem.empty(0, dtype=tandem.int64 if name == "alias" else tandem.float64))
    compiled = tandem.compile(lambda x: copy(x) + 1)
    assert compiled(x).equal(compiled(x)) and compiled(x).equal(made + 1)
    batch = tandem.stack([x.detach(), x.detach() + 1])
    if name != "as_strided":  # counts the elements of the whole storage
        assert tandem.vmap(copy)(batch).equal(tandem.stack([copy(b) for b in batch]))


def test_copies_in_pieces():
    x = rising(3, 4).requires_grad_()
    for copies, views in (
        (tandem.split_copy(x, 2), x.split(2)),
        (tandem.split_with_sizes_copy(x, [1, 3], 1), x.split([1, 3], 1)),
        (tandem.unbind_copy(x, 1), x.unbind(1)),
        (tandem.unsafe_split_with_sizes(x, [1, 2]), x.split([1, 2])),
        (x.unsafe_split_with_sizes([1, 2]), x.split([1, 2])),
    ):
        assert isinstance(copies, tuple) and len(copies) == len(views)
        assert all(a.equal(b) for a, b in zip(copies, views))
        (grad,) = tandem.autograd.grad(sum((c * c).sum() for c in copies), x)
        assert grad.equal(2 * x)
    outs = [tandem.empty(4) for _ in range(3)]
    assert tandem.unbind_copy(x.detach(), out=outs) is None and outs[1].equal(x[1])
    with pytest.raises(RuntimeError, match=r"split_copy\(\) expected an out= argument of size 2, got size 1"):
        tandem.split_copy(x.detach(), 2, out=[tandem.empty(0)])
    with pytest.raises(TypeError, match="'split_size' .position 2. must be int, not list"):
        tandem.split_copy(x, [1, 2])
    pieces = tandem.unsafe_split_with_sizes(x.detach().clone(), [1, 2])
    assert pieces[0].add_(1).equal(x[:1] + 1)  # these may be written


@pytest.mark.parametrize("dtype", [tandem.bool, tandem.int16, tandem.bfloat16, tandem.float32, tandem.int64], ids=str)
@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 9])
def test_copies_of_short_rows(size, dtype):
    """Rows of few elements: windows, repeated ones, dims that trade places, steps and reversed ones."""
    count = 6000
    x = (tandem.arange(count * size).reshape(4, count // 4, size) % 127).to(dtype)
    if dtype == tandem.bool:
        x = (tandem.arange(count * size).reshape(4, count // 4, size) // 3 % 2).bool()
    flat = x.reshape(-1)
    for view in (
        flat.unfold(0, size, 1)[: count + 1],
        flat.unfold(0, size, 3)[:1999],
        x[:, :, :1].expand(4, count // 4, size),
        x[:, ::2],
        x.transpose(0, 1)[1:],
        x.reshape(4, 30, -1, size).transpose(0, 2),
        x.reshape(4, size, 30, -1).permute(2, 0, 3, 1),
        x.reshape(2, size, 2, -1).permute(3, 0, 2, 1).flip(0),
    ):
        made = view.contiguous()
        assert made.is_contiguous() and made.tolist() == view.tolist()
        lines = tandem.zeros(*view.shape[:-1], 2 * size, dtype=dtype)
        lines[..., 1 : size + 1] = view  # rows apart in what is written, too
        assert lines[..., 1 : size + 1].equal(made) and not lines[..., size + 1 :].any()


def test_other_copies():
    x = rising(2, 2).requires_grad_()
    assert not tandem.detach_copy(x).requires_grad and tandem.detach_copy(x).equal(x)
    assert tandem.view_copy(tandem.ones(1), tandem.int32).item() == tandem.view_copy(tandem.ones(1), dtype=tandem.int32)
    with pytest.raises(TypeError, match="either a size or a dtype"):
        tandem.view_copy(x)
    with pytest.raises(RuntimeError, match="slice step must be positive"):
        tandem.slice_copy(x, 0, 0, 2, -1)
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 2"):
        tandem.slice_copy(x, 2)
    whole = rising(6)
    again = tandem.slice_inverse(whole[1:4], whole, 0, 1, 4)
    assert again.is_set_to(whole)
    with pytest.raises(RuntimeError, match=r"shape of the slice, \[3\], but got \[2\]"):
        tandem.slice_inverse(whole[:2], whole, 0, 1, 4)
    out = tandem.empty_like(whole)
    assert tandem.conj_physical(whole, out=out) is out and out.equal(whole)
    assert tandem.conj_physical(x) is x and x.detach().conj_physical_().equal(x)


def test_strides_of_empty_tensors():
    for make in (tandem.empty_strided, tandem.ones(1).new_empty_strided):
        x = make((2, 3), (1, 2))
        assert x.shape == (2, 3) and x.stride() == (1, 2) and x.untyped_storage().nbytes() == 24
        assert x.fill_(3).sum().item() == 18
        assert make((2, 0), (1, 2)).untyped_storage().nbytes() == 0 and make((), ()).shape == ()
        assert make((4,), (0,), dtype=tandem.int64).dtype is tandem.int64
        assert make((2,), (2,), requires_grad=True).is_leaf
        with pytest.raises(RuntimeError, match=r"sizes \(2\) must match dimensionality of strides \(1\)"):
            make((2, 3), (1,))
        with pytest.raises(RuntimeError, match=r"negative dimension -3: \[2, -3\]"):
            make((2, -3), (1, 1))
        with pytest.raises(RuntimeError, match="strides must not be negative"):
            make((2, 3), (1, -1))
    assert tandem.ones(1).double().new_empty_strided((2,), (1,)).dtype is tandem.float64
    x = tandem.empty_permuted((2, 3, 4), (0, 2, 1), dtype=tandem.float16)
    assert x.stride() == (12, 1, 3) and x.dtype is tandem.float16
    for layout, words in (
        ((0, 2), r"len\(size\) = 3 is not equal to len\(physical_layout\) = 2"),
        ((0, 2, 2), "Duplicate dim"),
        ((0, 2, -1), "between 0 and 2, but got -1 at index 2"),
    ):
        with pytest.raises(RuntimeError, match=words):
            tandem.empty_permuted((2, 3, 4), layout)

    @tandem.compile
    def f(x):
        return tandem.empty_strided((2, 3), (1, 2)).copy_(x).mul_(2)

    assert f(rising(2, 3)).equal(f(rising(2, 3))) and f(rising(2, 3)).equal(rising(2, 3) * 2)


def test_windows_that_are_the_same():
    x = rising(4)
    assert x.is_set_to(x) and x.is_set_to(x.view(4)) and x[1:].is_set_to(x[1:])
    for other in (x.view(2, 2), x.clone(), x[1:], x.view(tandem.int32)):
        assert not x.is_set_to(other)
    with pytest.raises(TypeError, match=r"is_set_to\(\): argument 'tensor' .position 1. must be Tensor, not int"):
        x.is_set_to(3)


def test_order_of_dims():
    assert rising(2, 3).dim_order() == (0, 1) and rising(2, 3).t().dim_order() == (1, 0)
    assert rising().dim_order() == () and rising(3).dim_order() == (0,)
    assert rising(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
    image = rising(2, 3, 4, 5).to(memory_format=tandem.channels_last)
    assert image.dim_order() == image.dim_order(ambiguity_check=True) == (0, 2, 3, 1)
    assert rising(2, 1, 3).expand(4, 2, 1, 3).dim_order() == (0, 1, 2, 3)
    formats = [tandem.contiguous_format, tandem.channels_last]
    assert rising(2, 2, 3, 1).dim_order(ambiguity_check=formats) == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        rising(2, 1, 3).dim_order(ambiguity_check=True)
    with pytest.raises(RuntimeError, match=r"does not have unique dim order\.$"):
        rising(4).expand(3, 4).dim_order(ambiguity_check=True)
    assert rising(4).expand(3, 4).dim_order() == (0, 1)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        rising(2).dim_order(ambiguity_check="error")


def test_map2():
    x = tandem.ones(2, 2)
    assert x.map2_(tandem.tensor([1.0, 2.0]), tandem.tensor(3.0), lambda a, b, c: a + b * c) is x
    assert x.tolist() == [[4, 7], [4, 7]]
    with pytest.raises(TypeError, match=r"expected tandem\.float32 for argument 'y' \(got tandem\.int64\)"):
        x.map2_(x, tandem.ones(2, dtype=tandem.int64), max)
    with pytest.raises(RuntimeError, match=r"Can't call map2_\(\) on Variable that requires grad"):
        tandem.ones(2, requires_grad=True).map2_(x, x, max)


def test_writes_to_a_view_that_is_a_leaf():
    for write in (
        lambda x: x.add_(1),
        lambda x: nn.functional.selu(x, inplace=True),
        lambda x: x.copy_(x.detach()),
        lambda x: x.__setitem__(0, 1),
        lambda x: x[:, 1].zero_(),
    ):
        x = rising(2, 2).requires_grad_()
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            write(x)
        with tandem.no_grad():
            write(x)
        assert x.is_leaf and x.requires_grad


def test_storages():
    x = rising(3)
    s = x.storage()
    assert list(s) == s.clone().tolist() == s.cpu().tolist() == [0, 1, 2] and s.cpu() is s
    assert s.double().dtype is tandem.float64 and s.int().tolist() == [0, 1, 2] and s.float() is s
    assert (
        s.device == tandem.device("cpu") and not s.is_cuda and not s.is_shared() and s.type() == "tandem.FloatStorage"
    )
    s[1] = 7
    assert s[1] == 7 and s[1:] == [7, 2] and x.tolist() == [0, 7, 2]
    assert s.copy_(tandem.ones(3).storage()) is s and x.sum() == 3 and s.fill_(2.0).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="expected a storage of size 3, but got one of 2"):
        s.copy_(tandem.ones(2).storage())
    u = tandem.arange(2).untyped_storage()
    assert list(u) == [0] * 8 + [1] + [0] * 7 and u.clone().tolist() == list(u) and s.untyped().nbytes() == 12
    assert tandem.UntypedStorage([1, 2]).tolist() == [1, 2] and tandem.TypedStorage([1.5]).dtype is tandem.float32
    assert tandem.zeros(0, dtype=tandem.int16).set_(tandem.UntypedStorage([1, 0, 2]), 0, (1,)).tolist() == [1]
    assert tandem.is_storage(s) and not tandem.is_storage(x)


def test_storages_of_files(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(16)))
    s = tandem.UntypedStorage.from_file(str(path), nbytes=12)
    part = s[4:8]
    assert isinstance(part, tandem.UntypedStorage) and part.nbytes() == 4 and list(part) == [4, 5, 6, 7]
    x = tandem.asarray(part, dtype=tandem.uint8)
    assert x.view(tandem.int32).item() == int.from_bytes(bytes([4, 5, 6, 7]), "little")
    x[0] = 9
    assert s[4] == 9 and path.read_bytes()[4] == 4  # what is not shared stays here
    shared = tandem.from_file(path, shared=True, size=3, dtype=tandem.int64)
    shared.fill_(-1)
    assert path.read_bytes() == b"\xff" * 24 and shared.dtype is tandem.int64
    assert tandem.from_file(path, size=0).shape == (0,) and s[8:2].nbytes() == 0
    with pytest.raises(RuntimeError, match="has 24 bytes, of which 32 are asked for"):
        tandem.from_file(path, size=4, dtype=tandem.int64)
    with pytest.raises(RuntimeError, match="slice with a step of 2, but only a step of 1"):
        s[::2]
    with pytest.raises(RuntimeError, match="memory of the CPU, not of meta"):
        tandem.from_file(path, size=1, device="meta")


def test_views_and_inference_tensors_say_what_they_are():
    x = tandem.ones(3)
    assert x[1:]._is_view() and tandem.equal(x[1:]._base, x) and not x._is_view() and not x.clone()._is_view()
    with tandem.inference_mode():
        y = rising(2)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = y._version


def test_asarray_with_and_without_a_gradient():
    w = rising(2).requires_grad_()
    assert tandem.asarray(w) is w
    plain = tandem.asarray(w, requires_grad=False)
    assert not plain.requires_grad and plain.data_ptr() == w.data_ptr() and w.requires_grad
    assert tandem.asarray(plain, requires_grad=True).is_leaf and tandem.asarray(plain) is plain


def test_swapped_tensors():
    p, t = nn.Parameter(rising(2)), tandem.arange(3)
    p.tag = "p"
    y = p * 2
    tandem.utils.swap_tensors(p, t)
    assert p.tolist() == [0, 1, 2] and type(p) is tandem.Tensor and not hasattr(p, "tag")
    assert t.tolist() == [0, 1] and type(t) is nn.Parameter and t.tag == "p" and t.requires_grad
    y.sum().backward()
    assert t.grad.tolist() == [2, 2] and (t * 2).requires_grad
    tandem.utils.swap_tensors(t, t)
    kept = weakref.ref(t)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        tandem.utils.swap_tensors(p, t)
    assert kept() is t
    with pytest.raises(TypeError, match="expected a Tensor, not int"):
        tandem.utils.swap_tensors(p, 3)

    class Slotted(tandem.Tensor):
        __slots__ = ("extra",)

    with pytest.raises(RuntimeError, match="different slots"):
        tandem.utils.swap_tensors(p, tandem.ones(2).as_subclass(Slotted))
