"""Calls that are valid in PyTorch: empty batches, scalars, `out=`, numbers of other kinds, views of memory, pruning."""

from __future__ import annotations

import contextlib
import itertools
import zlib
from inspect import signature
from types import FunctionType

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn
from tandem.nn import functional as F
from tandem.nn.utils import prune

# ---- functions of functions -----------------------------------------------------------------------------------------


def test_vmap_of_named_results():
    x = tandem.randn(3, 4)
    top = tandem.vmap(lambda v: v.max(0))(x)
    assert type(top) is type(x.max(1)) and top.values.tolist() == x.max(1).values.tolist()
    assert tandem.vmap(lambda v: v.sort())(x).indices.tolist() == x.sort(1).indices.tolist()


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian", "jacobian"])
def test_derivatives_of_scalars(name):
    x = tandem.tensor(1.0, dtype=tandem.float64)
    if name == "jacobian":
        y = tandem.autograd.functional.jacobian(tandem.sin, x)
    else:
        y = getattr(tandem.func, name)(tandem.sin)(x)
    assert y.shape == () and y.item() == pytest.approx(-np.sin(1) if name == "hessian" else np.cos(1))


# ---- empty batches --------------------------------------------------------------------------------------------------

EMPTY = {
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2), [(3, 0, 4)] * 3, (3, 0, 4)),
    "MultiheadAttention, batch first": (
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        [(0, 3, 4)] * 3,
        (0, 3, 4),
    ),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), [(3, 0, 4)], (3, 0, 4)),
    "Transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8), [(3, 0, 4), (2, 0, 4)], (2, 0, 4)),
    **{
        kind: (lambda kind=kind: getattr(nn, kind)(2, 3, num_layers=2, bidirectional=True), [(4, 0, 2)], (4, 0, 6))
        for kind in ("RNN", "LSTM", "GRU")
    },
    **{
        f"{kind}Cell": (lambda kind=kind: getattr(nn, f"{kind}Cell")(2, 3), [(0, 2)], (0, 3))
        for kind in ("RNN", "LSTM", "GRU")
    },
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_batches(name, mode):
    make, shapes, result = EMPTY[name]
    module = make()
    inputs = [tandem.zeros(shape, requires_grad=True) for shape in shapes]
    out = run_in(mode, module, *inputs)
    out = out[0] if isinstance(out, tuple) else out
    assert out.shape == result
    out.sum().backward()
    assert inputs[0].grad.shape == inputs[0].shape


# ---- values and outputs ---------------------------------------------------------------------------------------------


def test_numbers_written_into_masks(mode):
    mask = tandem.tensor([True, False, True])

    def write(value):
        x = tandem.zeros(3, dtype=tandem.bool)
        x[mask] = value
        return x

    for value in (1, 0.5, True, tandem.tensor(1)):
        assert run_in(mode, write, value).tolist() == [True, False, True]
    assert run_in(mode, write, 0).tolist() == [False] * 3


