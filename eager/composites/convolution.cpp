// Convolutions of one to three dims and their transposes, all made of the two-dimensional primitive and its input
// gradient. A length is an image of one row; the depths that a kernel sees become channels.
#include <string>

#include "eager/batch.h"
#include "eager/composites/products.h"
#include "eager/composites/spatial.h"
#include "eager/compute_flags.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

struct Conv {
  const char* op;
  std::size_t n;  // spatial dims
  Dims stride, padding, dilation;
  std::int64_t groups;
  ComputeFlags flags = computeFlags();
  bool channelsLast = false, wide = false;

  Conv(const char* op, std::size_t n, DimsRef stride, DimsRef padding, DimsRef dilation, std::int64_t groups)
      : op(op), n(n), stride(spatialList(op, "stride", stride, n)), padding(spatialList(op, "padding", padding, n)),
        dilation(spatialList(op, "dilation", dilation, n)), groups(groups) {
    auto check = [&](const char* what, const Dims& list, std::int64_t least) {
      for (auto v : list)
        if (v < least)
          fail(op, ": ", what, least > 0 ? " must be positive" : " must not be negative", ", got ", shapeText(list));
    };
    check("stride", this->stride, 1);
    check("padding", this->padding, 0);
    check("dilation", this->dilation, 1);
    if (groups <= 0) fail(op, ": non-positive groups is not supported, got groups=", groups);
  }

  /// `added`: the bias, which is added in place to a result, may have any dtype that its dtype holds.
  void checkOperands(const Tensor& x, const Tensor& weight, const Tensor& bias, bool transposed, bool added) const {
    auto dims = static_cast<std::int64_t>(n);
    if (weight.dim() != dims + 2)
      fail(op, ": expected weight to have ", dims + 2, " dimensions, but got weight of size ",
           shapeText(weight.shape()));
    if (x.dim() != dims + 1 && x.dim() != dims + 2)
      fail(op, ": Expected ", dims + 1, "D (unbatched) or ", dims + 2, "D (batched) input to ", op,
           ", but got input of size: ", shapeText(x.shape()));
    if (x.dtype() != weight.dtype())
      fail(op, ": Input type (", dtypeName(x.dtype()), ") and weight type (", dtypeName(weight.dtype()),
           ") should be the same");
    if (bias.defined() && bias.dtype() != x.dtype() && !(added && category(bias.dtype()) <= category(x.dtype())))
      fail(op, ": Input type (", dtypeName(x.dtype()), ") and bias type (", dtypeName(bias.dtype()),
           ") should be the same");
    if (weight.size(0) < groups)
      fail(op, ": Given groups=", groups, ", expected weight to be at least ", groups,
           " at dimension 0, but got weight of size ", shapeText(weight.shape()), " instead");
    for (std::int64_t d = 2; d < dims + 2; ++d)
      if (weight.size(d) == 0)
        fail(op, ": expected a kernel of at least 1 at each dimension, but got weight of size ",
             shapeText(weight.shape()));
    std::int64_t channels = x.size(-dims - 1);
    std::int64_t wanted = transposed ? weight.size(0) : weight.size(1) * groups;
    if (channels != wanted)
      fail(op, ": Given ", transposed ? "transposed=1, " : "", "groups=", groups, ", weight of size ",
           shapeText(weight.shape()), ", expected input", shapeText(x.shape()), " to have ", wanted,
           " channels, but got ", channels, " channels instead");
    if (weight.size(0) % groups != 0)
      fail(op, ": Given groups=", groups, ", expected weight to be divisible by ", groups,
           " at dimension 0, but got weight of size ", shapeText(weight.shape()), " instead");
    std::int64_t outputs = transposed ? weight.size(1) * groups : weight.size(0);
    if (bias.defined() && (bias.dim() != 1 || bias.size(0) != outputs))
      fail(op, ": Given weight of size ", shapeText(weight.shape()), ", expected bias to be 1-dimensional with ",
           outputs, " elements, but got bias of size ", shapeText(bias.shape()), " instead");
  }

