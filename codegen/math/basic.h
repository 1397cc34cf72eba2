// The plain words of scalar bodies: arithmetic, rounding, comparison, choice, and division with its remainders. Every
// function takes any dtype for which it makes sense: Bool adds as `or` and multiplies as `and`, integers wrap, and
// rounding an integer gives it back.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {

template <class B>
bool floating(B& b, typename B::V x) {
  return isFloating(b.dtype(x));
}
template <class B>
bool boolean(B& b, typename B::V x) {
  return b.dtype(x) == DType::Bool;
}

template <class B>
typename B::V identity(B&, typename B::V x) {
  return x;
}
template <class B>
typename B::V cast(B& b, typename B::V x, DType t) {
  return b.dtype(x) == t ? x : b.cast(x, t);
}

// Arithmetic

template <class B>
typename B::V add(B& b, typename B::V x, typename B::V y) {
  return boolean(b, x) ? b.or_(x, y) : b.add(x, y);
}
/// Not of Bool.
template <class B>
typename B::V sub(B& b, typename B::V x, typename B::V y) {
  return b.sub(x, y);
}
template <class B>
typename B::V mul(B& b, typename B::V x, typename B::V y) {
  return boolean(b, x) ? b.and_(x, y) : b.mul(x, y);
}
/// Integers truncate.
template <class B>
typename B::V div(B& b, typename B::V x, typename B::V y) {
  return b.div(x, y);
}
/// Exact, with the sign of x.
template <class B>
typename B::V rem(B& b, typename B::V x, typename B::V y) {
  return b.rem(x, y);
}
/// One rounding. For integers and Bool, the multiplication and the addition.
template <class B>
typename B::V fma(B& b, typename B::V x, typename B::V y, typename B::V z) {
  return floating(b, x) ? b.fma(x, y, z) : add(b, mul(b, x, y), z);
}
template <class B>
typename B::V sqrt(B& b, typename B::V x) {
  return b.sqrt(x);
}
template <class B>
typename B::V neg(B& b, typename B::V x) {
  return b.neg(x);
}
template <class B>
typename B::V abs(B& b, typename B::V x) {
  return isSigned(b.dtype(x)) ? b.abs(x) : x;
}
template <class B>
typename B::V square(B& b, typename B::V x) {
  return mul(b, x, x);
}
template <class B>
typename B::V reciprocal(B& b, typename B::V x) {
  return b.div(b.cst(x, 1), x);
}
template <class B>
typename B::V rsqrt(B& b, typename B::V x) {
  return b.div(b.cst(x, 1), b.sqrt(x));
}

// Rounding

template <class B>
typename B::V floor(B& b, typename B::V x) {
  return floating(b, x) ? b.floor(x) : x;
}
template <class B>
typename B::V ceil(B& b, typename B::V x) {
  return floating(b, x) ? b.ceil(x) : x;
}
template <class B>
typename B::V trunc(B& b, typename B::V x) {
  return floating(b, x) ? b.trunc(x) : x;
}
/// Halves to even.
template <class B>
typename B::V round(B& b, typename B::V x) {
  return floating(b, x) ? b.roundeven(x) : x;
}
/// x - trunc(x).
template <class B>
typename B::V frac(B& b, typename B::V x) {
  return b.sub(x, trunc(b, x));
}

// Logic

template <class B>
typename B::V and_(B& b, typename B::V x, typename B::V y) {
  return b.and_(x, y);
}
template <class B>
typename B::V or_(B& b, typename B::V x, typename B::V y) {
  return b.or_(x, y);
}
template <class B>
typename B::V xor_(B& b, typename B::V x, typename B::V y) {
  return b.xor_(x, y);
}
template <class B>
typename B::V not_(B& b, typename B::V x) {
  return b.not_(x);
}

// Comparison: Bool results. False orders before true.

