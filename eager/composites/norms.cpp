// Norms and what is made of them. A norm's derivative at 0 is taken as 0, in every dim where there is none.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "runtime/base/pieces.h"

namespace tandem::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// s^(1 / order), whose derivatives at s = 0 are 0. Of a negative order infinite elements alone add up to 0.
Tensor rootOf(const Tensor& s, double order) {
  if (order == 2) return root(s);
  Tensor zero = eq(s, 0);
  return where(zero, order < 0 ? kInf : 0, pow(where(zero, 1, s), 1 / order));
}

Tensor powered(const Tensor& x, double order) {
  Tensor a = abs(x);
  if (order >= 2) return pow(a, order);
  Tensor zero = eq(a, 0);
  return where(zero, order < 0 ? kInf : 0.0, pow(where(zero, 1, a), order));
}

void needElements(const Tensor& x, double order, const std::optional<Dims>& dim) {
  if (x.numel() != 0) return;
  if (!dim || dim->empty())
    fail("linalg.vector_norm cannot compute the ", order, " norm on an empty tensor because the operation does not ",
         "have an identity (shape ", shapeText(x.shape()), ")");
  for (auto d : reductionDims(x, dim))
    if (x.dim() > 0 && x.size(d) == 0)
      fail("linalg.vector_norm cannot compute the ", order, " norm on the dimension ", d,
           " because this dimension is empty and the operation does not have an identity (shape ", shapeText(x.shape()),
           ")");
}

/// The largest of values that are at least 0, in one dim; 0 of none.
Tensor largestIn(const Tensor& values, std::int64_t dim, bool keepdim) {
  return values.size(dim) == 0 ? sum(values, Dims{dim}, keepdim) : amax(values, Dims{dim}, keepdim);
}

/// The norm of a tensor that is wide enough to add up. Of one element it is the element's size, whose power may be out
/// of range.
Tensor normOf(const Tensor& x, double order, const std::optional<Dims>& dim, bool keepdim) {
  if (order < 0 || std::isinf(order)) needElements(x, order, dim);
  std::int64_t count = 1;
  for (std::int64_t d : reductionDims(x, dim)) count *= x.size(d);
  if (count == 1 && order != 0) return sum(order == 1 || std::isinf(order) ? abs(x) : norm_plain(x), dim, keepdim);
  if (std::isinf(order)) return order > 0 ? amax(abs(x), dim, keepdim) : amin(abs(x), dim, keepdim);
  if (order == 0) return sum(nonzero_plain(x), dim, keepdim);
  if (order == 1) return sum(abs(x), dim, keepdim);
  if (order == 2) return rootOf(sum(square(x), dim, keepdim), 2);
  return rootOf(sum(powered(x, order), dim, keepdim), order);
}

Dims matrixDims(const Tensor& x, const std::optional<Dims>& dim) {
  Dims dims = dim.value_or(Dims{-2, -1});
  if (dims.size() != 2) fail("linalg.matrix_norm: dim must be a 2-tuple. Got ", shapeText(dims));
  if (x.dim() < 2) fail("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  for (auto& d : dims) d = wrapDim(d, x.dim());
  if (dims[0] == dims[1]) fail("linalg.matrix_norm: dims must be different. Got (", dims[0], ", ", dims[1], ")");
  return dims;
}

/// The singular values of the matrices in two dims, in a last dim.
Tensor singularValues(const Tensor& x, const Dims& dims) { return linalg_svdvals(movedim(x, dims, Dims{-2, -1}), {}); }

/// What is left of the singular values, with the dims they came from kept as ones or dropped.
Tensor kept(const Tensor& value, Dims dims, bool keepdim) {
  if (!keepdim) return value;
  std::sort(dims.begin(), dims.end());
  return unsqueeze(unsqueeze(value, dims[0]), dims[1]);
}

Tensor nuclear(const Tensor& x, const Dims& dims, bool keepdim) {
  return kept(sum(singularValues(x, dims), Dims{-1}), dims, keepdim);
}

/// `x` in the dtype that `op` adds it up in, which is to hold all of its numbers.
Tensor summable(const char* op, const Tensor& x, std::optional<DType> dtype) {
  if (!isFloating(x.dtype()))
    fail(op, ": Expected a floating point or complex tensor as input. Got ", dtypeClassName(x.dtype()));
  if (!dtype) return x;
  if (!isFloating(*dtype)) fail(op, ": dtype should be floating point or complex, but got ", dtypeClassName(*dtype));
  if (promoteTypes(x.dtype(), *dtype) != *dtype)
    fail(op, ": the dtype of the input (", dtypeClassName(x.dtype()),
         ") should be convertible without narrowing to the specified dtype (", dtypeClassName(*dtype), ")");
  return toDType(x, *dtype);
}

}  // namespace

