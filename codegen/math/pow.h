// pow and cbrt.
#pragma once

#include <algorithm>

#include "codegen/math/exp.h"
#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

/// IEEE 754's cases of pow, given |x|^y in w: NaN bases, unit bases, the sign of odd powers, roots of negatives.
template <class B>
Val<B> powSpecials(const Val<B>& x, const Val<B>& y, Val<B> w) {
  Val<B> ax = abs(x);
  w = select(eq(x, x), w, x);
  w = select(eq(ax, 1) & eq(y, y), 1, w);
  Val<B> whole = eq(floor(y), y), h = y * 0.5, odd = whole & ne(floor(h), h);
  w = select(odd, flipSign(w, signBit(x)), w);
  w = select(((x < 0) & ne(ax, kInf)) & !whole, kNaN, w);
  return select(eq(x, 1) | eq(y, 0), 1, w);
}

/// By float64 arithmetic: 2^(y log2 |x|).
template <class B>
Val<B> powOf32(const Val<B>& x, const Val<B>& y) {
  Val<B> u = abs(x).cast(DType::Float64), e = splitExponent(u), m = flt(bits(u) - (e << kMantissa64));
  Val<B> s = (m - 1) / (m + 1), z = s * s;
  Val<B> p = horner(z, {0x1.f16f0cf684ab7p-3, 0x1.0bb8cc4225f0fp-2, 0x1.484fa204adb92p-2, 0x1.a61756a58b859p-2,
                        0x1.2776c5167579dp-1, 0x1.ec709dc39ccfep-1, 0x1.71547652b82ffp1});
  Val<B> lg = fma(s, p, toFloat(e));
  lg = select(eq(u, 0), -kInf, lg);
  lg = select(eq(u, kInf), kInf, lg);
  Val<B> t = clampTo(y.cast(DType::Float64) * lg, -200, 200), w = t + 0x1.8p52, r = t - (w - 0x1.8p52);
  Val<B> g = horner(r, {0x1.fe1784c35a78ap-17, 0x1.446a1fddc880cp-13, 0x1.5d8a708773cc9p-10, 0x1.3b29dc40d1fb4p-7,
                        0x1.c6b08aaf2fd1dp-5, 0x1.ebfbe0a4be89bp-3, 0x1.62e42ff116284p-1, 0x1.ffffffffabbccp-1});
  w = (g * pow2(bits(w) - bitsOf(w, 0x1.8p52))).cast(DType::Float32);
  return powSpecials(x, y, w);
}

/// By log2 |x| to twice the precision, and 2^t of the product.
template <class B>
Val<B> powOf64(const Val<B>& x, const Val<B>& y) {
  Val<B> ax = abs(x), sub = ax < 0x1p-1022, u = select(sub, ax * 0x1p54, ax), e = splitExponent(u);
  Val<B> m = flt(bits(u) - (e << kMantissa64)), ef = toFloat(e) - select(sub, x.cst(54), 0);
  // log2 m = s (C1 + z (C3 + z p(z))), s = (m - 1) / (m + 1), z = s^2
  Val<B> f = m - 1, d = m + 1, dl = m - (d - 1), c = 1 / d, s0 = f * c, g = fma(-s0, dl, fma(-s0, d, f));
  auto [s, sl] = fastTwoSum(s0, g * c);
  Val<B> z = s * s, zl = fma(s + s, sl, fma(s, s, -z));
  Val<B> p = horner(z, {0x1.61e9cb0fb71a5p-3, 0x1.58fdaa1d110d9p-3, 0x1.8a09acc9b7c6p-3, 0x1.c68ee9a8566adp-3,
                        0x1.0c9a853a72516p-2, 0x1.484b13d6add9bp-2, 0x1.a61762a7aedd3p-2, 0x1.2776c50ef9bfcp-1});
  Val<B> a = z * p, al = fma(z, p, -a);
  auto [v, vl] = fastTwoSum(0x1.ec709dc3a03fdp-1, a);
  vl = fma(zl, p, vl + (al + 0x1.d27f05548af0cp-55));
  a = z * v;
  al = fma(zl, v, fma(z, vl, fma(z, v, -a)));
  auto [w, wl] = fastTwoSum(0x1.71547652b82fep1, a);
  wl = wl + (al + 0x1.777d0ffda0d24p-55);
  Val<B> h = s * w, hl = fma(sl, w, fma(s, wl, fma(s, w, -h)));
  auto [l0, ll0] = fastTwoSum(ef, h);
  auto [lg, lgl] = fastTwoSum(l0, ll0 + hl);
  Val<B> zero = eq(ax, 0), inf = eq(ax, kInf);
  lg = select(zero, -kInf, select(inf, kInf, lg));
  lgl = select(zero | inf, 0, lgl);

  Val<B> t = y * lg, tl = fma(y, lgl, fma(y, lg, -t)), hi = t > 1100, lo = t < -1100;
  t = select(hi, 1100, t);
  t = select(lo, -1100, t);
  tl = select((hi | lo) | eq(abs(y), kInf), 0, tl);
  Val<B> tm = t + 0x1.8p52, ki = bits(tm) - bitsOf(tm, 0x1.8p52), r = t - (tm - 0x1.8p52);
  a = r * ln2Hi(x);
  al = fma(tl, ln2Hi(x), fma(r, ln2Lo(x), fma(r, ln2Hi(x), -a)));
  auto [e0, el] = fastTwoSum(1, a);
  auto [e1, el1] = fastTwoSum(e0, fma(a * a, expTail(a), el));
  return powSpecials(x, y, scale2(e1 + fma(e1, al, el1), ki));
}

