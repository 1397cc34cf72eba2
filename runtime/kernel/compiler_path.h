// Where the library's own files lie, and opening those that are shared objects.
#pragma once

#include <string>

namespace tandem {

/// The folder of the object (shared library or executable) that the runtime is part of.
const std::string& libraryFolder();
/// The compiler's shared object: $TANDEM_COMPILER, else libtandem_compiler.so in libraryFolder(). It need not exist.
std::string compilerPath();

/// Opens a shared object, whose symbols serve nobody else; null where that fails, and `why`.
void* openLibrary(const std::string& path, std::string& why);

}  // namespace tandem
