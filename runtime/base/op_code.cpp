#include "runtime/base/op_code.h"

#include <algorithm>
#include <iterator>

namespace tandem {
namespace {

constexpr std::string_view kNames[] = {
#include "runtime/base/op_names.inc"
};

}  // namespace

std::string_view opName(OpCode op) { return kNames[static_cast<std::size_t>(op)]; }

std::optional<OpCode> opNamed(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<OpCode>(found - std::begin(kNames));
}

}  // namespace tandem
