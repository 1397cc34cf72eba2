"""Calls of saved programs: how arguments are given, memory that they share, what is refused before anything changes."""

from __future__ import annotations

import ctypes as c
import functools

import c_programs
import numpy as np
import pytest
from conftest import assert_same_bits
from exporting import LIBRARY, TARGET

import tandem
from tandem import nn
from tandem.export import Dim, export


def exported(function, args, kwargs=None, **options):
    return export(function, args, kwargs, targets=[TARGET], **options)


def test_arguments_by_position_and_by_name():
    """However the function was called when it was traced."""

    def f(x, pair, *, scale):
        return x * scale - pair[0] * pair[1]["a"]

    x, a, b, s = tandem.randn(4, 3)
    pair = (a, {"a": b})
    expected = f(x, pair, scale=s)
    for program in (exported(f, (x, pair), {"scale": s}), exported(f, (), {"pair": pair, "scale": s, "x": x})):
        assert_same_bits(program(x, pair, scale=s), expected)
        assert_same_bits(program(x, scale=s, pair=pair), expected)
        assert_same_bits(program(pair=pair, x=x, scale=s), expected)
        assert_same_bits(program.module()(scale=s, x=x, pair=pair), expected)
    for args, kwargs, message in (
        ((x,), {"scale": s}, r"takes \(x, pair, scale=\), and the call lacks pair"),
        ((x, pair), {}, "and the call lacks scale"),
        ((x, pair, s), {}, "and the call gives 3 arguments by position"),
        ((x, pair), {"scale": s, "x": x}, "and the call gives x twice"),
        ((x, pair), {"scale": s, "bias": s}, "and no bias"),
        ((x, (a, b)), {"scale": s}, r"expected pair to be \(_, \{'a': _\}\), got \(_, _\)"),
        (([1.0], pair), {"scale": s}, r"expected x to be no container, got \[_\]"),
    ):
        with pytest.raises(TypeError, match=message):
            exported(f, (x, pair), {"scale": s})(*args, **kwargs)


def test_arguments_without_names():
    x = tandem.randn(2)
    program = exported(lambda *xs, **more: sum(xs) * more["by"], (x, x), {"by": x})
    assert_same_bits(program(x, x * 2, by=x), (x + x * 2) * x)
    with pytest.raises(TypeError, match=r"takes \(arg0, arg1, by=\), and the call lacks arg1"):
        program(x, by=x)
    with pytest.raises(TypeError, match="gives 3 arguments by position"):
        program(x, x, x, by=x)


@pytest.mark.parametrize("args", [tandem.ones(2, 3), None, {"input": tandem.ones(2, 3)}])
def test_examples_are_a_tuple(args):
    with pytest.raises(TypeError, match=f"args: expected a tuple of arguments, got {type(args).__name__}"):
        exported(nn.Linear(3, 2), args)


def test_memory_that_arguments_share():
    """An eager call sees what it writes to by all names; a program, which does not, refuses that. Reading is fine."""
    program = exported(lambda x, y: (x.mul_(2), x + y), (tandem.ones(3), tandem.ones(3)))
    memory = tandem.arange(7.0)
    both = (
        (memory[:3], memory[:3]),
        (memory[:3], memory[2:5]),
        (memory[2:5], memory[:3]),
        (memory[1:4], memory[::3]),
        (memory[:3], memory[1:2].expand(3)),
    )
    for x, y in both:
        version = x._version
        with pytest.raises(TypeError, match="forward: y shares memory with x, which the entry writes to: pass a copy"):
            program(x, y)
        assert memory.tolist() == list(range(7)) and x._version == version
    program(memory[:3], memory[3:6])
    assert memory.tolist() == [0, 2, 4, 3, 4, 5, 6]
    reads = exported(lambda x, y: x * y, (tandem.ones(3), tandem.ones(3)))
    assert reads(memory[:3], memory[:3]).tolist() == [0, 4, 16]


