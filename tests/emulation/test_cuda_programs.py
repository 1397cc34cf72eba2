"""Programs on a GPU, which the emulation of its driver is here: random numbers, training, captured graphs, files, and
what waits."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
from gpu_here import DEVICES, MARKS, late, ones, run, two

import tandem
from tandem import nn

pytestmark = MARKS
CUDA = "cuda"


# ---- random numbers -------------------------------------------------------------------------------------------------


def test_generators():
    tandem.manual_seed(5)
    on_cpu = tandem.rand(4)
    assert tandem.rand(4, device=CUDA).tolist() == on_cpu.tolist() and tandem.cuda.initial_seed() == 5
    state = tandem.cuda.get_rng_state()
    a = tandem.rand(3, device=CUDA).tolist()
    tandem.cuda.set_rng_state(state)
    assert tandem.rand(3, device=CUDA).tolist() == a and state.is_cpu
    tandem.cuda.manual_seed(7)
    assert tandem.cuda.initial_seed() == 7 and tandem.initial_seed() == 5
    tandem.cuda.manual_seed_all(8)
    assert [g.initial_seed() for g in tandem.cuda.default_generators] == [8] * DEVICES
    states = tandem.cuda.get_rng_state_all()
    with tandem.random.fork_rng():
        tandem.cuda.seed_all()
        tandem.rand(3, device=CUDA)
    assert [s.tolist() for s in tandem.cuda.get_rng_state_all()] == [s.tolist() for s in states]
    g = tandem.Generator(CUDA).manual_seed(3)
    assert (
        tandem.rand(2, device=CUDA, generator=g).tolist()
        == tandem.rand(2, generator=tandem.Generator().manual_seed(3)).tolist()
    )


def test_a_checkpoint_draws_the_same_numbers_again():
    x = ones(64, requires_grad=True)
    y = tandem.utils.checkpoint.checkpoint(lambda t: nn.functional.dropout(t, 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist() and 0 < y.sum().item() < 128


# ---- training -------------------------------------------------------------------------------------------------------


def model() -> nn.Module:
    tandem.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_optimizers(kind):
    results = []
    for place in ("cpu", CUDA):
        net = model().to(place)
        optimizer = getattr(tandem.optim, kind)(net.parameters(), lr=0.1)
        x = tandem.linspace(-1, 1, 12, device=place).reshape(3, 4)
        for _ in range(3):
            optimizer.zero_grad()
            (net(x).square().sum() * 0.5).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        assert all(p.device.type == place for p in net.parameters())
        results.append([p.detach().cpu() for p in net.parameters()])
    for a, b in zip(*results, strict=True):
        tandem.testing.assert_close(a, b)


def test_grad_scaler():
    net = model().to(CUDA)
    optimizer = tandem.optim.SGD(net.parameters(), lr=0.1)
    scaler = tandem.amp.GradScaler(CUDA, init_scale=8.0, growth_interval=2)
    assert scaler.is_enabled()
    before = [p.detach().clone() for p in net.parameters()]
    for k in range(4):
        optimizer.zero_grad()
        with tandem.autocast(CUDA, dtype=tandem.bfloat16):
            out = net(tandem.ones(3, 4, device=CUDA))
        assert out.dtype is tandem.bfloat16
        scaler.scale(out.float().sum() * (float("inf") if k == 2 else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 8.0 and scaler._scale.is_cuda
    assert any(not tandem.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))
    state = scaler.state_dict()
    assert state["_growth_tracker"] == 1
    scaler.load_state_dict(state)


def test_autocast_is_of_one_kind_of_device():
    a, b = tandem.ones(2, 2), ones(2, 2)
    with tandem.autocast(CUDA):
        assert (a @ a).dtype is tandem.float32 and tandem.mm(b, b).dtype is (b @ b).dtype is tandem.float16
        assert tandem.is_autocast_enabled(CUDA) and not tandem.is_autocast_enabled("cpu")
        with tandem.autocast("cpu"):
            assert tandem.mm(a, a).dtype is tandem.bfloat16 and tandem.mm(b, b).dtype is tandem.float16
        with tandem.autocast(CUDA, enabled=False):
            assert tandem.mm(b, b).dtype is tandem.float32
        assert b.exp().dtype is tandem.float32 and b.half().softmax(0).dtype is tandem.float32
    assert not tandem.is_autocast_enabled() and (b @ b).dtype is tandem.float32
    assert tandem.get_autocast_gpu_dtype() is tandem.float16

    @tandem.compile
    def f(x):
        return x @ x

    for _ in range(2):
        with tandem.autocast(CUDA, dtype=tandem.bfloat16):
            assert f(b).dtype is tandem.bfloat16 and f(a).dtype is tandem.float32
        assert f(b).dtype is tandem.float32


def test_steps_that_return_numbers_are_plans():
    model = nn.Linear(3, 2).to(CUDA)
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item(), (x > 0).sum().item()

    batches = [tandem.randn(4, 3).to(CUDA) for _ in range(4)]
    start = copy.deepcopy(model.state_dict())
    eager = [step(x) for x in batches]
    model.load_state_dict(start)
    compiled = tandem.compile(step)
    assert [compiled(x) for x in batches] == eager
    assert compiled.runs <= 2


# ---- graphs ---------------------------------------------------------------------------------------------------------


def test_captured_graphs():
    x = tandem.zeros(4).cuda()
    (x * 2 + 1).sin()  # kernels are made before
    graph = tandem.cuda.CUDAGraph()
    assert not tandem.cuda.is_current_stream_capturing()
    with tandem.cuda.graph(graph):
        assert tandem.cuda.is_current_stream_capturing()
        y = x * 2 + 1
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * value + 1] * 4
    with pytest.raises(RuntimeError, match="captured already"):
        graph.capture_begin()
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert len(graph.pool()) == 2
    with pytest.raises(RuntimeError, match="the default stream cannot be captured"):
        tandem.cuda.CUDAGraph().capture_begin()


def reserved_by_graphs():
    return sum(s["total_size"] for s in tandem.cuda.memory_snapshot() if s["segment_pool_id"] != (0, 0))


@pytest.mark.parametrize("how", ["handle", "pool of the first", "none"])
def test_pools_that_graphs_share(how):
    """What a graph has for values between its operations is another's, too; what lives is not."""
    x = ones(1 << 19)
    (x * 2 + 1).sum()  # kernels are made before
    tandem.cuda.synchronize()
    before = reserved_by_graphs()
    first, second = tandem.cuda.CUDAGraph(), tandem.cuda.CUDAGraph()
    handle = tandem.cuda.graph_pool_handle() if how == "handle" else None
    with tandem.cuda.graph(first, pool=handle):
        between = x * 2
        a = between + 1
        one = between.data_ptr()
        del between
    alone = reserved_by_graphs() - before
    assert alone > 0
    with tandem.cuda.graph(second, pool=first.pool() if how == "pool of the first" else handle):
        between = x * 3
        b = between + 1
        assert between.data_ptr() not in (a.data_ptr(), b.data_ptr())
        assert (between.data_ptr() == one) == (how != "none")
        del between
    shared = reserved_by_graphs() - before
    assert shared == (2 * alone if how == "none" else alone)
    assert (first.pool() == second.pool()) == (how != "none")
    for value in (0.5, 2.0):
        x.fill_(value)
        first.replay()
        second.replay()
        assert a[:3].tolist() == [value * 2 + 1] * 3 and b[-3:].tolist() == [value * 3 + 1] * 3
    # The pool lives as long as one of its graphs.
    first.reset()
    tandem.cuda.empty_cache()
    x.fill_(1.5)
    second.replay()
    assert b[:2].tolist() == [5.5, 5.5]
    second.reset()
    assert reserved_by_graphs() == before


