// Places a kernel's relocatable object in executable memory. Takes only what the code generator makes: code and
// read-only data, a few relocations, a fixed table of imports. Pages are written first and executable afterwards,
// never both.
#pragma once

#include <string>
#include <string_view>

#include "runtime/device/cpu/cpu_kernel.h"

namespace tandem::cpu {

/// The address of `symbol` in the loaded object, which stays for the life of the process. InternalError saying what
/// is wrong with the object where something is; every offset in it is checked.
KernelFn loadObject(std::string_view object, const std::string& symbol);

}  // namespace tandem::cpu
