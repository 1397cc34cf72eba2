// The table of library functions: names from the records, each bound to the function its record names.
#include "runtime/lib/library.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/error.h"

namespace tandem {
namespace lib {
#define X(name, function, parameters) void function(const LibraryCall&);
#include "runtime/base/library_table.inc"
#undef X
}  // namespace lib

namespace {
constexpr std::pair<std::string_view, LibraryFn> kTable[] = {
#define X(name, function, parameters) {#name, &lib::function},
#include "runtime/base/library_table.inc"
#undef X
};
}  // namespace

void callLibrary(LibraryFn fn, const LibraryCall& call) {
  if (call.line.empty()) return fn(call);
  try {
    fn(call);
  } catch (const SizeChanged&) {
    throw;
  } catch (const Error& e) {
    failAs(e, strcat(e.what(), "\n  recorded at ", call.line));
  }
}

LibraryFn libraryFunction(std::string_view name) {
  const auto* found = std::ranges::find(kTable, name, [](const auto& entry) { return entry.first; });
  return found == std::end(kTable) ? nullptr : found->second;
}

}  // namespace tandem
