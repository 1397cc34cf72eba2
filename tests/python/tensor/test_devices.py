"""What programs ask about devices, generators and files before they begin."""

from __future__ import annotations

import io

import pytest

import tandem


@pytest.mark.parametrize("module", [tandem.cuda, tandem.xpu, tandem.mps])
def test_absent_devices_answer_questions(module):
    assert not module.is_available() and module.device_count() == 0
    module.manual_seed(0)
    if module is tandem.mps:
        return
    assert not module.is_initialized() and not module.is_bf16_supported()
    assert module.memory_allocated() == module.max_memory_allocated(0) == module.memory_reserved() == 0
    assert module.get_rng_state_all() == []
    for quiet in ("empty_cache", "seed", "seed_all", "reset_peak_memory_stats"):
        assert getattr(module, quiet)() is None
    module.manual_seed_all(0)
    module.set_rng_state_all([])
    with pytest.raises(RuntimeError, match="1 states for 0 devices"):
        module.set_rng_state_all([0])


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "cuda",
            "init synchronize current_device current_stream default_stream get_device_name get_device_capability "
            "get_device_properties mem_get_info get_rng_state initial_seed ipc_collect Stream Event CUDAGraph",
        ),
        ("xpu", "synchronize current_device get_device_name get_rng_state"),
        ("mps", "synchronize empty_cache current_allocated_memory driver_allocated_memory"),
    ],
)
def test_what_needs_a_device_says_so(module, names):
    for name in names.split():
        with pytest.raises(RuntimeError, match=rf"tandem.{module}.{name}\(\): this build .* computes on the CPU only"):
            getattr(getattr(tandem, module), name)()


def test_blocks_on_no_device():
    with tandem.cuda.device(-1), tandem.cuda.device(None), tandem.cuda.stream(None):
        pass
    tandem.cuda.set_device(-1)
    for block in (tandem.cuda.device(0), tandem.cuda.stream(object())):
        with pytest.raises(RuntimeError, match="CPU only"), block:
            pass
    with pytest.raises(RuntimeError, match="CPU only"):
        tandem.cuda.set_device(0)
    assert issubclass(tandem.OutOfMemoryError, RuntimeError) and tandem.cuda.OutOfMemoryError is tandem.OutOfMemoryError
    assert tandem.cuda.memory_stats() == {} and "no device memory" in tandem.cuda.memory_summary()
    assert tandem.cpu.is_available() and tandem.cpu.device_count() == 1 and tandem.cpu.current_device() == "cpu"


def test_names_of_gpus_without_one():
    for make in (tandem.Stream, tandem.Event, tandem.cuda.CUDAGraph, lambda: tandem.cuda.ExternalStream(0)):
        with pytest.raises(RuntimeError, match="CPU only"):
            make()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        tandem.ones(1).to(0)
    with pytest.raises(RuntimeError, match="CPU only"):
        tandem.cuda.FloatTensor(2)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = tandem.cuda.no_such_name
    x = tandem.ones(2)
    assert not x.is_pinned() and x.pin_memory() is x and not tandem.zeros(2, pin_memory=True).is_pinned()
    assert not tandem.cuda.is_current_stream_capturing() and not tandem.cuda.is_tf32_supported()
    assert tandem.cuda.memory_snapshot() == [] and tandem.cuda.get_arch_list() == []
    assert tandem.cuda.default_generators == () and tandem.accelerator.memory_allocated() == 0
    with tandem.cuda.nvtx.range("step"), tandem.cuda.device_of(x):
        tandem.accelerator.synchronize()
    with tandem.autocast("cpu"):
        assert (tandem.ones(2, 2) @ tandem.ones(2, 2)).dtype is tandem.bfloat16
    assert tandem.backends.cuda.matmul.allow_tf32 is tandem.backends.cudnn.allow_tf32 is False


def test_generators():
    g = tandem.Generator()
    assert g.manual_seed(7) is g and g.initial_seed() == 7
    first = tandem.rand(3, generator=g)
    state = g.get_state()
    second = tandem.rand(3, generator=g)
    g.set_state(state)
    assert tandem.equal(tandem.rand(3, generator=g), second) and not tandem.equal(first, second)
    assert str(tandem.Generator("cpu").device) == "cpu" and state.dtype is tandem.uint8
    assert tandem.manual_seed(1.7).initial_seed() == 1
    assert tandem.seed() == tandem.initial_seed()
    with pytest.raises(RuntimeError, match="CPU only"):
        tandem.Generator(device="cuda")