template <class B>
typename B::V lt(B& b, typename B::V x, typename B::V y) {
  return boolean(b, x) ? b.and_(b.not_(x), y) : b.lt(x, y);
}
template <class B>
typename B::V le(B& b, typename B::V x, typename B::V y) {
  return boolean(b, x) ? b.or_(b.not_(x), y) : b.le(x, y);
}
template <class B>
typename B::V gt(B& b, typename B::V x, typename B::V y) {
  return lt(b, y, x);
}
template <class B>
typename B::V ge(B& b, typename B::V x, typename B::V y) {
  return le(b, y, x);
}
template <class B>
typename B::V eq(B& b, typename B::V x, typename B::V y) {
  return boolean(b, x) ? b.not_(b.xor_(x, y)) : b.eq(x, y);
}
template <class B>
typename B::V ne(B& b, typename B::V x, typename B::V y) {
  return boolean(b, x) ? b.xor_(x, y) : b.ne(x, y);
}
/// x != 0.
template <class B>
typename B::V to_bool(B& b, typename B::V x) {
  return boolean(b, x) ? x : b.ne(x, b.cst(x, 0));
}
template <class B>
typename B::V logical_not(B& b, typename B::V x) {
  return boolean(b, x) ? b.not_(x) : b.eq(x, b.cst(x, 0));
}
template <class B>
typename B::V isnan(B& b, typename B::V x) {
  return ne(b, x, x);
}
template <class B>
typename B::V isinf(B& b, typename B::V x) {
  return floating(b, x) ? b.eq(b.abs(x), b.cst(x, detail::kInf)) : ne(b, x, x);
}
template <class B>
typename B::V isfinite(B& b, typename B::V x) {
  return floating(b, x) ? b.lt(b.abs(x), b.cst(x, detail::kInf)) : eq(b, x, x);
}
/// The sign bit: true for -0.0.
template <class B>
typename B::V signbit(B& b, typename B::V x) {
  if (!isSigned(b.dtype(x))) return ne(b, x, x);
  typename B::V n = floating(b, x) ? b.bits(x) : x;
  return b.lt(n, b.cst(n, 0));
}

/// |x| with the sign of y; floats.
template <class B>
typename B::V copysign(B& b, typename B::V x, typename B::V y) {
  typename B::V sign = b.bits(b.cst(y, -0.0));
  return b.flt(b.or_(b.bits(b.abs(x)), b.and_(b.bits(y), sign)));
}

// Choice

template <class B>
typename B::V select(B& b, typename B::V c, typename B::V x, typename B::V y) {
  return b.select(c, x, y);
}

namespace detail {
/// The larger of two floats, neither NaN, of which +0 is larger than -0. A NaN in either gives y.
template <class B>
typename B::V largerFloat(B& b, typename B::V x, typename B::V y) {
  typename B::V m = b.select(b.gt(x, y), x, y);
  return b.select(b.eq(x, y), b.flt(b.and_(b.bits(x), b.bits(y))), m);
}
template <class B>
typename B::V smallerFloat(B& b, typename B::V x, typename B::V y) {
  typename B::V m = b.select(b.lt(x, y), x, y);
  return b.select(b.eq(x, y), b.flt(b.or_(b.bits(x), b.bits(y))), m);
}
}  // namespace detail

/// NaN if either is; the maximum of two zeros of different sign is +0.
template <class B>
typename B::V maximum(B& b, typename B::V x, typename B::V y) {
  if (boolean(b, x)) return b.or_(x, y);
  if (!floating(b, x)) return b.select(b.gt(x, y), x, y);
  return b.select(b.ne(x, x), x, detail::largerFloat(b, x, y));
}
template <class B>
typename B::V minimum(B& b, typename B::V x, typename B::V y) {
  if (boolean(b, x)) return b.and_(x, y);
  if (!floating(b, x)) return b.select(b.lt(x, y), x, y);
  return b.select(b.ne(x, x), x, detail::smallerFloat(b, x, y));
}
/// The other one if either is NaN.
template <class B>
typename B::V fmax(B& b, typename B::V x, typename B::V y) {
  if (!floating(b, x)) return maximum(b, x, y);
  return b.select(b.ne(y, y), x, detail::largerFloat(b, x, y));
}
template <class B>
typename B::V fmin(B& b, typename B::V x, typename B::V y) {
  if (!floating(b, x)) return minimum(b, x, y);
  return b.select(b.ne(y, y), x, detail::smallerFloat(b, x, y));
}

