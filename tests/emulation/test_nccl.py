"""Groups of processes on GPUs, which the emulation of the driver and of NCCL is here: Gloo's bits, work that is late,
ranks that are lost, what is said of what is missing."""

from __future__ import annotations

import signal
import textwrap

import devices
import pytest
from gpu_here import DEVICES, MARKS, late
from processes import run

pytestmark = MARKS
BOTH = "cpu:gloo,cuda:nccl"

START = """
import faulthandler
faulthandler.dump_traceback_later(36, exit=True)  # who hangs says where
# Emulated GPUs are a process's own.
CUDA = tandem.device("cuda", rank if os.environ.get("TANDEM_REAL_GPU", "") not in ("", "0") else 0)

def begin(backend="nccl", timeout=30, **more):
    more.update(rank=rank, world_size=world, timeout=seconds(timeout))
    dist.init_process_group(backend, init_method=sys.argv[3], **more)

def bits(t):
    return t.detach().cpu().contiguous().view(-1).view(tandem.uint8).tolist()

def values(dtype, *shape):
    if dtype is tandem.bool:
        return tandem.randint(0, 2, shape).bool()
    if not dtype.is_floating_point:
        return tandem.randint(-5 if dtype is not tandem.uint8 else 0, 9, shape).to(dtype)
    return (tandem.randn(*shape) * 3).to(dtype)
"""


def on_gpus(program: str, world: int = 2, begin: str = "begin()", fails: dict[int, int] | None = None) -> list[str]:
    if devices.REAL and world > DEVICES:
        pytest.skip(f"needs {world} GPUs")
    return run(textwrap.dedent(program), world, fails, START + begin)


# ---- what operations do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world, backend", [(2, BOTH), (3, BOTH), (4, BOTH), (2, "gloo"), (3, "gloo")])
def test_every_operation_has_the_bits_of_gloo(world, backend):
    on_gpus(
        """
        def alike(name, operate):
            # On both devices from the same numbers: `operate` gets what moves a tensor, and returns what it wrote.
            tandem.manual_seed(17 + rank)
            here = operate(lambda t: t.clone())
            tandem.manual_seed(17 + rank)
            there = operate(lambda t: t.to(CUDA))
            assert len(here) == len(there)
            for a, b in zip(here, there):
                assert b.is_cuda and a.dtype == b.dtype and bits(a) == bits(b), (name, a, b)

        R = dist.ReduceOp
        floating = [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16]
        for dtype in (*floating, tandem.int64, tandem.uint8, tandem.bool) if world == 2 else (tandem.float32,):
            ops = [R.SUM, R.PRODUCT, R.MIN, R.MAX]
            ops += [R.AVG] if dtype.is_floating_point else [R.BAND, R.BOR, R.BXOR]
            for op in ops:
                def reduced(place):
                    x = place(values(dtype, 5, 3))
                    dist.all_reduce(x, op)
                    return [x]
                alike((dtype, op), reduced)
        def large(place):
            x, y = place(tandem.randn(100, 31)), place(tandem.randn(5003).bfloat16())
            dist.all_reduce(x)
            dist.all_reduce(y, R.AVG)
            return [x, y]
        alike("large", large)
        def at_one(place):
            x, y = place(tandem.randn(7)), place(tandem.randn(7))
            dist.reduce(x, world - 1)
            dist.broadcast(y, 1)
            return [x, y]
        alike("at one", at_one)
        def gathered(place):
            x = place(tandem.randn(2, 3))
            parts, whole = [place(tandem.zeros(2, 3)) for _ in range(world)], place(tandem.zeros(world * 2, 3))
            dist.all_gather(parts, x)
            dist.all_gather_into_tensor(whole, x)
            mine = [place(tandem.zeros(2, 3)) for _ in range(world)] if rank == 1 else None
            dist.gather(x, mine, 1)
            return [*parts, whole, *(mine or [])]
        alike("gathered", gathered)
        def scattered(place):
            x, y, z = (place(tandem.zeros(2, 3)) for _ in range(3))
            dist.scatter(x, [place(tandem.randn(2, 3)) for _ in range(world)] if rank == 1 else None, 1)
            dist.reduce_scatter(y, [place(tandem.randn(2, 3)) for _ in range(world)])
            dist.reduce_scatter_tensor(z, place(tandem.randn(world * 2, 3)), R.MAX)
            return [x, y, z]
        alike("scattered", scattered)
        def to_all(place):
            outs = [place(tandem.zeros(r + rank + 1)) for r in range(world)]
            dist.all_to_all(outs, [place(tandem.randn(r + rank + 1)) for r in range(world)])
            x = place(tandem.zeros(world * 2, 2))
            dist.all_to_all_single(x, place(tandem.randn(world * 2, 2)))
            rows = place(tandem.zeros(sum((r + rank) % 3 for r in range(world)), 2))
            cuts = [(r + rank) % 3 for r in range(world)]
            dist.all_to_all_single(rows, place(tandem.randn(len(rows), 2)), cuts, cuts)
            return [*outs, x, rows]
        alike("to all", to_all)
        def messages(place):
            x, y = place(tandem.randn(3)), place(tandem.zeros(3))
            after, before = (rank + 1) % world, (rank - 1) % world
            works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)])
            for w in works:
                w.wait()
            z = place(tandem.zeros(2, 2))
            if rank == 0:
                dist.send(place(tandem.randn(2, 2)), 1, tag=7)
            if rank == 1:
                assert dist.recv(z, 0, tag=7) == 0
            empty = place(tandem.zeros(0))
            dist.all_reduce(empty)
            return [y, z, empty]
        alike("messages", messages)
        def of_a_group(place):
            group = dist.new_group([1, 0])
            x = place(tandem.randn(3))
            if rank < 2:
                dist.all_reduce(x, group=group)
                dist.broadcast(x, group=group, group_src=0)
            return [x]
        alike("of a group", of_a_group)
        dist.destroy_process_group()
        """,
        world,
        f'begin("{backend}"); assert dist.get_backend() == "{backend}"',
    )