def test_a_pool_that_is_none():
    for pool in (3, (1,), (0, "x")):
        with pytest.raises(TypeError, match="pool must be a handle"):
            tandem.cuda.CUDAGraph().capture_begin(pool)


def test_what_cannot_be_captured():
    x = ones(3)
    with pytest.raises(RuntimeError), tandem.cuda.graph(tandem.cuda.CUDAGraph()):
        (x + 1).tolist()
    assert (x + 1).tolist() == [2, 2, 2]
    with pytest.warns(UserWarning, match="each replay gives those of the capture"):
        with tandem.cuda.graph(tandem.cuda.CUDAGraph()):
            y = tandem.rand(2, device=CUDA)
    del y


def others_take_what_is_free():
    """Page-locked memory, and places for errors of values, of whatever is not kept."""
    taken = [tandem.full((2,), 50.0 + k).pin_memory() for k in range(9)]
    tandem.cuda.synchronize()
    return taken


def test_graphs_keep_what_they_copy_from_the_host():
    """It is memory of theirs, whoever lets go of it; each replay reads it again."""
    x, graph, pinned = tandem.zeros(2).cuda(), tandem.cuda.CUDAGraph(), tandem.tensor([1.0, 2.0]).pin_memory()
    number, side = tandem.tensor(3.0), tandem.cuda.Stream()
    with tandem.cuda.graph(graph):
        main = tandem.cuda.current_stream()
        a = x + pinned.to(CUDA, non_blocking=True)
        b = x + tandem.tensor([3.0, 4.0]).pin_memory().to(CUDA, non_blocking=True)
        c = x + tandem.tensor([5.0, 6.0]).cuda() * number
        side.wait_stream(main)
        with tandem.cuda.stream(side):  # captured, too
            d = x + tandem.tensor([7.0, 8.0]).pin_memory().to(CUDA, non_blocking=True)
        main.wait_stream(side)
        back = tandem.zeros(2).pin_memory()
        place = back.data_ptr()
        back.copy_(a, non_blocking=True)
        del back
    pinned.fill_(9)
    number.fill_(100)
    del pinned
    taken = others_take_what_is_free()
    assert place not in [t.data_ptr() for t in taken]
    for value in (0.0, 1.0):
        x.fill_(value)
        graph.replay()
        assert a.tolist() == [9 + value] * 2 and b.tolist() == [3 + value, 4 + value]
        assert c.tolist() == [15 + value, 18 + value] and d.tolist() == [7 + value, 8 + value]
    assert [t[0].item() for t in taken] == [50 + k for k in range(9)]
    graph.reset()
    assert place in [t.data_ptr() for t in others_take_what_is_free()]  # it is free again


