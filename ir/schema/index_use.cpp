#include "ir/schema/index_use.h"

namespace tandem {

std::optional<IndexUse> indexUse(OpCode op, std::size_t numOperands, std::span<const std::int64_t> attrs) {
  switch (op) {
  case OpCode::gather:
  case OpCode::scatter_add:
  case OpCode::scatter_plain:
  case OpCode::scatter_combine:
  case OpCode::index_select:
  case OpCode::index_add_plain:
    return IndexUse{1, 1, attrs[0], false};
  case OpCode::index_get:
    return IndexUse{1, numOperands - 1, attrs[0], true};
  case OpCode::index_put_plain:
    return IndexUse{2, numOperands - 2, attrs[0], true};
  case OpCode::bag_sum:
  case OpCode::bag_max:
    return IndexUse{1, 1, 0, false};
  default:
    return {};
  }
}

}  // namespace tandem
