"""Sizes that depend on data: masks, nonzero. Operations on such tensors go on in every mode; reading a size is a read
of data. A compiled function is traced once for each combination of sizes that it meets, as for other shapes."""

import numpy as np
import pytest
from compiling import counting
from conftest import run_in

import tandem


def select(x):
    mask = x > 0
    chosen = x[mask] * 2
    return chosen.tanh(), (x * chosen.sum())[mask].mean(), x.nonzero(), x.masked_select(x < 0)


def in_mode(mode, f):
    """`f` so that several calls share what it becomes."""
    if mode == "compiled":
        return tandem.compile(f)
    if mode == "eager":
        return f

    def recorded(*args):
        with tandem.lazy():
            return f(*args)

    return recorded


def assert_same(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_values_and_gradients_are_eagers(mode):
    tandem.manual_seed(0)
    f = in_mode(mode, select)
    for _ in range(4):
        x = tandem.randn(4, 5).requires_grad_()
        results = f(x), select(x)
        assert_same(*results)
        gradients = [tandem.autograd.grad(r[0].sum() + r[1], x, create_graph=True) for r in results]
        assert_same(*gradients)
        assert_same(*[tandem.autograd.grad((g * g).sum(), x) for (g,) in gradients])


def test_the_body_runs_once_for_each_size():
    f = counting(lambda x: (x[x > 0].sum(), x[x < -1] + 1))
    for values in ([1, 2, -1], [3, -2, -1], [1, 1, -1], [-2, 7, 0], [0, 5, 0], [-4, 0, 1]):
        x = tandem.tensor(values, dtype=tandem.float32)
        total, low = f(x)
        array = x.numpy()
        assert total.item() == array[array > 0].sum()
        assert low.tolist() == (array[array < -1] + 1).tolist()
    assert f.runs == 3  # sizes (2, 0), (1, 1), (1, 0)


def test_another_size_changes_nothing_before_it_is_noticed():
    def step(x, total, state):
        state.mul_(2)
        total.add_(x[x > 0].sum())
        return tandem.rand(3)[x[:3] > 0]

    f = counting(step)
    states = []
    for run in (f, step):
        tandem.manual_seed(5)
        total, state = tandem.zeros(()), tandem.ones(2)
        results = [run(tandem.tensor(v), total, state) for v in ([1.0, 2, -3], [1.0, -1, -1], [2.0, 2, -9], [0.0] * 3)]
        states.append((total.item(), state.tolist(), [r.tolist() for r in results], tandem.rand(1).item()))
    assert states[0] == states[1]
    assert states[0][1] == [16, 16] and f.runs == 3


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y.shape,
        lambda y: y.size(0),
        lambda y: len(y),
        lambda y: y.numel(),
        lambda y: (y * 2 + 1).reshape(-1).shape,
        lambda y: (y.cumsum(0) > 0).size(),
        lambda y: [v for v in y],
    ],
)
def test_reading_such_a_size_is_a_read_of_data(read):
    def body(x):
        read(x[x > 0])
        return x

    with pytest.raises(tandem.DataReadError, match=r"test_data_sizes\.py:\d+: a size that depends on data"):
        tandem.compile(body, fullgraph=True)(tandem.randn(6))
    compiled = tandem.compile(body)
    for values in ([1.0, 2, -3], [-1.0, -2, -3], [1.0, 2, 3]):
        assert compiled(tandem.tensor(values)).tolist() == values
    with tandem.lazy():
        assert body(tandem.ones(3)).tolist() == [1, 1, 1]


def test_other_sizes_of_such_tensors_can_be_read():
    def body(x):
        rows = x[x[:, 0] > 0]
        assert rows.size(1) == 3 and rows.sum(0).shape == (3,) and rows.mean().shape == () and rows.ndim == 2
        assert (rows @ tandem.ones(3, 2)).size(-1) == 2
        return rows.sum(0)

    x = tandem.tensor([[1.0, 2, 3], [-1, 0, 0], [4, 5, 6]])
    assert tandem.compile(body)(x).tolist() == [5, 7, 9]


def test_writes_by_a_mask(mode):
    def body(x, values):
        y = x.clone()
        y[y < 0] = values[:1]
        y[x > 0] = values[:2]
        return y

    f = in_mode(mode, body)
    x = tandem.tensor([1.0, -2, 3, 0])
    for values in ([7.0, 8, 9], [1.0, 2, 3]):
        assert f(x, tandem.tensor(values)).tolist() == [values[0], values[0], values[1], 0]


def test_ctc_loss_of_targets_one_after_the_other(mode):
    def loss(targets, running, lengths):
        scores = tandem.arange(60.0).reshape(5, 3, 4).sin().log_softmax(-1).requires_grad_()
        value = tandem.nn.functional.ctc_loss(scores, targets, running, lengths)
        return value, tandem.autograd.grad(value, scores)[0]

    running = tandem.tensor([5, 4, 5])
    compiled = tandem.compile(loss) if mode == "compile" else None
    for lengths in ([2, 1, 0], [1, 1, 2], [2, 2, 2]):
        targets = tandem.tensor([1, 2, 3, 1, 2, 2])[: sum(lengths)]
        padded = tandem.zeros(3, max(lengths), dtype=tandem.int64)
        at = 0
        for row, n in zip(padded, lengths, strict=True):
            row[:n] = targets[at : at + n]
            at += n
        arguments = (running, tandem.tensor(lengths))
        found = compiled(targets, *arguments) if compiled else run_in(mode, loss, targets, *arguments)
        for actual, expected in zip(found, loss(padded, *arguments), strict=True):
            assert tandem.allclose(actual, expected)
