"""Futures of operations, communication hooks, ranks with more batches than others, and copies of wrapped modules."""

from __future__ import annotations

import textwrap

import pytest
from processes import run

pytestmark = pytest.mark.cpu

START = """
from tandem.distributed.algorithms.ddp_comm_hooks import default_hooks
from tandem.distributed.algorithms.join import Join, Joinable, JoinHook
from tandem.futures import Future
DDP = nn.parallel.DistributedDataParallel

def make(seed=3):
    tandem.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

def batch(k=0, r=None):
    return tandem.linspace(-1, 1, 24).reshape(6, 4) * ((rank if r is None else r) + 1) + k * 0.1

def gradients(model, k=0):
    model.zero_grad()
    model(batch(k)).square().mean().backward()
    return [p.grad.clone() for p in model.parameters()]

def same(a, b):
    return all((x == y).all() for x, y in zip(a, b, strict=True))

def close(a, b, **kw):
    for x, y in zip(a, b, strict=True):
        tandem.testing.assert_close(x, y, **kw)
"""


def ddp(program: str, world: int = 2) -> None:
    run(START + textwrap.dedent(program) + "\ndist.destroy_process_group()\n", world=world)


def test_futures_of_operations():
    ddp(
        """
        x = lambda: tandem.ones(2) * (rank + 1)
        future = dist.all_reduce(x(), async_op=True).get_future()
        assert isinstance(future, Future)
        assert [t.tolist() for t in future.wait()] == [[3, 3]] == [t.tolist() for t in future.value()] and future.done()
        # What each operation fills.
        one, two = lambda: tandem.zeros(2), lambda: [tandem.zeros(2) for _ in range(2)]
        def filled(work):
            found = work.get_future().wait()
            assert found is work.get_future().value() and work.result() == found
            return found
        assert filled(dist.broadcast(x(), 0, async_op=True))[0].tolist() == [1, 1]
        assert filled(dist.reduce(x(), 0, async_op=True))[0].tolist() == ([3, 3] if rank == 0 else [2, 2])
        assert [t.tolist() for t in filled(dist.all_gather(two(), x(), async_op=True))] == [[1, 1], [2, 2]]
        out = filled(dist.all_gather_into_tensor(tandem.zeros(4), x(), async_op=True))
        assert out[0].tolist() == [1, 1, 2, 2]
        out = filled(dist.gather(x(), two() if rank == 0 else None, dst=0, async_op=True))
        assert [t.tolist() for t in out] == ([[1, 1], [2, 2]] if rank == 0 else [])
        out = filled(dist.scatter(one(), [x(), x() * 5] if rank == 0 else None, src=0, async_op=True))
        assert out[0].tolist() == [[1, 1], [5, 5]][rank]
        assert filled(dist.reduce_scatter(one(), [x(), x()], async_op=True))[0].tolist() == [3, 3]
        assert filled(dist.reduce_scatter_tensor(one(), tandem.ones(4), async_op=True))[0].tolist() == [2, 2]
        assert filled(dist.all_to_all_single(one(), x(), async_op=True))[0].tolist() == [1, 2]
        assert [t.tolist() for t in filled(dist.all_to_all(two(), [x(), x()], async_op=True))] == [[1, 1], [2, 2]]
        assert filled(dist.barrier(async_op=True)) == []
        work = dist.isend(x(), 1) if rank == 0 else dist.irecv(one(), 0)
        raises(RuntimeError, "messages between two ranks have no future", work.get_future)
        work.synchronize()
        # What has come to its end is let go of at once.
        import gc, weakref
        gc.disable()
        t = x()
        work = dist.all_reduce(t, async_op=True)
        future = work.get_future()
        assert work.get_future() is future and future.then(lambda f: f.value()[0] + 1).wait().tolist() == [4, 4]
        gone = [weakref.ref(o) for o in (work, future)]
        dist.barrier()
        del work, future
        assert [g() for g in gone] == [None, None]
        gc.enable()
        # Callbacks, without anybody who waits.
        seen, came = [], __import__("threading").Event()
        future = dist.all_reduce(x(), async_op=True).get_future()
        future.add_done_callback(lambda f: (seen.append(f.value()[0].tolist()), came.set()))
        assert came.wait(20) and seen == [[3, 3]]
        # One after another, and with operations of their own.
        again = lambda f: dist.all_reduce(f.value()[0], async_op=True).get_future().wait()[0]
        future = dist.all_reduce(x(), async_op=True).get_future().then(again).then(lambda f: f.wait() * 10)
        result = future.wait()
        assert result.tolist() == [60, 60] and not result.is_inference()
        failing = dist.all_reduce(x(), async_op=True).get_future().then(lambda f: 1 / 0)
        raises(RuntimeError, "ZeroDivisionError", failing.wait)
        # An operation that fails.
        future = dist.all_reduce(tandem.ones(2 + rank), async_op=True).get_future()
        raises(dist.DistBackendError, "the ranks do not agree", future.wait)
        assert future.done()
        raises(RuntimeError, "the ranks do not agree", future.then(lambda f: f.value()).wait)
        """
    )


