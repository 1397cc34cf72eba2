"""`SobolEngine`: points that fill the unit cube evenly, with PyTorch's draws."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

import tandem
from tandem import Tensor

__all__ = ["SobolEngine"]


def _table(dimension: int) -> tuple[Any, Any]:
    """Joe and Kuo's primitive polynomials and first direction numbers (criterion D(6)), as SciPy has them."""
    scipy = importlib.util.find_spec("scipy")
    path = Path(scipy.origin).parent / "stats/_sobol_direction_numbers.npz" if scipy and scipy.origin else None
    if path is None or not path.exists():
        raise ImportError(
            "SobolEngine takes its direction numbers from SciPy, which is not here: install it with `pip install scipy`"
        )
    with np.load(path) as table:
        return table["poly"][:dimension], table["vinit"][:dimension]


def _directions(dimension: int, bits: int) -> Any:
    """Row d has the direction numbers of coordinate d, in units of 2^-bits: Bratley and Fox's recurrence (ACM TOMS 14,
    1988)."""
    polynomials, first = _table(dimension)
    v = np.zeros((dimension, bits), np.int64)
    v[0] = 1
    degrees = np.array([int(p).bit_length() - 1 for p in polynomials])
    for degree in range(1, int(degrees.max()) + 1):
        rows = np.flatnonzero(degrees == degree)
        rows = rows[rows > 0]
        known = min(degree, bits)
        v[rows, :known] = first[rows, :known]
        for j in range(degree, bits):
            new = v[rows, j - degree]
            for k in range(degree):
                taken = polynomials[rows] >> (degree - 1 - k) & 1
                new = new ^ taken * (v[rows, j - k - 1] << (k + 1))
            v[rows, j] = new
    return v << np.arange(bits - 1, -1, -1)


class SobolEngine:
    """Draws points of a Sobol sequence, scrambled on request.

    Args:
        dimension: coordinates of a point, 1 to 21201.
        scramble: shift the sequence at random and mix its digits (Matousek, J. Complexity 14, 1998).
        seed: of the scrambling, which gives PyTorch's points for it; without one the default generator draws.

    Direction numbers are Joe and Kuo's (SIAM J. Sci. Comput. 30, 2008), from SciPy, of which ImportError says that it
    is missing. ValueError for another dimension.

    >>> import tandem
    >>> tandem.quasirandom.SobolEngine(3).draw(3)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.5000],
            [0.7500, 0.2500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        directions = _directions(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            digits = self._digits(dimension * self.MAXBIT * (1 + self.MAXBIT))
            of_shift, of_digits = np.split(digits, [dimension * self.MAXBIT])
            shift = of_shift.reshape(dimension, self.MAXBIT) @ (1 << np.arange(self.MAXBIT))
            directions = self._mixed(directions, of_digits.reshape(dimension, self.MAXBIT, self.MAXBIT))
        self.sobolstate = tandem.tensor(directions, device="cpu")
        self.shift = tandem.tensor(shift, device="cpu")
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _digits(self, n: int) -> Any:
        """0 and 1 at random. Those of a seed are PyTorch's: the last bits of a Mersenne twister's words."""
        if self.seed is None:
            return tandem.randint(2, (n,), device="cpu").numpy()
        words = np.random.MT19937()
        np.random.RandomState(words).seed(self.seed & 0xFFFFFFFF)
        return (words.random_raw(n) & 1).astype(np.int64)

    def _mixed(self, directions: Any, triangles: Any) -> Any:
        """Each direction number's digits times a lower triangular matrix with a diagonal of ones, modulo 2."""
        powers = 1 << np.arange(self.MAXBIT - 1, -1, -1)
        rows = np.tril(triangles, -1) | np.eye(self.MAXBIT, dtype=np.int64)
        digits = (directions[:, :, None] & powers) != 0
        return (digits.astype(np.int64) @ rows.transpose(0, 2, 1) & 1) @ powers

    def _points(self, first: int, n: int) -> Tensor:
        """Points number `first` and so on, in units of 2^-30: of the Gray code's digits."""
        numbers = tandem.arange(first, first + n, device="cpu")
        code = numbers ^ (numbers >> 1)
        points = self.shift.repeat(n, 1)
        for j in range(int(first + n).bit_length()):
            points ^= (code >> j & 1).unsqueeze(1) * self.sobolstate[:, j]
        return points

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: tandem.dtype | None = None) -> Tensor:
        """The next n points, `[n, dimension]`, of the default dtype or of `dtype`; into `out` if it is given."""
        points = self._points(self.num_generated, n)
        self.num_generated += n
        self.quasi = points[-1].clone() if n > 0 else self.quasi
        result = points.to(tandem.get_default_dtype() if dtype is None else dtype) / 2**self.MAXBIT
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: tandem.dtype | None = None) -> Tensor:
        """The next 2^m points. ValueError unless a power of 2 of them were drawn after it: those alone are balanced."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do "
                "this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi, self.num_generated = self.shift.clone(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out n points."""
        self.num_generated += n
        self.quasi = self._points(self.num_generated - 1, 1)[0] if self.num_generated > 0 else self.quasi
        return self

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}"]
        shown += ["scramble=True"] if self.scramble else []
        shown += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(shown)})"
