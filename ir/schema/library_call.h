// Is a call one that the function of a library operation may be given? Functions believe what dispatch, recorders and
// passes made sure of; a plan that was read from a file had none of them, and is asked here.
#pragma once

#include <span>
#include <string_view>

#include "ir/schema/op_table.h"
#include "runtime/base/library_check.h"

namespace tandem {

/// LibraryCheck of the records (runtime/base/library_check.h), which it is registered as.
bool checkLibraryCall(const LibraryCallMeta& call);

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
