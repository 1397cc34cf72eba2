// Hidden dims: how a function of one example runs on all of them at once (`vmap`).
//
// A tensor inside `vmap` shows the shape of one example; its examples lie along *hidden* dims of the same window, one
// for each vmap it takes part in, each named by its BatchAxis. To everything that reads shapes such a tensor is the
// first example: views keep hidden dims as they are, derivative rules and composites do not know of them. Only the
// dispatcher does: it runs an operation with hidden dims as one on plain tensors, all axes leading (eager/batch.h).
//
// An axis lives as long as a tensor or a node of the tape names it, but is *active* only while its vmap runs. An axis
// that a cotangent has and the operand lacks is summed over when it is no longer active: the operand was the same for
// all examples (autograd/engine.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/intrusive.h"

namespace tandem {

/// What random operations do inside `vmap`.
enum class Randomness : std::uint8_t {
  Error,
  Different,  // each example draws its own numbers
  Same,       // all examples share them
};

struct BatchAxis : Counted<BatchAxis> {
  BatchAxis(std::int64_t number, std::int64_t examples, Randomness random)
      : id(number), size(examples), randomness(random) {}
  static void destroy(BatchAxis* axis);
  /// The registry finds it by its number.
  [[nodiscard]] bool isKnownToOthers() const { return true; }

  const std::int64_t id;  // increasing: a smaller one is the axis of an outer vmap
  const std::int64_t size;
  const Randomness randomness;
  bool active = true;
};

struct BatchDim {
  Ref<BatchAxis> axis;
  std::int64_t stride;  // in elements
};

/// The hidden dims of a tensor, outermost axis first. Never changed once made, so that tensors and nodes share them.
struct BatchDims : Counted<BatchDims> {
  explicit BatchDims(std::vector<BatchDim> d) : dims(std::move(d)) {}
  static void destroy(const BatchDims* d) { delete d; }
  /// Its place among `dims`; -1: it is not there.
  [[nodiscard]] int find(const BatchAxis* axis) const {
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i].axis.get() == axis) return static_cast<int>(i);
    return -1;
  }

  const std::vector<BatchDim> dims;
};

}  // namespace tandem
