"""`tandem.jit.trace`, `save` and `load`, and names of torch.export."""

from __future__ import annotations

import io

import pytest
from conftest import assert_same_bits

import tandem
from tandem import nn


@pytest.fixture
def model():
    tandem.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()


@pytest.mark.parametrize("examples", [lambda x: x, lambda x: (x,), lambda x: [x]])
def test_trace(model, tmp_path, examples):
    x = tandem.randn(2, 3)
    traced = tandem.jit.trace(model, examples(x))
    expected = model(x).detach()
    tandem.jit.save(traced, tmp_path / "a.pt")
    traced.save(tmp_path / "b.pt")
    file = io.BytesIO()
    tandem.jit.save(traced, file)
    file.seek(0)
    for again in (traced, *map(tandem.jit.load, (tmp_path / "a.pt", str(tmp_path / "b.pt"), file))):
        assert isinstance(again, nn.Module)
        result = again.eval()(x)
        assert_same_bits(result, expected)
        assert not result.requires_grad
        for name, value in model.state_dict().items():
            assert_same_bits(again.state_dict()[name], value)


def test_arguments(tmp_path):
    def f(x, *, scale):
        return x * scale

    x = tandem.ones(2)
    traced = tandem.jit.trace(f, (x,), check_trace=False, strict=False, example_kwarg_inputs={"scale": x})
    assert traced(x, scale=x * 3).tolist() == [3, 3]
    assert tandem.jit.trace(lambda: x * 2)().tolist() == [2, 2]
    assert tandem.jit.trace(f, example_kwarg_inputs={"x": x, "scale": x})(x=x, scale=x).tolist() == [1, 1]
    program = tandem.export.export(tandem.relu, (x,), notes={"labels": "cat dog"})
    tandem.jit.save(program, tmp_path / "p.pt")
    extra = {"labels": "", "absent": None}
    tandem.jit.load(tmp_path / "p.pt", tandem.device("cpu"), extra)
    assert extra == {"labels": "cat dog", "absent": ""}


def test_refused(model, tmp_path):
    x = tandem.ones(2, 3)
    with pytest.raises(tandem.DataReadError, match=r"test_jit.py:\d+"):
        tandem.jit.trace(lambda x: x if x.sum() > 0 else -x, x)
    traced = tandem.jit.trace(model, x)
    with pytest.raises(ValueError, match=r"expected input to be float32 \[2, 3\], got float32 \[4, 3\]"):
        traced(tandem.ones(4, 3))
    with pytest.raises(TypeError, match="expected what jit.trace or jit.load gave, got Sequential"):
        tandem.jit.save(model, tmp_path / "a.pt")
    with pytest.raises(NotImplementedError, match="notes="):
        tandem.jit.save(traced, tmp_path / "a.pt", {"labels": "cat dog"})
    traced.save(tmp_path / "a.pt")
    with pytest.raises(NotImplementedError, match="runs on the CPU, not on meta"):
        tandem.jit.load(tmp_path / "a.pt", "meta")
    assert tandem.export.export(model, (x,), dynamic_shapes=None, strict=False).entries == ["forward"]
