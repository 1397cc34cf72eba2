#include "ir/schema/op_table.h"

#include <algorithm>

#include "ir/schema/shape_rules.h"
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"

namespace tandem {
namespace {

constexpr OpFacts kFacts[] = {
#include "ir/schema/op_table.inc"
};

}  // namespace

const OpFacts& facts(OpCode op) { return kFacts[static_cast<int>(op)]; }
int numOps() { return static_cast<int>(std::size(kFacts)); }

OpCode opOf(OpRole role) {
  static const auto ops = [] {
    std::array<OpCode, kNumRoles> found{};
    for (const OpFacts& f : kFacts) found[static_cast<std::size_t>(f.role)] = f.code;
    return found;
  }();
  return ops[static_cast<std::size_t>(role)];
}

std::optional<OpCode> findOp(std::string_view name) {
  const auto* end = std::end(kFacts);
  const auto* it =
      std::lower_bound(std::begin(kFacts), end, name, [](const OpFacts& f, std::string_view n) { return f.name < n; });
  if (it == end || it->name != name) return {};
  return it->code;
}

DType resultType(std::span<const TensorMeta> operands) {
  // Three priorities: tensors with dims, 0-d tensors, numbers. A lower one matters only if its category (bool, integer,
  // floating) is higher than what those above gave.
  std::optional<DType> level[3];
  for (const auto& m : operands) {
    if (m.absent) continue;
    int k = m.weak ? 2 : m.shape.empty() ? 1 : 0;
    DType t = m.weak && m.dtype == DType::Float64 ? schemaDefault : m.dtype;
    level[k] = level[k] ? promoteTypes(*level[k], t) : t;
  }
  std::optional<DType> result;
  for (auto& t : level) {
    if (!t) continue;
    if (!result || category(*t) > category(*result)) result = t;
  }
  return result.value_or(schemaDefault);
}

DType operandType(const OpFacts& op, PointwiseTypes types, std::size_t i, const TensorMeta& operand) {
  // Numbers reach kernels as int64 or float64.
  if (op.dtypeRule == DTypeRule::Raw)
    return operand.weak && operand.dtype == DType::Bool ? DType::Int64 : operand.dtype;
  if (op.dtypeRule == DTypeRule::Select && i == 0) return DType::Bool;
  return op.wideNumbers && operand.weak ? computeType(types.operand) : types.operand;
}

PointwiseTypes pointwiseTypes(const OpFacts& op, std::span<const TensorMeta> operands,
                              std::span<const std::int64_t> attrs) {
  auto promoted = [&](std::size_t from) { return resultType(operands.subspan(from)); };
  switch (op.dtypeRule) {
  case DTypeRule::Promote: {
    DType t = promoted(0);
    return {t, t};
  }
  case DTypeRule::Number: {
    DType t = promoted(0);
    if (t == DType::Bool) t = DType::Int64;
    return {t, t};
  }
  case DTypeRule::Float: {
    DType t = promoted(0);
    if (!isFloating(t)) t = schemaDefault;
    return {t, t};
  }
  case DTypeRule::Compare:
    return {promoted(0), DType::Bool};
  case DTypeRule::Logical:
    return {DType::Bool, DType::Bool};
  case DTypeRule::Select: {
    DType t = promoted(1);
    return {t, t};
  }
  case DTypeRule::Explicit: {
    auto t = static_cast<DType>(attrs.back());
    return {op.kind == OpKind::Creation ? t : operands[0].dtype, t};
  }
  case DTypeRule::Raw:
    if (op.kind == OpKind::Random || op.kind == OpKind::Creation) {
      auto t = static_cast<DType>(attrs.back());
      return {t, t};
    }
    return {operands[0].dtype, operands[0].dtype};
  case DTypeRule::First: {
    DType t = operands[0].weak && operands[0].dtype == DType::Float64 ? schemaDefault : operands[0].dtype;
    return {t, t};
  }
  default:
    fail<InternalError>(op.name, " has no pointwise dtype rule");
  }
}

}  // namespace tandem