  /// How results lie, and in which dtype they are made: as PyTorch's, with the channels innermost where those of the
  /// images or of the filters are; of volumes in float32 and half types alone. A bias is added to what is not rounded.
  void see(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const auto are = [&](const Tensor& t) { return !t.impl()->batch && formatOf(t) != MemoryFormat::Contiguous; };
    const bool volumes = x.dtype() == DType::Float32 || isHalf(x.dtype());
    channelsLast = (n == 2 || (n == 3 && volumes)) && (are(x) || are(weight));
    wide = bias.defined() && isHalf(x.dtype());
  }

  /// The primitive, and the gradient by its input: the lists of the last two dims, a row dim in front of a single one.
  [[nodiscard]] Tensor plain(const Tensor& x, const Tensor& weight) const {
    return seen(conv2d_plain(x, weight, planar(stride, 1), planar(padding, 0), planar(dilation, 1), groups, flags.cudnn,
                             allowsTf32(x), channelsLast, wide));
  }
  [[nodiscard]] Tensor inputGrad(const Tensor& grad, const Tensor& weight, const Dims& shape) const {
    return seen(conv2d_input_grad(grad, weight, shape, planar(stride, 1), planar(padding, 0), planar(dilation, 1),
                                  groups, flags.cudnn, allowsTf32(grad), channelsLast, wide));
  }

  [[nodiscard]] std::int64_t reach(const Tensor& weight, std::size_t d) const {
    return sizeSum(op, sizeProduct(op, dilation[d], weight.shape()[2 + d] - 1), 1);
  }

  void checkReach(const Tensor& x, const Tensor& weight) const {
    std::string padded;
    std::string kernel;
    bool fits = true;
    for (std::size_t d = 0; d < n; ++d) {
      std::int64_t size = x.shape()[2 + d] + 2 * padding[d];
      fits = fits && reach(weight, d) <= size;
      padded += (d > 0 ? " x " : "") + std::to_string(size);
      kernel += (d > 0 ? " x " : "") + std::to_string(reach(weight, d));
    }
    if (!fits)
      fail(op, ": Calculated padded input size per channel: (", padded, "). Kernel size: (", kernel,
           "). Kernel size can't be greater than actual input size");
  }

  /// The result of a three-dimensional one, made of images, as it shall lie.
  [[nodiscard]] Tensor volumes(const Tensor& y) const {
    const MemoryFormat format = channelsLast ? MemoryFormat::ChannelsLast3d : MemoryFormat::Contiguous;
    return isContiguousIn(y, format) ? y : copyIn(y, format, y.dtype(), op);
  }

 private:
  [[nodiscard]] Tensor seen(const Tensor& made) const { return channelsSecond(made, channelsLast); }
  [[nodiscard]] bool allowsTf32(const Tensor& x) const { return x.dtype() == DType::Float32 && flags.convolutionTf32; }
  static Dims planar(const Dims& list, std::int64_t none) {
    return list.size() == 1 ? Dims{none, list[0]} : Dims(list.end() - 2, list.end());
  }
};

/// The result of this dtype, rounded once.
Tensor withBias(const Tensor& y, const Tensor& bias, DType dtype) {
  if (!bias.defined()) return y;
  Dims shape(static_cast<std::size_t>(y.dim()), 1);
  shape[1] = -1;
  return sumOver(y, view(bias, shape), dtype);
}

/// [O, C, KD, KH, KW] as [O, C * KD, KH, KW].
Tensor depthsAsChannels(const Tensor& weight) {
  return reshape(weight, Dims{weight.size(0), weight.size(1) * weight.size(2), weight.size(3), weight.size(4)});
}

/// [N, C, D, H, W] as images [N * OD, C * KD, H, W]: for every output depth the depths that the kernel sees.
Tensor seenDepths(const Conv& c, const Tensor& x, std::int64_t kernel, std::int64_t outputs) {
  Tensor in = c.padding[0] == 0 ? x : pad(x, Dims{0, 0, 0, 0, c.padding[0], c.padding[0]}, "constant", 0.0);
  std::vector<Tensor> depths;
  for (std::int64_t k = 0; k < kernel; ++k) {
    std::int64_t first = k * c.dilation[0];
    depths.push_back(transpose(slice(in, 2, first, first + (outputs - 1) * c.stride[0] + 1, c.stride[0]), 1, 2));
  }
  return reshape(stack(depths, 3), Dims{x.size(0) * outputs, x.size(1) * kernel, x.size(3), x.size(4)});
}

