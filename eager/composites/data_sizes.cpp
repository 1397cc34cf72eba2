// Composites whose results' sizes depend on data. Each computes its size as a tensor and learns it in one way
// (`learnSize`); the rest is made of operations that know it.
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::ops {

Tensor nonzero(const Tensor& x) {
  Tensor mask = x.dtype() == DType::Bool ? x : ne(x, 0);
  Tensor count = sum(mask, {}, false, {});
  std::int64_t size = learnSize(count);
  return nonzero_rows(mask, count, size);
}
Tensor argwhere(const Tensor& x) { return nonzero(x); }

Tensor nonzero_static(const Tensor& x, std::int64_t size, std::int64_t fillValue) {
  if (size < 0) fail("nonzero_static: 'size' must be an non-negative integer");
  Tensor mask = reshape(x.dtype() == DType::Bool ? x : ne(x, 0), Dims{-1});
  if (mask.numel() == 0) return full(Dims{size, x.dim()}, fillValue, DType::Int64);
  // The place of the k-th true element, or the number of elements where there is none.
  Tensor place = search_rows(cumsum(mask, 0), arange(std::int64_t{1}, size + 1), false);
  Tensor missing = eq(place, mask.numel());
  std::vector<Tensor> columns;
  for (std::int64_t stride : contiguousStrides(x.shape())) {
    std::int64_t extent = x.shape()[columns.size()];
    columns.push_back(where(missing, fillValue, remainder(floor_divide(place, stride), extent)));
  }
  return columns.empty() ? zeros(Dims{size, 0}, DType::Int64) : stack(columns, 1);
}

// ---- repeated slices ----

namespace {

/// Each place i repeats[i] times in a row.
Tensor repeatedPlaces(const Tensor& repeats, std::optional<std::int64_t> outputSize) {
  if (repeats.dim() != 1) fail("repeat_interleave only accept 1D vector as repeat");
  if (repeats.dtype() != DType::Int64 && repeats.dtype() != DType::Int32)
    fail("repeats has to be Long or Int tensor, but got ", dtypeName(repeats.dtype()));
  Tensor ends = cumsum(repeats, 0);
  Tensor total = sum(repeats, {}, false, DType::Int64);
  Tensor anyNegative = any(lt(repeats, 0));
  Tensor overflows = any(lt(ends, 0));  // the first sum beyond the largest integer wraps to a negative one
  if (outputSize) {
    Tensor fits = logical_and(eq(total, *outputSize), logical_not(logical_or(anyNegative, overflows)));
    return search_rows(expected(ends, fits, Expectation::OutputSize), arange(std::int64_t{0}, *outputSize), true);
  }
  constexpr std::int64_t kNegative = -1, kOverflow = -2;  // what makes no size is learnt as one
  Tensor learnt = where(anyNegative, kNegative, where(overflows, kOverflow, total));
  std::int64_t size = learnSize(learnt);
  if (size == kNegative) fail("repeats can not be negative");
  if (size == kOverflow) fail("repeat_interleave: the sum of repeats overflows int64");
  return search_rows(ends, arange(std::int64_t{0}, size), true);
}

}  // namespace

Tensor repeat_interleave_counts(const Tensor& repeats, std::optional<std::int64_t> outputSize) {
  return repeatedPlaces(repeats, outputSize);
}
Tensor repeat_interleave_tensor(const Tensor& x, const Tensor& repeats, std::optional<std::int64_t> dim,
                                std::optional<std::int64_t> outputSize) {
  if (!dim) return repeat_interleave_tensor(reshape(x, Dims{-1}), repeats, 0, outputSize);
  Tensor t = x.dim() == 0 ? unsqueeze(x, 0) : x;
  std::int64_t d = wrapDim(*dim, t.dim());
  std::int64_t n = t.shape()[d];
  if (repeats.dim() > 1 || (repeats.numel() != 1 && repeats.numel() != n))
    fail("repeats must have the same size as input along dim, but got repeats.size(0) = ", repeats.numel(),
         " and input.size(", d, ") = ", n);
  return index_select(t, d, repeatedPlaces(expand(repeats, Dims{n}), outputSize));
}

// ---- unique ----

namespace {

/// What is left of n elements where `differs` says which of the n - 1 behind the first begin a group: the first of each
/// group, and when asked for the group of each element and the sizes of the groups.
struct Groups {
  Groups(std::int64_t n, const Tensor& differs, bool inverse, bool counts) {
    const auto after = [&](bool first, bool end) {
      const Tensor start = full(Dims{std::min<std::int64_t>(n, 1)}, first, DType::Bool);
      const Tensor parts[] = {start, differs, end ? ones(Dims{1}, DType::Bool) : Tensor()};
      return cat(std::span(parts).first(end ? 3 : 2), 0);
    };
    if (inverse) group = cumsum(after(false, false), 0);
    starts = reshape(nonzero(after(true, counts)), Dims{-1});
    if (!counts) return;
    // The end follows the last start.
    sizes = diff(starts, 1, 0, {}, {});
    starts = narrow(starts, 0, 0, starts.numel() - 1);
  }
  Tensor starts;
  Tensor group;
  Tensor sizes;
};

/// Does each row but the first differ from the one before? `x` is [n] or [n, width].
Tensor differsFromBefore(const Tensor& x) {
  std::int64_t n = x.shape()[0];
  if (n == 0) return zeros(Dims{0}, DType::Bool);
  Tensor differs = ne(narrow(x, 0, 1, n - 1), narrow(x, 0, 0, n - 1));
  return x.dim() == 2 ? any(differs, Dims{1}, false) : differs;
}

/// The values that the elements of a bool tensor have, in ascending order: what is there of False and True.
std::vector<Tensor> uniqueTruths(const Tensor& x, bool inverse, bool counts) {
  const Tensor trues = reshape(sum(detached(x)), Dims{1});
  const Tensor both[] = {sub(x.numel(), trues), trues};
  const Tensor times = cat(both, 0);
  const Tensor found = reshape(nonzero(times), Dims{-1});
  std::vector<Tensor> out{ne(found, 0)};
  if (inverse) out.push_back(reshape(where(gt(both[0], 0), toDType(x, DType::Int64), 0), x.shape()));
  if (counts) out.push_back(index_select(times, 0, found));
  return out;
}

/// Groups of the slices of `dim`, or of all elements, in ascending order or as they come.
std::vector<Tensor> uniqueParts(const Tensor& x, bool consecutive, bool inverse, bool counts,
                                std::optional<std::int64_t> dim) {
  bool whole = !dim;
  std::int64_t d = whole ? 0 : existingDim(*dim, x.dim());
  if (whole && !consecutive && x.dtype() == DType::Bool && x.numel() > 0) return uniqueTruths(x, inverse, counts);
  Tensor slices = whole ? reshape(x, Dims{-1}) : movedim(x, Dims{d}, Dims{0});
  std::int64_t n = slices.shape()[0];
  bool rows = slices.dim() > 1;
  if (rows && n != 0 && slices.numel() == 0)
    fail("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  Tensor keys = detached(rows && n != 0 ? reshape(slices, Dims{n, -1}) : reshape(slices, Dims{-1}));
  Tensor order;
  if (!consecutive) {
    if (rows && n != 0) {
      order = lex_order(keys);
      keys = index_select(keys, 0, order);
    } else {
      std::array<Tensor, 2> sorted = sort(keys, 0);
      keys = sorted[0];
      order = sorted[1];
    }
  }
  Groups groups(n, differsFromBefore(keys), inverse, counts);
  Tensor places = order.defined() ? index_select(order, 0, groups.starts) : groups.starts;
  Tensor values = index_select(slices, 0, places);
  std::vector<Tensor> out{whole ? values : movedim(values, Dims{0}, Dims{d})};
  if (inverse) {
    if (order.defined()) groups.group = scatter_plain(groups.group, 0, order, groups.group);
    out.push_back(whole ? reshape(groups.group, x.shape()) : groups.group);
  }
  if (counts) out.push_back(groups.sizes);
  return out;
}

}  // namespace

std::vector<Tensor> unique(const Tensor& x, bool, bool inverse, bool counts, std::optional<std::int64_t> dim) {
  return uniqueParts(x, false, inverse, counts, dim);
}
std::vector<Tensor> unique_consecutive(const Tensor& x, bool inverse, bool counts, std::optional<std::int64_t> dim) {
  return uniqueParts(x, true, inverse, counts, dim);
}

}  // namespace tandem::ops
