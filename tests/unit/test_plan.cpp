// From traces to plans that run: what becomes one kernel, what is done in place, what order and scalars do.
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "plan_test_util.h"
#include "runtime/base/counters.h"
#include "runtime/base/error.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem {
namespace {

using namespace test;

std::vector<float> ramp(std::int64_t n, float scale = 0.37F) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = scale * (static_cast<float>(i % 97) - 41.0F);
  return v;
}

int kernels(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.instrs.begin(), plan.instrs.end(),
                                        [](const PlanInstr& i) { return i.kind == PlanInstr::Kind::Kernel; }));
}

// Compiles, checks every output against one node at a time, and returns the plan.
std::shared_ptr<Plan> check(const Trace& trace, const std::vector<TraceOutput>& outputs,
                            const std::vector<Bytes>& inputs) {
  auto plan = graphCompiler().compile(trace, outputs);
  Ran ran = run(*plan, trace, outputs, inputs);
  std::vector<Bytes> expected = evaluate(trace, outputs, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(ran.outputs[i], expected[i]) << "output " << i;
  return plan;
}

TEST(Plan, PointwiseChainIsOneKernel) {
  Graph g;
  ValueRef x = g.input({33, 7});
  ValueRef b = g.input({7});
  ValueRef y = g.op(OpCode::add, {x, b});
  ValueRef t = g.op(OpCode::tanh, {g.withScalar(OpCode::mul, y, 0.79)});
  ValueRef z = g.op(OpCode::mul, {y, g.withScalar(OpCode::add, t, 1)});
  auto plan = check(g.trace, {{z, -1}}, {bytesOf(ramp(33 * 7)), bytesOf(ramp(7))});
  EXPECT_EQ(kernels(*plan), 1) << plan->explanation;
  EXPECT_EQ(plan->arenaBytes, 0U);
}

TEST(Plan, SoftmaxIsOneKernel) {
  Graph g;
  ValueRef x = g.input({5, 70});
  ValueRef e = g.op(OpCode::exp, {g.op(OpCode::sub, {x, g.reduce(OpCode::amax, x, {1})})});
  ValueRef y = g.op(OpCode::div, {e, g.reduce(OpCode::sum, e, {1})});
  auto plan = check(g.trace, {{y, -1}}, {bytesOf(ramp(350, 0.01F))});
  EXPECT_EQ(kernels(*plan), 1) << plan->explanation;
}

TEST(Plan, ReductionsAlongOtherDims) {
  Graph g;
  ValueRef x = g.input({4, 6, 10});
  ValueRef y = g.withScalar(OpCode::mul, x, 3.0);
  std::vector<TraceOutput> outputs;
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}})
    outputs.push_back({g.reduce(OpCode::sum, y, dims, dims.size() != 2), -1});
  check(g.trace, outputs, {bytesOf(ramp(240))});
}

TEST(Plan, LongRowIsCutIntoBlocks) {
  // By its launch: the plan says what is reduced, and what follows is a kernel of its own.
  Graph g;
  ValueRef x = g.input({3, 100000});
  ValueRef s = g.reduce(OpCode::sum, g.op(OpCode::square, {x}), {1});
  std::vector<TraceOutput> outputs{{g.op(OpCode::sqrt, {s}), -1}};
  auto plan = check(g.trace, outputs, {bytesOf(ramp(300000))});
  EXPECT_EQ(kernels(*plan), 2);
  EXPECT_EQ(plan->kernels[0].kind, KernelKind::Row);
  const auto before = counters().kernelLaunches.load();
  run(*plan, g.trace, outputs, {bytesOf(ramp(300000))});
  EXPECT_EQ(counters().kernelLaunches.load(), before + 3);
}

TEST(Plan, EmptyReductionsGiveIdentities) {
  Graph g;
  ValueRef x = g.input({3, 0});
  std::vector<TraceOutput> outputs{{g.reduce(OpCode::sum, x, {1}), -1}, {g.reduce(OpCode::prod, x, {1}), -1}};
  auto plan = graphCompiler().compile(g.trace, outputs);
  Ran ran = run(*plan, g.trace, outputs, {Bytes{}});
  EXPECT_EQ(valuesOf<float>(ran.outputs[0]), std::vector<float>(3, 0.0F));
  EXPECT_EQ(valuesOf<float>(ran.outputs[1]), std::vector<float>(3, 1.0F));
}

TEST(Plan, TransposedOperandIsReadByStrides) {
  Graph g;
  ValueRef x = g.input({6, 9});
  ValueRef t = g.window(x, {9, 6}, {1, 9});
  ValueRef y = g.op(OpCode::exp, {t});
  ValueRef s = g.reduce(OpCode::sum, t, {0, 1});
  auto plan = check(g.trace, {{y, -1}, {s, -1}, {t, -1}}, {bytesOf(ramp(54, 0.02F))});
  EXPECT_LE(kernels(*plan), 4) << plan->explanation;
}

