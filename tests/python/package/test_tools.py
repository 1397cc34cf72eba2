"""Names that scripts take for work beside computing: timing, reports of the environment, gradients of convolutions."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tandem
from tandem import nn
from tandem.distributions import constraints, transform_to
from tandem.nn import functional as F  # noqa: N812
from tandem.utils import benchmark, collect_env

IMPORTS = """
import torch.utils.benchmark as benchmark
from torch.utils.benchmark import Compare, Measurement, Timer
from torch.utils.collect_env import get_pretty_env_info
from torch.nn.grad import conv2d_input, conv2d_weight
from torch.nn.utils import convert_conv2d_weight_memory_format
from torch.nn.utils.memory_format import convert_conv3d_weight_memory_format
from torch.autograd.graph import allow_mutation_on_saved_tensors
from torch.autograd import set_multithreading_enabled
assert Timer("x + 1", globals={"x": torch.ones(2)}).timeit(2).number_per_run == 2
"""


def test_names_can_be_imported():
    program = ["import tandem", "tandem.install_as_torch()", "import torch", *IMPORTS.strip().splitlines()]
    done = subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_timer_measures_with_the_threads_it_was_told():
    seen, threads = [], tandem.get_num_threads()
    timer = benchmark.Timer(
        "note(torch.get_num_threads())",
        setup="y = 1",
        globals={"note": seen.append},
        label="L",
        sub_label="S",
        description="D",
        num_threads=1,
    )
    m = timer.blocked_autorange(min_run_time=0.001)
    assert set(seen) == {1} and tandem.get_num_threads() == threads
    assert m.number_per_run >= 1 and sum(m.raw_times) >= 0.001 and m.label == "L" and m.title == "L: S"
    assert "Median" in repr(m) or "measurement" in repr(m)
    assert timer.adaptive_autorange(min_run_time=0.001, max_run_time=0.01).median > 0
    times = []
    timer.blocked_autorange(callback=lambda number, t: times.append((number, t)), min_run_time=0.001)
    assert times and all(t > 0 for _, t in times)
    for wrong in ({"language": "c++"}, {"global_setup": "int x;"}, {"stmt": print}):
        with pytest.raises(ValueError):
            benchmark.Timer(**wrong)


def test_measurements_are_put_together_in_a_table():
    def measured(sub_label, description, *times):
        task = benchmark.TaskSpec("f()", label="f", sub_label=sub_label, description=description)
        return benchmark.Measurement(2, list(times), task)

    first = measured("a", "x", 0.002, 0.004, 0.003, 0.003)
    assert first.median == pytest.approx(0.0015) and first.iqr == pytest.approx(0.00025)
    merged = benchmark.Measurement.merge([first, measured("a", "x", 0.006), measured("b", "x", 0.1)])
    assert [len(m.times) for m in merged] == [5, 1]
    lines = str(benchmark.Compare([first, measured("b", "y", 0.2)])).splitlines()
    assert lines[1].split() == ["|", "x|", "y"] and lines[3].split() == ["a", "|", "1.5|"]
    assert lines[-1] == "Times are in milliseconds (ms)."
    with pytest.raises(ValueError):
        benchmark.Compare([1])


def test_a_report_names_versions():
    text = collect_env.get_pretty_env_info()
    assert f"Tandem version: {tandem.__version__}" in text and "numpy==" in text
    assert collect_env.get_env_info().is_cuda_available == str(tandem.cuda.is_available())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_are_those_of_autograd(dims):
    x = tandem.randn(2, 4, *[5] * dims, dtype=tandem.float64, requires_grad=True)
    w = tandem.randn(6, 2, *[2] * dims, dtype=tandem.float64, requires_grad=True)
    how = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
    y = getattr(F, f"conv{dims}d")(x, w, None, **how)
    g = tandem.randn_like(y)
    expected = tandem.autograd.grad(y, (x, w), g)
    with tandem.no_grad():
        found = getattr(nn.grad, f"conv{dims}d_input")(x.shape, w, g, **how)
        assert found.equal(expected[0]) and not found.requires_grad
        assert getattr(nn.grad, f"conv{dims}d_weight")(x, w.shape, g, **how).equal(expected[1])


def test_weights_of_convolutions_are_laid_out_anew():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 2, 3), nn.Conv1d(2, 2, 3), nn.Linear(2, 2))
    weight = model[0].weight
    before = weight.detach().clone()
    assert nn.utils.convert_conv2d_weight_memory_format(model, tandem.channels_last) is model
    assert model[0].weight is weight and weight.equal(before)
    assert weight.is_contiguous(memory_format=tandem.channels_last)
    assert model[1].weight.is_contiguous(memory_format=tandem.channels_last)
    assert model[2].weight.is_contiguous() and model[3].weight.is_contiguous()


def test_free_numbers_become_positive_definite_matrices():
    for constraint in (constraints.positive_definite, constraints.positive_semidefinite):
        assert constraint.check(transform_to(constraint)(tandem.randn(3, 4, 4))).all()
