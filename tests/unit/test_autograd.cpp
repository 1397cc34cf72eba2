// The tape and the engine: sums, hooks, in-place writes, versions, what is freed when, threads.
#include <thread>

#include "autograd/engine.h"
#include "autograd/function.h"
#include "autograd/meta.h"
#include "eager/dispatch.h"
#include "eager/tape_hook.h"
#include "tests/unit/autograd_test_util.h"

namespace tandem {
namespace {

using namespace tandem::test;
using autograd::gradOf;
using autograd::GradOptions;

void backward(const Tensor& root, bool retain = false, bool create = false) {
  const Tensor roots[] = {root};
  autograd::backward(roots, {}, {.retainGraph = retain || create, .createGraph = create});
}
Tensor gradOne(const Tensor& y, const Tensor& x, bool create = false) {
  const Tensor outs[] = {y};
  const Tensor ins[] = {x};
  GradOptions o;
  o.createGraph = create;
  return autograd::grad(outs, ins, {}, o)[0];
}

class Autograd : public ::testing::Test {
 protected:
  void SetUp() override { autograd::install(); }
};

TEST(Tensor, HasNoSizeWithoutDims) {
  const Tensor none = makeEmpty(DimsRef(), DType::Float32);
  const Tensor pair = makeEmpty(Dims{2, 3}, DType::Float32);
  EXPECT_EQ(pair.size(-2), 2);
  for (const std::int64_t d : {0, -1, 1}) EXPECT_THROW(static_cast<void>(none.size(d)), IndexError);
  for (const std::int64_t d : {2, -3}) EXPECT_THROW(static_cast<void>(pair.size(d)), IndexError);
}

TEST_F(Autograd, AccumulatesIntoLeaves) {
  Tensor x = vec({1, 2, 3}, true);
  backward(ops::sum(ops::mul(x, x)));
  expectNear(values(gradOf(x)), {2, 4, 6});
  Tensor first = gradOf(x);
  backward(ops::sum(ops::mul(x, 3.0)));
  expectNear(values(gradOf(x)), {5, 7, 9});
  EXPECT_EQ(first, gradOf(x));  // added to in place
  EXPECT_FALSE(gradOf(x).requiresGrad());
}

TEST_F(Autograd, LeavesOfOneSumOwnTheirGradients) {
  Tensor a = vec({1, 2}, true);
  Tensor b = vec({3, 4}, true);
  backward(ops::sum(ops::add(a, b)));
  {
    NoGrad noGrad;
    applyInto(gradOf(a), OpCode::add, {gradOf(a), 1.0});
  }
  expectNear(values(gradOf(b)), {1, 1});
}

TEST_F(Autograd, BroadcastsAndTypesAreUndone) {
  Tensor a = make({1, 2, 3, 4, 5, 6}, Dims{2, 3}, true);
  Tensor b = vec({1, 2, 3}, true);
  Tensor c = ops::to(make({2}, Dims{}), DType::Float32);
  autograd::setRequiresGrad(c, true);
  backward(ops::sum(ops::mul(ops::mul(a, b), c)));
  expectNear(values(gradOf(b)), {10, 14, 18});
  EXPECT_EQ(gradOf(c).dtype(), DType::Float32);
  expectNear(values(gradOf(c)), {46});
}

TEST_F(Autograd, SecondOrderAndCreateGraph) {
  Tensor x = vec({0.5, 1.5}, true);
  Tensor g = gradOne(ops::sum(ops::tanh(x)), x, true);
  EXPECT_TRUE(g.requiresGrad());
  Tensor gg = gradOne(ops::sum(g), x);
  auto t = [](double v) { return -2 * std::tanh(v) * (1 - std::tanh(v) * std::tanh(v)); };
  expectNear(values(gg), {t(0.5), t(1.5)});
  EXPECT_FALSE(gg.requiresGrad());
}

TEST_F(Autograd, ErrorsOfUse) {
  Tensor x = vec({1, 2}, true);
  Tensor plain = vec({1, 2});
  expectError([&] { backward(ops::mul(x, 2.0)); }, "grad can be implicitly created only for scalar outputs");
  expectError([&] { backward(ops::sum(plain)); },
              "element 0 of tensors does not require grad and does not have a grad_fn");
  Tensor y = ops::sum(ops::mul(x, x));
  backward(y);
  expectError([&] { backward(y); }, "Trying to backward through the graph a second time");
  Tensor unused = vec({1}, true);
  expectError([&] { (void)gradOne(ops::sum(x), unused); }, "appears to not have been used in the graph");
  const Tensor outs[] = {ops::sum(x)};
  const Tensor ins[] = {unused, x};
  GradOptions o;
  o.allowUnused = true;
  EXPECT_FALSE(autograd::grad(outs, ins, {}, o)[0].defined());
  o.materializeGrads = true;
  const Tensor outs2[] = {ops::sum(x)};
  expectNear(values(autograd::grad(outs2, ins, {}, o)[0]), {0});
  const Tensor outs3[] = {ops::mul(x, 1.0)};
  const Tensor wrong[] = {vec({1, 2, 3})};
  expectError([&] { autograd::backward(outs3, wrong); }, "Mismatch in shape: grad_output[0] has a shape of [3]");
  expectError([&] { autograd::setRequiresGrad(outs3[0], false); }, "you can only change requires_grad flags of leaf");
}

TEST_F(Autograd, NoGraphWithoutNeed) {
  Tensor x = vec({1, 2}, true);
  NoGrad noGrad;
  EXPECT_FALSE(ops::mul(x, x).requiresGrad());
}

TEST_F(Autograd, GradStopsAtNonLeaves) {
  Tensor x = vec({1, 2}, true);
  Tensor h = ops::mul(x, x);
  const Tensor outs[] = {ops::sum(ops::mul(h, 3.0))};
  const Tensor ins[] = {h, x};
  auto g = autograd::grad(outs, ins);
  expectNear(values(g[0]), {3, 3});
  expectNear(values(g[1]), {6, 12});
  EXPECT_FALSE(gradOf(x).defined());
}

TEST_F(Autograd, Hooks) {
  Tensor x = vec({1, 2}, true);
  Tensor h = ops::mul(x, x);
  int calls = 0;
  auto id = autograd::registerHook(h, [&](const Tensor& g) {
    ++calls;
    return ops::mul(g, 10.0);
  });
  autograd::retainGrad(h);
  autograd::registerHook(x, [&](const Tensor& g) { return ops::add(g, 1.0); });
  int after = 0;
  autograd::registerPostAccumulateHook(x, [&](const Tensor& leaf) { after += leaf == x && gradOf(leaf).defined(); });
  // The hook sees the total of both uses.
  backward(ops::add(ops::sum(h), ops::sum(ops::mul(h, 2.0))), true);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(after, 1);
  expectNear(values(gradOf(h)), {30, 30});
  expectNear(values(gradOf(x)), {61, 121});
  autograd::removeHook(h, id);
  backward(ops::sum(h));
  EXPECT_EQ(calls, 1);
  expectError([&] { autograd::registerHook(vec({1}), {}); }, "cannot register a hook on a tensor that doesn't require");
}

TEST_F(Autograd, NodeHooks) {
  Tensor x = vec({1, 2}, true);
  Tensor y = ops::sum(ops::mul(x, 2.0));
  Ref<Node> node = autograd::gradFn(y);
  EXPECT_EQ(node->name(), "SumBackward0");
  autograd::registerNodePreHook(*node, [](std::vector<Tensor>& c) { c[0] = ops::mul(c[0], 3.0); });
  autograd::registerNodeHook(*node,
                             [](std::vector<Tensor>& g, std::span<const Tensor>) { g[0] = ops::add(g[0], 1.0); });
  backward(y);
  expectNear(values(gradOf(x)), {8, 8});
}

TEST_F(Autograd, BackwardInsideAHook) {
  Tensor x = vec({2}, true);
  Tensor z = vec({5}, true);
  Tensor y = ops::mul(x, x);
  autograd::registerHook(y, [&](const Tensor&) {
    Tensor inner = ops::sum(ops::mul(z, z));
    setGradEnabled(true);
    backward(ops::sum(ops::mul(z, z)));
    setGradEnabled(false);
    return Tensor();
  });
  backward(ops::sum(y));
  expectNear(values(gradOf(x)), {4});
  expectNear(values(gradOf(z)), {10});
}

TEST_F(Autograd, InPlaceWrites) {
  Tensor x = vec({1, 2, 3}, true);
  Tensor y = ops::mul(x, 2.0);
  applyInto(y, OpCode::mul, {y, x});  // keeps what y was
  applyInto(y, OpCode::add, {y, 1.0});
  backward(ops::sum(y));
  expectNear(values(gradOf(x)), {4, 8, 12});
}

TEST_F(Autograd, WritesThroughViews) {
  Tensor x = arbitrary(Dims{4, 3}, 1);
  checkOrders(
      "rows",
      [](const Tensor& t) {
        Tensor y = ops::mul(t, 2.0);
        Tensor rows = ops::slice(y, 0, 1, 4, 1);
        applyInto(rows, OpCode::mul, {rows, ops::slice(t, 0, 0, 3, 1)});
        Tensor column = ops::select(ops::transpose(y, 0, 1), 0, 0);
        applyInto(column, OpCode::add, {column, ops::square(ops::select(t, 1, 1))});
        // A view made before the writes sees them, with their history.
        return ops::add(ops::mul(rows, 1.5), ops::slice(y, 0, 0, 3, 1));
      },
      x);
  checkOrders(
      "overwritten",
      [](const Tensor& t) {
        Tensor y = ops::mul(t, t);
        Tensor row = ops::select(y, 0, 2);
        applyInto(row, OpCode::clone, {ops::select(t, 0, 1)});
        return y;
      },
      x);
  checkOrders(
      "permuted base",
      [](const Tensor& t) {
        Tensor y = makeAlias(makeEmpty(Dims{3, 4}, DType::Float64), Dims{4, 3}, Dims{1, 4}, 0);
        applyInto(y, OpCode::mul, {t, t});
        Tensor part = ops::slice(y, 1, 1, 3, 1);
        applyInto(part, OpCode::mul, {part, ops::slice(t, 1, 0, 2, 1)});
        return ops::add(y, ops::sum(ops::mul(part, t.numel() == 12 ? 0.5 : 1.0)));
      },
      x);
}

TEST_F(Autograd, BaseGetsHistoryFromAView) {
  Tensor y = vec({1, 2, 3});
  Tensor w = vec({5, 6}, true);
  Tensor head = ops::slice(y, 0, 0, 2, 1);
  Tensor tail = ops::slice(y, 0, 1, 3, 1);
  applyInto(head, OpCode::mul, {head, w});
  EXPECT_TRUE(autograd::requiresGrad(y));
  EXPECT_TRUE(autograd::requiresGrad(tail));
  backward(ops::sum(tail));
  expectNear(values(gradOf(w)), {0, 2});
}

TEST_F(Autograd, ForbiddenWrites) {
  Tensor x = vec({1, 2, 3}, true);
  expectError([&] { applyInto(x, OpCode::add, {x, 1.0}); },
              "a leaf Variable that requires grad is being used in an in-place operation.");
  Tensor v = ops::slice(x, 0, 0, 2, 1);
  expectError([&] { applyInto(v, OpCode::add, {v, 1.0}); },
              "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  Tensor y = ops::mul(x, 1.0);
  Tensor quiet;
  {
    NoGrad noGrad;
    quiet = ops::slice(y, 0, 0, 2, 1);
    applyInto(x, OpCode::add, {x, 1.0});
  }
  expectError([&] { applyInto(quiet, OpCode::add, {quiet, ops::slice(x, 0, 1, 3, 1)}); },
              "A view was created in no_grad mode");
  expectNear(values(x), {2, 3, 4});
}

TEST_F(Autograd, VersionChecks) {
  Tensor x = vec({1, 2}, true);
  Tensor y = ops::exp(x);
  applyInto(y, OpCode::add, {y, 1.0});
  expectError([&] { backward(ops::sum(y)); },
              "one of the variables needed for gradient computation has been modified by an inplace operation: "
              "[tandem.float64 [2]], which is output 0 of ExpBackward0, is at version 1; expected version 0 instead.");
  // An in-place result is right at the version after its write.
  Tensor z = ops::mul(x, 1.0);
  applyInto(z, OpCode::exp, {z});
  backward(ops::sum(z), true);
  expectNear(values(gradOf(x)), {std::exp(1), std::exp(2)});
  applyInto(z, OpCode::mul, {z, 2.0});
  expectError([&] { backward(ops::sum(z)); }, "modified by an inplace operation");
  // What no needed derivative reads may be written.
  Tensor w = vec({3, 4});
  Tensor h = ops::mul(x, 1.0);
  Tensor p = ops::mul(h, w);
  applyInto(h, OpCode::mul, {h, 0.0});
  backward(ops::sum(p));
}

TEST_F(Autograd, DeepChains) {
  Tensor x = make({1}, Dims{}, true);
  Tensor y = x;
  // Nodes without the cost of a million kernels.
  Tensor kept = ops::mul(x, 1.0);
  Tensor operand = kept;
  for (int i = 0; i < 1'000'000; ++i) {
    Tensor next = makeAlias(kept, Dims{}, Dims{}, 0);
    const Operand operands[] = {operand};
    tapeHook->record(OpCode::alias, operands, {}, {&next, 1});
    operand = next;
  }
  backward(operand);
  expectNear(values(gradOf(x)), {1});
  operand = {};  // frees the chain
}

TEST_F(Autograd, NoCyclesKeepMemory) {
  Storage* storage = nullptr;
  Ref<Storage> watch;
  {
    Tensor x = vec({1, 2}, true);
    Tensor y = ops::exp(x);
    storage = y.impl()->storage.get();
    watch = Ref<Storage>(storage);
  }
  EXPECT_EQ(storage->refCount(), 1);
}

TEST_F(Autograd, CustomFunctions) {
  Tensor x = vec({1, 2}, true);
  Tensor w = vec({3, 4});
  const Tensor inputs[] = {x, Tensor(), w};
  Ref<FunctionNode> node = FunctionNode::make("MyFunctionBackward", inputs);
  ASSERT_TRUE(static_cast<bool>(node));
  Tensor outs[2];
  {
    NoGrad noGrad;
    outs[0] = ops::mul(x, w);
    outs[1] = ops::add(x, 1.0);
  }
  int calls = 0;
  FunctionNode* raw = node.get();
  node->setBackward([&calls, raw](std::span<const Tensor> g) -> std::vector<Tensor> {
    ++calls;
    auto saved = raw->savedTensors();
    return {ops::add(ops::mul(g[0], saved[0]), g[1]), {}, {}};
  });
  node->attach(outs, inputs, {}, {});
  const Tensor save[] = {w, outs[0]};
  node->saveTensors(save);
  backward(ops::sum(ops::mul(outs[0], 2.0)), true);
  expectNear(values(gradOf(x)), {6, 8});
  EXPECT_EQ(calls, 1);
  backward(ops::sum(outs[0]));
  expectError([&] { backward(ops::sum(outs[0])); }, "second time");
  EXPECT_FALSE(static_cast<bool>(FunctionNode::make("F", std::span<const Tensor>(&w, 1))));
}

TEST_F(Autograd, AnomalyNamesTheForwardLine) {
  autograd::setLineProvider([] { return std::string("model.py:12"); });
  autograd::setAnomalyMode(true);
  Tensor x = vec({-1}, true);
  Tensor y = ops::sum(ops::sqrt(x));
  expectError([&] { backward(y); }, "Function 'SqrtBackward0' returned nan values in its 0th output.");
  Tensor z = ops::sum(ops::sqrt(x));
  expectError([&] { backward(z); }, "The forward call of SqrtBackward0 was at model.py:12");
  autograd::setAnomalyMode(false);
  autograd::setLineProvider({});
}

TEST_F(Autograd, ObserversSeeGrads) {
  struct Seen : GradObserver {
    int reads = 0, writes = 0, leaves = 0;
    void onRead(TensorImpl*) override { ++reads; }
    void onWrite(TensorImpl*) override { ++writes; }
    void onLeaf(TensorImpl*) override { ++leaves; }
  } seen;
  gradObserver = &seen;
  Tensor x = vec({1}, true);
  autograd::setRequiresGrad(x, true);  // as it is
  backward(ops::sum(x));
  backward(ops::sum(x));
  (void)gradOf(x);
  autograd::setGrad(x, {});
  gradObserver = nullptr;
  EXPECT_EQ(seen.reads, 3);
  EXPECT_EQ(seen.writes, 2);
  EXPECT_EQ(seen.leaves, 1);
}

TEST_F(Autograd, ThreadsShareAGraph) {
  Tensor x = vec({1, 2, 3}, true);
  Tensor h = ops::tanh(x);
  Tensor y = ops::sum(ops::mul(h, h));
  std::vector<double> one = values(gradOne(ops::sum(ops::mul(ops::tanh(x), ops::tanh(x))), x));
  constexpr int kThreads = 4;
  constexpr int kTimes = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) backward(y, true);
    });
  for (auto& t : threads) t.join();
  for (double& v : one) v *= kThreads * kTimes;
  expectNear(values(gradOf(x)), one, 1e-9);
}

}  // namespace
}  // namespace tandem