FACTORIES = {
    "eye": (2, 3),
    "linspace": (0, 1, 4),
    "logspace": (0, 2, 3),
    "range": (0, 3),
    "rand": ((2, 3),),
    "randn": ((2, 3),),
    "randint": (3, (2, 3)),
    "randperm": (5,),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_fill_what_is_given_as_out(name):
    function, args = getattr(tandem, name), FACTORIES[name]
    tandem.manual_seed(0)
    expected = function(*args)
    out = tandem.empty(0, dtype=expected.dtype)
    tandem.manual_seed(0)
    assert function(*args, out=out) is out
    assert_same_bits(out, expected)


def test_nonzero_and_lists_give_what_they_wrote():
    out = tandem.empty(0, dtype=tandem.int64)
    x = tandem.tensor([[0, 1], [2, 0]])
    assert tandem.nonzero(x, out=out) is out and out.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(RuntimeError, match="nonzero does not support the out kwarg when as_tuple is True"):
        tandem.nonzero(x, as_tuple=True, out=out)
    tensors = [tandem.ones(2), tandem.ones(1)]
    for function, args in (
        (tandem._foreach_add_, (1,)),
        (tandem._foreach_zero_, ()),
        (tandem._foreach_copy_, ([tandem.ones(2), tandem.ones(1)],)),
        (tandem._foreach_maximum_, ([tandem.full((2,), 3.0), tandem.ones(1)],)),
    ):
        assert function(tensors, *args) is tensors
    assert tensors[0].tolist() == [3, 3] and tensors[1].tolist() == [1]


def test_integers_may_be_tensors(mode):
    x = tandem.arange(6).reshape(2, 3)
    assert run_in(mode, lambda x, n: x.narrow(1, 1, n), x, tandem.tensor(2)).tolist() == [[1, 2], [4, 5]]
    assert tandem.narrow(x, 1, tandem.tensor(0), tandem.tensor(2)).tolist() == [[0, 1], [3, 4]]
    assert x.select(tandem.tensor(1), 0).tolist() == [0, 3]
    for bad in (tandem.tensor(1.0), tandem.tensor([1]), tandem.tensor(True)):
        with pytest.raises(TypeError):
            x.select(bad, 0)


def test_numpy_where_no_gradients_are_recorded():
    x = tandem.ones(2, requires_grad=True)
    with tandem.no_grad():
        assert x.numpy().tolist() == [1, 1] and np.asarray(x * 2).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()


class Exporting:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_memory_of_others_is_shared():
    array = np.arange(3.0)
    for shared in (
        tandem.asarray(Exporting(array)),
        tandem.as_tensor(array.__dlpack__()),
        tandem.from_dlpack(array.__dlpack__()),
    ):
        shared[0] += 1
        assert shared.dtype is tandem.float64 and shared.tolist() == array.tolist()
    assert array[0] == 3 and tandem.asarray(Exporting(array), dtype=tandem.float32).dtype is tandem.float32


# Checksums of PyTorch's results, for (height, width, mode): with antialias off and on and, within, align_corners off
# and on, each in four sizes, by factors, and with more than four channels.
BYTES = {
    (5, 7, "bilinear"): [
        [3435224552, 3224860123, 3647928292, 2668800200, 384929914, 943355935],
        [2188143483, 4239642787, 8400336, 2668800200, 2812773646, 948169945],
        [3435224552, 1763331706, 3647928292, 2668800200, 2752642429, 943355935],
        [3019789090, 2517658402, 3830979105, 2668800200, 1488676706, 1340077825],
    ],
    (5, 7, "bicubic"): [
        [1153546808, 3898358884, 2324017832, 2668800200, 4277752040, 3923738424],
        [1003790836, 4239642787, 2111169811, 2668800200, 4262647935, 1008901294],
        [63099777, 3252148721, 2709684329, 2668800200, 614568088, 257956790],
        [3367929166, 1287551774, 3891529388, 2668800200, 2739749446, 2695025314],
    ],
    (16, 9, "bilinear"): [
        [592501762, 1491088291, 865616579, 3373380268, 1365277922, 1624556281],
        [3096413319, 3785124824, 3610462533, 182568417, 397104358, 2209141403],
        [2664497396, 2647883350, 865616579, 2786535231, 609864699, 1002097223],
        [983486834, 3699106902, 3324179241, 3248649320, 4079776418, 2779693171],
    ],
    (16, 9, "bicubic"): [
        [2248994341, 990434402, 1906115346, 1340445469, 3441968366, 3461677872],
        [1206725438, 1642961107, 2281071678, 4155048068, 1466708562, 2612086755],
        [3817887993, 1587777790, 1308080966, 3972169308, 1798584011, 2499409888],
        [198054394, 4136853011, 2925781503, 1922281547, 4069786169, 1918211052],
    ],
    (33, 20, "bilinear"): [
        [2082053824, 2686329678, 3622210388, 534623626, 1593808898, 4104354725],
        [1691069069, 194144446, 3762067419, 3668765869, 1768068711, 1717487269],
        [3508735252, 3198484461, 3622210388, 2133549771, 336989846, 3837650041],
        [3850645751, 2251221994, 3814212093, 1756863232, 2915961938, 3176526023],
    ],
    (33, 20, "bicubic"): [
        [4272362797, 2686329678, 405883599, 3318324046, 1190829800, 3557726559],
        [307443026, 2398190974, 241674545, 1755450076, 1535530104, 3358022150],
        [248979600, 2941460390, 4077858558, 2838645718, 3726765581, 1291652296],
        [1595776788, 1227367209, 4245010537, 1559360876, 2963230043, 3551669946],
    ],
}


def image(n, c, h, w):
    i = tandem.arange(n * c * h * w)
    return ((i * 37 + i // 7 * 11) % 256).to(tandem.uint8).reshape(n, c, h, w)


@pytest.mark.parametrize("case", BYTES, ids=str)
def test_images_of_bytes_are_resampled(case):
    """To the bit as in PyTorch."""
    h, w, mode = case
    got = []
    for antialias, corners in itertools.product((False, True), (False, True)):
        kinds = [(image(2, 3, h, w), {"size": size}) for size in ((10, 9), (3, 4), (40, 41), (5, 7))]
        kinds += [(image(2, 3, h, w), {"scale_factor": (1.3, 0.7)}), (image(1, 6, h, w), {"size": (9, 8)})]
        sums = []
        for x, size in kinds:
            y = F.interpolate(x, mode=mode, antialias=antialias, align_corners=corners, **size)
            assert y.dtype is tandem.uint8
            sums.append(zlib.crc32(bytes(y.flatten().tolist())))
        got.append(sums)
    assert got == BYTES[case]


# ---- views of memory ------------------------------------------------------------------------------------------------

DTYPES = [tandem.uint8, tandem.int16, tandem.int32, tandem.int64, tandem.float16, tandem.float32, tandem.float64]


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("start", DTYPES)
def test_views_in_other_dtypes_are_numpys(start, to, mode):
    x = tandem.arange(48).reshape(3, 16).to(start)

    def f(x):
        y = x.view(to)
        return y + 0, y

    values, y = run_in(mode, f, x)
    expected = x.numpy().view(str(to).removeprefix("tandem."))
    np.testing.assert_array_equal(values.numpy(), expected)
    assert y.stride() == tuple(s // y.element_size() for s in expected.strides)
    y.zero_()
    assert (x == 0).all()


def test_views_in_other_dtypes_share_memory(mode):
    def f(x):
        x.view(tandem.int32).fill_(0x40000000)
        before = x * 1
        x.fill_(1.0)
        return before, x.view(tandem.int32) + 0

    for _ in range(2):
        before, after = run_in(mode, f, tandem.zeros(3))
        assert before.tolist() == [2.0] * 3 and after.tolist() == [0x3F800000] * 3
    x = tandem.ones(2, dtype=tandem.bfloat16)
    assert x.view(tandem.int16).tolist() == [0x3F80] * 2 and x.view(tandem.bfloat16).tolist() == [1, 1]
    assert not tandem.ones(2, requires_grad=True).view(tandem.int32).requires_grad
    assert tandem.ones(0, 4).view(tandem.float64).shape == (0, 2)
    assert tandem.tensor(1.0).view(tandem.int32).item() == 0x3F800000
    cut = tandem.arange(16, dtype=tandem.float32).reshape(4, 4)[:, ::2]
    assert cut.view(tandem.int32).stride() == (4, 2)


def test_writes_through_views_in_other_dtypes_count():
    x = tandem.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    v = y.view(tandem.int32)
    v.fill_(1)
    assert (y._version, v._version) == (1, 1) and y.requires_grad and not v.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    a = tandem.ones(4)
    b = a.view(tandem.int32)
    a.add_(1)
    b[0].add_(1)
    assert a._version == b._version == 2
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        a[1:].copy_(b[:-1])
    w = tandem.ones(2).view(tandem.int32)  # its base is gone
    w.add_(1)
    assert w._version == 1
    # Forward mode keeps what such a write destroys.
    _, t = tandem.func.jvp(lambda u: overwritten_as_integers(u), (tandem.full((2,), 3.0),), (tandem.ones(2),))
    assert t.tolist() == [6, 6]


def overwritten_as_integers(u):
    y = u * 1
    z = y * y
    y.detach().view(tandem.int32).fill_(0)
    return z


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tandem.zeros(2, 3).view(tandem.float64),
            r"size\(-1\) must be divisible by 2 to view float32 as float64",
        ),
        (lambda: tandem.zeros(2, 4).t().view(tandem.int16), r"stride\(-1\) must be 1 to view float32 as int16"),
        (lambda: tandem.tensor(1.0).view(tandem.int16), r"dim\(\) cannot be 0 to view float32 as int16"),
        (lambda: tandem.zeros(3, 5)[:, :4].view(tandem.float64), r"stride\(0\) must be divisible by 2"),
    ],
)
def test_views_that_strides_do_not_allow(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


# ---- pruning --------------------------------------------------------------------------------------------------------


def layer():
    made = nn.Linear(4, 3)
    with tandem.no_grad():
        made.weight.copy_(tandem.tensor([[0.1, -0.2, 0.3, -0.4], [0.5, 0.6, -0.7, 0.8], [-0.9, 1.0, 1.1, -1.2]]))
        made.bias.copy_(tandem.tensor([0.3, -0.2, 0.1]))
    return made


def test_pruning_of_what_is_left():
    m = layer()
    prune.l1_unstructured(m, "weight", 3)
    assert m.weight_mask.tolist() == [[0, 0, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
    prune.ln_structured(m, "weight", 1, n=2, dim=0)
    assert m.weight_mask.tolist() == [[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    prune.l1_unstructured(m, "weight", 2)
    assert m.weight_mask.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]]
    assert len(m._forward_pre_hooks) == 1 and len(next(iter(m._forward_pre_hooks.values()))) == 3
    assert sorted(m.state_dict()) == ["bias", "weight_mask", "weight_orig"] and prune.is_pruned(m)
    out = m(tandem.ones(2, 4))
    tandem.testing.assert_close(out[0], (m.weight_orig * m.weight_mask).sum(1) + m.bias)
    out.sum().backward()
    assert m.weight_orig.grad.tolist() == (2 * m.weight_mask).tolist()
    expected = m.weight.tolist()
    prune.remove(m, "weight")
    assert isinstance(m.weight, nn.Parameter) and m.weight.tolist() == expected and not prune.is_pruned(m)
    assert sorted(m.state_dict()) == ["bias", "weight"]


def test_pruning_of_several_parameters_together():
    first, second = layer(), layer()
    pairs = [(first, "weight"), (second, "bias")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.4)
    assert first.weight_mask.sum() == 9 and second.bias_mask.sum() == 0
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=2)
    assert first.weight_mask.tolist() == [[0, 0, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]]
    scored = prune.l1_unstructured(layer(), "weight", 2, importance_scores=tandem.arange(12.0).reshape(3, 4))
    assert scored.weight_mask.tolist()[0] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: prune.l1_unstructured(layer(), "weight", 13), ValueError, "amount=13 should be smaller"),
        (lambda: prune.l1_unstructured(layer(), "weight", 1.5), ValueError, r"float in \[0.0, 1.0\]"),
        (lambda: prune.l1_unstructured(layer(), "weight", "a"), TypeError, "Invalid type for amount"),
        (lambda: prune.ln_structured(layer(), "bias", 1, 2, 0), ValueError, "multidimensional tensors"),
        (lambda: prune.remove(layer(), "bias"), ValueError, "has to be pruned before"),
        (lambda: prune.custom_from_mask(layer(), "bias", tandem.ones(2)), AssertionError, "a mask of shape"),
    ],
)
def test_pruning_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ---- what is taken as it is meant -----------------------------------------------------------------------------------


