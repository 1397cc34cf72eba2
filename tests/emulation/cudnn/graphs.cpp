#include "tests/emulation/cudnn/graphs.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "runtime/lib/cuda/texts.h"
#include "tests/emulation/library_kernel.h"

namespace tandem::emulation {
namespace {

constexpr int kWrongShape = 2008;
constexpr std::int64_t kWidthUnit = 8;
constexpr std::int64_t kMostWidth = 128;
constexpr std::int64_t kStrideUnit = 8;

// What is between operations is kept as float, rounded to its type.
const char kText[] = R"cu(
struct Tensor {
  const void* data;
  int type, isFloat;  // isFloat: stored so, whatever the type
  float number;       // where there is no data
  int there;
  int64 dims[4], strides[4];
};
struct Work {
  int step;
  int64 axis;
  Tensor x, b, t, y;
};
static __device__ inline float rounded(float v, int type) {
  if (type == 2) return widen(toFloat16(v));
  if (type == 9) return widen(toBFloat16(v));
  return v;
}
static __device__ inline float readFlat(const Tensor& t, int64 at) {
  if (t.data == 0) return t.number;
  if (t.isFloat || t.type == 0) return ((const float*)t.data)[at];
  return t.type == 2 ? widen(((const float16*)t.data)[at]) : widen(((const bfloat16*)t.data)[at]);
}
static __device__ inline void writeFlat(const Tensor& t, int64 at, float v) {
  if (t.isFloat || t.type == 0) ((float*)t.data)[at] = rounded(v, t.type);
  else if (t.type == 2) ((float16*)t.data)[at] = toFloat16(v);
  else ((bfloat16*)t.data)[at] = toBFloat16(v);
}
static __device__ inline int64 placeOf(const Tensor& t, const int64* at) {
  int64 place = 0;
  for (int d = 0; d < 4; ++d) place += (t.dims[d] == 1 ? 0 : at[d]) * t.strides[d];
  return place;
}
static __device__ inline float read(const Tensor& t, const int64* at) { return t.there ? readFlat(t, placeOf(t, at)) : 0.0f; }
static __device__ inline float pointwise(const Work& w, const int64* at) {
  const float x = read(w.x, at), b = read(w.b, at);
  switch (w.step) {
    case 0: return x + b;
    case 1: return x * b;
    case 6: return x / b;
    case 9: return x - b;
    case 13: return (float)expOf(x);
    case 15: return (float)logOf(x);
    case 303: return x >= b ? 1.0f : 0.0f;
    case 501: return (float)at[w.axis];
    default: return read(w.t, at) != 0.0f ? x : b;
  }
}
static __device__ inline float product(const Work& w, const int64* at) {
  float sum = 0;
  int64 left[4] = {at[0], at[1] / (w.y.dims[1] / w.x.dims[1]), at[2], 0};
  int64 right[4] = {at[0], at[1] / (w.y.dims[1] / w.b.dims[1]), 0, at[3]};
  for (int64 k = 0; k < w.x.dims[3]; ++k) {
    left[3] = right[2] = k;
    sum = fmaf(read(w.x, left), read(w.b, right), sum);
  }
  return sum;
}
static __device__ inline float reduction(const Work& w, const int64* at) {
  float result = w.step == 10001 ? 0.0f : -INFINITY_F;
  int64 from[4] = {at[0], at[1], at[2], 0};
  for (int64 k = 0; k < w.x.dims[3]; ++k) {
    from[3] = k;
    const float v = read(w.x, from);
    result = w.step == 10001 ? result + v : v > result || v != v ? v : result;
  }
  return result;
}
extern "C" __global__ void graphStep(Work w) {
  const int64* n = w.y.dims;
  if (w.step == 10003) {  // of what lies between elements, too
    int64 extent = 1;
    for (int d = 0; d < 4; ++d) extent += (n[d] - 1) * w.y.strides[d];
    GRID_LOOP(i, extent) writeFlat(w.y, i, readFlat(w.x, i));
    return;
  }
  GRID_LOOP(i, n[0] * n[1] * n[2] * n[3]) {
    const int64 at[4] = {i / (n[3] * n[2] * n[1]), i / (n[3] * n[2]) % n[1], i / n[3] % n[2], i % n[3]};
    writeFlat(w.y, placeOf(w.y, at), w.step == 10000 ? product(w, at) : w.step > 10000 ? reduction(w, at) : pointwise(w, at));
  }
}
)cu";

/// What the kernel gets.
struct KernelTensor {
  const void* data = nullptr;
  std::int32_t type = 0, isFloat = 0;
  float number = 0;
  std::int32_t there = 0;
  std::array<std::int64_t, 4> dims{}, strides{};
};
struct Work {
  std::int32_t step = 0;
  std::int64_t axis = 0;
  KernelTensor x, b, t, y;
};

std::int64_t countOf(const GraphTensor& t) { return t.dims[0] * t.dims[1] * t.dims[2] * t.dims[3]; }
/// From the first element to behind the last one.
std::int64_t extentOf(const GraphTensor& t) {
  std::int64_t extent = 1;
  for (std::size_t d = 0; d < 4; ++d) extent += (t.dims[d] - 1) * t.strides[d];
  return extent;
}

int readTensor(const Descriptor& d, GraphProblem& problem, std::int64_t& id) {
  const auto dims = d.all<std::int64_t>(dnn::kTensorDimensions), strides = d.all<std::int64_t>(dnn::kTensorStrides);
  if (dims.size() != 4) return failed(kWrongShape, "a tensor has not four dims");
  GraphTensor t;
  id = t.id = d.one<std::int64_t>(dnn::kTensorId);
  t.type = d.one<int>(dnn::kTensorDataType);
  t.alignment = d.one<std::int64_t>(dnn::kTensorAlignment);
  const auto is = [&](int name) { return d.has(name) && d.one<bool>(name); };
  if (is(dnn::kTensorIsVirtual) && is(dnn::kTensorIsByValue))
    return failed(dnn::kBadParameter, "a tensor in two places");
  t.place = is(dnn::kTensorIsVirtual) ? Place::Between : is(dnn::kTensorIsByValue) ? Place::Host : Place::Memory;
  std::ranges::copy(dims, t.dims.begin());
  std::ranges::copy(strides, t.strides.begin());
  // Lines of one element after the other, in any order of dims, that do not overlap; of half types in whole vectors.
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::ranges::sort(order, {}, [&](std::size_t d) { return std::pair(t.strides[d], t.dims[d]); });
  const bool isHalf = t.type == dnn::kFloat16 || t.type == dnn::kBFloat16;
  const std::int64_t unit = isHalf && t.place == Place::Memory ? kStrideUnit : 1;
  std::int64_t extent = 1;
  for (const std::size_t d : order) {
    if (t.dims[d] == 1) continue;
    const bool isFirst = extent == 1;
    if (isFirst ? t.strides[d] != 1 : t.strides[d] < extent || t.strides[d] % unit != 0)
      return failed(dnn::kNotSupported, "a tensor of such strides");
    extent += (t.dims[d] - 1) * t.strides[d];
  }
  const auto [at, isNew] = problem.tensors.emplace(t.id, t);
  const GraphTensor& was = at->second;
  if (!isNew && (was.dims != t.dims || was.strides != t.strides || was.type != t.type || was.place != t.place))
    return failed(dnn::kBadParameter, "two tensors have one number");
  return dnn::kSuccess;
}

bool broadcasts(const GraphTensor& from, const GraphTensor& to) {
  for (std::size_t d = 0; d < 4; ++d)
    if (from.dims[d] != 1 && from.dims[d] != to.dims[d]) return false;
  return true;
}

bool fits(const GraphProblem& problem, const GraphOperation& o) {
  const auto at = [&](std::size_t k) -> const GraphTensor& { return problem.tensors.at(o.tensors[k]); };
  const GraphTensor &x = at(0), &y = at(3);
  if (o.step == kReshapeStep) return countOf(x) == countOf(y);
  if (o.step == kSumStep || o.step == kMaximumStep)
    return y.dims[3] == 1 && std::equal(x.dims.begin(), x.dims.begin() + 3, y.dims.begin());
  if (o.step == kProductStep) {
    const GraphTensor& b = at(1);
    const bool shared =
        x.dims[0] == y.dims[0] && b.dims[0] == y.dims[0] && y.dims[1] % x.dims[1] == 0 && y.dims[1] % b.dims[1] == 0;
    return shared && x.dims[2] == y.dims[2] && b.dims[3] == y.dims[3] && x.dims[3] == b.dims[2];
  }
  for (std::size_t k = 0; k < 3; ++k)
    if (o.tensors[k] != 0 && !broadcasts(at(k), y)) return false;
  return true;
}

struct Names {
  int x, b, t, y;  // -1: none
};

int stepOf(const Descriptor& d, GraphOperation& o, Names& names) {
  switch (d.kind) {
  case dnn::kMatmulOperation:
    o.step = kProductStep;
    names = {dnn::kMatmulA, dnn::kMatmulB, -1, dnn::kMatmulC};
    return dnn::kSuccess;
  case dnn::kReshapeOperation:
    o.step = kReshapeStep;
    names = {dnn::kReshapeX, -1, -1, dnn::kReshapeY};
    return dnn::kSuccess;
  case dnn::kReductionOperation: {
    const int how = d.part(dnn::kReductionDescriptor).one<int>(dnn::kReductionOperator);
    if (how != dnn::kSum && how != dnn::kMaximum) return failed(dnn::kNotSupported, "another reduction");
    o.step = how == dnn::kSum ? kSumStep : kMaximumStep;
    names = {dnn::kReductionX, -1, -1, dnn::kReductionY};
    return dnn::kSuccess;
  }
  case dnn::kPointwiseOperation: {
    const Descriptor& how = d.part(dnn::kPointwiseDescriptor);
    o.step = how.one<int>(dnn::kPointwiseModeName);
    if (how.has(dnn::kPointwiseAxis)) o.axis = how.one<std::int64_t>(dnn::kPointwiseAxis);
    static const std::map<int, int> kOperands{
        {dnn::kAdd, 2}, {dnn::kMultiply, 2},       {dnn::kDivide, 2},     {dnn::kSubtract, 2}, {dnn::kExp, 1},
        {dnn::kLog, 1}, {dnn::kGreaterOrEqual, 2}, {dnn::kIndexAlong, 1}, {dnn::kSelect, 3}};
    const auto at = kOperands.find(o.step);
    if (at == kOperands.end()) return failed(dnn::kNotSupported, "another pointwise mode");
    const int count = 1 + (d.has(dnn::kPointwiseB) ? 1 : 0) + (d.has(dnn::kPointwiseT) ? 1 : 0);
    if (count != at->second) return failed(dnn::kBadParameter, "a pointwise operation has other operands");
    names = {dnn::kPointwiseX, count > 1 ? dnn::kPointwiseB : -1, count > 2 ? dnn::kPointwiseT : -1, dnn::kPointwiseY};
    return dnn::kSuccess;
  }
  default:
    return failed(dnn::kNotSupported, "another operation in a graph");
  }
}

/// A handle, and so its kernel, belongs to the device that was current when it was made.
cuda::FunctionHandle kernelFor(dnn::Handle handle) {
  static std::mutex mutex;
  static std::map<dnn::Handle, cuda::FunctionHandle> kernels;
  const std::lock_guard lock(mutex);
  cuda::FunctionHandle& kernel = kernels[handle];
  if (kernel == nullptr) kernel = kernelOf("cudnn_graph", std::string(cuda::kElementaryText) + kText, "graphStep");
  return kernel;
}

}  // namespace