/// -1, 0 or 1; 0 for zeros and NaN.
template <class B>
typename B::V sign(B& b, typename B::V x) {
  if (boolean(b, x)) return x;
  typename B::V zero = b.cst(x, 0), up = b.select(b.gt(x, zero), b.cst(x, 1), zero);
  return isSigned(b.dtype(x)) ? b.select(b.lt(x, zero), b.cst(x, -1), up) : up;
}
/// max(x, 0): keeps NaN and -0.
template <class B>
typename B::V relu(B& b, typename B::V x) {
  if (!isSigned(b.dtype(x))) return x;
  typename B::V zero = b.cst(x, 0);
  return b.select(b.lt(x, zero), zero, x);
}
/// min(max(x, lo), hi): `hi` wins where the bounds cross; NaN if any operand is.
template <class B>
typename B::V clamp(B& b, typename B::V x, typename B::V lo, typename B::V hi) {
  if (!floating(b, x)) return minimum(b, maximum(b, x, lo), hi);
  x = b.select(b.lt(x, lo), lo, x);
  x = b.select(b.gt(x, hi), hi, x);
  // Bounds are constants or loop-invariant as a rule, and these tests with them.
  x = b.select(b.ne(lo, lo), lo, x);
  return b.select(b.ne(hi, hi), hi, x);
}

// Division with its remainders

template <class B>
typename B::V fmod(B& b, typename B::V x, typename B::V y) {
  return b.rem(x, y);
}
/// Python's modulo: the sign of y.
template <class B>
typename B::V remainder(B& b, typename B::V x, typename B::V y) {
  typename B::V r = b.rem(x, y);
  if (!isSigned(b.dtype(x))) return r;
  typename B::V zero = b.cst(x, 0), apart = b.xor_(b.lt(y, zero), b.lt(r, zero));
  return b.select(b.and_(b.ne(r, zero), apart), b.add(r, y), r);
}
template <class B>
typename B::V trunc_divide(B& b, typename B::V x, typename B::V y) {
  return trunc(b, b.div(x, y));
}
/// Python's `//`: floor of the exact quotient, so that x = y floor_divide(x, y) + remainder(x, y).
template <class B>
typename B::V floor_divide(B& b, typename B::V x, typename B::V y) {
  typename B::V q = b.div(x, y);
  if (!isSigned(b.dtype(x))) return q;
  typename B::V r = b.rem(x, y), zero = b.cst(x, 0), one = b.cst(x, 1);
  typename B::V below = b.and_(b.ne(r, zero), b.xor_(b.lt(y, zero), b.lt(r, zero)));
  if (!floating(b, x)) return b.select(below, b.sub(q, one), q);
  // x - r is a multiple of y up to its rounding, so its quotient lies next to a whole number, not always on it
  typename B::V d = b.div(b.sub(x, r), y);
  d = b.select(below, b.sub(d, one), d);
  typename B::V f = b.floor(d);
  f = b.select(b.gt(b.sub(d, f), b.cst(x, 0.5)), b.add(f, one), f);
  typename B::V signedZero = b.flt(b.and_(b.bits(q), b.bits(b.cst(x, -0.0))));
  f = b.select(b.eq(d, zero), signedZero, f);
  return b.select(b.eq(y, zero), q, f);
}

/// Element `index` of a ramp: start + step index, computed in float64 (Int64 for an integer `t`) and rounded to `t`.
template <class B>
typename B::V arange_value(B& b, DType t, typename B::V start, typename B::V step, typename B::V index) {
  const DType wide = isFloating(t) ? DType::Float64 : DType::Int64;
  typename B::V offset = b.mul(cast(b, index, wide), cast(b, step, wide));
  return cast(b, b.add(offset, cast(b, start, wide)), t);
}

}  // namespace tandem::math
