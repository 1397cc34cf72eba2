#include <nvrtc.h>

#include "agree.h"
#include "codegen/cuda/nvrtc_functions.h"

namespace tandem::codegen::cuda {

TANDEM_NVRTC(TANDEM_SAME_FUNCTION)

}  // namespace tandem::codegen::cuda