def test_memory_of_the_state_as_an_argument():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", tandem.zeros(3))

        def forward(self, x):
            self.total.add_(x)
            return self.total * x

    model = Model()
    program = tandem.export.entries(
        forward=tandem.export.Entry(model, (tandem.ones(3),)),
        read=tandem.export.Entry(lambda x: x + model.total, (tandem.ones(3),)),
        targets=[TARGET],
    )
    program(tandem.ones(3))
    total = program.state_dict["total"]
    with pytest.raises(TypeError, match="x shares memory with `total` of the state, and the entry writes to it"):
        program(total)
    with pytest.raises(TypeError, match="shares memory with `total`"):
        program(total[:1].expand(3))
    assert total.tolist() == [1, 1, 1]
    assert program.run("read", total).tolist() == [2, 2, 2]
    assert program(total.clone()).tolist() == [2, 2, 2]


def test_nothing_is_written_to_where_an_argument_does_not_fit():
    program = exported(lambda x, y: x.mul_(2) + y, (tandem.ones(3), tandem.ones(3)))
    x = tandem.ones(3)
    with pytest.raises(ValueError, match=r"expected y to be float32 \[3\], got float32 \[4\]"):
        program(x, tandem.ones(4))
    assert x._version == 0 and x.tolist() == [1, 1, 1]


def test_shared_memory_in_c(tmp_path):
    path = tmp_path / "shared.tandem"
    exported(lambda x, y: x.mul_(2) + y, (tandem.ones(3), tandem.ones(3))).save(path)
    program = c_programs.Program(c_programs.Library(str(LIBRARY)), str(path))
    memory = np.arange(6, dtype=np.float32)
    with pytest.raises(RuntimeError, match="3: forward: y shares memory with x, which the entry writes to"):
        program.run(0, [memory[:3], memory[2:5]])
    assert memory.tolist() == [0, 1, 2, 3, 4, 5]
    assert program.run(0, [memory[:3], memory[3:]])[0].tolist() == [3, 6, 9]
    program.close()


def test_null_pointers_in_c(tmp_path):
    """What is not given is an error, but for memory of no bytes and numbers."""
    path = tmp_path / "given.tandem"
    exported(lambda x, y, by: (x * by, y.sum()), (tandem.ones(3), tandem.ones(0, 2), 2.0)).save(path)
    library = c_programs.Library(str(LIBRARY))
    program = c_programs.Program(library, str(path))
    x, results = np.ones(3, np.float32), [np.zeros(3, np.float32), np.zeros((), np.float32)]

    def places(*arrays):
        return (c.c_void_p * len(arrays))(*[a if a is None else a.ctypes.data for a in arrays])

    run = functools.partial(library, "run", program.context, c.c_size_t(0))
    run(places(x, None), None, places(*results))
    assert results[0].tolist() == [2, 2, 2]
    for arguments, given, message in (
        (None, results, "3: the array of arguments is a null pointer"),
        ([x, x], None, "3: the array of results is a null pointer"),
        ([None, x], results, "3: forward: the memory of x is a null pointer"),
        ([x, x], [results[0], None], "3: forward: the memory of 1 is a null pointer"),
    ):
        with pytest.raises(RuntimeError, match=message):
            run(arguments and places(*arguments), None, given and places(*given))
    for function, args in (
        ("program_open", (None, None, c.byref(c.c_void_p()))),
        ("find_entry", (program.program, None, c.byref(c.c_size_t()))),
        ("state_save", (program.context, None)),
        ("state_load", (program.context, None)),
    ):
        with pytest.raises(RuntimeError, match="3: the (path|name) is a null pointer"):
            library(function, *args)
    library.c.tandem_program_note.restype = c.c_void_p
    assert library.c.tandem_program_note(program.program, None) is None
    program.close()


def out_of_range(x, index):
    return x[index * 2]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (out_of_range, (tandem.ones(4, 3), tandem.tensor([1, 9]))),
        (lambda x, index: x[index.cumsum(0)], (tandem.ones(4, 3), tandem.tensor([1, 9]))),
        (nn.functional.one_hot, (tandem.tensor([1, 9]), 3)),
        (nn.functional.cross_entropy, (tandem.ones(2, 3), tandem.tensor([1, 9]))),
        (tandem.linalg.cholesky, (-tandem.eye(3),)),
        (tandem.linalg.inv, (tandem.zeros(3, 3),)),
    ],
)
def test_examples_that_an_operation_refuses(function, args):
    """The error is the operation's own."""
    with pytest.raises(Exception) as eager:  # noqa: PT011
        function(*args)
    with pytest.raises(type(eager.value)) as saved:
        exported(function, args)
    assert str(saved.value).partition("\n")[0] == str(eager.value).partition("\n")[0]
    with pytest.raises(type(eager.value)):
        tandem.compile(function, fullgraph=True)(*args)


