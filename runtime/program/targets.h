// Code for more processors: what is in a saved program's manifest is enough to make it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/program/program_data.h"

namespace tandem::program {

/// Members of a file, by name.
using CodeMembers = std::vector<std::pair<std::string, std::string>>;

/// Makes the code of kernels for `target`, from the caches or by the compiler, and names it in the data: those of
/// numbers `kernels`, which launches of CPUs need; for a GPU all that any launch there may need. ValueError where the
/// program has the target; InternalError where no compiler makes code for it.
CodeMembers addTarget(ProgramData& data, const std::string& target, std::vector<std::size_t> kernels);
/// Of all kernels that have code for CPUs that are there.
CodeMembers addTarget(ProgramData& data, const std::string& target);

}  // namespace tandem::program
