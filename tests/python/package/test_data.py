"""Data sets, samplers, collation and the loader."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import tandem
from tandem.utils import data


class Squares(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return tandem.tensor(index * index), index


class Stream(data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


def test_tensor_dataset_and_its_errors():
    pairs = data.TensorDataset(tandem.arange(6).reshape(3, 2), tandem.arange(3))
    assert len(pairs) == 3 and [t.tolist() for t in pairs[1]] == [[2, 3], 1]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(tandem.zeros(2), tandem.zeros(3))


def test_concat_subset_and_stack():
    both = Squares(3) + Squares(2)
    assert len(both) == 5 and both[4][1] == 1 and both[-1][1] == 1
    with pytest.raises(ValueError, match="should not exceed"):
        both[-6]
    part = data.Subset(both, [4, 0])
    assert [part[i][1] for i in range(2)] == [1, 0]
    stacked = data.StackDataset(a=[1, 2], b=[3, 4])
    assert stacked[1] == {"a": 2, "b": 4} and len(stacked) == 2
    assert list(Stream(2) + Stream(1)) == [0, 1, 0]


def test_random_split():
    tandem.manual_seed(0)
    parts = data.random_split(range(10), [7, 3])
    assert [len(p) for p in parts] == [7, 3]
    assert sorted([*parts[0], *parts[1]]) == list(range(10))
    assert [len(p) for p in data.random_split(range(10), [0.35, 0.35, 0.3])] == [4, 3, 3]
    with pytest.raises(ValueError, match="does not equal the length"):
        data.random_split(range(10), [1, 2])


def test_loader_batches_in_order():
    loader = data.DataLoader(Squares(5), batch_size=2)
    batches = [(x.tolist(), i.tolist()) for x, i in loader]
    assert batches == [([0, 1], [0, 1]), ([4, 9], [2, 3]), ([16], [4])]
    assert len(loader) == 3
    assert len(list(data.DataLoader(Squares(5), batch_size=2, drop_last=True))) == 2
    assert [i for _, i in data.DataLoader(Squares(2), batch_size=None)] == [0, 1]


def test_loader_of_tensors_equals_stacking():
    pairs = data.TensorDataset(tandem.rand(7, 2), tandem.arange(7))

    class Plain(data.Dataset):
        __len__ = pairs.__len__
        __getitem__ = pairs.__getitem__

    for (a, b), (c, d) in zip(data.DataLoader(pairs, 3), data.DataLoader(Plain(), 3), strict=True):
        assert a.tolist() == c.tolist() and b.tolist() == d.tolist() and b.dtype == d.dtype


def test_shuffling_follows_the_seed():
    def order(generator=None):
        loader = data.DataLoader(data.TensorDataset(tandem.arange(20)), 6, shuffle=True, generator=generator)
        return [x for (batch,) in loader for x in batch.tolist()]

    tandem.manual_seed(1)
    first = order()
    second = order()
    tandem.manual_seed(1)
    assert order() == first and first != second and sorted(first) == list(range(20))
    generators = [tandem.Generator() for _ in range(2)]
    for g in generators:
        g.manual_seed(5)
    assert order(generators[0]) == order(generators[1])


def test_iterable_dataset():
    assert [b.tolist() for b in data.DataLoader(Stream(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Stream(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Stream(5), shuffle=True)


def test_samplers():
    tandem.manual_seed(0)
    assert sorted(data.RandomSampler(range(5))) == list(range(5))
    assert len(list(data.RandomSampler(range(5), num_samples=12))) == 12
    assert all(0 <= i < 5 for i in data.RandomSampler(range(5), replacement=True, num_samples=50))
    assert sorted(data.SubsetRandomSampler([3, 9])) == [3, 9]
    drawn = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 2000))
    assert set(drawn) == {1, 2} and 0.7 < drawn.count(2) / 2000 < 0.8
    assert sorted(data.WeightedRandomSampler([1.0, 5.0, 2.0], 3, replacement=False)) == [0, 1, 2]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    loader = data.DataLoader(Squares(6), batch_sampler=[[5, 1], [2]])
    assert [i.tolist() for _, i in loader] == [[5, 1], [2]]


def test_collate():
    Point = namedtuple("Point", "x y")
    out = data.default_collate([{"p": Point(1, 2.0), "s": "a"}, {"p": Point(3, 4.0), "s": "b"}])
    assert out["p"].x.tolist() == [1, 3] and out["p"].y.dtype == tandem.float64 and out["s"] == ["a", "b"]
    arrays = data.default_collate([np.ones(2, dtype=np.float32), np.zeros(2, dtype=np.float32)])
    assert arrays.tolist() == [[1.0, 1.0], [0.0, 0.0]] and arrays.dtype == tandem.float32
    assert data.default_collate([True, False]).dtype == tandem.bool
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1, 2], [1]])
    with pytest.raises(TypeError, match="found <class 'object'>"):
        data.default_collate([object()])


def test_samples_of_numpys_strings_stay_a_list():
    names = np.array(["a", "b"])
    x, out = data.default_collate([(np.float32(1), names[0]), (np.float32(2), names[1])])
    assert x.tolist() == [1, 2] and list(out) == ["a", "b"]


def test_collate_goes_by_functions_for_classes():
    class Named:
        def __init__(self, name):
            self.name = name

    class Special(Named):
        pass

    from tandem.utils.data.collate import collate, default_collate_fn_map

    def joined(batch, *, collate_fn_map):
        assert collate_fn_map[Named] is joined
        return "".join(item.name for item in batch)

    rules = {**default_collate_fn_map, Named: joined}
    x, text = collate([(1, Special("a")), (2, Special("b"))], collate_fn_map=rules)
    assert x.tolist() == [1, 2] and text == "ab"
    with pytest.raises(TypeError, match="found .*Named"):
        data.default_collate([Named("a")])
    default_collate_fn_map[Named] = joined
    try:
        assert data.default_collate([{"a": Named("x")}, {"a": Named("y")}]) == {"a": "xy"}
    finally:
        del default_collate_fn_map[Named]


def test_what_programs_ask_of_a_loader():
    loader = data.DataLoader(Squares(3), batch_size=2, num_workers=1, multiprocessing_context="fork")
    assert loader.multiprocessing_context.get_start_method() == "fork"
    assert loader._auto_collation and loader._index_sampler is loader.batch_sampler
    single = data.DataLoader(Squares(3), batch_size=None)
    assert not single._auto_collation and single._index_sampler is single.sampler
    assert data.ConcatDataset.cumsum([[1, 2], [3]]) == [2, 3]


def test_fetching_many_at_once():
    class Many(Squares):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert [b.tolist() for b in data.DataLoader(Many(4), batch_size=2)] == [[0, -1], [-2, -3]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"shuffle": True, "sampler": [0]}, "mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "mutually exclusive with drop_last"),
        ({"batch_size": 0}, "positive integer"),
        ({"num_workers": -1}, "non-negative"),
        ({"timeout": -1}, "non-negative"),
        ({"prefetch_factor": 2}, "num_workers > 0"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"multiprocessing_context": "fork"}, "num_workers > 0"),
        ({"multiprocessing_context": "none", "num_workers": 1}, "valid start method"),
    ],
)
def test_loader_argument_errors(options, text):
    with pytest.raises(ValueError, match=text):
        data.DataLoader(Squares(3), **options)


def test_collate_keeps_types_of_containers():
    class Words(list):
        def __init__(self, items, language="en"):
            super().__init__(items)
            self.language = language

    out = data.default_collate([Words([1, 2], "de"), Words([3, 4], "de")])
    assert type(out) is Words and out.language == "de" and [t.tolist() for t in out] == [[1, 3], [2, 4]]
    counts = data.default_collate([defaultdict(int, a=1), defaultdict(int, a=2)])
    assert type(counts) is defaultdict and counts["a"].tolist() == [1, 2] and counts["b"] == 0
    ordered = data.default_collate([OrderedDict(b=1.0, a="x")] * 2)
    assert type(ordered) is OrderedDict and list(ordered) == ["b", "a"] and ordered["a"] == ["x", "x"]
    converted = data.default_convert({"a": (np.ones(2), "s"), "b": [np.float32(1)]})
    assert converted["a"][0].tolist() == [1, 1] and converted["a"][1] == "s" and converted["b"][0].item() == 1


def test_subsets_and_stacks_fetch_many_at_once():
    class Many(Squares):
        asked = []

        def __getitems__(self, indices):
            self.asked.append(indices)
            return [self[i] for i in indices]

    part = data.Subset(Many(9), [8, 3, 1])
    assert [i.tolist() for _, i in data.DataLoader(part, batch_size=2)] == [[8, 3], [1]]
    assert Many.asked == [[8, 3], [1]]
    stacked = data.StackDataset(x=Many(4), y=[5, 6, 7, 8])
    batch = next(iter(data.DataLoader(stacked, batch_size=3)))
    assert batch["x"][1].tolist() == [0, 1, 2] and batch["y"].tolist() == [5, 6, 7]
    assert [t.tolist() for t in next(iter(data.DataLoader(data.StackDataset([1, 2], [3, 4]), 2)))] == [[1, 2], [3, 4]]

    class Wrong(Squares):
        def __getitems__(self, indices):
            return []

    with pytest.raises(ValueError, match="Expected 2, got 0"):
        next(iter(data.DataLoader(data.StackDataset(Wrong(2), [1, 2]), 2)))

    class Flipped(data.Subset):
        def __getitem__(self, index):
            return -self.dataset[self.indices[index]]

    with pytest.raises(NotImplementedError, match="Flipped overrides __getitem__ but not __getitems__"):
        Flipped([1, 2], [0])


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("count", "replicas"), [(10, 2), (11, 3), (2, 5), (7, 1)])
def test_distributed_shares(count, replicas, drop_last):
    shares = [data.DistributedSampler(range(count), replicas, rank, drop_last=drop_last) for rank in range(replicas)]
    for sampler in shares:
        sampler.set_epoch(3)
    drawn = [list(sampler) for sampler in shares]
    assert [len(d) for d in drawn] == [len(s) for s in shares] == [len(shares[0])] * replicas
    every = [i for d in drawn for i in d]
    assert {*every} <= {*range(count)}
    if drop_last:
        assert len({*every}) == len(every) == count // replicas * replicas
    else:
        assert {*every} == {*range(count)} and len(every) - count < replicas or count < replicas
    again = list(shares[0])
    shares[0].set_epoch(4)
    assert again == drawn[0] and (count < 7 or list(shares[0]) != again)
    plain = data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    assert list(plain) == [1, 3, 0]


def test_distributed_sampler_errors():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        data.DistributedSampler(range(3))
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        data.DistributedSampler(range(3), 2, 2)


def test_a_loader_is_fixed_once_made():
    loader = data.DataLoader(range(4), batch_size=2, pin_memory=True, worker_init_fn=print)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    loader.worker_init_fn = None
    assert data.DataLoader[int] is not None
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples=0"):
        data.DataLoader([], shuffle=True)


def test_a_subclass_puts_its_own_sampler_in():
    class Twice(data.DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._DataLoader__initialized = False
            self.batch_sampler = [*self.batch_sampler] * 2
            self._DataLoader__initialized = True

    loader = Twice(data.TensorDataset(tandem.arange(3)), batch_size=2)
    assert [x.tolist() for (x,) in loader] == [[0, 1], [2], [0, 1], [2]]
    with pytest.raises(ValueError, match="should not be set after Twice is initialized"):
        loader.batch_sampler = []


def test_a_stream_that_is_longer_than_it_told_warns():
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

        def __len__(self):
            return 3

    loader = data.DataLoader(Stream(), batch_size=2)
    assert len(list(loader)) == 3 and len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2 .* but 3 samples have been fetched"):
        assert len(list(loader)) == 3


def test_samplers_draw_when_they_are_first_asked():
    for sampler in (
        data.RandomSampler(range(8)),
        data.RandomSampler(range(8), replacement=True),
        data.WeightedRandomSampler([1.0] * 8, 8),
        data.WeightedRandomSampler([1.0] * 8, 8, replacement=False),
        data.SubsetRandomSampler(range(8)),
    ):
        passes, found = (iter(sampler), iter(sampler)), []
        for one in passes:
            tandem.manual_seed(0)
            found.append([next(one)])
        for one, seen in zip(passes, found):
            seen.extend(one)
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("weights", "count", "replacement", "text"),
    [
        ([1.0, -1.0], 1, True, "element < 0"),
        ([1.0, float("nan")], 1, True, "`nan`"),
        ([0.0, 0.0], 1, True, "invalid multinomial distribution"),
        ([1.0], 2, False, "cannot sample n_sample > "),
    ],
)
def test_weights_that_nothing_can_be_drawn_by(weights, count, replacement, text):
    sampler = data.WeightedRandomSampler(weights, count, replacement)
    with pytest.raises(RuntimeError, match=text):
        list(sampler)
