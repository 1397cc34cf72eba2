// Elements of an array in the type that a pool computes in.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/lib/clones.h"
#include "runtime/lib/half.h"
#include "runtime/lib/half_vectors.h"
#include "runtime/lib/library.h"

namespace tandem::lib {

/// Stretches of an array as elements of `C`, which those of half types are widened to.
template <class C>
struct Stretches {
  const ArrayView& array;

  template <class F>
  [[gnu::always_inline]] void withHalves(F f) const {
    if constexpr (std::is_same_v<C, float>) {
      if (array.dtype == DType::Float16) return f(array.as<Half>());
      if (array.dtype == DType::BFloat16) return f(array.as<BFloat16>());
    }
  }
  template <class F>
  void withElements(F f) const {
    if (!wide()) return f(array.as<C>());
    withHalves(f);
  }
  [[nodiscard]] bool wide() const { return itemSize(array.dtype) != sizeof(C); }
  /// `n` elements from `from` on: themselves, or widened to `to`.
  const C* read(std::int64_t from, std::int64_t n, C* to) const {
    if (!wide()) return array.as<C>() + from;
    withHalves([&](const auto* halves) TANDEM_INLINED { widen(halves + from, to, n); });
    return to;
  }
  /// Where to write elements from `to` on: there, or to `other` for `written`.
  C* place(std::int64_t to, C* other) const { return wide() ? other : array.as<C>() + to; }
  void written(std::int64_t to, std::int64_t n, const C* from) const {
    if (wide()) withHalves([&](auto* halves) TANDEM_INLINED { narrow(from, halves + to, n); });
  }
};

}  // namespace tandem::lib