TEST(Plan, MoreDimsThanKernelsHave) {
  Graph g;
  Dims shape{2, 3, 2, 2, 3, 2, 2, 2};
  Dims backwards = contiguousStrides(shape);
  ValueRef x = g.input(shape);
  std::reverse(shape.begin(), shape.end());
  std::reverse(backwards.begin(), backwards.end());
  ValueRef t = g.window(x, shape, backwards);
  ValueRef b = g.input({2, 1, 2, 1, 2, 1, 3, 1});
  ValueRef y = g.op(OpCode::add, {t, b});
  check(g.trace, {{y, -1}, {t, -1}, {g.reduce(OpCode::sum, t, {1, 3, 5, 7}), -1}},
        {bytesOf(ramp(numelOf(shape))), bytesOf(ramp(24))});
}

TEST(Plan, BadIndexLeavesInputsAlone) {
  Graph g;
  ValueRef p = g.input({4, 8});
  ValueRef index = g.input({4, 1}, DType::Int64);
  ValueRef q = g.withScalar(OpCode::mul, p, 2.0);
  ValueRef picked = g.op(OpCode::gather, {q, index}, {1});
  std::vector<TraceOutput> outputs{{q, 0}, {picked, -1}};
  auto plan = graphCompiler().compile(g.trace, outputs);
  Bytes content = bytesOf(ramp(32));
  Bytes bad = bytesOf(std::vector<std::int64_t>{0, 1, 99, 2});
  Bytes out(16);
  void* in[] = {content.data(), bad.data()};
  void* to[] = {out.data()};
  EXPECT_ANY_THROW(runPlan(*plan, {in, to, {}, 0, 0, {}}));
  EXPECT_EQ(content, bytesOf(ramp(32)));
}

TEST(Plan, InputUpdatedInPlace) {
  Graph g;
  ValueRef p = g.input({1000});
  ValueRef grad = g.input({1000});
  ValueRef q = g.op(OpCode::sub, {p, g.withScalar(OpCode::mul, grad, 0.1)});
  auto plan = check(g.trace, {{q, 0}}, {bytesOf(ramp(1000)), bytesOf(ramp(1000, 0.5F))});
  EXPECT_EQ(plan->instrs.size(), 1U);
  EXPECT_EQ(plan->arenaBytes, 0U);
}

TEST(Plan, InputsExchanged) {
  Graph g;
  ValueRef a = g.input({4});
  ValueRef b = g.input({4});
  check(g.trace, {{b, 0}, {a, 1}}, {bytesOf(ramp(4)), bytesOf(ramp(4, 2.0F))});
}

TEST(Plan, OldContentIsReadBeforeItChanges) {
  Graph g;
  ValueRef a = g.input({8, 8});
  ValueRef doubled = g.withScalar(OpCode::mul, a, 2.0);
  ValueRef sum = g.op(OpCode::add, {doubled, g.window(a, {8, 8}, {1, 8})});
  check(g.trace, {{doubled, 0}, {sum, -1}, {g.reduce(OpCode::sum, a, {0}), -1}}, {bytesOf(ramp(64))});
}

TEST(Plan, WriteThroughWindow) {
  Graph g;
  ValueRef a = g.input({4, 5});
  Window column{{4}, {5}, 2};
  ValueRef old = g.window(a, column.shape, column.strides, column.offset);
  ValueRef written = g.trace.addWrite(a, g.withScalar(OpCode::add, old, 10.0), column);
  ValueRef twice = g.trace.addWrite(written, g.withScalar(OpCode::mul, old, 3.0), {{4}, {5}, 0});
  check(g.trace, {{twice, 0}}, {bytesOf(ramp(20))});
  check(g.trace, {{twice, -1}, {written, -1}, {a, -1}}, {bytesOf(ramp(20))});
  check(g.trace, {{written, 0}, {twice, -1}, {g.withScalar(OpCode::mul, a, 2.0), -1}}, {bytesOf(ramp(20))});
}

TEST(Plan, OverlappingWriteOfItself) {
  Graph g;
  ValueRef a = g.input({10});
  ValueRef shifted = g.trace.addWrite(a, g.window(a, {9}, {1}, 0), {{9}, {1}, 1});
  check(g.trace, {{shifted, 0}}, {bytesOf(ramp(10))});
}

TEST(Plan, OneValueLeavesTwice) {
  Graph g;
  ValueRef a = g.input({10});
  ValueRef y = g.op(OpCode::exp, {a});
  check(g.trace, {{y, -1}, {y, -1}, {y, 0}, {a, -1}}, {bytesOf(ramp(10, 0.1F))});
}