Tensor norm(const Tensor& x, std::optional<double> p, const std::optional<Dims>& dim, bool keepdim,
            std::optional<DType> dtype) {
  Tensor in = summable("linalg.vector_norm", x, dtype);
  FusedScope fused(fusedElements(in, dim));
  Tensor wide = isHalf(in.dtype()) ? toDType(in, DType::Float32) : in;
  return toDType(normOf(wide, p.value_or(2), dim, keepdim), in.dtype());
}
Tensor norm_named(const Tensor& x, std::string_view p, const std::optional<Dims>& dim, bool keepdim,
                  std::optional<DType> dtype) {
  if (p == "fro") return norm(x, 2.0, dim, keepdim, dtype);
  if (p != "nuc") fail("norm: Order ", p, " not supported.");
  Tensor in = summable("linalg.matrix_norm", x, dtype);
  if (dim && dim->size() != 2) fail("linalg.matrix_norm: dim must be a 2-tuple. Got ", shapeText(*dim));
  return nuclear(in, matrixDims(in, dim), keepdim);
}

Tensor vector_norm(const Tensor& x, double order, const std::optional<Dims>& dim, bool keepdim,
                   std::optional<DType> dtype) {
  return norm(x, order, dim, keepdim, dtype);
}
Tensor matrix_norm(const Tensor& x, std::string_view order, const std::optional<Dims>& dim, bool keepdim,
                   std::optional<DType> dtype) {
  Dims dims = matrixDims(x, dim);
  if (order != "fro" && order != "nuc") fail("linalg.matrix_norm: Order ", order, " not supported.");
  Tensor in = summable("linalg.matrix_norm", x, dtype);
  return order == "fro" ? norm(in, 2.0, dims, keepdim, {}) : nuclear(in, dims, keepdim);
}
Tensor matrix_norm_of(const Tensor& x, double order, const std::optional<Dims>& dim, bool keepdim,
                      std::optional<DType> dtype) {
  Dims dims = matrixDims(x, dim);
  double size = std::abs(order);
  if (size != 1 && size != 2 && size != kInf) fail("linalg.matrix_norm: Order ", order, " not supported.");
  Tensor in = summable("linalg.matrix_norm", x, dtype);
  if (size == 2) {
    Tensor s = singularValues(in, dims);
    return kept(order > 0 ? largestIn(s, -1, false) : amin(s, Dims{-1}), dims, keepdim);
  }
  // Sums of columns for 1, of rows for infinity; then over the other dim.
  std::int64_t summed = size == 1 ? dims[0] : dims[1];
  std::int64_t other = size == 1 ? dims[1] : dims[0];
  FusedScope fused(in);
  Tensor sums = sum(abs(in), Dims{summed}, true);
  Tensor value = order > 0 ? largestIn(sums, other, true) : amin(sums, Dims{other}, true);
  return keepdim ? value : squeeze_dims(value, dims);
}
Tensor linalg_norm(const Tensor& x, std::optional<double> order, const std::optional<Dims>& dim, bool keepdim,
                   std::optional<DType> dtype) {
  if (!order || (dim && dim->size() == 1)) return norm(x, order, dim, keepdim, dtype);
  if (dim) return matrix_norm_of(x, *order, dim, keepdim, dtype);
  if (x.dim() > 2)
    fail("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", x.dim(), "D.");
  return x.dim() == 2 ? matrix_norm_of(x, *order, {}, keepdim, dtype) : norm(x, order, {}, keepdim, dtype);
}
Tensor linalg_norm_named(const Tensor& x, std::string_view order, const std::optional<Dims>& dim, bool keepdim,
                         std::optional<DType> dtype) {
  if (!dim && x.dim() != 2)
    fail("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", x.dim(), "D.");
  return matrix_norm(x, order, dim, keepdim, dtype);
}

