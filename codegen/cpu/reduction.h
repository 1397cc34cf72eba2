// A reduction over vectors: its identity in lanes, and the tree in which lanes combine. What is here and in combiner.h,
// the loops of row_kernel.cpp and column_kernel.cpp, and runtime/device/cpu/reduction_levels.cpp together are the fixed
// order of every sum.
#pragma once

#include <string>
#include <vector>

#include "codegen/combiner.h"
#include "codegen/cpu/vector_builder.h"

namespace tandem::codegen {

class Reduction : public Combiner {
 public:
  using Combiner::Combiner;

  Val identity(VectorBuilder& b, std::int64_t length) const;
  /// What reducing no element gives.
  Val ofNothing(VectorBuilder& b) const;
  /// combine(), quick where a product is subnormal.
  Val accumulate(VectorBuilder& b, Val accumulator, Val next) const;
  /// One value of many vectors that together are the lanes, by halving: lane j with lane j + h, h = lanes/2 ... 1.
  Val halve(VectorBuilder& b, std::vector<Val> lanes) const;
  /// The import that combines the results of blocks (runtime/device/cpu/reduction_levels.h); `of` is levels or columns.
  [[nodiscard]] std::string importName(const char* of) const;
};

}  // namespace tandem::codegen
