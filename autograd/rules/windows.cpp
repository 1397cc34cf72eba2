// Pools, columns and resampling: linear maps, each the transpose of another; a maximum is a choice of elements.
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/composites/spatial.h"
#include "eager/ops.h"

namespace tandem::rules {
namespace {

struct PoolAttrs {
  DimsRef kernel, stride, padding, size;
  bool countPadding;
  std::int64_t divisor;
  bool channelsLast;
  explicit PoolAttrs(AttrReader a)
      : kernel(a.list()), stride(a.list()), padding(a.list()), size(a.list()), countPadding(a.boolean()),
        divisor(a.integer()), channelsLast(a.boolean(false)) {}
};

struct WindowAttrs {
  DimsRef kernel, dilation, padding, stride;
  explicit WindowAttrs(AttrReader a) : kernel(a.list()), dilation(a.list()), padding(a.list()), stride(a.list()) {}
};

/// The last `n` sizes of operand or result shapes.
DimsRef lastSizes(DimsRef shape, std::size_t n) { return shape.last(n); }

struct ResampleAttrs {
  std::int64_t dim, size, mode;
  bool alignCorners;
  explicit ResampleAttrs(AttrReader a)
      : dim(a.integer()), size(a.integer()), mode(a.integer()), alignCorners(a.boolean()) {}
};

}  // namespace

void maxPool(RuleContext& c) {
  if (!c.hasGrad()) return;
  AttrReader a = c.attrs();
  for (int i = 0; i < 4; ++i) a.list();
  const std::size_t n = a.list().size();
  const bool last = a.boolean(false);
  c.set(0, ops::channelsSecond(ops::max_pool_grad(ops::channelsSecond(c.grad(), last),
                                                  ops::channelsSecond(c.output(1), last), lastSizes(c.inputShape(0), n),
                                                  last),
                               last));
}

void maxPoolGrad(RuleContext& c) {
  DimsRef shape = c.inputShape(0);
  AttrReader a = c.attrs();
  std::size_t n = a.list().size();
  const Tensor g = ops::channelsSecond(c.grad(), a.boolean(false));
  auto dim = static_cast<std::int64_t>(shape.size() - n);
  Dims flat(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(n));
  flat.push_back(numelOf(lastSizes(shape, n)));
  Dims from(flat);
  from.back() = numelOf(c.attrs().list());
  Tensor picked = ops::gather(ops::reshape(g, from), dim, ops::reshape(c.input(1), flat));
  c.set(0, ops::reshape(picked, shape));
}

void avgPool(RuleContext& c) {
  PoolAttrs a(c.attrs());
  const Tensor g = ops::channelsSecond(c.grad(), a.channelsLast);
  c.set(0, ops::channelsSecond(ops::avg_pool_grad(g, lastSizes(c.inputShape(0), a.size.size()), a.kernel, a.stride,
                                                  a.padding, a.size, a.countPadding, a.divisor, a.channelsLast),
                               a.channelsLast));
}

void avgPoolGrad(RuleContext& c) {
  AttrReader r = c.attrs();
  r.list();
  PoolAttrs a(r);
  const Tensor g = ops::channelsSecond(c.grad(), a.channelsLast);
  c.set(0, ops::channelsSecond(
               ops::avg_pool_plain(g, a.kernel, a.stride, a.padding, a.size, a.countPadding, a.divisor, a.channelsLast),
               a.channelsLast));
}

void unfoldWindows(RuleContext& c) {
  WindowAttrs a(c.attrs());
  c.set(0, ops::fold_windows(c.grad(), lastSizes(c.inputShape(0), 2), a.kernel, a.dilation, a.padding, a.stride));
}

void foldWindows(RuleContext& c) {
  AttrReader r = c.attrs();
  r.list();
  WindowAttrs a(r);
  c.set(0, ops::unfold_windows(c.grad(), a.kernel, a.dilation, a.padding, a.stride));
}

void resample(RuleContext& c) {
  ResampleAttrs a(c.attrs());
  c.set(0, ops::resample_grad(c.grad(), c.operand(1).scalar(), a.dim, c.inputShape(0)[a.dim], a.mode, a.alignCorners));
}

void resampleGrad(RuleContext& c) {
  ResampleAttrs a(c.attrs());
  c.set(0, ops::resample(c.grad(), c.operand(1).scalar(), a.dim, c.inputShape(0)[a.dim], a.mode, a.alignCorners));
}

}  // namespace tandem::rules