std::int64_t GraphProblem::workspaceBytes() const {
  std::int64_t elements = 1;
  for (const auto& [id, t] : tensors)
    if (t.place == Place::Between) elements += extentOf(t);
  return elements * 4;
}

bool isGraph(const Descriptor& graph) {
  const int kind = graph.part(dnn::kGraphOperations).kind;
  return kind < dnn::kConvolutionForward || kind > dnn::kConvolutionBackwardData;
}

int readGraph(const Descriptor& graph, GraphProblem& problem) {
  std::set<std::int64_t> written;
  for (Descriptor* operation : graph.all<Descriptor*>(dnn::kGraphOperations)) {
    GraphOperation o;
    Names names{};
    if (const int status = stepOf(*operation, o, names); status != dnn::kSuccess) return status;
    const int all[] = {names.x, names.b, names.t, names.y};
    for (std::size_t k = 0; k < 4; ++k) {
      if (all[k] < 0) continue;
      const int status = readTensor(operation->part(all[k]), problem, o.tensors[k]);
      if (status != dnn::kSuccess) return status;
      const bool isBetween = problem.tensors.at(o.tensors[k]).place == Place::Between;
      if (k < 3 && isBetween && !written.contains(o.tensors[k]))
        return failed(dnn::kBadParameter, "a tensor between operations is read before it is written");
    }
    if (!written.insert(o.tensors[3]).second) return failed(dnn::kBadParameter, "a tensor is written twice");
    if (!fits(problem, o)) return failed(kWrongShape, "the sizes of an operation do not fit");
    problem.operations.push_back(o);
  }
  return dnn::kSuccess;
}

