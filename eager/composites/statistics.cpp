// Composites of statistics: moments, order statistics, histograms, integrals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "eager/recorder.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

using Pair = std::array<Tensor, 2>;

/// The middle elements of a vector. Ties share the gradient, as `amax` of those that are equal to it.
Tensor medianOf(const Tensor& x, bool ignoreNan) {
  Tensor flat = reshape(x, Dims{-1});
  if (x.numel() == 0) {
    if (!isFloating(x.dtype())) fail("median() operation does not have an identity for empty input tensor");
    return constantIn(full_plain(std::numeric_limits<double>::quiet_NaN(), Dims{}, x.dtype()), {&x, 1});
  }
  Tensor middle = (ignoreNan ? nanmedian_dim(detached(flat), 0, false) : median_dim(detached(flat), 0, false))[0];
  if (!x.requiresGrad() || !gradEnabled()) return middle;
  Tensor ties = logical_or(eq(flat, middle), logical_and(isnan(flat), isnan(middle)));
  return max_all(where(ties, flat, -std::numeric_limits<double>::infinity()));
}

void needOrderable(const char* op, const Tensor& x) {
  if (x.dtype() == DType::Bool) fail<NotImplementedError>("\"", op, "_cpu\" not implemented for 'Bool'");
}

Tensor quantileOf(const char* op, const Tensor& x, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                  std::string_view interpolation, bool ignoreNan) {
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    fail(op, "() input tensor must be either float or double dtype");
  if (q.dtype() != x.dtype()) fail(op, "() q tensor must be same dtype as the input tensor");
  if (q.dim() > 1) fail(op, "() q must be a scalar or 1D tensor");
  if (x.numel() == 0) fail(op, "() input tensor must be non-empty");
  bool between = interpolation == "linear" || interpolation == "midpoint";
  if (!between && interpolation != "lower" && interpolation != "higher" && interpolation != "nearest")
    fail(op, "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", interpolation);
  std::int64_t at = dim ? wrapDim(*dim, x.dim()) : 0;
  bool whole = !dim || x.dim() == 0;
  Tensor lines = whole ? reshape(x, Dims{-1}) : movedim(x, Dims{at}, Dims{-1});
  Tensor sorted = sort(lines, -1, false, true)[0];
  std::int64_t last = lines.size(-1) - 1;

  // Ranks of the quantiles of each line, [..., Q]. A NaN is last in its line, and what the line's quantiles are.
  Tensor inside = within(detached(q), 0, 1);
  Tensor levels = reshape(expected(q, inside, Expectation::QuantileInRange), Dims{-1});
  Tensor rank;
  if (ignoreNan) {
    Tensor most = sub(toDType(sum(logical_not(isnan(detached(lines))), Dims{-1}, true), x.dtype()), 1);
    rank = clamp_min(mul(levels, most), Operand(0));
  } else {
    rank = where(isnan(detached(narrow(sorted, -1, last, 1))), static_cast<double>(last),
                 mul(levels, static_cast<double>(last)));
  }
  auto atRank = [&](const Tensor& r) { return gather(sorted, -1, toDType(detached(r), DType::Int64)); };
  Tensor y;
  if (between) {
    Tensor below = floor(rank);
    Tensor low = atRank(below);
    const Tensor high = atRank(ceil(rank));
    y = interpolation == "linear" ? lerp(low, high, sub(rank, below)) : lerp(low, high, 0.5);
    y = where(eq(rank, below), low, y);
  } else {
    y = atRank(interpolation == "lower" ? floor(rank) : interpolation == "higher" ? ceil(rank) : round_even(rank));
  }

  y = movedim(y, Dims{-1}, Dims{0});
  if (keepdim && whole)
    y = reshape(y, [&] {
      Dims shape(static_cast<std::size_t>(x.dim()) + 1, 1);
      shape[0] = y.size(0);
      return shape;
    }());
  else if (keepdim)
    y = unsqueeze(y, at + 1);
  return q.dim() == 0 ? select(y, 0, 0) : y;
}

