// What compilers of kernels tell those who look: files in $TANDEM_DUMP, a line a kernel with TANDEM_LOG=kernels, and
// the file that an error names.
#pragma once

#include <chrono>
#include <string>

#include "runtime/kernel/kernel_signature.h"

namespace tandem::codegen {

/// `$TANDEM_DUMP/symbol`, whose folder is made; empty where nothing is to be written.
std::string dumpFile(const std::string& symbol);
/// Where what failed is written when TANDEM_DUMP names no folder.
std::string failureFile(const std::string& symbol, const char* suffix);
/// `what` is a signature's text or a source's name.
void logKernel(const std::string& symbol, std::chrono::steady_clock::time_point start, std::size_t bytes,
               const std::string& what);

}  // namespace tandem::codegen
