"""`tandem.ops.aten`: operations whose names, arguments or results are others there than those of functions."""

from __future__ import annotations

import copy
import pickle

import pytest
from conftest import assert_same_bits

import tandem
import tandem.nn.functional as F

aten = tandem.ops.aten
X = tandem.arange(6.0).reshape(2, 3) / 3
Y = X.flip(0) * 1.5
IMAGE = tandem.rand(1, 2, 4, 4)
PICKED = tandem.tensor([0, 2, 2])


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss"])
def test_reductions_are_numbers(name):
    of_overload, of_function = getattr(aten, name), getattr(F, name)
    assert_same_bits(of_overload(X, Y), of_function(X, Y))
    for number, reduction in enumerate(("none", "mean", "sum")):
        assert_same_bits(of_overload(X, Y, number), of_function(X, Y, reduction=reduction))
        assert_same_bits(of_overload.default(X, Y, reduction=number), of_function(X, Y, reduction=reduction))


SAME = {
    "weighted loss": (
        lambda: aten.binary_cross_entropy(X / 4, Y / 4, Y, 2),
        lambda: F.binary_cross_entropy(X / 4, Y / 4, Y, reduction="sum"),
    ),
    "loss of three": (
        lambda: aten.cosine_embedding_loss(X, Y, tandem.tensor([1, -1]), 0.1, 2),
        lambda: F.cosine_embedding_loss(X, Y, tandem.tensor([1, -1]), 0.1, reduction="sum"),
    ),
    "entropy": (
        lambda: aten.cross_entropy_loss(X, tandem.tensor([0, 1]), None, 0),
        lambda: F.cross_entropy(X, tandem.tensor([0, 1]), reduction="none"),
    ),
    "index": (lambda: aten._unsafe_index.Tensor(X, [None, PICKED]), lambda: X[:, PICKED]),
    "index_put": (
        lambda: aten.index_put(X, [None, PICKED], tandem.tensor(5.0)),
        lambda: tandem.tensor([[5, 1 / 3, 5], [5, 4 / 3, 5]]),
    ),
    "index_put, added": (
        lambda: aten.index_put(X, [None, PICKED], tandem.tensor(1.0), True),
        lambda: X + tandem.tensor([1.0, 0.0, 2.0]),
    ),
    "index_put, of all dims": (
        lambda: aten.index_put(X, [tandem.tensor([0, 0])], tandem.tensor(1.0), True),
        lambda: X + tandem.tensor([[2.0], [0.0]]),
    ),
    "slice": (lambda: aten.slice_copy.Tensor(X, -1, 1, 9223372036854775807), lambda: X[:, 1:]),
    "split": (lambda: aten.split_copy.Tensor(X, 2, 1)[1], lambda: X[:, 2:]),
    "pad": (lambda: aten.constant_pad_nd(X, [1, 0], 3.0), lambda: F.pad(X, (1, 0), value=3.0)),
    "reflect": (lambda: aten.reflection_pad2d(IMAGE, [1, 1, 2, 2]), lambda: F.pad(IMAGE, (1, 1, 2, 2), "reflect")),
    "convolution": (
        lambda: aten.convolution(IMAGE, IMAGE[:, :, :2, :2], None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
        lambda: F.conv2d(IMAGE, IMAGE[:, :, :2, :2], None, 2, 1),
    ),
    "transposed": (
        lambda: aten.convolution(IMAGE, IMAGE.mT[0][:, None], None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
        lambda: F.conv_transpose2d(IMAGE, IMAGE.mT[0][:, None], None, 2, 1, 1),
    ),
    "places of maxima": (
        lambda: aten.max_pool2d_with_indices(IMAGE, [2, 2])[1],
        lambda: F.max_pool2d(IMAGE, 2, return_indices=True)[1],
    ),
    "embedding": (lambda: aten.embedding(X, tandem.tensor([1, 0])), lambda: X[[1, 0]]),
    "layers": (lambda: aten.native_layer_norm(X, [3], None, None, 1e-5)[0], lambda: F.layer_norm(X, [3])),
    "batches": (
        lambda: aten.batch_norm(X, Y[0], None, Y[1], X[1], False, 0.1, 1e-5, True),
        lambda: F.batch_norm(X, Y[1], X[1], Y[0]),
    ),
    "softmax": (lambda: aten._softmax(X.half(), 1, True), lambda: X.half().softmax(1, dtype=tandem.float32)),
    "linalg": (lambda: aten.linalg_vector_norm(X, 1.0, [1]), lambda: tandem.linalg.vector_norm(X, 1.0, 1)),
    "special": (lambda: aten.special_ndtr(X), lambda: tandem.special.ndtr(X)),
    "copy": (lambda: aten.copy(X.double(), Y[0]), lambda: Y[0].double().expand(2, 3)),
    "operator": (lambda: aten.__xor__.Tensor(PICKED, PICKED + 1), lambda: PICKED ^ (PICKED + 1)),
    "pool": (lambda: aten._adaptive_avg_pool2d(IMAGE, [3, 3]), lambda: F.adaptive_avg_pool2d(IMAGE, 3)),
    "places of pools": (
        lambda: aten.adaptive_max_pool2d(IMAGE, [3, 3])[1],
        lambda: F.adaptive_max_pool2d(IMAGE, 3, return_indices=True)[1],
    ),
    "elu, three factors": (
        lambda: aten.elu(X - 1, 0.5, 2.0, 3.0),
        lambda: tandem.where(X > 1, 2 * (X - 1), (3 * (X - 1)).expm1()),
    ),
    "elu_": (lambda: aten.elu_(X - 1, 0.5), lambda: F.elu(X - 1, 0.5)),
    "leaky_relu_": (lambda: aten.leaky_relu_(X - 1, 0.5), lambda: F.leaky_relu(X - 1, 0.5)),
    "resampled": (
        lambda: aten.upsample_bilinear2d(IMAGE, [5, 6], True),
        lambda: F.interpolate(IMAGE, (5, 6), mode="bilinear", align_corners=True),
    ),
    "resampled by factors": (
        lambda: aten.upsample_nearest2d.vec(IMAGE, None, [1.5, 2.0]),
        lambda: F.interpolate(IMAGE, scale_factor=(1.5, 2.0)),
    ),
    "resampled by both": (
        lambda: aten.upsample_nearest2d(IMAGE, [6, 8], scales_h=1.5, scales_w=2.0),
        lambda: F.interpolate(IMAGE, scale_factor=(1.5, 2.0)),
    ),
    "windows": (lambda: aten.im2col(IMAGE, [2, 2], [1, 1], [0, 0], [2, 2]), lambda: F.unfold(IMAGE, 2, stride=2)),
    "weights of losses": (
        lambda: aten.nll_loss_forward(X, tandem.tensor([2, 1]), X[1], 1, 1)[1],
        lambda: X[1, 2],
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_functions_give(name):
    got, wanted = (f() for f in SAME[name])
    assert got.dtype is wanted.dtype and got.shape == wanted.shape
    tandem.testing.assert_close(got, wanted)


BACKWARD = {
    "tanh": (tandem.tanh, lambda g, x, y: aten.tanh_backward(g, y)),
    "sigmoid": (tandem.sigmoid, lambda g, x, y: aten.sigmoid_backward(g, y)),
    "relu": (tandem.relu, lambda g, x, y: aten.threshold_backward(g, x, 0)),
    "softmax": (lambda x: x.softmax(1), lambda g, x, y: aten._softmax_backward_data(g, y, 1, x.dtype)),
    "log_softmax": (lambda x: x.log_softmax(1), lambda g, x, y: aten._log_softmax_backward_data(g, y, 1, x.dtype)),
}


_LABELS = tandem.tensor([2, 1])
BACKWARD |= {
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), lambda g, x, y: aten.gelu_backward(g, x, approximate="tanh")),
    "silu": (F.silu, lambda g, x, y: aten.silu_backward(g, x)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.2, 0.7), lambda g, x, y: aten.hardtanh_backward(g, x, -0.2, 0.7)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.3), lambda g, x, y: aten.leaky_relu_backward(g, x, 0.3, False)),
    "elu": (lambda x: F.elu(x, 0.5), lambda g, x, y: aten.elu_backward(g, 0.5, 1, 1, False, x)),
    "elu, by its result": (lambda x: F.elu(x, 0.5), lambda g, x, y: aten.elu_backward(g, 0.5, 1, 1, True, y)),
    "mse_loss": (lambda x: F.mse_loss(x, Y, reduction="none"), lambda g, x, y: aten.mse_loss_backward(g, x, Y, 0)),
    "reflection_pad": (
        lambda x: F.pad(x, (1, 1), "reflect")[:, 1:-1],
        lambda g, x, y: aten.reflection_pad1d_backward(F.pad(g, (1, 1)), x, [1, 1]),
    ),
    "layer_norm": (
        lambda x: F.layer_norm(x, [3], Y[0], Y[1]),
        lambda g, x, y: aten.native_layer_norm_backward(
            g, x, [3], *aten.native_layer_norm(x, [3], Y[0], Y[1], 1e-5)[1:], Y[0], Y[1], [True, False, False]
        )[0],
    ),
    "embedding": (
        lambda x: F.embedding(_LABELS - 1, x),
        lambda g, x, y: aten.embedding_dense_backward(g, _LABELS - 1, 2, -1, False),
    ),
    "nll_loss": (
        lambda x: F.nll_loss(x, _LABELS, reduction="none")[:, None].expand(2, 3),
        lambda g, x, y: aten.nll_loss_backward(g.sum(1), x, _LABELS, None, 0, -100, tandem.tensor(2.0)),
    ),
}