def test_page_locked_memory_is_freed_while_its_stream_is_captured():
    x, stream, pinned = tandem.zeros(2).cuda(), tandem.cuda.Stream(), tandem.ones(2).pin_memory()
    stream.wait_stream(tandem.cuda.current_stream())
    with tandem.cuda.stream(stream):
        y = pinned.to(CUDA, non_blocking=True)
    with tandem.cuda.graph(tandem.cuda.CUDAGraph(), stream=stream):
        del pinned
        z = x + 1
    others_take_what_is_free()
    assert y.tolist() == [1, 1]
    del z


@pytest.mark.parametrize("forked", [False, True])
def test_graphs_check_values_at_each_replay(forked):
    x, index, graph, side = tandem.arange(4.0).cuda(), tandem.tensor([1, 2]).cuda(), tandem.cuda.CUDAGraph(), None
    with tandem.cuda.graph(graph):
        main = tandem.cuda.current_stream()
        if forked:
            side = tandem.cuda.Stream()
            side.wait_stream(main)
        with tandem.cuda.stream(side):
            y = x.gather(0, index)
        if forked:
            main.wait_stream(side)
    for good in (True, False, True):
        index.fill_(3 if good else 9)
        x.gather(0, tandem.tensor([0]).cuda())  # has a place for an error, too
        graph.replay()
        if good:
            assert y.tolist() == [3, 3]
            continue
        with pytest.raises(RuntimeError, match="gather: index 9 is out of bounds for dimension 0 with size 4"):
            y.tolist()
    tandem.cuda.synchronize()


