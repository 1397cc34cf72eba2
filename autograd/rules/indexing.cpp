// Reading at indices and writing at indices: each is the other's derivative.
#include <algorithm>
#include <optional>
#include <utility>

#include "autograd/rule_context.h"
#include "autograd/rules/common.h"
#include "autograd/rules/rules.h"
#include "eager/ops.h"
#include "runtime/base/pieces.h"

namespace tandem::rules {

namespace {
std::int64_t firstAttr(RuleContext& c) { return c.attrs().integer(); }

/// The part of a scatter's `src` that is read: as large as `index`.
Tensor partRead(const Tensor& src, const Tensor& index) {
  if (index.shape() == src.shape()) return src;
  if (src.dim() != index.dim()) return ops::reshape(src, index.shape());
  return windowOf(src, {index.shape(), contiguousStrides(src.shape()), 0});
}
/// The gradient of `src` from that of the part.
void setSourceGrad(RuleContext& c, const Tensor& read) {
  DimsRef shape = c.inputShape(2);
  const Dims& part = read.shape();
  if (part == Dims(shape)) return c.set(2, read);
  if (part.size() != shape.size()) return c.set(2, ops::reshape(read, shape));
  c.set(2, intoWindow(shape, read, {part, contiguousStrides(shape), 0}));
}

std::vector<Tensor> inputsFrom(RuleContext& c, int first) {
  std::vector<Tensor> list;
  for (int i = first; i < c.numOperands(); ++i) list.push_back(c.input(i));
  return list;
}
}  // namespace

void gather(RuleContext& c) {
  const DimsRef shape = c.inputShape(0);
  const Tensor& index = c.input(1);
  const std::int64_t dim = firstAttr(c);
  // One element a row, of all rows, is compared with the places of the row, which other work on rows is fused with.
  if (!shape.empty() && index.shape() == keptShape(shape, Dims{dim}))
    return c.set(0, ops::scatter_one(c.grad(), dim, index, shape[wrapDim(dim, std::ssize(shape))]));
  c.set(0, ops::scatter_add(zerosToAddTo(shape, c.grad().dtype()), dim, index, c.grad()));
}

void scatterOne(RuleContext& c) { c.set(0, ops::gather(c.grad(), firstAttr(c), c.input(1))); }

void scatterAdd(RuleContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(2)) setSourceGrad(c, ops::gather(c.grad(), firstAttr(c), c.input(1)));
}

void scatter(RuleContext& c) {
  std::int64_t dim = firstAttr(c);
  if (c.needs(0)) {
    const Tensor& index = c.input(1);
    c.set(0, ops::scatter_plain(c.grad(), dim, index, ops::zeros(index.shape(), c.grad().dtype())));
  }
  if (c.needs(2)) setSourceGrad(c, ops::gather(c.grad(), dim, c.input(1)));
}