def test_derivatives_of_convolutions():
    weight, g = tandem.rand(3, 2, 2, 2), tandem.rand(1, 3, 3, 3)
    options = [[1, 1], [0, 0], [1, 1], False, [0, 0], 1]
    got = aten.convolution_backward(g, IMAGE, weight, [3], *options, [True, True, True])
    inputs = [t.clone().requires_grad_() for t in (IMAGE, weight, tandem.zeros(3))]
    for a, b in zip(got, tandem.autograd.grad(F.conv2d(*inputs), inputs, g), strict=True):
        tandem.testing.assert_close(a, b)
    none, second, _ = aten.convolution_backward(g, IMAGE, weight, [3], *options, [False, True, False])
    assert none is None and second.equal(got[1])


def test_derivatives_of_pools_and_resampled_images():
    x, g = IMAGE.clone().requires_grad_(), tandem.rand(1, 2, 2, 2)
    y, places = F.max_pool2d(x, 2, return_indices=True)
    (wanted,) = tandem.autograd.grad(y, x, g)
    got = aten.max_pool2d_with_indices_backward(g, IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False, places)
    assert_same_bits(got, wanted)
    (wanted,) = tandem.autograd.grad(F.interpolate(x, scale_factor=0.5, mode="bilinear"), x, g)
    assert_same_bits(aten.upsample_bilinear2d_backward(g, [2, 2], [1, 2, 4, 4], False), wanted)
    (wanted,) = tandem.autograd.grad(F.adaptive_avg_pool2d(x, 2), x, g)
    assert_same_bits(aten._adaptive_avg_pool2d_backward(g, IMAGE), wanted)


