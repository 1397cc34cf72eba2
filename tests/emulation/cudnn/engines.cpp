#include "tests/emulation/cudnn/engines.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "tests/emulation/library_kernel.h"

namespace tandem::emulation {
namespace {

constexpr int kWrongShape = 2008;
constexpr int kUnknownDataType = 3003;
// Kernels of more rows or columns have no engine.
constexpr std::int64_t kLargestWindow = 7;

using Notes = std::vector<int>;

bool isSmall(const Problem& p) { return std::max(p.w[2], p.w[3]) <= kLargestWindow; }
bool isUngrouped(const Problem& p) { return isSmall(p) && p.x[1] == p.w[1]; }

const Engine kScattered{"scattered", [] { return Notes{dnn::kNondeterministic}; }, &isSmall, true, false};
const Engine kTransformed{"transformed", [] { return Notes{dnn::kWinograd, dnn::kWinogradTile4x4}; }, &isSmall, false,
                          false};
const Engine kConverting{"converting", [] { return Notes{dnn::kTensorCore, dnn::kDownConvertInputs}; }, &isSmall, false,
                         true};
const Engine kTensorCores{"tensor_cores", [] { return Notes{dnn::kTensorCore}; }, &isSmall, false, true};
const Engine kExact{"exact", [] { return Notes{}; }, &isUngrouped, false, false};
const Engine kPlain{"plain", [] { return Notes{dnn::kStrictNanPropagation}; }, &isSmall, false, false};

/// Each thread adds up elements of the result: those of x, w and y that belong together, from `first` on.
const char kText[] = R"cu(
struct Sizes {
  int64 x[4], w[4], y[4], stride[2], padding[2], dilation[2], groups;
};
static __device__ inline float operand(ELEMENT v) {
  const float x = load(v);
  return ROUNDS ? __int_as_float((__float_as_int(x) + 0x1000) & ~0x1fff) : x;
}
static __device__ inline int64 offset(const int64* sizes, int64 a, int64 b, int64 c, int64 d) {
  return ((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d;
}
// The position of the input that output position `at` sees at place k of the window; negative outside.
static __device__ inline int64 seen(const Sizes& s, int d, int64 at, int64 k) {
  const int64 i = at * s.stride[d] - s.padding[d] + k * s.dilation[d];
  return i < s.x[2 + d] ? i : -1;
}
// The output position that sees position i at place k of the window; negative where none does.
static __device__ inline int64 seer(const Sizes& s, int d, int64 i, int64 k) {
  const int64 t = i + s.padding[d] - k * s.dilation[d];
  return t >= 0 && t % s.stride[d] == 0 && t / s.stride[d] < s.y[2 + d] ? t / s.stride[d] : -1;
}
extern "C" __global__ void convolve(Sizes s, ELEMENT* x, ELEMENT* w, ELEMENT* y, int64 first, float* workspace) {
  const int64* sizes = KIND == 0 ? s.y : KIND == 1 ? s.x : s.w;
  ELEMENT* result = KIND == 0 ? y : KIND == 1 ? x : w;
  const int64 inputs = s.w[1], outputs = s.w[0] / s.groups;
  const int64 depth = KIND == 0 ? inputs * s.w[2] * s.w[3] : KIND == 1 ? outputs * s.w[2] * s.w[3] : s.y[0] * s.y[2] * s.y[3];
  GRID_LOOP(i, sizes[0] * sizes[1] * sizes[2] * sizes[3]) {
    const int64 q = i % sizes[3], p = i / sizes[3] % sizes[2], c = i / (sizes[3] * sizes[2]) % sizes[1];
    const int64 n = i / (sizes[3] * sizes[2] * sizes[1]);
    workspace[threadIdx.x] = 0;
    for (int64 step = 0; step < depth; ++step) {
      const int64 k = (step + first) % depth;
      float a = 0, b = 0;
      if (KIND == 2) {
        const int64 column = k % s.y[3], row = k / s.y[3] % s.y[2], image = k / (s.y[3] * s.y[2]);
        const int64 ih = seen(s, 0, row, p), iw = seen(s, 1, column, q);
        if (ih < 0 || iw < 0) continue;
        a = operand(y[offset(s.y, image, n, row, column)]);
        b = operand(x[offset(s.x, image, n / outputs * inputs + c, ih, iw)]);
      } else {
        const int64 kw = k % s.w[3], kh = k / s.w[3] % s.w[2], channel = k / (s.w[3] * s.w[2]);
        const int64 h = KIND == 0 ? seen(s, 0, p, kh) : seer(s, 0, p, kh);
        const int64 v = KIND == 0 ? seen(s, 1, q, kw) : seer(s, 1, q, kw);
        if (h < 0 || v < 0) continue;
        const int64 group = KIND == 0 ? c / outputs : c / inputs;
        a = KIND == 0 ? operand(x[offset(s.x, n, group * inputs + channel, h, v)])
                      : operand(y[offset(s.y, n, group * outputs + channel, h, v)]);
        b = KIND == 0 ? operand(w[offset(s.w, c, channel, kh, kw)])
                      : operand(w[offset(s.w, group * outputs + channel, c % inputs, kh, kw)]);
      }
      workspace[threadIdx.x] = fmaf(a, b, workspace[threadIdx.x]);
    }
    result[i] = Store<ELEMENT>::of(workspace[threadIdx.x]);
  }
}
)cu";

/// What the text's kernel gets.
struct Sizes {
  std::array<std::int64_t, 4> x, w, y;
  std::array<std::int64_t, 2> stride, padding, dilation;
  std::int64_t groups;
};

int numberOf(int kind) { return kind == dnn::kConvolutionForward ? 0 : kind == dnn::kConvolutionBackwardData ? 1 : 2; }
const char* typeName(int dtype) {
  return dtype == dnn::kFloat16 ? "float16" : dtype == dnn::kBFloat16 ? "bfloat16" : "float";
}

/// A handle, and so its kernels, belong to the device that was current when it was made.
cuda::FunctionHandle kernelFor(dnn::Handle handle, int kind, int dtype, bool rounds) {
  static std::mutex mutex;
  static std::map<std::tuple<dnn::Handle, int, int, bool>, cuda::FunctionHandle> kernels;
  const std::lock_guard lock(mutex);
  cuda::FunctionHandle& kernel = kernels[{handle, kind, dtype, rounds}];
  if (kernel == nullptr)
    kernel = kernelOf("cudnn",
                      "#define ELEMENT " + std::string(typeName(dtype)) + "\n#define KIND " + std::to_string(kind) +
                          "\n#define ROUNDS " + (rounds ? "1\n" : "0\n") + kText,
                      "convolve");
  return kernel;
}

/// A contiguous tensor of four dims in the dtype of the others.
int readTensor(const Descriptor& d, Problem& p, std::array<std::int64_t, 4>& sizes, std::int64_t& id) {
  const auto dims = d.all<std::int64_t>(dnn::kTensorDimensions), strides = d.all<std::int64_t>(dnn::kTensorStrides);
  if (dims.size() != sizes.size()) return failed(kWrongShape, "a tensor has not four dims");
  std::int64_t reach = 1;
  for (std::size_t k = dims.size(); k-- > 0; reach *= dims[k]) {
    if (strides[k] != reach) return failed(dnn::kNotSupported, "a tensor is not contiguous");
    sizes[k] = dims[k];
  }
  if (p.alignment != 0 && d.one<int>(dnn::kTensorDataType) != p.dtype)
    return failed(dnn::kBadParameter, "tensors differ in their data type");
  p.dtype = d.one<int>(dnn::kTensorDataType);
  p.alignment = d.one<std::int64_t>(dnn::kTensorAlignment);
  id = d.one<std::int64_t>(dnn::kTensorId);
  return dnn::kSuccess;
}

int checkSizes(const Problem& p) {
  const bool channels = p.x[0] == p.y[0] && p.w[0] == p.y[1] && p.x[1] % p.w[1] == 0 && p.w[0] % (p.x[1] / p.w[1]) == 0;
  if (!channels) return failed(kWrongShape, "channels do not fit");
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = p.x[2 + d] + 2 * p.padding[d] - p.dilation[d] * (p.w[2 + d] - 1) - 1;
    if (room < 0 || room / p.stride[d] + 1 != p.y[2 + d]) return failed(kWrongShape, "sizes do not fit");
  }
  return dnn::kSuccess;
}

struct Names {
  int x, w, y, convolution, alpha, beta;
};
Names namesOf(int kind) {
  if (kind == dnn::kConvolutionForward)
    return {dnn::kForwardX,           dnn::kForwardW,     dnn::kForwardY,
            dnn::kForwardConvolution, dnn::kForwardAlpha, dnn::kForwardBeta};
  if (kind == dnn::kConvolutionBackwardData)
    return {dnn::kBackwardDataDx,          dnn::kBackwardDataW,     dnn::kBackwardDataDy,
            dnn::kBackwardDataConvolution, dnn::kBackwardDataAlpha, dnn::kBackwardDataBeta};
  return {dnn::kBackwardFilterX,           dnn::kBackwardFilterDw,    dnn::kBackwardFilterDy,
          dnn::kBackwardFilterConvolution, dnn::kBackwardFilterAlpha, dnn::kBackwardFilterBeta};
}

}  // namespace

int readProblem(const Descriptor& operation, Problem& p) {
  p.kind = operation.kind;
  const Names names = namesOf(p.kind);
  if (operation.one<float>(names.alpha) != 1 || operation.one<float>(names.beta) != 0)
    return failed(dnn::kNotSupported, "results are scaled");
  const Descriptor& convolution = operation.part(names.convolution);
  if (convolution.one<std::int64_t>(dnn::kConvolutionSpatialDims) != 2)
    return failed(dnn::kNotSupported, "there are other than two spatial dims");
  for (std::size_t d = 0; d < 2; ++d) {
    p.stride[d] = convolution.all<std::int64_t>(dnn::kConvolutionStrides)[d];
    p.dilation[d] = convolution.all<std::int64_t>(dnn::kConvolutionDilations)[d];
    p.padding[d] = convolution.all<std::int64_t>(dnn::kConvolutionPrePaddings)[d];
  }
  const std::pair<int, std::array<std::int64_t, 4>*> tensors[] = {{names.x, &p.x}, {names.w, &p.w}, {names.y, &p.y}};
  for (std::size_t k = 0; k < 3; ++k)
    if (const int status = readTensor(operation.part(tensors[k].first), p, *tensors[k].second, p.ids[k]);
        status != dnn::kSuccess)
      return status;
  if (p.ids[0] == p.ids[1] || p.ids[0] == p.ids[2] || p.ids[1] == p.ids[2])
    return failed(dnn::kBadParameter, "two tensors have one number");
  if (p.dtype != dnn::kFloat32 && p.dtype != dnn::kFloat16 && p.dtype != dnn::kBFloat16)
    return failed(kUnknownDataType, "no engine has that data type");
  return checkSizes(p);
}

const Engine& fused() {
  static const Engine engine{"fused", [] { return Notes{dnn::kTensorCore}; }, [](const Problem&) { return true; },
                             false, false};
  return engine;
}

std::vector<const Engine*> offered(int heuristic) {
  if (heuristic == dnn::kDecisionTrees) return {&kScattered, &kTransformed, &kConverting, &kTensorCores, &kExact};
  return {&kScattered, &kPlain};
}

int execute(const Engine& engine, const Problem& p, dnn::Handle handle, cuda::StreamHandle stream,
            std::array<void*, 3> pointers, void* workspace) {
  static std::atomic<std::int64_t> calls{0};
  const int kind = numberOf(p.kind);
  const cuda::FunctionHandle kernel = kernelFor(handle, kind, p.dtype, engine.rounds && p.dtype == dnn::kFloat32);
  if (kernel == nullptr) return failed(dnn::kInternalError, "no kernel can be made");
  const char* kinds[] = {"forward", "input_grad", "weight_grad"};
  addLine("TANDEM_CUDNN_LOG", std::string(kinds[kind]) + " " + engine.name);
  Sizes sizes{p.x, p.w, p.y, p.stride, p.padding, p.dilation, p.x[1] / p.w[1]};
  std::int64_t first = engine.scatters ? ++calls : 0;
  void* parameters[] = {&sizes, &pointers[0], &pointers[1], &pointers[2], &first, static_cast<void*>(&workspace)};
  // As many threads as the workspace has room for.
  return launchKernel(kernel, 1, stream, parameters) ? dnn::kSuccess : failed(dnn::kExecutionFailed, "a launch failed");
}

}  // namespace tandem::emulation
