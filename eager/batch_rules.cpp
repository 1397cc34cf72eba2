#include "eager/batch_rules.h"

#include <algorithm>

#include "eager/composites/products.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::batch_rules {
namespace {

Dims range(std::int64_t from, std::int64_t to) {
  Dims d;
  for (std::int64_t i = from; i < to; ++i) d.push_back(i);
  return d;
}

void append(Dims& to, DimsRef what) { to.append(what.begin(), what.end()); }

Dims joined(std::initializer_list<DimsRef> parts) {
  Dims d;
  for (DimsRef p : parts) append(d, p);
  return d;
}

std::vector<Operand> operandsOf(const std::vector<Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

std::vector<Tensor> expandedAll(const BatchCall& c, std::int64_t rank = 0) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < c.operands.size(); ++i) all.push_back(c.expanded(i, rank));
  return all;
}

void setAll(BatchCall& c, const std::vector<Tensor>& made) {
  for (std::size_t i = 0; i < made.size(); ++i) c.set(i, made[i]);
}

}  // namespace

void loop(BatchCall& c) {
  std::int64_t n = c.examples();
  // One leading dim, so that example e is a slice.
  std::vector<Tensor> rows(c.operands.size());
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    if (!c.batched(i)) continue;
    Tensor all = c.expanded(i);
    Dims shape{n};
    append(shape, c.tensor(i).shape());
    rows[i] = ops::reshape(all, shape);
  }
  std::vector<std::vector<Tensor>> made(c.metas.size());
  for (std::int64_t e = 0; e < n; ++e) {
    std::vector<Tensor> example(rows.size());
    std::vector<Operand> operands(c.operands.begin(), c.operands.end());
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].defined()) {
        example[i] = ops::select(rows[i], 0, e);
        operands[i] = Operand(example[i]);
      }
    std::vector<Tensor> results = c.run(operands, c.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) made[i].push_back(std::move(results[i]));
  }
  for (std::size_t i = 0; i < made.size(); ++i) c.set(i, ops::stack(made[i], 0));
}

void leading(BatchCall& c) { setAll(c, c.run(operandsOf(expandedAll(c)), c.attrs)); }

void alongDim(BatchCall& c) {
  // An example without dims has one of size 1, which the attribute names.
  std::vector<Tensor> all = expandedAll(c, 1);
  std::vector<std::int64_t> attrs(c.attrs.begin(), c.attrs.end());
  if (c.dimOptional && attrs[c.dimAttr] == 0) {
    Dims flat = c.sizes();
    flat.push_back(-1);
    if (c.tensor(0).numel() == 0) flat.back() = 0;
    all[0] = ops::reshape(all[0], flat);
    attrs[c.dimAttr] = 1;
    attrs.insert(attrs.begin() + c.dimAttr + 1, c.depth());
  } else {
    attrs[c.dimAttr + (c.dimOptional ? 1 : 0)] += c.depth();
  }
  setAll(c, c.run(operandsOf(all), attrs));
}

void folded(BatchCall& c) {
  std::vector<Tensor> all = expandedAll(c);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Dims shape = c.tensor(i).shape();
    shape[0] *= c.examples();
    all[i] = ops::reshape(all[i], shape);
  }
  setAll(c, c.run(operandsOf(all), c.attrs));
}

// ---- contractions ---------------------------------------------------------------------------------------------------

