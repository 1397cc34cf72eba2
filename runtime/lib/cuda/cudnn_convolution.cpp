#include "runtime/lib/cuda/cudnn_convolution.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/lib/cuda/cudnn.h"
#include "runtime/lib/cuda/foreign.h"

namespace tandem::cuda {
namespace {

enum Tensor : std::int64_t { kInput = 1, kWeight = 2, kOutput = 3 };

struct Key {
  int ordinal;
  ContractionKind kind;
  DType dtype;
  bool allowsTf32;
  ConvolutionSizes sizes;
  friend auto operator<=>(const Key&, const Key&) = default;
};

const char* nameOf(ContractionKind kind) {
  return kind == ContractionKind::Convolution ? "conv2d"
         : kind == ContractionKind::InputGrad ? "conv2d_input_grad"
                                              : "conv2d_weight_grad";
}

/// Is the output as large as the input has room for?
bool fillsOutput(const ConvolutionSizes& s) {
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = s.input[2 + d] + 2 * s.padding[d] - s.dilation[d] * (s.weight[2 + d] - 1) - 1;
    if (room / s.stride[d] + 1 != s.output[2 + d]) return false;
  }
  return true;
}

cudnn::Operations describe(const Key& key) {
  const ConvolutionSizes& s = key.sizes;
  cudnn::Descriptor convolution(cudnn::kConvolution);
  convolution.set(cudnn::kConvolutionComputeType, cudnn::kDataTypeType, cudnn::kFloat32);
  convolution.set(cudnn::kConvolutionModeName, cudnn::kConvolutionModeType, cudnn::kCrossCorrelation);
  convolution.set(cudnn::kConvolutionSpatialDims, cudnn::kInt64Type, std::int64_t{2});
  convolution.set(cudnn::kConvolutionDilations, s.dilation);
  convolution.set(cudnn::kConvolutionStrides, s.stride);
  convolution.set(cudnn::kConvolutionPrePaddings, s.padding);
  convolution.set(cudnn::kConvolutionPostPaddings, s.padding);
  convolution.finalize("describing a convolution");
  cudnn::Descriptor x = cudnn::describeTensor(kInput, key.dtype, s.input);
  cudnn::Descriptor w = cudnn::describeTensor(kWeight, key.dtype, s.weight);
  cudnn::Descriptor y = cudnn::describeTensor(kOutput, key.dtype, s.output);
  const auto operation = [&](cudnn::DescriptorKind kind, cudnn::AttributeName convolutionName,
                             cudnn::AttributeName inputName, cudnn::AttributeName weightName,
                             cudnn::AttributeName outputName, cudnn::AttributeName alpha, cudnn::AttributeName beta) {
    cudnn::Descriptor made(kind);
    made.set(convolutionName, convolution);
    made.set(inputName, x);
    made.set(weightName, w);
    made.set(outputName, y);
    made.set(alpha, cudnn::kFloatType, 1.0F);
    made.set(beta, cudnn::kFloatType, 0.0F);
    made.finalize("describing an operation");
    cudnn::Operations all{{}, {made.handle()}};
    for (cudnn::Descriptor* part : {&convolution, &x, &w, &y, &made}) all.parts.push_back(std::move(*part));
    return all;
  };
  switch (key.kind) {
  case ContractionKind::InputGrad:
    return operation(cudnn::kConvolutionBackwardData, cudnn::kBackwardDataConvolution, cudnn::kBackwardDataDx,
                     cudnn::kBackwardDataW, cudnn::kBackwardDataDy, cudnn::kBackwardDataAlpha,
                     cudnn::kBackwardDataBeta);
  case ContractionKind::WeightGrad:
    return operation(cudnn::kConvolutionBackwardFilter, cudnn::kBackwardFilterConvolution, cudnn::kBackwardFilterX,
                     cudnn::kBackwardFilterDw, cudnn::kBackwardFilterDy, cudnn::kBackwardFilterAlpha,
                     cudnn::kBackwardFilterBeta);
  default:
    return operation(cudnn::kConvolutionForward, cudnn::kForwardConvolution, cudnn::kForwardX, cudnn::kForwardW,
                     cudnn::kForwardY, cudnn::kForwardAlpha, cudnn::kForwardBeta);
  }
}

std::shared_ptr<const cudnn::ExecutionPlan> choose(const Key& key) {
  const ConvolutionSizes& s = key.sizes;
  std::size_t bytes = 0;
  for (const auto& shape : {s.input, s.weight, s.output})
    bytes += static_cast<std::size_t>(numelOf(shape)) * itemSize(key.dtype);
  try {
    cudnn::Context& context = cudnn::contextOf(key.ordinal);
    const std::lock_guard lock(context.mutex);
    return cudnn::choosePlan(context, describe(key), key.dtype, key.allowsTf32, cudnn::kMostWorkspaceBytes + 2 * bytes);
  } catch (const Error& e) {
    fail<Error>(nameOf(key.kind), " of input ", shapeText(s.input), " and weight ", shapeText(s.weight), " in ",
                dtypeName(key.dtype), ": ", e.what(),
                " (without `tandem.backends.cudnn.enabled` kernels of Tandem's own compute it)");
  }
}

std::shared_ptr<const cudnn::ExecutionPlan> planOf(const Key& key) {
  static auto* const plans = new cudnn::PlanCache<Key>;
  return plans->find(key, choose);
}

/// Names of both operands and the result.
std::array<Tensor, 3> namesOf(ContractionKind kind) {
  switch (kind) {
  case ContractionKind::InputGrad:
    return {kOutput, kWeight, kInput};
  case ContractionKind::WeightGrad:
    return {kOutput, kInput, kWeight};
  default:
    return {kInput, kWeight, kOutput};
  }
}

}  // namespace

bool cudnnConvolution(ContractionKind kind, const ConvolutionSizes& sizes, const ArrayView& a, const ArrayView& b,
                      const ArrayView& out, bool allowsTf32) {
  if (!cudnn::hasType(out.dtype) || !fillsOutput(sizes) || isSurveyed(a, b, out)) return false;
  if (cudnn::library() == nullptr) return false;
  CudaStream& stream = Queueing::now().stream();
  stream.gpu().use();  // whose handle is made, and whose work is queued
  const int ordinal = stream.gpu().ordinal();
  const auto plan = planOf({ordinal, kind, out.dtype, allowsTf32 && out.dtype == DType::Float32, sizes});
  if (plan == nullptr) return false;
  const void* operands[] = {a.data, b.data, out.data};
  const ForeignCall call = foreignCall(operands);
  const ForeignOperand first(a, (call.moving & 1) != 0);
  const ForeignOperand second(b, (call.moving & 2) != 0);
  const ForeignResult result(out, (call.moving & 4) != 0);
  const Workspace workspace(plan->workspaceBytes());
  if (!call.isInGraph) {
    stream.keep(std::const_pointer_cast<cudnn::ExecutionPlan>(plan));  // a graph launches what the plan owns
    const auto [x, y, z] = namesOf(kind);
    const cudnn::Bound tensors[] = {{x, first.data()}, {y, second.data()}, {z, result.data()}};
    plan->run(cudnn::contextOf(ordinal), stream.raw(), tensors, workspace.as());
  }
  result.finish();
  return true;
}

}  // namespace tandem::cuda
