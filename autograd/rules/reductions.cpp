#include <cmath>
#include <vector>

#include "autograd/rule_context.h"
#include "autograd/rules/common.h"
#include "autograd/rules/rules.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/ops.h"

namespace tandem::rules {

void sum(RuleContext& c) {
  AttrReader a = c.attrs();
  Tensor kept = ops::reshape(c.grad(), keptShape(c.inputShape(0), a.list()));
  c.set(0, ops::expand(kept, c.inputShape(0)));
}

void amaxAmin(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef dims = a.list();
  DimsRef shape = c.inputShape(0);
  Dims kept = keptShape(shape, dims);
  const Tensor& x = c.input(0);
  const FusedScope fused(x);
  Tensor out = ops::reshape(c.output(0), kept);
  Tensor equal = ops::eq(x, out);
  // A NaN makes the gradient NaN, but in max and min of all elements (keepdim), where the NaNs share it.
  if (dims.size() == shape.size() && a.boolean())
    equal = ops::logical_or(equal, ops::logical_and(ops::isnan(x), ops::isnan(out)));
  Tensor ties = ops::to(equal, x.dtype());
  Tensor count = ops::sum(ties, Dims(dims), true);
  c.set(0, ops::div(ops::mul(ops::reshape(c.grad(), kept), ties), count));
}

namespace {

/// Products of all elements before each, along `dim`: 1, x0, x0 x1, ...
Tensor productsBefore(const Tensor& x, std::int64_t dim) {
  Dims first = x.shape();
  first[dim] = 1;
  Tensor parts[] = {ops::ones(first, x.dtype()), ops::cumprod_plain(ops::narrow(x, dim, 0, x.size(dim) - 1), dim)};
  return ops::cat(parts, dim);
}

/// `x` moved by one place along `dim`, towards the end or, where `back`, the beginning; `edge` (one place) comes in.
Tensor movedByOne(const Tensor& x, std::int64_t dim, bool back, const Tensor& edge) {
  std::int64_t n = x.size(dim);
  Tensor kept = ops::narrow(x, dim, back ? 1 : 0, n - 1);
  Tensor parts[] = {back ? kept : edge, back ? edge : kept};
  return ops::cat(parts, dim);
}

// A long dim is taken as rows of at least kShortRow elements, which are scanned side by side.
constexpr std::int64_t kLongDim = 1024;
constexpr std::int64_t kShortRow = 16;

// Up to so many places of a dim are worked on one by one, as fused kernels.
constexpr std::int64_t kFewPlaces = 16;
constexpr std::int64_t kLeastPlaces = 4;
constexpr std::int64_t kLeastLines = 64;
// In a cache of the processor.
constexpr std::int64_t kNearElements = 256 * 1024;
// From so many elements on, whatever the device, since the cut decides bits.
constexpr std::int64_t kCutFrom = 8 * 1024;

/// The length of the rows that a dim of `n` of `all` elements is cut into: its largest divisor up to the root; or n. Of
/// a dim that is not long both rows and their number are few places, if the dim can be cut so.
std::int64_t rowLength(std::int64_t n, std::int64_t all) {
  if (n < kLongDim) {
    if (all < kCutFrom || n <= kFewPlaces) return n;
    for (std::int64_t d = kFewPlaces / 2; d >= kLeastPlaces; --d)
      if (n % d == 0 && n / d <= kFewPlaces) return d;
    for (std::int64_t d = kFewPlaces; d > kFewPlaces / 2; --d)
      if (n % d == 0 && n / d <= kFewPlaces) return d;
    return n;
  }
  for (auto d = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n))); d >= kShortRow; --d)
    if (n % d == 0) return d;
  return n;
}

