#include "runtime/base/op_code.h"

#include <algorithm>
#include <iterator>

namespace tandem {
namespace {

constexpr std::string_view kNames[] = {
#include "runtime/base/op_names.inc"
};
static_assert(std::ranges::is_sorted(kNames));

}  // namespace

std::string_view opName(OpCode op) { return kNames[static_cast<std::size_t>(op)]; }

std::optional<OpCode> opNamed(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(kNames, name);
  if (found == std::end(kNames) || *found != name) return std::nullopt;
  return static_cast<OpCode>(found - std::begin(kNames));
}

}  // namespace tandem
