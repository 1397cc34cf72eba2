"""Recurrent layers, their cells, and sequences of different lengths."""

import numpy as np
import pytest
from arrays import array, close, tensor
from conftest import assert_same_bits, run_in
from references_nn import layers, packed_layers

import tandem
from tandem import nn
from tandem.nn.utils import rnn

KINDS = [(nn.LSTM, "lstm"), (nn.GRU, "gru"), (nn.RNN, "rnn_tanh")]


def double(module, seed=0):
    """The module in float64 with weights of a fixed seed."""
    rng = np.random.default_rng(seed)
    with tandem.no_grad():
        for p in module.double().parameters():
            p.copy_(tandem.from_numpy(rng.uniform(-0.6, 0.6, tuple(p.shape))))
    return module


def arrays_of(module):
    return [p.detach().numpy() for p in module.parameters()]


def states_of(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize(("cls", "kind"), KINDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False, "num_layers": 3}],
    ids=["plain", "both", "first"],
)
def test_layers(cls, kind, options):
    module = double(cls(3, 4, **options))
    both, count = options.get("bidirectional", False), options.get("num_layers", 1)
    first = options.get("batch_first", False)
    x = array(2, 5, 3) if first else array(5, 2, 3)
    hx = [array(count * (2 if both else 1), 2, 4, seed=i) for i in range(2 if kind == "lstm" else 1)]
    want = layers(kind)(x, hx, arrays_of(module), module.bias, count, 0.0, True, both, first)
    given = tuple(tensor(h) for h in hx) if kind == "lstm" else tensor(hx[0])
    output, states = module(tensor(x), given)
    for got, expected in zip([output, *states_of(states)], want, strict=True):
        close(got, expected)
    close(module(tensor(x))[0], layers(kind)(x, [h * 0 for h in hx], arrays_of(module), module.bias, count, 0.0, True,
                                             both, first)[0])  # fmt: skip
    one = module(tensor(x[0] if first else x[:, 0]))[0]
    close(one, module(tensor(x))[0].detach().numpy()[0 if first else slice(None), slice(None) if first else 0])


def test_relu_and_its_cell():
    module = double(nn.RNN(3, 4, nonlinearity="relu"))
    x = array(5, 2, 3)
    want = layers("rnn_relu")(x, [np.zeros((1, 2, 4))], arrays_of(module), True, 1, 0.0, True, False, False)
    close(module(tensor(x))[0], want[0])
    cell = nn.RNNCell(3, 4, nonlinearity="relu").double()
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in module.state_dict().items()})
    close(cell(tensor(x[0])), want[0][0])


@pytest.mark.parametrize("both", [False, True])
def test_projection(both):
    module = double(nn.LSTM(3, 5, proj_size=2, num_layers=2, bidirectional=both))
    plain = double(nn.LSTM(3, 5))
    assert module.weight_hr_l0.shape == (2, 5) and module.weight_ih_l1.shape == (20, 4 if both else 2)
    x = tensor(array(4, 2, 3), grad=True)
    output, (h, c) = module(x)
    assert output.shape == (4, 2, 4 if both else 2)
    assert h.shape == (4 if both else 2, 2, 2) and c.shape == (4 if both else 2, 2, 5)
    # A square orthogonal projection and its inverse in the next product change nothing but the outputs.
    q, _ = np.linalg.qr(array(5, 5, seed=3))
    args = (tensor(array(4, 2, 3)), [tandem.zeros(1, 2, 4).double(), tandem.zeros(1, 2, 5).double()])
    small = q[:4] * 0.5
    weights = [plain.weight_ih_l0, tensor(array(20, 4, seed=4) * 0.3), plain.bias_ih_l0, plain.bias_hh_l0]
    got = tandem.lstm(*args, [*weights, tensor(small)], True, 1, 0.0, True, False, False)
    same = tandem.lstm(args[0], [tandem.zeros(1, 2, 5).double()] * 2,
                       [weights[0], weights[1] @ tensor(small), *weights[2:]], True, 1, 0.0, True, False,
                       False)  # fmt: skip
    close(got[0], (same[0] @ tensor(small.T)).detach().numpy())
    assert tandem.autograd.gradcheck(lambda x: module(x)[0], (x,))
    assert tandem.autograd.gradgradcheck(lambda x: module(x)[0], (x,), fast_mode=True)


