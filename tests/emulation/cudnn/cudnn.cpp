// A stand-in for cuDNN 9: those functions of its graph API that runtime/lib/cuda calls, for convolutions, and for
// graphs of other operations, of which it has an engine for those that begin with products in half types. What engines
// compute are kernels of its own (tests/emulation/library_kernel.h).
//
// It is strict: an unknown attribute, a wrong type or count, a descriptor that is not finalized or was destroyed, an
// operation whose sizes do not fit, tensors without pointers or badly aligned, a missing workspace are errors.
// $TANDEM_CUDNN_LOG names a file to which it adds a line a plan that is queued.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/emulation/cudnn/descriptors.h"
#include "tests/emulation/cudnn/engines.h"
#include "tests/emulation/cudnn/graphs.h"

namespace {

using tandem::emulation::Descriptor;
using tandem::emulation::failed;
using tandem::emulation::Problem;
namespace dnn = tandem::emulation::dnn;
namespace emulation = tandem::emulation;

constexpr std::size_t kVersion = 92800;
constexpr int kNotInitialized = 1001;
constexpr int kMisaligned = 2003;

/// The streams of handles.
struct Handles {
  std::mutex mutex;
  std::map<dnn::Handle, tandem::cuda::StreamHandle> streams;
};
Handles& handles() {
  static auto* const h = new Handles;
  return *h;
}

/// Puts a list where it is asked for.
template <class T>
int give(const std::vector<T>& all, std::int64_t most, std::int64_t* count, void* values) {
  *count = std::ssize(all);
  const std::int64_t n = std::min(most, *count);
  if (n > 0) std::memcpy(values, all.data(), static_cast<std::size_t>(n) * sizeof(T));
  return dnn::kSuccess;
}

int checkTensor(const Descriptor& d) {
  const auto dims = d.all<std::int64_t>(dnn::kTensorDimensions), strides = d.all<std::int64_t>(dnn::kTensorStrides);
  const auto alignment = d.one<std::int64_t>(dnn::kTensorAlignment);
  if (dims.size() != strides.size() || std::ranges::any_of(dims, [](std::int64_t n) { return n < 1; }))
    return failed(dnn::kBadParameter, "a tensor's sizes");
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) return failed(dnn::kBadParameter, "a tensor's alignment");
  return dnn::kSuccess;
}

int checkConvolution(const Descriptor& d) {
  const auto dims = static_cast<std::size_t>(d.one<std::int64_t>(dnn::kConvolutionSpatialDims));
  for (const int name : {dnn::kConvolutionDilations, dnn::kConvolutionStrides, dnn::kConvolutionPrePaddings,
                         dnn::kConvolutionPostPaddings}) {
    const auto list = d.all<std::int64_t>(name);
    const bool isPadding = name == dnn::kConvolutionPrePaddings || name == dnn::kConvolutionPostPaddings;
    if (list.size() != dims || std::ranges::any_of(list, [&](std::int64_t v) { return v < (isPadding ? 0 : 1); }))
      return failed(dnn::kBadParameter, "the numbers of a convolution");
  }
  if (d.all<std::int64_t>(dnn::kConvolutionPrePaddings) != d.all<std::int64_t>(dnn::kConvolutionPostPaddings))
    return failed(dnn::kNotSupported, "paddings differ");
  if (d.one<int>(dnn::kConvolutionComputeType) != dnn::kFloat32 ||
      d.one<int>(dnn::kConvolutionModeName) != dnn::kCrossCorrelation)
    return failed(dnn::kNotSupported, "another compute type or mode");
  return dnn::kSuccess;
}

int checkGraph(Descriptor& d) {
  d.graph = &d;
  if (emulation::isGraph(d)) {
    emulation::GraphProblem problem;
    return emulation::readGraph(d, problem);
  }
  return d.values.at(dnn::kGraphOperations).count == 1 ? dnn::kSuccess
                                                       : failed(dnn::kNotSupported, "a convolution among others");
}