bool servesGraph(const GraphProblem& problem) {
  const auto isProduct = [](const GraphOperation& o) { return o.step == kProductStep; };
  const auto first = std::ranges::find_if(problem.operations, isProduct);
  if (first == problem.operations.end()) return false;
  const GraphTensor& query = problem.tensors.at(first->tensors[0]);
  const bool isHalf = query.type == dnn::kFloat16 || query.type == dnn::kBFloat16;
  return isHalf && query.dims[2] > 1 && query.dims[3] % kWidthUnit == 0 && query.dims[3] <= kMostWidth;
}

int executeGraph(const GraphProblem& problem, dnn::Handle handle, cuda::StreamHandle stream,
                 const std::map<std::int64_t, void*>& pointers, void* workspace) {
  const cuda::FunctionHandle kernel = kernelFor(handle);
  if (kernel == nullptr) return failed(dnn::kInternalError, "no kernel can be made");
  std::map<std::int64_t, void*> places = pointers;
  auto* at = static_cast<float*>(workspace);
  for (const auto& [id, t] : problem.tensors)
    if (t.place == Place::Between) places[id] = at, at += extentOf(t);
  const auto operand = [&](std::int64_t id) {
    if (id == 0) return KernelTensor{};
    const GraphTensor& t = problem.tensors.at(id);
    KernelTensor k{places.at(id), t.type, t.place == Place::Between ? 1 : 0, 0, 1, t.dims, t.strides};
    if (t.place != Place::Host) return k;
    std::memcpy(&k.number, places.at(id), sizeof k.number);
    k.data = nullptr;
    return k;
  };
  const bool isForward = problem.operations.front().step == kProductStep;
  addLine("TANDEM_CUDNN_LOG", isForward ? "attention fused" : "attention_grad fused");
  for (const GraphOperation& o : problem.operations) {
    Work work{
        o.step, o.axis, operand(o.tensors[0]), operand(o.tensors[1]), operand(o.tensors[2]), operand(o.tensors[3])};
    void* parameters[] = {&work};
    if (!launchKernel(kernel, 8, stream, parameters)) return failed(dnn::kExecutionFailed, "a launch failed");
  }
  return dnn::kSuccess;
}

}  // namespace tandem::emulation