namespace {

// An extremum's cotangent is shared by all that reach it: the input's element and the sources.
void sharedByTies(RuleContext& c, std::int64_t dim) {
  const Tensor& x = c.input(0);
  const Tensor& index = c.input(1);
  Tensor src = partRead(c.input(2), index);
  Tensor own = ops::to(ops::eq(x, c.output(0)), x.dtype());
  Tensor reached = ops::to(ops::eq(src, ops::gather(c.output(0), dim, index)), x.dtype());
  Tensor share = ops::div(c.grad(), ops::scatter_add(own, dim, index, reached));
  if (c.needs(0)) c.set(0, ops::mul(share, own));
  if (c.needs(2)) setSourceGrad(c, ops::mul(ops::gather(share, dim, index), reached));
}

// The product of the others: the whole divided by the factor; where one factor alone is zero, the product without it.
// With two zeros the gradient is zero, and right; its own derivative there is not: see `productsOfOthers`.
void othersOfProduct(RuleContext& c, std::int64_t dim) {
  const Tensor& x = c.input(0);
  const Tensor& index = c.input(1);
  const Tensor& g = c.grad();
  Tensor src = partRead(c.input(2), index);
  Tensor ownZero = ops::eq(x, 0);
  Tensor srcZero = ops::eq(src, 0);
  Tensor zeros = ops::scatter_add(ops::to(ownZero, DType::Int64), dim, index, ops::to(srcZero, DType::Int64));
  Tensor single = ops::eq(zeros, 1);
  Tensor x1 = ops::where(ops::logical_and(ownZero, single), 1, x);
  Tensor src1 = ops::where(ops::logical_and(srcZero, ops::gather(single, dim, index)), 1, src);
  Tensor rest = ops::mul(g, ops::scatter_combine(x1, dim, index, src1, 0));
  Tensor whole = ops::mul(g, c.output(0));
  if (c.needs(0)) c.set(0, ops::where(ownZero, rest, ops::div(whole, ops::where(ownZero, 1, x))));
  if (c.needs(2)) {
    Tensor divided = ops::div(ops::gather(whole, dim, index), ops::where(srcZero, 1, src));
    setSourceGrad(c, ops::where(srcZero, ops::gather(rest, dim, index), divided));
  }
}

/// Products of all elements before each, along the last dim, of those in its group: neighbours with equal keys. By
/// doubling, without a division.
Tensor groupProductsBefore(const Tensor& x, const Tensor& keys) {
  std::int64_t n = x.size(-1);
  // The element before, if it is of the group; then products of twice as many.
  auto shifted = [&](const Tensor& values, std::int64_t k, const Tensor& fill) {
    const Tensor parts[] = {ops::narrow(fill, -1, 0, k), ops::narrow(values, -1, 0, n - k)};
    return ops::cat(parts, -1);
  };
  Tensor ones = ops::ones(x.shape(), x.dtype());
  Tensor none = ops::full(keys.shape(), std::int64_t{-1}, DType::Int64);
  auto before = [&](const Tensor& values, std::int64_t k) {
    return ops::where(ops::eq(shifted(keys, k, none), keys), shifted(values, k, ones), 1);
  };
  Tensor products = before(x, 1);
  for (std::int64_t k = 1; k < n; k *= 2) products = ops::mul(products, before(products, k));
  return products;
}

/// For the elements of a line of x and the sources that come to it, [..., n] and [..., m]: the product of all others at
/// the same place, as a product, so that zeros need no care at any order.
std::array<Tensor, 2> productsOfOthers(const Tensor& x, const Tensor& index, const Tensor& src) {
  std::int64_t n = x.size(-1);
  Tensor places = ops::expand(ops::arange(std::int64_t{0}, n), x.shape());
  const Tensor allKeys[] = {places, ops::to(index, DType::Int64)};
  const Tensor allValues[] = {x, src};
  auto [keys, order] = ops::sort(ops::cat(allKeys, -1), -1, false, true);
  Tensor values = ops::gather(ops::cat(allValues, -1), -1, order);
  Tensor after = ops::flip(groupProductsBefore(ops::flip(values, Dims{-1}), ops::flip(keys, Dims{-1})), Dims{-1});
  Tensor others = ops::mul(groupProductsBefore(values, keys), after);
  others = ops::gather(others, -1, ops::argsort(order, -1, false, false));
  return {ops::narrow(others, -1, 0, n), ops::narrow(others, -1, n, src.size(-1))};
}

// As `othersOfProduct`, for a gradient that is differentiated again.
void othersOfProductAnyOrder(RuleContext& c, std::int64_t dim) {
  const Tensor& x = c.input(0);
  const Tensor& index = c.input(1);
  if (index.numel() == 0 || x.dim() == 0) return othersOfProduct(c, dim);
  Tensor src = partRead(c.input(2), index);
  // The lines of x that sources come to.
  Geometry window{index.shape(), contiguousStrides(x.shape()), 0};
  window.shape[dim] = x.shape()[dim];
  auto last = [&](const Tensor& t) { return ops::transpose(t, dim, -1); };
  auto [ofX, ofSrc] = productsOfOthers(last(windowOf(x, window)), last(index), last(src));
  if (c.needs(0)) {
    // Elsewhere the only factor is the element itself.
    Tensor g = windowOf(c.grad(), window);
    Tensor change = ops::mul(g, ops::sub(last(ofX), 1));
    c.set(0, ops::add(c.grad(), intoWindow(x.shape(), change, window)));
  }
  if (c.needs(2)) setSourceGrad(c, ops::mul(ops::gather(c.grad(), dim, index), last(ofSrc)));
}

}  // namespace

void scatterCombine(RuleContext& c) {
  AttrReader a = c.attrs();
  std::int64_t dim = a.integer();
  if (a.integer() != 0)
    sharedByTies(c, dim);
  else if (gradEnabled())
    othersOfProductAnyOrder(c, dim);
  else
    othersOfProduct(c, dim);
}

void indexSelect(RuleContext& c) {
  c.set(0, ops::index_add_plain(zerosToAddTo(c.inputShape(0), c.grad().dtype()), firstAttr(c), c.input(1), c.grad()));
}