Tensor levelOf(const char* op, const Tensor& x, double q) {
  if (!(q >= 0 && q <= 1)) fail(op, "() q must be in the range [0, 1] but got ", q);
  return full_plain(q, Dims{}, x.dtype());
}

/// Areas between neighbours along `dim`, 2-fold.
Tensor twiceMeans(const Tensor& y, std::int64_t dim) {
  std::int64_t n = y.size(dim);
  // The sum of two small integers need not be one.
  const Tensor wide = isFloating(y.dtype()) ? y : toDType(y, DType::Int64);
  return add(narrow(wide, dim, 0, n - 1), narrow(wide, dim, 1, n - 1));
}
/// The widths between the points x, which may be a vector along `dim` of y.
Tensor widths(const char* op, const Tensor& x, const Tensor& y, std::int64_t dim) {
  Tensor points = x;
  if (x.dim() == 1 && y.dim() > 1) {
    if (x.size(0) != y.size(dim))
      fail(op, "(): There must be one `x` value for each sample point. x has size ", x.size(0), ", y has ",
           y.size(dim));
    Dims shape(static_cast<std::size_t>(y.dim()), 1);
    shape[dim] = x.size(0);
    points = reshape(x, shape);
  } else if (x.dim() < y.dim()) {
    Dims shape(static_cast<std::size_t>(y.dim() - x.dim()), 1);
    shape.append(x.shape().begin(), x.shape().end());
    points = reshape(x, shape);
  }
  std::int64_t n = points.size(dim);
  return sub(narrow(points, dim, 1, n - 1), narrow(points, dim, 0, n - 1));
}
void needNumbers(const char* op, const Tensor& y) {
  if (y.dtype() == DType::Bool) fail(op, ": received a bool input for `x` or `y`, but bool is not supported");
}

}  // namespace

Tensor std_flag(const Tensor& x, bool unbiased) { return ops::std(x, {}, Scalar(unbiased ? 1 : 0), false); }

