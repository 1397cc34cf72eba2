// Sums of many elements into few: half types are added in float32 and rounded once, at the end.
#pragma once

#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// The elements of a contiguous array in what they are computed in: the array's own memory, or a copy.
template <class T>
class Widened {
 public:
  using Compute = typename Element<T>::Compute;
  static constexpr bool kWide = !std::is_same_v<T, Compute>;

  explicit Widened(const ArrayView& x) : wide_(kWide ? x.numel() : 0), data_(wide_.data()) {
    if constexpr (kWide)
      widenAll(x.as<T>(), data_, x.numel());
    else
      data_ = x.as<T>();
  }
  Compute* data() const { return data_; }

 private:
  Scratch<Compute> wide_;
  Compute* data_;
};

/// The sums of an operation that adds into a copy of `x`: in `out` itself, or for half types beside it.
template <class T>
class Accumulator {
 public:
  Accumulator(const ArrayView& x, const ArrayView& out) : out_(out), sums_(copied(x, out)) {}
  typename Element<T>::Compute* data() const { return sums_.data(); }
  void finish() const {
    if constexpr (Widened<T>::kWide) narrowAll(data(), out_.template as<T>(), out_.numel());
  }

 private:
  static ArrayView copied(const ArrayView& x, const ArrayView& out) {
    copyArray(x, out);
    return out;
  }

  const ArrayView& out_;
  Widened<T> sums_;
};

}  // namespace tandem::lib
