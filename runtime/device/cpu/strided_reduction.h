// Reductions of strided memory on the CPU: along a dense kept dim as a Column kernel, in whichever order its class
// adds; else, where the reduced dims do not merge, sums of what lies side by side (dense_sums.h, dense_rows.h), or in
// pieces copied to the cache.
#pragma once

#include "runtime/kernel/strided_reduction.h"

namespace tandem::cpu {

/// As Executor::reduceStrided. Weak: plans do not ask for it, and the loader of saved programs goes without.
[[gnu::weak]] bool reduceStrided(const StridedReduction& reduction);

}  // namespace tandem::cpu
