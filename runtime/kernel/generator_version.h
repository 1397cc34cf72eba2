// Part of every kernel's cache key. Bump it by hand when the code generator may make different code for an old
// signature, or kernels get other symbols; the runtime reads it so that a cached kernel is found without opening the
// compiler.
#pragma once

namespace tandem {
inline constexpr const char* kGeneratorVersion = "24";
}  // namespace tandem
