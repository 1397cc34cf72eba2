// Interpolation, reading at places, and channels as pixels.
#include <array>
#include <optional>

#include "eager/composites/spatial.h"
#include "eager/dispatch.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/memory_format.h"
#include "runtime/lib/grid_modes.h"
#include "runtime/lib/pool/taps.h"

namespace tandem::ops {
namespace {

using lib::Interpolation;

Interpolation interpolationOf(std::string_view mode, bool antialias) {
  if (mode == "nearest") return Interpolation::Nearest;
  if (mode == "nearest-exact") return Interpolation::NearestExact;
  if (mode == "linear" || mode == "bilinear" || mode == "trilinear")
    return antialias ? Interpolation::SmoothLinear : Interpolation::Linear;
  if (mode == "bicubic") return antialias ? Interpolation::SmoothCubic : Interpolation::Cubic;
  fail<NotImplementedError>("upsample: Input Error: Only modes (nearest | linear | bilinear | bicubic | trilinear | "
                            "area | nearest-exact) are supported, got ",
                            mode);
}

/// The positions start, start + step ...
struct Every {
  std::int64_t start, step;
};
/// Which positions the nearest ones are, if they are each n-th of a dim and the arithmetic of places is exact.
std::optional<Every> everyNth(std::int64_t in, std::int64_t out, double ratio, std::int64_t kind) {
  constexpr std::int64_t kExact = std::int64_t{1} << 22;
  if (in % out != 0 || in > kExact) return {};
  const std::int64_t step = in / out;
  if (ratio > 0 && 1 / ratio != static_cast<double>(step)) return {};
  return Every{kind == static_cast<std::int64_t>(Interpolation::Nearest) ? 0 : step / 2, step};
}

}  // namespace

Tensor upsample_to(const Tensor& x, DimsRef size, std::string_view mode, bool alignCorners, bool antialias,
                   double ratio0, double ratio1, double ratio2) {
  auto n = static_cast<std::int64_t>(size.size());
  if (x.dim() != n + 2 || n < 1 || n > 3)
    fail("Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of ",
         x.dim() - 2, " and output size of ", shapeText(size));
  for (std::int64_t d = 0; d < n; ++d)
    if (x.size(2 + d) <= 0 || size[d] <= 0)
      fail("Input and output sizes should be greater than 0, but got input ", shapeText(x.shape()), " and output size ",
           shapeText(size));
  // Before lists of as many places as a dim gets are made.
  std::int64_t bytes = x.size(0) * x.size(1) * static_cast<std::int64_t>(itemSize(x.dtype()));
  for (const auto s : size)
    if (__builtin_mul_overflow(bytes, s, &bytes))
      fail("Storage size calculation overflowed with sizes=", shapeText(size), " for input ", shapeText(x.shape()));
  if (mode == "area")
    return n == 1 ? adaptive_avg_pool1d(x, size) : n == 2 ? adaptive_avg_pool2d(x, size) : adaptive_avg_pool3d(x, size);
  auto kind = static_cast<std::int64_t>(interpolationOf(mode, antialias));
  if (x.dtype() == DType::UInt8 && (mode == "linear" || mode == "trilinear"))
    fail<NotImplementedError>("interpolate not implemented for 'uint8' in mode '", mode,
                              "': 'bilinear' and 'bicubic' take it");
  std::array<double, 3> ratios{ratio0, ratio1, ratio2};
  // Spatial dims begin at `first`.
  auto resized = [&](const Tensor& t, std::int64_t first) {
    // Where positions are dropped, not added up, the first dim drops the longest runs, and the others read what is
    // left.
    const bool drops = kind <= static_cast<std::int64_t>(Interpolation::NearestExact) &&
                       numelOf(size) <= numelOf(DimsRef(x.shape()).subspan(2));
    // Sums of half types are rounded behind the last dim; where elements are repeated those are sums of gradients.
    const bool sums =
        kind > static_cast<std::int64_t>(Interpolation::NearestExact) || (!drops && gradEnabled() && t.requiresGrad());
    Tensor y = n > 1 && sums ? widened(t) : t;
    bool resampled = false;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t d = drops ? k : n - 1 - k;
      const std::int64_t in = x.size(2 + d);
      const double ratio = ratios[static_cast<std::size_t>(d)];
      if (size[d] == in && (ratio == 0 || ratio == 1)) continue;
      if (const auto every = everyNth(in, size[d], ratio, kind); drops && every) {
        y = slice(y, first + d, every->start, in, every->step);
        continue;
      }
      resampled = true;
      y = resample(y, Scalar(ratio), first + d, size[d], kind, alignCorners);
    }
    y = toDType(y, x.dtype());
    return resampled ? y : y.isContiguous() ? clone(y) : contiguous(y);
  };
  // Channels that lie beside each other are taken together where there are enough of them.
  constexpr std::int64_t kManyChannels = 8;
  const MemoryFormat format = formatOf(x);
  if (format != MemoryFormat::Contiguous && x.size(1) < kManyChannels)
    return copyIn(resized(x, 2), format, x.dtype(), "interpolate");
  return inChannelOrder(x, resized);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode, std::string_view padding,
                   bool alignCorners) {
  std::int64_t n = input.dim() - 2;
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    fail<ValueError>("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '",
                     mode, "'");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    fail<ValueError>(
        "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '",
        padding, "'");
  if ((n != 2 && n != 3) || grid.dim() != input.dim())
    fail("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ",
         shapeText(input.shape()), " and grid with sizes ", shapeText(grid.shape()));
  if (input.dtype() != grid.dtype() || !isFloating(input.dtype()))
    fail("grid_sampler(): expected input and grid to have the same floating dtype, but input has ",
         dtypeClassName(input.dtype()), " and grid has ", dtypeClassName(grid.dtype()));
  if (input.size(0) != grid.size(0))
    fail("grid_sampler(): expected grid and input to have same batch size, but got input with sizes ",
         shapeText(input.shape()), " and grid with sizes ", shapeText(grid.shape()));
  if (grid.size(-1) != n)
    fail("grid_sampler(): expected grid to have size ", n, " in last dimension, but got grid with sizes ",
         shapeText(grid.shape()));
  if (mode == "bicubic" && n == 3) fail("grid_sampler(): bicubic interpolation only supports 4D input");
  if (input.dtype() != grid.dtype())
    fail("grid_sampler(): expected input and grid to have same dtype, but input has ", dtypeName(input.dtype()),
         " and grid has ", dtypeName(grid.dtype()));
  for (std::int64_t d = 0; d < n; ++d)
    if (input.size(2 + d) == 0)
      fail("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
           shapeText(input.shape()), " with dimension ", 2 + d, " being empty");

  const GridMode chosen = mode == "bilinear"  ? GridMode::Linear
                          : mode == "nearest" ? GridMode::Nearest
                                              : GridMode::Cubic;
  const GridPadding outside = padding == "zeros"    ? GridPadding::Zeros
                              : padding == "border" ? GridPadding::Border
                                                    : GridPadding::Reflection;
  return grid_sample_plain(input, grid, static_cast<std::int64_t>(chosen), static_cast<std::int64_t>(outside),
                           alignCorners);
}

