// Helpers shared by the library operations: element types by dtype, walking strided memory, scratch memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/lib/half.h"
#include "runtime/lib/library.h"
#include "runtime/memory/allocator.h"

namespace tandem {

/// Copies between two arrays of one dtype and shape, any strides, in parallel. They must not overlap.
void copyArray(const ArrayView& from, const ArrayView& to);
/// An array in pieces of its row-major order that, copied one after the other, read every line of memory about once
/// however the array lies: a piece holds whole lines of the dim along which it is dense, or all of that dim.
class RowMajorPieces {
 public:
  explicit RowMajorPieces(const ArrayView& from);
  /// So many elements a piece should have.
  [[nodiscard]] std::int64_t least() const { return least_; }
  [[nodiscard]] std::int64_t itemSize() const { return static_cast<std::int64_t>(tandem::itemSize(from_.dtype)); }
  /// Copies the elements [begin, end), and what units they are part of, to contiguous memory of `bytes`. Where the first
  /// of them is then.
  char* copy(std::int64_t begin, std::int64_t end, char* to) const;
  [[nodiscard]] std::int64_t bytes(std::int64_t begin, std::int64_t end) const {
    return ((end + unit_ - 1) / unit_ - begin / unit_) * unit_ * itemSize();
  }

 private:
  ArrayView from_;       // adjacent dims merged
  std::size_t dim_ = 0;  // units are the steps of this dim
  std::int64_t unit_ = 1;
  std::int64_t least_ = 1;
};

/// One matrix, on this thread: row i, column j of `to`, whose rows are `toRow` apart, is element i + j * fromColumn of
/// `from`; strides in elements of the dtype.
void transposeMatrix(const void* from, std::int64_t fromColumn, void* to, std::int64_t toRow, std::int64_t rows,
                     std::int64_t columns, DType dtype);

namespace lib {

/// Work below this many elements is not worth handing to the pool.
inline constexpr std::int64_t kSerialElements = 32 * 1024;
/// How many tasks of `work` elements each are worth handing over.
constexpr std::int64_t grainOf(std::int64_t work) {
  return std::max<std::int64_t>(1, kSerialElements / std::max<std::int64_t>(1, work));
}

template <class T>
struct TypeTag {
  using Type = T;
};

/// Calls f(TypeTag<T>) with the C++ type that stores `t`.
template <class F>
decltype(auto) withType(DType t, F&& f) {
  switch (t) {
  case DType::Bool:
    return f(TypeTag<bool>{});
  case DType::UInt8:
    return f(TypeTag<std::uint8_t>{});
  case DType::Int8:
    return f(TypeTag<std::int8_t>{});
  case DType::Int16:
    return f(TypeTag<std::int16_t>{});
  case DType::Int32:
    return f(TypeTag<std::int32_t>{});
  case DType::Int64:
    return f(TypeTag<std::int64_t>{});
  case DType::Float16:
    return f(TypeTag<Half>{});
  case DType::BFloat16:
    return f(TypeTag<BFloat16>{});
  case DType::Float32:
    return f(TypeTag<float>{});
  case DType::Float64:
    return f(TypeTag<double>{});
  }
  fail<InternalError>("not a dtype: ", static_cast<int>(t));
}
/// The same for float32 and float64 alone.
template <class F>
decltype(auto) withFloating(DType t, F&& f) {
  return t == DType::Float64 ? f(TypeTag<double>{}) : f(TypeTag<float>{});
}
/// The dtype that stores `T`, float or double.
template <class T>
constexpr DType floatingDType() {
  return std::is_same_v<T, double> ? DType::Float64 : DType::Float32;
}
/// The same for operations that only move elements: an unsigned integer of the element's size.
template <class F>
decltype(auto) withSize(DType t, F&& f) {
  switch (itemSize(t)) {
  case 1:
    return f(TypeTag<std::uint8_t>{});
  case 2:
    return f(TypeTag<std::uint16_t>{});
  case 4:
    return f(TypeTag<std::uint32_t>{});
  default:
    return f(TypeTag<std::uint64_t>{});
  }
}

/// Adds as the dtype does: integers wrap, bool is or, half types are rounded after each addition by the caller.
template <class C>
C addElements(C a, C b) {
  if constexpr (std::is_same_v<C, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class C>
C mulElements(C a, C b) {
  if constexpr (std::is_same_v<C, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

/// How many times b goes into a, a part of it counted whole; neither is negative.
constexpr std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Memory for the time of a call.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T)), data_(allocate(bytes_)) {}
  Scratch(Scratch&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  ~Scratch() {
    if (data_ != nullptr) deallocate(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return static_cast<T*>(data_); }
  T& operator[](std::int64_t i) const { return data()[i]; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// A vector of at most `most` elements in such memory.
template <class T>
class ScratchList {
 public:
  explicit ScratchList(std::int64_t most) : elements_(most), most_(most) {}
  std::int64_t most() const { return most_; }
  void push_back(const T& value) { elements_[size_++] = value; }
  void clear() { size_ = 0; }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() const { return elements_.data(); }
  T* end() const { return elements_.data() + size_; }
  T& back() const { return elements_[size_ - 1]; }
  T& operator[](std::int64_t i) const { return elements_[i]; }

 private:
  Scratch<T> elements_;
  std::int64_t most_;
  std::int64_t size_ = 0;
};

/// Walks a shape in row-major order and keeps, for each of N operands, the offset of the element in its strides.
template <int N>
class Walker {
 public:
  Walker(DimsRef shape, const std::array<DimsRef, N>& strides, std::int64_t start = 0) : shape_(shape) {
    for (int k = 0; k < N; ++k) strides_[k] = strides[k];
    index_.resize(shape.size());
    // From the start of anything, also of nothing: no size divides.
    for (std::size_t d = shape.size(); start != 0 && d-- > 0;) {
      index_[d] = start % shape[d];
      start /= shape[d];
      for (int k = 0; k < N; ++k) offset[k] += index_[d] * strides[k][d];
    }
  }
  std::array<std::int64_t, N> offset{};
  const Dims& index() const { return index_; }

  void next() {
    for (std::size_t d = shape_.size(); d-- > 0;) {
      for (int k = 0; k < N; ++k) offset[k] += strides_[k][d];
      if (++index_[d] < shape_[d]) return;
      for (int k = 0; k < N; ++k) offset[k] -= strides_[k][d] * shape_[d];
      index_[d] = 0;
    }
  }

 private:
  DimsRef shape_;
  std::array<DimsRef, N> strides_;
  Dims index_;
};

/// A shape seen from one of its dims: `outer` x `size` x `inner`.
struct DimSplit {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;

  DimSplit(DimsRef shape, std::int64_t dim) {
    if (shape.empty()) return;  // a 0-d tensor counts as one element along its only dim
    for (std::size_t d = 0; d < shape.size(); ++d) {
      auto at = static_cast<std::int64_t>(d);
      (at < dim ? outer : at > dim ? inner : size) *= shape[d];
    }
  }
};

/// A contiguous view of an input: the input itself, or a copy that lives as long as this.
class Contiguous {
 public:
  explicit Contiguous(const ArrayView& from)
      : view_(from), copy_(from.contiguous() ? 0 : from.numel() * static_cast<std::int64_t>(itemSize(from.dtype))) {
    if (from.contiguous()) return;
    view_.data = copy_.data();
    view_.strides = contiguousStrides(from.shape);
    copyArray(from, view_);
  }
  const ArrayView& view() const { return view_; }
  template <class T>
  T* as() const {
    return view_.as<T>();
  }

 private:
  ArrayView view_;
  Scratch<unsigned char> copy_;
};

/// A 0-d operand counts as one element along its only dim.
inline ArrayView atLeast1d(const ArrayView& x) {
  ArrayView v = x;
  if (v.shape.empty()) {
    v.shape = {1};
    v.strides = {1};
  }
  return v;
}

}  // namespace lib
}  // namespace tandem
