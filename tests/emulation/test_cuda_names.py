"""tandem.cuda on a GPU, which the emulation of its driver is here: what its names promise. Streams of the emulation are
late: what nobody waits for is not done, so that a missing wait shows."""

from __future__ import annotations

import gc

import pytest
from gpu_here import DEVICES, MARKS, late, ones, two

import tandem
from tandem import nn

pytestmark = MARKS
CUDA = "cuda"


# ---- devices --------------------------------------------------------------------------------------------------------


def test_the_gpu_is_named():
    assert tandem.cuda.is_available() and tandem.cuda.is_initialized() and tandem.cuda.device_count() == DEVICES
    p = tandem.cuda.get_device_properties(0)
    assert p.name == tandem.cuda.get_device_name() and (p.major, p.minor) == tandem.cuda.get_device_capability("cuda:0")
    assert p.total_memory > 0 and p.multi_processor_count > 0 and p.warp_size == 32 and p.L2_cache_size > 0
    assert tandem.cuda.get_arch_list() == [f"sm_{p.major}{p.minor}"] == [p.gcnArchName]
    assert repr(p).startswith(f"_CudaDeviceProperties(name='{p.name}', major={p.major}") and len(str(p.uuid)) == 36
    with pytest.raises(AttributeError, match="the properties of a device have no 'colour'"):
        _ = p.colour
    assert tandem.cuda.is_bf16_supported() and tandem.backends.cuda.is_built()
    assert tandem.accelerator.current_accelerator() == tandem.device(CUDA) and tandem.accelerator.is_available()
    free, total = tandem.cuda.mem_get_info()
    assert 0 < free <= total == p.total_memory
    tandem.cuda.init()


def test_moving_by_every_name():
    x = tandem.arange(4.0)
    for y in (
        x.cuda(),
        x.to(CUDA),
        x.to("cuda:0", non_blocking=True),
        x.cuda(0),
        x.cuda("cuda"),
        x.to(0),
        x.to(ones(1)),
    ):
        assert y.is_cuda and not y.is_cpu and str(y.device) == "cuda:0" and y.get_device() == 0
        assert y.cpu().tolist() == x.tolist()
    y = x.cuda()
    assert y.cuda() is y and y.to(CUDA) is y
    layer = nn.Linear(2, 3).cuda()
    assert layer.weight.is_cuda and isinstance(layer.weight, nn.Parameter) and layer.bias.grad_fn is None
    assert nn.Linear(2, 3).to(CUDA, non_blocking=True).weight.is_cuda
    with pytest.raises(RuntimeError, match=r"device 'cuda:9' is not available"):
        x.to("cuda:9")


@two
def test_the_current_device():
    x = tandem.zeros(2)
    assert tandem.cuda.current_device() == 0
    with tandem.cuda.device(1):
        assert tandem.cuda.current_device() == 1 and x.cuda().get_device() == 1
        with tandem.cuda.device("cuda:0"), tandem.cuda.device(None), tandem.cuda.device(-1):
            assert tandem.ones(1, device=CUDA).get_device() == 0
        with tandem.cuda.device_of(x):
            assert tandem.cuda.current_device() == 1
        assert tandem.cuda.current_stream().device == tandem.device("cuda:1")
        assert tandem.ones(1).is_cpu
    with tandem.cuda.device_of(x.cuda(1)):
        assert x.to(CUDA).get_device() == 1
    tandem.cuda.set_device(1)
    try:
        assert x.cuda().get_device() == 1 and tandem.cuda.memory_allocated() == tandem.cuda.memory_allocated(1)
    finally:
        tandem.cuda.set_device("cuda:0")
    tandem.cuda.set_device(-1)
    assert tandem.cuda.current_device() == 0
    for wrong in (DEVICES, 99, "cuda:77"):
        with pytest.raises(RuntimeError, match=rf"there is no device 'cuda:\d+': there are {DEVICES} of its kind"):
            tandem.cuda.set_device(wrong)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        tandem.cuda.synchronize("cpu")


@two
def test_compiled_functions_know_the_current_device():
    @tandem.compile
    def f(x):
        return tandem.zeros(3, device=CUDA) + x

    x = tandem.tensor(2.0)
    for index in (0, 1, 0, 1):
        with tandem.cuda.device(index):
            y = f(x)
            assert y.get_device() == index and y.tolist() == [2, 2, 2]