Tensor dist(const Tensor& x, const Tensor& y, double p) {
  FusedScope fused(x);
  return norm(sub(x, y), p);
}

/// The sum over a short row takes longer than its elements do: of so many rows, sums are taken side by side.
static bool acrossRows(std::int64_t rows, std::int64_t size) {
  constexpr std::int64_t kShortRow = 64;
  constexpr std::int64_t kManyRows = 16;
  return size > 0 && size <= kShortRow && rows >= kManyRows;
}

static Tensor turnedIf(bool across, const Tensor& rows) { return across ? contiguous(transpose(rows, -1, -2)) : rows; }

/// The norms of the differences between rows of x [..., P, M] and of y [..., R, M]: [..., P, R].
static Tensor normsBetween(const Tensor& x, const Tensor& y, double p, bool across) {
  const Tensor left = turnedIf(across, x), right = turnedIf(across, y);
  Tensor apart = sub(unsqueeze(left, across ? -1 : -2), unsqueeze(right, across ? -2 : -3));
  const std::int64_t summed = across ? -3 : -1;
  return norm(apart, apart.size(summed) == 0 ? 1 : p, Dims{summed});
}

Tensor row_distances(const Tensor& x, const Tensor& y, std::int64_t order, bool across) {
  std::array<Tensor, 1> result;
  {
    NoGrad off;
    result[0] = normsBetween(x, y, order == 0 ? kInf : static_cast<double>(order), across);
  }
  const Operand operands[] = {x, y};
  const std::int64_t attrs[] = {order, static_cast<std::int64_t>(across)};
  tapeWhole(OpCode::row_distances, operands, attrs, result);
  return result[0];
}

/// The same of half types too, which are rounded once. Of usual norms the tape keeps no differences, which are many
/// more than rows and distances.
static Tensor distancesOf(const Tensor& x, const Tensor& y, double p, bool across) {
  const Tensor left = widened(x), right = widened(y);
  Tensor found;
  if (x.size(-1) > 0 && (p == 1 || p == 2 || p == kInf)) {
    found = row_distances(left, right, p == kInf ? 0 : static_cast<std::int64_t>(p), across);
  } else {
    const Tensor both[] = {left, right};
    found = normsBetween(left, right, p, across);
    if (p == 0) found = constantIn(detached(found), both);
  }
  return toDType(found, x.dtype());
}

Tensor cdist(const Tensor& x, const Tensor& y, double p, std::optional<std::string_view> mode) {
  if (x.dim() < 2) fail("cdist only supports at least 2D tensors, X1 got: ", x.dim(), "D");
  if (y.dim() < 2) fail("cdist only supports at least 2D tensors, X2 got: ", y.dim(), "D");
  if (x.size(-1) != y.size(-1))
    fail("X1 and X2 must have the same number of columns. X1: ", x.size(-1), " X2: ", y.size(-1));
  needSameDType("cdist", x, y);
  if (p < 0) fail("cdist only supports non-negative p values");
  bool usually = !mode || *mode == "use_mm_for_euclid_dist_if_necessary";
  bool always = mode && *mode == "use_mm_for_euclid_dist";
  if (!usually && !always && *mode != "donot_use_mm_for_euclid_dist")
    fail<ValueError>(*mode, " is not a valid value for compute_mode");
  if (p == 2 && (always || (usually && (x.size(-2) > 25 || y.size(-2) > 25)))) {
    // |x - y|^2 = |x|^2 + |y|^2 - 2 x y, which cancels for near points and may end below 0.
    FusedScope fused(x.size(-2) * y.size(-2));
    Tensor xx = sum(square(x), Dims{-1}, true);
    Tensor yy = transpose(sum(square(y), Dims{-1}, true), -2, -1);
    Tensor products = matmul(mul(x, -2), transpose(y, -2, -1));
    return rootOf(clamp_min(add(add(products, xx), yy), Operand(0)), 2);
  }
  FusedScope fused(x.numel() * y.size(-2));
  return distancesOf(x, y, p, acrossRows(y.size(-2), y.size(-1)));
}