void indexAdd(RuleContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(2)) c.set(2, ops::index_select(c.grad(), firstAttr(c), c.input(1)));
}

namespace {

/// A row of `each` [B, D] for every place of the index of bags: that of the bag it is in. Of an index of one dim bags
/// begin at `offsets`; what comes before the first or after the last one is in a bag beside it.
Tensor rowsOfBags(const Tensor& each, const Tensor& index, const Tensor& offsets) {
  const std::int64_t bags = each.size(0);
  const std::int64_t n = index.numel();
  if (index.dim() == 2)
    return ops::reshape(ops::expand(ops::unsqueeze(each, 1), Dims{bags, index.size(1), each.size(1)}),
                        Dims{n, each.size(1)});
  // How many bags have begun, less one.
  const Tensor starts = ops::index_add_plain(zerosToAddTo(Dims{n + 1}, DType::Int64), 0,
                                             ops::narrow(offsets, 0, 0, bags), ops::ones(Dims{bags}, DType::Int64));
  return ops::index_select(each, 0, ops::sub(ops::narrow(ops::cumsum(starts, 0), 0, 0, n), 1));
}

}  // namespace

// Operands (weight, index, extras...).
void bagSum(RuleContext& c) {
  if (!c.hasGrad(0)) return;
  AttrReader attrs = c.attrs();
  const std::int64_t padding = attrs.integer();
  const bool last = attrs.boolean();
  const bool mean = attrs.boolean();
  const bool byFrequency = attrs.boolean();
  const Tensor& index = c.input(1);
  const std::int64_t n = index.numel();
  const bool listed = index.dim() == 1;
  const int factors = listed ? 3 : 2;
  const bool weighted = c.numOperands() > factors;
  const std::int64_t width = c.inputShape(0)[1];
  if (n == 0 || c.resultShape()[0] == 0) {
    if (c.needs(0)) c.set(0, ops::zeros(c.inputShape(0), c.grad().dtype()));
    if (weighted && c.needs(factors)) c.set(factors, ops::zeros(c.inputShape(factors), c.grad().dtype()));
    return;
  }
  const Tensor places = ops::reshape(index, Dims{n});
  Tensor each = c.grad();
  if (mean) each = ops::div(each, ops::unsqueeze(ops::maximum(c.output(1), 1), 1));
  const Tensor grads = rowsOfBags(each, index, listed ? c.input(2) : Tensor());
  Tensor counted;  // where not all places count
  if (padding >= 0) counted = ops::ne(places, padding);
  if (listed && last) {
    const Tensor inside = ops::lt(ops::arange(std::int64_t{0}, n), ops::narrow(c.input(2), 0, c.resultShape()[0], 1));
    counted = counted.defined() ? ops::logical_and(counted, inside) : inside;
  }
  if (c.needs(0)) {
    Tensor rows = grads;
    if (weighted) rows = ops::mul(rows, ops::reshape(c.input(factors), Dims{n, 1}));
    if (byFrequency) {
      const Tensor times = ops::index_add_plain(zerosToAddTo(Dims{c.inputShape(0)[0]}, DType::Int64), 0, places,
                                                ops::ones(Dims{n}, DType::Int64));
      rows = ops::div(rows, ops::unsqueeze(ops::index_select(times, 0, places), 1));
    }
    if (counted.defined()) rows = ops::where(ops::unsqueeze(counted, 1), rows, 0.0);
    c.set(0, ops::index_add_plain(zerosToAddTo(Dims{c.inputShape(0)[0], width}, rows.dtype()), 0, places, rows));
  }
  if (weighted && c.needs(factors)) {
    Tensor slopes = ops::sum(ops::mul(ops::index_select(c.input(0), 0, places), grads), Dims{1});
    if (counted.defined()) slopes = ops::where(counted, slopes, 0.0);
    c.set(factors, ops::reshape(slopes, c.inputShape(factors)));
  }
}

// Linear in the input as far as its slopes, which have no derivative, reach.
void multilabelMargins(RuleContext& c) {
  if (c.hasGrad(0)) c.set(0, ops::mul(ops::unsqueeze(c.grad(), 1), c.output(1)));
}

void bagMax(RuleContext& c) {
  if (!c.hasGrad(0)) return;
  const Tensor& rows = c.output(1);
  const Tensor grads = ops::where(ops::ge(rows, 0), c.grad(), 0.0);
  c.set(0, ops::scatter_add(zerosToAddTo(c.inputShape(0), grads.dtype()), 0, ops::maximum(rows, 0), grads));
}