def test_sizes_may_be_arrays_of_no_dims():
    n = np.array(3)
    assert tandem.ones((n, np.int64(4))).shape == tandem.ones(n, np.int64(4)).shape == (3, 4)
    assert tandem.ones(12).view(n, -1).shape == tandem.ones(12).reshape((n, -1)).shape == (3, 4)
    for size in (np.array(3.0), np.array([3])):
        with pytest.raises(TypeError):
            tandem.ones((size, 4))


def test_elements_may_be_arrays_of_no_dims():
    x = tandem.tensor(((7, np.array(5)), (np.array(9), 5.0)))
    assert x.dtype is tandem.float32 and x.tolist() == [[7, 5], [9, 5]]
    assert tandem.tensor([np.array(1.5), np.array(2)]).dtype is tandem.float64
    assert tandem.tensor([np.array(True)]).tolist() == [True]
    with pytest.raises(TypeError, match="not 'list'"):
        tandem.tensor([[1, 2], [3, [4]]])


def test_vectors_of_nothing_are_joined_along_any_dim(mode):
    nothing = tandem.empty(0)
    for n, dim in ((1, 2), (2, 1), (3, -2)):
        assert run_in(mode, lambda n=n, dim=dim: tandem.cat([nothing] * n, dim)).shape == (0,)
    with pytest.raises(IndexError):
        tandem.cat([nothing, tandem.ones(1)], 1)