Tensor normalize(const Tensor& x, double p, DimsRef dim, double eps) {
  FusedScope fused(x);
  return div(x, clamp_min(norm(x, p, Dims(dim), true), Operand(eps)));
}

Tensor renorm(const Tensor& x, double p, std::int64_t dim, double most) {
  if (x.dim() < 2) fail("renorm: input needs at least 2 dimensions, got ", x.dim(), " dimensions");
  if (!(p > 0)) fail("renorm: non-positive-norm not supported");
  if (!(most >= 0)) fail("renorm: expected maxnorm to be >= 0 but got ", most);
  dim = wrapDim(dim, x.dim());
  Dims others;
  for (std::int64_t d = 0; d < x.dim(); ++d)
    if (d != dim) others.push_back(d);
  Tensor length = norm(x, p, others, true);
  Tensor factor = where(gt(length, most), div(most, add(length, 1e-7)), 1.0);
  return mul(x, toDType(factor, x.dtype()));
}

Tensor pdist(const Tensor& x, double p) {
  if (x.dim() != 2) fail("pdist only supports 2D tensors, got: ", x.dim(), "D");
  if (!isFloating(x.dtype())) fail("pdist only supports floating-point dtypes");
  if (p < 0) fail("pdist only supports non-negative p values");
  std::int64_t n = x.size(0);
  if (n < 2) return constantIn(zeros(Dims{0}, x.dtype()), {&x, 1});
  // A few rows with all that follow the first of them at a time, of which those after each row are kept.
  FusedScope fused(n * (n - 1) / 2 * x.size(1));
  constexpr std::int64_t kBlocks = 8;
  constexpr std::int64_t kLeastElements = std::int64_t{1} << 20;  // less than a block takes beside them
  const bool across = acrossRows(n, x.size(1));
  // Once what every block would do to its rows.
  const Tensor rows = across ? transpose(contiguous(transpose(x, 0, 1)), 0, 1) : contiguous(x);
  auto some = [&](std::int64_t at, std::int64_t count) { return narrow(rows, 0, at, count); };
  const std::int64_t least = std::max<std::int64_t>(kLeastElements / (n * std::max<std::int64_t>(x.size(1), 1)), 1);
  const std::int64_t most = std::max((n - 1 + kBlocks - 1) / kBlocks, least);
  std::vector<Tensor> blocks;
  for (std::int64_t at = 0; at < n - 1; at += most) {
    const std::int64_t count = std::min(most, n - 1 - at);
    const std::int64_t others = n - 1 - at;
    Tensor found = distancesOf(some(at, count), some(at + 1, others), p, across);
    PieceList after;
    for (std::int64_t i = 0; i < count; ++i) after.push_back({i * others + i, 1, others - i});
    blocks.push_back(take_pieces(reshape(found, Dims{count * others}), 0, packPieces({after})));
  }
  return blocks.size() == 1 ? blocks[0] : cat(blocks, 0);
}

Tensor frobenius_norm(const Tensor& x, const std::optional<Dims>& dim, bool keepdim) {
  if (dim && dim->size() > 2) fail("Expected at most 2 dimensions, but got ", dim->size(), " dimensions instead.");
  return norm(x, 2.0, dim, keepdim);
}

}  // namespace tandem::ops
