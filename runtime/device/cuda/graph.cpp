#include "runtime/device/cuda/graph.h"

#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"

namespace tandem::cuda {

CudaGraph::~CudaGraph() {
  try {
    // Its memory is for others from now on.
    launched_.wait();
    gpu_.use();
    driver().graphExecDestroy(graph_);
    driver().graphDestroy(captured_);
  } catch (const Error&) {
    // An error of its work is raised by whoever waits for the stream.
  }
  gpu_.memory.giveBack(std::move(arena_));
}

void CudaGraph::launch(Stream& stream) {
  auto& in = static_cast<CudaStream&>(stream);
  in.checkWork(tryLaunch(in), "launching a graph");
}

int CudaGraph::tryLaunch(CudaStream& stream) {
  gpu_.use();
  stream.note("of a graph");
  if (const int refused = driver().graphLaunch(graph_, stream.raw()); refused != kSuccess) return refused;
  bump(host().counters->graphLaunches);
  launched_.record(stream);
  for (const auto& e : kept_.expectations) stream.expect(e);
  return kSuccess;
}

void beginCapture(CudaStream& stream, std::optional<std::uint64_t> pool) {
  Gpu& gpu = stream.gpu();
  gpu.use();
  if (stream.raw() == nullptr) fail<Error>("the default stream cannot be captured: choose another one");
  // In this mode of capturing memory may be allocated meanwhile.
  check(driver().streamBeginCapture(stream.raw(), kCaptureRelaxed), strcat("capturing a stream of ", gpu.name()));
  gpu.memory.beginArena(stream.raw(), pool);
  gpu.captures.begin(stream.raw());
}

std::unique_ptr<GpuGraph> endCapture(CudaStream& stream) {
  Gpu& gpu = stream.gpu();
  gpu.use();
  GraphHandle graph = nullptr;
  const int ended = driver().streamEndCapture(stream.raw(), &graph);
  Kept kept = gpu.captures.end(stream.raw());
  std::shared_ptr<DeviceMemory::Arena> arena = gpu.memory.endArena(stream.raw());
  GraphExecHandle made = nullptr;
  try {
    check(ended, "capturing: something was done that cannot be captured, as waiting for the stream");
    check(driver().graphInstantiate(&made, graph, 0), "making a graph of what was captured");
  } catch (const Error&) {
    if (graph != nullptr) driver().graphDestroy(graph);
    gpu.memory.giveBack(std::move(arena));
    throw;
  }
  return std::make_unique<CudaGraph>(gpu, graph, made, std::move(arena), std::move(kept));
}

}  // namespace tandem::cuda
