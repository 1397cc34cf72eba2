// Graphs of several operations in the stand-in for cuDNN: products, pointwise operations, reductions, reshapes. One
// operation after another is computed, with what lies between two of them in the workspace.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "tests/emulation/cudnn/descriptors.h"

namespace tandem::emulation {

enum class Place : std::int32_t { Memory, Host, Between };

struct GraphTensor {
  std::int64_t id = 0;
  int type = 0;
  Place place = Place::Memory;
  std::int64_t alignment = 0;
  std::array<std::int64_t, 4> dims{}, strides{};
};

/// What an operation does: kMultiply and its like of pointwise operations are below these.
enum Step : int { kProductStep = 10000, kSumStep, kMaximumStep, kReshapeStep };

struct GraphOperation {
  int step = 0;
  std::int64_t axis = 0;
  std::array<std::int64_t, 4> tensors{};  // ids of x (a), b, t and y (c); 0: none
};

struct GraphProblem {
  std::map<std::int64_t, GraphTensor> tensors;
  std::vector<GraphOperation> operations;
  [[nodiscard]] std::int64_t workspaceBytes() const;
};

/// Is it no convolution?
bool isGraph(const Descriptor& graph);
/// A status where operations do not belong together.
int readGraph(const Descriptor& graph, GraphProblem& problem);
/// Have engines such sizes and types? As the library's, which are for attention in half types.
bool servesGraph(const GraphProblem& problem);
/// Queues the work; `pointers` are those of tensors in memory, and of numbers of the host.
int executeGraph(const GraphProblem& problem, dnn::Handle handle, cuda::StreamHandle stream,
                 const std::map<std::int64_t, void*>& pointers, void* workspace);

}  // namespace tandem::emulation
