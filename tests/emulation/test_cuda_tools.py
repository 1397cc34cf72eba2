"""What programs look at a GPU with: reads by the host that are told of, pools of memory, CUDA's own libraries."""

from __future__ import annotations

import warnings

import pytest
from gpu_here import MARKS, ones

import tandem
from tandem import nn

pytestmark = MARKS
CUDA = "cuda"

# ---- reads by the host ----------------------------------------------------------------------------------------------

READS = {
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "numpy": lambda x: x.cpu().numpy(),
    "print": lambda x: str(x),
    "if": lambda x: bool(x[0] > 0),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "unique": lambda x: tandem.unique(x),
    "copy_": lambda x: tandem.empty(4).copy_(x),
    "equal": lambda x: tandem.equal(x, x + 1),
}


@pytest.fixture
def mode():
    yield tandem.cuda.set_sync_debug_mode
    tandem.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", READS)
def test_reads_are_told_of(mode, name, compiled):
    if compiled and name in {"nonzero", "mask", "unique"}:
        pytest.skip("a plan is for one size, which is checked without waiting")
    x, read = ones(4), READS[name]
    call = tandem.compile(read) if compiled else read
    call(x)
    mode("error")
    assert tandem.cuda.get_sync_debug_mode() == 2
    with pytest.raises(RuntimeError, match=r"called a synchronizing CUDA operation: .* on cuda:0 is read by the host"):
        call(x)
    mode("warn")
    with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
        call(x)
    mode(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(x)


def test_work_that_reads_nothing_is_not_told_of(mode):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.LayerNorm(8)).cuda()
    optimizer = tandem.optim.AdamW(model.parameters())
    x, pinned = ones(2, 4), tandem.empty(2, 8).pin_memory()

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    mode("error")
    for f in (step, tandem.compile(step)):
        for _ in range(3):
            f()
    with tandem.no_grad():
        pinned.copy_(model(x), non_blocking=True)
    tandem.ones(3).cuda()
    tandem.cuda.synchronize()
    tandem.cuda.current_stream().synchronize()


def test_modes_that_are_none(mode):
    for wrong in ("loud", 3, -1):
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            mode(wrong)
    assert tandem.cuda.get_sync_debug_mode() == 0


# ---- pools ----------------------------------------------------------------------------------------------------------


def test_memory_of_a_pool_serves_nothing_else():
    pool = tandem.cuda.MemPool()
    with tandem.cuda.use_mem_pool(pool):
        x = tandem.empty(1 << 20, device=CUDA)
        place = x.data_ptr()
        del x
    others = [tandem.empty(1 << 20, device=CUDA) for _ in range(3)]
    assert place not in [t.data_ptr() for t in others]
    with tandem.cuda.use_mem_pool(pool, CUDA):
        assert tandem.empty(1 << 20, device=CUDA).data_ptr() == place
        other = tandem.cuda.MemPool()
        with tandem.cuda.use_mem_pool(other):  # the inner one, then the outer one again
            assert tandem.empty(1 << 20, device=CUDA).data_ptr() != place
        assert tandem.empty(1 << 20, device=CUDA).data_ptr() == place
    with pytest.raises(ZeroDivisionError), tandem.cuda.use_mem_pool(pool):
        1 / 0  # noqa: B018
    assert tandem.empty(1 << 20, device=CUDA).data_ptr() != place


def test_a_pool_that_goes_gives_its_memory_back():
    tandem.cuda.empty_cache()
    before = tandem.cuda.memory_reserved()
    pool = tandem.cuda.MemPool()
    with tandem.cuda.use_mem_pool(pool):
        x = tandem.ones(1 << 22, device=CUDA)
    del pool  # its memory is still in use
    assert x.sum().item() == 1 << 22
    del x
    tandem.cuda.empty_cache()
    assert tandem.cuda.memory_reserved() <= before


def test_graphs_share_a_pool():
    pool, graph, x = tandem.cuda.MemPool(), tandem.cuda.CUDAGraph(), ones(5)
    with tandem.cuda.graph(graph, pool=pool.id):
        y = x * 2
    assert graph.pool() == pool.id
    del pool
    tandem.cuda.empty_cache()
    x.fill_(3)
    graph.replay()
    assert y.tolist() == [6] * 5


def test_what_pools_are_not():
    with pytest.raises(NotImplementedError, match="MemPool"):
        tandem.cuda.MemPool(allocator=object())
    if tandem.cuda.device_count() > 1:
        pool = tandem.cuda.MemPool()
        with pytest.raises(RuntimeError, match="the pool is of cuda:0"), tandem.cuda.use_mem_pool(pool, "cuda:1"):
            pass


def test_the_share_of_memory():
    assert tandem.cuda.get_per_process_memory_fraction() == 1 and tandem.cuda.get_allocator_backend() == "native"
    tandem.cuda.set_per_process_memory_fraction(0.5)
    assert tandem.cuda.get_per_process_memory_fraction(0) == 0.5
    tandem.cuda.set_per_process_memory_fraction(1.0)


# ---- CUDA's libraries by name ---------------------------------------------------------------------------------------


def test_cudart():
    runtime = tandem.cuda.cudart()
    assert runtime.cudaMemGetInfo(0) == tandem.cuda.mem_get_info() and runtime.cudaDeviceSynchronize() == 0
    assert tandem.cuda.device_memory_used() == tandem.cuda.mem_get_info()[1] - tandem.cuda.mem_get_info()[0]
    tandem.cuda.check_error(runtime.cudaDeviceSynchronize())
    with pytest.raises(RuntimeError, match="CUDA error 2"):
        tandem.cuda.check_error(2)
    with pytest.raises(NotImplementedError, match=r"cudart\(\).cudaProfilerStart.*from outside"):
        runtime.cudaProfilerStart()


def test_nccl():
    version = tandem.cuda.nccl.version()
    assert version[0] == 2 and len(version) == 3
    x = ones(3)
    assert tandem.cuda.nccl.is_available([x]) and not tandem.cuda.nccl.is_available([x, x])
    assert not tandem.cuda.nccl.is_available([tandem.ones(2)])
