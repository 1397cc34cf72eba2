// The table of all library functions. In libtandem_runtime.a it is an object by itself, which a program with a table of
// its own does without.
#include "tandem/functions.hpp"

#define X(name, function, parameters) extern "C" void tandem_function_##name(const tandem::LibraryCall& call);
#include "runtime/base/library_table.inc"
#undef X

const tandem::NamedFunction tandem_functions[] = {
#define X(name, function, parameters) {#name, &tandem_function_##name},
#include "runtime/base/library_table.inc"
#undef X
    {nullptr, nullptr},
};
