// Reading at indices and writing at indices: each is the other's derivative.
#include "autograd/rule_context.h"
#include "autograd/rules/common.h"
#include "autograd/rules/rules.h"
#include "eager/ops.h"

namespace tandem::rules {

namespace {
std::int64_t firstAttr(RuleContext& c) { return c.attrs().integer(); }

/// The gradient of a scatter's `src`, of which only the part as large as `index` was read.
void setSourceGrad(RuleContext& c, std::int64_t dim) {
  const Tensor& index = c.input(1);
  Tensor read = ops::gather(c.grad(), dim, index);
  DimsRef shape = c.inputShape(2);
  if (index.shape() == Dims(shape)) return c.set(2, read);
  c.set(2, intoWindow(shape, read, {index.shape(), contiguousStrides(shape), 0}));
}

std::vector<Tensor> inputsFrom(RuleContext& c, int first) {
  std::vector<Tensor> list;
  for (int i = first; i < c.numOperands(); ++i) list.push_back(c.input(i));
  return list;
}
}  // namespace

void gather(RuleContext& c) {
  c.set(0, ops::scatter_add(ops::zeros(c.inputShape(0), c.grad().dtype()), firstAttr(c), c.input(1), c.grad()));
}

void scatterAdd(RuleContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(2)) setSourceGrad(c, firstAttr(c));
}

void scatter(RuleContext& c) {
  std::int64_t dim = firstAttr(c);
  if (c.needs(0)) {
    const Tensor& index = c.input(1);
    c.set(0, ops::scatter_value(c.grad(), dim, index, ops::zeros(index.shape(), c.grad().dtype())));
  }
  if (c.needs(2)) setSourceGrad(c, dim);
}

void indexSelect(RuleContext& c) {
  c.set(0, ops::index_add_unit(ops::zeros(c.inputShape(0), c.grad().dtype()), firstAttr(c), c.input(1), c.grad()));
}

void indexAdd(RuleContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(2)) c.set(2, ops::index_select(c.grad(), firstAttr(c), c.input(1)));
}

void indexGet(RuleContext& c) {
  Tensor zeros = ops::zeros(c.inputShape(0), c.grad().dtype());
  c.set(0, ops::index_put_at(zeros, c.grad(), inputsFrom(c, 1), firstAttr(c), true));
}

void indexPut(RuleContext& c) {
  AttrReader a = c.attrs();
  std::int64_t first = a.integer();
  bool accumulate = a.boolean();
  std::vector<Tensor> indices = inputsFrom(c, 2);
  if (c.needs(0)) {
    Tensor zeros = ops::zeros(c.inputShape(1), c.grad().dtype());
    c.set(0, accumulate ? c.grad() : ops::index_put_at(c.grad(), zeros, indices, first, false));
  }
  if (c.needs(1)) c.set(1, ops::index_get(c.grad(), indices, first));
}

// sort, topk, max and min along a dim: result 0 was read from the places that result 1 names.
void byIndices(RuleContext& c) {
  if (!c.hasGrad()) return;
  DimsRef shape = c.inputShape(0);
  if (shape.empty()) return c.set(0, ops::reshape(c.grad(), shape));
  AttrReader a = c.attrs();
  if (c.op() == OpCode::topk) a.integer();  // k comes before dim
  std::int64_t dim = wrapDim(a.integer(), static_cast<std::int64_t>(shape.size()));
  Tensor g = c.grad();
  Tensor index = c.output(1);
  if (g.shape().size() < shape.size()) {
    g = ops::unsqueeze(g, dim);
    index = ops::unsqueeze(index, dim);
  }
  c.set(0, ops::scatter_add(ops::zeros(shape, g.dtype()), dim, index, g));
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

}  // namespace tandem::rules