@pytest.mark.parametrize(("cls", "kind"), KINDS)
@pytest.mark.parametrize("both", [False, True])
def test_packed(cls, kind, both):
    module = double(cls(3, 4, num_layers=2, bidirectional=both))
    lengths = [2, 5, 3]
    padded = array(5, 3, 3)
    packed = rnn.pack_padded_sequence(tensor(padded), lengths, enforce_sorted=False)
    output, states = module(packed)
    result, counted = rnn.pad_packed_sequence(output)
    assert counted.tolist() == lengths
    zeros = [np.zeros((4 if both else 2, 1, 4))] * (2 if kind == "lstm" else 1)
    for n, length in enumerate(lengths):
        alone = layers(kind)(padded[:length, n : n + 1], zeros, arrays_of(module), True, 2, 0.0, True, both, False)
        close(result[:length, n], alone[0][:, 0])
        assert not result[length:, n].any()
        for got, want in zip(states_of(states), alone[1:], strict=True):
            close(got[:, n], want[:, 0])


def test_packed_rows_against_reference():
    module = double(nn.GRU(3, 4))
    sizes, data = [3, 2, 2, 1], array(8, 3)
    hx = array(1, 3, 4, seed=2)
    out = module(rnn.PackedSequence(tensor(data), tandem.tensor(sizes)), tensor(hx))
    want = packed_layers("gru")(data, sizes, [hx], arrays_of(module), True, 1, 0.0, True, False)
    close(out[0].data, want[0])
    close(out[1], want[1])


@pytest.mark.parametrize(("cls", "kind"), KINDS)
def test_training_step_has_the_same_bits_in_every_mode(cls, kind, mode):
    def step():
        tandem.manual_seed(3)
        module = cls(3, 4, num_layers=2, dropout=0.5, bidirectional=True)
        x = tandem.randn(5, 2, 3)

        def run(x):
            module.zero_grad(set_to_none=False)
            output, state = module(x)
            loss = (output * output).mean() + states_of(state)[0].sum()
            loss.backward()
            return loss.detach(), *(p.grad.clone() for p in module.parameters())

        for p in module.parameters():
            p.grad = tandem.zeros_like(p)
        return run, x

    run, x = step()
    tandem.manual_seed(4)
    expected = run(x)
    run, x = step()
    if mode == "compiled":
        compiled = tandem.compile(run)
        compiled(x)
        tandem.manual_seed(4)
        got = compiled(x)
    else:
        tandem.manual_seed(4)
        got = run_in(mode, run, x)
    for a, b in zip(got, expected, strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize(("cls", "cell"), [(nn.LSTM, nn.LSTMCell), (nn.GRU, nn.GRUCell), (nn.RNN, nn.RNNCell)])
def test_a_layer_is_its_cell_step_by_step(cls, cell, dtype):
    # Large enough for the layer to pack its weight.
    tandem.manual_seed(0)
    module, one = cls(9, 70, dtype=dtype), cell(9, 70, dtype=dtype)
    one.load_state_dict({k.removesuffix("_l0"): v for k, v in module.state_dict().items()})
    x = tandem.randn(6, 3, 9, dtype=dtype)
    output, _ = module(x)
    state = None
    for t in range(6):
        state = one(x[t], state)
        assert_same_bits(output[t], states_of(state)[0])


@pytest.mark.parametrize("width", [1, 70])
@pytest.mark.parametrize(("cls", "kind"), KINDS)
def test_gradients_to_be_differentiated_have_the_same_bits(cls, kind, width, mode):
    tandem.manual_seed(0)
    module = cls(4, width, num_layers=2, bidirectional=True)
    x = tandem.randn(5, 3, 4, requires_grad=True)
    inputs = [x, *module.parameters()]

    def grads(differentiated):
        output, state = module(x)
        loss = (output * output).mean() + sum(s.sum() for s in states_of(state))
        return tandem.autograd.grad(loss, inputs, create_graph=differentiated)

    want = grads(False)
    for got in (run_in(mode, lambda: grads(False)), run_in(mode, lambda: grads(True))):
        for a, b in zip(got, want, strict=True):
            assert_same_bits(a.detach(), b)


def test_packed_sequences_inside_compiled_functions():
    module = nn.LSTM(3, 4, bidirectional=True)

    def run(x):
        packed = rnn.pack_padded_sequence(x, [4, 2, 1])
        return rnn.pad_packed_sequence(module(packed)[0])[0]

    x = tandem.randn(4, 3, 3)
    compiled = tandem.compile(run)
    for _ in range(3):
        assert_same_bits(compiled(x), run(x))


@pytest.mark.parametrize(("cls", "kind"), KINDS)
def test_weights_get_gradients_of_every_order(cls, kind):
    module = double(cls(2, 2))
    x = tensor(array(3, 2, 2))
    names = [n for n, _ in module.named_parameters()]

    def run(*weights):
        hx = tandem.zeros(1, 2, 2, dtype=tandem.float64)
        function = {"lstm": tandem.lstm, "gru": tandem.gru, "rnn_tanh": tandem.rnn_tanh}[kind]
        return function(x, (hx, hx) if kind == "lstm" else hx, weights, True, 1, 0.0, True, False, False)[0]

    weights = [getattr(module, n).detach().requires_grad_() for n in names]
    assert tandem.autograd.gradcheck(run, weights)
    assert tandem.autograd.gradgradcheck(run, weights, fast_mode=True)
    # The third derivative, by differences of the second.
    w, others = weights[1], weights[2:]
    direction = tensor(array(*w.shape, seed=5))

    def second(w):
        grad = tandem.autograd.grad((run(weights[0], w, *others) ** 2).sum(), w, create_graph=True)[0]
        return tandem.autograd.grad((grad * direction).sum(), w, create_graph=True)[0]

    third = tandem.autograd.grad((second(w) * direction).sum(), w)[0]
    eps = 1e-5
    moved = [(second((w + s * eps * direction).detach().requires_grad_()) * direction).sum() for s in (1, -1)]
    close((third * direction).sum(), ((moved[0] - moved[1]) / (2 * eps)).item(), 1e-6)


def test_cells_take_vectors_and_default_states():
    for cls in (nn.RNNCell, nn.GRUCell, nn.LSTMCell):
        cell = double(cls(3, 4))
        x = tensor(array(2, 3))
        both = states_of(cell(x))
        one = states_of(cell(x[0]))
        for a, b in zip(both, one, strict=True):
            close(b, a[0].detach().numpy())
        assert list(cell.state_dict()) == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]


