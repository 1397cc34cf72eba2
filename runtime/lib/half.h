// The two half types as plain 16-bit numbers, and their conversions: to float32 exactly, from it to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tandem::lib {

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

inline float toFloat(BFloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
inline BFloat16 toBFloat16(float x) {
  auto u = std::bit_cast<std::uint32_t>(x);
  // A NaN keeps its sign and becomes quiet: rounding could carry its payload away.
  if (x != x) return {static_cast<std::uint16_t>(u >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}

inline float toFloat(Half x) {
  std::uint32_t sign = std::uint32_t{x.bits & 0x8000U} << 16;
  std::uint32_t magnitude = x.bits & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // Moves the exponent by scaling, which is exact and makes subnormals normal.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}
inline Half toHalf(float x) {
  auto u = std::bit_cast<std::uint32_t>(x);
  auto sign = static_cast<std::uint16_t>(u >> 16 & 0x8000);
  std::uint32_t magnitude = u & 0x7fffffff;
  if (magnitude > 0x7f800000) return {static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff))};
  if (magnitude >= 0x477ff000) return {static_cast<std::uint16_t>(sign | 0x7c00)};  // rounds to 2^16 or beyond
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 leaves a multiple of 2^-24, rounded to nearest even, in the low bits.
    float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000))};
  }
  std::uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
  return {static_cast<std::uint16_t>(sign | rounded >> 13)};
}

/// How elements of `T` are stored and what they are computed in.
template <class T>
struct Element {
  using Compute = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
template <>
struct Element<Half> {
  using Compute = float;
  static float load(Half x) { return toFloat(x); }
  static Half store(float x) { return toHalf(x); }
};
template <>
struct Element<BFloat16> {
  using Compute = float;
  static float load(BFloat16 x) { return toFloat(x); }
  static BFloat16 store(float x) { return toBFloat16(x); }
};

}  // namespace tandem::lib
