#include "tests/emulation/cudnn/descriptors.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace tandem::emulation {
namespace {

constexpr int kNullPointer = 2002;
constexpr int kWrongKind = 2012;
constexpr std::int64_t kMostDims = 8;
constexpr std::int64_t kMostOperations = 64;
constexpr std::int64_t kMostTensors = 32;

struct Rule {
  int kind, name, type;
  std::int64_t least, most;
  int of = -1;  // the kind of descriptors
  bool optional = false;
};

/// What may be set; what is not optional is required.
constexpr Rule kRules[] = {
    {dnn::kTensor, dnn::kTensorId, dnn::kInt64Type, 1, 1},
    {dnn::kTensor, dnn::kTensorDataType, dnn::kDataTypeType, 1, 1},
    {dnn::kTensor, dnn::kTensorAlignment, dnn::kInt64Type, 1, 1},
    {dnn::kTensor, dnn::kTensorDimensions, dnn::kInt64Type, 3, kMostDims},
    {dnn::kTensor, dnn::kTensorStrides, dnn::kInt64Type, 3, kMostDims},
    {dnn::kTensor, dnn::kTensorIsVirtual, dnn::kBooleanType, 1, 1, -1, true},
    {dnn::kTensor, dnn::kTensorIsByValue, dnn::kBooleanType, 1, 1, -1, true},
    {dnn::kPointwise, dnn::kPointwiseModeName, dnn::kPointwiseModeType, 1, 1},
    {dnn::kPointwise, dnn::kPointwiseComputeType, dnn::kDataTypeType, 1, 1},
    {dnn::kPointwise, dnn::kPointwiseAxis, dnn::kInt64Type, 1, 1, -1, true},
    {dnn::kPointwiseOperation, dnn::kPointwiseDescriptor, dnn::kDescriptorType, 1, 1, dnn::kPointwise},
    {dnn::kPointwiseOperation, dnn::kPointwiseX, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kPointwiseOperation, dnn::kPointwiseB, dnn::kDescriptorType, 1, 1, dnn::kTensor, true},
    {dnn::kPointwiseOperation, dnn::kPointwiseT, dnn::kDescriptorType, 1, 1, dnn::kTensor, true},
    {dnn::kPointwiseOperation, dnn::kPointwiseY, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kMatmul, dnn::kMatmulComputeType, dnn::kDataTypeType, 1, 1},
    {dnn::kMatmulOperation, dnn::kMatmulA, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kMatmulOperation, dnn::kMatmulB, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kMatmulOperation, dnn::kMatmulC, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kMatmulOperation, dnn::kMatmulDescriptor, dnn::kDescriptorType, 1, 1, dnn::kMatmul},
    {dnn::kReduction, dnn::kReductionOperator, dnn::kReductionType, 1, 1},
    {dnn::kReduction, dnn::kReductionComputeType, dnn::kDataTypeType, 1, 1},
    {dnn::kReductionOperation, dnn::kReductionX, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kReductionOperation, dnn::kReductionY, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kReductionOperation, dnn::kReductionDescriptor, dnn::kDescriptorType, 1, 1, dnn::kReduction},
    {dnn::kReshapeOperation, dnn::kReshapeX, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kReshapeOperation, dnn::kReshapeY, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolution, dnn::kConvolutionComputeType, dnn::kDataTypeType, 1, 1},
    {dnn::kConvolution, dnn::kConvolutionModeName, dnn::kConvolutionModeType, 1, 1},
    {dnn::kConvolution, dnn::kConvolutionSpatialDims, dnn::kInt64Type, 1, 1},
    {dnn::kConvolution, dnn::kConvolutionDilations, dnn::kInt64Type, 1, kMostDims},
    {dnn::kConvolution, dnn::kConvolutionStrides, dnn::kInt64Type, 1, kMostDims},
    {dnn::kConvolution, dnn::kConvolutionPrePaddings, dnn::kInt64Type, 1, kMostDims},
    {dnn::kConvolution, dnn::kConvolutionPostPaddings, dnn::kInt64Type, 1, kMostDims},
    {dnn::kConvolutionForward, dnn::kForwardAlpha, dnn::kFloatType, 1, 1},
    {dnn::kConvolutionForward, dnn::kForwardBeta, dnn::kFloatType, 1, 1},
    {dnn::kConvolutionForward, dnn::kForwardConvolution, dnn::kDescriptorType, 1, 1, dnn::kConvolution},
    {dnn::kConvolutionForward, dnn::kForwardW, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionForward, dnn::kForwardX, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionForward, dnn::kForwardY, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionBackwardData, dnn::kBackwardDataAlpha, dnn::kFloatType, 1, 1},
    {dnn::kConvolutionBackwardData, dnn::kBackwardDataBeta, dnn::kFloatType, 1, 1},
    {dnn::kConvolutionBackwardData, dnn::kBackwardDataConvolution, dnn::kDescriptorType, 1, 1, dnn::kConvolution},
    {dnn::kConvolutionBackwardData, dnn::kBackwardDataW, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionBackwardData, dnn::kBackwardDataDx, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionBackwardData, dnn::kBackwardDataDy, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionBackwardFilter, dnn::kBackwardFilterAlpha, dnn::kFloatType, 1, 1},
    {dnn::kConvolutionBackwardFilter, dnn::kBackwardFilterBeta, dnn::kFloatType, 1, 1},
    {dnn::kConvolutionBackwardFilter, dnn::kBackwardFilterConvolution, dnn::kDescriptorType, 1, 1, dnn::kConvolution},
    {dnn::kConvolutionBackwardFilter, dnn::kBackwardFilterDw, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionBackwardFilter, dnn::kBackwardFilterX, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kConvolutionBackwardFilter, dnn::kBackwardFilterDy, dnn::kDescriptorType, 1, 1, dnn::kTensor},
    {dnn::kOperationGraph, dnn::kGraphHandle, dnn::kHandleType, 1, 1},
    {dnn::kOperationGraph, dnn::kGraphOperations, dnn::kDescriptorType, 1, kMostOperations},
    {dnn::kEngineHeuristic, dnn::kHeuristicGraph, dnn::kDescriptorType, 1, 1, dnn::kOperationGraph},
    {dnn::kEngineHeuristic, dnn::kHeuristicMode, dnn::kHeuristicType, 1, 1},
    {dnn::kExecutionPlan, dnn::kPlanHandle, dnn::kHandleType, 1, 1},
    {dnn::kExecutionPlan, dnn::kPlanConfig, dnn::kDescriptorType, 1, 1, dnn::kEngineConfig},
    {dnn::kVariantPack, dnn::kPackIds, dnn::kInt64Type, 1, kMostTensors},
    {dnn::kVariantPack, dnn::kPackPointers, dnn::kPointerType, 1, kMostTensors},
    {dnn::kVariantPack, dnn::kPackWorkspace, dnn::kPointerType, 1, 1},
};

std::size_t sizeOf(int type) {
  switch (type) {
  case dnn::kHandleType:
  case dnn::kInt64Type:
  case dnn::kPointerType:
  case dnn::kDescriptorType:
    return 8;
  case dnn::kBooleanType:
    return 1;
  default:
    return 4;
  }
}

struct Made {
  std::mutex mutex;
  std::set<Descriptor*> all;
};
Made& made() {
  static auto* const m = new Made;
  return *m;
}

thread_local std::string error;

int checkParts(const Rule& rule, const Value& value) {
  if (rule.type != dnn::kDescriptorType) return dnn::kSuccess;
  for (std::int64_t i = 0; i < value.count; ++i) {
    Descriptor* handle = nullptr;
    std::memcpy(&handle, value.bytes.data() + i * 8, 8);
    const Descriptor* part = alive(handle);
    if (part == nullptr) return failed(dnn::kBadParameter, "a descriptor that is none");
    if (!part->finalized) return failed(dnn::kNotFinalized, "a descriptor that is not finalized");
    if (rule.of >= 0 && part->kind != rule.of) return failed(kWrongKind, "a descriptor of another kind");
  }
  return dnn::kSuccess;
}

}  // namespace

