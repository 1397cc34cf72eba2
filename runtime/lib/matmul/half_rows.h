// Stretches of half types as float32 and back, in vectors.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/half.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

// On this thread.
void widen(const Half* from, float* to, std::int64_t n);
void widen(const BFloat16* from, float* to, std::int64_t n);
/// Rounded to nearest even.
void narrow(const float* from, Half* to, std::int64_t n);
/// `toMemory`: past the caches, where the processor can, which need not read the lines that it writes. Other threads
/// see such elements after endToMemory().
void narrow(const float* from, BFloat16* to, std::int64_t n, bool toMemory = false);
void endToMemory();

/// Brings elements to place `at` of an array of float32 if `wide`, else, rounded, of bfloat16.
inline void putFloats(const float* from, std::int64_t n, void* to, std::int64_t at, bool wide, bool toMemory = false) {
  wide ? copyRow(from, n, static_cast<float*>(to) + at) : narrow(from, static_cast<BFloat16*>(to) + at, n, toMemory);
}

/// The inner product of up to kDotBlock elements, as gemm_kernel.h says; half types are widened in registers. A is a
/// half type or float.
template <class A, class B>
float innerProduct(const A* a, const B* b, std::int64_t n);

/// Widens or rounds, shared among threads.
template <class T>
void widenAll(const T* from, float* to, std::int64_t n) {
  parallelFor(n, kSerialElements,
              [&](std::int64_t begin, std::int64_t end) { widen(from + begin, to + begin, end - begin); });
}
template <class T>
void narrowAll(const float* from, T* to, std::int64_t n) {
  parallelFor(n, kSerialElements,
              [&](std::int64_t begin, std::int64_t end) { narrow(from + begin, to + begin, end - begin); });
}
/// The same of a contiguous array of a half type.
inline void widenAll(const ArrayView& from, float* to) {
  from.dtype == DType::Float16 ? widenAll(from.as<Half>(), to, from.numel())
                               : widenAll(from.as<BFloat16>(), to, from.numel());
}
inline void narrowAll(const float* from, const ArrayView& to) {
  to.dtype == DType::Float16 ? narrowAll(from, to.as<Half>(), to.numel())
                             : narrowAll(from, to.as<BFloat16>(), to.numel());
}

/// A result as C, float for half types, on its way to the contiguous array `to`.
template <class C>
class Narrowed {
 public:
  explicit Narrowed(const ArrayView& to) : to_(to), wide_(isHalf(to.dtype) ? to.numel() : 0) {}
  [[nodiscard]] C* data() const { return isHalf(to_.dtype) ? wide_.data() : to_.template as<C>(); }
  void store() const {
    if constexpr (std::is_same_v<C, float>) {
      if (isHalf(to_.dtype)) narrowAll(wide_.data(), to_);
    }
  }

 private:
  const ArrayView& to_;
  Scratch<C> wide_;
};

}  // namespace tandem::lib