def test_an_error_that_the_function_takes_is_no_part_of_a_program():
    def tries(x, index):
        try:
            return x[index]
        except IndexError:
            return x

    with pytest.raises(RuntimeError, match="cannot be saved: .*an operation fails"):
        exported(tries, (tandem.ones(4), tandem.tensor([9])))


def test_sizes_that_the_examples_elements_do_not_fit():
    """An index of the example is out of range for smaller sizes, which calls with others have."""

    def messages(x, edges, weights):
        sent = x[edges[0]] * weights.unsqueeze(-1)
        count = nn.functional.one_hot(edges[1].clamp(max=2), 3).sum(0)
        return tandem.zeros_like(x).index_add_(0, edges[1], sent), x.gather(0, edges[:1, :1].expand(1, 3)), count

    nodes, edges = Dim("nodes", max=6), Dim("edges", min=1, max=5)
    example = tandem.randn(6, 3), tandem.tensor([[5, 0, 3], [1, 4, 5]]), tandem.randn(3)
    spec = {"x": {0: nodes}, "edges": {1: edges}, "weights": {0: edges}}
    program = exported(messages, example, dynamic_shapes=spec)
    for n, m in ((6, 3), (1, 1), (2, 5), (5, 1)):
        args = tandem.randn(n, 3), tandem.randint(0, n, (2, m)), tandem.randn(m)
        for got, expected in zip(program(*args), messages(*args), strict=True):
            assert_same_bits(got, expected)
    with pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"):
        program(tandem.randn(2, 3), tandem.tensor([[0], [2]]), tandem.randn(1))


# ---- numbers that are read of tensors -------------------------------------------------------------------------------


def test_numbers_that_a_step_reads(tmp_path):
    """They are results of one element in the file, and numbers again in Python."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = tandem.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        right = (out.argmax(1) == y).sum()
        return {"loss": loss.item(), "right": int(right), "out": out.detach(), "again": [float(loss), right.item()]}

    batches = [(tandem.randn(6, 4), tandem.randint(0, 3, (6,))) for _ in range(4)]
    program = tandem.export.training_step(step, batches[0], targets=[TARGET])
    tandem.export.save(program, tmp_path / "step.tandem")
    loaded = tandem.export.load(tmp_path / "step.tandem")
    for batch in batches:
        expected = step(*batch)
        for got in (program(*batch), loaded(*batch)):
            assert_same_bits(got.pop("out"), expected["out"])
            assert repr(got) == repr({k: v for k, v in expected.items() if k != "out"})


def test_numbers_that_a_forward_reads_at_other_sizes():
    program = exported(
        lambda x: (x * 2, x.sum().item(), (x > 0).sum().item()),
        (tandem.ones(3),),
        dynamic_shapes=({0: Dim("n", max=5)},),
    )
    for x in (tandem.arange(5.0), tandem.zeros(2), -tandem.ones(1)):
        doubled, total, positive = program(x)
        assert_same_bits(doubled, x * 2)
        assert (total, positive) == (x.sum().item(), (x > 0).sum().item()) and type(positive) is int


def test_very_many_numbers():
    program = exported(lambda x: [t.item() for t in x], (tandem.ones(40),))
    assert program(tandem.arange(40.0)) == list(range(40))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.sum().item(),
        lambda x: x if x.sum().item() > 1 else -x,
        lambda x: f"{x.sum().item()}",
        lambda x: tandem.full((2,), x.sum().item()),
        lambda x: len({x.sum().item()}),
        lambda x: [1, 2, 3][int(x.sum())],
        lambda x: x[: int(x.sum())],
        lambda x: sorted([x[0].item(), x[1].item()]),
        lambda x: sorted([0, 1], key=lambda i: x[i].item()),
        lambda x: round(x.sum().item(), 2),
        lambda x: list(map(range, iter([int(x.sum())]))),
        lambda x: x.tolist(),
        lambda x: bool(x.sum() > 1),
    ],
)
def test_numbers_that_a_function_looks_at(function):
    with pytest.raises(tandem.DataReadError, match=r"test_calls.py:\d+: the value of a tensor is read"):
        exported(function, (tandem.ones(2),))