Descriptor* alive(dnn::DescriptorHandle handle) {
  const std::lock_guard lock(made().mutex);
  auto* d = static_cast<Descriptor*>(handle);
  return made().all.contains(d) ? d : nullptr;
}

Descriptor* make(int kind) {
  const std::lock_guard lock(made().mutex);
  auto* d = new Descriptor;
  d->kind = kind;
  made().all.insert(d);
  return d;
}

bool destroy(dnn::DescriptorHandle handle) {
  const std::lock_guard lock(made().mutex);
  auto* d = static_cast<Descriptor*>(handle);
  if (made().all.erase(d) == 0) return false;
  delete d;
  return true;
}

int setAttribute(Descriptor& d, int name, int type, std::int64_t count, const void* values) {
  if (d.finalized) return failed(dnn::kBadParameter, "the descriptor is finalized");
  if (values == nullptr) return failed(kNullPointer, "no values are given");
  const auto* rule = std::ranges::find_if(kRules, [&](const Rule& r) { return r.kind == d.kind && r.name == name; });
  if (rule == std::end(kRules)) return failed(dnn::kBadParameter, "the descriptor has no such attribute");
  if (rule->type != type) return failed(dnn::kWrongAttributeType, "the attribute has another type");
  if (count < rule->least || count > rule->most) return failed(dnn::kBadParameter, "the attribute has another count");
  Value value{type, count, std::vector<char>(static_cast<std::size_t>(count) * sizeOf(type))};
  std::memcpy(value.bytes.data(), values, value.bytes.size());
  if (const int status = checkParts(*rule, value); status != dnn::kSuccess) return status;
  d.values[name] = std::move(value);
  return dnn::kSuccess;
}

int checkRequired(const Descriptor& d) {
  bool known = false;
  for (const Rule& rule : kRules) {
    if (rule.kind != d.kind) continue;
    known = true;
    if (rule.optional && !d.has(rule.name)) continue;
    if (!d.has(rule.name)) return failed(dnn::kBadParameter, "attribute " + std::to_string(rule.name) + " is missing");
    if (const int status = checkParts(rule, d.values.at(rule.name)); status != dnn::kSuccess) return status;
  }
  return known ? dnn::kSuccess : failed(dnn::kNotSupported, "such a descriptor is only read");
}

int failed(int status, std::string text) {
  error = std::move(text);
  return status;
}
const std::string& lastError() { return error; }

}  // namespace tandem::emulation
