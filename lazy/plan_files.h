// Plans in the folder of the kernel cache, so that the first run of a large trace in a process needs no passes. A file
// is what a saved program says of a plan (runtime/program), under the hash of all that the plan follows from: the
// trace, the lines of the program that its errors name, the compiler and its switches.
#pragma once

#include <memory>

#include "ir/trace/trace.h"
#include "runtime/plan/plan.h"

namespace tandem::lazy {

/// Resolved; null where there is none, or none that can be read.
std::shared_ptr<Plan> readPlan(const Trace& trace, const Hash128& key);
/// Best effort. Of a process the first few hundred alone are kept: programs of ever new shapes have no end of them.
void writePlan(const Trace& trace, const Hash128& key, const Plan& plan);

}  // namespace tandem::lazy