@pytest.mark.parametrize("name", BACKWARD)
def test_derivatives(name):
    function, derivative = BACKWARD[name]
    x = (X - 0.5).requires_grad_()
    y = function(x)
    (wanted,) = tandem.autograd.grad(y, x, Y)
    tandem.testing.assert_close(derivative(Y, x.detach(), y.detach()), wanted)


def test_copies_of_views_are_copies():
    for copied in (aten.view_copy(X, [6]), aten.t_copy(X), aten.unbind_copy(X)[0], aten.lift_fresh_copy(X)):
        assert copied._base is None and copied.untyped_storage().data_ptr() != X.untyped_storage().data_ptr()
    assert aten.lift_fresh(X) is X


def test_what_is_dropped():
    kept, mask = aten.native_dropout(tandem.ones(1000), 0.5, True)
    assert mask.dtype is tandem.bool and kept.equal(mask * 2.0) and 300 < mask.sum() < 700
    same, mask = aten.native_dropout(X, 0.5, False)
    assert same.equal(X) and mask.all()


def test_copies_and_pickles_give_the_operation_itself():
    for op in (aten.add, aten.add.Tensor, aten.mse_loss.default):
        assert copy.deepcopy(op) is copy.copy(op) is pickle.loads(pickle.dumps(op)) is op
    assert not hasattr(object.__new__(type(aten.add)), "_none")


def test_sizes():
    assert aten.sym_size.int(X, 1) == 3 and aten.sym_size(X) == (2, 3) and aten.sym_stride(X) == (3, 1)
    assert aten.sym_numel(X) == 6 and aten._local_scalar_dense(X[0, 0]) == 0


def test_products_of_short_integers():
    a, b = tandem.full((3, 200), -128, dtype=tandem.int8), tandem.full((200, 2), 127, dtype=tandem.int8)
    assert tandem._int_mm(a, b).equal(tandem.full((3, 2), -128 * 127 * 200, dtype=tandem.int32))
    assert aten._int_mm(a.view(tandem.uint8), b)[0, 0] == 128 * 127 * 200
    out = tandem.empty(3, 2, dtype=tandem.int32)
    assert tandem._int_mm(a, b, out=out) is out
    with pytest.raises(RuntimeError, match="self dtype to be tandem.int8 or tandem.uint8 but got tandem.float32"):
        tandem._int_mm(a.float(), b)
    with pytest.raises(RuntimeError, match="Expected mat2 to be of dimension 2 but got 1"):
        tandem._int_mm(a, b[:, 0])


def test_overloads_by_name():
    mul = aten.mul
    assert mul.overloads() == ["default"] and mul.Tensor.overloadpacket is mul and mul.Tensor._overloadname == "Tensor"
    assert sorted(mul.overloads()) == ["Tensor", "default"]
    assert all(getattr(mul, name).overloadpacket is mul for name in mul.overloads())
    assert mul.Tensor.namespace == "aten" and mul._qualified_op_name == "aten::mul" and list(mul.default.tags) == []