def test_communication_hooks():
    ddp(
        """
        alone = make()
        plain = DDP(make(), bucket_cap_mb=0.0001)
        expected = gradients(plain)
        def hooked(hook, state=None, **kw):
            model = DDP(make(), bucket_cap_mb=0.0001, **kw)
            model.register_comm_hook(state, hook)
            return model
        # The same bits as without a hook.
        for state in (None, dist.group.WORLD, dist.new_group([0, 1])):
            model = hooked(default_hooks.allreduce_hook, state)
            assert same(gradients(model), expected) and same(gradients(model), expected)
        # What a hook sees, and when: before the backward has come to its end.
        seen = []
        def look(state, bucket: dist.GradBucket) -> Future[tandem.Tensor]:
            members = [p.grad for p in bucket.parameters()]
            assert [g.tolist() for g in bucket.gradients()] == [g.tolist() for g in members]
            assert bucket.buffer().tolist() == tandem.cat([g.flatten() for g in members]).tolist()
            missing = sum(p.grad is None for p in model.parameters())
            state.append((bucket.index(), bucket.is_last(), bucket.buffer().numel(), missing))
            future = Future()
            future.set_result(bucket.buffer() * 2)
            return future
        model = hooked(look, seen)
        local = gradients(model)
        model.module.load_state_dict(alone.state_dict())
        close(local, [2 * g for g in gradients(alone)])
        count = len(seen)
        assert count > 1 and sum(s[2] for s in seen) == 58, seen
        assert [s[:2] for s in seen] == [(k, k == count - 1) for k in range(count)]
        assert seen[0][3] > 0 and seen[-1][3] == 0, seen
        # Narrower on the way.
        for hook, rtol in ((default_hooks.fp16_compress_hook, 2e-3), (default_hooks.bf16_compress_hook, 2e-2)):
            got = gradients(hooked(hook))
            close(got, expected, rtol=rtol, atol=1e-4)
            assert not same(got, expected) and all(g.dtype == tandem.float32 for g in got)
            every = [None] * world
            dist.all_gather_object(every, [g.tolist() for g in got])
            assert every[0] == every[1]
        wrapped = hooked(default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
        assert same(gradients(wrapped), gradients(hooked(default_hooks.fp16_compress_hook)))
        wrapped = hooked(default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook))
        assert same(gradients(wrapped), gradients(hooked(default_hooks.bf16_compress_hook)))
        # Operations of the hook's own, one after another.
        def twice(state, bucket):
            first = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
            return first.then(lambda f: dist.all_reduce(f.value()[0], async_op=True).get_future().wait()[0] / 4)
        close(gradients(hooked(twice)), expected)
        # Gradients that are not synchronised have no hook, and parameters that are not used are zeros in it.
        seen.clear()
        model = hooked(look, seen)
        with model.no_sync():
            gradients(model)
        assert not seen
        class Branches(nn.Module):
            def __init__(self):
                super().__init__()
                self.branches = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 2)])
            def forward(self, x):
                return self.branches[rank](x)
        tandem.manual_seed(0)
        net = Branches()
        plain = DDP(net, find_unused_parameters=True)
        expected = gradients(plain)
        model = DDP(net, find_unused_parameters=True)
        model.register_comm_hook(None, default_hooks.allreduce_hook)
        assert same(gradients(model), expected)
        # Errors.
        model = DDP(make())
        raises(TypeError, "Communication hook must be callable", model.register_comm_hook, None, 3)
        def of_numbers(state, bucket: int): pass
        raises(ValueError, "bucket annotation should be dist.GradBucket", model.register_comm_hook, None, of_numbers)
        def to_number(state, bucket) -> int: pass
        raises(ValueError, "return annotation should be", model.register_comm_hook, None, to_number)
        raises(KeyError, "bucket", model.register_comm_hook, None, lambda state, b: b)
        model.register_comm_hook(None, lambda state, bucket: 3)
        raises(RuntimeError, "can only be called once", model.register_comm_hook, None, look)
        raises(RuntimeError, "should return a Future of a tensor, returned int", gradients, model)
        def short(state, bucket):
            future = Future()
            future.set_result(bucket.buffer()[1:])
            return future
        raises(RuntimeError, "should hold a tensor of", gradients, hooked(short))
        def failing(state, bucket):
            raise KeyError("oops")
        raises(KeyError, "oops", gradients, hooked(failing))
        """
    )