/// As `productsOfOthers`, of few places, whose products before and after are those that cumprod gives.
Tensor productsOfOtherPlaces(const Tensor& x, std::int64_t dim) {
  const FusedScope fused(x);
  const DType wide = isHalf(x.dtype()) ? DType::Float32 : DType::Float64;
  const std::int64_t n = x.size(dim);
  std::vector<Tensor> others(static_cast<std::size_t>(n));
  auto multiply = [&](std::int64_t first, std::int64_t step) {
    Tensor product = ops::to(ops::select(x, dim, first), wide);
    for (std::int64_t i = first + step; i >= 0 && i < n; i += step) {
      Tensor& to = others[static_cast<std::size_t>(i)];
      Tensor rounded = ops::to(product, x.dtype());
      to = to.defined() ? ops::mul(to, rounded) : rounded;
      product = ops::mul(product, ops::to(ops::select(x, dim, i), wide));
    }
  };
  multiply(0, 1);
  multiply(n - 1, -1);
  return ops::stack(others, dim);
}

/// The product of the other elements along `dim`, for each: of a long dim, of its row, or its column, times those of
/// the others.
Tensor productsOfOthers(const Tensor& x, std::int64_t dim) {
  const std::int64_t n = x.size(dim);
  if (n > 1 && n <= kFewPlaces && worthFusing(x.numel())) return productsOfOtherPlaces(x, dim);
  // Along neighbours a flip and a join move single elements, along what is far apart whole rows.
  const std::int64_t lines = x.numel() / n;
  if (dim > 0 && dim == x.dim() - 1 && n < kLongDim && lines >= kLeastLines && worthFusing(x.numel()) &&
      x.numel() <= kNearElements) {
    Tensor columns = ops::contiguous(ops::transpose(ops::reshape(x, Dims{lines, n}), 0, 1));
    return ops::reshape(ops::transpose(productsOfOthers(columns, 0), 0, 1), x.shape());
  }
  if (const std::int64_t row = rowLength(n, x.numel()); row < n) {
    Dims cut = x.shape();
    cut[dim] = row;
    cut.insert(dim, n / row);
    Tensor rows = ops::reshape(x, cut);
    // Of neighbours those that lie a row apart come first, whole rows at a time.
    const std::int64_t first = dim == x.dim() - 1 ? dim : dim + 1;
    Tensor others = ops::unsqueeze(productsOfOthers(ops::prod(rows, Dims{first}), dim), first);
    return ops::reshape(ops::mul(productsOfOthers(rows, first), others), x.shape());
  }
  Tensor after = ops::flip(productsBefore(ops::flip(x, Dims{dim}), dim), Dims{dim});
  return ops::mul(productsBefore(x, dim), after);
}

}  // namespace

// The product of the others, for each element, as a product: no division, so zeros need no care at any order.
void prod(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef dims = a.list();
  DimsRef shape = c.inputShape(0);
  const FusedScope fused(c.input(0));
  Tensor x = ops::to(c.input(0), c.resultDType());
  Tensor g = ops::reshape(c.grad(), keptShape(shape, dims));
  if (shape.empty()) return c.set(0, g);
  if (dims.size() == 1 && numelOf(shape) != 0) {
    const std::int64_t dim = wrapDim(dims[0], static_cast<std::int64_t>(shape.size()));
    return c.set(0, shape[dim] == 1 ? g : ops::mul(g, productsOfOthers(x, dim)));
  }
  // The reduced dims last, as one.
  Dims order;
  Dims rows;
  SmallVector<bool, 8> reduced(shape.size(), false);
  for (std::int64_t d : dims) reduced[wrapDim(d, static_cast<std::int64_t>(shape.size()))] = true;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!reduced[i]) {
      order.push_back(static_cast<std::int64_t>(i));
      rows.push_back(shape[i]);
    }
  std::int64_t row = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (reduced[i]) {
      order.push_back(static_cast<std::int64_t>(i));
      row *= shape[i];
    }
  if (numelOf(shape) == 0) return c.set(0, ops::zeros(shape, x.dtype()));
  if (row == 1) return c.set(0, g);
  Tensor moved = ops::permute(x, order);
  auto last = static_cast<std::int64_t>(rows.size());
  rows.push_back(row);
  Tensor flat = ops::reshape(moved, rows);
  Tensor others = ops::reshape(productsOfOthers(flat, last), moved.shape());
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  c.set(0, ops::mul(g, ops::permute(others, back)));
}

