"""DistributedDataParallel: gradients of the whole batch, the same bits on all ranks, buckets that overlap backward."""

from __future__ import annotations

import pytest
from processes import run

pytestmark = pytest.mark.cpu

MODEL = """
DDP = nn.parallel.DistributedDataParallel

def make(seed=3):
    tandem.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3))

tandem.manual_seed(11)
X, Y = tandem.randn(12, 6), tandem.randint(0, 3, (12,))
mine = slice(rank * 12 // world, (rank + 1) * 12 // world)
loss_of = nn.functional.cross_entropy

def same_everywhere(tensors):
    import hashlib
    digest = hashlib.sha256(b"".join(t.detach().numpy().tobytes() for t in tensors)).hexdigest()
    every = [None] * world
    dist.all_gather_object(every, digest)
    assert len({*every}) == 1, every
"""


def ddp(program: str, world: int = 2) -> None:
    import textwrap

    run(MODEL + textwrap.dedent(program), world=world)


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("cap", [None, 0.001])
def test_gradients_are_those_of_the_whole_batch(world, cap):
    ddp(
        f"""
        alone = make()
        loss_of(alone(X), Y).backward()
        model = DDP(make(seed=rank), bucket_cap_mb={cap})  # what rank 0 has counts
        same_everywhere(model.module.parameters())
        model.module.load_state_dict(alone.state_dict())
        for k in range(3):
            model.zero_grad()
            loss_of(model(X[mine]), Y[mine]).backward()
            for p, q in zip(alone.parameters(), model.parameters()):
                tandem.testing.assert_close(q.grad, p.grad, rtol=1e-5, atol=1e-7)
        same_everywhere(p.grad for p in model.parameters())
        assert (len(model._reduction.buckets) > 1) == ({cap} is not None)
        assert [*model.module.state_dict()] == [n.removeprefix("module.") for n in model.state_dict()]
        dist.destroy_process_group()
        """,
        world,
    )


def test_training_is_repeatable_and_near_the_single_process():
    ddp(
        """
        def train(model, x, y, steps=20):
            optimizer = tandem.optim.AdamW(model.parameters(), lr=1e-2)
            for _ in range(steps):
                optimizer.zero_grad()
                loss_of(model(x), y).backward()
                optimizer.step()
            return [p.detach().clone() for p in model.parameters()]
        first = train(DDP(make()), X[mine], Y[mine])
        again = train(DDP(make()), X[mine], Y[mine])
        assert all((a == b).all() for a, b in zip(first, again))
        # However the gradients are divided among buckets.
        small = train(DDP(make(), bucket_cap_mb=0.0005), X[mine], Y[mine])
        assert all((a == b).all() for a, b in zip(first, small))
        same_everywhere(first)
        for a, b in zip(first, train(make(), X, Y)):
            tandem.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
        dist.destroy_process_group()
        """
    )


def test_compiled_modules_and_steps():
    ddp(
        """
        def gradients(model, call):
            model.zero_grad()
            loss_of(call(X[mine]), Y[mine]).backward()
            return [p.grad.clone() for p in model.parameters()]
        expected = None
        for kind in ("eager", "compiled inside", "compiled outside", "lazy"):
            inner = make()
            model = DDP(tandem.compile(inner) if kind == "compiled inside" else inner)
            call = tandem.compile(model) if kind == "compiled outside" else model
            for _ in range(3):
                if kind == "lazy":
                    with tandem.lazy():
                        got = gradients(inner, call)
                else:
                    got = gradients(inner, call)
            expected = expected or got
            assert all((a == b).all() for a, b in zip(got, expected)), kind
        model = DDP(make())
        optimizer = tandem.optim.SGD(model.parameters(), lr=0.1)
        @tandem.compile
        def step(x, y):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss
        losses = [step(X[mine], Y[mine]).item() for _ in range(4)]
        same_everywhere(model.parameters())
        model = DDP(make())
        optimizer = tandem.optim.SGD(model.parameters(), lr=0.1)
        step = step.__wrapped__ if hasattr(step, "__wrapped__") else step
        assert losses == [step(X[mine], Y[mine]).item() for _ in range(4)]
        dist.destroy_process_group()
        """
    )


