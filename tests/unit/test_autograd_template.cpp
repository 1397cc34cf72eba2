// Templates: a traced function's history, rebuilt for other tensors, gives what recording it again would.
#include "autograd/template.h"
#include "eager/dispatch.h"
#include "tests/unit/autograd_test_util.h"

namespace tandem {
namespace {

using namespace tandem::test;

/// What a compiled function does, with eager operations in the place of its plan.
struct Traced {
  explicit Traced(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f, std::vector<Tensor> in)
      : function(f) {
    std::vector<Edge> edges;
    for (const Tensor& t : in) edges.push_back(gradEdge(t));
    std::uint64_t first = Node::takeSequence();
    outputs = function(in);
    ok = extractTemplate(outputs, in, edges, first, tape, reason);
    traced = std::move(in);
  }

  /// The outputs for other inputs. `values` of intermediates are found by running the function once more, without grad.
  std::vector<Tensor> call(std::span<const Tensor> in) {
    std::vector<Edge> edges;
    for (const Tensor& t : in) edges.push_back(gradEdge(t));
    std::vector<Tensor> fresh;
    {
      std::vector<Tensor> plain;
      for (const Tensor& t : in) {
        Tensor p = autograd::detach(t);
        autograd::setRequiresGrad(p, t.requiresGrad());
        plain.push_back(p);
      }
      // A second trace stands for the plan: it computes the values to save, in the same order.
      std::vector<Edge> own;
      for (const Tensor& t : plain) own.push_back(gradEdge(t));
      std::uint64_t first = Node::takeSequence();
      std::vector<Tensor> outs = function(plain);
      TapeTemplate again;
      std::string why;
      EXPECT_TRUE(extractTemplate(outs, plain, own, first, again, why)) << why;
      EXPECT_EQ(again.saved.size(), tape.saved.size());
      for (std::size_t i = 0; i < again.saved.size(); ++i)
        saved.push_back(again.saved[i].input >= 0 ? in[again.saved[i].input] : autograd::detach(again.saved[i].traced));
      for (const Tensor& t : outs) fresh.push_back(autograd::detach(t));
    }
    instantiate(tape, edges, saved, {}, fresh);
    saved.clear();
    return fresh;
  }

  std::function<std::vector<Tensor>(std::span<const Tensor>)> function;
  std::vector<Tensor> traced, outputs, saved;
  TapeTemplate tape;
  std::string reason;
  bool ok = false;
};

std::vector<Tensor> net(std::span<const Tensor> in) {
  Tensor h = ops::tanh(ops::matmul_plain(in[0], in[1]));
  Tensor y = ops::mul(h, h);
  Tensor row = ops::select(y, 1, 0);
  applyInto(row, OpCode::mul, {row, ops::select(h, 1, 1)});
  return {ops::sum(y), h};
}

TEST(TapeTemplate, GivesEagersGradientsToOrderTwo) {
  autograd::install();
  Traced region(net, {arbitrary(Dims{1, 3, 2}, 1, true), arbitrary(Dims{1, 2, 2}, 2, true)});
  ASSERT_TRUE(region.ok) << region.reason;
  auto second = [](const std::vector<Tensor>& outs, std::span<const Tensor> in) {
    const Tensor root[] = {ops::add(outs[0], ops::sum(ops::exp(outs[1])))};
    autograd::GradOptions o;
    o.createGraph = true;
    auto g = autograd::grad(root, in, {}, o);
    const Tensor norm[] = {ops::add(ops::sum(ops::square(g[0])), ops::sum(ops::square(g[1])))};
    auto gg = autograd::grad(norm, in);
    return std::vector{values(g[0]), values(g[1]), values(gg[0]), values(gg[1])};
  };
  const Tensor a[] = {arbitrary(Dims{1, 3, 2}, 3, true), arbitrary(Dims{1, 2, 2}, 4, true)};
  EXPECT_EQ(second(net(a), a), second(region.call(a), a));  // the same bits
  // Inputs with a history of their own.
  Tensor x = arbitrary(Dims{1, 3, 2}, 5, true);
  auto inner = [&](bool compiled) {
    const Tensor in[] = {ops::mul(x, 2.0), a[1]};
    auto outs = compiled ? region.call(in) : net(in);
    const Tensor root[] = {outs[0]};
    const Tensor leaf[] = {x};
    return values(autograd::grad(root, leaf)[0]);
  };
  EXPECT_EQ(inner(false), inner(true));
}

TEST(TapeTemplate, ComplainsWhereEagerDoes) {
  autograd::install();
  auto bad = [](std::span<const Tensor> in) -> std::vector<Tensor> {
    Tensor h = ops::exp(in[0]);
    applyInto(h, OpCode::add, {h, 1.0});
    return {ops::sum(h)};
  };
  Traced region(bad, {arbitrary(Dims{3}, 1, true)});
  ASSERT_TRUE(region.ok) << region.reason;
  const Tensor in[] = {arbitrary(Dims{3}, 2, true)};
  auto outs = region.call(in);
  expectError([&] { autograd::backward(outs); }, "modified by an inplace operation");
}

TEST(TapeTemplate, RefusesWhatItCannotRebuild) {
  autograd::install();
  Tensor outside = arbitrary(Dims{3}, 9, true);
  Traced captured([&](std::span<const Tensor> in) { return std::vector{ops::mul(in[0], outside)}; },
                  {arbitrary(Dims{3}, 1, true)});
  EXPECT_FALSE(captured.ok);
  EXPECT_NE(captured.reason.find("is no input"), std::string::npos) << captured.reason;
}

TEST(TapeTemplate, RepeatsHooks) {
  autograd::install();
  Traced hooked(
      [](std::span<const Tensor> in) {
        Tensor h = ops::exp(in[0]);
        autograd::registerHook(h, [](const Tensor& g) { return ops::mul(g, 2.0); });
        return std::vector{ops::sum(h)};
      },
      {arbitrary(Dims{3}, 1, true)});
  ASSERT_TRUE(hooked.ok) << hooked.reason;
  for (int seed : {2, 3}) {
    const Tensor in[] = {arbitrary(Dims{3}, seed, true)};
    auto outs = hooked.call(in);
    EXPECT_EQ(values(autograd::grad(outs, in)[0]), values(ops::mul(ops::exp(in[0]), 2.0)));
  }
}

}  // namespace
}  // namespace tandem
