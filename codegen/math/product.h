// The product of a running product and the next factor, where the first is tiny. On CPUs a multiplication of or to a
// subnormal number takes some 150 cycles, and a product of many numbers below 1 stays among those for a while before it
// is 0. The bits are those of the multiplication.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// Numbers below 2^-100 (2^-996) but 0: what they are multiplied by, if it is not tiny too, gives the others no
/// subnormal number.
template <class B>
Val<B> isTiny(const Val<B>& a) {
  const std::uint64_t top = a.wide() ? 1ULL << 63 : 1ULL << 31;
  const std::uint64_t below = a.wide() ? 27ULL << kMantissa64 : 27ULL << kMantissa32;
  // 1 ... below - 1 as the least of the signed integers
  return ((bits(a) & a.word(top - 1)) + a.word(top - 1)) < a.word(top + below - 1);
}

template <class B>
Val<B> productOfTiny(const Val<B>& a, const Val<B>& x) {
  const int digits = mantissaBits(a);
  const std::uint64_t top = a.wide() ? 1ULL << 63 : 1ULL << 31;
  const double least = pick(a, 0x1p-62, 0x1p-958);  // the smallest normal number times 2^64
  auto power = [&](std::uint64_t n) { return a.word(n << digits); };
  Val<B> m = bits(a) & a.word(top - 1), tiny = isTiny(a), factor = abs(x), size = flt(m + power(65)) - least;
  size = select(m < power(1), size, flt(m + power(64)));  // |a| 2^64
  Val<B> p = size * factor;
  // A sum with `least` rounds where subnormal numbers end; its last digits are theirs.
  Val<B> r = select(p < least, bits(fma(size, factor, least)) - bitsOf(a, least), bits(p) - power(64));
  Val<B> usual = select(tiny, flt(signBit(a) | bitsOf(a, 1)), a) * x;
  return select(tiny & (factor < kInf), flt(r ^ (signBit(a) ^ signBit(x))), usual);
}

}  // namespace detail

template <class B>
typename B::V is_tiny(B& b, typename B::V a) {
  return detail::isTiny(detail::Val(b, a)).v;
}
/// a * x of any a and x.
template <class B>
typename B::V product_of_tiny(B& b, typename B::V a, typename B::V x) {
  return detail::productOfTiny(detail::Val(b, a), detail::Val(b, x)).v;
}

}  // namespace tandem::math