Tensor affine_grid(const Tensor& theta, DimsRef size, bool alignCorners) {
  auto n = static_cast<std::int64_t>(size.size()) - 2;
  if (n != 2 && n != 3)
    fail<NotImplementedError>("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                              "respectively. Got size ",
                              shapeText(size));
  if (!isFloating(theta.dtype()))
    fail<ValueError>("Expected theta to have floating point type, but got ", dtypeName(theta.dtype()));
  if (theta.dim() != 3 || theta.size(1) != n || theta.size(2) != n + 1 || theta.size(0) != size[0])
    fail<ValueError>("Expected a batch of ", n, "D affine matrices of shape Nx", n, "x", n + 1, " for size ",
                     shapeText(size), ". Got ", shapeText(theta.shape()), ".");
  for (auto s : size)
    if (s <= 0) fail<ValueError>("Expected non-zero, positive output size. Got ", shapeText(size));
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    Dims out{size[0]};
    out.append(size.begin() + 2, size.end());
    out.push_back(n);
    result[0] = reshape(matmul(affine_grid_base(theta, size, alignCorners), transpose(theta, 1, 2)), out);
  }
  const Operand operands[] = {theta};
  AttrWriter attrs;
  attrs.list(size);
  attrs.boolean(alignCorners);
  tapeWhole(OpCode::affine_grid, operands, attrs.span(), result);
  return result[0];
}