// Axes of both operands are batch dims; an axis of one alone lengthens its rows (or columns): one product, no copies of
// the other. A bias is added afterwards, but where all rows of that product have it.
void matmul(BatchCall& c) {
  if (c.operands.size() > 2 && (c.batched(1) || c.batched(2))) {
    const Tensor y = ops::matmul_plain(c.tensor(0), c.tensor(1), AttrReader(c.attrs).boolean(false), true);
    return c.set(0, allExamples(ops::sumOver(y, c.tensor(2), c.metas[0].dtype), c.axes, true));
  }
  std::vector<Ref<BatchAxis>> both;
  std::vector<Ref<BatchAxis>> rows;
  std::vector<Ref<BatchAxis>> columns;
  auto has = [&](std::size_t i, const Ref<BatchAxis>& axis) {
    const BatchDims* b = c.tensor(i).impl()->batch.get();
    return b != nullptr && b->find(axis.get()) >= 0;
  };
  for (const auto& axis : c.axes) (!has(1, axis) ? rows : !has(0, axis) ? columns : both).push_back(axis);
  auto sizes = [](const std::vector<Ref<BatchAxis>>& axes) {
    Dims d;
    for (const auto& axis : axes) d.push_back(axis->size);
    return d;
  };
  auto nb = static_cast<std::int64_t>(both.size());
  auto nr = static_cast<std::int64_t>(rows.size());
  auto nc = static_cast<std::int64_t>(columns.size());
  std::int64_t s = c.tensor(0).dim() - 2;  // batch dims of an example
  DimsRef batch(c.tensor(0).shape().data(), static_cast<std::size_t>(s));
  std::int64_t n = c.tensor(0).size(-2);
  std::int64_t k = c.tensor(0).size(-1);
  std::int64_t m = c.tensor(1).size(-1);

  std::vector<Ref<BatchAxis>> own = both;
  own.insert(own.end(), rows.begin(), rows.end());
  Tensor a = allExamples(c.tensor(0), own, true);  // [both, rows, batch, n, k]
  a = ops::permute(
      a, joined({range(0, nb), range(nb + nr, nb + nr + s), range(nb, nb + nr), range(nb + nr + s, nb + nr + s + 2)}));
  Dims common = joined({sizes(both), batch});
  Dims shape = common;
  append(shape, Dims{numelOf(sizes(rows)) * n, k});
  a = ops::reshape(a, shape);

  own = both;
  own.insert(own.end(), columns.begin(), columns.end());
  Tensor b = allExamples(c.tensor(1), own, true);  // [both, columns, batch, k, m]
  b = ops::permute(b, joined({range(0, nb), range(nb + nc, nb + nc + s + 1), range(nb, nb + nc),
                              range(nb + nc + s + 1, nb + nc + s + 2)}));
  shape = common;
  append(shape, Dims{k, numelOf(sizes(columns)) * m});
  b = ops::reshape(b, shape);

  const Operand plain[] = {a, b, c.operands.back()};
  Tensor y = c.run(std::span(plain).first(c.operands.size()), c.attrs)[0];
  y = ops::view(y, joined({common, sizes(rows), Dims{n}, sizes(columns), Dims{m}}));
  Dims places;
  std::int64_t b0 = 0;
  std::int64_t r0 = nb + s;
  std::int64_t c0 = nb + s + nr + 1;
  for (const auto& axis : c.axes) places.push_back(!has(1, axis) ? r0++ : !has(0, axis) ? c0++ : b0++);
  c.set(0, y, places);
}

namespace {

/// Attributes of a convolution or its gradients with `groups` multiplied, and their leading list (a shape) changed by
/// `first` and `second`, factors of its first two sizes.
struct ConvAttrs {
  std::vector<std::int64_t> all;
  std::size_t channelsLast;  // where the flag is, two others behind the groups

