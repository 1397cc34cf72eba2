// Captured work: a CUDA graph with what it stands on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/device/cuda/memory.h"
#include "runtime/device/cuda/stream.h"
#include "runtime/device/gpu_control.h"

namespace tandem::cuda {

class CudaGraph final : public GpuGraph {
 public:
  CudaGraph(Gpu& gpu, GraphHandle captured, GraphExecHandle graph, std::shared_ptr<DeviceMemory::Arena> arena,
            Kept kept)
      : gpu_(gpu), captured_(captured), graph_(graph), arena_(std::move(arena)), kept_(std::move(kept)) {}
  ~CudaGraph() override;
  void launch(Stream& stream) override;
  /// The same. What the driver says where it refuses: then nothing was done.
  int tryLaunch(CudaStream& stream);
  [[nodiscard]] GraphExecHandle handle() const { return graph_; }

 private:
  Gpu& gpu_;
  GraphHandle captured_;  // whose places name those of the graph
  GraphExecHandle graph_;
  std::shared_ptr<DeviceMemory::Arena> arena_;
  Kept kept_;
  CudaEvent launched_{gpu_, false};  // after the last launch
};

/// `pool`: as GpuControl has it; without one the graph has memory of its own.
void beginCapture(CudaStream& stream, std::optional<std::uint64_t> pool = {});
std::unique_ptr<GpuGraph> endCapture(CudaStream& stream);

}  // namespace tandem::cuda
