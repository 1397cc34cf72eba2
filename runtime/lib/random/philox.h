// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) for library operations; the
// code generator has its own (codegen/math/random.h).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tandem::lib {

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t seed) {
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// The random numbers of one element: as many as it asks for, a function of seed, offset and place alone. The counter's
/// second word counts the draws: an array has fewer than 2^32 elements a draw can be asked for.
class ElementStream {
 public:
  ElementStream(std::int64_t seed, std::int64_t offset, std::int64_t element)
      : seed_(static_cast<std::uint64_t>(seed)), offset_(static_cast<std::uint64_t>(offset)),
        element_(static_cast<std::uint64_t>(element)) {}

  /// In (0, 1), a multiple of 2^-54.
  double uniform() {
    if (left_ == 0) {
      // The low half of the element's number and the draws so far; its high half goes with the offset's.
      auto high = static_cast<std::uint32_t>(offset_ >> 32) ^ static_cast<std::uint32_t>(element_ >> 32 << 16);
      words_ =
          philox({static_cast<std::uint32_t>(element_), draws_++, static_cast<std::uint32_t>(offset_), high}, seed_);
      left_ = 2;
    }
    --left_;
    std::uint64_t bits = std::uint64_t{words_[2 * left_ + 1]} << 32 | words_[2 * left_];
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  }
  /// Standard normal, by Box and Muller.
  double normal() {
    double r = std::sqrt(-2 * std::log(uniform()));
    return r * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_, offset_, element_;
  std::uint32_t draws_ = 0;
  int left_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace tandem::lib