def test_names_and_objects():
    on_gpus(
        """
        assert dist.is_nccl_available() and dist.is_backend_available("NCCL")
        assert dist.get_backend() == "nccl" and dist.get_default_backend_for_device(CUDA) == "nccl"
        objects = [None] * world
        dist.all_gather_object(objects, {"rank": rank})
        assert objects == [{"rank": r} for r in range(world)]
        listed = ["seed", 17] if rank == 0 else [None, None]
        dist.broadcast_object_list(listed, 0)
        assert listed == ["seed", 17]
        got = [None]
        if rank == 0:
            dist.send_object_list(["x"], 1)
        else:
            assert dist.recv_object_list(got, 0) == 0 and got == ["x"]
        dist.monitored_barrier(timeout=seconds(20))
        dist.barrier()
        dist.destroy_process_group()
        begin(None)
        x, y = tandem.ones(2), tandem.ones(2, device=CUDA)
        dist.all_reduce(x)
        dist.all_reduce(y)
        assert x.tolist() == y.tolist() == [2, 2] and dist.get_backend() == "cpu:gloo,cuda:nccl"
        with tandem.lazy():
            z = y * 3
            dist.all_reduce(z)
            w = z + 1
        assert w.tolist() == [13, 13]
        @tandem.compile
        def step(v):
            u = v * 2
            dist.all_reduce(u)
            return u + 1
        for _ in range(3):
            assert step(y).tolist() == [9, 9]
        from tandem.distributed.nn.functional import all_reduce
        p = tandem.ones(2, device=CUDA, requires_grad=True)
        (all_reduce(p * (rank + 1)) ** 2).sum().backward()
        assert p.grad.tolist() == [12 * (rank + 1)] * 2
        dist.destroy_process_group()
        """
    )


# ---- streams --------------------------------------------------------------------------------------------------------


def test_waiting_orders_streams_and_not_the_host():
    on_gpus(
        """
        x = tandem.ones(4, device=CUDA)
        dist.all_reduce(x)
        assert x.tolist() == [2] * 4
        # Rank 1 comes late: the other one's host goes on all the same, and finds the sum when it reads.
        dist.barrier()
        if rank == 1:
            time.sleep(1)
        began = time.monotonic()
        work = dist.all_reduce(x, async_op=True)
        assert work.wait()
        y = x * 10
        dist.all_reduce(y)
        z = y + 1
        if rank == 0:
            assert time.monotonic() - began < 0.7 and not work.is_completed() and work.exception() is None
        assert z.tolist() == [81] * 4
        assert work.is_completed() and work.is_success()
        # What other streams get, and tensors that are dropped while their work is under way.
        side = tandem.cuda.Stream()
        side.wait_stream(tandem.cuda.current_stream())
        with tandem.cuda.stream(side):
            v = tandem.full((1000,), rank + 1.0, device=CUDA)
            work = dist.all_reduce(v, async_op=True)
        works = [dist.all_reduce(tandem.ones(1000, device=CUDA), async_op=True) for _ in range(4)]
        others = [tandem.full((1000,), 7.0, device=CUDA) for _ in range(8)]
        work.wait()
        assert v.sum().item() == 3000 and all(o.sum().item() == 7000 for o in others)
        for w in works:
            assert w.wait(seconds(20)) and w.is_success()
        with tandem.cuda.stream(side):
            graph = tandem.cuda.CUDAGraph()
            with tandem.cuda.graph(graph, stream=side):
                raises(RuntimeError, "all_reduce: operations between processes cannot be captured", dist.all_reduce, x)
        dist.destroy_process_group()
        """
    )


