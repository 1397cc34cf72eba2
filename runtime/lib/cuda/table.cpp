#include "runtime/lib/cuda/table.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/base/error.h"

namespace tandem::cuda {
namespace {

// The function of each operation, by name.
constexpr std::pair<std::string_view, std::string_view> kRecords[] = {
#define X(name, function, parameters) {#name, #function},
#include "runtime/base/library_table.inc"
#undef X
};

std::unordered_map<std::string_view, LibraryFn>& functions() {
  static auto* const f = new std::unordered_map<std::string_view, LibraryFn>;
  return *f;
}

}  // namespace

Registered::Registered(std::initializer_list<std::pair<std::string_view, LibraryFn>> added) noexcept {
  for (const auto& [name, function] : added) functions().emplace(name, function);
}

LibraryFn findFunction(std::string_view op) {
  const auto* const record = std::ranges::find(kRecords, op, [](const auto& r) { return r.first; });
  if (record == std::end(kRecords)) return nullptr;
  const auto it = functions().find(record->second);
  return it == functions().end() ? nullptr : it->second;
}

std::vector<std::string_view> unknownFunctions() {
  std::vector<std::string_view> unknown;
  for (const auto& [name, function] : functions())
    if (std::ranges::find(kRecords, name, [](const auto& r) { return r.second; }) == std::end(kRecords))
      unknown.push_back(name);
  return unknown;
}

}  // namespace tandem::cuda
