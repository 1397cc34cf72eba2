// The ground every vector function stands on: `Val`, a builder's value with operators, so that a function reads as its
// formula, and the small exact-arithmetic blocks (Horner, argument reduction, scaling, error-free sums) they share.
//
// Rules that keep the bits: each operator is one IEEE operation, evaluated as written; nothing is contracted (`fma` is
// written where it is meant); `-x` and `abs` touch the sign bit only; clamps are selects, so that NaN passes through.
// A function names its constants for both precisions with `pick(x, float32, float64)`.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#include "codegen/math/builder.h"

namespace tandem::math::detail {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class B>
struct Val {
  using V = typename B::V;
  B* b;
  V v;

  Val(B& builder, V value) : b(&builder), v(value) {}

  [[nodiscard]] DType dtype() const { return b->dtype(v); }
  /// 64 bits wide: float64, or the integers that carry its bits.
  [[nodiscard]] bool wide() const { return itemSize(dtype()) == 8; }
  [[nodiscard]] Val with(V value) const { return {*b, value}; }
  [[nodiscard]] Val cst(double c) const { return with(b->cst(v, c)); }
  [[nodiscard]] Val word(std::uint64_t c) const { return with(b->bitsCst(v, c)); }
  [[nodiscard]] Val cast(DType t) const { return with(b->cast(v, t)); }
};

template <class B>
Val(B&, typename B::V) -> Val<B>;

/// An operand of a formula: a value as it is, a number as a constant of the other operand's dtype.
template <class B>
Val<B> as(const Val<B>&, const Val<B>& x) {
  return x;
}
template <class B>
Val<B> as(const Val<B>& like, double c) {
  return like.cst(c);
}

template <class T>
inline constexpr bool isVal = false;
template <class B>
inline constexpr bool isVal<Val<B>> = true;
template <class X, class Y>
concept Operands = (isVal<X> && (isVal<Y> || std::is_arithmetic_v<Y>)) || (std::is_arithmetic_v<X> && isVal<Y>);

/// Calls `f(builder, left, right)` with both operands as values.
template <class X, class Y, class F>
auto binary(const X& x, const Y& y, F f) {
  if constexpr (isVal<X>) {
    return x.with(f(*x.b, x.v, as(x, y).v));
  } else {
    return y.with(f(*y.b, y.cst(x).v, y.v));
  }
}

template <class X, class Y>
  requires Operands<X, Y>
auto operator+(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.add(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator-(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.sub(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator*(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.mul(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator/(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.div(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator<(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.lt(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator>(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.gt(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator<=(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.le(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto operator>=(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.ge(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto eq(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.eq(l, r); });
}
template <class X, class Y>
  requires Operands<X, Y>
auto ne(const X& x, const Y& y) {
  return binary(x, y, [](auto& b, auto l, auto r) { return b.ne(l, r); });
}

template <class B>
Val<B> operator-(const Val<B>& x) {
  return x.with(x.b->neg(x.v));
}
template <class B>
Val<B> operator&(const Val<B>& x, const Val<B>& y) {
  return x.with(x.b->and_(x.v, y.v));
}
template <class B>
Val<B> operator|(const Val<B>& x, const Val<B>& y) {
  return x.with(x.b->or_(x.v, y.v));
}
template <class B>
Val<B> operator^(const Val<B>& x, const Val<B>& y) {
  return x.with(x.b->xor_(x.v, y.v));
}
template <class B>
Val<B> operator!(const Val<B>& x) {
  return x.with(x.b->not_(x.v));
}
template <class B>
Val<B> operator<<(const Val<B>& x, int n) {
  return x.with(x.b->shl(x.v, n));
}
/// Logical shift; `ashr` keeps the sign.
template <class B>
Val<B> operator>>(const Val<B>& x, int n) {
  return x.with(x.b->lshr(x.v, n));
}
template <class B>
Val<B> ashr(const Val<B>& x, int n) {
  return x.with(x.b->ashr(x.v, n));
}

template <class B>
Val<B> abs(const Val<B>& x) {
  return x.with(x.b->abs(x.v));
}
template <class B>
Val<B> sqrt(const Val<B>& x) {
  return x.with(x.b->sqrt(x.v));
}
template <class B>
Val<B> inverse(const Val<B>& x) {
  return x.with(x.b->inverse(x.v));
}
template <class B>
Val<B> floor(const Val<B>& x) {
  return x.with(x.b->floor(x.v));
}
template <class B>
Val<B> trunc(const Val<B>& x) {
  return x.with(x.b->trunc(x.v));
}
template <class B>
Val<B> roundeven(const Val<B>& x) {
  return x.with(x.b->roundeven(x.v));
}
template <class B>
Val<B> bits(const Val<B>& x) {
  return x.with(x.b->bits(x.v));
}
template <class B>
Val<B> flt(const Val<B>& x) {
  return x.with(x.b->flt(x.v));
}
template <class B, class Y, class Z>
Val<B> fma(const Val<B>& x, const Y& y, const Z& z) {
  return x.with(x.b->fma(x.v, as(x, y).v, as(x, z).v));
}
/// A select with at least one branch a value.
template <class B, class Y>
Val<B> select(const Val<B>& c, const Val<B>& x, const Y& y) {
  return x.with(x.b->select(c.v, x.v, as(x, y).v));
}
template <class B>
Val<B> select(const Val<B>& c, double x, const Val<B>& y) {
  return y.with(y.b->select(c.v, y.cst(x).v, y.v));
}

/// usual() in the lanes of `which`, and general() in the others; either is skipped where there are no such lanes.
template <class B, class U, class F>
Val<B> either(const Val<B>& which, const Val<B>& x, U usual, F general) {
  Val<B> rest = !which, v = x.with(x.b->ifAny(which.v, [&] { return std::array{usual().v}; }, std::array{x.v})[0]);
  Val<B> w = x.with(x.b->ifAny(rest.v, [&] { return std::array{general().v}; }, std::array{v.v})[0]);
  return select(which, v, w);
}

/// The constant of x's precision.
template <class B>
double pick(const Val<B>& x, double float32, double float64) {
  return x.wide() ? float64 : float32;
}

/// Coefficients, highest power first.
using Poly = std::initializer_list<double>;
template <class B>
Val<B> horner(const Val<B>& r, Poly p) {
  Val<B> sum = r.cst(*p.begin());
  for (const double* c = p.begin() + 1; c != p.end(); ++c) sum = fma(sum, r, *c);
  return sum;
}
template <class B>
Val<B> horner(const Val<B>& r, Poly float32, Poly float64) {
  return horner(r, r.wide() ? float64 : float32);
}

/// Bits of the float `c` in x's precision, as an integer constant.
template <class B>
Val<B> bitsOf(const Val<B>& x, double c) {
  return x.wide() ? x.word(std::bit_cast<std::uint64_t>(c))
                  : x.word(std::bit_cast<std::uint32_t>(static_cast<float>(c)));
}
/// The sign bit of x, alone, as an integer.
template <class B>
Val<B> signBit(const Val<B>& x) {
  return bits(x) & x.word(x.wide() ? 1ULL << 63 : 1ULL << 31);
}
/// x with its sign flipped where `sign`, an integer, has its top bit set (and no other).
template <class B>
Val<B> flipSign(const Val<B>& x, const Val<B>& sign) {
  return flt(bits(x) ^ sign);
}

/// These keep NaN, which a min and a max would not.
template <class B>
Val<B> atMost(const Val<B>& x, double hi) {
  return select(x > hi, hi, x);
}
template <class B>
Val<B> atLeast(const Val<B>& x, double lo) {
  return select(x < lo, lo, x);
}
template <class B>
Val<B> clampTo(const Val<B>& x, double lo, double hi) {
  return atLeast(atMost(x, hi), lo);
}

inline constexpr int kMantissa32 = 23, kMantissa64 = 52;
template <class B>
int mantissaBits(const Val<B>& x) {
  return x.wide() ? kMantissa64 : kMantissa32;
}
/// Adding and subtracting this rounds to an integer; the sum's low bits are that integer.
template <class B>
double roundMagic(const Val<B>& x) {
  return pick(x, 0x1.8p23, 0x1.8p52);
}

/// An integer twice: `k` as a float, `ki` as an integer. NaN and infinities give a garbage `ki`, never a trap.
template <class B>
struct Whole {
  Val<B> k, ki;
};
/// roundeven(x * c), for products below 2^22 (2^51).
template <class B>
Whole<B> roundProduct(const Val<B>& x, double c) {
  const double magic = roundMagic(x);
  Val<B> t = fma(x, c, magic);
  return {t - magic, bits(t) - bitsOf(x, magic)};
}

/// A small integer (|n| < 2^22, 2^51) as a float of the same width.
template <class B>
Val<B> toFloat(const Val<B>& n) {
  // AVX2 converts 32-bit integers, but has no instruction for 64-bit ones.
  if (!n.wide()) return n.cast(DType::Float32);
  return flt(n + bitsOf(n, 0x1.8p52)) - 0x1.8p52;
}
/// Arithmetic shifts of 64-bit lanes through logical ones, which AVX2 has: the operand is moved to be positive first.
template <class B>
Val<B> exponentField(const Val<B>& n) {
  if (!n.wide()) return ashr(n, kMantissa32);
  return ((n + n.word(1024ULL << kMantissa64)) >> kMantissa64) - n.word(1024);
}
template <class B>
Val<B> half(const Val<B>& n) {
  if (!n.wide()) return ashr(n, 1);
  return ((n + n.word(4096)) >> 1) - n.word(2048);
}

/// 2^n for an n whose power is a normal number.
template <class B>
Val<B> pow2(const Val<B>& n) {
  return flt((n + n.word(n.wide() ? 1023 : 127)) << mantissaBits(n));
}
/// y * 2^n for any n a function can ask for: overflow and gradual underflow come from the two multiplications.
template <class B>
Val<B> scale2(const Val<B>& y, const Val<B>& n) {
  Val<B> n1 = half(n);
  return (y * pow2(n1)) * pow2(n - n1);
}

/// The same for -160 <= n <= 0 (-1080 in float64): the first product is exact, and the second may underflow.
template <class B>
Val<B> scaleDown(const Val<B>& y, const Val<B>& n) {
  return (y * pow2(n + n.cst(64))) * 0x1p-64;
}
/// y * 2^n by one instruction where there is one, else as `otherwise` makes it of y and the integer n.
template <class B, class F>
Val<B> scaled(const Val<B>& y, const Whole<B>& n, F otherwise) {
  return y.b->scales(y.v) ? y.with(y.b->scale(y.v, n.k.v)) : otherwise(y, n.ki);
}
template <class B>
Val<B> scale2(const Val<B>& y, const Whole<B>& n) {
  return scaled(y, n, [](const Val<B>& x, const Val<B>& ki) { return scale2(x, ki); });
}
template <class B>
Val<B> scaleDown(const Val<B>& y, const Whole<B>& n) {
  return scaled(y, n, [](const Val<B>& x, const Val<B>& ki) { return scaleDown(x, ki); });
}

/// An unevaluated sum, |lo| no more than a rounding error of hi.
template <class B>
struct Pair {
  Val<B> hi, lo;
};
/// Exact a + b for |a| >= |b| or a = 0.
template <class B, class X>
Pair<B> fastTwoSum(const X& a, const Val<B>& b) {
  Val<B> s = a + b;
  return {s, (a - s) + b};
}
/// Exact a + b.
template <class B, class X>
Pair<B> twoSum(const Val<B>& a, const X& b) {
  Val<B> s = a + b, u = s - a;
  return {s, (a - (s - u)) + (b - u)};
}
/// (n + nl) / (d + dl), rounded about once.
template <class B>
Val<B> quotient(const Val<B>& n, const Val<B>& nl, const Val<B>& d, const Val<B>& dl) {
  Val<B> c = 1 / d, v = n * c;
  Val<B> e = fma(-v, d, n);
  e = fma(-v, dl, e + nl);
  return fma(e, c, v);
}

// ln 2 and pi/2 as sums of floats of each precision, the leading one short enough for exact reduction with fma.
template <class B>
double log2e(const Val<B>& x) {
  return pick(x, 0x1.715476p0, 0x1.71547652b82fep0);
}
template <class B>
double ln2Hi(const Val<B>& x) {
  return pick(x, 0x1.62e43p-1, 0x1.62e42fefa39efp-1);
}
template <class B>
double ln2Lo(const Val<B>& x) {
  return pick(x, -0x1.05c61p-29, 0x1.abc9e3b39803fp-56);
}
template <class B>
double halfPiHi(const Val<B>& x) {
  return pick(x, 0x1.921fb6p0, 0x1.921fb54442d18p0);
}
template <class B>
double halfPiLo(const Val<B>& x) {
  return pick(x, -0x1.777a5cp-25, 0x1.1a62633145c07p-54);
}
template <class B>
double halfPiTail(const Val<B>& x) {
  return pick(x, -0x1.ee59dap-50, -0x1.f1976b7ed8fbcp-110);
}

}  // namespace tandem::math::detail
