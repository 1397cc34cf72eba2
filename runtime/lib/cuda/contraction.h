// Launches of contraction.cu, which products of matrices and convolutions have in common.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/device/cuda/queue.h"

namespace tandem::cuda {

enum class ContractionKind : int { Matrices, Convolution, InputGrad, WeightGrad };

/// The sizes of `batch` products, with which the structs of contraction.cu begin.
struct ContractionSizes {
  std::int64_t rows, columns, depth, batch;
  std::int64_t pieces = 1;  // that the depth is cut into,
  std::int64_t length = 0;  // of which each but the last has so much

  /// Cuts the depth of a small result, so that there is work for a whole device. The cut is a function of the sizes
  /// alone, since sums depend on it; `alike`: of so many products, as a convolution's groups are.
  void cut(std::int64_t alike);
};

/// What elements of the dtype are added up in, as common.cu calls it: half types in float, integers without sign.
std::string sumName(DType t);
std::size_t sumSize(DType t);

/// The kernel that adds the sums of pieces and stores them.
const Function& combineKernel(ContractionKind kind, DType dtype, DType result);

/// The kernels of a kind and dtype, and where the sums of pieces go.
class ContractionLaunch {
 public:
  /// Of operands of `dtype`, into `result`: the same, or float32 of half types.
  ContractionLaunch(ContractionKind kind, DType dtype, DType result, const ContractionSizes& sizes);
  /// `plan`: the struct Contraction of the kind.
  template <class Plan>
  void run(const void* a, const void* b, void* c, const Plan& plan) const {
    const bool cut = plan.sizes.pieces > 1;
    launch(*contract_, grid_, a, b, c, cut ? partial_.as() : nullptr, plan);
    if (cut) launch(*combine_, combineGrid_, partial_.as(), c, plan);
  }

 private:
  const Function* contract_;
  const Function* combine_ = nullptr;
  Grid grid_, combineGrid_;
  Workspace partial_;
};

}  // namespace tandem::cuda
