// Attention. The first derivative is a kernel of its own, which computes the scores again instead of keeping them. Its
// derivative, and that of a mask, are stated in products and softmax, so that every order follows.
//
// With P = softmax(s Q K^T + mask), M the dropout (1 without), o = (P M) V, and a cotangent g of o:
//   dP = (g V^T) M       dS = P (dP - sum(P dP))       dQ = s dS K       dK = s dS^T Q       dV = (P M)^T g
// and with cotangents a, b, c of dQ, dK, dV:
//   X = s (a K^T + Q b^T)      Y = P (X - sum(P X))      Z = X (dP - sum(P dP)) - dP sum(P X) + (g c^T) M
//   T = P (Z - sum(P Z))
//   of g: (Y M) V + (P M) c      of V: (Y M)^T g      of Q: s (T K + dS b)      of K: s (T^T Q + dS^T a)
#include <array>
#include <limits>

#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/compute_flags.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::rules {
namespace {

Tensor turned(const Tensor& x) { return ops::transpose(x, -2, -1); }
Tensor headsAndRowsSwapped(const Tensor& x) { return ops::transpose(x, 1, 2); }
/// Is [B, H, rows, width] all of a [B, rows, H, width] array? What such an operand is made of needs its cotangent so.
/// Of one among others (query, key and value of one array) the cotangent is written where a frame has it, dense.
bool isTurnedArray(const Tensor& x) {
  const Dims &n = x.shape(), &s = x.strides();
  return !x.isContiguous() && isContiguous(Dims{n[0], n[2], n[1], n[3]}, Dims{s[0], s[2], s[1], s[3]});
}
/// Whole derivatives of half types are computed in float32.
Tensor wide(const Tensor& x) { return ops::toDType(x, computeType(x.dtype())); }
Tensor sumPlus(const Tensor& a, const Tensor& b) { return a.defined() ? (b.defined() ? ops::add(a, b) : a) : b; }

struct Attrs {
  bool causal, masked, half, bfloat;
  std::array<bool, 3> rowsFirst;  // of each result; of attention there is one
  explicit Attrs(AttrReader a)
      : causal(a.boolean()), masked(a.boolean()), half(a.boolean(false)), bfloat(a.boolean(false)),
        rowsFirst{a.boolean(false), a.boolean(false), a.boolean(false)} {}
  /// A result, or its cotangent, as [B, H, rows, width].
  [[nodiscard]] Tensor asHeads(const Tensor& x, int result) const {
    return x.defined() && rowsFirst[static_cast<std::size_t>(result)] ? headsAndRowsSwapped(x) : x;
  }
};

/// The quantities above for operands first .. first + 2 and the extras from `extras` on.
class Decomposed {
 public:
  Decomposed(RuleContext& c, int first, int scalars, int extras, const Tensor& g)
      : q(wide(c.input(first))), g(wide(g)), scale_(c.scalar(scalars)) {
    Attrs attrs(c.attrs());
    const Tensor& key = c.input(first + 1);
    shared_ = key.size(1);
    k = repeated(wide(key));
    v = repeated(wide(c.input(first + 2)));
    Tensor scores = ops::mul(matrixProduct(q, turned(k)), Operand(scale_));
    Dims shape = scores.shape();
    int next = extras;
    if (attrs.masked) {
      const Tensor& mask = c.input(next++);
      scores = mask.dtype() == DType::Bool ? ops::where(mask, scores, minusInfinity()) : ops::add(scores, mask);
    }
    if (attrs.causal) {
      Tensor places = ops::arange_end(shape[3], DType::Int64);
      Tensor rows = ops::unsqueeze(ops::arange_end(shape[2], DType::Int64), 1);
      scores = ops::where(ops::le(places, rows), scores, minusInfinity());
    }
    // Rows that attend to nothing have probabilities 0.
    Tensor live = ops::gt(ops::amax(ops::detached(scores), Dims{-1}, true), minusInfinity());
    p = ops::where(live, ops::softmax(ops::where(live, scores, 0.0), -1), 0.0);
    if (next < c.numOperands()) {
      double rate = c.scalar(scalars + 1).asDouble();
      Tensor keep = ops::attention_keep(c.input(next), c.scalar(scalars + 1), shape);
      m = ops::mul(ops::toDType(keep, q.dtype()), rate < 1 ? 1 / (1 - rate) : 0.0);
    }
    dp = dropped(matrixProduct(this->g, turned(v)));
    centred = ops::sub(dp, rowSum(p, dp));
    ds = ops::mul(p, centred);
  }