void cumsum(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  if (shape.empty()) return c.set(0, c.grad());
  std::int64_t d = wrapDim(a.integer(), static_cast<std::int64_t>(shape.size()));
  c.set(0, ops::flip(ops::cumsum_plain(ops::flip(c.grad(), Dims{d}), d), Dims{d}));
}

// d/dx[i] of the sum over k of g[k] x[0] ... x[k]: the products before i, times g[i] + x[i+1] (g[i+1] + x[i+2] (...)).
void cumprod(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  if (shape.empty() || numelOf(shape) == 0) return c.set(0, c.grad());
  std::int64_t d = wrapDim(a.integer(), static_cast<std::int64_t>(shape.size()));
  const Tensor& x = c.input(0);
  std::int64_t n = shape[d];
  if (n == 1) return c.set(0, c.grad());
  Tensor factors = movedByOne(x, d, true, ops::narrow(x, d, 0, 1));
  Tensor inner = ops::linear_recurrence(c.grad(), factors, d, true);
  c.set(0, ops::mul(productsBefore(x, d), inner));
}

// The cotangents of the terms follow the recurrence the other way, each factor standing at the place it leads to.
void linearRecurrence(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  std::int64_t d = wrapDim(a.integer(), static_cast<std::int64_t>(shape.size()));
  bool reverse = a.boolean();
  if (shape[d] == 0) {
    c.set(0, c.grad());
    return c.set(1, c.grad());
  }
  const Tensor& factors = c.input(1);
  const Tensor& sums = c.output(0);
  Dims one(shape);
  one[d] = 1;
  Tensor edge = ops::zeros(one, sums.dtype());
  Tensor terms = ops::linear_recurrence(c.grad(), movedByOne(factors, d, !reverse, edge), d, !reverse);
  if (c.needs(0)) c.set(0, terms);
  if (c.needs(1)) c.set(1, ops::mul(terms, movedByOne(sums, d, reverse, edge)));
}

namespace {
std::int64_t dimOf(RuleContext& c) {
  AttrReader a = c.attrs();
  return wrapDim(a.integer(), static_cast<std::int64_t>(c.inputShape(0).size()));
}
}  // namespace

// y (g - sum(g y)), in float32 for half types.
void softmaxAlong(RuleContext& c) {
  const Tensor y = ops::widened(c.output(0));
  const Tensor g = ops::widened(c.grad());
  const Tensor mean = ops::sum(ops::mul(g, y), Dims{dimOf(c)}, true);
  c.set(0, ops::to(ops::mul(y, ops::sub(g, mean)), c.output(0).dtype()));
}

// g - e^y sum(g), likewise.
void logSoftmaxAlong(RuleContext& c) {
  const Tensor y = ops::widened(c.output(0));
  const Tensor g = ops::widened(c.grad());
  const Tensor total = ops::sum(g, Dims{dimOf(c)}, true);
  c.set(0, ops::to(ops::sub(g, ops::mul(ops::exp(y), total)), c.output(0).dtype()));
}