def test_fork_rng_leaves_the_stream_alone():
    tandem.manual_seed(3)
    expected = tandem.rand(2)
    tandem.manual_seed(3)
    with tandem.random.fork_rng(devices=[], device_type="cuda"):
        tandem.manual_seed(99)
        tandem.rand(5)
    assert tandem.equal(tandem.rand(2), expected)
    state = tandem.get_rng_state()
    with tandem.random.fork_rng(enabled=False):
        tandem.rand(1)
    assert not tandem.equal(tandem.get_rng_state(), state)


def test_the_state_of_the_generator_in_recorded_code():
    def body():
        first = tandem.rand(2)
        state = tandem.get_rng_state()
        second = tandem.rand(2)
        tandem.set_rng_state(state)
        again = tandem.rand(2)
        with tandem.random.fork_rng():
            tandem.manual_seed(5)
            inside = tandem.rand(2)
        return [first, second, again, inside, tandem.rand(2)]

    tandem.manual_seed(0)
    expected = body()
    tandem.manual_seed(0)
    with tandem.lazy():
        lazy = body()
    for a, b in zip(expected, lazy, strict=True):
        assert tandem.equal(a, b)
    assert tandem.equal(expected[1], expected[2])
    compiled = tandem.compile(body)
    for _ in range(3):
        tandem.manual_seed(0)
        for a, b in zip(expected, compiled(), strict=True):
            assert tandem.equal(a, b)
    with pytest.raises(RuntimeError, match=r"test_devices\.py:\d+: "):
        tandem.compile(body, fullgraph=True)()


def test_generators_are_copied_with_their_state():
    g = tandem.Generator().manual_seed(-1)
    assert g.initial_seed() == 2**64 - 1
    tandem.rand(2, generator=g)
    copy = g.clone_state()
    assert copy is not g and tandem.equal(tandem.rand(2, generator=g), tandem.rand(2, generator=copy))


def test_settings_are_remembered():
    for mode, level in (("warn", 1), (2, 2), ("default", 0)):
        tandem.set_deterministic_debug_mode(mode)
        assert tandem.get_deterministic_debug_mode() == level
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        tandem.set_deterministic_debug_mode("loud")
    assert tandem.set_flush_denormal(False) and not tandem.set_flush_denormal(True)
    tandem.set_warn_always(True)
    assert tandem.is_warn_always_enabled()
    tandem.set_warn_always(False)
    assert not tandem.backends.mkl.is_available() and not tandem.backends.openmp.is_available()
    assert not tandem.backends.mps.is_macos_or_newer(13, 0) and tandem.backends.cuda.flash_sdp_enabled()


def test_options_of_save_and_load():
    file = io.BytesIO()
    tandem.save({"w": tandem.ones(2), "p": tandem.nn.Parameter(tandem.zeros(1))}, file, pickle_protocol=4)

    def load(**options):
        file.seek(0)
        return tandem.load(file, **options)

    for location in ("cpu", tandem.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, lambda t, place: None):
        loaded = load(map_location=location, weights_only=True, mmap=False)
        assert loaded["w"].tolist() == [1, 1] and isinstance(loaded["p"], tandem.nn.Parameter)
    seen = []
    doubled = load(map_location=lambda t, place: seen.append(place) or t * 2)
    assert doubled["w"].tolist() == [2, 2] and {*seen} == {"cpu"}
    with pytest.raises(RuntimeError, match="not available"):
        load(map_location="cuda")
    with pytest.raises(TypeError, match="unexpected keyword"):
        load(locations="cpu")
    with tandem.serialization.safe_globals([dict]):
        assert tandem.serialization.get_safe_globals() == [dict]
    assert tandem.serialization.get_safe_globals() == []


def test_exchange_and_handles():
    x = tandem.arange(3, dtype=tandem.float32)
    from tandem.utils.dlpack import from_dlpack, to_dlpack
    from tandem.utils.hooks import RemovableHandle

    assert from_dlpack(x).tolist() == [0, 1, 2] and to_dlpack(x) is not None
    handle = tandem.nn.Linear(1, 1).register_forward_hook(lambda *a: None)
    assert isinstance(handle, RemovableHandle)


def test_names_of_devices():
    cpu = tandem.device("cpu")
    with cpu as entered:
        assert entered is cpu and tandem.ones(1).device == cpu
    for name in ("cuda", "xpu", "mps"):
        assert tandem.device(name).type == name
        with pytest.raises(RuntimeError, match=f"'{name}' is not available"), tandem.device(name):
            pass
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .* device type at start of device string: disk"):
        tandem.device("disk")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        tandem.device(0)