def test_draws_of_zeros_and_ones_are_of_any_dtype():
    p = tandem.tensor([0.0, 1.0, 1.0])
    for dtype in (tandem.bool, tandem.int32, tandem.float64):
        out = tandem.empty(3, dtype=dtype)
        assert tandem.bernoulli(p, out=out) is out and out.tolist() == [0, 1, 1]


def test_places_of_a_value_among_its_values(mode):
    for value in (True, 3, 2.5):
        found = run_in(mode, lambda v=value: tandem.unique(tandem.tensor(v), return_inverse=True, return_counts=True))
        assert [t.shape for t in found] == [(1,), (), (1,)] and found[0].item() == value


def test_a_grid_of_no_coordinates():
    assert tandem.histogramdd(tandem.ones(2, 0), []).hist.item() == 0
    assert tandem.histogramdd(tandem.ones(2, 0), [], density=True).hist.isnan()


def test_types_and_texts_of_any_tensor():
    assert tandem.ones(2).int().type(tandem.Tensor).dtype is tandem.get_default_dtype()
    x = tandem.empty((), device="meta")
    assert f"{x}" == repr(x)


def test_triangular_solve_into_out():
    out = tandem.empty(0), tandem.empty(0)
    A = tandem.tensor([[1.0, 1.0], [0.0, 2.0]])
    found = tandem.triangular_solve(tandem.tensor([[3.0], [2.0]]), A, out=out)
    assert found.solution is out[0] and out[0].tolist() == [[2], [1]] and tandem.equal(out[1], A)


