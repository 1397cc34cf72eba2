// Structured kernels: what the code generator does not make. One function an operation, called the same way by eager
// and by plans, on plain views of memory. Their bits do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/attrs.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tandem {

/// Memory seen as a strided array. Strides count elements; `data` points at the first element.
struct ArrayView {
  void* data = nullptr;
  DType dtype = DType::Float32;
  Dims shape;
  Dims strides;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  [[nodiscard]] std::int64_t numel() const { return numelOf(shape); }
  [[nodiscard]] bool contiguous() const { return isContiguous(shape, strides); }
};

/// Everything a library operation is given. Outputs are allocated by the caller with the shapes of the shape rule and
/// are contiguous; they never overlap inputs.
struct LibraryCall {
  std::span<const ArrayView> inputs;  // optional operands that are absent have data == nullptr
  std::span<const ArrayView> outputs;
  std::span<const std::int64_t> attrs;    // in the order of the record, see AttrReader
  std::span<const std::int64_t> scalars;  // bits, as in Scalar::bits()
  std::string_view line = {};             // the user's, `file:line`, for errors; may be empty
};
using LibraryFn = void (*)(const LibraryCall&);

/// The function of the operation called `name` whose record is a library one; null for others. The table is generated
/// from the records: an operation `foo` is `tandem::lib::foo`.
LibraryFn libraryFunction(std::string_view name);
/// The operation that compares a size which was learnt with the one that a plan was made for; it throws SizeChanged.
inline constexpr std::string_view kSizeCheck = "expect_size";
/// Makes a call. Its errors keep their class and gain the user's line.
void callLibrary(LibraryFn fn, const LibraryCall& call);

}  // namespace tandem