def test_buckets_are_reduced_beside_the_backward():
    ddp(
        """
        class Slow(tandem.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1
            @staticmethod
            def backward(ctx, g):
                # The buckets of the layers behind are on their way, and come to an end while this one waits.
                begun = [b.work for b in model._reduction.buckets if b.work is not None]
                deadline = time.monotonic() + 20
                while not all(w.is_completed() for w in begun) and time.monotonic() < deadline:
                    time.sleep(0.01)
                seen.append((len(begun), all(w.is_completed() for w in begun), model._reduction.begun))
                return g

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = make(), nn.Linear(3, 3)
            def forward(self, x):
                return self.last(Slow.apply(self.first(x)))

        seen = []
        model = DDP(Net(), bucket_cap_mb=0.00001)
        for _ in range(2):
            loss_of(model(X[mine]), Y[mine]).backward()
        total = len(model._reduction.buckets)
        assert total > 4 and all(0 < n < total and done and n == at for n, done, at in seen), (seen, total)
        dist.destroy_process_group()
        """
    )


def test_gradients_that_are_not_synchronised():
    ddp(
        """
        alone = make()
        (loss_of(alone(X), Y) * 3).backward()
        model = DDP(make())
        with model.no_sync():
            for _ in range(2):
                loss_of(model(X[mine]), Y[mine]).backward()
        local = [p.grad.clone() for p in model.parameters()]
        loss_of(model(X[mine]), Y[mine]).backward()
        for p, q, r in zip(alone.parameters(), model.parameters(), local):
            tandem.testing.assert_close(q.grad, p.grad, rtol=1e-5, atol=1e-6)
            assert not (r == q.grad).all()
        same_everywhere(p.grad for p in model.parameters())
        with tandem.no_grad():
            model(X[mine])
        dist.destroy_process_group()
        """
    )


def test_parameters_that_are_not_used():
    ddp(
        """
        class Branches(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.never = nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(6, 3)
            def forward(self, x, which):
                return {"y": (self.a if which == 0 else self.b)(x)}

        tandem.manual_seed(0)
        net = Branches()
        model = DDP(net, find_unused_parameters=True)
        for _ in range(2):
            model.zero_grad()
            loss_of(model(X[mine], rank)["y"], Y[mine]).backward()
            alone = Branches()
            alone.load_state_dict(net.state_dict())
            for r in range(2):
                part = slice(r * 6, r * 6 + 6)
                (loss_of(alone(X[part], r)["y"], Y[part]) / 2).backward()
            for p, q in zip(alone.parameters(), model.parameters()):
                assert (p.grad is None) == (q.grad is None)
                if p.grad is not None:
                    tandem.testing.assert_close(q.grad, p.grad)
            assert net.never.weight.grad is None
        same_everywhere(p.grad for p in model.parameters() if p.grad is not None)
        # Nobody uses anything.
        model(X[mine], rank)["y"].detach()
        model.zero_grad()
        loss_of(model(X[mine], 0)["y"], Y[mine]).backward()
        same_everywhere([net.a.weight.grad])
        strict = DDP(Branches())
        loss_of(strict(X[mine], 0)["y"], Y[mine]).backward()
        words = "had no part in the loss: b.weight, b.bias, never.weight, never.bias. Pass find_unused_parameters=True"
        raises(RuntimeError, words, strict, X[mine], 0)
        dist.destroy_process_group()
        """
    )


def test_what_outputs_depend_on_is_found():
    """In containers, dataclasses and dicts of the program's own, where one branch alone is used."""
    ddp(
        """
        import collections, dataclasses
        @dataclasses.dataclass
        class Output:
            y: tandem.Tensor
            more: object = None
        class Own(collections.OrderedDict):
            pass
        Pair = collections.namedtuple("Pair", "a b")
        kinds = {
            "dataclass": (lambda y: Output(y, Output([y * 2])), lambda o: o.y + o.more.y[0]),
            "dict": (lambda y: Own(y=y, more=(3, None)), lambda o: o["y"]),
            "tuple": (lambda y: Pair("text", [{"y": y}]), lambda o: o.b[0]["y"]),
        }
        class Net(nn.Module):
            def __init__(self, wrap):
                super().__init__()
                self.branches = nn.ModuleList([nn.Linear(6, 3), nn.Linear(6, 3)])
                self.never, self.wrap = nn.Linear(2, 2), wrap
            def forward(self, x, k):
                return self.wrap(self.branches[k](x))
        for name, (wrap, tensor) in kinds.items():
            net = Net(wrap)
            model = DDP(net, find_unused_parameters=True)
            for k in range(3):
                model.zero_grad()
                loss_of(tensor(model(X[mine], (k + rank) % 2)), Y[mine]).backward()
                same_everywhere([p.grad for p in net.branches.parameters()])
                assert net.never.weight.grad is None, name
        assert model.device.type == model.device_type == "cpu" and not model.will_sync_module_buffers()
        net = Net(kinds["tuple"][0])
        DDP._set_params_and_buffers_to_ignore_for_model(net, ["never.weight", "never.bias"])
        tandem.nn.init.constant_(net.never.weight, rank)
        model = DDP(net)
        assert net.never.weight.tolist() == [[rank, rank]] * 2
        model._set_static_graph()
        assert model.find_unused_parameters and model.static_graph
        assert not model._get_ddp_logging_data().get("can_set_static_graph")
        dist.destroy_process_group()
        """
    )