# ---- DistributedDataParallel ----------------------------------------------------------------------------------------

MODEL = """
DDP = nn.parallel.DistributedDataParallel

class Net(nn.Module):
    # Without products of matrices, whose bits may be others on a GPU.
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(tandem.randn(40, 6)) for _ in range(4)])
        self.register_buffer("seen", tandem.zeros(3))
    def forward(self, x):
        for k, s in enumerate(self.scales):
            x = tandem.tanh(x.unsqueeze(1) * s).sum(1) if k % 2 else (x * s[0]).exp().clamp(max=9) * s[1]
        return x

def gradients(device, **options):
    tandem.manual_seed(3)
    model = DDP(Net().to(device), **options)
    tandem.manual_seed(11)
    batch = tandem.randn(12, 6)[rank * 12 // world : (rank + 1) * 12 // world].to(device)
    optimizer = tandem.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        (model(batch) ** 2).mean().backward()
        optimizer.step()
    return [bits(p.grad) for p in model.parameters()] + [bits(p) for p in model.parameters()], model
"""


def test_gradients_have_the_bits_of_gloo():
    on_gpus(
        MODEL
        + textwrap.dedent(
            """
            here, _ = gradients("cpu")
            there, model = gradients(CUDA)
            small, cut = gradients(CUDA, bucket_cap_mb=0.001, device_ids=[CUDA.index])
            assert here == there == small and len(cut._reduction.buckets) > 2 and cut.device_ids == [CUDA.index]
            words = f"must be the one GPU of the module, whose parameters are on {CUDA}"
            raises(ValueError, words, DDP, Net().to(CUDA), device_ids=[CUDA.index + 1])
            model = DDP(Net().to(CUDA))
            x = tandem.ones(2, 6, device=CUDA) * (rank + 1)
            def of(called):
                model.zero_grad()
                (called(x) ** 2).mean().backward()
                return [bits(p.grad) for p in model.parameters()]
            expected, compiled = of(model), tandem.compile(model)
            assert of(compiled) == of(compiled) == of(compiled) == expected
            with tandem.lazy():
                assert of(model) == expected
            def normalised(device):
                tandem.manual_seed(5)
                net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(4), nn.Tanh()))
                model = DDP(net.to(device))
                x = (tandem.randn(6, 4) * (rank + 1)).to(device)
                (model(x) ** 2).mean().backward()
                return [bits(t) for t in (*model.buffers(), *(p.grad for p in model.parameters()))]
            assert normalised("cpu") == normalised(CUDA)
            # A parameter without a gradient on some ranks, and on all.
            class Branches(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.a, self.b, self.never = (nn.Parameter(tandem.ones(3)) for _ in range(3))
                def forward(self, x, which):
                    return x * (self.a if which == 0 else self.b)
            def branches(device):
                model = DDP(Branches().to(device), find_unused_parameters=True)
                model(tandem.ones(3, device=device) * (rank + 2), rank).sum().backward()
                assert model.module.never.grad is None
                return [bits(model.module.a.grad), bits(model.module.b.grad)]
            assert branches("cpu") == branches(CUDA)
            dist.destroy_process_group()
            """
        ),
        2,
        'begin("cpu:gloo,cuda:nccl")',
    )


@late
def test_buckets_are_exchanged_beside_the_backward(tmp_path):
    on_gpus(
        MODEL
        + textwrap.dedent(
            f"""
            os.environ["TANDEM_NCCL_LOG"] = log = {str(tmp_path)!r} + f"/{{rank}}"
            class Look(tandem.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 1
                @staticmethod
                def backward(ctx, g):
                    begun = model._reduction.begun
                    for bucket in model._reduction.buckets[:begun]:
                        bucket.work._queued.wait(20)
                    queued = len(open(log).readlines()) - before
                    # They have been queued, are not waited for, and what comes now is queued beside them.
                    theirs = model._reduction.group.gpu.transport().stream
                    seen.append((begun, queued, tandem.cuda.current_stream() == theirs))
                    return g
            class Both(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first, self.last = Net(), Net()
                def forward(self, x):
                    return self.last(Look.apply(self.first(x)))
            seen = []
            model = DDP(Both().to(CUDA), bucket_cap_mb=0.0001)
            for _ in range(2):
                loss = (model(tandem.ones(2, 6, device=CUDA)) ** 2).mean()
                before = len(open(log).readlines())
                loss.backward()
            total = len(model._reduction.buckets)
            assert total == 8 and seen == [(4, 4, False)] * 2, (total, seen)
            assert len(open(log).readlines()) - before == total
            assert bits(model.module.first.scales[0].grad) is not None
            dist.destroy_process_group()
            """
        )
    )