  [[nodiscard]] Tensor dropped(const Tensor& x) const { return m.defined() ? ops::mul(x, m) : x; }
  static Tensor rowSum(const Tensor& a, const Tensor& b) { return ops::sum(ops::mul(a, b), Dims{-1}, true); }
  /// p (x - sum(p x)), the product with the softmax's Jacobian.
  [[nodiscard]] Tensor throughSoftmax(const Tensor& x) const { return ops::mul(p, ops::sub(x, rowSum(p, x))); }
  [[nodiscard]] Tensor scaled(const Tensor& x) const { return x.defined() ? ops::mul(x, Operand(scale_)) : x; }
  /// A head of keys for each head of queries.
  [[nodiscard]] Tensor repeated(const Tensor& x) const {
    std::int64_t heads = q.size(1);
    if (shared_ == heads) return x;
    Dims wide{x.size(0), shared_, heads / shared_, x.size(2), x.size(3)};
    return ops::reshape(ops::expand(ops::unsqueeze(x, 2), wide), Dims{x.size(0), heads, x.size(2), x.size(3)});
  }
  /// The sum over the heads of queries that share a head of keys.
  [[nodiscard]] Tensor gathered(const Tensor& x) const {
    std::int64_t heads = q.size(1);
    if (shared_ == heads || !x.defined()) return x;
    Dims wide{x.size(0), shared_, heads / shared_, x.size(2), x.size(3)};
    return ops::sum(ops::reshape(x, wide), Dims{2}, false);
  }

  Tensor q, k, v, g, p, m, dp, centred, ds;

 private:
  static Operand minusInfinity() { return {-std::numeric_limits<double>::infinity()}; }
  Scalar scale_;
  std::int64_t shared_ = 1;
};

std::vector<Tensor> extrasOf(RuleContext& c, int first) {
  std::vector<Tensor> extras;
  for (int i = first; i < c.numOperands(); ++i) extras.push_back(c.input(i));
  return extras;
}

}  // namespace

// Operands (query, key, value, scale, dropout, extras...).
void attention(RuleContext& c) {
  if (!c.hasGrad()) return;
  Attrs attrs(c.attrs());
  bool maskNeeds = attrs.masked && c.needs(5);
  const Tensor grad = attrs.asHeads(c.grad(), 0);
  if (maskNeeds) c.set(5, Decomposed(c, 0, 3, 5, grad).ds);
  if (!c.needs(0) && !c.needs(1) && !c.needs(2)) return;
  std::array<bool, 3> rowsFirst{};
  for (int i = 0; i < 3; ++i) rowsFirst[static_cast<std::size_t>(i)] = isTurnedArray(c.input(i));
  auto [dq, dk, dv] = ops::attention_grad(
      grad, c.input(0), c.input(1), c.input(2), attrs.asHeads(c.output(0), 0), c.output(1), c.scalar(3), c.scalar(4),
      extrasOf(c, 5), attrs.causal, attrs.masked, attrs.half, attrs.bfloat, rowsFirst[0], rowsFirst[1], rowsFirst[2]);
  const Tensor* const found[] = {&dq, &dk, &dv};
  for (int i = 0; i < 3; ++i)
    if (c.needs(i)) c.set(i, rowsFirst[static_cast<std::size_t>(i)] ? headsAndRowsSwapped(*found[i]) : *found[i]);
}

// Operands (grad, query, key, value, output, stats, scale, dropout, extras...). Output and statistics follow from the
// others, whose derivatives here are the whole ones.
void attentionGrad(RuleContext& c) {
  Attrs attrs(c.attrs());
  bool maskNeeds = attrs.masked && c.needs(8);
  if (!c.needs(0) && !c.needs(1) && !c.needs(2) && !c.needs(3) && !maskNeeds) return;
  Decomposed d(c, 1, 6, 8, c.input(0));
  auto set = [&](int operand, const Tensor& t) {
    c.set(operand, t.defined() ? ops::toDType(t, c.input(operand).dtype()) : t);
  };
  Tensor a = c.hasGrad(0) ? wide(attrs.asHeads(c.grad(0), 0)) : Tensor();
  Tensor b = c.hasGrad(1) ? d.repeated(wide(attrs.asHeads(c.grad(1), 1))) : Tensor();
  Tensor e = c.hasGrad(2) ? d.repeated(wide(attrs.asHeads(c.grad(2), 2))) : Tensor();
  Tensor x = d.scaled(sumPlus(a.defined() ? matrixProduct(a, turned(d.k)) : Tensor(),
                              b.defined() ? matrixProduct(d.q, turned(b)) : Tensor()));
  Tensor y = x.defined() ? d.dropped(d.throughSoftmax(x)) : Tensor();
  if (c.needs(0))
    set(0, sumPlus(y.defined() ? matrixProduct(y, d.v) : Tensor(),
                   e.defined() ? matrixProduct(d.dropped(d.p), e) : Tensor()));
  if (c.needs(3) && y.defined()) set(3, d.gathered(matrixProduct(turned(y), d.g)));
  Tensor z = x.defined() ? ops::sub(ops::mul(x, d.centred), ops::mul(d.dp, Decomposed::rowSum(d.p, x))) : Tensor();
  z = sumPlus(z, e.defined() ? d.dropped(matrixProduct(d.g, turned(e))) : Tensor());
  if (!z.defined()) return;
  Tensor t = d.throughSoftmax(z);
  if (c.needs(1)) set(1, d.scaled(sumPlus(matrixProduct(t, d.k), b.defined() ? matrixProduct(d.ds, b) : Tensor())));
  if (c.needs(2))
    set(2, d.gathered(d.scaled(
               sumPlus(matrixProduct(turned(t), d.q), a.defined() ? matrixProduct(turned(d.ds), a) : Tensor()))));
  if (maskNeeds) c.set(8, t);
}

}  // namespace tandem::rules
