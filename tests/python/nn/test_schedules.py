"""Schedules that test_optim.py does not reach: cycles, going on, averages of models, warnings and errors."""

import io
import math
import warnings

import numpy as np
import pytest

import tandem
from tandem import nn, optim
from tandem.optim import lr_scheduler as S
from tandem.optim import swa_utils


def made(lr=1.0, groups=2, tensor=False, **options):
    each = [{"params": [nn.Parameter(tandem.ones(1))], "lr": lr * (i + 1)} for i in range(groups)]
    for group in each:
        group["lr"] = tandem.tensor(group["lr"], dtype=tandem.float64) if tensor else group["lr"]
    return optim.SGD(each, lr=lr, **{"momentum": 0.9, **options})


def rates(optimizer, schedule, steps):
    out = []
    for _ in range(steps):
        out.append([float(g["lr"]) for g in optimizer.param_groups])
        assert [float(r) for r in schedule.get_last_lr()] == out[-1]
        optimizer.step()
        schedule.step()
    return out


SCHEDULES = {
    "StepLR": lambda o, **k: S.StepLR(o, 3, 0.5, **k),
    "MultiStepLR": lambda o, **k: S.MultiStepLR(o, [2, 5, 5], 0.3, **k),
    "ConstantLR": lambda o, **k: S.ConstantLR(o, 0.25, 6, **k),
    "LinearLR": lambda o, **k: S.LinearLR(o, 0.2, 0.9, 6, **k),
    "ExponentialLR": lambda o, **k: S.ExponentialLR(o, 0.9, **k),
    "PolynomialLR": lambda o, **k: S.PolynomialLR(o, 7, 2.0, **k),
    "CosineAnnealingLR": lambda o, **k: S.CosineAnnealingLR(o, 5, 0.01, **k),
    "CosineAnnealingWarmRestarts": lambda o, **k: S.CosineAnnealingWarmRestarts(o, 3, 2, 0.01, **k),
    "LambdaLR": lambda o, **k: S.LambdaLR(o, lambda t: 1 / (1 + t), **k),
    "MultiplicativeLR": lambda o, **k: S.MultiplicativeLR(o, lambda t: 0.95, **k),
    "CyclicLR": lambda o, **k: S.CyclicLR(o, 0.01, 0.5, 3, 5, mode="triangular2", **k),
    "OneCycleLR": lambda o, **k: S.OneCycleLR(o, 0.9, total_steps=16, **k),
    "SWALR": lambda o, **k: swa_utils.SWALR(o, 0.05, anneal_epochs=5, **k),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_tensor_rates_follow_numbers(name):
    a, b = made(), made(tensor=True)
    held = [g["lr"] for g in b.param_groups]
    expected = rates(a, SCHEDULES[name](a), 10)
    np.testing.assert_allclose(rates(b, SCHEDULES[name](b), 10), expected, rtol=1e-12)
    assert all(g["lr"] is t for g, t in zip(b.param_groups, held, strict=True)), "filled in place"


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_saved_schedule_goes_on(name):
    whole = made()
    expected = rates(whole, SCHEDULES[name](whole), 10)
    first = made()
    schedule = SCHEDULES[name](first)
    rates(first, schedule, 4)
    second = made(lr=7.0)
    again = SCHEDULES[name](second)
    file = io.BytesIO()
    tandem.save([first.state_dict(), schedule.state_dict()], file)
    file.seek(0)
    for part, state in zip((second, again), tandem.load(file), strict=True):
        part.load_state_dict(state)
    np.testing.assert_allclose(rates(second, again, 6), expected[4:], rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["LambdaLR", "ExponentialLR", "LinearLR", "PolynomialLR", "CosineAnnealingLR", "MultiplicativeLR"]
)
def test_last_epoch_goes_on_without_a_jump(name):
    optimizer = made()
    schedule = SCHEDULES[name](optimizer)
    rates(optimizer, schedule, 4)
    now = [g["lr"] for g in optimizer.param_groups]
    again = SCHEDULES[name](optimizer, last_epoch=schedule.last_epoch - 1)
    np.testing.assert_allclose([g["lr"] for g in optimizer.param_groups], now, rtol=0.2)
    assert again.last_epoch == 4
    with pytest.raises(KeyError, match="initial_lr"):
        SCHEDULES[name](made(), last_epoch=3)


def test_cyclic():
    optimizer = made(groups=1)
    schedule = S.CyclicLR(optimizer, 0.1, 0.5, 2, mode="triangular2")
    out, momenta = [], []
    for _ in range(9):
        out.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        schedule.step()
    np.testing.assert_allclose(out, [0.1, 0.3, 0.5, 0.3, 0.1, 0.2, 0.3, 0.2, 0.1], rtol=1e-9)
    np.testing.assert_allclose(momenta, [0.9, 0.85, 0.8, 0.85, 0.9, 0.875, 0.85, 0.875, 0.9], rtol=1e-9)
    adam = optim.Adam([nn.Parameter(tandem.ones(1))])
    S.CyclicLR(adam, 0.1, 0.5, 2)
    assert adam.param_groups[0]["betas"] == (0.9, 0.999)
    scaled = S.CyclicLR(made(groups=1), 0.0, 1.0, 2, scale_fn=lambda t: 0.5, scale_mode="iterations")
    scaled.optimizer.step()
    scaled.step()
    assert scaled.get_last_lr() == [0.25]
    with pytest.raises(ValueError, match="mode is invalid and scale_fn is None"):
        S.CyclicLR(made(), 0.1, 0.5, mode="square")
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        S.CyclicLR(optim.Adagrad([nn.Parameter(tandem.ones(1))]), 0.1, 0.5)


@pytest.mark.filterwarnings("ignore:Detected call")
def test_sequences_in_sequences():
    optimizer = made(groups=1)
    inner = S.SequentialLR(optimizer, [S.ConstantLR(optimizer, 0.5, 9), S.ConstantLR(optimizer, 0.25, 9)], [2])
    outer = S.SequentialLR(optimizer, [inner, S.ExponentialLR(optimizer, 0.5)], [5])
    out = [r[0] for r in rates(optimizer, outer, 8)]
    assert out[-3:] == [1.0, 0.5, 0.25] and set(out[:5]) == {0.5, 0.25}


def test_what_schedules_refuse():
    optimizer = made()
    with pytest.raises(ValueError, match="ChainedScheduler does not support `ReduceLROnPlateau`"):
        S.ChainedScheduler([S.StepLR(optimizer, 2), S.ReduceLROnPlateau(optimizer)])
    with pytest.raises(ValueError, match="Expected float or int eta_min, but got low of type"):
        S.CosineAnnealingWarmRestarts(optimizer, 2, eta_min="low")


def test_the_order_of_calls_is_watched():
    optimizer = made()
    schedule = S.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="lr_scheduler.step.* before .optimizer.step"):
        schedule.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(5)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = made()
        schedule = S.StepLR(good, 2)
        good.step()
        schedule.step()