Tensor convolve(Conv c, const Tensor& input, const Tensor& weight, const Tensor& bias, bool added = false) {
  c.checkOperands(input, weight, bias, false, added);
  Batched batch(input, static_cast<std::int64_t>(c.n) + 2);
  const Tensor& x = batch.x;
  c.checkReach(x, weight);
  c.see(x, weight, bias);
  Tensor y;
  if (c.n == 1) {
    y = c.plain(unsqueeze(x, -2), unsqueeze(weight, -2));
    y = squeeze_dims(y, Dims{-2});
  } else if (c.n == 2) {
    y = c.plain(x, weight);
  } else {
    std::int64_t depths = (x.size(2) + 2 * c.padding[0] - c.reach(weight, 0)) / c.stride[0] + 1;
    y = c.plain(seenDepths(c, x, weight.size(2), depths), depthsAsChannels(weight));
    y = transpose(view(y, Dims{x.size(0), depths, weight.size(0), y.size(2), y.size(3)}), 1, 2);
    y = c.volumes(y);
  }
  return batch.undo(withBias(y, bias, x.dtype()));
}

/// Padding by name: 'same' pads so that the size stays, one more at the end where the total is odd.
Tensor convolveNamed(const char* op, std::size_t n, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     DimsRef stride, std::string_view padding, DimsRef dilation, std::int64_t groups) {
  if (padding != "valid" && padding != "same") fail(op, ": Invalid padding string: '", padding, "'");
  Conv c(op, n, stride, Dims{0}, dilation, groups);
  if (padding == "valid") return convolve(c, x, weight, bias, true);
  for (auto s : c.stride)
    if (s != 1) fail(op, ": padding='same' is not supported for strided convolutions");
  c.checkOperands(x, weight, bias, false, true);
  Dims more;
  bool odd = false;
  for (std::size_t d = n; d-- > 0;) {
    std::int64_t total = c.reach(weight, d) - 1;
    c.padding[d] = total / 2;
    more.push_back(0);
    more.push_back(total % 2);
    odd = odd || total % 2 != 0;
  }
  if (odd) {
    warnOnce("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
             "input be created.");
  }
  return convolve(c, odd ? pad(x, more, "constant", 0.0) : x, weight, bias, true);
}

/// Depths [N, D, O, KD, ...] added where a transposed kernel puts them, into [N, O, L, ...].
Tensor placedDepths(const Conv& c, const Tensor& parts, std::int64_t length) {
  std::int64_t depths = parts.size(1);
  Dims shape{parts.size(0), parts.size(2), length, parts.size(4), parts.size(5)};
  Tensor sum;
  if (c.channelsLast)
    sum = permute(zeros(Dims{shape[0], shape[2], shape[3], shape[4], shape[1]}, parts.dtype()), Dims{0, 4, 1, 2, 3});
  else
    sum = oneEach(zeros(shape, parts.dtype()), parts);
  for (std::int64_t k = 0; k < parts.size(3); ++k) {
    std::int64_t first = k * c.dilation[0];
    Tensor window = slice(sum, 2, first, first + (depths - 1) * c.stride[0] + 1, c.stride[0]);
    applyInto(window, OpCode::add, {window, transpose(select(parts, 3, k), 1, 2)});
  }
  return firstSeen(sum);
}