// g at the index less softmax g, and e^(x - greatest) times the cotangent of their sum, which derivatives of this one
// have: in one kernel. The greatest is as good as any number near it, and counts as a constant.
void logSoftmaxAt(RuleContext& c) {
  const Tensor& x = c.input(0);
  const FusedScope fused(x);
  const std::int64_t dim = dimOf(c);
  const Tensor e = ops::exp_sub(ops::widened(x), ops::detached(c.output(1)));
  Tensor sum;
  if (c.hasGrad(0)) {
    const Tensor g = ops::widened(c.grad(0));
    const Tensor there = ops::scatter_one(g, dim, c.input(1), x.size(dim));
    sum = ops::sub(there, ops::mul(ops::div(e, c.output(2)), g));
  }
  if (c.hasGrad(2)) {
    const Tensor ofSum = ops::mul(e, c.grad(2));
    sum = sum.defined() ? ops::add(sum, ofSum) : ofSum;
  }
  if (sum.defined()) c.set(0, ops::to(sum, x.dtype()));
}

// The differences d between rows, times g / |d|; by the norm of order 1 sign(d) g, and by that of infinity the same
// where |d| is the greatest of a pair of rows, if that is finite: each of several has the whole gradient.
void rowDistances(RuleContext& c) {
  AttrReader a = c.attrs();
  const std::int64_t order = a.integer();
  const bool across = a.boolean();
  const Tensor& distances = c.output(0);
  const FusedScope fused(distances.numel() * c.inputShape(0).back());
  auto rows = [&](int i) { return across ? ops::contiguous(ops::transpose(c.input(i), -1, -2)) : c.input(i); };
  auto perPair = [&](const Tensor& t) { return ops::unsqueeze(t, across ? -3 : -1); };
  const std::int64_t overLeft = across ? -2 : -3, overRight = across ? -1 : -2;
  const Tensor apart = ops::sub(ops::unsqueeze(rows(0), overRight), ops::unsqueeze(rows(1), overLeft));
  Tensor terms;
  if (order == 2) {
    const Tensor zero = ops::eq(distances, 0);
    const Tensor rate = ops::where(zero, 0, ops::div(c.grad(), ops::where(zero, 1, distances)));
    terms = ops::mul(apart, perPair(rate));
  } else {
    terms = ops::mul(ops::sign(apart), perPair(c.grad()));
    if (order == 0) {
      const Tensor passes = ops::eq(ops::abs(apart), perPair(distances));
      terms = ops::where(ops::logical_and(passes, perPair(ops::isfinite(distances))), terms, 0);
    }
  }
  auto turned = [&](const Tensor& sums) { return across ? ops::transpose(sums, -1, -2) : sums; };
  if (c.needs(0)) c.set(0, turned(ops::sum(terms, Dims{overRight})));
  if (c.needs(1)) c.set(1, turned(ops::neg(ops::sum(terms, Dims{overLeft}))));
}

// out[k] is the logarithm of a sum that x[i] is part of for k >= i, so d/dx[i] is the sum over those k of g[k] e^(x[i]
// - out[k]): e^(x[i] - out[i]) s[i] with s[i] = g[i] + e^(out[i] - out[i+1]) s[i+1]. No exponent is positive. At an
// infinite sum that x[i] is one of the reasons for, the derivative is NaN.
void logcumsumexp(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  if (shape.empty() || numelOf(shape) == 0) return c.set(0, c.grad());
  std::int64_t d = wrapDim(a.integer(), static_cast<std::int64_t>(shape.size()));
  const Tensor& out = c.output(0);
  // Differences of infinities of one sign are none.
  auto ratio = [](const Tensor& x, const Tensor& y) {
    Tensor equal = ops::eq(x, y);
    return ops::where(equal, 1, ops::exp(ops::sub(ops::where(equal, 0, x), ops::where(equal, 0, y))));
  };
  std::int64_t n = shape[d];
  Tensor s = c.grad();
  if (n > 1) {
    Tensor steps[] = {ratio(ops::narrow(out, d, 0, n - 1), ops::narrow(out, d, 1, n - 1)), ops::narrow(s, d, 0, 1)};
    s = ops::linear_recurrence(s, ops::cat(steps, d), d, true);
  }
  c.set(0, ops::mul(ops::exp(ops::sub(c.input(0), out)), s));
}

}  // namespace tandem::rules