def test_functions_refuse_what_is_no_tensor():
    names = "allclose equal expand_copy gradient histogram histogramdd masked_select nonzero numel permute_copy"
    for function in [*names.split(), "squeeze_copy", "t_copy", "unbind_copy", "view_copy"]:
        rest = {"allclose": [tandem.ones(2)], "equal": [tandem.ones(2)], "masked_select": [tandem.ones(2) > 0]}
        sizes = [(2,)] if function in ("expand_copy", "view_copy") else [(0,)] if function == "permute_copy" else []
        bins = [2] if function.startswith("histogram") else []
        for wrong in ("a", None, 1.5, [1.0, 2.0]):
            with pytest.raises(TypeError):
                getattr(tandem, function)(wrong, *rest.get(function, [*sizes, *bins]))


def test_no_function_written_in_python_reads_an_attribute_of_what_is_no_tensor():
    # tensordot and the low-rank functions are Python in PyTorch too, where that is an AttributeError.
    left = ("_", "tensordot", "lobpcg", "pca_lowrank", "svd_lowrank")
    functions = [getattr(m, n) for m in (tandem, tandem.fft, tandem.linalg, tandem.special) for n in dir(m)]
    functions = [f for f in functions if isinstance(f, FunctionType) and not f.__name__.startswith(left)]
    functions += [F.adaptive_avg_pool1d, F.adaptive_max_pool1d, F.adaptive_avg_pool2d, F.adaptive_max_pool3d]
    functions += [F.alpha_dropout, F.feature_alpha_dropout, F.gumbel_softmax, F.bilinear, tandem._int_mm]
    tried = 0
    for function in functions:
        parameters = list(signature(function).parameters.values())
        if not parameters or parameters[0].annotation not in ("Tensor", "_C.Tensor", tandem.Tensor):
            continue
        tried += 1
        needed = [p for p in parameters[1:] if p.default is p.empty]
        by_name = [p.name for p in needed if p.kind is p.KEYWORD_ONLY]
        for wrong, rest in itertools.product(("x", None, 1.5, [1.0]), (tandem.ones(2, 2), 2, "sum")):
            with contextlib.suppress(TypeError, ValueError, RuntimeError, IndexError, NotImplementedError):
                function(wrong, *[rest] * (len(needed) - len(by_name)), **dict.fromkeys(by_name, rest))
    assert tried > 50
    for wrong in ("x", None, 1.5, [1.0]):
        with pytest.raises(TypeError, match="must be Tensor"):
            tandem.lu_unpack(wrong, tandem.ones(2))
        with pytest.raises(TypeError, match="must be Tensor"):
            tandem.fft.fftshift(wrong)