  ConvAttrs(const BatchCall& c, std::int64_t groups, std::int64_t first, std::int64_t second)
      : all(c.attrs.begin(), c.attrs.end()) {
    std::size_t at = 0;
    for (std::size_t lists = c.op.code == OpCode::conv2d_plain ? 3 : 4; lists > 0; --lists)
      at += 1 + static_cast<std::size_t>(all[at]);
    all[at] *= groups;
    channelsLast = at + 3;
    if (first != 1) all[1] *= first;
    if (second != 1) all[2] *= second;
  }
};

/// [examples, N, C, ...] as [N, examples * C, ...].
Tensor channels(const BatchCall& c, std::size_t i) {
  Dims flat{c.examples()};
  append(flat, c.tensor(i).shape());
  Dims shape = c.tensor(i).shape();
  shape[1] *= c.examples();
  return ops::reshape(ops::transpose(ops::reshape(c.expanded(i), flat), 0, 1), shape);
}
/// [examples, O, ...] as [examples * O, ...].
Tensor stacked(const BatchCall& c, std::size_t i) {
  Dims shape = c.tensor(i).shape();
  shape[0] *= c.examples();
  return ops::reshape(c.expanded(i), shape);
}
/// The result [N, examples * C, ...], whose channels come last in that of each example where the attributes say so.
void setChannels(BatchCall& c, std::span<const Operand> operands, ConvAttrs attrs) {
  const bool last = std::exchange(attrs.all[attrs.channelsLast], 0) != 0;
  const Tensor y = c.run(operands, attrs.all)[0];
  Dims shape{y.size(0)};
  append(shape, c.sizes());
  append(shape, Dims{y.size(1) / c.examples(), y.size(2), y.size(3)});
  const Tensor all = ops::view(y, shape);
  c.set(0, last ? ops::movedim(all, Dims{-3}, Dims{-1}) : all, range(1, 1 + c.depth()));
}

}  // namespace

// With one weight for all, examples are more of the batch; with a weight each, they are groups of channels.
void convolution(BatchCall& c) {
  if (!c.batched(1)) {
    Tensor x = stacked(c, 0);
    const Operand plain[] = {x, c.operands[1]};
    return c.set(0, c.run(plain, c.attrs)[0]);
  }
  Tensor x = channels(c, 0);
  Tensor w = stacked(c, 1);
  const Operand plain[] = {x, w};
  setChannels(c, plain, ConvAttrs(c, c.examples(), 1, 1));
}

void convolutionInputGrad(BatchCall& c) {
  std::int64_t n = c.examples();
  if (!c.batched(1)) {
    Tensor g = stacked(c, 0);
    const Operand plain[] = {g, c.operands[1]};
    return c.set(0, c.run(plain, ConvAttrs(c, 1, n, 1).all)[0]);
  }
  Tensor g = channels(c, 0);
  Tensor w = stacked(c, 1);
  const Operand plain[] = {g, w};
  setChannels(c, plain, ConvAttrs(c, n, 1, n));
}

void convolutionWeightGrad(BatchCall& c) {
  std::int64_t n = c.examples();
  Tensor g = channels(c, 0);
  Tensor x = channels(c, 1);
  const Operand plain[] = {g, x};
  c.set(0, c.run(plain, ConvAttrs(c, n, n, 1).all)[0]);
}

// ---- reading and writing at indices ---------------------------------------------------------------------------------

namespace {

/// The vector `index` of each example as an index of gather or scatter: [axes, 1.., n, 1..] expanded to `shape`.
Tensor alongOnly(const BatchCall& c, std::size_t i, std::int64_t dim, DimsRef shape) {
  Tensor index = allExamples(c.tensor(i), c.axes, false);
  Dims view(index.shape().begin(), index.shape().begin() + c.depth());
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) view.push_back(d == dim ? shape[dim] : 1);
  Dims wide = c.sizes();
  append(wide, shape);
  return ops::expand(ops::reshape(index, view), wide);
}

}  // namespace

void indexSelect(BatchCall& c) {
  if (c.tensor(0).dim() == 0) return loop(c);
  if (!c.batched(1)) {
    Tensor x = c.expanded(0);
    const Operand plain[] = {x, c.operands[1]};
    return c.set(0, c.run(plain, Dims{c.attrs[0] + c.depth()})[0]);
  }
  Tensor index = alongOnly(c, 1, c.attrs[0], c.metas[0].shape);
  c.set(0, ops::gather(c.expanded(0), c.attrs[0] + c.depth(), index));
}

void indexAdd(BatchCall& c) {
  if (c.tensor(0).dim() == 0) return loop(c);
  std::int64_t dim = c.attrs[0] + c.depth();
  Tensor x = c.expanded(0);
  Tensor source = c.expanded(2);
  if (!c.batched(1)) {
    const Operand plain[] = {x, c.operands[1], source};
    return c.set(0, c.run(plain, Dims{dim})[0]);
  }
  c.set(0, ops::scatter_add(x, dim, alongOnly(c, 1, c.attrs[0], c.tensor(2).shape()), source));
}

