// For tests of generated kernels: building signatures step by step, running them over plain buffers, and the fixed
// order of reductions spelled out in scalar C++.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ir/schema/op_code.h"
#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem::test {

/// A signature under construction. Values are numbered as they are made: inputs first, then scalars, then steps.
class Build {
 public:
  explicit Build(KernelKind kind, int outerRank = 0) {
    signature.kind = kind;
    signature.outerRank = static_cast<std::uint8_t>(outerRank);
  }
  std::uint16_t input(DType t, Access a = Access::Unit) {
    signature.inputs.push_back({t, a});
    return next_++;
  }
  std::uint16_t scalar(DType t) {
    signature.scalars.push_back(t);
    return next_++;
  }
  std::uint16_t step(OpCode op, DType t, std::initializer_list<std::uint16_t> operands, int result = 0) {
    return push({op, t, KernelStep::Kind::Pointwise, operands, static_cast<std::uint8_t>(result)});
  }
  std::uint16_t reduce(OpCode op, DType t, std::uint16_t operand) {
    return push({op, t, KernelStep::Kind::Reduce, {operand}, 0});
  }
  std::uint16_t index() { return push({OpCode{}, DType::Int64, KernelStep::Kind::Index, {}, 0}); }
  void output(DType t, Access a, std::uint16_t value) { signature.outputs.push_back({{t, a}, value}); }

  KernelSignature signature;

 private:
  std::uint16_t push(KernelStep step) {
    signature.steps.push_back(std::move(step));
    return next_++;
  }
  std::uint16_t next_ = 0;
};

/// The argument block of a call.
class Args {
 public:
  explicit Args(const KernelSignature& s) : layout_(s), values_(layout_.size(), 0) {}
  Args& outer(int d, std::int64_t size) { return set(layout_.outerSize(d), size); }
  Args& inner(std::int64_t n) { return set(layout_.innerSize(), n); }
  Args& reduced(std::int64_t r) { return set(layout_.reducedSize(), r); }
  /// Operand k (inputs, then outputs).
  Args& operand(std::size_t k, const void* data, std::int64_t innerStride = 1,
                std::initializer_list<std::int64_t> outerStrides = {}, std::int64_t reducedStride = 0) {
    set(layout_.pointer(k), static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data)));
    set(layout_.innerStride(k), innerStride);
    int d = 0;
    for (std::int64_t stride : outerStrides) set(layout_.outerStride(k, d++), stride);
    if (layout_.column) set(layout_.reducedStride(k), reducedStride);
    return *this;
  }
  /// Of several reduced dims: the first r, the sizes of all but the outermost, and the strides of operand 0.
  Args& reducedDims(std::int64_t first, std::initializer_list<std::int64_t> sizes,
                    std::initializer_list<std::int64_t> strides) {
    set(layout_.firstReduced(), first);
    int d = 1;
    for (std::int64_t size : sizes) set(layout_.reducedDim(d++), size);
    d = 0;
    for (std::int64_t stride : strides) set(layout_.reducedStride(0, d++), stride);
    return *this;
  }
  Args& scalar(std::size_t j, std::int64_t v) { return set(layout_.scalar(j), v); }
  Args& scalar(std::size_t j, double v) { return set(layout_.scalar(j), std::bit_cast<std::int64_t>(v)); }
  /// Of the j-th framed input.
  Args& frame(std::size_t j, std::int64_t begin, std::int64_t count) {
    return set(layout_.frame(j), begin).set(layout_.frame(j) + 1, count);
  }
  [[nodiscard]] const std::int64_t* data() const { return values_.data(); }

 private:
  Args& set(std::size_t at, std::int64_t v) {
    values_.at(at) = v;
    return *this;
  }
  ArgLayout layout_;
  std::vector<std::int64_t> values_;
};

inline void run(const KernelSignature& s, const Args& args, std::int64_t begin, std::int64_t end) {
  cpu::loadKernel(s).function()(args.data(), begin, end);
}

/// Deterministic values in about [-2, 2].
inline double noise(std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  return static_cast<double>(static_cast<std::int64_t>(x >> 11)) / 9007199254740992.0 * 4 - 2;
}
template <class T>
std::vector<T> noises(std::size_t n, double scale = 1, std::uint64_t seed = 0) {
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(noise(i + seed * 1000003) * scale);
  return v;
}

template <class T>
using Combiner = std::function<T(T, T)>;

/// The trailing class: 32 lanes, blocks of 4096, the same again over the blocks' results.
template <class T>
T lanesOf(const std::vector<T>& x, std::size_t from, std::size_t to, T identity, const Combiner<T>& op, int lanes) {
  std::vector<T> acc(static_cast<std::size_t>(lanes), identity);
  for (std::size_t i = from; i < to; ++i) acc[(i - from) % lanes] = op(acc[(i - from) % lanes], x[i]);
  for (std::size_t h = acc.size() / 2; h >= 1; h /= 2) {
    for (std::size_t j = 0; j < h; ++j) acc[j] = op(acc[j], acc[j + h]);
  }
  return acc[0];
}
template <class T>
T trailing(const std::vector<T>& x, T identity, const Combiner<T>& op) {
  if (x.size() <= 4096) return lanesOf(x, 0, x.size(), identity, op, 32);
  std::vector<T> partials;
  for (std::size_t b = 0; b < x.size(); b += 4096) {
    partials.push_back(lanesOf(x, b, std::min(x.size(), b + 4096), identity, op, 32));
  }
  return trailing(partials, identity, op);
}
/// The leading class over one column: 8 lanes, blocks of 1024, 8 second-level lanes.
template <class T>
T leading(const std::vector<T>& x, T identity, const Combiner<T>& op) {
  std::vector<T> partials;
  for (std::size_t b = 0; b < x.size(); b += 1024) {
    partials.push_back(lanesOf(x, b, std::min(x.size(), b + 1024), identity, op, 8));
  }
  return lanesOf(partials, 0, partials.size(), identity, op, 8);
}

template <class T>
T plus(T a, T b) {
  return a + b;
}
template <class T>
T larger(T a, T b) {
  return b != b ? b : (b > a ? b : a);
}

/// Equal bits, any NaN equal to any.
template <class T>
bool sameBits(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace tandem::test