def test_what_the_host_reads_is_named_where_it_cannot_be_captured():
    x = ones(3)
    with pytest.raises(RuntimeError, match="capturing: something was done that cannot be captured") as caught:
        with tandem.cuda.graph(tandem.cuda.CUDAGraph()):
            (x + 1).sum().item()
    assert "what the host waits for, as item(), tolist(), cpu()" in str(caught.value.__context__)
    assert "was queued last" not in str(caught.value.__context__)


# ---- files ----------------------------------------------------------------------------------------------------------


def test_saving_and_loading():
    base = tandem.arange(6.0, device=CUDA)
    state = {"w": base[1:4], "b": base, "p": nn.Parameter(ones(2)), "c": tandem.ones(1)}
    file = io.BytesIO()
    tandem.save(state, file)

    def load(**options):
        file.seek(0)
        return tandem.load(file, **options)

    back = load()
    assert back["w"].is_cuda and back["c"].is_cpu and back["w"].tolist() == [1, 2, 3]
    assert isinstance(back["p"], nn.Parameter) and back["p"].is_cuda and back["p"].is_leaf and back["p"].requires_grad
    back["b"].fill_(0)
    assert back["w"].tolist() == [0, 0, 0]  # they share memory, as before
    for location in ("cpu", tandem.device("cpu"), {"cuda:0": "cpu"}, lambda t, place: t):
        assert all(t.is_cpu for t in load(map_location=location).values())
    assert all(t.is_cuda for t in load(map_location=CUDA).values())
    assert all(t.is_cuda for t in load(map_location={"cpu": "cuda:0"}).values())
    places = []
    load(map_location=lambda t, place: places.append(place))
    assert sorted(places) == ["cpu", "cuda:0", "cuda:0", "cuda:0"]


def test_pickles_keep_their_device():
    x = tandem.arange(3, device=CUDA)
    y = pickle.loads(pickle.dumps(x))
    assert y.is_cuda and y.tolist() == [0, 1, 2]
    z = copy.deepcopy(x)
    assert z.is_cuda and z.data_ptr() != x.data_ptr()


def test_files_of_a_gpu_where_there_is_none(tmp_path):
    tandem.save({"w": ones(2)}, tmp_path / "state")
    (tmp_path / "pickle").write_bytes(pickle.dumps(ones(2)))
    body = (
        f"import pickle\nprint(tandem.load({str(tmp_path / 'state')!r}, map_location='cpu')['w'].tolist())\n"
        f"for f in (lambda: tandem.load({str(tmp_path / 'state')!r}),"
        f" lambda: pickle.load(open({str(tmp_path / 'pickle')!r}, 'rb'))):\n"
        "    try: f()\n    except RuntimeError as e: print(e)"
    )
    done = run(body, TANDEM_CUDA_DRIVER="/nowhere/libcuda.so.1")
    first, *errors = done.stdout.strip().splitlines()
    assert first == "[1.0, 1.0]" and len(errors) == 2, done.stderr
    assert all(e.startswith("Attempting to deserialize object on a CUDA device") for e in errors), errors


# ---- what waits, what is opened -------------------------------------------------------------------------------------


@late
def test_training_does_not_wait():
    net = model().to(CUDA)
    optimizer = tandem.optim.AdamW(net.parameters(), lr=0.1)
    schedule = tandem.optim.lr_scheduler.StepLR(optimizer, 1)
    x = ones(3, 4)
    for _ in range(2):
        net(x).square().mean().backward()
        tandem.cuda.synchronize()
        optimizer.step()
        schedule.step()
        assert not tandem.cuda.current_stream().query()
        optimizer.zero_grad()


