// The engines of the stand-in for cuDNN. Like the real ones they differ in what their results are like, and do not
// serve every operation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulation/cudnn/descriptors.h"

namespace tandem::emulation {

/// A convolution or one of its gradients, with what its descriptors say.
struct Problem {
  int kind = 0;  // of the operation's descriptor
  int dtype = 0;
  std::array<std::int64_t, 4> x{}, w{}, y{};
  std::array<std::int64_t, 2> stride{}, padding{}, dilation{};
  std::array<std::int64_t, 3> ids{};  // of x, w and y
  std::int64_t alignment = 0;
};

struct Engine {
  const char* name;
  std::vector<int> (*notes)();
  bool (*serves)(const Problem& problem);
  bool scatters;  // adds in another order each time
  bool rounds;    // float32 to TF32
};

/// The problem of an operation, whose attributes are all there; a status where they do not belong together.
int readProblem(const Descriptor& operation, Problem& problem);
/// That of graphs (graphs.h).
const Engine& fused();
/// The engines that a heuristic offers, best first.
std::vector<const Engine*> offered(int heuristic);

inline constexpr std::int64_t kWorkspaceBytes = 512;
/// Queues the work; `pointers` are those of x, w and y.
int execute(const Engine& engine, const Problem& problem, dnn::Handle handle, cuda::StreamHandle stream,
            std::array<void*, 3> pointers, void* workspace);

}  // namespace tandem::emulation
