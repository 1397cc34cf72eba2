// From a region to the launch of its kernel (runtime/kernel/launch_builder.h).
#pragma once

#include "ir/dialect/td.h"
#include "runtime/kernel/launch_builder.h"

namespace tandem::passes {

/// The launch of a region. Of inputs whose rows do not merge into one dim the arguments say that they are contiguous
/// over the space: executors read those through contiguous memory (Executor::launchStrided).
struct RegionLaunch : Launch {
  struct Strided {
    std::size_t input;
    Dims strides;  // over the space
  };
  std::vector<Strided> strided;
};

/// The kernel of a region. Its inputs are the region's tensor inputs in order, its scalars the others.
RegionLaunch regionLaunch(td::RegionOp region);
/// The dims of a region's space that those of an operand other than 1 run along: inputs, then results.
Dims regionMap(td::RegionOp region, std::size_t operand);
/// The frame that a region's input is the value of; null for other inputs.
td::FrameOp frameOf(td::RegionOp region, std::size_t input);
/// The strides over a region's space of an input that is a tensor, or of the frame that it is the value of.
Dims inputStrides(td::RegionOp region, std::size_t input);
/// Is there a kernel that walks the operands of a region as they lie?
bool walksOperands(td::RegionOp region);
/// Completes the launch of a region of this kind over a space, of which it reduces the dims [begin, end), for operands
/// of these strides; the signature has its body. False where no kernel walks them.
bool layOutRegion(RegionLaunch& launch, llvm::StringRef kind, std::size_t begin, std::size_t end, const Dims& space,
                  std::vector<Dims> strides);
/// Copies elements of one dtype between two strided places of a shape. `signature.outerRank` may be larger than kernels
/// can have; then only a library copy will do.
Launch copyLaunch(DType dtype, const Dims& shape, const Dims& from, const Dims& to);

}  // namespace tandem::passes