def test_a_step_of_the_instance_is_not_taken_for_none():
    def own():
        pass

    late = made()
    schedule = S.StepLR(late, 2)
    late.step = own
    late.step()
    with pytest.warns(UserWarning, match="overridden after learning rate scheduler initialization") as seen:
        schedule.step()
    assert len(seen) == 1
    through = made()
    schedule, first = S.StepLR(through, 2), through.step
    through.step = lambda: first()
    through.step()
    with pytest.warns(UserWarning, match="overridden after learning rate scheduler initialization"):
        schedule.step()
    early = made()
    early.step = own
    schedule = S.StepLR(early, 2)
    early.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
    assert "epoch parameter" in S.EPOCH_DEPRECATION_WARNING


def test_plateau_of_groups_that_come_later():
    optimizer = made(groups=1)
    schedule = S.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    optimizer.add_param_group({"params": [nn.Parameter(tandem.ones(1))], "lr": 4.0})
    schedule.step(1.0), schedule.step(tandem.tensor(1.0))
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 2.0]
    with pytest.raises(ValueError, match="expected 2 min_lrs, got 1"):
        S.ReduceLROnPlateau(optimizer, min_lr=[0.1])


def test_averages_of_a_model():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    for make, expected in [
        (lambda: swa_utils.AveragedModel(net), 2.0),
        (lambda: swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5)), 2.25),
        (lambda: swa_utils.AveragedModel(net, avg_fn=swa_utils.get_ema_avg_fn(0.5)), 2.25),
        (lambda: swa_utils.AveragedModel(net, avg_fn=lambda mean, p, n: mean + p), 6.0),
    ]:
        average = make()
        for value in (1.0, 2.0, 3.0):
            with tandem.no_grad():
                net[0].weight.fill_(value)
                net[1].running_mean.fill_(value)
            average.update_parameters(net)
        assert average.module[0].weight.tolist() == [[expected] * 2] * 2 and average.n_averaged.item() == 3
        assert average.module[1].running_mean.tolist() == [3.0, 3.0]
        assert average(tandem.ones(4, 2)).shape == (4, 2)
        assert "module.0.weight" in average.state_dict() and "n_averaged" in average.state_dict()
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(net, avg_fn=lambda *a: a[0], multi_avg_fn=lambda *a: None)


def test_update_bn_is_the_mean_over_the_data():
    net = nn.Sequential(nn.BatchNorm1d(2)).eval()
    batches = [tandem.randn(8, 2) + i for i in range(3)]
    swa_utils.update_bn([(b, None) for b in batches], net)
    np.testing.assert_allclose(
        net[0].running_mean.tolist(), np.mean([b.mean(0).tolist() for b in batches], axis=0), rtol=1e-5
    )
    assert not net.training and net[0].momentum == 0.1


def test_swa_rates():
    optimizer = made(groups=1)
    schedule = swa_utils.SWALR(optimizer, 0.1, anneal_epochs=4)
    expected = [0.1 + 0.9 * (1 + math.cos(math.pi * min(t, 4) / 4)) / 2 for t in range(6)]
    np.testing.assert_allclose([r[0] for r in rates(optimizer, schedule, 6)], expected, rtol=1e-9)


KEPT = {
    "CyclicLR": lambda o, rate: S.CyclicLR(o, rate / 2, rate, cycle_momentum=False),
    "CyclicLR, lists": lambda o, rate: S.CyclicLR(o, [rate / 2], [rate], cycle_momentum=False),
    "OneCycleLR": lambda o, rate: S.OneCycleLR(o, rate, total_steps=9, cycle_momentum=False),
    "SWALR": lambda o, rate: swa_utils.SWALR(o, rate, anneal_epochs=3),
}


@pytest.mark.parametrize("tensor_rate", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_schedules_keep_no_alias_of_the_callers_values(name, tensor_rate):
    def rates(change):
        lr = tandem.tensor(0.1) if tensor_rate else 0.1
        optimizer = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=lr)
        rate = tandem.tensor(0.5)
        schedule = KEPT[name](optimizer, rate)
        if change:
            rate.fill_(7.0)
        seen = []
        for _ in range(4):
            optimizer.step()
            schedule.step()
            seen.append(float(optimizer.param_groups[0]["lr"]))
        return seen

    assert rates(change=True) == rates(change=False)
    assert len(set(rates(change=False))) > 1
