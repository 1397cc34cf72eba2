// Views: the cotangent goes back through the window. A view that drops elements leaves zeros there, by `window_write`
// into a contiguous array of the operand's shape, whatever the operand's strides were.
#include <algorithm>

#include "autograd/rule_context.h"
#include "autograd/rules/common.h"
#include "autograd/rules/rules.h"
#include "eager/memory_format.h"
#include "eager/ops.h"

namespace tandem::rules {

Tensor windowOf(const Tensor& t, const Geometry& window) {
  Tensor whole = ops::contiguous(t);
  return ops::as_strided(whole, window.shape, window.strides, whole.impl()->offset + window.offset);
}

// The copy that is written to is the only array of the size.
Tensor zerosToAddTo(DimsRef shape, DType dtype) { return ops::expand(ops::zeros(Dims{}, dtype), shape); }

Tensor intoWindow(DimsRef baseShape, const Tensor& value, const Geometry& window) {
  if (!mayOverlap(window)) {
    Tensor zeros = zerosToAddTo(baseShape, value.dtype());
    return ops::window_write(zeros, value, window.shape, window.strides, window.offset);
  }
  std::int64_t n = numelOf(baseShape);
  Tensor places = ops::reshape(windowOf(ops::arange_end(n, DType::Int64), window), Dims{-1});
  Tensor flat = ops::scatter_add(zerosToAddTo(Dims{n}, value.dtype()), 0, places, ops::reshape(value, Dims{-1}));
  return ops::reshape(flat, baseShape);
}

Dims keptShape(DimsRef shape, DimsRef dims) {
  Dims kept(shape);
  for (std::int64_t d : dims) kept[wrapDim(d, static_cast<std::int64_t>(shape.size()))] = 1;
  return kept;
}

namespace {

Geometry wholeOf(DimsRef shape) { return {Dims(shape), contiguousStrides(shape), 0}; }
std::int64_t dimOf(std::int64_t d, DimsRef shape) { return wrapDim(d, static_cast<std::int64_t>(shape.size())); }

}  // namespace

void view(RuleContext& c) { c.set(0, ops::reshape(c.grad(), c.inputShape(0))); }
void unsqueeze(RuleContext& c) { c.set(0, ops::reshape(c.grad(), c.inputShape(0))); }
void squeezeDims(RuleContext& c) { c.set(0, ops::reshape(c.grad(), c.inputShape(0))); }
void alias(RuleContext& c) { c.set(0, c.grad()); }
// The engine sums over what was broadcast.
void expand(RuleContext& c) { c.set(0, c.grad()); }

void batchIn(RuleContext& c) {
  AttrReader a = c.attrs();
  std::int64_t dim = a.integer();
  c.set(0, ops::batch_out(c.grad(), dim, a.integer()));
}
void batchOut(RuleContext& c) {
  AttrReader a = c.attrs();
  std::int64_t dim = a.integer();
  c.set(0, ops::batch_in(c.grad(), dim, a.integer()));
}

void permute(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef dims = a.list();
  Dims back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) back[dimOf(dims[i], c.inputShape(0))] = static_cast<std::int64_t>(i);
  c.set(0, ops::permute(c.grad(), back));
}

void transpose(RuleContext& c) {
  AttrReader a = c.attrs();
  std::int64_t d0 = a.integer();
  std::int64_t d1 = a.integer();
  c.set(0, ops::transpose(c.grad(), d0, d1));
}

void select(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  std::int64_t d = dimOf(a.integer(), shape);
  std::int64_t index = a.integer();
  if (index < 0) index += shape[d];
  Geometry w = wholeOf(shape);
  w.offset = index * w.strides[d];
  w.shape.erase(d);
  w.strides.erase(d);
  c.set(0, intoWindow(shape, c.grad(), w));
}

void slice(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  std::int64_t d = dimOf(a.integer(), shape);
  std::int64_t start = a.integer();
  a.integer();
  std::int64_t step = a.integer();
  if (start < 0) start = std::max<std::int64_t>(start + shape[d], 0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  // Images whose channels lie beside each other are parts of such.
  const Dims order = orderOf(formatOf(c.grad()), rank), inverse = inverseOf(order);
  Dims whole;
  for (const std::int64_t k : order) whole.push_back(shape[k]);
  Geometry w = wholeOf(whole);
  const std::int64_t at = inverse[static_cast<std::size_t>(d)];
  w.offset = std::min(start, shape[d]) * w.strides[at];
  w.shape[at] = c.resultShape()[d];
  w.strides[at] *= step;
  c.set(0, laidOut(c.grad(), order, [&](const Tensor& g) { return intoWindow(whole, g, w); }));
}

void diagonal(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  std::int64_t offset = a.integer();
  std::int64_t d1 = dimOf(a.integer(), shape);
  std::int64_t d2 = dimOf(a.integer(), shape);
  Geometry w = wholeOf(shape);
  w.offset = offset >= 0 ? offset * w.strides[d2] : -offset * w.strides[d1];
  std::int64_t stride = w.strides[d1] + w.strides[d2];
  w.shape.erase(std::max(d1, d2));
  w.shape.erase(std::min(d1, d2));
  w.strides.erase(std::max(d1, d2));
  w.strides.erase(std::min(d1, d2));
  w.shape.push_back(c.resultShape().back());
  w.strides.push_back(stride);
  if (w.shape.back() == 0) w.offset = 0;
  c.set(0, intoWindow(shape, c.grad(), w));
}

void unfold(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef shape = c.inputShape(0);
  if (shape.empty()) return c.set(0, ops::reshape(c.grad(), shape));
  std::int64_t d = dimOf(a.integer(), shape);
  std::int64_t size = a.integer();
  std::int64_t step = a.integer();
  Geometry w = wholeOf(shape);
  w.shape[d] = c.resultShape()[d];
  w.shape.push_back(size);
  w.strides.push_back(w.strides[d]);
  w.strides[d] *= step;
  c.set(0, intoWindow(shape, c.grad(), w));
}

// The tape states its window in elements of a contiguous array (autograd/tape.cpp), which memory need not be.
void asStrided(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef size = a.list();
  DimsRef stride = a.list();
  std::int64_t offset = a.present() ? a.integer() : 0;
  c.set(0, intoWindow(c.inputShape(0), c.grad(), {Dims(size), Dims(stride), offset}));
}

namespace {

/// The cotangents of all results; of those that have none zeros that take no memory.
std::vector<Tensor> cotangentsOf(RuleContext& c) {
  std::vector<Tensor> all;
  DType dtype = c.resultDType();
  for (int i = 0; i < c.numResults(); ++i)
    if (c.hasGrad(i)) dtype = c.grad(i).dtype();
  for (int i = 0; i < c.numResults(); ++i)
    all.push_back(c.hasGrad(i) ? c.grad(i) : zerosToAddTo(c.resultShape(i), dtype));
  return all;
}

}  // namespace

void pieces(RuleContext& c) { c.set(0, ops::cat(cotangentsOf(c), c.rawAttrs().back())); }
void unbind(RuleContext& c) { c.set(0, ops::stack(cotangentsOf(c), c.rawAttrs().back())); }

void windowWrite(RuleContext& c) {
  AttrReader a = c.attrs();
  DimsRef size = a.list();
  DimsRef stride = a.list();
  std::int64_t offset = a.integer();
  if (c.needs(0))
    c.set(0, ops::window_write(ops::contiguous(c.grad()), ops::zeros(size, c.grad().dtype()), size, stride, offset));
  if (c.needs(1)) c.set(1, windowOf(c.grad(), {Dims(size), Dims(stride), offset}));
}

}  // namespace tandem::rules
