// The library functions that a GPU has. A function is `tandem::cuda::lib::foo`, of the name that the record of its
// operation gives it (runtime/base/library_table.inc), and is registered beside its definition:
//
//   const Registered here{{"flip", &flip}, {"roll", &roll}};
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/lib/library.h"

namespace tandem::cuda {

namespace lib {
#define X(name, function, parameters) void function(const LibraryCall&);
#include "runtime/base/library_table.inc"
#undef X
}  // namespace lib

struct Registered {
  /// Functions by their names. It ends the process where there is no memory for them.
  Registered(std::initializer_list<std::pair<std::string_view, LibraryFn>> functions) noexcept;
};

/// The function of the operation called `op`; null where a GPU has none.
LibraryFn findFunction(std::string_view op);
/// Names that were registered and that no record has, for tests.
std::vector<std::string_view> unknownFunctions();

}  // namespace tandem::cuda
