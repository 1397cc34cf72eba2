// Means and maxima of windows over the last one to three dims: argument checks and output sizes over the primitives for
// any number of dims.
#include <string>

#include "eager/composites/spatial.h"
#include "eager/helpers.h"

namespace tandem::ops {
namespace {

using Given = std::optional<Dims>;

struct Windows {
  Dims kernel, stride, padding, dilation, size;

  Windows(const char* op, std::size_t n, const Tensor& x, DimsRef kernel_, const Given& stride_, DimsRef padding_,
          DimsRef dilation_, bool ceilMode)
      : kernel(spatialList(op, "kernel_size", kernel_, n)),
        stride(stride_ && !stride_->empty() ? spatialList(op, "stride", *stride_, n) : kernel),
        padding(spatialList(op, "padding", padding_, n)), dilation(spatialList(op, "dilation", dilation_, n)) {
    auto rank = static_cast<std::size_t>(x.dim());
    if (rank != n + 1 && rank != n + 2)
      fail(op, ": Expected ", n + 1, "D or ", n + 2, "D (batch mode) tensor for input, but got shape ",
           shapeText(x.shape()));
    if (x.shape()[rank - n - 1] == 0)
      fail(op, ": Expected ", n + 1, "D or ", n + 2,
           "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", shapeText(x.shape()));
    for (std::size_t d = 0; d < n; ++d) {
      if (kernel[d] <= 0) fail(op, ": kernel size should be greater than zero, but got ", shapeText(kernel));
      if (stride[d] <= 0) fail(op, ": stride should not be zero, but got ", shapeText(stride));
      if (dilation[d] <= 0) fail(op, ": dilation should be greater than zero, but got ", shapeText(dilation));
      if (padding[d] < 0) fail(op, ": pad must be non-negative, but got pad: ", padding[d]);
      const std::int64_t reach = sizeSum(op, sizeProduct(op, kernel[d] - 1, dilation[d]), 1);
      if (padding[d] > kernel[d] / 2)
        fail(op, ": pad should be at most half of kernel size, but got pad=", padding[d],
             " and kernel_size=", kernel[d]);
      std::int64_t in = x.shape()[rank - n + d];
      std::int64_t room = in + 2 * padding[d] - reach;
      std::int64_t out = (ceilMode ? ceilDiv(room, stride[d]) : floorDiv(room, stride[d])) + 1;
      // A window must start inside the input or its left padding.
      if (ceilMode && (out - 1) * stride[d] >= in + padding[d]) --out;
      if (in == 0 || out < 1)
        fail(op, ": Given input size: ", shapeText(x.shape()),
             ", the output size is too small or the input is empty, with kernel_size=", shapeText(kernel));
      size.push_back(out);
    }
  }
};

/// Does the result for `x` lie with its channels innermost, as those of `x` do?
bool lies(const Tensor& x, std::size_t n) {
  return x.dim() == static_cast<std::int64_t>(n) + 2 && formatOf(x) != MemoryFormat::Contiguous;
}
std::vector<Tensor> asImages(const std::array<Tensor, 2>& made, bool channelsLast) {
  if (!channelsLast) return {made[0], made[1]};
  return {channelsSecond(made[0]), channelsSecond(made[1])};
}
/// Of volumes results are row-major, as in PyTorch.
Tensor average(const Tensor& x, std::size_t n, DimsRef kernel, DimsRef stride, DimsRef padding, DimsRef size,
               bool countPadding, std::int64_t divisor) {
  const bool last = n == 2 && lies(x, n);
  const Tensor y = avg_pool_plain(x, kernel, stride, padding, size, countPadding, divisor, last);
  return channelsSecond(y, last);
}

std::vector<Tensor> maxima(const char* op, std::size_t n, const Tensor& x, DimsRef kernel, const Given& stride,
                           DimsRef padding, DimsRef dilation, bool ceilMode) {
  Windows w(op, n, x, kernel, stride, padding, dilation, ceilMode);
  return asImages(max_pool_plain(x, w.kernel, w.stride, w.padding, w.dilation, w.size, lies(x, n)), lies(x, n));
}

/// The maxima alone. Their places are found only where a gradient will ask for them.
Tensor maximaAlone(const char* op, std::size_t n, const Tensor& x, DimsRef kernel, const Given& stride, DimsRef padding,
                   DimsRef dilation, bool ceilMode) {
  if (gradEnabled() && x.requiresGrad()) return maxima(op, n, x, kernel, stride, padding, dilation, ceilMode)[0];
  Windows w(op, n, x, kernel, stride, padding, dilation, ceilMode);
  const bool last = lies(x, n);
  const Tensor y = max_pool_values(x, w.kernel, w.stride, w.padding, w.dilation, w.size, last);
  return channelsSecond(y, last);
}

Tensor means(const char* op, std::size_t n, const Tensor& x, DimsRef kernel, const Given& stride, DimsRef padding,
             bool ceilMode, bool countPadding, std::optional<std::int64_t> divisor) {
  if (divisor && *divisor == 0) fail(op, ": divisor must be not zero");
  // A sum of windows of shorter integers is seldom one of them.
  if (!isFloating(x.dtype()) && x.dtype() != DType::Int64)
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeName(x.dtype()), "'");
  Windows w(op, n, x, kernel, stride, padding, Dims{1}, ceilMode);
  return average(x, n, w.kernel, w.stride, w.padding, w.size, countPadding, divisor.value_or(0));
}

/// The output size of an adaptive pool.
Dims adaptiveSize(const char* op, std::size_t n, const Tensor& x, DimsRef size) {
  auto rank = static_cast<std::size_t>(x.dim());
  if (rank != n + 1 && rank != n + 2)
    fail(op, ": Expected ", n + 1, "D or ", n + 2, "D tensor, but got ", shapeText(x.shape()));
  Dims out = spatialList(op, "output_size", size, n);
  for (std::size_t d = 0; d < n; ++d) {
    if (out[d] < 0) fail(op, ": elements of output_size must be greater than or equal to 0, but got ", shapeText(out));
    if (x.shape()[rank - n + d] == 0)
      fail(op, ": Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
           shapeText(x.shape()));
  }
  return out;
}

Tensor adaptiveMeans(const char* op, std::size_t n, const Tensor& x, DimsRef size) {
  Dims out = adaptiveSize(op, n, x, size);
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeName(x.dtype()), "'");
  // To one element: a mean over dims.
  bool whole = true;
  Dims dims;
  for (std::size_t d = 0; d < n; ++d) {
    whole = whole && out[d] == 1;
    dims.push_back(x.dim() - static_cast<std::int64_t>(n - d));
  }
  return whole ? mean(x, dims, true) : average(x, n, Dims(), Dims(), Dims(), out, false, 0);
}