int ask(Descriptor& heuristic) {
  const int mode = heuristic.one<int>(dnn::kHeuristicMode);
  if (mode != dnn::kDecisionTrees && mode != dnn::kFallback) return failed(dnn::kNotSupported, "another heuristic");
  heuristic.graph = &heuristic.part(dnn::kHeuristicGraph);
  if (!emulation::isGraph(*heuristic.graph)) {
    heuristic.offers = emulation::offered(mode);
    return dnn::kSuccess;
  }
  emulation::GraphProblem problem;
  if (const int status = emulation::readGraph(*heuristic.graph, problem); status != dnn::kSuccess) return status;
  if (mode == dnn::kDecisionTrees && emulation::servesGraph(problem)) heuristic.offers = {&emulation::fused()};
  return dnn::kSuccess;
}

int problemOf(const Descriptor& d, Problem& problem) {
  if (emulation::alive(d.graph) == nullptr || emulation::alive(&d.graph->part(dnn::kGraphOperations)) == nullptr)
    return failed(dnn::kBadParameter, "what the descriptor stands on is destroyed");
  return emulation::readProblem(d.graph->part(dnn::kGraphOperations), problem);
}

int makePlan(Descriptor& plan) {
  const Descriptor& config = plan.part(dnn::kPlanConfig);
  plan.engine = config.engine;
  plan.graph = config.graph;
  if (emulation::alive(plan.graph) == nullptr) return failed(dnn::kBadParameter, "the graph is destroyed");
  Problem problem;
  if (!emulation::isGraph(*plan.graph))
    if (const int status = problemOf(plan, problem); status != dnn::kSuccess) return status;
  if (plan.one<dnn::Handle>(dnn::kPlanHandle) != plan.graph->one<dnn::Handle>(dnn::kGraphHandle))
    return failed(dnn::kBadParameter, "the graph is of another handle");
  return plan.engine->serves(problem) ? dnn::kSuccess : failed(dnn::kNotSupported, "the engine does not serve");
}

int checkPack(const Descriptor& d) {
  const bool same = d.values.at(dnn::kPackIds).count == d.values.at(dnn::kPackPointers).count;
  return same ? dnn::kSuccess : failed(dnn::kBadParameter, "as many numbers as pointers are needed");
}

int check(Descriptor& d) {
  if (const int status = emulation::checkRequired(d); status != dnn::kSuccess) return status;
  Problem problem;
  switch (d.kind) {
  case dnn::kTensor:
    return checkTensor(d);
  case dnn::kConvolution:
    return checkConvolution(d);
  case dnn::kOperationGraph:
    return checkGraph(d);
  case dnn::kEngineHeuristic:
    return ask(d);
  case dnn::kExecutionPlan:
    return makePlan(d);
  case dnn::kVariantPack:
    return checkPack(d);
  case dnn::kConvolutionForward:
  case dnn::kConvolutionBackwardData:
  case dnn::kConvolutionBackwardFilter:
    return emulation::readProblem(d, problem);
  default:
    return dnn::kSuccess;  // a graph that has it looks at it
  }
}

int giveResults(const Descriptor& heuristic, std::int64_t most, std::int64_t* count, void* values) {
  *count = std::ssize(heuristic.offers);
  for (std::int64_t i = 0; i < std::min(most, *count); ++i) {
    Descriptor* config = emulation::alive(static_cast<dnn::DescriptorHandle*>(values)[i]);
    if (config == nullptr || config->kind != dnn::kEngineConfig || config->finalized)
      return failed(dnn::kBadParameter, "results need configurations that are made and not used");
    config->engine = heuristic.offers[static_cast<std::size_t>(i)];
    config->graph = heuristic.graph;
    config->finalized = true;
  }
  return dnn::kSuccess;
}

int giveEngine(const Descriptor& config, std::int64_t most, std::int64_t* count, void* values) {
  *count = 1;
  Descriptor* engine = most < 1 ? nullptr : emulation::alive(*static_cast<dnn::DescriptorHandle*>(values));
  if (engine == nullptr || engine->kind != dnn::kEngine) return failed(dnn::kBadParameter, "it needs an engine");
  engine->engine = config.engine;
  engine->graph = config.graph;
  engine->finalized = true;
  return dnn::kSuccess;
}