TEST(Plan, ScalarsAreEvaluatedAtRunTime) {
  Graph g;
  ValueRef x = g.input({3});
  std::int32_t lr = g.scalar(0.5, ScalarSlot::Source::Argument, 0);
  std::int32_t two = g.scalar(2);
  std::int32_t product = g.scalar(1.0, ScalarSlot::Source::Mul, lr, two);
  ValueRef y{g.node(OpCode::mul, {TraceOperand::of(x), TraceOperand::ofSlot(product)}), 0};
  std::vector<TraceOutput> outputs{{y, -1}};
  auto plan = graphCompiler().compile(g.trace, outputs);
  auto times = [&](double v) {
    Ran ran = run(*plan, g.trace, outputs, {bytesOf(std::vector<float>{1, 2, 3})}, {Scalar(v)});
    return valuesOf<float>(ran.outputs[0]);
  };
  EXPECT_EQ(times(0.5), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(times(4.0), (std::vector<float>{8, 16, 24}));
}

TEST(Plan, RunsOnManyThreadsAtOnce) {
  Graph g;
  ValueRef x = g.input({64, 64});
  ValueRef y = g.op(OpCode::matmul_plain, {x, g.op(OpCode::tanh, {x})});
  ValueRef z = g.reduce(OpCode::sum, y, {0, 1}, false);
  std::vector<TraceOutput> outputs{{z, -1}};
  auto plan = graphCompiler().compile(g.trace, outputs);
  std::vector<Bytes> inputs{bytesOf(ramp(4096, 0.001F))};
  Bytes expected = run(*plan, g.trace, outputs, inputs).outputs[0];
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(run(*plan, g.trace, outputs, inputs).outputs[0], expected);
    });
  for (auto& t : threads) t.join();
}

TEST(Plan, PythonArithmeticOfScalars) {
  auto eval = [](ScalarSlot::Source source, Scalar a, Scalar b) {
    std::vector<ScalarSlot> slots{{ScalarSlot::Source::Constant, a, -1, -1},
                                  {ScalarSlot::Source::Constant, b, -1, -1},
                                  {source, a.isFloat() || b.isFloat() ? Scalar(0.0) : Scalar(0), 0, 1}};
    Graph g;
    ValueRef x = g.input({1}, DType::Float64);
    g.trace.slots = slots;
    ValueRef y{g.node(OpCode::add, {TraceOperand::of(x), TraceOperand::ofSlot(2)}), 0};
    std::vector<TraceOutput> outputs{{y, -1}};
    auto plan = graphCompiler().compile(g.trace, outputs);
    return valuesOf<double>(run(*plan, g.trace, outputs, {bytesOf(std::vector<double>{0})}).outputs[0])[0];
  };
  EXPECT_EQ(eval(ScalarSlot::Source::FloorDiv, -7, 2), -4);
  EXPECT_EQ(eval(ScalarSlot::Source::Mod, -7, 3), 2);
  EXPECT_EQ(eval(ScalarSlot::Source::Mod, -7.5, 2.0), 0.5);
  EXPECT_EQ(eval(ScalarSlot::Source::Pow, 2, 10), 1024);
  EXPECT_THROW(eval(ScalarSlot::Source::Div, 1.0, 0.0), ValueError);
}

TEST(Plan, ScalarsAreErrorsWherePythonHasNoSuchNumber) {
  using Source = ScalarSlot::Source;
  auto of = [](Source source, Scalar a, Scalar b) { return computeSlot(source, a, b); };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(of(Source::FloorDiv, 7.0, -0.3).asDouble(), -24.0);
  EXPECT_EQ(of(Source::Mod, 5.0, -0.3).asDouble(), -0.09999999999999981);
  EXPECT_TRUE(std::signbit(of(Source::Mod, 6.0, -3.0).asDouble()));
  EXPECT_TRUE(std::signbit(of(Source::Neg, 0.0, 0.0).asDouble()));
  EXPECT_EQ(of(Source::Pow, 3, 39).asInt(), 4052555153018976267);
  EXPECT_EQ(of(Source::Pow, 2, -2).asDouble(), 0.25);
  EXPECT_EQ(of(Source::FloorDiv, most, -1).asInt(), -most);
  EXPECT_EQ(of(Source::Sqrt, 9, 9).asDouble(), 3.0);
  // Ints beyond 64 bits, and quotients that are not those of the floats next to large ints.
  EXPECT_THROW(of(Source::Pow, 3, 40), ValueError);
  EXPECT_THROW(of(Source::Add, most, 1), ValueError);
  EXPECT_THROW(of(Source::Mul, most, -2), ValueError);
  EXPECT_THROW(of(Source::Neg, -most - 1, 0), ValueError);
  EXPECT_THROW(of(Source::FloorDiv, -most - 1, -1), ValueError);
  EXPECT_THROW(of(Source::Div, most, 3), ValueError);
  // OverflowError, a complex number, and what `math` does not have.
  EXPECT_THROW(of(Source::Pow, 10.0, 400.0), ValueError);
  EXPECT_THROW(of(Source::Pow, -8.0, 0.5), ValueError);
  EXPECT_THROW(of(Source::Exp, 1000.0, 0), ValueError);
  EXPECT_THROW(of(Source::Log, 0.0, 0), ValueError);
  EXPECT_THROW(of(Source::Mod, 1, 0), ValueError);
}

}  // namespace
}  // namespace tandem
