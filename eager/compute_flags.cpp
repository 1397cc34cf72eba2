#include "eager/compute_flags.h"

#include <atomic>

namespace tandem {
namespace {
struct Flags {
  std::atomic<bool> matmulTf32 = ComputeFlags().matmulTf32;
  std::atomic<bool> convolutionTf32 = ComputeFlags().convolutionTf32;
  std::atomic<bool> cudnn = ComputeFlags().cudnn;
};
constinit Flags current;
}  // namespace

ComputeFlags computeFlags() { return {current.matmulTf32, current.convolutionTf32, current.cudnn}; }
void setComputeFlags(ComputeFlags flags) {
  current.matmulTf32 = flags.matmulTf32;
  current.convolutionTf32 = flags.convolutionTf32;
  current.cudnn = flags.cudnn;
}

}  // namespace tandem
