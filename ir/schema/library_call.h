// Is a call one that the function of a library operation may be given? Functions believe what dispatch, recorders and
// passes made sure of; a plan that was read from a file had none of them, and is asked here.
#pragma once

#include <span>
#include <string_view>

#include "ir/schema/op_table.h"

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
void checkLibraryCall(const LibraryCallMeta& call);

namespace schema {

/// A call of which operands and attributes are in number and kind those of the record.
struct ParsedCall {
  const OpFacts& op;
  std::span<const TensorMeta> inputs;
  std::span<const TensorMeta> outputs;
  std::span<const std::int64_t> attrs;
};
/// What the functions need beside that and the rules of shapes and dtypes; an error where it does not hold.
void checkRequirements(const ParsedCall& call);
/// Is there a statement of what the operation's function needs?
bool hasRequirements(std::string_view op);

}  // namespace schema

}  // namespace tandem
