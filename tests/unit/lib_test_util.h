// Arrays for the tests of runtime/lib: element access in logical row-major order whatever the strides.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <vector>

#include "runtime/lib/half.h"
#include "runtime/lib/library.h"
#include "runtime/lib/strided.h"

namespace tandem {

namespace lib {
#define X(name, function, ...) void function(const LibraryCall&);
#include "runtime/base/library_table.inc"
#undef X
}  // namespace lib

namespace test {

struct Array {
  ArrayView view;
  std::shared_ptr<std::vector<unsigned char>> memory;

  /// Zeros, contiguous.
  Array(DType t, const Dims& shape) : Array(t, shape, contiguousStrides(shape)) {}
  Array(DType t, const Dims& shape, const Dims& strides) {
    std::int64_t span = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) span += std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
    memory = std::make_shared<std::vector<unsigned char>>(static_cast<std::size_t>(span) * itemSize(t));
    view = {memory->data(), t, shape, strides};
  }
  std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t d = view.shape.size(); d-- > 0;) {
      at += i % view.shape[d] * view.strides[d];
      i /= view.shape[d];
    }
    return at;
  }
  double get(std::int64_t i) const {
    return lib::withType(view.dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      return static_cast<double>(lib::Element<T>::load(view.as<T>()[offset(i)]));
    });
  }
  void set(std::int64_t i, double v) const {
    lib::withType(view.dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      using C = typename lib::Element<T>::Compute;
      view.as<T>()[offset(i)] = lib::Element<T>::store(static_cast<C>(v));
    });
  }
  std::vector<double> values() const {
    std::vector<double> v;
    for (std::int64_t i = 0; i < view.numel(); ++i) v.push_back(get(i));
    return v;
  }
};

inline Array arrayOf(DType t, const Dims& shape, std::initializer_list<double> values) {
  Array a(t, shape);
  std::int64_t i = 0;
  for (double v : values) a.set(i++, v);
  return a;
}

/// Normal values for floats, 0..10 for integers.
inline void fillRandom(const Array& a, std::mt19937& random) {
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < a.view.numel(); ++i)
    a.set(i, isFloating(a.view.dtype) ? normal(random) : static_cast<double>(random() % 11));
}

/// Random values in one of: contiguous, dims permuted, with gaps.
inline Array randomLayout(DType t, const Dims& shape, std::mt19937& random) {
  Dims strides(shape.size());
  std::vector<std::size_t> order(shape.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
  unsigned layout = random() % 5;
  if (layout == 1) std::shuffle(order.begin(), order.end(), random);
  if (layout == 2 && shape.size() >= 2) std::swap(order[0], order[1]);
  std::int64_t step = layout == 3 ? 2 : 1;
  for (std::size_t d : order) {
    strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1) + (layout == 3 ? 1 : layout == 4 ? 3 : 0);
  }
  Array a(t, shape, strides);
  fillRandom(a, random);
  return a;
}

/// A contiguous copy.
inline Array dense(const Array& a) {
  Array c(a.view.dtype, a.view.shape);
  for (std::int64_t i = 0; i < a.view.numel(); ++i)
    std::memcpy(c.memory->data() + static_cast<std::size_t>(i) * itemSize(a.view.dtype),
                a.memory->data() + static_cast<std::size_t>(a.offset(i)) * itemSize(a.view.dtype),
                itemSize(a.view.dtype));
  return c;
}

inline bool sameBits(const Array& a, const Array& b) {
  return a.view.dtype == b.view.dtype && a.view.shape == b.view.shape && *dense(a).memory == *dense(b).memory;
}

inline void call(LibraryFn fn, std::initializer_list<Array> inputs, std::initializer_list<Array> outputs,
                 const std::vector<std::int64_t>& attrs, const std::vector<std::int64_t>& scalars = {}) {
  std::vector<ArrayView> in, out;
  for (const Array& a : inputs) in.push_back(a.view);
  for (const Array& a : outputs) out.push_back(a.view);
  fn({in, out, attrs, scalars});
}

}  // namespace test
}  // namespace tandem