def test_kinds_that_are_of_no_fitting_type():
    with pytest.raises(TypeError):
        tandem.segment_reduce(tandem.ones(2), None, lengths=tandem.tensor([2]))
    for order in (None, "x"):
        with pytest.raises(TypeError):
            tandem._foreach_norm([tandem.ones(2)], order)


def test_functions_of_lists_that_take_tensors_one_by_one_and_those_that_do_not():
    x = tandem.ones(2)
    for function in (tandem.hstack, tandem.vstack, tandem.dstack, tandem.column_stack, tandem.linalg.multi_dot):
        for given in ([x], [x, x], []):
            with pytest.raises(TypeError):
                function(*given)
    assert tandem.atleast_1d() == tandem.atleast_3d() == tandem.broadcast_tensors() == ()
    assert tandem.block_diag().shape == (1, 0) and len(tandem.broadcast_tensors(x, x)) == 2
    for function in (tandem.cartesian_prod, tandem.chain_matmul, tandem.meshgrid):
        with pytest.raises(RuntimeError):
            function()
    for function in (tandem.block_diag, tandem.broadcast_tensors):
        with pytest.raises(TypeError):
            function(None)


def test_an_integer_with_a_default_is_not_none():
    for function in (tandem.sort, tandem.mode, tandem.unbind):
        with pytest.raises(TypeError):
            function(tandem.ones(2), dim=None)
    with pytest.raises(TypeError):
        tandem.topk(tandem.ones(2), 1, dim=None)


def test_warnings_of_no_degrees_of_freedom():
    for name in ("var", "std", "var_mean", "std_mean"):
        for shape in ((2, 1), (0, 5), (0, 1)):
            with pytest.warns(UserWarning, match=rf"^{name}\(\): degrees of freedom"):
                getattr(tandem, name)(tandem.ones(shape), 1)
