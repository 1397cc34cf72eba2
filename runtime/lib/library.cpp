// Library functions by name: each bound to the function that its record names, and found in the table that is linked.
#include "runtime/lib/library.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "tandem/functions.hpp"

namespace tandem {
namespace lib {
#define X(name, function, parameters) void function(const LibraryCall&);
#include "runtime/base/library_table.inc"
#undef X
}  // namespace lib

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
  static const std::size_t count = [] {
    std::size_t n = 0;
    while (tandem_functions[n].name != nullptr) ++n;
    return n;
  }();
  const auto* const end = tandem_functions + count;
  const auto* const found = std::lower_bound(
      tandem_functions, end, name, [](const NamedFunction& f, std::string_view other) { return f.name < other; });
  return found != end && found->name == name ? found->function : nullptr;
}

}  // namespace tandem

// What tables name, which in a program that is linked with libtandem_runtime.a stand elsewhere.
#define X(name, function, parameters)                                                                                  \
  extern "C" void tandem_function_##name(const tandem::LibraryCall& call) { tandem::lib::function(call); }
#include "runtime/base/library_table.inc"
#undef X