def test_state_of_rank_0_counts():
    ddp(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 3)
                self.norm = nn.BatchNorm1d(3)
                self.register_buffer("seen", tandem.tensor(rank))
                self.scale = nn.Parameter(tandem.ones(3, dtype=tandem.bfloat16) * (rank + 1))
                self.frozen = nn.Parameter(tandem.ones(2) * rank, requires_grad=False)
            def forward(self, x):
                return self.norm(self.layer(x)) * self.scale.float()

        tandem.manual_seed(rank)
        model = DDP(Net())
        net = model.module
        assert net.seen.item() == 0 and net.scale.tolist() == [1, 1, 1] and net.frozen.tolist() == [0, 0]
        same_everywhere([net.layer.weight])
        loss_of(model(X[mine]), Y[mine]).backward()
        same_everywhere([net.layer.weight.grad, net.scale.grad.float()])
        mean = net.norm.running_mean.clone()
        every = [tandem.zeros(3) for _ in range(world)]
        dist.all_gather(every, mean)
        assert not (every[0] == every[1]).all()  # each had its own batch
        model(X[mine])
        dist.all_gather(every, net.norm.running_mean)
        assert net.norm.num_batches_tracked.item() == 2
        # SyncBatchNorm has the statistics of all.
        tandem.manual_seed(5)
        plain = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3))
        state = {k: v.clone() for k, v in plain.state_dict().items()}
        synced = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(plain), find_unused_parameters=True)
        loss_of(synced(X[mine]), Y[mine]).backward()
        alone = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3))
        alone.load_state_dict(state)
        loss_of(alone(X), Y).backward()
        for p, q in zip(alone.parameters(), synced.parameters()):
            tandem.testing.assert_close(q.grad, p.grad, rtol=1e-4, atol=1e-6)
        for name, buffer in alone.named_buffers():
            tandem.testing.assert_close(dict(synced.module.named_buffers())[name], buffer)
        dist.destroy_process_group()
        """
    )


def test_errors():
    ddp(
        """
        raises(RuntimeError, "is not needed when a module doesn't have any parameters that require", DDP, nn.ReLU())
        raises(ValueError, "must be None for modules on the CPU; got device_ids [0]", DDP, make(), device_ids=[0])
        raises(NotImplementedError, "mixed_precision=) is not part of Tandem", DDP, make(), mixed_precision=1)
        raises(RuntimeError, "expects same model across all ranks", DDP, nn.Linear(2, 3 + rank))
        raises(RuntimeError, "uninitialized parameters", DDP, nn.LazyLinear(3))
        model = DDP(make())
        y = model(X[mine])
        loss_of(y, Y[mine]).backward(retain_graph=True)
        loss_of(y, Y[mine]).backward()  # without a forward it is local
        sampler = tandem.utils.data.DistributedSampler(range(10), shuffle=False)
        assert list(sampler) == list(range(rank, 10, 2))
        dist.destroy_process_group()
        raises(ValueError, "has not been initialized", DDP, make())
        """
    )


def test_a_killed_rank_ends_the_backward_of_the_others():
    import signal

    run(
        MODEL
        + """
model = DDP(make())
loss_of(model(X[mine]), Y[mine]).backward()
out = loss_of(model(X[mine]), Y[mine])
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
raises(dist.DistBackendError, "the connection to rank 1 was closed", out.backward)
""",
        world=3,
        fails={1: -signal.SIGKILL},
    )
