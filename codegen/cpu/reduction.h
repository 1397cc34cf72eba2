// The arithmetic of a reduction: its identity, how two accumulators combine, and the tree in which lanes do. What is
// here, the loops of row_kernel.cpp and column_kernel.cpp, and runtime/device/cpu/reduction_levels.cpp together are the
// fixed order of every sum.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/bodies.h"
#include "codegen/cpu/vector_builder.h"

namespace tandem::codegen {

class Reduction {
 public:
  /// `accumulator` is the reduce step's dtype. Bool is accumulated as bytes of 0 and 1, which vector registers hold
  /// better than single bits.
  Reduction(Combine combine, DType accumulator);

  /// Of the accumulators in registers and in scratch memory.
  [[nodiscard]] DType type() const { return type_; }
  Val identity(VectorBuilder& b, std::int64_t length) const;
  /// What reducing no element gives: the identity, but +0.0 for a sum.
  Val ofNothing(VectorBuilder& b) const;
  Val combine(VectorBuilder& b, Val accumulator, Val next) const;
  /// A value of the body as one to accumulate, and a result as a value of the body.
  Val enter(VectorBuilder& b, Val value) const { return b.cast(b.cast(value, logical_), type_); }
  Val leave(VectorBuilder& b, Val accumulated) const { return b.cast(accumulated, logical_); }
  /// One value of many vectors that together are the lanes, by halving: lane j with lane j + h, h = lanes/2 ... 1.
  Val halve(VectorBuilder& b, std::vector<Val> lanes) const;
  /// The import that combines the results of blocks (runtime/device/cpu/reduction_levels.h); `of` is levels or columns.
  [[nodiscard]] std::string importName(const char* of) const;

 private:
  Combine combine_;
  DType logical_;
  DType type_;
};

}  // namespace tandem::codegen
