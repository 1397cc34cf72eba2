// What a saved program says is not believed: before anything of it is used, every number is compared with what it is
// about. A plan that passes reads and writes nothing but its buffers.
#pragma once

#include "runtime/program/program_data.h"

namespace tandem::program {

/// ValueError saying what does not fit. `weightBytes`: of the weights' member. Of entries with sizes only what they say
/// for the example's, and that they say it for all: what comes of others is an entry to be checked when it is made.
void checkProgram(const ProgramData& data, std::uint64_t weightBytes);
/// An entry that was made for other sizes, of a program that was checked.
void checkEntry(const ProgramData& data, const EntryData& entry);

/// Which of a plan's buffers its instructions write to.
std::vector<bool> writtenBuffers(const Plan& plan);

}  // namespace tandem::program
