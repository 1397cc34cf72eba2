// The state of a context in a file of the safetensors layout.
#pragma once

#include <string>

#include "runtime/program/program.h"

namespace tandem::program {

/// All tensors of the state, contiguous. Written to a temporary name beside `path`, synced and renamed. ValueError
/// naming the path where that fails; what was there before is then untouched.
void saveState(const Context& context, const std::string& path);
/// Replaces tensors of the state by what the file has of them. ValueError, before anything changes, where the file is
/// damaged, or has a tensor that the program does not know, knows with another dtype or shape, or, with other elements,
/// that no entry changes.
void loadState(Context& context, const std::string& path);

}  // namespace tandem::program
