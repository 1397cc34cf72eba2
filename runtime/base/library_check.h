// The interface through which the reader of saved programs asks whether a library operation may be called so: functions
// believe what dispatch, recorders and passes made sure of, which a plan from a file had none of. The records' rules
// are in ir/schema, which the runtime does not know; it implements and registers this.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/tensor_meta.h"

namespace tandem {

/// A call without its memory. Operands are all tensors of the record, in its order; those that are absent say so.
struct LibraryCallMeta {
  std::string_view op;
  std::span<const TensorMeta> inputs;
  std::span<const TensorMeta> outputs;
  std::span<const std::int64_t> attrs;  // as in runtime/base/attrs.h
  std::size_t numbers = 0;
};

/// An error naming the operation where operands, numbers or attributes are not those of the record, the function could
/// not take them, or the outputs are not what the record's rule gives. Sizes must not be negative and have a product of
/// at most 2^46 a tensor.
/// True: the function may make its first result in the memory of operand 0.
using LibraryCheck = bool (*)(const LibraryCallMeta& call);
/// Null until it is registered, before `main`.
inline constinit LibraryCheck libraryCheck = nullptr;

}  // namespace tandem
