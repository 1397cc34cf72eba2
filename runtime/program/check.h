// What a saved program says is not believed: before anything of it is used, every number is compared with what it is
// about. A plan that passes reads and writes nothing but its buffers.
#pragma once

#include "runtime/program/program_data.h"

namespace tandem::program {

/// ValueError saying what does not fit. `weightBytes`: of the weights' member.
void checkProgram(const ProgramData& data, std::uint64_t weightBytes);

}  // namespace tandem::program
