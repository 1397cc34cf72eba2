// Libraries that are opened when they are first needed, and not linked: what NVIDIA ships, in the system or in wheels.
#pragma once

#include <span>
#include <string>

namespace tandem {

/// Opens a library: the file that the environment variable `variable` names, and no other, where it is set; else the
/// first of `names` that the loader finds, or that lies in one of the folders of $TANDEM_CUDA_PATH (with colons
/// between), where the Python package puts those of the wheels it finds. Null where there is none; `why` then says what
/// was looked for and the loader's reason.
void* openSharedLibrary(const char* variable, std::span<const char* const> names, std::string& why);

/// A function of a library, and the pointer to functions that is to say where it is.
struct SharedFunction {
  template <class F>
  constexpr SharedFunction(const char* name, F** pointer) : name(name), at(static_cast<void*>(pointer)) {}
  const char* name;
  void* at;
};
/// Sets all pointers, to null where the library lacks the function. "" where it has all of them, else "lacks NAME", of
/// the first.
std::string findFunctions(void* library, std::span<const SharedFunction> functions);

}  // namespace tandem
