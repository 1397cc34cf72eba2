// Padding, and the windows of images as columns.
#include <algorithm>
#include <limits>
#include <vector>

#include "eager/batch.h"
#include "eager/composites/spatial.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/memory_format.h"
#include "eager/number_range.h"
#include "runtime/base/pieces.h"

namespace tandem::ops {
namespace {

struct Counts {
  std::int64_t before, after;
};

/// `x` without what negative counts of `dim` take off.
Tensor cropped(const Tensor& x, std::int64_t dim, Counts c) {
  std::int64_t first = std::max<std::int64_t>(0, -c.before);
  std::int64_t last = x.size(dim) - std::max<std::int64_t>(0, -c.after);
  return first == 0 && last == x.size(dim) ? x : slice(x, dim, first, last, 1);
}

/// Error unless something, or nothing at all, is left of each dim.
void needRoom(const Tensor& x, DimsRef counts) {
  for (std::size_t i = 0; i < counts.size() / 2; ++i) {
    const std::int64_t dim = x.dim() - 1 - static_cast<std::int64_t>(i);
    const auto [before, after] = Counts{counts[2 * i], counts[2 * i + 1]};
    if (sizeSum("pad", sizeSum("pad", x.size(dim), before), after) < 0 || before < -x.size(dim) || after < -x.size(dim))
      fail("The input size ", x.size(dim), ", plus negative padding ", before, " and ", after,
           ", resulted in a negative output size, which is invalid. Check dimension ", dim, " of your input.");
  }
}

Tensor padConstant(const Tensor& x, DimsRef counts, Scalar value) {
  Dims shape = x.shape();
  Tensor inner = x;
  bool grows = false;
  auto of = [&](std::size_t i) { return Counts{counts[2 * i], counts[2 * i + 1]}; };
  for (std::size_t i = 0; i < counts.size() / 2; ++i) {
    std::int64_t dim = x.dim() - 1 - static_cast<std::int64_t>(i);
    auto [before, after] = of(i);
    shape[dim] += before + after;
    inner = cropped(inner, dim, of(i));
    grows = grows || before > 0 || after > 0;
  }
  if (!grows) return clone(inner);
  Tensor out = oneEach(full(shape, value, x.dtype()), x);
  Tensor window = out;
  for (std::size_t i = 0; i < counts.size() / 2; ++i) {
    std::int64_t dim = x.dim() - 1 - static_cast<std::int64_t>(i);
    window = narrow(window, dim, std::max<std::int64_t>(0, of(i).before), inner.size(dim));
  }
  assign(window, inner);
  return firstSeen(out);
}

/// Without the places that negative counts take off the ends.
PieceList cropped(const PieceList& pieces, Counts c) {
  std::int64_t first = std::max<std::int64_t>(0, -c.before);
  std::int64_t last = countOf(pieces) - std::max<std::int64_t>(0, -c.after);
  PieceList kept;
  for (const Piece& p : pieces) {
    std::int64_t from = std::clamp<std::int64_t>(first, 0, p.count);
    std::int64_t to = std::clamp<std::int64_t>(last, from, p.count);
    kept.push_back({p.start + from * p.step, p.step, to - from});
    first -= p.count;
    last -= p.count;
  }
  return kept;
}

// The places of one dim, those of the padding among them.
PieceList reflected(const Tensor& x, std::int64_t dim, Counts c) {
  std::int64_t n = x.size(dim);
  if (c.before >= n || c.after >= n)
    fail("Padding size should be less than the corresponding input dimension, but got: padding (", c.before, ", ",
         c.after, ") at dimension ", dim, " of input ", shapeText(x.shape()));
  std::int64_t before = std::max<std::int64_t>(c.before, 0);
  return cropped({{before, -1, before}, {0, 1, n}, {n - 2, -1, std::max<std::int64_t>(c.after, 0)}}, c);
}

PieceList replicated(const Tensor& x, std::int64_t dim, Counts c) {
  std::int64_t n = x.size(dim);
  if (n == 0)
    fail("replication_pad: Expected a non-empty dimension ", dim, " to replicate, but got input ",
         shapeText(x.shape()));
  auto times = [](std::int64_t count) { return std::max<std::int64_t>(count, 0); };
  return cropped({{0, 0, times(c.before)}, {0, 1, n}, {n - 1, 0, times(c.after)}}, c);
}

PieceList circular(const Tensor& x, std::int64_t dim, Counts c) {
  std::int64_t size = x.size(dim);
  if (c.before > size || c.after > size) fail("Padding value causes wrapping around more than once.");
  if (size + c.before + c.after < 0) fail("Negative padding value is resulting in an empty dimension");
  std::int64_t start = std::max<std::int64_t>(0, -c.before);
  std::int64_t n = size - start - std::max<std::int64_t>(0, -c.after);
  if (c.before > n || c.after > n) fail("Padding value causes wrapping around more than once.");
  std::int64_t before = std::max<std::int64_t>(c.before, 0);
  return {{start + n - before, 1, before}, {start, 1, n}, {start, 1, std::max<std::int64_t>(c.after, 0)}};
}

}  // namespace

Tensor pad(const Tensor& x, DimsRef counts, std::string_view mode, std::optional<double> value) {
  std::size_t n = counts.size() / 2;
  if (counts.size() % 2 != 0) fail("Padding length must be divisible by 2, but got padding of length ", counts.size());
  if (static_cast<std::int64_t>(n) > x.dim())
    fail("Padding length should be less than or equal to two times the input dimension but got padding length ",
         counts.size(), " and input of dimension ", x.dim());
  if (mode == "constant") {
    double v = value.value_or(0.0);
    needHeld("pad", x.dtype(), v);
    needRoom(x, counts);
    const Scalar filled = isFloating(x.dtype())      ? Scalar(v)
                          : x.dtype() == DType::Bool ? Scalar(v != 0)
                                                     : Scalar(static_cast<std::int64_t>(v));
    return inChannelOrder(x, [&](const Tensor& t, std::int64_t first) {
      if (first == 2) return padConstant(t, counts, filled);
      const auto spatial = 2 * static_cast<std::size_t>(x.dim() - 2);
      Dims all = counts.size() > spatial ? Dims{counts[spatial], counts[spatial + 1]} : Dims{0, 0};
      const DimsRef within = counts.first(std::min(counts.size(), spatial));
      all.append(within.begin(), within.end());
      if (counts.size() > spatial + 2)
        all.append(counts.begin() + static_cast<std::ptrdiff_t>(spatial + 2), counts.end());
      return padConstant(t, all, filled);
    });
  }
  if (mode != "reflect" && mode != "replicate" && mode != "circular")
    fail<NotImplementedError>("Unrecognised padding mode ", mode);
  if (value && *value != 0) fail<ValueError>("Padding mode \"", mode, "\" doesn't take in value argument");
  if (n == 0 || n > 3 || (x.dim() != static_cast<std::int64_t>(n) + 1 && x.dim() != static_cast<std::int64_t>(n) + 2))
    fail<NotImplementedError>(
        "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, of the last "
        "1 to 3 dims behind one or two others; got padding ",
        shapeText(counts), " for input ", shapeText(x.shape()));
  // Only a batch may be of nothing; 'circular', which joins parts of the input, takes any.
  const auto unbatched = static_cast<std::size_t>(x.dim()) - n - 1;
  const auto sizes = DimsRef(x.shape()).subspan(unbatched);
  if (mode != "circular" && std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    fail("Expected ", n + 1, "D or ", n + 2,
         "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
         shapeText(x.shape()));
  constexpr std::int64_t kMostPadding = std::numeric_limits<std::int64_t>::max();
  auto placesOf = mode == "reflect" ? reflected : mode == "replicate" ? replicated : circular;
  std::vector<PieceList> pieces;
  bool whole = true;
  for (std::size_t i = n; i-- > 0;) {
    std::int64_t dim = x.dim() - 1 - static_cast<std::int64_t>(i);
    Counts c{counts[2 * i], counts[2 * i + 1]};
    if (sizeSum("pad", sizeSum("pad", x.size(dim), c.before), c.after) < 0 || c.before < -kMostPadding ||
        c.after < -kMostPadding)
      fail("pad: padding (", c.before, ", ", c.after, ") leaves nothing of dimension ", dim, " of input ",
           shapeText(x.shape()));
    bool none = c.before == 0 && c.after == 0;
    pieces.push_back(none ? PieceList{{0, 1, x.size(dim)}} : placesOf(x, dim, c));
    whole &= none;
  }
  if (whole) return clone(x);
  const Dims packed = packPieces(pieces);
  if (mode == "circular" || x.dim() != static_cast<std::int64_t>(n) + 2)
    return take_pieces(x, x.dim() - static_cast<std::int64_t>(n), packed);
  return inChannelOrder(x, [&](const Tensor& t, std::int64_t first) { return take_pieces(t, first, packed); });
}

namespace {

struct Columns {
  const char* op;
  Dims kernel, dilation, padding, stride;

  Columns(const char* op_, DimsRef kernel_, DimsRef dilation_, DimsRef padding_, DimsRef stride_)
      : op(op_), kernel(spatialList(op, "kernel_size", kernel_, 2)),
        dilation(spatialList(op, "dilation", dilation_, 2)), padding(spatialList(op, "padding", padding_, 2)),
        stride(spatialList(op, "stride", stride_, 2)) {
    for (int d = 0; d < 2; ++d) {
      if (kernel[d] <= 0) fail(op, ": kernel size should be greater than zero, but got ", shapeText(kernel));
      if (dilation[d] <= 0) fail(op, ": dilation should be greater than zero, but got ", shapeText(dilation));
      if (padding[d] < 0) fail(op, ": padding should be non-negative, but got ", shapeText(padding));
      if (stride[d] <= 0) fail(op, ": stride should be greater than zero, but got ", shapeText(stride));
    }
  }
  /// How many windows fit in (h, w).
  [[nodiscard]] Dims places(DimsRef size) const {
    Dims out;
    for (int d = 0; d < 2; ++d)
      out.push_back(floorDiv(sizeSum(op, size[d], sizeProduct(op, 2, padding[d])) -
                                 sizeProduct(op, dilation[d], kernel[d] - 1) - 1,
                             stride[d]) +
                    1);
    return out;
  }
};

}  // namespace

Tensor nn_unfold(const Tensor& input, DimsRef kernel, DimsRef dilation, DimsRef padding, DimsRef stride) {
  Columns c("unfold", kernel, dilation, padding, stride);
  bool fits = input.dim() == 3 || input.dim() == 4;
  for (std::int64_t d = 1; fits && d <= 3; ++d) fits = input.size(-d) != 0;
  if (!fits)
    fail("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
         "but got: ",
         shapeText(input.shape()));
  Batched batch(input, 4);
  Dims size{batch.x.size(2), batch.x.size(3)};
  Dims places = c.places(size);
  if (places[0] < 1 || places[1] < 1)
    fail("Given input with spatial size ", shapeText(size), ", kernel_size=", shapeText(c.kernel),
         ", dilation=", shapeText(c.dilation), ", padding=", shapeText(c.padding), ", stride=", shapeText(c.stride),
         ", calculated shape of the array of sliding blocks as ", shapeText(places),
         ", but its components must be at least one.");
  return batch.undo(unfold_windows(batch.x, c.kernel, c.dilation, c.padding, c.stride));
}

Tensor nn_fold(const Tensor& input, DimsRef outputSize, DimsRef kernel, DimsRef dilation, DimsRef padding,
               DimsRef stride) {
  Columns c("fold", kernel, dilation, padding, stride);
  Dims size = spatialList("fold", "output_size", outputSize, 2);
  if (size[0] <= 0 || size[1] <= 0) fail("fold: output size should be greater than zero, but got ", shapeText(size));
  bool fits = input.dim() == 2 || input.dim() == 3;
  for (std::int64_t d = 1; fits && d <= 2; ++d) fits = input.size(-d) != 0;
  if (!fits)
    fail("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
         "input, but got: ",
         shapeText(input.shape()));
  std::int64_t block = sizeProduct("fold", c.kernel[0], c.kernel[1]);
  if (input.size(-2) % block != 0)
    fail("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=",
         input.size(-2), " and kernel_size=", shapeText(c.kernel), ".");
  Dims places = c.places(size);
  if (places[0] < 1 || places[1] < 1 || input.size(-1) != places[0] * places[1])
    fail("Given output_size=", shapeText(size), ", kernel_size=", shapeText(c.kernel),
         ", dilation=", shapeText(c.dilation), ", padding=", shapeText(c.padding), ", stride=", shapeText(c.stride),
         ", expected size of input's dimension 2 to match the calculated number of sliding blocks ", places[0], " * ",
         places[1], " = ", places[0] * places[1], ", but got input.size(2)=", input.size(-1), ".");
  Batched batch(input, 3);
  return batch.undo(fold_windows(batch.x, size, c.kernel, c.dilation, c.padding, c.stride));
}

}  // namespace tandem::ops
