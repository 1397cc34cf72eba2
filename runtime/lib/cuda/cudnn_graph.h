// Operations that cuDNN computes at once, described one by one: products, pointwise operations, reductions. A tensor is
// in memory, a number of the host's, or between two operations and nowhere in memory.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/lib/cuda/cudnn.h"

namespace tandem::cuda::cudnn {

class GraphBuilder {
 public:
  using Tensor = DescriptorHandle;

  /// In memory that is aligned to kForeignAlignment, by its number, which the pack of a run names.
  Tensor inMemory(std::int64_t id, DataType type, DimsRef shape, DimsRef strides);
  Tensor inMemory(std::int64_t id, DataType type, DimsRef shape) {
    return inMemory(id, type, shape, contiguousStrides(shape));
  }
  /// A float32 that broadcasts to four dims; the pack names where the host has it.
  Tensor number(std::int64_t id);
  Tensor between(DataType type, DimsRef shape, DimsRef strides);
  Tensor between(DataType type, DimsRef shape) { return between(type, shape, contiguousStrides(shape)); }

  /// Each writes its last tensor, and computes in float32. a [.., m, k] times b [.., k, n]; the batch dims of one may
  /// be fewer by a factor: neighbours of the other share them.
  void multiply(Tensor a, Tensor b, Tensor c);
  void apply(PointwiseMode mode, Tensor x, Tensor y) { pointwise(mode, x, nullptr, nullptr, -1, y); }
  void apply(PointwiseMode mode, Tensor x, Tensor b, Tensor y) { pointwise(mode, x, b, nullptr, -1, y); }
  void select(Tensor which, Tensor x, Tensor b, Tensor y) { pointwise(kSelect, x, b, which, -1, y); }
  /// The place of each element along a dim; `x` has the shape.
  void indexAlong(std::int64_t dim, Tensor x, Tensor y) { pointwise(kIndexAlong, x, nullptr, nullptr, dim, y); }
  /// Over the dims that are 1 in y.
  void reduce(Reduction reduction, Tensor x, Tensor y);
  /// The same elements seen with another shape and strides.
  void reshape(Tensor x, Tensor y);

  Operations finish() && { return std::move(made_); }

 private:
  enum class Place { Memory, Host, Between };
  Tensor tensor(std::int64_t id, DataType type, DimsRef shape, DimsRef strides, Place place);
  void pointwise(PointwiseMode mode, Tensor x, Tensor b, Tensor which, std::int64_t dim, Tensor y);
  DescriptorHandle keep(Descriptor descriptor);
  void add(Descriptor operation);

  static constexpr std::int64_t kFirstBetween = 1 << 10;  // numbers above those that packs name
  std::int64_t between_ = kFirstBetween;
  Operations made_;
};

}  // namespace tandem::cuda::cudnn