namespace {

/// What undoes pieces that run through no place of a dim of `n` twice; nothing where they do. Places that are left out
/// take what stands behind the output.
std::optional<PieceList> inverseOf(const PieceList& pieces, std::int64_t n) {
  std::vector<std::pair<std::int64_t, Piece>> byPlace;  // the lowest place, and where it is in the output
  std::int64_t at = 0;
  for (const Piece& p : pieces) {
    if (p.count > 1 && p.step != 1 && p.step != -1) return {};
    bool up = p.count <= 1 || p.step == 1;
    if (p.count > 0)
      byPlace.push_back({up ? p.start : p.start - p.count + 1, {up ? at : at + p.count - 1, up ? 1 : -1, p.count}});
    at += p.count;
  }
  std::sort(byPlace.begin(), byPlace.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  PieceList inverse;
  std::int64_t next = 0;
  byPlace.push_back({n, {at, 0, 0}});
  for (const auto& [place, piece] : byPlace) {
    if (place < next) return {};
    if (place > next) inverse.push_back({at, 0, place - next});
    next = place + piece.count;
    if (piece.count > 0) inverse.push_back(piece);
  }
  return inverse;
}

/// All places in a row, as an index.
Tensor placesOf(const PieceList& pieces) {
  std::vector<Tensor> parts;
  for (const Piece& p : pieces)
    if (p.count > 0)
      parts.push_back(p.step == 0 ? ops::full(Dims{p.count}, p.start, DType::Int64)
                                  : ops::arange(p.start, p.start + p.step * p.count, p.step, DType::Int64));
  return parts.size() == 1 ? parts[0] : ops::cat(parts, 0);
}

/// Runs of a list of places, each as long as one step goes.
PieceList runsOf(const std::vector<std::int64_t>& places) {
  PieceList runs;
  for (const std::int64_t at : places) {
    if (runs.empty() || (runs.back().count > 1 && runs.back().start + runs.back().count * runs.back().step != at)) {
      runs.push_back({at, 1, 1});
      continue;
    }
    Piece& run = runs.back();
    if (run.count == 1) run.step = at - run.start;
    ++run.count;
  }
  return runs;
}

/// The gradient of a dim of `n` places of which `pieces` takes most once and in order, as those inside of a padding:
/// these are copied, and the others alone are sums. Nothing where more are, or where they lie scattered.
std::optional<Tensor> summedAtEnds(const Tensor& g, std::int64_t dim, const PieceList& pieces, std::int64_t n) {
  std::vector<std::int64_t> of;  // the place that each place of the output takes
  for (const Piece& p : pieces)
    for (std::int64_t i = 0; i < p.count; ++i) of.push_back(p.start + i * p.step);
  std::vector<std::int64_t> times(static_cast<std::size_t>(n), 0), from(static_cast<std::size_t>(n), 0);
  for (std::size_t at = 0; at < of.size(); ++at) {
    ++times[static_cast<std::size_t>(of[at])];
    from[static_cast<std::size_t>(of[at])] = static_cast<std::int64_t>(at);
  }
  constexpr std::size_t kMostParts = 8;
  struct Part {
    bool once;
    std::int64_t from, count;  // in the output, or in the sums
  };
  std::vector<Part> parts;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(n), 0);  // which sum is that of a place
  std::int64_t count = 0;
  for (std::size_t place = 0; place < sums.size(); ++place) {
    const bool once = times[place] == 1;
    const std::int64_t at = once ? from[place] : count;
    if (!once) sums[place] = count++;
    if (!parts.empty() && parts.back().once == once && parts.back().from + parts.back().count == at)
      ++parts.back().count;
    else
      parts.push_back({once, at, 1});
  }
  if (count > n / 4 || parts.size() > kMostParts) return {};
  std::vector<std::int64_t> rows, targets;  // what is added, in the order of the output
  for (std::size_t at = 0; at < of.size(); ++at) {
    if (times[static_cast<std::size_t>(of[at])] == 1) continue;
    rows.push_back(static_cast<std::int64_t>(at));
    targets.push_back(sums[static_cast<std::size_t>(of[at])]);
  }
  Dims shape = g.shape();
  shape[dim] = count;
  Tensor added = zerosToAddTo(shape, g.dtype());
  if (!rows.empty())
    added = ops::index_add_plain(added, dim, placesOf(runsOf(targets)),
                                 ops::take_pieces(g, dim, packPieces({runsOf(rows)})));
  std::vector<Tensor> joined;
  joined.reserve(parts.size());
  for (const Part& part : parts) joined.push_back(ops::narrow(part.once ? g : added, dim, part.from, part.count));
  return ops::cat(joined, dim);
}

}  // namespace