# ---- what goes wrong ------------------------------------------------------------------------------------------------


@late
def test_arguments_are_checked_where_operations_are_called():
    on_gpus(
        """
        x = tandem.ones(2, device=CUDA)
        words = "all_reduce: tensor is float32 [3] on cpu, and the backend nccl is for tensors on cuda"
        raises(ValueError, words, dist.all_reduce, tandem.ones(3))
        words = "all_gather: tensor_list[1] is float32 [2] on cpu"
        raises(ValueError, words, dist.all_gather, [x, tandem.ones(2), x], x)
        words = "strides [1, 3], and must be contiguous"
        raises(ValueError, words, dist.all_reduce, tandem.ones(2, 3, device=CUDA).t())
        raises(ValueError, "receives from one rank: give src or group_src", dist.irecv, x)
        dist.all_reduce(x)
        if tandem.cuda.device_count() > 1:
            words = "on cuda:1, and the group's GPU in this process is cuda:0"
            raises(ValueError, words, dist.all_reduce, x.to("cuda:1"))
        both = dist.new_group(backend="cpu:gloo,cuda:nccl")
        raises(ValueError, "is on cpu, and", dist.all_gather_into_tensor, tandem.zeros(6), x, group=both)
        gloo = dist.new_group(backend="gloo")
        dist.all_reduce(x, group=gloo)
        dist.all_reduce(x)
        assert x.tolist() == [27, 27]
        dist.destroy_process_group()
        raises(ValueError, "is no choice of backends", dist.init_process_group, "cpu:nccl")
        raises(NotImplementedError, "the backend mpi is not part of Tandem", dist.init_process_group, "mpi")
        raises(ValueError, "device_id is cpu", dist.init_process_group, "nccl", device_id="cpu")
        """,
        3,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("dist.all_reduce(x)", "dist.all_reduce(x, dist.ReduceOp.MAX)"),  # as long, and another meaning
        ("dist.all_reduce(x)", "dist.all_reduce(tandem.ones(3, device=CUDA))"),
        ("dist.broadcast(x, 0)", "dist.all_reduce(x)"),
    ],
)
def test_ranks_that_differ_are_told_before_anybody_reads(first, second):
    on_gpus(
        f"""
        x = tandem.ones(2, device=CUDA)
        dist.all_reduce(x)
        def read():
            if rank == 0:
                {first}
            else:
                {second}
            x.tolist()
        raises(dist.DistBackendError, "the ranks do not agree: rank", read)
        raises(dist.DistBackendError, "all_reduce: ", dist.all_reduce, x)  # the group is of no use
        """
    )


def test_streams_that_wait_for_others_are_told_too():
    on_gpus(
        """
        x = tandem.ones(2, device=CUDA)
        dist.all_reduce(x)
        side, here = tandem.cuda.Stream(), tandem.cuda.current_stream()
        side.wait_stream(here)
        def read():
            with tandem.cuda.stream(side):
                dist.all_reduce(x, dist.ReduceOp.SUM if rank else dist.ReduceOp.MAX)  # may know it already
            here.wait_stream(side)
            x.tolist()
        raises(dist.DistBackendError, "the ranks do not agree: rank", read)
        """
    )


def test_messages_that_differ():
    on_gpus(
        """
        x = tandem.ones(2, device=CUDA)
        def talk():
            if rank == 0:
                dist.send(x, 1)
            else:
                dist.recv(tandem.ones(3, device=CUDA), 0)
            tandem.cuda.synchronize()
            time.sleep(2)
            dist.all_reduce(x)
        raises(dist.DistBackendError, "float32 [2]", talk)
        """
    )