Pair aminmax(const Tensor& x, std::optional<std::int64_t> dim, bool keepdim) {
  if (!dim && x.numel() == 0)
    fail("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  std::optional<Dims> dims;
  if (dim) dims = Dims{*dim};
  FusedScope fused(x);
  return {amin(x, dims, keepdim), amax(x, dims, keepdim)};
}

Tensor nansum(const Tensor& x, const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  if (!isFloating(x.dtype())) return sum(x, dim, keepdim, dtype);
  FusedScope fused(fusedElements(x, dim));
  const RowMajorResults reduced(dim && !dim->empty());
  return sum(where(isnan(x), 0, x), dim, keepdim, dtype);
}
Tensor nanmean(const Tensor& x, const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  if (!isFloating(x.dtype()))
    fail("nanmean(): expected input to have floating point or complex dtype but got ", dtypeClassName(x.dtype()));
  if (dtype && !isFloating(*dtype))
    fail("nanmean(): could not infer output dtype. Optional dtype must be a floating point dtype. Got: ",
         dtypeClassName(*dtype));
  FusedScope fused(fusedElements(x, dim));
  return div(nansum(x, dim, keepdim, dtype), sum(logical_not(isnan(x)), dim, keepdim));
}
Tensor count_nonzero(const Tensor& x, const std::optional<Dims>& dim) {
  FusedScope fused(fusedElements(x, dim));
  return sum(x.dtype() == DType::Bool ? x : ne(x, 0), dim);
}

Tensor median(const Tensor& x) {
  needOrderable("median", x);
  return medianOf(x, false);
}
Tensor nanmedian(const Tensor& x) {
  needOrderable("nanmedian", x);
  return medianOf(x, true);
}

Tensor quantile(const Tensor& x, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantileOf("quantile", x, q, dim, keepdim, interpolation, false);
}
Tensor quantile_at(const Tensor& x, double q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantileOf("quantile", x, levelOf("quantile", x, q), dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantileOf("nanquantile", x, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile_at(const Tensor& x, double q, std::optional<std::int64_t> dim, bool keepdim,
                      std::string_view interpolation) {
  return quantileOf("nanquantile", x, levelOf("nanquantile", x, q), dim, keepdim, interpolation, true);
}

Tensor histc(const Tensor& x, std::int64_t bins, double min, double max) {
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"histogram_cpu\" not implemented for '", dtypeClassName(x.dtype()), "'");
  if (bins <= 0) fail("torch.histc(): bins must be > 0, but got ", bins, " for dimension 0");
  if (!std::isfinite(min) || !std::isfinite(max)) fail("histc: range of [", min, ", ", max, "] is not finite");
  if (min > max) fail("torch.histc: max must be larger than min");
  if (x.numel() == 0) return zeros(Dims{bins}, x.dtype());
  // A half type may not hold the width of the range, nor large counts.
  Tensor flat = widened(detached(reshape(x, Dims{-1})));
  Tensor low = full_plain(min, Dims{}, flat.dtype());
  Tensor high = full_plain(max, Dims{}, flat.dtype());
  if (min == max) {
    Tensor least = amin(flat);
    Tensor most = amax(flat);
    least = expected(least, logical_and(isfinite(least), isfinite(most)), Expectation::HistogramRange);
    Tensor same = eq(least, most);
    low = where(same, sub(least, 1), least);
    high = where(same, add(most, 1), most);
  }
  Tensor place;
  {
    FusedScope fused(flat);
    Tensor position = mul(div(sub(flat, low), sub(high, low)), static_cast<double>(bins));
    Tensor inside = within(flat, low, high);
    // The upper bound belongs to the last bin; what is outside is counted in one more, which is dropped.
    place = clamp_max(toDType(where(inside, position, 0), DType::Int64), Operand(bins - 1));
    place = where(inside, place, bins);
  }
  Tensor counts = index_add_plain(zeros(Dims{bins + 1}, flat.dtype()), 0, place, ones(flat.shape(), flat.dtype()));
  return toDType(narrow(counts, 0, 0, bins), x.dtype());
}

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t minlength) {
  if (minlength < 0) fail("minlength should be >= 0");
  if (!isInteger(x.dtype()))
    fail<NotImplementedError>("\"bincount_cpu\" not implemented for '", dtypeClassName(x.dtype()), "'");
  if (x.dim() != 1) fail("bincount only supports 1-d non-negative integral inputs.");
  if (weights.defined() && !(weights.shape() == x.shape()))
    fail("weights should be 1-d and have the same length as input");
  DType dtype = !weights.defined() ? DType::Int64 : weights.dtype() == DType::Float32 ? DType::Float32 : DType::Float64;
  if (x.numel() == 0) return zeros(Dims{minlength}, DType::Int64);
  Tensor count;
  {
    FusedScope fused(x);
    Tensor longest = clamp_min(add(toDType(amax(x), DType::Int64), 1), Operand(minlength));
    count = where(lt(amin(x), 0), -1, longest);
    if (isBatched(count)) {
      const Tensor counts = allExamples(count, activeAxes(), false);
      const Tensor least = amin(counts), most = amax(counts);
      count = where(lt(least, 0), -1, where(eq(least, most), most, -2));
    }
  }
  std::int64_t size = learnSize(count);
  if (size == -2)
    fail("vmap: bincount: the largest numbers of the examples differ, and so would the sizes of their counts; please "
         "pass a `minlength` that serves for all");
  if (size < 0) fail("bincount only supports 1-d non-negative integral inputs.");
  Tensor values = weights.defined() ? toDType(detached(weights), dtype) : expand(ones(Dims{1}, dtype), x.shape());
  return index_add_plain(zeros(Dims{size}, dtype), 0, x, values);
}

Tensor cov(const Tensor& x, std::int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  if (x.dim() > 2)
    fail("cov(): expected input to have two or fewer dimensions but got an input with ", x.dim(), " dimensions");
  if (x.dtype() == DType::Bool) fail("cov(): bool dtype is not supported for input");
  Tensor rows = x.dim() < 2 ? reshape(x, Dims{1, -1}) : x;
  const bool weighted = aweights.defined() && isFloating(aweights.dtype());
  if (weighted) rows = toDType(rows, promoteTypes(rows.dtype(), aweights.dtype()));
  if (!isFloating(rows.dtype())) rows = toDType(rows, defaultDType());
  if (!fweights.defined() && !aweights.defined() && rows.size(1) <= correction)
    warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.");
  Tensor weights;
  // The checked weights, which all that follows reads, so that their cotangents add up alike in every mode.
  auto take = [&](const char* name, const Tensor& w, Expectation sign) {
    if (!w.defined()) return Tensor();
    if (w.dim() > 1) fail("cov(): expected ", name, " to have one or fewer dimensions but got ", w.dim());
    if (w.numel() != rows.size(1))
      fail("cov(): expected ", name, " to have the same numel as there are observations in the input but got ",
           w.numel(), " != ", rows.size(1));
    Tensor checked = expected(w, ge(detached(w), 0), sign);
    Tensor own = toDType(checked, rows.dtype());
    weights = weights.defined() ? mul(weights, own) : own;
    return checked;
  };
  if (fweights.defined() && isFloating(fweights.dtype()))
    fail("cov(): expected fweights to have integral dtype but got fweights with ", dtypeClassName(fweights.dtype()),
         " dtype");
  take("fweights", fweights, Expectation::CovFrequency);
  if (aweights.defined() && !isFloating(aweights.dtype()))
    fail("cov(): expected aweights to have floating point dtype but got aweights with ",
         dtypeClassName(aweights.dtype()), " dtype");
  const Tensor analytic = take("aweights", aweights, Expectation::CovWeight);

  auto n = static_cast<double>(rows.size(1));
  Tensor total = weights.defined() ? sum(weights) : full_plain(n, Dims{}, rows.dtype());
  Tensor centre = weights.defined() ? div(sum(mul(rows, weights), Dims{1}, true), total) : mean(rows, Dims{1}, true);
  Tensor deviation = sub(rows, centre);
  Tensor terms = weights.defined() ? mul(deviation, weights) : deviation;
  Tensor freedom = sub(total, static_cast<double>(correction));
  if (aweights.defined() && correction != 0)
    freedom = sub(total,
                  div(mul(sum(mul(weights, toDType(analytic, rows.dtype()))), static_cast<double>(correction)), total));
  Tensor c = div(matmul(terms, transpose(deviation, 0, 1)), clamp_min(freedom, Operand(0)));
  return rows.size(0) == 1 ? reshape(c, Dims{}) : c;
}
Tensor corrcoef(const Tensor& x) {
  if (x.dim() > 2)
    fail("corrcoef(): expected input to have two or fewer dimensions but got an input with ", x.dim(), " dimensions");
  Tensor c = cov(x, 1, {}, {});
  if (c.dim() == 0) return div(c, c);
  Tensor spread = sqrt(diagonal(c));
  return clamp(div(div(c, unsqueeze(spread, 1)), spread), Operand(-1), Operand(1));
}

namespace {
DType integralDType(const Tensor& y, const Tensor& x) {
  const TensorMeta metas[] = {metaOf(y), metaOf(x)};
  return resultType(metas);
}
}  // namespace

Tensor trapezoid(const Tensor& y, const Tensor& x, std::int64_t dim) {
  const DType dtype = integralDType(y, x);
  if (isHalf(dtype)) {
    FusedScope fused(y);
    return toDType(trapezoid(widened(y), widened(x), dim), dtype);
  }
  dim = wrapDim(dim, y.dim());
  needNumbers("trapezoid", y);
  if (y.size(dim) == 0) return sum(y, Dims{dim}, false, isFloating(y.dtype()) ? y.dtype() : defaultDType());
  FusedScope fused(y);
  return div(sum(mul(widths("trapezoid", x, y, dim), twiceMeans(y, dim)), Dims{dim}), 2);
}
Tensor trapezoid_dx(const Tensor& y, Scalar dx, std::int64_t dim) {
  dim = wrapDim(dim, y.dim());
  needNumbers("trapezoid", y);
  const bool whole = !isFloating(y.dtype());
  if (y.size(dim) == 0) return sum(y, Dims{dim}, false, whole ? defaultDType() : y.dtype());
  // All elements less half of the first and of the last: a sum of them as they lie, as PyTorch's.
  const DType wide = whole ? DType::Int64 : isHalf(y.dtype()) ? DType::Float32 : y.dtype();
  FusedScope fused(y);
  const Tensor total = sum(y, Dims{dim}, false, wide);
  const Tensor ends = add(toDType(select(y, dim, 0), wide), toDType(select(y, dim, -1), wide));
  const Tensor area = mul(whole ? div(sub(mul(total, 2), ends), 2) : sub(total, div(ends, 2)), dx);
  return isHalf(y.dtype()) ? toDType(area, y.dtype()) : area;
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, std::int64_t dim) {
  const DType dtype = integralDType(y, x);
  if (isHalf(dtype)) {
    FusedScope fused(y);
    return toDType(cumulative_trapezoid(widened(y), widened(x), dim), dtype);
  }
  dim = wrapDim(dim, y.dim());
  needNumbers("cumulative_trapezoid", y);
  if (y.size(dim) == 0) return toDType(clone(y), isFloating(y.dtype()) ? y.dtype() : defaultDType());
  return div(cumsum(mul(widths("cumulative_trapezoid", x, y, dim), twiceMeans(y, dim)), dim), 2);
}
Tensor cumulative_trapezoid_dx(const Tensor& y, Scalar dx, std::int64_t dim) {
  if (isHalf(y.dtype())) {
    FusedScope fused(y);
    return toDType(cumulative_trapezoid_dx(widened(y), dx, dim), y.dtype());
  }
  dim = wrapDim(dim, y.dim());
  needNumbers("cumulative_trapezoid", y);
  if (y.size(dim) == 0) return toDType(clone(y), isFloating(y.dtype()) ? y.dtype() : defaultDType());
  return mul(div(cumsum(twiceMeans(y, dim), dim), 2), dx);
}

Tensor logcumsumexp(const Tensor& x, std::int64_t dim) {
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"logcumsumexp_out_cpu\" not implemented for '", dtypeClassName(x.dtype()), "'");
  return logcumsumexp_plain(x, wrapDim(dim, x.dim()));
}

namespace {
Pair integers(const char* op, const Tensor& x, const Tensor& y) {
  const TensorMeta metas[] = {metaOf(x), metaOf(y)};
  const DType dtype = resultType(metas);
  if (!isInteger(dtype))
    fail<NotImplementedError>("\"", op, "_cpu\" not implemented for '", dtypeClassName(dtype), "'");
  // A number on the CPU goes along before it is expanded.
  const Operand both[] = {x, y};
  const Placement place(op, both);
  auto expanded = [&, shape = broadcastShapes(op, x.shape(), y.shape())](const Operand& o) {
    return expand(toDType(o.tensor(), dtype), shape);
  };
  return {expanded(place.operands()[0]), expanded(place.operands()[1])};
}
}  // namespace
Tensor gcd(const Tensor& x, const Tensor& y) {
  auto [a, b] = integers("gcd", x, y);
  return laidOutAs(a, b, gcd_plain);
}
Tensor lcm(const Tensor& x, const Tensor& y) {
  auto [a, b] = integers("lcm", x, y);
  return lcm_by_gcd(a, b, laidOutAs(a, b, gcd_plain));
}

}  // namespace tandem::ops