def test_ranks_with_more_batches():
    ddp(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.norm, self.last = nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)
            def forward(self, x):
                return self.last(self.norm(self.first(x)))

        def train(counts, make=make, joined=None, **kw):
            model = DDP(make(), bucket_cap_mb=0.0001, **kw)
            optimizer = tandem.optim.SGD(model.parameters(), lr=0.1)
            with model.join(**(joined or {})):
                for k in range(counts[rank]):
                    optimizer.zero_grad()
                    model(batch(k)).square().mean().backward()
                    optimizer.step()
            return model

        def alone(counts, divide_by_world=True):
            net = make()
            optimizer = tandem.optim.SGD(net.parameters(), lr=0.1)
            for k in range(max(counts)):
                optimizer.zero_grad()
                active = [r for r in range(world) if k < counts[r]]
                for r in active:
                    (net(batch(k, r)).square().mean() / (world if divide_by_world else len(active))).backward()
                optimizer.step()
            return [*net.parameters()]

        def everywhere(model):
            every = [None] * world
            dist.all_gather_object(every, [t.tolist() for t in model.state_dict().values()])
            assert all(e == every[0] for e in every)

        for counts in ((2, 3, 5), (4, 1, 0), (2, 2, 2), (0, 0, 0)):
            for divide in (True, False):
                model = train(counts, joined={"divide_by_initial_world_size": divide})
                close([*model.parameters()], alone(counts, divide), rtol=1e-5, atol=1e-6)
                everywhere(model)
        # With the same number of batches the bits are those without.
        assert same(train((3, 3, 3)).parameters(), train((3, 3, 3), joined={"enable": False}).parameters())
        # Buffers, parameters that are not used, and hooks.
        def net():
            tandem.manual_seed(1)
            return Net()
        for kw in ({}, {"broadcast_buffers": False}, {"find_unused_parameters": True}):
            model = train((1, 3, 2), net, **kw)
            everywhere(model)
            assert model.module.norm.num_batches_tracked.item() == 3, kw
        model = DDP(make())
        model.register_comm_hook(None, default_hooks.allreduce_hook)
        with model.join():
            for k in range(1 + rank):
                model(batch(k)).sum().backward()
        everywhere(model)
        # Gradients that are added up before.
        model = DDP(make())
        with model.join():
            for k in range(1 + rank):
                with model.no_sync():
                    model(batch(k)).sum().backward()
                model(batch(k)).sum().backward()
        # Without the block the model is as before.
        every = [None] * world
        dist.all_gather_object(every, [g.tolist() for g in gradients(model)])
        assert every[0] == every[1] == every[2]
        words = "exhausted all inputs" if rank == 0 else "Detected at least one rank that exhausted inputs"
        raises(RuntimeError, words, train, (1, 2, 3), joined={"throw_on_early_termination": True})
        raises(KeyError, "mine", lambda: exec("with model.join():\\n raise KeyError('mine')"))
        """,
        world=3,
    )


@pytest.mark.parametrize("where", ["hook", "join"])
def test_a_killed_rank_is_an_error_of_the_others(where):
    import signal

    program = """
        model = DDP(make())
        words = "the connection to rank 1 was closed"
        if {hooked}:
            model.register_comm_hook(None, default_hooks.fp16_compress_hook)
            gradients(model)
            out = model(batch()).sum()
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            raises(RuntimeError, words, out.backward)
        else:
            def train():
                with model.join():
                    for k in range(1 if rank == 0 else 4):
                        gradients(model, k)
                        if rank == 1 and k == 2:
                            os.kill(os.getpid(), signal.SIGKILL)
            raises(dist.DistBackendError, words, train)
        """.format(hooked=where == "hook")
    run(START + textwrap.dedent(program), world=3, fails={1: -signal.SIGKILL})


def test_other_joinables():
    ddp(
        """
        class Counter(Joinable):
            def __init__(self, group=None):
                super().__init__()
                self.count = self.shadowed = 0
                self.ended, self.kwargs, self.group = [], None, group
            def step(self):
                Join.notify_join_context(self)
                one = tandem.ones(1)
                dist.all_reduce(one)
                self.count += int(one.item())
            def join_hook(self, **kwargs):
                counter, self.kwargs = self, kwargs
                class Hook(JoinHook):
                    def main_hook(self):
                        dist.all_reduce(tandem.zeros(1))
                        counter.shadowed += 1
                    def post_hook(self, is_last_joiner):
                        counter.ended.append(is_last_joiner)
                return Hook()
            @property
            def join_device(self):
                return tandem.device("cpu")
            @property
            def join_process_group(self):
                return self.group
        counter = Counter()
        with Join([counter], factor=3):
            for _ in range(3 + 2 * rank):
                counter.step()
        assert (counter.count, counter.shadowed, counter.ended) == ((6, 2, [False]), (8, 0, [True]))[rank]
        assert counter.kwargs == {"factor": 3} and Join.notify_join_context(counter) is None
        models, counter = [DDP(make()), DDP(make(4))], Counter()
        assert isinstance(models[0], Joinable) and isinstance(models[0].join_hook(), JoinHook)
        assert models[0].join_process_group is dist.group.WORLD and models[0].join_device.type == "cpu"
        with Join([*models, counter]):
            for k in range(2 + rank):
                for model in models:
                    gradients(model, k)
                counter.step()
        assert (counter.count, counter.shadowed) == ((4, 1), (5, 0))[rank]
        raises(ValueError, "requires at least one joinable", Join, [])
        raises(ValueError, "multiple process groups", Join, [models[0], Counter(dist.new_group([0, 1]))])
        """
    )


def test_copies_and_pickles():
    ddp(
        """
        import copy, io, pickle
        model = DDP(make())
        expected = gradients(model)
        def written(model):
            file = io.BytesIO()
            tandem.save(model, file)
            file.seek(0)
            return tandem.load(file, weights_only=False)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), written(model)):
            assert type(other) is DDP and other.module is not model.module
            assert same(other.parameters(), model.parameters()) and other.process_group is dist.group.WORLD
            assert same(gradients(other), expected) and same(gradients(model), expected)
        # One rank may copy alone, and take the copy's module.
        if rank == 0:
            average = copy.deepcopy(model)
            assert same([average.module(batch())], [model.module(batch())])
        assert same(gradients(copy.deepcopy(model)), expected)
        with model.no_sync():
            assert not copy.deepcopy(model).require_backward_grad_sync
        part = DDP(make(), process_group=dist.new_group([0, 1]))
        for use in (copy.deepcopy, pickle.dumps):
            raises(RuntimeError, "only supported when using DDP with the default process group", use, part)
        """
    )