Tensor convolveTransposed(Conv c, const Tensor& input, const Tensor& weight, const Tensor& bias,
                          DimsRef outputPadding) {
  c.checkOperands(input, weight, bias, true, true);
  Batched batch(input, static_cast<std::int64_t>(c.n) + 2);
  const Tensor& x = batch.x;
  c.see(x, weight, bias);
  Dims more = spatialList(c.op, "output_padding", outputPadding, c.n);
  Dims size{x.size(0), weight.size(1) * c.groups};
  for (std::size_t d = 0; d < c.n; ++d) {
    if (more[d] < 0 || more[d] >= std::max(c.stride[d], c.dilation[d]))
      fail(c.op, ": output padding must be smaller than either stride or dilation, but got output_padding ",
           shapeText(more), ", stride ", shapeText(c.stride), ", dilation ", shapeText(c.dilation));
    std::int64_t apart = sizeProduct(c.op, x.shape()[2 + d] - 1, c.stride[d]);
    const std::int64_t whole = sizeSum(c.op, apart, c.reach(weight, d));
    size.push_back(c.padding[d] <= whole / 2 + more[d] ? whole - 2 * c.padding[d] + more[d] : 0);
    if (size.back() <= 0)
      fail(c.op, ": Given input size per channel: ", shapeText(DimsRef(x.shape()).subspan(2)),
           ". Calculated output size per channel: ", shapeText(DimsRef(size).subspan(2)), ". Output size is too small");
  }
  Tensor y;
  if (c.n == 1) {
    Dims planes{size[0], size[1], 1, size[2]};
    y = c.inputGrad(unsqueeze(x, -2), unsqueeze(weight, -2), planes);
    y = squeeze_dims(y, Dims{-2});
  } else if (c.n == 2) {
    y = c.inputGrad(x, weight, size);
  } else {
    std::int64_t depths = x.size(2);
    std::int64_t kernel = weight.size(2);
    Tensor images = reshape(transpose(x, 1, 2), Dims{x.size(0) * depths, x.size(1), x.size(3), x.size(4)});
    Dims planes{images.size(0), size[1] * kernel, size[3], size[4]};
    Tensor parts = c.inputGrad(images, depthsAsChannels(weight), planes);
    parts = view(parts, Dims{x.size(0), depths, size[1], kernel, size[3], size[4]});
    // All depths that are reached, of which the padding takes some and the output padding may go beyond.
    std::int64_t length = (depths - 1) * c.stride[0] + c.reach(weight, 0);
    y = narrow(placedDepths(c, parts, std::max(length, c.padding[0] + size[2])), 2, c.padding[0], size[2]);
    y = c.volumes(y);
  }
  return batch.undo(withBias(y, bias, x.dtype()));
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, DimsRef padding,
              DimsRef dilation, std::int64_t groups) {
  return convolve(Conv("conv1d", 1, stride, padding, dilation, groups), x, weight, bias);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, DimsRef padding,
              DimsRef dilation, std::int64_t groups) {
  return convolve(Conv("conv2d", 2, stride, padding, dilation, groups), x, weight, bias);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, DimsRef padding,
              DimsRef dilation, std::int64_t groups) {
  return convolve(Conv("conv3d", 3, stride, padding, dilation, groups), x, weight, bias);
}

Tensor conv1d_named(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, std::string_view padding,
                    DimsRef dilation, std::int64_t groups) {
  return convolveNamed("conv1d", 1, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d_named(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, std::string_view padding,
                    DimsRef dilation, std::int64_t groups) {
  return convolveNamed("conv2d", 2, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d_named(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, std::string_view padding,
                    DimsRef dilation, std::int64_t groups) {
  return convolveNamed("conv3d", 3, x, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, DimsRef padding,
                        DimsRef outputPadding, std::int64_t groups, DimsRef dilation) {
  return convolveTransposed(Conv("conv_transpose1d", 1, stride, padding, dilation, groups), x, weight, bias,
                            outputPadding);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, DimsRef padding,
                        DimsRef outputPadding, std::int64_t groups, DimsRef dilation) {
  return convolveTransposed(Conv("conv_transpose2d", 2, stride, padding, dilation, groups), x, weight, bias,
                            outputPadding);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, DimsRef stride, DimsRef padding,
                        DimsRef outputPadding, std::int64_t groups, DimsRef dilation) {
  return convolveTransposed(Conv("conv_transpose3d", 3, stride, padding, dilation, groups), x, weight, bias,
                            outputPadding);
}

}  // namespace tandem::ops
