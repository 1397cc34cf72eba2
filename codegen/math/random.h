// Random numbers: Philox4x32-10 with the counter (offset, logical index), so that an element's value depends on the
// generator's state and its place in the tensor alone. All functions take Int64 seed, offset and index.
#pragma once

#include <array>

#include "codegen/math/log.h"
#include "codegen/math/trig.h"

namespace tandem::math {
namespace detail {

/// Four 32-bit words in Int64 lanes, zero-extended: the form in which 32 x 32 bit products are one instruction.
template <class B>
std::array<Val<B>, 4> philoxWords(const Val<B>& seed, const Val<B>& offset, const Val<B>& index) {
  const Val<B> low = index.word(0xffffffff);
  Val<B> c0 = index & low, c1 = index >> 32, c2 = offset & low, c3 = offset >> 32;
  Val<B> k0 = seed & low, k1 = seed >> 32;
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k0 = (k0 + k0.word(0x9E3779B9)) & low;
      k1 = (k1 + k1.word(0xBB67AE85)) & low;
    }
    Val<B> p = c0 * c0.word(0xD2511F53), q = c2 * c2.word(0xCD9E8D57);
    c0 = ((q >> 32) ^ c1) ^ k0;
    c1 = q & low;
    c2 = ((p >> 32) ^ c3) ^ k1;
    c3 = p & low;
  }
  return {c0, c1, c2, c3};
}

/// A non-negative integer below 2^51 in Int64 lanes as float64.
template <class B>
Val<B> exactDouble(const Val<B>& n) {
  return flt(n | bitsOf(n, 0x1p52)) - 0x1p52;
}
/// [0, 1): 24 bits of one word, or 53 of two.
template <class B>
Val<B> unitFloat32(const Val<B>& word) {
  return (word >> 8).cast(DType::Int32).cast(DType::Float32) * 0x1p-24;
}
template <class B>
Val<B> unitFloat64(const Val<B>& high, const Val<B>& low) {
  return fma(exactDouble(high), 0x1p-32, exactDouble(low >> 11) * 0x1p-53);
}
template <class B>
Val<B> unitFloat(const Val<B>& high, const Val<B>& low, DType t) {
  return t == DType::Float64 ? unitFloat64(high, low) : unitFloat32(high);
}
/// [0, 1) in the numbers of the dtype: as many bits of a word as it holds, so that none is rounded up to 1.
template <class B>
Val<B> unitOf(const Val<B>& high, const Val<B>& low, DType t) {
  const int bits = t == DType::Float16 ? 11 : t == DType::BFloat16 ? 8 : 24;
  if (bits == 24) return unitFloat(high, low, t);
  return (high >> (32 - bits)).cast(DType::Int32).cast(DType::Float32) * (1.0 / (1 << bits));
}
/// The high 64 bits of a 64 x 64 bit unsigned product.
template <class B>
Val<B> mulHigh(const Val<B>& x, const Val<B>& y) {
  const Val<B> low = x.word(0xffffffff);
  Val<B> xl = x & low, xh = x >> 32, yl = y & low, yh = y >> 32;
  Val<B> mid = xh * yl + ((xl * yl) >> 32), mid2 = xl * yh + (mid & low);
  return (xh * yh + (mid >> 32)) + (mid2 >> 32);
}

}  // namespace detail

/// The four words of one counter, Int32.
template <class B>
std::array<typename B::V, 4> philox(B& b, typename B::V seed, typename B::V offset, typename B::V index) {
  auto w = detail::philoxWords(detail::Val(b, seed), detail::Val(b, offset), detail::Val(b, index));
  return {b.cast(w[0].v, DType::Int32), b.cast(w[1].v, DType::Int32), b.cast(w[2].v, DType::Int32),
          b.cast(w[3].v, DType::Int32)};
}

/// Uniform in [0, 1): multiples of 2^-24, in Float64 of 2^-53, in half types of what they have evenly below 1.
template <class B>
typename B::V uniform(B& b, DType t, typename B::V seed, typename B::V offset, typename B::V index) {
  auto w = detail::philoxWords(detail::Val(b, seed), detail::Val(b, offset), detail::Val(b, index));
  return detail::unitOf(w[0], w[1], t).v;
}

/// Standard normal, by Box and Muller: sqrt(-2 log u) cos(2 pi v) with u in (0, 1].
template <class B>
typename B::V normal(B& b, DType t, typename B::V seed, typename B::V offset, typename B::V index) {
  auto w = detail::philoxWords(detail::Val(b, seed), detail::Val(b, offset), detail::Val(b, index));
  auto u = 1 - detail::unitFloat(w[0], w[1], t), v = detail::unitFloat(w[2], w[3], t);
  auto radius = detail::sqrt(detail::log(u) * -2);
  return (radius * detail::cosSmall(v * detail::pick(v, 0x1.921fb6p2, 0x1.921fb54442d18p2))).v;
}

/// A whole number in [low, high), Int64. The 64 random bits make every number equally likely to 2^-64 times the range.
template <class B>
typename B::V random_integer(B& b, typename B::V seed, typename B::V offset, typename B::V low, typename B::V high,
                             typename B::V index) {
  auto w = detail::philoxWords(detail::Val(b, seed), detail::Val(b, offset), detail::Val(b, index));
  auto range = detail::Val(b, b.sub(high, low));
  return b.add(low, detail::mulHigh((w[0] << 32) | w[1], range).v);
}

}  // namespace tandem::math
