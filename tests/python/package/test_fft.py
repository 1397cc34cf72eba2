"""Frequencies and their order, by NumPy's; transforms say that they are lacking."""

from __future__ import annotations

import numpy as np
import pytest

import tandem
from tandem import fft


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("d", [1.0, 0.25])
def test_frequencies(n, d):
    got = fft.fftfreq(n, d, dtype=tandem.float64)
    np.testing.assert_allclose(got.numpy(), np.fft.fftfreq(n, d), rtol=1e-15)
    np.testing.assert_allclose(fft.rfftfreq(n, d, dtype=tandem.float64).numpy(), np.fft.rfftfreq(n, d), rtol=1e-15)
    assert fft.fftfreq(n, d).dtype is tandem.float32 and fft.fftfreq(n, requires_grad=True).requires_grad
    out = tandem.empty(0)
    assert fft.rfftfreq(n, d, out=out) is out and out.shape == (n // 2 + 1,)


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1)])
def test_order(dim):
    x = tandem.arange(20).reshape(4, 5)
    assert fft.fftshift(x, dim).tolist() == np.fft.fftshift(x.numpy(), dim).tolist()
    assert fft.ifftshift(x, dim).tolist() == np.fft.ifftshift(x.numpy(), dim).tolist()
    assert fft.fftshift(tandem.tensor(3.0)).item() == 3


def test_errors():
    with pytest.raises(RuntimeError, match="fftfreq requires a floating point or complex dtype"):
        fft.fftfreq(3, dtype=tandem.int64)
    with pytest.raises(IndexError, match="Dimension out of range"):
        fft.fftshift(tandem.ones(2), 3)
    with pytest.raises(NotImplementedError, match=r"fft.rfft is not part of Tandem\. Use numpy.fft"):
        fft.rfft(tandem.ones(4))
