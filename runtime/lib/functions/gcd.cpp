// gcd: greatest common divisors of integers, by Stein's algorithm on magnitudes.
#include <array>
#include <bit>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

#pragma GCC target("bmi")  // which generated code needs too

namespace tandem::lib {
namespace {

/// Differences of odd numbers, less their powers of two: each step takes less time than a division, and brings as much
/// where the numbers are of one size, which one division makes them.
std::uint64_t gcdOf(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return a | b;
  const int both = std::countr_zero(a | b);
  a >>= std::countr_zero(a);
  b >>= std::countr_zero(b);
  if (std::bit_width(a) + 8 < std::bit_width(b) || std::bit_width(b) + 8 < std::bit_width(a)) {
    if (a < b) std::swap(a, b);
    a %= b;
    if (a == 0) return b << both;
    a >>= std::countr_zero(a);
  }
  while (a != b) {
    const std::uint64_t more = a > b ? a - b : b - a;
    b = a < b ? a : b;
    a = more >> std::countr_zero(more);
  }
  return a << both;
}

}  // namespace

void gcd(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& y = call.inputs[1];
  const ArrayView& out = call.outputs[0];
  withType(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      parallelFor(out.numel(), kSerialElements / 16, [&](std::int64_t begin, std::int64_t end) {
        Walker<2> at(out.shape, {DimsRef(x.strides), DimsRef(y.strides)}, begin);
        for (std::int64_t i = begin; i < end; ++i, at.next()) {
          // The magnitude of the least integer is no integer of its type.
          auto size = [](T v) { return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v); };
          out.as<T>()[i] = static_cast<T>(gcdOf(size(x.as<T>()[at.offset[0]]), size(y.as<T>()[at.offset[1]])));
        }
      });
    } else {
      fail<InternalError>("gcd of ", dtypeName(x.dtype));
    }
  });
}

}  // namespace tandem::lib
