// Signature to machine code: memory, then disk ($TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem), then the cache
// shipped beside the library, then the compiler. Thread-safe; any number of processes may share a cache directory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// The kernel of a signature. Valid for the life of the process.
KernelFn lookupKernel(const KernelSignature& signature);
/// As `lookupKernel` for many, compiled in parallel where the caches lack them.
std::vector<KernelFn> lookupKernels(std::span<const KernelSignature> signatures);

}  // namespace tandem