@pytest.mark.parametrize(
    "call",
    [
        "dist.all_reduce(x); x.tolist()",
        "dist.all_reduce(tandem.ones(30_000, device=CUDA), async_op=True).wait(seconds(20))",
        "dist.barrier()",
    ],
)
def test_a_killed_rank_is_an_error_on_all_others(call):
    on_gpus(
        f"""
        x = tandem.ones(4, device=CUDA)
        for _ in range(3):
            {call}
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        began = time.monotonic()
        def again():
            {call}
        for _ in range(2):
            raises(dist.DistBackendError, "rank 1", again)
        assert time.monotonic() - began < 10
        """,
        3,
        fails={1: -signal.SIGKILL},
    )


def test_a_rank_that_is_killed_while_its_part_is_under_way():
    # All have begun the operation, and one ends before it has done its share.
    on_gpus(
        """
        x = tandem.ones(4, device=CUDA)
        dist.all_reduce(x)
        x.tolist()
        work = dist.all_reduce(x, async_op=True)
        assert work.agreement.failure() == ""
        if rank == 1:
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.5)
        began = time.monotonic()
        def read():
            dist.all_reduce(x)
            x.tolist()
        raises(dist.DistBackendError, "rank 1", read)
        assert time.monotonic() - began < 10
        """,
        2,
        fails={1: -signal.SIGKILL},
    )


def test_a_rank_that_is_late_is_named():
    on_gpus(
        """
        x = tandem.ones(4, device=CUDA)
        dist.all_reduce(x)
        x.tolist()
        group = dist.new_group(timeout=seconds(4))
        dist.all_reduce(x, group=group)
        x.tolist()
        words = "rank 2 did not take part within 4 s"
        if rank == 2:
            time.sleep(7)
            def read():
                dist.all_reduce(x, group=group)
                x.tolist()
            raises(dist.DistBackendError, words, read)
        else:
            dist.all_reduce(x, group=group)
            began = time.monotonic()
            raises(dist.DistBackendError, words, x.tolist)
            assert time.monotonic() - began < 6.5
        y = tandem.ones(2, device=CUDA)
        dist.all_reduce(y)  # other groups go on
        assert y.tolist() == [3, 3]
        dist.destroy_process_group()
        """,
        3,
    )


@late
def test_what_a_gpu_does_not_finish_in_time():
    # All have begun the operation, and one stands still before it has done its share.
    on_gpus(
        """
        pids = [None] * world
        dist.all_gather_object(pids, os.getpid())
        x = tandem.ones(4, device=CUDA)
        dist.all_reduce(x)
        x.tolist()
        gloo = dist.new_group(backend="gloo")
        dist.barrier()
        if rank == 1:  # has much to do before
            y = tandem.ones(300_000, device=CUDA)
            for _ in range(50):
                y = y.sin()
        work = dist.all_reduce(x, async_op=True)
        assert work.agreement.failure() == ""
        dist.barrier(gloo)
        if rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        began = time.monotonic()
        try:
            work.wait()
            raises(dist.DistBackendError, "all_reduce: not done on the GPU within 3 s", x.tolist)
            assert time.monotonic() - began < 6
            raises(dist.DistBackendError, "all_reduce: not done on the GPU", work.wait)
        finally:
            os.kill(pids[1], signal.SIGKILL)
        """,
        2,
        "begin(timeout=3)",
        {1: -signal.SIGKILL},
    )


@late
def test_what_is_missing_is_named():
    on_gpus(
        """
        os.environ["TANDEM_NCCL"] = "/nowhere/libnccl.so.2"
        assert not dist.is_nccl_available()
        begin()
        words = "all_reduce: NCCL (libnccl.so.2) cannot be opened: /nowhere/libnccl.so.2: cannot open shared"
        raises(dist.DistBackendError, words, dist.all_reduce, tandem.ones(2, device=CUDA))
        raises(dist.DistBackendError, "install the wheel nvidia-nccl", dist.all_reduce, tandem.ones(2, device=CUDA))
        dist.destroy_process_group()
        """,
        2,
        "",
    )
    on_gpus(
        """
        os.environ["TANDEM_NCCL"] = "libm.so.6"
        begin()
        words = "NCCL lacks ncclGetVersion: version 2.18"
        raises(dist.DistBackendError, words, dist.all_reduce, tandem.ones(2, device=CUDA))
        """,
        2,
        "",
    )
    on_gpus(
        """
        os.environ["TANDEM_CUDA_DRIVER"] = "/nowhere/libcuda.so.1"
        raises(dist.DistBackendError, "the backend nccl needs a GPU, and there is none", begin)
        begin(None)
        assert dist.get_backend() == "gloo"
        dist.destroy_process_group()
        """,
        2,
        "",
    )
