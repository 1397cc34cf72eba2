// Which library functions are in a statically linked program. libtandem_runtime.a has a table of all that there are,
// and with it all of their code. A program that defines the table itself has what is in that one, and opens saved
// programs which need no others; the linker leaves out the rest with --gc-sections. In CMake
//
//   tandem_program_functions(my_program digits.tandem ...)
//
// writes and adds such a table; `python -m tandem inspect --functions digits.tandem ...` prints one:
//
//   #define TANDEM_FUNCTIONS(X) X(conv2d_plain) X(matmul_plain)
//   #include <tandem/functions.hpp>
#pragma once

namespace tandem {

struct LibraryCall;

struct NamedFunction {
  const char* name;
  void (*function)(const LibraryCall&);
};

}  // namespace tandem

/// In the order of their names; behind the last one is a null.
extern "C" const tandem::NamedFunction tandem_functions[];

#ifdef TANDEM_FUNCTIONS
#define TANDEM_DECLARE_FUNCTION(name) extern "C" void tandem_function_##name(const tandem::LibraryCall& call);
#define TANDEM_LIST_FUNCTION(name) {#name, &tandem_function_##name},
TANDEM_FUNCTIONS(TANDEM_DECLARE_FUNCTION)
const tandem::NamedFunction tandem_functions[] = {TANDEM_FUNCTIONS(TANDEM_LIST_FUNCTION){nullptr, nullptr}};
#undef TANDEM_LIST_FUNCTION
#undef TANDEM_DECLARE_FUNCTION
#endif