@two
def test_between_devices():
    x = tandem.arange(6.0, device="cuda:0", requires_grad=True)
    y = (x.reshape(2, 3).t() * 2).to("cuda:1")
    assert y.get_device() == 1 and y.tolist() == [[0, 6], [2, 8], [4, 10]]
    (y * tandem.ones(3, 2, device="cuda:1")).sum().cpu().backward()
    assert x.grad.get_device() == 0 and x.grad.tolist() == [2] * 6
    with pytest.raises(RuntimeError, match="at least two devices, cuda:[01] and cuda:[01]"):
        x + x.to("cuda:1")


def test_mixed_with_the_cpu_as_pytorch():
    x = ones(3)
    assert (x + tandem.tensor(2.0)).tolist() == [3, 3, 3] and (tandem.tensor(2.0) * x).is_cuda
    assert (x + 1.5).is_cuda and x.add_(tandem.tensor(1.0)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device.*cuda:0 and cpu"):
        x + tandem.ones(3)
    with pytest.raises(RuntimeError, match="same device"):
        tandem.ones(()).add_(x[0])
    w = tandem.tensor(2.0, requires_grad=True)
    (x * w).sum().backward()
    assert w.grad.is_cpu and w.grad.item() == 6
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()


# ---- streams and events ---------------------------------------------------------------------------------------------


@late
def test_streams_order_work():
    x, s = ones(4), tandem.cuda.Stream()
    tandem.cuda.synchronize()
    assert s.query() and s != tandem.cuda.current_stream() and s == tandem.cuda.Stream._of(s._stream)
    with tandem.cuda.stream(s):
        assert tandem.cuda.current_stream() == s
        y = x + 1
    assert tandem.cuda.current_stream() == tandem.cuda.default_stream() != s
    assert not s.query() and tandem.cuda.current_stream().query()
    s.synchronize()
    assert s.query() and y.tolist() == [2] * 4


@late
def test_a_wait_that_is_missing_shows():
    x, s = tandem.zeros(4).cuda(), tandem.cuda.Stream()
    tandem.cuda.synchronize()
    with tandem.cuda.stream(s):
        x.fill_(7)
    assert x.tolist() == [0] * 4
    tandem.cuda.current_stream().wait_stream(s)
    assert x.tolist() == [7] * 4


def test_events_order_work_between_streams():
    a, b = tandem.cuda.Stream(), tandem.cuda.Stream(priority=-1)
    x = tandem.zeros(4).cuda()
    tandem.cuda.synchronize()
    event = tandem.cuda.Event()
    assert event.query() and event.device is None
    with a:
        x.fill_(3)
        event.record()
    b.wait_event(event)
    with tandem.cuda.stream(b):
        y = x * 2
        assert y.tolist() == [6] * 4
    assert event.query() and event.device == tandem.device("cuda:0")
    event.synchronize()
    assert isinstance(a.record_event(), tandem.Event) and isinstance(b, tandem.Stream)


def test_events_take_times():
    start, end = (tandem.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(end)
    start.record()
    ones(1000).sin()
    end.record()
    tandem.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(tandem.cuda.Event())
    with pytest.raises(NotImplementedError, match="not shared between processes"):
        tandem.cuda.Event(interprocess=True)


def test_streams_of_others_and_errors():
    s = tandem.cuda.Stream()
    same = tandem.cuda.ExternalStream(s.cuda_stream)
    assert same == s and hash(same) == hash(s) and same.device_index == 0
    tandem.cuda.set_stream(s)
    assert tandem.cuda.current_stream() == s
    tandem.cuda.set_stream(tandem.cuda.default_stream())
    with tandem.cuda.stream(None):
        pass
    with pytest.raises(TypeError, match="expected a Stream, not int"), tandem.cuda.stream(3):
        pass
    assert "cuda:0" in repr(s) and repr(tandem.cuda.Event()) == "<tandem.cuda.Event>"


@late
def test_a_backward_pass_waits_for_the_streams_of_the_forward():
    x, s = ones(4, requires_grad=True), tandem.cuda.Stream()
    s.wait_stream(tandem.cuda.current_stream())
    with tandem.cuda.stream(s):
        scale = tandem.zeros(4).cuda().add_(5)
        loss = (x * scale).sum()
    loss.backward()
    assert x.grad.tolist() == [5] * 4
    with tandem.cuda.stream(s):
        assert (x.grad * 1).tolist() == [5] * 4  # without another wait


@late
def test_memory_that_another_stream_uses_is_kept_for_it():
    s = tandem.cuda.Stream()
    x = tandem.zeros(1 << 16).cuda()
    tandem.cuda.synchronize()
    with tandem.cuda.stream(s):
        y = x + 1
    x.record_stream(s)
    place = x.data_ptr()
    del x
    again = tandem.full((1 << 16,), 9.0).cuda()
    assert again.data_ptr() != place
    s.synchronize()
    assert y.sum().item() == 1 << 16
    with pytest.raises(TypeError, match="record_stream: expected a tandem.cuda.Stream, not int"):
        y.record_stream(1)
    with pytest.raises(RuntimeError, match="the tensor is on cpu"):
        tandem.ones(1).record_stream(s)


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_memory_statistics_move_as_pytorchs():
    gc.collect()
    tandem.cuda.empty_cache()
    tandem.cuda.reset_peak_memory_stats()
    before, held = tandem.cuda.memory_allocated(), tandem.cuda.memory_reserved()
    x = tandem.empty(1 << 20, device=CUDA)
    assert tandem.cuda.memory_allocated() - before == 4 << 20
    y = tandem.empty(3, device=CUDA)
    assert tandem.cuda.memory_allocated() - before == (4 << 20) + 512
    assert tandem.cuda.memory_reserved() >= max(held, tandem.cuda.memory_allocated())
    stats = tandem.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == tandem.cuda.memory_allocated()
    assert stats["requested_bytes.small_pool.current"] >= 12 and list(stats) == sorted(stats)
    assert tandem.cuda.memory_stats_as_nested_dict()["allocation"]["all"]["current"] == stats["allocation.all.current"]
    del x, y
    assert tandem.cuda.memory_allocated() == before and tandem.cuda.max_memory_allocated() == before + (4 << 20) + 512
    cached = tandem.cuda.memory_reserved()
    tandem.cuda.empty_cache()
    assert tandem.cuda.memory_reserved() < cached == tandem.cuda.max_memory_reserved()
    tandem.cuda.reset_peak_memory_stats()
    assert tandem.cuda.max_memory_allocated() == before
    tandem.cuda.reset_accumulated_memory_stats()
    assert tandem.cuda.memory_stats()["num_ooms"] == 0


def test_snapshot_and_summary():
    x = tandem.empty(1 << 20, device=CUDA)
    blocks = [(s, b) for s in tandem.cuda.memory_snapshot() for b in s["blocks"]]
    (segment, block), *others = [(s, b) for s, b in blocks if b["address"] == x.data_ptr()]
    assert not others and block["state"] == "active_allocated" and block["requested_size"] == 4 << 20
    assert segment["segment_type"] == "large" and segment["device"] == 0 and segment["allocated_size"] >= 4 << 20
    assert sum(b["size"] for b in segment["blocks"]) == segment["total_size"]
    text = tandem.cuda.memory_summary()
    assert "memory of cuda:0" in text and "Allocated memory" in text and "from large pool" in text
    assert "from large pool" not in tandem.cuda.memory_summary(abbreviated=True)


def test_out_of_memory_says_what_is_held():
    free, total = tandem.cuda.mem_get_info()
    with pytest.raises(tandem.cuda.OutOfMemoryError, match=r"CUDA out of memory: tried to allocate .* on cuda:0") as e:
        tandem.empty(total, device=CUDA)
    assert "Tensors of this process hold" in str(e.value) and isinstance(e.value, tandem.OutOfMemoryError)
    x = ones(1)
    tandem.cuda.set_per_process_memory_fraction(1e-9)
    try:
        with pytest.raises(tandem.OutOfMemoryError, match="set_per_process_memory_fraction"):
            tandem.empty(30 << 20, device=CUDA)
    finally:
        tandem.cuda.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match=r"lies in \(0, 1\]"):
        tandem.cuda.set_per_process_memory_fraction(2.0)
    assert (x + tandem.empty(30 << 20, device=CUDA).fill_(1)[:1]).tolist() == [2]


# ---- pinned memory --------------------------------------------------------------------------------------------------


def test_pinned_memory():
    x = tandem.arange(12.0).reshape(3, 4)
    assert not x.is_pinned()
    p = x.t().pin_memory()
    assert p.is_pinned() and p.is_cpu and p.tolist() == x.t().tolist() and p.pin_memory() is p
    assert tandem.zeros(3, pin_memory=True).is_pinned() and tandem.tensor([1], pin_memory=True).is_pinned()
    assert p[1].is_pinned() and not (p + 1).is_pinned()
    with pytest.raises(RuntimeError, match="cannot pin 'cuda:0' memory"):
        x.cuda().pin_memory()
    empty = tandem.empty(0).pin_memory()
    assert empty.cuda().shape == (0,)


@late
def test_copies_from_pinned_memory_are_late():
    p = tandem.zeros(8).pin_memory()
    late_copy, copy = p.to(CUDA, non_blocking=True), p.to(CUDA)
    p.fill_(5)
    assert copy.tolist() == [0] * 8 and late_copy.tolist() == [5] * 8
    plain = tandem.zeros(8)
    copy = plain.to(CUDA, non_blocking=True)
    plain.fill_(5)
    assert copy.tolist() == [0] * 8


@late
def test_copies_to_the_host_wait_unless_told_otherwise():
    x = tandem.zeros(4).cuda()
    tandem.cuda.synchronize()
    x.fill_(3)
    early = x.to("cpu", non_blocking=True)
    assert early.is_pinned() and not tandem.cuda.current_stream().query()
    tandem.cuda.synchronize()
    assert early.tolist() == [3] * 4
    x.fill_(4)
    target = tandem.zeros(4).pin_memory()
    assert target.copy_(x).tolist() == [4] * 4
    x.fill_(5)
    assert x.cpu().tolist() == [5] * 4 and x.copy_(target, non_blocking=True).tolist() == [4] * 4


@late
def test_copies_into_pinned_memory_are_late():
    target, x = tandem.zeros(2, 4).pin_memory(), tandem.zeros(4).cuda()
    version = target._version
    tandem.cuda.synchronize()
    x.fill_(3)
    assert target[1].copy_(x.double(), non_blocking=True).data_ptr() == target[1].data_ptr()
    event = tandem.cuda.Event()
    event.record()
    assert target.tolist() == [[0] * 4] * 2 and not event.query() and target._version > version
    event.synchronize()
    assert target.tolist() == [[0] * 4, [3] * 4]
    # What cannot be late is there: other memory, places apart, shapes that broadcast, what has a history.
    x.fill_(4)
    assert tandem.zeros(4).copy_(x, non_blocking=True).tolist() == [4] * 4
    target.fill_(0)
    assert target.t()[1].copy_(x[:2], non_blocking=True).tolist() == [4] * 2
    assert target[:, ::2].copy_(x[::2], non_blocking=True).tolist() == [[4, 4]] * 2
    assert target.copy_(x + 1, non_blocking=True).tolist() == [[5] * 4] * 2
    w = ones(4, requires_grad=True)
    y = target[0].clone().pin_memory().copy_(w * 2, non_blocking=True)
    y.sum().backward()
    assert y.tolist() == [2] * 4 and w.grad.tolist() == [2] * 4
    with tandem.inference_mode():
        frozen = tandem.zeros(4).pin_memory()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        frozen.copy_(x, non_blocking=True)
    leaf = tandem.zeros(4).pin_memory().requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.copy_(x, non_blocking=True)
    with tandem.no_grad():
        leaf.copy_(x, non_blocking=True)
    tandem.cuda.synchronize()
    assert leaf.tolist() == [4] * 4


def test_pinned_memory_is_used_again_when_copies_are_done():
    sent = []
    for k in range(20):
        sent.append(tandem.full((1000,), float(k)).pin_memory().to(CUDA, non_blocking=True))
    assert [t[0].item() for t in sent] == list(range(20))


def test_a_data_loader_pins():
    data = tandem.utils.data.TensorDataset(tandem.arange(10.0), tandem.arange(10))
    loader = tandem.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
    seen = []
    for x, label in loader:
        assert x.is_pinned() and label.is_pinned()
        seen += x.to(CUDA, non_blocking=True).tolist()
    assert seen == list(range(10))
    from tandem.utils.data.pinning import pin_memory

    class Own:
        def pin_memory(self):
            return "pinned"

    nested = pin_memory({"a": (tandem.ones(1), [tandem.ones(1)]), "b": "text", "c": Own(), "d": 3})
    assert nested["a"][0].is_pinned() and nested["a"][1][0].is_pinned()
    assert (nested["b"], nested["c"], nested["d"]) == ("text", "pinned", 3)


def test_older_types_of_tensors():
    x = tandem.cuda.FloatTensor([1, 2])
    assert x.is_cuda and x.dtype is tandem.float32 and x.type() == "tandem.cuda.FloatTensor"
    assert isinstance(x, tandem.cuda.FloatTensor) and not isinstance(x, tandem.FloatTensor)
    assert not isinstance(x.cpu(), tandem.cuda.FloatTensor) and tandem.cuda.LongTensor(2, 3).shape == (2, 3)
    with pytest.warns(UserWarning, match="set_default_tensor_type"):
        tandem.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        assert tandem.zeros(1).is_cuda
    finally:
        tandem.set_default_tensor_type(tandem.FloatTensor)
    assert tandem.zeros(1).is_cpu
    with pytest.raises(AttributeError, match="has no attribute 'StrangeTensor'"):
        _ = tandem.cuda.StrangeTensor