int giveNotes(const Descriptor& engine, std::int64_t most, std::int64_t* count, void* values) {
  Problem problem;
  if (engine.graph == nullptr || !emulation::isGraph(*engine.graph))
    if (const int status = problemOf(engine, problem); status != dnn::kSuccess) return status;
  return give(engine.engine->notes(), most, count, values);
}

/// Where the tensors of a problem are: x, w, y.
int readPack(const Descriptor& pack, const Problem& problem, std::array<void*, 3>& pointers) {
  const auto ids = pack.all<std::int64_t>(dnn::kPackIds);
  const auto given = pack.all<void*>(dnn::kPackPointers);
  if (ids.size() != pointers.size()) return failed(dnn::kBadParameter, "other tensors are named");
  for (std::size_t k = 0; k < pointers.size(); ++k) {
    const auto at = std::ranges::find(ids, problem.ids[k]);
    if (at == ids.end()) return failed(dnn::kBadParameter, "a tensor is not named");
    pointers[k] = given[static_cast<std::size_t>(at - ids.begin())];
    if (pointers[k] == nullptr || reinterpret_cast<std::uintptr_t>(pointers[k]) % problem.alignment != 0)
      return failed(kMisaligned, "a pointer is not aligned as its tensor says");
  }
  return dnn::kSuccess;
}

/// A graph's tensors in memory, and numbers, by what the pack calls them.
int readPack(const Descriptor& pack, const emulation::GraphProblem& problem, std::map<std::int64_t, void*>& pointers) {
  const auto ids = pack.all<std::int64_t>(dnn::kPackIds);
  const auto given = pack.all<void*>(dnn::kPackPointers);
  for (const auto& [id, tensor] : problem.tensors) {
    if (tensor.place == emulation::Place::Between) continue;
    const auto at = std::ranges::find(ids, id);
    if (at == ids.end()) return failed(dnn::kBadParameter, "a tensor is not named");
    void* pointer = given[static_cast<std::size_t>(at - ids.begin())];
    if (pointer == nullptr) return failed(dnn::kBadParameter, "a tensor is nowhere");
    const bool isAligned =
        reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(tensor.alignment) == 0;
    if (tensor.place == emulation::Place::Memory && !isAligned)
      return failed(kMisaligned, "a pointer is not aligned as its tensor says");
    pointers[id] = pointer;
  }
  return std::ssize(ids) == std::ssize(pointers) ? dnn::kSuccess
                                                 : failed(dnn::kBadParameter, "other tensors are named");
}

std::int64_t workspaceOf(const Descriptor& plan) {
  emulation::GraphProblem problem;
  if (!emulation::isGraph(*plan.graph) || emulation::readGraph(*plan.graph, problem) != dnn::kSuccess)
    return emulation::kWorkspaceBytes;
  return problem.workspaceBytes();
}

tandem::cuda::StreamHandle streamOf(dnn::Handle handle) {
  const std::lock_guard lock(handles().mutex);
  return handles().streams.at(handle);
}

int executeGraph(const Descriptor& plan, const Descriptor& pack, dnn::Handle handle) {
  emulation::GraphProblem problem;
  if (const int status = emulation::readGraph(*plan.graph, problem); status != dnn::kSuccess) return status;
  std::map<std::int64_t, void*> pointers;
  if (const int status = readPack(pack, problem, pointers); status != dnn::kSuccess) return status;
  void* workspace = pack.one<void*>(dnn::kPackWorkspace);
  if (workspace == nullptr) return failed(dnn::kBadParameter, "there is no workspace");
  return emulation::executeGraph(problem, handle, streamOf(handle), pointers, workspace);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

std::size_t cudnnGetVersion() { return kVersion; }
std::size_t cudnnGetCudartVersion() { return 13000; }
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  std::strncpy(text, emulation::lastError().c_str(), bytes - 1);
  text[bytes - 1] = '\0';
}

int cudnnCreate(dnn::Handle* handle) {
  const std::lock_guard lock(handles().mutex);
  *handle = reinterpret_cast<dnn::Handle>(handles().streams.size() + 1);
  handles().streams[*handle] = nullptr;
  return dnn::kSuccess;
}
int cudnnSetStream(dnn::Handle handle, tandem::cuda::StreamHandle stream) {
  const std::lock_guard lock(handles().mutex);
  const auto at = handles().streams.find(handle);
  if (at == handles().streams.end()) return failed(dnn::kBadParameter, "no handle");
  at->second = stream;
  return dnn::kSuccess;
}

