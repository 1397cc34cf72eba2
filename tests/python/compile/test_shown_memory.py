"""Memory that recorded operations have read, and that changes by what is not recorded: NumPy, DLPack, pointers, other
threads, saved programs. What was read before is what it was then, in `lazy` and in compiled functions."""

from __future__ import annotations

import contextlib
import ctypes
import threading

import numpy as np
import pytest

import tandem


def in_a_thread(change):
    thread = threading.Thread(target=change)
    thread.start()
    thread.join()


CHANGES = {
    "numpy": lambda x: x.numpy().__setitem__(0, 100),
    "numpy of a view": lambda x: x[1:].numpy().__setitem__(0, 100),
    "asarray": lambda x: np.asarray(x).__setitem__(0, 100),
    "ufunc": lambda x: np.add(x.numpy(), 1, out=x.numpy()),
    "memoryview": lambda x: memoryview(x.numpy()).__setitem__(0, 5.0),
    "dlpack": lambda x: tandem.from_dlpack(x).__setitem__(0, 100),
    "pointer": lambda x: setattr(ctypes.c_float.from_address(x.data_ptr()), "value", 100.0),
    "other dtype": lambda x: x.view(tandem.int32).__setitem__(0, 7),
    "storage": lambda x: x.untyped_storage().fill_(0),
    "a thread": lambda x: in_a_thread(lambda: x.add_(1)),
    "a thread, composite": lambda x: in_a_thread(lambda: x.index_add_(0, tandem.tensor([0]), tandem.ones(1))),
    "a thread, several": lambda x: in_a_thread(lambda: tandem._foreach_add_([x, tandem.ones(2)], 1)),
    "a thread, numpy": lambda x: in_a_thread(lambda: x.numpy().__setitem__(0, 100)),
    "a thread, lazy": lambda x: in_a_thread(lambda: lazily(lambda: x.mul_(3))),
    "a thread, compiled": lambda x: in_a_thread(lambda: COMPILED(x)),
    "windows that meet": lambda x: x.as_strided((2, 2), (1, 1)).mul_(2),
}
READS = {
    "all": lambda x: x * 2,
    "a view": lambda x: x[:2].sum(),
    "places": lambda x: x[tandem.tensor([0, 0])],
    "product": lambda x: x.view(2, 2) @ x.view(2, 2),
}
COMPILED = tandem.compile(lambda x: x.add_(1))


def lazily(function):
    with tandem.lazy():
        return function()


@pytest.mark.parametrize("mode", ["lazy", "after lazy", "compile"])
@pytest.mark.parametrize("made", ["before", "inside"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_read_before_a_change(change, read, made, mode):
    def body(x):
        x = x + 0 if made == "inside" else x
        y = READS[read](x)
        CHANGES[change](x)
        return y, x + 0

    def fresh():
        return tandem.tensor([1.0, 2.0, 3.0, 4.0])

    expected = [t.tolist() for t in body(fresh())]
    if mode == "compile":
        compiled = tandem.compile(body)
        found = [compiled(fresh()) for _ in range(3)]
    elif mode == "lazy":
        x = fresh()
        with tandem.lazy():
            found = [body(x)]
    else:
        x = fresh()
        with tandem.lazy():
            y = READS[read](x)
        CHANGES[change](x)
        found = [(y, x + 0)]
    for results in found:
        assert [t.tolist() for t in results] == expected


@pytest.mark.parametrize("mode", ["lazy", "compile"])
def test_saved_programs_change_what_was_read(tmp_path, mode):
    def step(x):
        x.add_(1)
        return x * 3

    tandem.export.export(step, (tandem.ones(2),)).save(tmp_path / "step.tandem")
    program = tandem.export.load(tmp_path / "step.tandem")

    def body(x):
        y = x * 2
        return y, program(x)

    compiled = tandem.compile(body) if mode == "compile" else body
    for _ in range(3):
        x = tandem.ones(2)
        with tandem.lazy() if mode == "lazy" else contextlib.nullcontext():
            y, z = compiled(x)
        assert (y.tolist(), z.tolist(), x.tolist()) == ([2, 2], [6, 6], [2, 2])


def test_a_thread_that_records_while_another_runs_its_work():
    """A write of one thread has what another recorded run, which goes on recording meanwhile."""
    x = tandem.ones(1 << 18)
    errors = []

    def write():
        try:
            for _ in range(40):
                x.add_(1)
        except Exception as e:  # pragma: no cover
            errors.append(e)

    thread = threading.Thread(target=write)
    with tandem.lazy():
        thread.start()
        sums = []
        for k in range(40):
            y = x * 0 + k
            sums.append((y + 1) * 2)
        thread.join()
        assert [s[0].item() for s in sums] == [2 * (k + 1) for k in range(40)]
    assert not errors and x[0].item() == 41


def in_turns(seed, lazy):
    """What threads that work on the same tensors by turns see and leave, each in a lazy block or not."""
    random = np.random.default_rng(seed)
    steps = [tuple(int(n) for n in random.integers(0, [3, 8, 4, 4])) for _ in range(25)]
    tensors = [tandem.arange(4.0) + k for k in range(4)]
    seen, errors, turn, changed = [], [], [0], threading.Condition()

    def act(what, i, j):
        x, y = tensors[i], tensors[j]
        if what == 0:
            x.add_(1)
        elif what == 1:
            x.mul_(y if i != j else 2)
        elif what == 2:
            seen.append(x * 2 + y)
        elif what == 3:
            tensors[i] = x + y
        elif what == 4:
            seen.extend((x.sum(), y[1:] * 3))
        elif what == 5:
            x.numpy()[0] = 5
        elif what == 6:
            x[1:].copy_(y[:-1] * 1)
        else:
            seen.append(x.clone())
            x.zero_()

    def work(me):
        try:
            with tandem.lazy() if lazy[me] else contextlib.nullcontext():
                for number, (who, *rest) in enumerate(steps):
                    if who != me:
                        continue
                    with changed:
                        changed.wait_for(lambda number=number: turn[0] == number or errors)
                        if errors:
                            return
                        act(*rest)
                        turn[0] += 1
                        changed.notify_all()
        except Exception as error:
            with changed:
                errors.append(error)
                changed.notify_all()

    threads = [threading.Thread(target=work, args=(me,)) for me in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    return [t.tolist() for t in (*seen, *tensors)]


@pytest.mark.parametrize("seed", range(40))
def test_threads_that_take_turns(seed):
    expected = in_turns(seed, [False, False, False])
    for lazy in ([True, True, True], [True, False, True], [False, True, False]):
        assert in_turns(seed, lazy) == expected, lazy
