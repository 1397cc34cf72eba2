"""Sobol sequences: PyTorch's points, scrambled ones too."""

from __future__ import annotations

import copy
import importlib.util

import pytest

import tandem
from tandem.quasirandom import SobolEngine

# As PyTorch 2.13 draws them, times 2^10.
PLAIN = [[0, 0, 0, 0], [512, 512, 512, 512], [768, 256, 256, 256], [256, 768, 768, 768], [384, 384, 640, 896]]
SCRAMBLED = [[486.509765625, 606.744568], [592.653687, 38.012867], [973.485962, 883.040283]]


def test_plain_points():
    assert (SobolEngine(4).draw(5) * 1024).tolist() == PLAIN
    engine = SobolEngine(21201)
    assert engine.draw(2)[1].unique().tolist() == [0.5] and engine.draw(1).shape == (1, 21201)


def test_any_cut_gives_the_same_points():
    whole = SobolEngine(3, scramble=True, seed=5).draw(12, dtype=tandem.float64)
    engine = SobolEngine(3, scramble=True, seed=5)
    parts = [engine.draw(dtype=tandem.float64), engine.draw(4, dtype=tandem.float64)]
    twin = copy.deepcopy(engine)
    assert tandem.equal(tandem.cat(parts), whole[:5])
    assert tandem.equal(engine.fast_forward(3).draw(2, dtype=tandem.float64), whole[8:10])
    assert tandem.equal(twin.draw(2, dtype=tandem.float64), whole[5:7])
    assert tandem.equal(engine.reset().draw_base2(2, dtype=tandem.float64), whole[:4]) and engine.num_generated == 4
    out = tandem.empty(0, dtype=tandem.float64)
    assert engine.draw(2, out=out, dtype=tandem.float64) is out and tandem.equal(out, whole[4:6])


def test_scrambling():
    got = SobolEngine(2, scramble=True, seed=0).draw(3) * 1024
    tandem.testing.assert_close(got, tandem.tensor(SCRAMBLED), rtol=0, atol=1e-3)
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"
    tandem.manual_seed(1)
    first = SobolEngine(2, scramble=True).draw(4)
    assert not tandem.equal(SobolEngine(2, scramble=True).draw(4), first)
    tandem.manual_seed(1)
    assert tandem.equal(SobolEngine(2, scramble=True).draw(4), first)
    even = SobolEngine(2, scramble=True).draw_base2(8)
    assert (tandem.histc(even[:, 0], 16, 0, 1) == 16).all()


def test_errors(monkeypatch):
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
            SobolEngine(dimension)
    engine = SobolEngine(1)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"3 points have been previously generated, then: n=3\+2\*\*1=5"):
        engine.draw_base2(1)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "scipy" else find(name, *a))
    with pytest.raises(ImportError, match="direction numbers from SciPy"):
        SobolEngine(2)
