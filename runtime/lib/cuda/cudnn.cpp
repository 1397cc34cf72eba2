#include "runtime/lib/cuda/cudnn.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"
#include "runtime/lib/cuda/foreign.h"

namespace tandem::cuda::cudnn {
namespace {

constexpr std::size_t kMajor = 9;

constexpr std::uint32_t bit(NumericalNote note) { return std::uint32_t{1} << note; }
// What no operation says: sums without an order, sums in half types, operands rounded to half types, products of other
// numbers. Engines for TF32 have the note of tensor cores alone.
constexpr std::uint32_t kNever = bit(kNondeterministic) | bit(kReducedPrecisionReduction) | bit(kDownConvertInputs) |
                                 bit(kFft) | bit(kWinograd) | bit(kWinogradTile4x4) | bit(kWinogradTile6x6) |
                                 bit(kWinogradTile13x13);

/// Opens what cuDNN looks for by name among the libraries of the process, so that which engines serve does not depend
/// on what ran before. Without NVRTC some of them do not serve; without cuBLASLt it ends the process: false, and `why`.
bool openHelpers(const Library& cudnn, std::string& why) {
  const std::string major = std::to_string(cudnn.cudaVersion() / 1000);
  const std::string nvrtc = "libnvrtc.so." + major;
  const std::string cublaslt = "libcublasLt.so." + major;
  std::string unused;
  openSharedLibrary("TANDEM_NVRTC", std::array{nvrtc.c_str()}, unused);
  if (openSharedLibrary("TANDEM_CUBLASLT", std::array{cublaslt.c_str()}, why) != nullptr) return true;
  why = "it needs " + cublaslt + ": " + why;
  return false;
}

/// Null, and `why`, where it cannot be used.
const Library* open(std::string& why) {
  void* object = openSharedLibrary("TANDEM_CUDNN", std::array{"libcudnn.so.9", "libcudnn_graph.so.9"}, why);
  if (object == nullptr) return nullptr;
  auto made = std::make_unique<Library>();
#define X(returned, member, symbol, parameters) {#symbol, &made->member},
  const SharedFunction functions[] = {TANDEM_CUDNN(X)};
#undef X
  if (const std::string lacking = findFunctions(object, functions); !lacking.empty()) {
    why = "it " + lacking;
    return nullptr;
  }
  if (const std::size_t version = made->version(); version / 10000 != kMajor) {
    why = "it has version " + std::to_string(version) + ", and version 9 is needed";
    return nullptr;
  }
  return openHelpers(*made, why) ? made.release() : nullptr;
}

/// The first notes of a later library may be followed by more.
constexpr std::int64_t kMostNotes = 64;

bool isAllowed(const Descriptor& config, std::uint32_t without) {
  Descriptor engine(kEngine);
  DescriptorHandle to = engine.handle();
  config.get(kConfigEngine, kDescriptorType, 1, static_cast<void*>(&to));
  std::array<int, kMostNotes> notes{};
  const std::int64_t count =
      std::min(engine.get(kEngineNotes, kNumericalNoteType, kMostNotes, notes.data()), kMostNotes);
  return std::none_of(notes.begin(), notes.begin() + count,
                      [&](int note) { return note >= 0 && note < 32 && (without >> note & 1) != 0; });
}

/// Does the status say that the engine does not serve, and not that the machine lacks something?
bool isRefusal(int status) {
  const int category = status / 1000 * 1000;
  if (status == kNoHostMemory || status == kNoDeviceMemory) return false;
  return category == kBadParameter || category == kNotSupported || category == kInternalError;
}

/// A finalized plan and the bytes of its workspace; none where the engine does not serve.
std::optional<std::pair<Descriptor, std::size_t>> planOf(Context& context, const Descriptor& config,
                                                         std::size_t mostWorkspace) {
  Descriptor plan(kExecutionPlan);
  plan.set(kPlanHandle, kHandleType, context.handle);
  plan.set(kPlanConfig, config);
  if (const int status = plan.tryFinalize(); status != kSuccess) {
    if (!isRefusal(status)) check(status, "making an execution plan");
    return {};
  }
  std::int64_t bytes = 0;
  plan.get(kPlanWorkspaceSize, kInt64Type, 1, &bytes);
  if (bytes < 0 || static_cast<std::size_t>(bytes) > mostWorkspace) return {};
  return std::pair(std::move(plan), static_cast<std::size_t>(bytes));
}

/// Configurations of engines, best first, behind the answered heuristic; none where it knows none.
std::vector<Descriptor> configsOf(const Descriptor& graph, Heuristic mode) {
  std::vector<Descriptor> configs;
  Descriptor& heuristic = configs.emplace_back(kEngineHeuristic);
  heuristic.set(kHeuristicGraph, graph);
  heuristic.set(kHeuristicMode, kHeuristicType, mode);
  if (const int status = heuristic.tryFinalize(); status != kSuccess) {
    if (!isRefusal(status)) check(status, "asking for engines");
    return configs;
  }
  const std::int64_t count = configs[0].get(kHeuristicResults, kDescriptorType, 0, nullptr);
  if (count <= 0) return configs;
  std::vector<DescriptorHandle> handles;
  handles.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) handles.push_back(configs.emplace_back(kEngineConfig).handle());
  const std::int64_t given =
      configs[0].get(kHeuristicResults, kDescriptorType, count, static_cast<void*>(handles.data()));
  configs.erase(configs.begin() + 1 + std::min(given, count), configs.end());
  return configs;
}

}  // namespace

