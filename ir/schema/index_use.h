// Which operands of an operation are indices, and of what: `index_select(x, dim, index)` reads x at index, one operand,
// along dim.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/schema/op_table.h"

namespace tandem {

/// Operands [first, first + count) are indices along the dims of operand 0 that begin at `dim`, one dim each.
struct IndexUse {
  std::size_t first = 0;
  std::size_t count = 0;
  std::int64_t dim = 0;
  bool wraps = false;  // may they count from the end?
};

/// Nothing of an operation that has none.
std::optional<IndexUse> indexUse(OpCode op, std::size_t numOperands, std::span<const std::int64_t> attrs);

}  // namespace tandem
