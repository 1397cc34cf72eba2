// Small tensors of float64, and derivatives by central differences, for the tests of autograd.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "eager/ops.h"

namespace tandem::test {

inline Tensor make(std::vector<double> values, DimsRef shape, bool requiresGrad = false) {
  Tensor t = makeEmpty(shape, DType::Float64);
  std::copy(values.begin(), values.end(), t.dataAs<double>());
  if (requiresGrad) autograd::setRequiresGrad(t, true);
  return t;
}
inline Tensor vec(std::vector<double> values, bool requiresGrad = false) {
  Dims shape{static_cast<std::int64_t>(values.size())};
  return make(std::move(values), shape, requiresGrad);
}
/// Values in [0.3, 1.3), without ties, the same every time.
inline Tensor arbitrary(DimsRef shape, std::uint64_t seed, bool requiresGrad = false) {
  std::vector<double> v(static_cast<std::size_t>(numelOf(shape)));
  std::uint64_t s = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (double& x : v) {
    s = s * 6364136223846793005ULL + 1442695040888963407ULL;
    x = 0.3 + static_cast<double>(s >> 11) * 0x1p-53;
  }
  return make(v, shape, requiresGrad);
}
inline std::vector<double> values(const Tensor& t) {
  NoGrad noGrad;
  Tensor c = ops::contiguous(ops::to(t, DType::Float64));
  const double* p = c.dataAs<double>();
  return {p, p + c.numel()};
}
inline double item(const Tensor& t) { return values(t).at(0); }
inline void expectNear(const std::vector<double>& a, const std::vector<double>& b, double tolerance = 1e-12) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "at " << i;
}

template <class F>
void expectError(const F& f, const std::string& part) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    return;
  }
  ADD_FAILURE() << "no error; expected: " << part;
}

using Fn = std::function<Tensor(const Tensor&)>;

/// The directional derivative of a scalar function along `v`, of the given order, as a differentiable function.
inline Fn tower(const Fn& f, int order, const Tensor& v) {
  if (order == 0) return f;
  Fn lower = tower(f, order - 1, v);
  return [lower, v](const Tensor& x0) {
    Tensor x = autograd::requiresGrad(x0) ? x0 : autograd::detach(x0);
    if (!autograd::requiresGrad(x)) autograd::setRequiresGrad(x, true);
    Tensor y = lower(x);
    if (!autograd::requiresGrad(y)) return ops::sum(ops::mul(x, 0.0));
    const Tensor outs[] = {y};
    const Tensor ins[] = {x};
    autograd::GradOptions options;
    options.createGraph = true;
    options.allowUnused = true;
    Tensor g = autograd::grad(outs, ins, {}, options)[0];
    return g.defined() ? ops::sum(ops::mul(g, v)) : ops::sum(ops::mul(x, 0.0));
  };
}

/// Orders 1 .. `orders` of `f` (to a tensor of any shape) at `x` against central differences of the order below.
inline void checkOrders(const std::string& name, const Fn& f, const Tensor& x, int orders = 3) {
  SCOPED_TRACE(name);
  // A weighted sum of squares, so that no order vanishes for linear operations.
  Fn scalar = [&f](const Tensor& t) {
    Tensor y = f(t);
    Tensor w = arbitrary(y.shape(), 7);
    return ops::sum(ops::mul(ops::mul(y, y), ops::mul(y, w)));
  };
  Tensor v = arbitrary(x.shape(), 11);
  const double h = 1e-5;
  for (int n = 1; n <= orders; ++n) {
    Fn lower = tower(scalar, n - 1, v);
    auto at = [&](double step) {
      Tensor moved;
      {
        NoGrad noGrad;
        moved = ops::add(x, ops::mul(v, step));
      }
      autograd::setRequiresGrad(moved, true);
      return item(lower(moved));
    };
    double difference = (at(h) - at(-h)) / (2 * h);
    Tensor start = autograd::detach(x);
    autograd::setRequiresGrad(start, true);
    double exact = item(tower(scalar, n, v)(start));
    EXPECT_NEAR(exact, difference, 3e-5 * (1 + std::abs(difference))) << "order " << n;
  }
}

}  // namespace tandem::test
