"""`tandem.profiler` says when operations ran, and `utils.flop_counter` what their products took."""

from __future__ import annotations

import json

import pytest

import tandem
from tandem import nn
from tandem.nn import functional as F
from tandem.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
from tandem.utils.checkpoint import checkpoint
from tandem.utils.flop_counter import FlopCounterMode, register_flop_formula


def test_events_of_blocks_and_operations():
    x = tandem.ones(2, 3, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True) as prof:
        with record_function("outer"):
            (x @ x.T).sum().backward()
        x.detach().add(1)
    assert [e.key for e in prof.events()] == [
        "outer",
        "aten::matmul",
        "aten::sum",
        "aten::backward",
        "aten::detach",
        "aten::add",
    ]
    outer, product = prof.events()[:2]
    assert product.cpu_parent is outer and outer.cpu_children[0] is product and product.input_shapes == [[2, 3], [3, 2]]
    assert 0 <= outer.self_cpu_time_total <= outer.cpu_time_total == outer.time_range.elapsed_us()
    assert product.stack[0].startswith(f"{__file__}(") and outer.cuda_time_total == 0
    sums = prof.key_averages(group_by_input_shape=True)
    assert sums.total_average().count == 6 and sums.self_cpu_time_total > 0
    text = sums.table(sort_by="self_cpu_time_total", row_limit=2, header="times")
    assert text.splitlines()[1] == "times" and "Input Shapes" in text and len(text.splitlines()) == 9
    with profile(enabled=False) as off:
        x.detach().add(1)
    with pytest.raises(AssertionError, match="initialized"):
        off.events()
    x.detach().add(1)
    assert len(prof.events()) == 6


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, [(4, 2), (8, 2)]),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, [(4, 2)]),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1}, [(4, 1), (8, 1)]),
        (None, [(9, 0)]),
    ],
)
def test_schedules(plan, calls):
    seen = []

    def ready(prof):
        seen.append((prof.step_num, sum(e.key == "ProfilerStep*" for e in prof.events())))

    with profile(schedule=None if plan is None else schedule(**plan), on_trace_ready=ready) as prof:
        for _ in range(9):
            tandem.ones(1)
            prof.step()
    assert seen == calls


def test_steps_of_optimizers_are_events():
    w = nn.Parameter(tandem.ones(2))
    optimizer = tandem.optim.SGD([w], lr=0.1)
    w.grad = tandem.ones(2)
    with profile() as prof:
        optimizer.step()
    optimizer.step()
    assert [e.key for e in prof.events() if e.is_user_annotation] == ["Optimizer.step#SGD.step"]


def test_events_of_all_rounds():
    for kept in (False, True):
        with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=2), acc_events=kept) as prof:
            for _ in range(6):
                tandem.ones(1)
                prof.step()
        assert [e.count for e in prof.key_averages() if e.key == "aten::ones"] == [4 if kept else 2]


def test_traces(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "made"), "worker", use_gzip=True)) as prof:
        prof.add_metadata_json("sizes", "[1, 2]")

        @record_function("named")
        def named():
            return tandem.ones(1)

        named()
    (file,) = (tmp_path / "made").iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json.gz")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    said = json.loads((tmp_path / "trace.json").read_text())
    assert said["sizes"] == [1, 2] and [e["name"] for e in said["traceEvents"]] == ["named", "aten::ones"]
    assert {e["ph"] for e in said["traceEvents"]} == {"X"}


def test_compiled_functions_have_plans_where_nothing_is_recorded():
    @tandem.compile
    def f(x):
        with record_function("in"):
            return x * 2

    assert [f(tandem.ones(1) * k).item() for k in range(4)] == [0, 2, 4, 6]
    runs = f.runs
    with profile() as prof:
        f(tandem.ones(1))
    assert [e.key for e in prof.events()] == ["aten::ones", "in", "aten::mul"] and f.runs == runs + 1


def _r(*shape):
    return tandem.randn(*shape, requires_grad=True)


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda: _r(2, 3) @ _r(3, 4), {"mm": 144}),
        (lambda: _r(2, 3) @ tandem.ones(3, 4), {"mm": 96}),
        (lambda: _r(2, 3) @ _r(3), {}),
        (lambda: _r(5, 2, 3) @ _r(3, 4), {"mm": 720}),
        (lambda: _r(6, 5, 2, 3) @ _r(5, 3, 4), {"bmm": 4320}),
        (lambda: tandem.baddbmm(_r(4), _r(5, 2, 3), _r(5, 3, 4)), {"baddbmm": 240, "bmm": 480}),
        (lambda: F.linear(_r(5, 2, 3), _r(4, 3), _r(4)), {"addmm": 240, "mm": 480}),
        (
            lambda: F.conv2d(_r(2, 4, 6, 6), _r(4, 2, 3, 3), groups=2),
            {"convolution": 4608, "convolution_backward": 13824},
        ),
        (
            lambda: F.conv_transpose2d(_r(2, 3, 6, 6), _r(3, 4, 3, 3), stride=2),
            {"convolution": 15552, "convolution_backward": 31104},
        ),
        (lambda: F.scaled_dot_product_attention(_r(2, 5, 4), _r(2, 6, 4), _r(2, 6, 4)), {"bmm": 2880}),
        (lambda: tandem.einsum("ij,jk,kl->il", _r(3, 4), _r(4, 5), _r(5, 6)), {"bmm": 900}),
        (lambda: tandem.einsum("ij,kj->", _r(3, 4), _r(6, 4)), {"bmm": 24}),
        (lambda: nn.RNN(4, 5)(_r(3, 2, 4))[0], {"addmm": 540, "mm": 980}),
        (lambda: checkpoint(lambda x: x @ x, _r(3, 3), use_reentrant=True), {"mm": 216}),
    ],
)
def test_flops(function, flops):
    with FlopCounterMode(display=False) as counter:
        y = function()
        y.sum().backward()
    assert {str(op).removeprefix("aten."): n for op, n in counter.get_flop_counts().get("Global", {}).items()} == flops
    assert counter.get_total_flops() == sum(flops.values())


def test_flops_of_modules(capsys):
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5)))
    with FlopCounterMode() as counter:
        net(tandem.ones(2, 3)).sum().backward()
    totals = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
    assert totals == {"Global": 336, "Sequential": 336, "Sequential.0": 96, "Sequential.1": 240, "Sequential.1.0": 240}
    text = capsys.readouterr().out
    assert "Sequential.1" in text and "Sequential.1.0" not in text and "71.43%" in text


def test_formulas_of_programs():
    with FlopCounterMode(display=False, custom_mapping={tandem.ops.aten.erfc: lambda shape, out_shape: 7}) as counter:
        tandem.zeros(3).erfc()
    assert counter.get_total_flops() == 7
    with pytest.raises(ValueError, match="OpOverloadPacket"):
        register_flop_formula(len)(len)