Tensor affine_grid_base(const Tensor& like, DimsRef size, bool alignCorners) {
  const DimsRef spatial = size.subspan(2);
  std::vector<Tensor> coordinates;
  for (std::size_t d = spatial.size(); d-- > 0;) {
    auto count = static_cast<double>(spatial[d]);
    Tensor x =
        spatial[d] > 1 ? linspace(Scalar(-1.0), Scalar(1.0), spatial[d], like.dtype()) : zeros(Dims{1}, like.dtype());
    if (!alignCorners) x = mul(x, (count - 1) / count);
    Dims shape(spatial.size(), 1);
    shape[d] = spatial[d];
    coordinates.push_back(expand(reshape(x, shape), spatial));
  }
  coordinates.push_back(ones(spatial, like.dtype()));
  return reshape(stack(coordinates, -1), Dims{1, -1, static_cast<std::int64_t>(coordinates.size())});
}

// ---- channels as pixels ---------------------------------------------------------------------------------------------

Tensor pixel_shuffle(const Tensor& x, std::int64_t factor) {
  if (x.dim() < 3)
    fail("pixel_shuffle expects input to have at least 3 dimensions, but got input with ", x.dim(), " dimension(s)");
  if (factor <= 0) fail("pixel_shuffle expects a positive upscale_factor, but got ", factor);
  std::int64_t channels = x.size(-3);
  std::int64_t square = 0;
  if (__builtin_mul_overflow(factor, factor, &square))
    fail("pixel_shuffle: the square of upscale_factor ", factor, " is too large");
  if (channels % square != 0)
    fail("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
         "input.size(-3)=",
         channels, " is not divisible by ", square);
  std::int64_t h = x.size(-2);
  std::int64_t w = x.size(-1);
  Dims lead(x.shape().begin(), x.shape().end() - 3);
  auto batch = numelOf(lead);
  std::int64_t out = channels / square;
  // Channels that lie beside each other stay so, as in PyTorch.
  if (formatOf(x) == MemoryFormat::ChannelsLast)
    return laidOut(x, Dims{0, 2, 3, 1}, [&](const Tensor& t) {
      const Tensor split = reshape(t, Dims{batch, h, w, out, factor, factor});
      return reshape(permute(split, Dims{0, 1, 4, 2, 5, 3}), Dims{batch, h * factor, w * factor, out});
    });
  Tensor y = permute(reshape(x, Dims{batch, out, factor, factor, h, w}), Dims{0, 1, 4, 2, 5, 3});
  for (auto n : {out, h * factor, w * factor}) lead.push_back(n);
  return reshape(y, lead);
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor) {
  if (x.dim() < 3)
    fail("pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", x.dim(), " dimension(s)");
  if (factor <= 0) fail("pixel_unshuffle expects a positive downscale_factor, but got ", factor);
  std::int64_t h = x.size(-2);
  std::int64_t w = x.size(-1);
  if (h % factor != 0 || w % factor != 0)
    fail("pixel_unshuffle expects ", h % factor != 0 ? "height" : "width",
         " to be divisible by downscale_factor, but input.size(", h % factor != 0 ? -2 : -1,
         ")=", h % factor != 0 ? h : w, " is not divisible by ", factor);
  std::int64_t channels = x.size(-3);
  Dims lead(x.shape().begin(), x.shape().end() - 3);
  auto batch = numelOf(lead);
  if (formatOf(x) == MemoryFormat::ChannelsLast)
    return laidOut(x, Dims{0, 2, 3, 1}, [&](const Tensor& t) {
      const Tensor split = reshape(t, Dims{batch, h / factor, factor, w / factor, factor, channels});
      return reshape(permute(split, Dims{0, 1, 3, 5, 2, 4}),
                     Dims{batch, h / factor, w / factor, channels * factor * factor});
    });
  Tensor y = permute(reshape(x, Dims{batch, channels, h / factor, factor, w / factor, factor}), Dims{0, 1, 3, 5, 2, 4});
  for (auto n : {channels * factor * factor, h / factor, w / factor}) lead.push_back(n);
  return reshape(y, lead);
}

Tensor channel_shuffle(const Tensor& x, std::int64_t groups) {
  if (x.dim() < 3) fail("channel_shuffle expects input with > 2 dims, but got input with sizes ", shapeText(x.shape()));
  if (groups <= 0) fail("Number of groups to divide channels in must be positive. Value of groups:", groups);
  std::int64_t channels = x.size(1);
  if (channels % groups != 0)
    fail("Number of channels must be divisible by groups. Got ", channels, " channels and ", groups, " groups.");
  if (x.numel() == 0) return clone(x);
  Tensor split = reshape(x, Dims{x.size(0), groups, channels / groups, -1});
  return reshape(transpose(split, 1, 2), x.shape());
}

}  // namespace tandem::ops