std::vector<Tensor> adaptiveMaxima(const char* op, std::size_t n, const Tensor& x, DimsRef size) {
  Dims out = adaptiveSize(op, n, x, size);
  if (x.dim() == static_cast<std::int64_t>(n) + 2 && x.size(1) == 0)
    fail(op, ": Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
         shapeText(x.shape()));
  const bool last = n == 2 && lies(x, n);
  return asImages(max_pool_plain(x, Dims(), Dims(), Dims(), Dims(), out, last), last);
}

}  // namespace

#define TANDEM_POOLS(N)                                                                                                \
  std::vector<Tensor> max_pool##N##d_with_indices(const Tensor& x, DimsRef kernel, const Given& stride,                \
                                                  DimsRef padding, DimsRef dilation, bool ceilMode) {                  \
    return maxima("max_pool" #N "d", N, x, kernel, stride, padding, dilation, ceilMode);                               \
  }                                                                                                                    \
  Tensor max_pool##N##d(const Tensor& x, DimsRef kernel, const Given& stride, DimsRef padding, DimsRef dilation,       \
                        bool ceilMode) {                                                                               \
    return maximaAlone("max_pool" #N "d", N, x, kernel, stride, padding, dilation, ceilMode);                          \
  }                                                                                                                    \
  Tensor adaptive_avg_pool##N##d(const Tensor& x, DimsRef size) {                                                      \
    return adaptiveMeans("adaptive_avg_pool" #N "d", N, x, size);                                                      \
  }                                                                                                                    \
  std::vector<Tensor> adaptive_max_pool##N##d(const Tensor& x, DimsRef size) {                                         \
    return adaptiveMaxima("adaptive_max_pool" #N "d", N, x, size);                                                     \
  }
TANDEM_POOLS(1)
TANDEM_POOLS(2)
TANDEM_POOLS(3)
#undef TANDEM_POOLS

Tensor avg_pool1d(const Tensor& x, DimsRef kernel, const Given& stride, DimsRef padding, bool ceilMode, bool count) {
  return means("avg_pool1d", 1, x, kernel, stride, padding, ceilMode, count, {});
}
Tensor avg_pool2d(const Tensor& x, DimsRef kernel, const Given& stride, DimsRef padding, bool ceilMode, bool count,
                  std::optional<std::int64_t> divisor) {
  return means("avg_pool2d", 2, x, kernel, stride, padding, ceilMode, count, divisor);
}
Tensor avg_pool3d(const Tensor& x, DimsRef kernel, const Given& stride, DimsRef padding, bool ceilMode, bool count,
                  std::optional<std::int64_t> divisor) {
  return means("avg_pool3d", 3, x, kernel, stride, padding, ceilMode, count, divisor);
}

Tensor max_unpool(const Tensor& x, const Tensor& indices, DimsRef size) {
  auto n = static_cast<std::int64_t>(size.size());
  if (indices.dtype() != DType::Int64)
    fail("elements in indices should be type int64 but got: ", dtypeName(indices.dtype()));
  if (!(indices.shape() == x.shape()))
    fail("Expected shape of indices to be same as that of the input tensor (", shapeText(x.shape()),
         ") but got indices tensor with shape: ", shapeText(indices.shape()));
  if (x.dim() != n + 1 && x.dim() != n + 2)
    fail("max_unpool", n, "d: Input to max_unpooling", n, "d should be a ", n + 1, "d or ", n + 2,
         "d Tensor, but got shape ", shapeText(x.shape()));
  std::int64_t dim = x.dim() - n;
  Dims planes(x.shape().begin(), x.shape().begin() + dim);
  Dims flat = planes;
  Dims out = planes;
  flat.push_back(-1);
  planes.push_back(numelOf(size));
  out.append(size.begin(), size.end());
  if (x.numel() == 0) return constantIn(zeros(out, x.dtype()), {&x, 1});
  Tensor made = scatter_plain(zeros(planes, x.dtype()), dim, reshape(indices, flat), reshape(x, flat));
  made = reshape(made, out);
  return n == 2 && formatOf(x) == MemoryFormat::ChannelsLast
             ? copyIn(made, MemoryFormat::ChannelsLast, x.dtype(), "max_unpool2d")
             : made;
}

}  // namespace tandem::ops
