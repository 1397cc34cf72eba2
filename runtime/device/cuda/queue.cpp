#include "runtime/device/cuda/queue.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/cuda/copies.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/sequence.h"
#include "runtime/device/cuda/source.h"
#include "runtime/device/cuda/survey.h"

namespace tandem::cuda {
namespace {

// Blocks of a grid-stride loop: enough that the last ones to end leave no multiprocessor idle for long.
constexpr std::int64_t kThreadsEach = 8;  // times what a multiprocessor holds

CudaStream& stream() { return Queueing::now().stream(); }

std::int64_t mostBlocks(unsigned threads) {
  const GpuProperties& p = stream().gpu().properties();
  const std::int64_t held = std::max<std::int64_t>(p.maxThreadsPerMultiprocessor / static_cast<int>(threads), 1);
  return held * kThreadsEach * std::max(p.multiprocessors, 1);
}

View viewOf(const ArrayView& array, const Dims& shape, const Dims& strides) {
  if (shape.size() > View::kMostDims)
    fail<NotImplementedError>("a GPU's kernels take arrays of ", View::kMostDims, " dims at most, not of shape ",
                              shapeText(array.shape));
  View v;
  v.data = array.data;
  v.numel = array.numel();
  v.rank = static_cast<std::int32_t>(shape.size());
  v.contiguous = isContiguous(shape, strides) ? 1 : 0;
  std::ranges::copy(shape, v.shape);
  std::ranges::copy(strides, v.strides);
  return v;
}

}  // namespace

Grid elementwise(std::int64_t n, unsigned threads) {
  return blocks((std::max<std::int64_t>(n, 0) + threads - 1) / threads, threads);
}

Grid blocks(std::int64_t n, unsigned threads) {
  return {{static_cast<unsigned>(std::clamp<std::int64_t>(n, 0, mostBlocks(threads))), 1, 1}, {threads, 1, 1}, 0};
}

void launchRaw(const Function& function, const Grid& grid, std::span<const Parameter> parameters) {
  function.launch(stream(), grid, parameters);
}

View view(const ArrayView& array) {
  if (array.shape.size() <= View::kMostDims) return viewOf(array, array.shape, array.strides);
  Dims shape;
  Dims strides;
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    if (array.shape[d] == 1) continue;
    shape.push_back(array.shape[d]);
    strides.push_back(array.strides[d]);
  }
  return viewOf(array, shape, strides);
}

View flatView(const ArrayView& array) {
  Dims shape;
  Dims strides;
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    if (array.shape[d] == 1) continue;
    if (!shape.empty() && strides.back() == array.strides[d] * array.shape[d]) {
      shape.back() *= array.shape[d];
      strides.back() = array.strides[d];
    } else {
      shape.push_back(array.shape[d]);
      strides.push_back(array.strides[d]);
    }
  }
  return viewOf(array, shape, strides);
}

std::string typeName(DType t) {
  if (t == DType::Float32) return "float";
  if (t == DType::Float64) return "double";
  if (t == DType::Bool) return "truth";
  return std::string(dtypeName(t));
}

std::string computeName(DType t) { return t == DType::Bool ? "bool" : typeName(computeType(t)); }

Workspace::Workspace(std::size_t bytes) : data_(allocateForWork(bytes, stream())), gpu_(&stream().gpu()) {}

Workspace::~Workspace() { deallocateForWork(data_, *gpu_); }

void fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0 || Survey::now() != nullptr) return;
  Tape* tape = Tape::now();
  if (tape != nullptr && tape->move(to, reinterpret_cast<const void*>(std::uintptr_t{value}), bytes)) return;
  stream().checkWork(driver().memsetD8Async(std::bit_cast<DevicePointer>(to), value, bytes, stream().raw()),
                     "filling memory");
}

void copy(void* to, const void* from, std::size_t bytes) { copyWithin(to, from, bytes, stream()); }

void copyFromHost(void* to, const void* from, std::size_t bytes) { copyFromHost(to, from, bytes, stream()); }

void copyToHost(void* to, const void* from, std::size_t bytes) {
  Queueing::now().hand();
  copyToHost(to, from, bytes, stream());
}

void callOnHost(std::string_view op, const LibraryCall& call, std::string_view why) {
  Executor& cpu = *host().cpu;
  const LibraryFn fn = cpu.library(op);
  TANDEM_CHECK(fn != nullptr, "no library function is called ", op);
  const std::string_view name = op.ends_with("_plain") ? op.substr(0, op.size() - 6) : op;  // as users know it
  if (Survey::now() == nullptr)
    host().warnOnce(strcat(name, " is computed on the CPU, also for tensors on a GPU: ", why));
  std::vector<std::vector<char>> memory;
  std::vector<ArrayView> inputs;
  std::vector<ArrayView> outputs;
  auto there = [&](const ArrayView& array) {
    ArrayView view = array;
    if (array.data == nullptr) return view;
    // At least one byte: data that is null says that an operand is absent.
    memory.emplace_back(std::max<std::size_t>(static_cast<std::size_t>(array.numel()) * itemSize(array.dtype), 1));
    view.data = memory.back().data();
    view.strides = contiguousStrides(array.shape);
    return view;
  };
  for (const ArrayView& input : call.inputs) {
    inputs.push_back(there(input));
    const std::size_t bytes = static_cast<std::size_t>(input.numel()) * itemSize(input.dtype);
    if (input.data == nullptr || bytes == 0) continue;
    if (input.contiguous()) {
      copyToHost(inputs.back().data, input.data, bytes);
      continue;
    }
    const Workspace dense(bytes);
    copyArray(input, {dense.as<>(), input.dtype, input.shape, contiguousStrides(input.shape)});
    copyToHost(inputs.back().data, dense.as<>(), bytes);
  }
  for (const ArrayView& output : call.outputs) outputs.push_back(there(output));
  // The line is added where this call was made.
  if (Survey::now() == nullptr) cpu.call(fn, {inputs, outputs, call.attrs, call.scalars, {}}, cpu.stream());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const ArrayView& output = call.outputs[k];
    copyFromHost(output.data, outputs[k].data, static_cast<std::size_t>(output.numel()) * itemSize(output.dtype));
  }
}

Fault* expectNoFault(const LibraryCall& call, std::function<void(const long long* numbers)> raise) {
  if (Survey::now() != nullptr) return nullptr;
  std::string where = placeOf(call.line);
  // An eager call is over when the error is raised, unless every launch waits.
  if (where.empty() && !launchesBlock())
    if (const std::string line = host().userLine(); !line.empty()) where = strcat("called at ", line);
  auto expected = std::make_shared<const Expected>(stream().gpu(), std::move(where), std::move(raise));
  Fault* slot = expected->slot();
  Queueing::now().expect(std::move(expected));
  return slot;
}

const DeviceLimits& limits() { return stream().gpu().limits(); }

}  // namespace tandem::cuda
