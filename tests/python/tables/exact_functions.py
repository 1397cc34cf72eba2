"""Bessel and Airy functions, the normal distribution and orthogonal polynomials by mpmath, for any finite argument: by
their expansions at infinity (Abramowitz and Stegun, chapters 9 and 10) where mpmath would take long.
"""

import mpmath

mp = mpmath.mp


def even_and_odd(factor):
    """The sums of the even and of the odd terms of an asymptotic series, signs in turn: 1, factor(0), factor(0) *
    factor(1), ..."""
    sums, term = [mp.mpf(0), mp.mpf(0)], mp.mpf(1)
    for k in range(30):
        sums[k % 2] += term * (-1) ** (k // 2)
        term *= factor(k)
    return sums


def hankel(order, x, second):
    """J, or Y, of a large positive `x`."""
    with mpmath.workprec(mp.prec + 40 + max(0, int(mp.log(x, 2)))):
        p, q = even_and_odd(lambda k: (4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1) * x))
        phase = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
        c, s = mp.cos(phase), mp.sin(phase)
        return mp.sqrt(2 / (mp.pi * x)) * (p * s + q * c if second else p * c - q * s)


def bessel_j(order):
    def run(x):
        y = mp.besselj(order, abs(x)) if abs(x) < 1000 else hankel(order, abs(x), False)
        return -y if x < 0 and order == 1 else y

    return run


def bessel_y(order):
    return lambda x: mp.bessely(order, x) if x < 1000 else hankel(order, x, True)


def envelope(x):
    """The size of J and Y beside their zeros; 0 before the first of them."""
    return mp.sqrt(2 / (mp.pi * abs(x))) if abs(x) > 0.5 else 0


def scaled_tail(order, x, sign):
    """sqrt(x) e^-x I(x) or its like for K, at large x, but for a constant."""
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(30):
        total += term
        term *= sign * (4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1) * x)
    return total


def bessel_i(order, scaled=False):
    def run(x):
        a = abs(x)
        if a < 1000:
            y = mp.besseli(order, a) * (mp.exp(-a) if scaled else 1)
        else:
            y = scaled_tail(order, a, -1) / mp.sqrt(2 * mp.pi * a)
            y *= 1 if scaled else mp.exp(min(a, mp.mpf(10) ** 5))
        return -y if x < 0 and order == 1 else y

    return run


def bessel_k(order, scaled=False):
    def run(x):
        if x < 1000:
            return mp.besselk(order, x) * (mp.exp(x) if scaled else 1)
        return scaled_tail(order, x, 1) * mp.sqrt(mp.pi / (2 * x)) * (1 if scaled else mp.exp(-min(x, mp.mpf(10) ** 5)))

    return run


def airy_ai(x):
    if x > 500:
        return mp.exp(-(mp.mpf(10) ** 5))
    if x > -200:
        return mp.airyai(x)
    with mpmath.workprec(mp.prec + 40 + 2 * int(mp.log(-x, 2))):
        zeta = 2 * (-x) ** mp.mpf(1.5) / 3
        p, q = even_and_odd(
            lambda k: mp.mpf((6 * k + 1) * (6 * k + 3) * (6 * k + 5)) / (216 * (k + 1) * (2 * k + 1) * zeta)
        )
        phase = zeta - mp.pi / 4
        return (mp.cos(phase) * p + mp.sin(phase) * q) / mp.sqrt(mp.pi * mp.sqrt(-x))


def airy_size(x):
    return 1 / mp.sqrt(mp.pi * mp.sqrt(-x)) if x < -1 else 0


def erfcx(x):
    if x > 50:  # the asymptotic series of erfc
        total, term = mp.mpf(0), mp.mpf(1)
        for k in range(30):
            total += term
            term *= -(2 * k + 1) / (2 * x * x)
        return total / (x * mp.sqrt(mp.pi))
    x = max(x, mp.mpf(-1000))
    return mp.exp(x * x) * mp.erfc(x)


def log_ndtr(x):
    if x > 100:
        return -mp.exp(-(mp.mpf(10) ** 5))
    if x > 0:
        return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)
    return mp.log(erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2


def ndtri(p):
    """Newton's method on the logarithm of the distribution function."""
    if p > 0.5:
        return -ndtri(1 - p)
    if p == 0.5:
        return mp.mpf(0)
    w = mp.sqrt(-2 * mp.log(p))
    x = (p - mp.mpf(0.5)) * 2.5 if p > 0.3 else -(w - mp.log(w) / w - mp.mpf(0.9) / w)
    for _ in range(60):
        q = mp.erfc(-x / mp.sqrt(2)) / 2
        step = (mp.log(q) - mp.log(p)) * q * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
        x -= step
        if abs(step) < mp.mpf(10) ** -40 * abs(x):
            break
    return x


# ---- polynomials, by recurrence in exact numbers --------------------------------------------------------------------


def recurrence(first, second, step):
    """The polynomial of degree n of p_0 = 1, p_1 = first x + second, p_(k+1) = step(x, k, p_k, p_(k-1))."""

    def run(x, n):
        before, now = mp.mpf(1), first * x + second
        if n <= 0:
            return before if n == 0 else mp.mpf(0)
        for k in range(1, n):
            before, now = now, step(x, k, now, before)
        return now

    return run


def chebyshev(x, k, now, before):
    return 2 * x * now - before


POLYNOMIALS = {
    "chebyshev_polynomial_t": recurrence(1, 0, chebyshev),
    "chebyshev_polynomial_u": recurrence(2, 0, chebyshev),
    "chebyshev_polynomial_v": recurrence(2, -1, chebyshev),
    "chebyshev_polynomial_w": recurrence(2, 1, chebyshev),
    "hermite_polynomial_h": recurrence(2, 0, lambda x, k, now, before: 2 * (x * now - k * before)),
    "hermite_polynomial_he": recurrence(1, 0, lambda x, k, now, before: x * now - k * before),
    "laguerre_polynomial_l": recurrence(
        -1, 1, lambda x, k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": recurrence(1, 0, lambda x, k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
}
for _kind in "tuvw":
    _plain = POLYNOMIALS[f"chebyshev_polynomial_{_kind}"]
    POLYNOMIALS[f"shifted_chebyshev_polynomial_{_kind}"] = lambda x, n, f=_plain: f(2 * x - 1, n)
