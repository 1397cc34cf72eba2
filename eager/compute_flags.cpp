#include "eager/compute_flags.h"

namespace tandem {

constinit std::atomic<ComputeFlags> currentComputeFlags;

}  // namespace tandem