def test_names_shapes_and_text():
    module = nn.LSTM(3, 4, num_layers=2, bidirectional=True, dropout=0.5)
    assert repr(module) == "LSTM(3, 4, num_layers=2, dropout=0.5, bidirectional=True)"
    assert list(module.state_dict())[:5] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "bias_hh_l0",
        "weight_ih_l0_reverse",
    ]
    assert module.weight_ih_l1_reverse.shape == (16, 8)
    assert [len(w) for w in module.all_weights] == [4] * 4
    assert repr(nn.GRUCell(2, 3, bias=False)) == "GRUCell(2, 3, bias=False)"


def test_errors():
    module = nn.LSTM(3, 4)
    x = tandem.zeros(5, 2, 3)
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size. Expected 3, got 2"):
        module(tandem.zeros(5, 2, 2))
    with pytest.raises(ValueError, match="LSTM: Expected input to be 2D or 3D, got 4D instead"):
        module(tandem.zeros(1, 5, 2, 3))
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 4\), got \[1, 3, 4\]"):
        module(x, (tandem.zeros(1, 3, 4), tandem.zeros(1, 3, 4)))
    with pytest.raises(RuntimeError, match="For batched 3-D input, hx and cx should also be 3-D but got"):
        module(x, (tandem.zeros(3, 4), tandem.zeros(3, 4)))
    with pytest.raises(ValueError, match="does not match weight dtype"):
        module(x.double())
    with pytest.raises(ValueError, match="Unknown nonlinearity 'selu'. Select from 'tanh' or 'relu'."):
        nn.RNN(3, 4, nonlinearity="selu")
    for options, words in (
        ({"bias": 0}, "bias should be of type bool, got: int"),
        ({"batch_first": 1}, "batch_first should be of type bool, got: int"),
        ({"input_size": 3.0}, "input_size should be of type int, got: float"),
    ):
        for kind in (nn.RNN, nn.GRU, nn.LSTM):
            with pytest.raises(TypeError, match=words):
                kind(**{"input_size": 3, "hidden_size": 4, **options})
    with pytest.raises(ValueError, match="proj_size has to be smaller than hidden_size"):
        nn.LSTM(3, 4, proj_size=4)
    with pytest.raises(ValueError, match="only supported for LSTM"):
        nn.GRU(3, 4, proj_size=2)
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        nn.GRU(3, 4, dropout=0.5)
    with pytest.raises(RuntimeError, match="Input batch size 2 doesn't match hidden batch size 3"):
        nn.GRUCell(3, 4)(x[0], tandem.zeros(3, 4))