const Library* library() {
  static std::string why;
  static const Library* const found = open(why);
  const char* named = std::getenv("TANDEM_CUDNN");
  if (found == nullptr && named != nullptr && *named != '\0')
    fail<Error>("cuDNN cannot be used: $TANDEM_CUDNN is ", named, ": ", why);
  return found;
}

void check(int status, std::string_view what) {
  if (status == kSuccess) return;
  std::array<char, 512> text{};
  library()->lastError(text.data(), text.size() - 1);
  fail<Error>("cuDNN reports status ", status, " on ", what, text[0] == '\0' ? "" : ": ", text.data());
}

Context& contextOf(int ordinal) {
  static auto* const mutex = new std::mutex;
  static auto* const contexts = new std::map<int, Context>;
  const std::lock_guard lock(*mutex);
  Context& context = (*contexts)[ordinal];
  if (context.handle == nullptr) check(library()->create(&context.handle), "being set up");
  return context;
}

Descriptor::Descriptor(DescriptorKind kind) {
  check(library()->createDescriptor(kind, &handle_), "making a descriptor");
}
Descriptor::~Descriptor() {
  if (handle_ != nullptr) library()->destroyDescriptor(handle_);
}
Descriptor::Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

void Descriptor::set(AttributeName name, AttributeType type, std::int64_t count, const void* values) {
  if (const int status = library()->setAttribute(handle_, name, type, count, values); status != kSuccess)
    check(status, "setting attribute " + std::to_string(name));
}
std::int64_t Descriptor::get(AttributeName name, AttributeType type, std::int64_t most, void* values) const {
  std::int64_t count = 0;
  if (const int status = library()->getAttribute(handle_, name, type, most, &count, values); status != kSuccess)
    check(status, "reading attribute " + std::to_string(name));
  return count;
}
int Descriptor::tryFinalize() { return library()->finalize(handle_); }

bool hasType(DType t) { return t == DType::Float32 || t == DType::Float16 || t == DType::BFloat16; }
DataType typeOf(DType t) { return t == DType::Float16 ? kFloat16 : t == DType::BFloat16 ? kBFloat16 : kFloat32; }

Descriptor describeTensor(std::int64_t id, DType dtype, DimsRef shape) {
  Descriptor tensor(kTensor);
  tensor.set(kTensorId, kInt64Type, id);
  tensor.set(kTensorDataType, kDataTypeType, typeOf(dtype));
  tensor.set(kTensorAlignment, kInt64Type, kForeignAlignment);
  tensor.set(kTensorDimensions, shape);
  tensor.set(kTensorStrides, contiguousStrides(shape));
  tensor.finalize("describing a tensor");
  return tensor;
}

void ExecutionPlan::run(Context& context, StreamHandle stream, std::span<const Bound> tensors, void* workspace) const {
  SmallVector<std::int64_t, 8> ids;
  SmallVector<const void*, 8> pointers;
  for (const Bound& t : tensors) ids.push_back(t.id), pointers.push_back(t.data);
  Descriptor pack(kVariantPack);
  pack.set(kPackIds, kInt64Type, std::ssize(ids), ids.data());
  pack.set(kPackPointers, kPointerType, std::ssize(pointers), static_cast<const void*>(pointers.data()));
  pack.set(kPackWorkspace, kPointerType, workspace);
  pack.finalize("naming the operands");
  const std::lock_guard lock(context.mutex);
  check(library()->setStream(context.handle, stream), "choosing a stream");
  check(library()->execute(context.handle, parts_.back().handle(), pack.handle()), "queueing an execution plan");
}

std::unique_ptr<const ExecutionPlan> choosePlan(Context& context, Operations operations, DType dtype, bool allowsTf32,
                                                std::size_t mostWorkspace) {
  Descriptor graph(kOperationGraph);
  graph.set(kGraphHandle, kHandleType, context.handle);
  graph.set(kGraphOperations, kDescriptorType, std::ssize(operations.operations),
            static_cast<const void*>(operations.operations.data()));
  if (const int status = graph.tryFinalize(); status != kSuccess) {
    if (status / 1000 * 1000 != kNotSupported) check(status, "describing an operation");
    return nullptr;
  }
  const bool exact = dtype == DType::Float32 && !allowsTf32;
  const std::uint32_t without = kNever | (exact ? bit(kTensorCore) : 0);
  for (const Heuristic mode : {kDecisionTrees, kFallback}) {
    std::vector<Descriptor> configs = configsOf(graph, mode);
    for (std::size_t i = 1; i < configs.size(); ++i) {
      if (!isAllowed(configs[i], without)) continue;
      auto plan = planOf(context, configs[i], mostWorkspace);
      if (!plan) continue;
      std::vector<Descriptor> parts = std::move(operations.parts);
      parts.push_back(std::move(graph));
      parts.push_back(std::move(configs[0]));
      parts.push_back(std::move(configs[i]));
      parts.push_back(std::move(plan->first));
      return std::make_unique<const ExecutionPlan>(std::move(parts), plan->second);
    }
  }
  return nullptr;
}

}  // namespace tandem::cuda::cudnn
