// What the code of a kernel is called.
#pragma once

#include <string>
#include <string_view>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// The symbol of a signature's code for an architecture: a hash of both, in which operations have their names, so that
/// it is the same in every version. A saved program's code is known by it to be that of the signature.
std::string kernelSymbol(const KernelSignature& signature, std::string_view architecture);
/// What the code of a source text is called: a hash of the text and the architecture.
std::string sourceSymbol(std::string_view text, std::string_view architecture);

}  // namespace tandem