@late
@pytest.mark.parametrize("how", [lambda step: step, tandem.compile], ids=["eager", "compiled"])
def test_scaled_training_does_not_wait(how):
    """But for the first step, which makes the optimizer's state; the parameters are those of the CPU."""

    def train(place):
        net = model().to(place)
        optimizer = tandem.optim.AdamW(net.parameters(), lr=0.1)
        scaler = tandem.amp.GradScaler(place, init_scale=8.0, growth_interval=2)
        x = tandem.linspace(-1, 1, 12).reshape(3, 4).to(place)
        factors = [tandem.tensor(f).to(place) for f in (1.0, 1.0, float("inf"), 1.0, 1.0, float("inf"), 1.0)]

        @how
        def step(factor):
            optimizer.zero_grad()
            loss = (net(x) * factor).square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

        for k, factor in enumerate(factors):
            if place == CUDA:
                tandem.cuda.synchronize()
            step(factor)
            assert place == "cpu" or k < 2 or not tandem.cuda.current_stream().query()
        return [*(p.detach().cpu() for p in net.parameters()), tandem.tensor(scaler.get_scale())]

    for one, other in zip(train("cpu"), train(CUDA), strict=True):
        tandem.testing.assert_close(one, other)


def test_names_of_a_gpu_are_errors_where_there_is_none():
    body = (
        "for f in (tandem.cuda.current_device, tandem.cuda.Stream, lambda: tandem.ones(1).cuda()):\n"
        "    try: f()\n    except RuntimeError as e: print(e)"
    )
    done = run(body, TANDEM_CUDA_DRIVER="/nowhere/libcuda.so.1")
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 3 and all("the CUDA driver /nowhere/libcuda.so.1 cannot be opened" in t for t in lines), lines
    assert lines[1].startswith("tandem.cuda.Stream(): this build of Tandem computes on the CPU only"), lines


def test_the_folders_of_wheels_are_named_before_a_gpu_is(tmp_path):
    for package in ("nvidia/cudnn/lib", "nvidia/cu13/lib"):
        (tmp_path / package).mkdir(parents=True)
    body = (
        f"import os, sys\nsys.path.append({str(tmp_path)!r})\n"
        "first = os.environ['TANDEM_CUDA_PATH']\ntandem.cuda.is_available()\n"
        "print(first, os.environ['TANDEM_CUDA_PATH'])"
    )
    first, after = run(body, TANDEM_CUDA_PATH="/given").stdout.split()
    assert first == "/given"
    assert after.split(":")[0] == "/given"
    assert [f for f in after.split(":") if str(tmp_path) in f] == [
        f"{tmp_path}/nvidia/{p}/lib" for p in ("cu13", "cudnn")
    ]


@two
@pytest.mark.parametrize("others", ["cpu", "cuda:1"])
def test_a_model_on_two_devices(others):
    """Each half where it is; the same as on one."""

    def train(first, second):
        tandem.manual_seed(0)
        a, b = nn.Linear(4, 8).to(first), nn.Linear(8, 2).to(second)
        parameters = [*a.parameters(), *b.parameters()]
        optimizer = tandem.optim.AdamW(parameters, lr=0.1)
        x = tandem.linspace(-1, 1, 12, device=first).reshape(3, 4)
        for _ in range(2):
            optimizer.zero_grad()
            b(a(x).tanh().to(second)).square().sum().backward()
            norm = nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
        assert str(a.weight.device) == first and str(b.weight.device) == second and str(norm.device) == first
        return [p.detach().cpu() for p in parameters]

    for p, q in zip(train("cpu", "cpu"), train("cuda:0", others), strict=True):
        tandem.testing.assert_close(p, q)