/// `power` times what the bits of y from `from` on make of x^(2^(from - 1)), which is `base`. Higher bits are looked at
/// where an element has any.
template <class B>
Val<B> integerPower(Val<B> power, Val<B> base, const Val<B>& y, int from, int steps) {
  const int to = from == 1 ? 4 : std::min(2 * from, steps);
  for (int i = from; i < to; ++i) {
    base = base * base;
    power = select(ne((y >> i) & y.cst(1), 0), power * base, power);
  }
  if (to == steps) return power;
  auto rest = [&] { return std::array{integerPower(power, base, y, to, steps).v}; };
  return power.with(power.b->ifAny(((y >> to) > 0).v, rest, std::array{power.v})[0]);
}
/// By squaring. Negative exponents: 1/x truncated (1, -1 or 0).
template <class B>
Val<B> powOfInteger(const Val<B>& x, const Val<B>& y) {
  const bool isSignedType = isSigned(x.dtype());
  const int steps = static_cast<int>(itemSize(x.dtype())) * 8 - (isSignedType ? 1 : 0);
  Val<B> one = x.cst(1), odd = ne(y & one, 0), power = integerPower(select(odd, x, one), x, y, 1, steps);
  if (!isSignedType) return power;
  Val<B> inverse = select(eq(x, 1), one, select(eq(x, -1), select(odd, x, one), 0));
  return select(y < 0, inverse, power);
}

/// An approximation by a cubic, two steps of Halley's method, and one of Newton's with an exact residual.
template <class B>
Val<B> cbrt(const Val<B>& x) {
  const int mantissa = mantissaBits(x);
  Val<B> a = abs(x), sub = a < pick(x, 0x1p-126, 0x1p-1022), u = select(sub, a * pick(x, 0x1p24, 0x1p54), a);
  Val<B> e = (bits(u) >> mantissa) - bits(u).cst(pick(x, 127, 1023));
  auto [unused, n] = roundProduct(toFloat(e), pick(x, 0x1.555556p-2, 0x1.5555555555555p-2));
  Val<B> m = flt(bits(u) - (((n + n) + n) << mantissa));
  Val<B> p = horner(m, {0.01186f, -0.12447f, 0.585f, 0.534f});
  for (int i = 0; i < 2; ++i) {
    Val<B> c = (p * p) * p;
    p = p - p * ((c - m) / fma(c, 2, m));
  }
  Val<B> p2 = p * p, p2l = fma(p, p, -p2), c = p2 * p, cl = fma(p2l, p, fma(p2, p, -c));
  p = p - ((c - m) + cl) / (p2 * 3);
  Val<B> y = p * pow2(n - select(sub, n.cst(pick(x, 8, 18)), 0));
  y = select(eq(x, 0), a, y);
  return flipSign(select(a < kInf, y, a), signBit(x));
}

