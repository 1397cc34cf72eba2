"""What programs look at a GPU with: reads by the host that are told of, pools of memory, CUDA's own libraries."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import warnings

import devices
import pytest
from gpu_here import MARKS, late, ones, run, two

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
    with pytest.raises(tandem.cuda.CudaError, match=r"CUDA error 2 \(2\)"):
        tandem.cuda.check_error(2)
    with pytest.raises(NotImplementedError, match=r"cudart\(\).cudaHostRegister: functions of CUDA's runtime"):
        runtime.cudaHostRegister()


@late
def test_what_a_profiler_looks_at():
    driver = ctypes.CDLL(os.environ["TANDEM_CUDA_DRIVER"])
    with tandem.cuda.profiler.profile():
        assert driver.tandemEmulatedProfiles() == 1
    assert driver.tandemEmulatedProfiles() == 0
    assert tandem.cuda.cudart().cudaProfilerStart() == tandem.cuda.cudart().cudaProfilerStop() == 0
    with tandem.cuda.nvtx.range("{} of {n}", 1, n=2):
        pass


@late
def test_the_management_library():
    assert (tandem.cuda.utilization(), tandem.cuda.memory_usage("cuda:0")) == (87, 41)
    assert (tandem.cuda.temperature(), tandem.cuda.power_draw(), tandem.cuda.clock_rate()) == (54, 412034, 1980)
    first, *lines = tandem.cuda.list_gpu_processes().splitlines()
    assert first == "GPU:0" and len(lines) == 9
    assert lines[0] == "process       4711 uses     1024.000 MB GPU memory" and "uses      unknown MB" in lines[8]
    assert tandem.cuda.list_gpu_processes(1) == "GPU:1\nno processes are running"
    with pytest.raises(RuntimeError, match=r"temperature: Not Supported \(3\)"):
        tandem.cuda.temperature(1)


def test_without_the_management_library():
    done = run("print(tandem.cuda.utilization())", TANDEM_NVML="/nowhere/libnvidia-ml.so.1")
    assert "tandem.cuda.utilization: NVIDIA's management library libnvidia-ml.so.1 cannot be opened" in done.stderr


# ---- memory and streams of others -----------------------------------------------------------------------------------


def test_memory_for_other_libraries():
    gc.collect()
    before = tandem.cuda.memory_allocated()
    side = tandem.cuda.Stream()
    for stream in (None, side, side.cuda_stream):
        address = tandem.cuda.caching_allocator_alloc(4096, stream=stream)
        assert address != 0 and tandem.cuda.memory_allocated() == before + 4096
        tandem.cuda.caching_allocator_delete(address)
        assert tandem.cuda.memory_allocated() == before
    with pytest.raises(RuntimeError, match=f"invalid device pointer: {address:#x}"):
        tandem.cuda.caching_allocator_delete(address)
    tandem.cuda.caching_allocator_delete(0)
    with pytest.raises(TypeError, match="Invalid type for stream argument.*not str"):
        tandem.cuda.caching_allocator_alloc(8, 0, "side")
    for name in ("change_current_allocator", "CUDAPluggableAllocator"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(tandem.cuda, name)("allocator.so")
    same = tandem.cuda.get_stream_from_external(side.cuda_stream, "cuda:0")
    assert same == side and isinstance(same, tandem.cuda.Stream)


def test_statistics_of_page_locked_memory():
    tandem.cuda.synchronize()
    gc.collect()
    tandem.cuda.empty_cache()
    tandem.cuda.reset_peak_host_memory_stats()
    tandem.cuda.reset_accumulated_host_memory_stats()
    before = tandem.cuda.host_memory_stats()
    assert before["active_requests.allocated"] == 0 and list(before) == sorted(before)
    x = tandem.empty(1 << 18, pin_memory=True)
    stats = tandem.cuda.host_memory_stats()
    for name, grown in (("active_requests", 1), ("active_bytes", 1 << 20), ("allocations", 1)):
        assert stats[f"{name}.current"] - before[f"{name}.current"] == grown == stats[f"{name}.allocated"], name
    assert stats["num_host_alloc"] == 1 and stats["num_host_free"] == 0
    del x
    nested = tandem.cuda.host_memory_stats_as_nested_dict()
    assert nested["active_bytes"]["current"] == before["active_bytes.current"]
    assert nested["active_bytes"]["peak"] == before["active_bytes.current"] + (1 << 20)
    assert nested["allocated_bytes"]["current"] == before["allocated_bytes.current"] + (1 << 20)  # kept
    tandem.cuda.empty_cache()
    assert tandem.cuda.host_memory_stats()["num_host_free"] == 1


def test_a_snapshot_in_a_file(tmp_path):
    x = ones(1000)
    tandem.cuda.memory._record_memory_history(max_entries=100)
    tandem.cuda.memory._dump_snapshot(tmp_path / "memory.pickle")
    found = pickle.loads((tmp_path / "memory.pickle").read_bytes())
    assert found["segments"] and len(found["device_traces"]) == tandem.cuda.device_count() and x.is_cuda


def test_architectures_and_flags():
    assert tandem.cuda.get_gencode_flags() == "-gencode compute=compute_90,code=sm_90" or devices.REAL
    assert tandem.cuda.has_half and tandem.backends.cuda.is_flash_attention_available()
    with tandem.backends.cuda.sdp_kernel(enable_flash=False, enable_math=True):
        pass
    with (
        pytest.raises(RuntimeError, match="no way to compute attention"),
        tandem.backends.cuda.sdp_kernel(False, False, False, False),
    ):
        pass


# ---- several GPUs of one process ------------------------------------------------------------------------------------


@two
def test_copies_sums_and_pieces():
    comm = tandem.cuda.comm
    x = tandem.arange(10.0).reshape(5, 2)
    for source in (x, x.cuda(1)):
        a, b = comm.broadcast(source, [0, "cuda:1"])
        assert (a.get_device(), b.get_device()) == (0, 1) and a.tolist() == b.tolist() == x.tolist()
        pieces = comm.scatter(source, [0, 1])
        assert [p.shape[0] for p in pieces] == [3, 2] and [p.get_device() for p in pieces] == [0, 1]
        pieces = comm.scatter(source, [1, 0], [1, 4], streams=[tandem.cuda.Stream(1), None])
        tandem.cuda.synchronize(1)
        assert [p.tolist() for p in pieces] == [x[:1].tolist(), x[1:].tolist()]
        for where in (None, 1, "cpu", -1):
            joined = comm.gather(pieces, destination=where)
            assert joined.tolist() == x.tolist() and joined.is_cpu == (where in ("cpu", -1))
    out = comm.broadcast(x, out=[tandem.empty(5, 2, device="cuda:1")])
    assert out[0].tolist() == x.tolist()
    out = comm.scatter(x, out=[tandem.empty(2, 2, device="cuda:1"), tandem.empty(3, 2, device="cuda:0")])
    assert comm.gather(out, out=tandem.empty(5, 2)).tolist() == x.tolist()
    total = comm.reduce_add([a, b, b], 1)
    assert total.get_device() == 1 and total.tolist() == (x * 3).tolist()
    assert comm.reduce_add_coalesced([[a, a], [b, b]], 0)[1].tolist() == (x * 2).tolist()
    assert comm.broadcast_coalesced([x, x], [0, 1])[1][0].get_device() == 1
    for error, match, call in (
        (RuntimeError, "Exactly one of", lambda: comm.broadcast(x)),
        (RuntimeError, "same GPU with one", lambda: comm.reduce_add([b], 0)),
        (ValueError, "input 1 has invalid size: got 1x2, but expected 5x2", lambda: comm.reduce_add([a, a[:1]])),
        (AssertionError, "input 0 is on cpu", lambda: comm.reduce_add([x])),
        (RuntimeError, r"pieces of sizes \[1, 1\] for 2 devices", lambda: comm.scatter(x, [0, 1], [1, 1])),
    ):
        with pytest.raises(error, match=match):
            call()


def test_nccl():
    version = tandem.cuda.nccl.version()
    assert version[0] == 2 and len(version) == 3
    x = ones(3)
    assert tandem.cuda.nccl.is_available([x]) and not tandem.cuda.nccl.is_available([x, x])
    assert not tandem.cuda.nccl.is_available([tandem.ones(2)])
