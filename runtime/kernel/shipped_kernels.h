// Kernel objects that come with the package, so that common operations run without a compiler and without its time:
// the folder `kernels` beside the library, which has one file an architecture, `<architecture>.pack`
// (scripts/ship_kernels.py writes them). Such a file has
//
//   the magic `tdpack01`, and the number of objects (all numbers have 8 bytes, little-endian)
//   for each of them, in the order of their keys: the key (16 bytes), where it begins in the file, and its bytes
//   the objects, each as in a file of the disk cache
//
// It belongs to one build of the compiler: keys have its identity. A file that is damaged is one that is not there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel/disk_cache.h"

namespace tandem {

/// The architectures that have such a file.
const std::vector<std::string>& shippedArchitectures();
/// The object of a name, undamaged.
std::optional<std::string> readShippedObject(const CodeName& name);

}  // namespace tandem
