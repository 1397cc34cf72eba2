"""Batches made in worker processes: those of this process, in its order; failures, ends and random numbers."""

from __future__ import annotations

import multiprocessing
import os
import random
import time

import numpy as np
import pytest

import tandem
from tandem.utils import data


class Pairs(data.Dataset):
    def __init__(self, count=7):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return i, tandem.tensor([i * 1.0, -i])


class Shares(data.IterableDataset):
    """0 to 9, shared out to the workers."""

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(10) if info is None else range(info.id, 10, info.num_workers))


class Draws(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        info = data.get_worker_info()
        drawn = (float(tandem.rand(())), random.random(), float(np.random.rand()))
        return info.id, info.num_workers, info.seed == tandem.initial_seed(), len(info.dataset), drawn


class Fails(data.Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.how() if i == 1 else i


def listed(batches):
    if isinstance(batches, tandem.Tensor):
        return batches.tolist()
    return [listed(b) for b in batches] if isinstance(batches, list | tuple | data.DataLoader) else batches


def raising():
    raise KeyError("no such sample")


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}])
@pytest.mark.parametrize("more", [{}, {"prefetch_factor": 1}, {"persistent_workers": True}])
def test_workers_make_the_batches_of_this_process(options, more):
    loader = data.DataLoader(Pairs(), **options, num_workers=2, **more)
    expected = listed(data.DataLoader(Pairs(), **options))
    assert listed(loader) == expected
    assert listed(loader) == expected
    next(iter(loader))
    assert listed(loader) == expected, "after a pass that was left"
    assert listed(data.DataLoader(Pairs(0), num_workers=1, **options)) == []


def test_shuffled_batches_do_not_depend_on_the_workers():
    orders = []
    for count in (0, 1, 2):
        tandem.manual_seed(3)
        order = [
            i for batch, _ in data.DataLoader(Pairs(), batch_size=2, shuffle=True, num_workers=count) for i in batch
        ]
        orders.append(([i.item() for i in order], tandem.rand(()).item()))
    assert orders[0] == orders[1] == orders[2]


def test_streams_are_shared_out():
    assert listed(data.DataLoader(Shares(), batch_size=3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    loader = data.DataLoader(Shares(), batch_size=3, num_workers=2, persistent_workers=True)
    assert listed(loader) == listed(loader) == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
    dropped = data.DataLoader(Shares(), batch_size=3, num_workers=3, drop_last=True)
    assert listed(dropped) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert listed(data.DataLoader(Shares(), None, num_workers=2)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_any_order():
    loader = data.DataLoader(Pairs(), batch_size=2, num_workers=2, in_order=False)
    assert sorted(i for batch, _ in listed(loader) for i in batch) == list(range(7))


def test_what_a_worker_knows_and_draws():
    assert data.get_worker_info() is None

    def passes(seed):
        generator = tandem.Generator().manual_seed(seed)
        return list(data.DataLoader(Draws(), None, num_workers=2, generator=generator))

    first = passes(1)
    assert [row[:4] for row in first] == [[i % 2, 2, True, 4] for i in range(4)]
    assert first == passes(1) and first != passes(2)
    assert first[0][4] != first[1][4], "workers draw different numbers"


def test_workers_are_started_by_a_function():
    def start(worker):
        tandem.manual_seed(100 + worker)

    rows = list(data.DataLoader(Draws(), None, num_workers=2, worker_init_fn=start))
    for worker in (0, 1):
        tandem.manual_seed(100 + worker)
        assert [rows[worker][4][0], rows[worker + 2][4][0]] == [tandem.rand(()).item(), tandem.rand(()).item()]


def test_spawned_workers():
    loader = data.DataLoader(Pairs(3), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert listed(loader) == listed(data.DataLoader(Pairs(3), batch_size=2))


def test_exceptions_of_workers_are_raised_here():
    batches = iter(data.DataLoader(Fails(raising), num_workers=2))
    assert next(batches).tolist() == [0]
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 1.\nOriginal Traceback") as e:
        next(batches)
    assert "no such sample" in str(e.value) and "\n" in str(e.value)
    assert [b.tolist() for b in batches] == [[2], [3]], "the others go on"

    class Own(Exception):
        def __init__(self, text, number):
            super().__init__(text)

    def own():
        raise Own("an error with two arguments", 2)

    with pytest.raises(RuntimeError, match="Caught Own in DataLoader worker process 0"):
        list(data.DataLoader(Fails(own), num_workers=1))
    with pytest.raises(RuntimeError, match="an error with two arguments"):
        list(data.DataLoader(Pairs(), num_workers=1, worker_init_fn=lambda _: own()))
    with pytest.raises(Exception, match="pickle local object"):
        list(data.DataLoader([lambda: 1], None, num_workers=1, collate_fn=lambda x: x))


def test_workers_that_are_late_or_gone():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        list(data.DataLoader(Fails(lambda: time.sleep(60)), num_workers=1, timeout=0.2))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(data.DataLoader(Fails(lambda: os._exit(3)), num_workers=1))


def test_workers_end_with_the_pass():
    def workers():
        return len(multiprocessing.active_children())

    before = workers()
    batches = iter(data.DataLoader(Pairs(), num_workers=2))
    next(batches)
    assert workers() == before + 2, "one each"
    list(batches)
    assert workers() == before
    kept = data.DataLoader(Pairs(), num_workers=2, persistent_workers=True)
    list(kept)
    assert workers() == before + 2
    del kept, batches
    assert workers() == before


@pytest.mark.parametrize("mode", ["lazy", "compiled"])
def test_loaders_in_recordings(mode):
    def total():
        start = tandem.ones(2) * 3
        for _, batch in data.DataLoader(Pairs(4), batch_size=2, num_workers=1):
            start = start + batch.sum(0)
        return start

    if mode == "compiled":
        compiled = tandem.compile(total)
        assert [compiled().tolist() for _ in range(2)] == [total().tolist()] * 2
    else:
        with tandem.lazy():
            result = total()
        assert result.tolist() == total().tolist()


def test_more_workers_than_cores_are_warned_of():
    with pytest.warns(UserWarning, match="will create 1000 worker processes"):
        data.DataLoader(tandem.arange(3), num_workers=1000)


def test_workers_that_ended_between_two_passes_are_named():
    before = set(multiprocessing.active_children())
    loader = data.DataLoader(tandem.arange(4), num_workers=1, persistent_workers=True)
    assert len(list(loader)) == 4
    (worker,) = set(multiprocessing.active_children()) - before
    worker.kill()
    with pytest.raises(RuntimeError, match=f"{worker.pid}.* exited unexpectedly"):
        list(loader)