/// sqrt(x^2 + y^2). The squares stay in range: exact powers of two take out large and small magnitudes.
template <class B>
Val<B> hypot(const Val<B>& x, const Val<B>& y) {
  Val<B> ax = abs(x), ay = abs(y), less = ax < ay, a = select(less, ay, ax), b = select(less, ax, ay);
  Val<B> large = a > pick(x, 0x1p62, 0x1p510), small = a < pick(x, 0x1p-50, 0x1p-450);
  const double up = pick(x, 0x1p100, 0x1p700), down = pick(x, 0x1p-100, 0x1p-700);
  Val<B> scale = select(large, x.cst(down), select(small, x.cst(up), 1)), sa = a * scale, sb = b * scale;
  Val<B> h = sqrt(fma(sa, sa, sb * sb)) * select(large, x.cst(up), select(small, x.cst(down), 1));
  return select(eq(ax, kInf) | eq(ay, kInf), kInf, h);
}

/// 1/x^2. Where the square of x is no normal number: the square of 1/x, and what the quotient and the square lost, if
/// that is finite.
template <class B>
Val<B> reciprocalSquare(const Val<B>& x) {
  Val<B> square = x * x, y = 1 / square;
  Val<B> normal = (square >= pick(x, 0x1p-126, 0x1p-1022)) & (square < kInf);
  auto others = [&] {
    Val<B> r = 1 / x, p = r * r, lost = fma(-x, r, 1), low = fma(p + p, lost, fma(r, r, -p));
    return std::array{select(normal, y, select(abs(low) < kInf, p + low, p)).v};
  };
  return x.with(x.b->ifAny((!normal).v, others, std::array{y.v})[0]);
}

/// x^y of floats but for the exponents 1, 2 and 3: reciprocals for -1 and -2, roots for 1/2 and -1/2.
template <class B>
Val<B> powOfFloat(const Val<B>& x, const Val<B>& y) {
  Val<B> square = eq(y, -2), half = eq(y, 0.5), inverse = eq(y, -0.5);
  auto reciprocal = [&] { return either(square, x, [&] { return reciprocalSquare(x); }, [&] { return 1 / x; }); };
  auto root = [&] {
    Val<B> r = select(eq(x, -kInf), kInf, sqrt(x + 0));
    return either(inverse, r, [&] { return 1 / r; }, [&] { return r; });
  };
  return either(eq(y, -1) | square, x, reciprocal, [&] {
    return either(half | inverse, x, root, [&] { return x.wide() ? powOf64(x, y) : powOf32(x, y); });
  });
}

/// x^y; integers wrap. Exponents that programs write as numbers take a few operations.
template <class B>
Val<B> pow(const Val<B>& x, const Val<B>& y) {
  Val<B> one = eq(y, 1), three = eq(y, 3);
  auto product = [&] {
    Val<B> squared = x * x;
    return select(one, x, select(three, squared * x, squared));
  };
  auto general = [&] { return isFloating(x.dtype()) ? powOfFloat(x, y) : powOfInteger(x, y); };
  return either(one | eq(y, 2) | three, x, product, general);
}

}  // namespace detail

/// x^y.
template <class B>
typename B::V pow(B& b, typename B::V x, typename B::V y) {
  if (b.dtype(x) == DType::Bool) return b.or_(x, b.not_(y));
  return detail::pow(detail::Val(b, x), detail::Val(b, y)).v;
}
template <class B>
typename B::V cbrt(B& b, typename B::V x) {
  return detail::cbrt(detail::Val(b, x)).v;
}
template <class B>
typename B::V hypot(B& b, typename B::V x, typename B::V y) {
  return detail::hypot(detail::Val(b, x), detail::Val(b, y)).v;
}

}  // namespace tandem::math
