// Every rule written in C++, and a few derivatives of the records, to order three against differences in float64.
#include "tests/unit/autograd_test_util.h"

namespace tandem {
namespace {

using namespace tandem::test;

Tensor index(std::vector<std::int64_t> values, DimsRef shape) {
  Tensor t = makeEmpty(shape, DType::Int64);
  std::copy(values.begin(), values.end(), t.dataAs<std::int64_t>());
  return t;
}
Tensor index(std::vector<std::int64_t> values) {
  Dims shape{static_cast<std::int64_t>(values.size())};
  return index(std::move(values), shape);
}

TEST(Rules, Pointwise) {
  autograd::install();
  Tensor x = arbitrary(Dims{2, 3}, 1);
  Tensor w = arbitrary(Dims{2, 3}, 2);
  checkOrders("tanh", [](const Tensor& t) { return ops::tanh(t); }, x);
  checkOrders("exp", [](const Tensor& t) { return ops::exp(t); }, x);
  checkOrders("div", [&](const Tensor& t) { return ops::div(w, ops::add(t, 1)); }, x);
  checkOrders("log", [](const Tensor& t) { return ops::mul(ops::log(t), ops::sqrt(t)); }, x);
  checkOrders("broadcast", [&](const Tensor& t) { return ops::mul(t, ops::slice(t, 1, 0, 1, 1)); }, x);
  checkOrders("where", [&](const Tensor& t) { return ops::where(ops::gt(t, 0.7), ops::sin(t), ops::mul(t, t)); }, x);
}

TEST(Rules, Pow) {
  autograd::install();
  Tensor x = arbitrary(Dims{5}, 3);
  Tensor e = arbitrary(Dims{5}, 4);
  checkOrders("number", [](const Tensor& t) { return ops::pow(t, 1.7); }, x);
  checkOrders("integer", [](const Tensor& t) { return ops::pow(t, 3); }, x);
  checkOrders("tensor", [&](const Tensor& t) { return ops::pow(t, e); }, x);
  checkOrders("exponent", [&](const Tensor& t) { return ops::pow(e, t); }, x);
  checkOrders("base number", [](const Tensor& t) { return ops::pow(2.5, t); }, x);
  checkOrders("both", [](const Tensor& t) { return ops::pow(t, t); }, x);
  // At zero: the derivative of x ** 0 is 0, that of 0 ** e by e is 0.
  Tensor z = vec({0.0, 2.0}, true);
  Tensor p = vec({0.0, 3.0}, true);
  Tensor outs[] = {ops::sum(ops::pow(z, p))};
  Tensor ins[] = {z, p};
  auto g = autograd::grad(outs, ins);
  expectNear(values(g[0]), {0, 12});
  expectNear(values(g[1]), {0, 8 * std::log(2.0)});
}

TEST(Rules, Extrema) {
  autograd::install();
  Tensor x = arbitrary(Dims{3, 4}, 5);
  Tensor w = arbitrary(Dims{3, 4}, 6);
  checkOrders("maximum", [&](const Tensor& t) { return ops::maximum(t, w); }, x);
  checkOrders("minimum", [&](const Tensor& t) { return ops::minimum(w, t); }, x);
  checkOrders("amax", [](const Tensor& t) { return ops::amax(t, Dims{1}, false); }, x);
  checkOrders("amin", [](const Tensor& t) { return ops::amin(t, Dims{0}, true); }, x);
  checkOrders("max_dim", [](const Tensor& t) { return ops::max_dim(t, 1, false)[0]; }, x);
  checkOrders("sort", [](const Tensor& t) { return ops::sort(t, 0, true)[0]; }, x);
  checkOrders("topk", [](const Tensor& t) { return ops::topk(t, 2, 1)[0]; }, x);
  // Ties share.
  Tensor t = vec({2, 1, 2}, true);
  Tensor outs[] = {ops::amax(t)};
  Tensor ins[] = {t};
  expectNear(values(autograd::grad(outs, ins)[0]), {0.5, 0, 0.5});
  Tensor a = vec({1, 2}, true);
  Tensor b = vec({1, 3}, true);
  Tensor outs2[] = {ops::sum(ops::maximum(a, b))};
  Tensor ins2[] = {a, b};
  auto g = autograd::grad(outs2, ins2);
  expectNear(values(g[0]), {0.5, 0});
  expectNear(values(g[1]), {0.5, 1});
}

TEST(Rules, Reductions) {
  autograd::install();
  Tensor x = arbitrary(Dims{2, 3, 2}, 7);
  checkOrders("sum", [](const Tensor& t) { return ops::sum(t, Dims{1}, false); }, x);
  checkOrders("sum all", [](const Tensor& t) { return ops::sum(ops::mul(t, t)); }, x);
  checkOrders("prod", [](const Tensor& t) { return ops::prod(t, Dims{1}, false); }, x);
  checkOrders("prod keepdim", [](const Tensor& t) { return ops::prod(t, Dims{0, 2}, true); }, x);
  checkOrders("cumsum", [](const Tensor& t) { return ops::cumsum_plain(t, 1); }, x);
  checkOrders("cumprod", [](const Tensor& t) { return ops::cumprod_plain(t, 1); }, x);
  // Products with zeros, at every order.
  checkOrders(
      "prod of zeros", [](const Tensor& t) { return ops::prod(ops::sub(t, 1), Dims{0}, false); },
      make({1, 2, 0.5, 1, 1, 3}, Dims{3, 2}));
  checkOrders(
      "cumprod of zeros", [](const Tensor& t) { return ops::cumprod_plain(ops::sub(t, 1), 0); },
      vec({2, 1, 0.5, 1, 3}));
}

TEST(Rules, Views) {
  autograd::install();
  Tensor x = arbitrary(Dims{3, 4}, 8);
  checkOrders("permute", [](const Tensor& t) { return ops::permute(t, Dims{1, 0}); }, x);
  checkOrders("transpose", [](const Tensor& t) { return ops::transpose(t, 0, 1); }, x);
  checkOrders("select", [](const Tensor& t) { return ops::select(t, 1, -2); }, x);
  checkOrders("slice", [](const Tensor& t) { return ops::slice(t, 1, 1, 4, 2); }, x);
  checkOrders("view", [](const Tensor& t) { return ops::view(t, Dims{2, 6}); }, x);
  checkOrders("reshape", [](const Tensor& t) { return ops::reshape(ops::transpose(t, 0, 1), Dims{-1}); }, x);
  checkOrders("unsqueeze", [](const Tensor& t) { return ops::squeeze(ops::unsqueeze(t, 1)); }, x);
  checkOrders("expand", [](const Tensor& t) { return ops::expand(ops::unsqueeze(t, 0), Dims{2, 3, 4}); }, x);
  checkOrders("diagonal", [](const Tensor& t) { return ops::diagonal(t, 1, 0, 1); }, x);
  checkOrders("diagonal below", [](const Tensor& t) { return ops::diagonal(ops::transpose(t, 0, 1), -1, 0, 1); }, x);
  checkOrders("unfold", [](const Tensor& t) { return ops::unfold(t, 1, 3, 1); }, x);
  checkOrders("as_strided", [](const Tensor& t) { return ops::as_strided(t, Dims{2, 2}, Dims{5, 1}, 1); }, x);
  checkOrders(
      "as_strided of a transpose",
      [](const Tensor& t) { return ops::as_strided(ops::transpose(t, 0, 1), Dims{2, 3}, Dims{4, 1}, 4); }, x);
  checkOrders(
      "as_strided overlapping", [](const Tensor& t) { return ops::as_strided(t, Dims{3, 3}, Dims{1, 1}, 2); }, x);
  checkOrders(
      "window_write base",
      [](const Tensor& t) { return ops::window_write(t, ops::select(t, 0, 0), Dims{4}, Dims{1}, 4); }, x);
}

TEST(Rules, Contractions) {
  autograd::install();
  Tensor x = arbitrary(Dims{2, 3, 4}, 9);
  Tensor w = arbitrary(Dims{2, 4, 2}, 10);
  checkOrders("matmul", [&](const Tensor& t) { return ops::matmul_plain(t, w); }, x);
  checkOrders("matmul right", [&](const Tensor& t) { return ops::matmul_plain(t, ops::transpose(t, 1, 2)); }, x);
  Tensor image = arbitrary(Dims{1, 2, 4, 5}, 11);
  Tensor weight = arbitrary(Dims{4, 1, 3, 2}, 12);
  Dims one{1, 1};
  Dims two{2, 1};
  auto conv = [&](const Tensor& i, const Tensor& k) { return ops::conv2d_plain(i, k, two, one, Dims{1, 2}, 2); };
  checkOrders("conv2d input", [&](const Tensor& t) { return conv(t, weight); }, image);
  checkOrders("conv2d weight", [&](const Tensor& t) { return conv(image, t); }, weight);
  checkOrders(
      "max_pool",
      [&](const Tensor& t) { return ops::max_pool_plain(t, Dims{2, 2}, one, Dims{1, 0}, one, Dims{5, 4})[0]; }, image);
}

TEST(Rules, Indexing) {
  autograd::install();
  Tensor x = arbitrary(Dims{3, 4}, 13);
  Tensor y = arbitrary(Dims{3, 4}, 14);
  Tensor along = index({0, 2, 2, 3, 1, 1, 0, 0, 3}, Dims{3, 3});
  checkOrders("gather", [&](const Tensor& t) { return ops::gather(t, 1, along); }, x);
  checkOrders("scatter_add", [&](const Tensor& t) { return ops::scatter_add(y, 1, along, t); }, x);
  checkOrders("scatter_add base", [&](const Tensor& t) { return ops::scatter_add(t, 1, along, y); }, x);
  Tensor distinct = index({0, 2, 1, 3, 1, 0, 2, 3, 1}, Dims{3, 3});
  checkOrders("scatter", [&](const Tensor& t) { return ops::scatter_plain(y, 1, distinct, t); }, x);
  checkOrders("scatter base", [&](const Tensor& t) { return ops::scatter_plain(t, 1, distinct, y); }, x);
  Tensor rows = index({0, 2, 2});
  checkOrders("index_select", [&](const Tensor& t) { return ops::index_select(t, 0, rows); }, x);
  checkOrders("index_add", [&](const Tensor& t) { return ops::index_add_plain(y, 0, rows, t); }, x);
  const std::vector<Tensor> both{index({0, 2, 2}), index({1, 1, 3})};
  checkOrders("index_get", [&](const Tensor& t) { return ops::index_get(t, both, 0); }, x);
  Tensor three = arbitrary(Dims{3}, 15);
  checkOrders("index_put", [&](const Tensor& t) { return ops::index_put_plain(x, t, both, 0, false); }, three);
  checkOrders("index_put base", [&](const Tensor& t) { return ops::index_put_plain(t, three, both, 0, false); }, x);
  checkOrders("index_put add", [&](const Tensor& t) { return ops::index_put_plain(x, t, both, 0, true); }, three);
  checkOrders(
      "cat",
      [&](const Tensor& t) {
        const Tensor parts[] = {t, y, ops::mul(t, t)};
        return ops::cat(parts, 1);
      },
      x);
}

}  // namespace
}  // namespace tandem