namespace {

/// 0 .. n-1 for each axis, in a shape that broadcasts over the index tensors of all examples, and then those: how the
/// axes of [before, axes, indexed, after] are indexed along with the rest.
std::vector<Tensor> indicesWithAxes(const BatchCall& c, std::size_t first) {
  Dims wide = c.sizes();
  append(wide, c.tensor(first).shape());
  std::vector<Tensor> indices;
  for (std::int64_t a = 0; a < c.depth(); ++a) {
    Dims shape(wide.size(), 1);
    shape[a] = wide[a];
    Tensor count = ops::reshape(ops::arange_end(c.axes[a]->size, DType::Int64), shape);
    indices.push_back(ops::contiguous(ops::expand(count, wide)));
  }
  for (std::size_t i = first; i < c.operands.size(); ++i)
    indices.push_back(ops::toDType(ops::contiguous(c.expanded(i)), DType::Int64));
  return indices;
}

/// The axes from the front to `place`.
Tensor axesTo(const Tensor& t, std::int64_t depth, std::int64_t place) {
  return ops::permute(t, joined({range(depth, depth + place), range(0, depth), range(depth + place, t.dim())}));
}

bool anyIndexBatched(const BatchCall& c, std::size_t first) {
  for (std::size_t i = first; i < c.operands.size(); ++i)
    if (c.batched(i)) return true;
  return false;
}

}  // namespace

void indexGet(BatchCall& c) {
  std::int64_t first = c.attrs[0];
  bool flat = c.attrs[1] != 0;
  if (!anyIndexBatched(c, 1)) {
    Tensor x = c.expanded(0);
    std::vector<Operand> plain(c.operands.begin(), c.operands.end());
    plain[0] = Operand(x);
    return c.set(0, c.run(plain, Dims{first + c.depth(), c.attrs[1]})[0]);
  }
  Tensor y =
      c.batched(0) ? ops::index_get(axesTo(c.expanded(0), c.depth(), first), indicesWithAxes(c, 1), first, flat) : [&] {
        std::vector<Tensor> indices;
        for (std::size_t i = 1; i < c.operands.size(); ++i) indices.push_back(c.expanded(i));
        return ops::index_get(c.tensor(0), indices, first, flat);
      }();
  c.set(0, y, range(first, first + c.depth()));
}

void indexPut(BatchCall& c) {
  std::int64_t first = c.attrs[0];
  bool accumulate = c.attrs[1] != 0;
  Tensor x = c.expanded(0);
  Tensor values = c.expanded(1);
  if (!anyIndexBatched(c, 2)) {
    std::vector<Operand> plain(c.operands.begin(), c.operands.end());
    plain[0] = Operand(x);
    plain[1] = Operand(values);
    return c.set(0, c.run(plain, Dims{first + c.depth(), c.attrs[1], c.attrs[2]})[0]);
  }
  Tensor y = ops::index_put_plain(axesTo(x, c.depth(), first), axesTo(values, c.depth(), first), indicesWithAxes(c, 2),
                                  first, accumulate, c.attrs[2] != 0);
  c.set(0, y, range(first, first + c.depth()));
}

void windowWrite(BatchCall& c) {
  AttrReader r(c.attrs);
  DimsRef size = r.list();
  DimsRef stride = r.list();
  std::int64_t offset = r.integer();
  Tensor x = ops::contiguous(c.expanded(0));
  Dims sizes = c.sizes();
  append(sizes, size);
  Dims strides(x.strides().begin(), x.strides().begin() + c.depth());
  append(strides, stride);
  c.set(0, ops::window_write(x, c.expanded(1), sizes, strides, offset));
}

}  // namespace tandem::batch_rules

namespace tandem {

BatchRuleOf batchRuleOf(OpCode op) {
  switch (op) {
#include "eager/batch_rules.inc"
  default:
    return {&batch_rules::loop, -1, false};
  }
}

}  // namespace tandem