int cudnnBackendCreateDescriptor(int kind, dnn::DescriptorHandle* descriptor) {
  *descriptor = emulation::make(kind);
  return dnn::kSuccess;
}
int cudnnBackendDestroyDescriptor(dnn::DescriptorHandle descriptor) {
  return emulation::destroy(descriptor) ? dnn::kSuccess : failed(dnn::kBadParameter, "no descriptor");
}
int cudnnBackendSetAttribute(dnn::DescriptorHandle descriptor, int name, int type, std::int64_t count,
                             const void* values) {
  Descriptor* d = emulation::alive(descriptor);
  return d == nullptr ? failed(dnn::kBadParameter, "no descriptor")
                      : emulation::setAttribute(*d, name, type, count, values);
}
int cudnnBackendFinalize(dnn::DescriptorHandle descriptor) {
  Descriptor* d = emulation::alive(descriptor);
  if (d == nullptr || d->finalized) return failed(dnn::kBadParameter, "no descriptor that can be finalized");
  const int status = check(*d);
  d->finalized = status == dnn::kSuccess;
  return status;
}
int cudnnBackendGetAttribute(dnn::DescriptorHandle descriptor, int name, int type, std::int64_t most,
                             std::int64_t* count, void* values) {
  const Descriptor* d = emulation::alive(descriptor);
  if (d == nullptr || count == nullptr || (most > 0 && values == nullptr))
    return failed(dnn::kBadParameter, "no descriptor, or nowhere to write to");
  if (!d->finalized) return failed(kNotInitialized, "the descriptor is not finalized");
  const auto is = [&](int kind, int attribute, int of) { return d->kind == kind && name == attribute && type == of; };
  if (is(dnn::kEngineHeuristic, dnn::kHeuristicResults, dnn::kDescriptorType))
    return giveResults(*d, most, count, values);
  if (is(dnn::kEngineConfig, dnn::kConfigEngine, dnn::kDescriptorType)) return giveEngine(*d, most, count, values);
  if (is(dnn::kEngine, dnn::kEngineNotes, dnn::kNumericalNoteType)) return giveNotes(*d, most, count, values);
  if (is(dnn::kExecutionPlan, dnn::kPlanWorkspaceSize, dnn::kInt64Type))
    return give(std::vector<std::int64_t>{workspaceOf(*d)}, most, count, values);
  return failed(dnn::kBadParameter, "the descriptor has no such attribute to read");
}

int cudnnBackendExecute(dnn::Handle handle, dnn::DescriptorHandle planHandle, dnn::DescriptorHandle packHandle) {
  const Descriptor* plan = emulation::alive(planHandle);
  const Descriptor* pack = emulation::alive(packHandle);
  if (plan == nullptr || plan->kind != dnn::kExecutionPlan || pack == nullptr || pack->kind != dnn::kVariantPack)
    return failed(dnn::kBadParameter, "no plan, or no pack");
  if (!plan->finalized || !pack->finalized) return failed(dnn::kNotFinalized, "a descriptor is not finalized");
  if (plan->one<dnn::Handle>(dnn::kPlanHandle) != handle) return failed(dnn::kBadParameter, "a plan of another handle");
  if (emulation::alive(plan->graph) == nullptr) return failed(dnn::kBadParameter, "the graph is destroyed");
  if (emulation::isGraph(*plan->graph)) return executeGraph(*plan, *pack, handle);
  Problem problem;
  if (const int status = problemOf(*plan, problem); status != dnn::kSuccess) return status;
  std::array<void*, 3> pointers{};
  if (const int status = readPack(*pack, problem, pointers); status != dnn::kSuccess) return status;
  void* workspace = pack->one<void*>(dnn::kPackWorkspace);
  if (workspace == nullptr) return failed(dnn::kBadParameter, "there is no workspace");
  return emulation::execute(*plan->engine, problem, handle, streamOf(handle), pointers, workspace);
}

}  // extern "C"
#pragma GCC visibility pop
