// What a call of an entry gives, compared with what the entry takes before anything runs. All errors name the entry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/program/program_data.h"

namespace tandem::program {

using Bytes = std::span<const char>;

/// TypeError for other counts of arguments, numbers and results, and for a number that must stay what it was.
void checkCall(const EntryData& e, std::size_t arguments, std::span<const Scalar> numbers, std::size_t results);
/// TypeError for no memory, of an argument or a result that has bytes.
void checkGiven(const EntryData& e, const std::string& name, const void* memory, std::uint64_t bytes);
/// TypeError where an argument, which reaches over these bytes, lies in memory that the entry writes to by another
/// name: eager calls would see that, and plans take memories to be apart. `places`: where the program's memories are.
void checkApart(const EntryData& e, std::span<const MemoryData> memories, std::span<char* const> places,
                std::span<const Bytes> arguments);
/// Error naming the number where one is beyond what the operations that use it hold; eager calls refuse the same.
/// `values`: room for the plan's slots.
void checkBounds(const EntryData& e, const PlanRun& run, std::vector<Scalar>& values);

}  // namespace tandem::program