// Rolled and reversed places go back; what was taken more than once is a sum, dim by dim.
void takePieces(RuleContext& c) {
  AttrReader attrs = c.attrs();
  std::int64_t first = attrs.integer();
  std::vector<PieceList> dims = unpackPieces(attrs.list());
  Tensor g = c.grad();
  if (g.numel() == 0) return c.set(0, ops::zeros(c.inputShape(0), g.dtype()));
  std::vector<PieceList> inverse;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::int64_t n = c.inputShape(0)[static_cast<std::size_t>(first) + d];
    std::int64_t dim = first + static_cast<std::int64_t>(d);
    auto back = inverseOf(dims[d], n);
    if (back) {
      if (countOf(dims[d]) < n) {
        Dims one = g.shape();
        one[dim] = 1;
        const Tensor both[] = {g, ops::zeros(one, g.dtype())};
        g = ops::cat(both, dim);
      }
      inverse.push_back(*back);
      continue;
    }
    inverse.push_back({{0, 1, n}});
    if (auto summed = summedAtEnds(g, dim, dims[d], n)) {
      g = *summed;
      continue;
    }
    Dims shape = g.shape();
    shape[dim] = n;
    g = ops::index_add_plain(zerosToAddTo(shape, g.dtype()), dim, placesOf(dims[d]), g);
  }
  const bool rests = std::ranges::any_of(inverse, [](const PieceList& pieces) {
    return pieces.size() > 1 || pieces[0].start != 0 || pieces[0].step != 1;
  });
  c.set(0, rests ? ops::take_pieces(g, first, packPieces(inverse)) : g);
}

void indexGet(RuleContext& c) {
  Tensor zeros = zerosToAddTo(c.inputShape(0), c.grad().dtype());
  c.set(0, ops::index_put_plain(zeros, c.grad(), inputsFrom(c, 1), firstAttr(c), true));
}

void indexPut(RuleContext& c) {
  AttrReader a = c.attrs();
  std::int64_t first = a.integer();
  bool accumulate = a.boolean();
  std::vector<Tensor> indices = inputsFrom(c, 2);
  if (c.needs(0)) {
    Tensor zeros = ops::zeros(c.inputShape(1), c.grad().dtype());
    c.set(0, accumulate ? c.grad() : ops::index_put_plain(c.grad(), zeros, indices, first, false));
  }
  if (c.needs(1)) c.set(1, ops::index_get(c.grad(), indices, first));
}

// sort, topk, max and min along a dim: result 0 was read from the places that result 1 names.
void byIndices(RuleContext& c) {
  if (!c.hasGrad()) return;
  DimsRef shape = c.inputShape(0);
  if (shape.empty()) return c.set(0, ops::reshape(c.grad(), shape));
  AttrReader a = c.attrs();
  if (c.op() == OpCode::topk || c.op() == OpCode::kthvalue) a.integer();  // k comes before dim
  std::int64_t dim = wrapDim(a.integer(), static_cast<std::int64_t>(shape.size()));
  Tensor g = c.grad();
  Tensor index = c.output(1);
  if (g.shape().size() < shape.size()) {
    g = ops::unsqueeze(g, dim);
    index = ops::unsqueeze(index, dim);
  }
  c.set(0, ops::scatter_add(zerosToAddTo(shape, g.dtype()), dim, index, g));
}

void cat(RuleContext& c) {
  DimsRef result = c.resultShape();
  std::int64_t dim = wrapDim(firstAttr(c), static_cast<std::int64_t>(result.size()));
  std::int64_t start = 0;
  for (int i = 0; i < c.numOperands(); ++i) {
    DimsRef shape = c.inputShape(i);
    // An empty 1-d tensor joins anything.
    bool nothing = shape.size() == 1 && shape[0] == 0 && result.size() != 1;
    std::int64_t size = nothing ? 0 : shape[dim];
    if (c.needs(i)) c.set(i, nothing ? ops::zeros(shape, c.grad().dtype()) : ops::narrow(c.grad(), dim, start, size));
    start += size;
  }
}

void lowerTriangle(RuleContext& c) { c.set(0, ops::tril(c.grad(), c.attrs().integer())); }
void upperTriangle(RuleContext& c) { c.set(0, ops::triu(c.grad(), c.attrs().integer())); }

}  // namespace tandem::rules
