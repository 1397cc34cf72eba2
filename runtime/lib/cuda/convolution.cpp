// The convolution and its two gradients: by cuDNN where it is allowed and has an engine (cudnn_convolution.h), else
// contractions over the windows of the images, which are read where they lie; where an output position is made of the
// same position of the input, products of matrices. A weight's cotangent in full precision is a sum of products, one of
// each image: cuDNN's engines whose sums have an order take some 200 to 700 us on an H200 where such products take 100.
#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/attrs.h"
#include "runtime/lib/cuda/contraction.h"
#include "runtime/lib/cuda/cudnn_convolution.h"
#include "runtime/lib/cuda/matmul.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/windows.h"

namespace tandem::cuda::lib {
namespace {

/// The struct Contraction of contraction.cu for convolutions; groups are its batch.
struct ConvolutionPlan {
  ContractionSizes sizes;
  std::int64_t channels, outputs;
  Windows windows;
};

/// Is an output position made of the same position of the input?
bool isPointwise(const Windows& s) {
  return s.kh * s.kw == 1 && s.strideH == 1 && s.strideW == 1 && s.padH == 0 && s.padW == 0;
}

/// Of each image, the weight or its transpose times the channels.
void multiplyChannels(const ArrayView& image, const ArrayView& weight, const ArrayView& out, bool turned,
                      bool allowsTf32) {
  const std::int64_t n = image.shape[0];
  const std::int64_t positions = image.shape[2] * image.shape[3];
  const std::int64_t from = image.shape[1];
  const std::int64_t to = out.shape[1];
  ArrayView w{weight.data, weight.dtype, {n, to, from}, {0, weight.strides[0], weight.strides[1]}};
  if (turned) std::swap(w.strides[1], w.strides[2]);
  const Dense x(image);
  matrixProduct(w, {x.data(), image.dtype, {n, from, positions}, contiguousStrides(Dims{n, from, positions})},
                {out.data, out.dtype, {n, to, positions}, contiguousStrides(Dims{n, to, positions})}, allowsTf32);
}

/// Images of so many positions are worth a product each: of fewer, more is stored than multiplied.
constexpr std::int64_t kLeastPositions = 128;
/// Bytes of the columns of windows and of products that are kept at once.
constexpr std::int64_t kMostColumns = std::int64_t{1} << 28;

/// Of each image, the cotangent times the windows of the input, turned; their sum.
void multiplyWindows(const ArrayView& cotangent, const ArrayView& image, const ArrayView& out, const Windows& s) {
  const std::int64_t images = image.shape[0];
  const std::int64_t channels = image.shape[1];
  const std::int64_t outputs = cotangent.shape[1];
  const std::int64_t window = channels * s.kh * s.kw;
  const std::int64_t positions = s.oh * s.ow;
  const auto item = static_cast<std::int64_t>(itemSize(out.dtype));
  const bool pointwise = isPointwise(s);
  const std::int64_t columnsOf = pointwise ? 0 : window * positions;
  const std::int64_t productOf = outputs * window;
  const std::int64_t most = std::clamp<std::int64_t>(kMostColumns / ((columnsOf + productOf) * item), 1, images);
  const Dense g(cotangent);
  const Dense x(image);
  const Workspace columns(static_cast<std::size_t>(most * columnsOf * item));
  const Workspace products(static_cast<std::size_t>(most * productOf * item));
  const auto from = [&](const Dense& of, std::int64_t elements) {
    return static_cast<char*>(of.data()) + elements * item;
  };
  for (std::int64_t first = 0; first < images; first += most) {
    const std::int64_t n = std::min(most, images - first);
    void* seen = from(x, first * channels * s.h * s.w);
    if (!pointwise) {
      unfoldImages(seen, columns.as(), out.dtype, n * channels, s);
      seen = columns.as();
    }
    matrixProduct({from(g, first * outputs * positions),
                   out.dtype,
                   {n, outputs, positions},
                   contiguousStrides(Dims{n, outputs, positions})},
                  {seen, out.dtype, {n, positions, window}, {window * positions, 1, positions}},
                  {products.as(), out.dtype, {n, outputs, window}, contiguousStrides(Dims{n, outputs, window})}, false);
    sumImages(products.as(), out.data, out.dtype, productOf, n, first > 0);
  }
}

/// What follows the shape of a gradient.
struct Attributes {
  DimsRef stride, padding, dilation;
  std::int64_t groups;
  bool allowsCudnn, allowsTf32, channelsLast;
  explicit Attributes(AttrReader& a)
      : stride(a.list()), padding(a.list()), dilation(a.list()), groups(a.integer()), allowsCudnn(a.boolean(true)),
        allowsTf32(a.boolean(false)), channelsLast(a.boolean(false)) {}
};

/// Into `out`, which is contiguous and has the operands' dtype and some elements.
void convolve(const LibraryCall& call, ContractionKind kind, DimsRef input, DimsRef weight, DimsRef output,
              const Attributes& attrs, const ArrayView& out) {
  const auto& [stride, padding, dilation, groups, allowsCudnn, allowsTf32, channelsLast] = attrs;
  ConvolutionPlan plan{{},
                       input[1],
                       output[1],
                       {input[2], input[3], weight[2], weight[3], output[2], output[3], stride[0], stride[1],
                        padding[0], padding[1], dilation[0], dilation[1]}};
  const std::int64_t positions = output[2] * output[3];
  const std::int64_t window = weight[2] * weight[3];
  const std::int64_t groupOutputs = output[1] / groups;
  switch (kind) {
  case ContractionKind::InputGrad:
    plan.sizes = {weight[1], input[0] * input[2] * input[3], groupOutputs * window, groups};
    break;
  case ContractionKind::WeightGrad:
    plan.sizes = {groupOutputs, weight[1] * window, input[0] * positions, groups};
    break;
  default:
    plan.sizes = {groupOutputs, input[0] * positions, weight[1] * window, groups};
  }
  if (plan.sizes.depth == 0) return fill(out.data, 0, static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
  const auto four = [](DimsRef s) { return std::array{s[0], s[1], s[2], s[3]}; };
  const auto two = [](DimsRef s) { return std::array{s[0], s[1]}; };
  const ConvolutionSizes sizes{four(input),  four(weight),  four(output), two(stride),
                               two(padding), two(dilation), groups};
  const bool isFull = out.dtype == DType::Float64 || (out.dtype == DType::Float32 && !allowsTf32);
  if (kind == ContractionKind::WeightGrad && groups == 1 && isFull && positions >= kLeastPositions)
    return multiplyWindows(call.inputs[0], call.inputs[1], out, plan.windows);
  if (allowsCudnn && cudnnConvolution(kind, sizes, call.inputs[0], call.inputs[1], out, allowsTf32)) return;
  if (isPointwise(plan.windows) && groups == 1 && kind != ContractionKind::WeightGrad)
    return multiplyChannels(call.inputs[0], call.inputs[1], out, kind == ContractionKind::InputGrad, allowsTf32);
  plan.sizes.cut(groups);
  const Dense x(call.inputs[0]);
  const Dense y(call.inputs[1]);
  // The weight is the left operand, or the cotangent where there is no weight.
  const bool weightFirst = kind != ContractionKind::WeightGrad;
  ContractionLaunch(kind, out.dtype, out.dtype, plan.sizes)
      .run((weightFirst ? y : x).data(), (weightFirst ? x : y).data(), out.data, plan);
}

/// Calls `make(out)` with such an `out`, and brings what it makes to the result, whose channels, the second of its dims
/// there, may be the last of them here, and whose dtype may be wider: it has then what was rounded, as in PyTorch on
/// GPUs.
template <class Make>
void intoResult(const LibraryCall& call, bool channelsLast, Make make) {
  ArrayView out = call.outputs[0];
  if (out.numel() == 0) return;
  if (channelsLast) {
    const auto moved = [](const Dims& d) { return Dims{d[0], d[3], d[1], d[2]}; };
    out.shape = moved(out.shape), out.strides = moved(out.strides);
  }
  const DType dtype = call.inputs[0].dtype;
  if (out.contiguous() && out.dtype == dtype) return make(out);
  const Workspace memory(static_cast<std::size_t>(out.numel()) * itemSize(dtype));
  const ArrayView made{memory.as(), dtype, out.shape, contiguousStrides(out.shape)};
  make(made);
  copyArray(made, out);
}

}  // namespace

void conv2d(const LibraryCall& call) {
  AttrReader reader(call.attrs);
  const Attributes attrs(reader);
  intoResult(call, attrs.channelsLast, [&](const ArrayView& out) {
    convolve(call, ContractionKind::Convolution, call.inputs[0].shape, call.inputs[1].shape, out.shape, attrs, out);
  });
}
void conv2d_input_grad(const LibraryCall& call) {
  AttrReader reader(call.attrs);
  const DimsRef input = reader.list();
  const Attributes attrs(reader);
  intoResult(call, attrs.channelsLast, [&](const ArrayView& out) {
    convolve(call, ContractionKind::InputGrad, input, call.inputs[1].shape, call.inputs[0].shape, attrs, out);
  });
}
void conv2d_weight_grad(const LibraryCall& call) {
  AttrReader reader(call.attrs);
  const DimsRef weight = reader.list();
  const Attributes attrs(reader);
  intoResult(call, attrs.channelsLast, [&](const ArrayView& out) {
    convolve(call, ContractionKind::WeightGrad, call.inputs[1].shape, weight, call.inputs[0].shape, attrs, out);
  });
}

namespace {
const Registered here{
    {"conv2d", &conv2d}, {"conv2d_input_grad", &conv2d_input_grad}, {"conv2d_weight_grad", &conv2d_weight_grad}};
}  // namespace

}  // namespace tandem::cuda::lib