# --- sequences of different lengths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [False, True])
def test_pad_and_pack_round_trip(first):
    lengths = [2, 4, 1]
    sequences = [tensor(array(n, 2, seed=n), grad=True) for n in lengths]
    padded = rnn.pad_sequence(sequences, batch_first=first, padding_value=-7.0)
    assert padded.shape == ((3, 4, 2) if first else (4, 3, 2))
    packed = rnn.pack_padded_sequence(padded, tandem.tensor(lengths), batch_first=first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    again, found = rnn.pad_packed_sequence(packed, batch_first=first, padding_value=-7.0)
    assert_same_bits(again, padded)
    assert found.tolist() == lengths
    longer, _ = rnn.pad_packed_sequence(packed, batch_first=first, total_length=6)
    assert longer.shape == ((3, 6, 2) if first else (6, 3, 2))
    for a, b in zip(rnn.unpad_sequence(padded, found, batch_first=first), sequences, strict=True):
        assert_same_bits(a, b)
    for a, b in zip(rnn.unpack_sequence(rnn.pack_sequence(sequences, enforce_sorted=False)), sequences, strict=True):
        assert_same_bits(a, b)
    again.sum().backward()
    assert all(bool((s.grad == 1).all()) for s in sequences)


def test_pad_on_the_left():
    rows = [tandem.tensor([1, 2]), tandem.tensor([3])]
    assert rnn.pad_sequence(rows, True, padding_side="left").tolist() == [[1, 2], [0, 3]]


def test_packed_sequences_convert_and_keep_their_order():
    packed = rnn.pack_sequence([tandem.tensor([1, 2]), tandem.tensor([3])])
    as_float = packed.float()
    assert as_float.data.dtype is tandem.float32 and as_float.batch_sizes is packed.batch_sizes
    assert packed.to(dtype=tandem.int64).data is packed.data
    data, sizes, order, inverse = packed
    assert data is packed.data and order is None and inverse is None


def test_pack_errors():
    x = tandem.zeros(3, 2, 1)
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order when `enforce_sorted` is True"):
        rnn.pack_padded_sequence(x, [1, 3])
    with pytest.raises(RuntimeError, match="has to be greater than 0"):
        rnn.pack_padded_sequence(x, [3, 0])
    with pytest.raises(RuntimeError, match=r"Expected `len\(lengths\)` to be equal to batch_size"):
        rnn.pack_padded_sequence(x, [3])
    with pytest.raises(ValueError, match="Expected total_length to be at least the length of the longest sequence"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 2]), total_length=2)


def test_packed_sequences_are_converted():
    packed = tandem.nn.utils.rnn.pack_sequence([tandem.tensor([1.0, 2.0]), tandem.tensor([3.0])])
    for name, dtype in (("short", tandem.int16), ("char", tandem.int8), ("byte", tandem.uint8), ("half", tandem.half)):
        converted = getattr(packed, name)()
        assert converted.data.dtype == dtype and converted.batch_sizes.dtype == tandem.int64
        assert converted.data.tolist() == [1, 3, 2]
    with pytest.raises(RuntimeError, match="1D tensor"):
        tandem.nn.utils.rnn.pack_padded_sequence(tandem.ones(3, 2), tandem.tensor([[2, 1]]))


@pytest.mark.parametrize("shape", [(1, 5), (3, 1), (1, 1), (2, 5)])
def test_both_states_of_a_cell_have_one_shape(shape):
    cell, x, state = nn.LSTMCell(4, 5), tandem.ones(3, 4), tandem.zeros(3, 5)
    with pytest.raises(RuntimeError, match=r"both states are to be of shape \[3, 5\], but hx\[1\] has shape"):
        cell(x, (state, tandem.zeros(shape)))
    assert cell(x, (state, state))[1].shape == (3, 5)


@pytest.mark.parametrize("kind", [nn.GRUCell, nn.LSTMCell, nn.GRU, nn.RNN], ids=lambda kind: kind.__name__)
def test_what_layers_return_may_be_written_to(kind, mode):
    """Their backward reads the states, not what the caller has of them."""
    layer = double(kind(4, 5))
    x = tandem.randn(*((2, 4) if "Cell" in kind.__name__ else (3, 2, 4)), dtype=tandem.float64)

    def gradient(write):
        def step(x):
            states = layer(x)
            first = states if isinstance(states, tandem.Tensor) else states[0]
            first = first.relu_() if write else first.relu()
            return tandem.autograd.grad((first * first).sum(), list(layer.parameters()))

        return run_in(mode, step, x)

    for got, want in zip(gradient(True), gradient(False), strict=True):
        assert_same_bits(got, want)


def test_a_cell_with_two_states_takes_both():
    with pytest.raises(TypeError, match="must be tuple of Tensors"):
        nn.LSTMCell(3, 2)(tandem.zeros(2, 3), tandem.zeros(2, 2))
