// Launches on the CPU: split rows and columns, inputs that lie across, tiles. What a launch makes of a kernel has the
// bits of the kernel over everything, whether the launch is an eager call's or a plan's.
#include <gtest/gtest.h>

#include "runtime/base/counters.h"
#include "runtime/device/cpu/across.h"
#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/launch.h"
#include "runtime/device/thread_pool.h"
#include "runtime/plan/plan.h"
#include "tests/unit/kernel_test_util.h"

namespace tandem::test {
namespace {

constexpr DType kF32 = DType::Float32;

class Launches : public testing::Test {
 protected:
  void SetUp() override { setNumThreads(3); }
  void TearDown() override { setNumThreads(before_); }

 private:
  int before_ = numThreads();
};

/// A kernel, its arguments and where it writes.
struct Call {
  KernelSignature signature;
  Args args;
  std::vector<const void*> inputs;
  std::vector<std::vector<float>*> outputs;

  [[nodiscard]] LaunchSpace space() const { return wholeSpace(signature.kind, ArgLayout(signature), args.data()); }
  [[nodiscard]] const cpu::CpuKernel& kernel() const { return cpu::loadKernel(signature); }
  /// What `run` leaves in the outputs.
  template <class Run>
  [[nodiscard]] std::vector<std::vector<float>> after(Run run) const {
    for (auto* out : outputs) std::fill(out->begin(), out->end(), -7.0F);
    run();
    std::vector<std::vector<float>> results;
    for (const auto* out : outputs) results.push_back(*out);
    return results;
  }
};

std::vector<std::vector<float>> ofPlan(const Call& call) {
  Plan plan;
  plan.kernels = {call.signature};
  PlanInstr instr{};
  instr.kind = PlanInstr::Kind::Kernel;
  instr.args.assign(call.args.data(), call.args.data() + ArgLayout(call.signature).size());
  instr.space = call.space();
  instr.numInputs = plan.numInputs = static_cast<std::uint32_t>(call.inputs.size());
  plan.numOutputs = static_cast<std::uint32_t>(call.outputs.size());
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  auto add = [&](PlanBuffer::Kind kind, std::size_t index) {
    PlanOperand operand;
    operand.buffer = static_cast<std::uint32_t>(plan.buffers.size());
    plan.buffers.push_back({kind, static_cast<std::uint32_t>(index), 0, 0});
    instr.operands.push_back(operand);
  };
  for (const void* input : call.inputs) {
    add(PlanBuffer::Kind::Input, inputs.size());
    inputs.push_back(const_cast<void*>(input));
  }
  for (auto* output : call.outputs) {
    add(PlanBuffer::Kind::Output, outputs.size());
    outputs.push_back(output->data());
  }
  plan.instrs.push_back(instr);
  resolvePlan(plan);
  return call.after([&] { runPlan(plan, {inputs, outputs, {}, 0, 0, {}}); });
}

/// Checks bits and counted launches.
void check(const Call& call, int launches) {
  const Kernel& kernel = *executor(Device{}).load(call.signature);
  const auto expected = call.after([&] { run(call.signature, call.args, 0, call.space().units); });
  auto before = counters().kernelLaunches.load();
  const auto eager = call.after([&] { launch(Device{}, kernel, call.args.data(), call.space()); });
  EXPECT_EQ(counters().kernelLaunches.load(), before + launches);
  before = counters().kernelLaunches.load();
  const auto planned = ofPlan(call);
  EXPECT_EQ(counters().kernelLaunches.load(), before + launches);
  Executor& cpu = executor(Device{});
  EXPECT_EQ(call.after([&] { cpu.launch(kernel, call.args.data(), call.space(), cpu.stream()); }), planned);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    for (std::size_t i = 0; i < expected[k].size(); ++i) {
      ASSERT_TRUE(sameBits(eager[k][i], expected[k][i])) << "output " << k << ", element " << i;
      ASSERT_TRUE(sameBits(planned[k][i], expected[k][i])) << "output " << k << ", element " << i << " of the plan";
    }
  }
}

TEST_F(Launches, CoverTheRangeInTiles) {
  Build k(KernelKind::Row);
  const auto x = k.input(kF32);
  k.output(kF32, Access::Unit, k.step(OpCode::mul, kF32, {x, x}));
  for (std::int64_t n : {1, 1000, 16384, 32768, 1000001}) {
    const auto in = noises<float>(static_cast<std::size_t>(n));
    std::vector<float> out(static_cast<std::size_t>(n + 1));
    const Args args = Args(k.signature).inner(n).operand(0, in.data()).operand(1, out.data());
    check({k.signature, args, {in.data()}, {&out}}, 1);
    EXPECT_EQ(out.back(), -7.0F);
  }
}

TEST_F(Launches, NothingOfNoElements) {
  Build k(KernelKind::Row);
  k.output(kF32, Access::Unit, k.input(kF32));
  std::vector<float> out(1);
  const Args args = Args(k.signature).inner(0).operand(0, out.data()).operand(1, out.data());
  check({k.signature, args, {out.data()}, {&out}}, 1);
}

TEST_F(Launches, SplitLongRows) {
  // Sums of squares and largest elements of 2 x 3 rows, whose results lie two apart.
  const std::int64_t n = 4096 * 20 + 17;
  Build k(KernelKind::Row, 2);
  const auto x = k.input(kF32), s = k.scalar(DType::Float64);
  const auto scaled = k.step(OpCode::mul, kF32, {x, k.step(OpCode::to, kF32, {s})});
  k.output(kF32, Access::Zero, k.reduce(OpCode::sum, kF32, k.step(OpCode::mul, kF32, {scaled, x})));
  k.output(kF32, Access::Zero, k.reduce(OpCode::amax, kF32, x));
  const auto in = noises<float>(static_cast<std::size_t>(6 * n));
  std::vector<float> sums(12), tops(6);
  const Args args = Args(k.signature)
                        .outer(0, 2)
                        .outer(1, 3)
                        .inner(n)
                        .operand(0, in.data(), 1, {3 * n, n})
                        .operand(1, sums.data(), 0, {6, 2})
                        .operand(2, tops.data(), 0, {1, 2});
  Call call{k.signature, args, {in.data()}, {&sums, &tops}};
  EXPECT_TRUE(cpu::isWorthSplitting(call.kernel(), call.space()));
  // Plans have scalars in slots; this one goes without.
  const Kernel& kernel = *executor(Device{}).load(call.signature);
  call.args.scalar(0, 0.75);
  const auto expected = call.after([&] { run(call.signature, call.args, 0, 6); });
  EXPECT_EQ(call.after([&] { launch(Device{}, kernel, call.args.data(), call.space()); }), expected);

  Build plain(KernelKind::Row, 1);
  plain.output(kF32, Access::Zero, plain.reduce(OpCode::sum, kF32, plain.input(kF32)));
  std::vector<float> out(3);
  const Args few =
      Args(plain.signature).outer(0, 3).inner(n).operand(0, in.data(), 1, {n}).operand(1, out.data(), 0, {1});
  check({plain.signature, few, {in.data()}, {&out}}, 2);
}

TEST_F(Launches, SplitLongColumns) {
  // Over two outer dims and with an input of one value a row; in both orders.
  const std::int64_t rows = 5000, n = 24;
  for (bool trailing : {false, true}) {
    Build k(KernelKind::Column, 1);
    k.signature.trailing = trailing;
    const auto x = k.input(kF32), y = k.input(kF32, Access::Zero);
    k.output(kF32, Access::Strided, k.reduce(OpCode::sum, kF32, k.step(OpCode::mul, kF32, {x, y})));
    k.output(kF32, Access::Unit, k.reduce(OpCode::amin, kF32, x));
    const auto in = noises<float>(static_cast<std::size_t>(2 * rows * n));
    const auto weights = noises<float>(static_cast<std::size_t>(rows), 1, 5);
    std::vector<float> sums(static_cast<std::size_t>(4 * n)), least(static_cast<std::size_t>(2 * n));
    const Args args = Args(k.signature)
                          .outer(0, 2)
                          .inner(n)
                          .reduced(rows)
                          .operand(0, in.data(), 1, {rows * n}, n)
                          .operand(1, weights.data(), 0, {0}, 1)
                          .operand(2, sums.data(), 2, {2 * n})
                          .operand(3, least.data(), 1, {n});
    const Call call{k.signature, args, {in.data(), weights.data()}, {&sums, &least}};
    EXPECT_TRUE(cpu::isWorthSplitting(call.kernel(), call.space()));
    check(call, 2);
  }
}

TEST_F(Launches, VectorsAcrossShortRows) {
  // A softmax, whose exponentials are carried from one pass to the next, of a row less its weight; the sums and the
  // outputs lie apart. The last rows fill no vector.
  const std::int64_t rows = 9003;
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32), weight = k.input(kF32, Access::Zero), s = k.scalar(DType::Float64);
  const auto scaled =
      k.step(OpCode::mul, kF32, {k.step(OpCode::sub, kF32, {x, weight}), k.step(OpCode::to, kF32, {s})});
  const auto e = k.step(OpCode::exp, kF32, {k.step(OpCode::sub, kF32, {scaled, k.reduce(OpCode::amax, kF32, scaled)})});
  const auto sum = k.reduce(OpCode::sum, kF32, e);
  k.output(kF32, Access::Strided, k.step(OpCode::div, kF32, {e, sum}));
  k.output(kF32, Access::Zero, k.step(OpCode::log, kF32, {sum}));
  for (std::int64_t n = 2; n <= kShortRow + 1; ++n) {
    const auto in = noises<float>(static_cast<std::size_t>(rows * n)), weights = noises<float>(rows, 1, 3);
    std::vector<float> out(static_cast<std::size_t>(2 * rows * n)), sums(static_cast<std::size_t>(2 * rows));
    Call call{k.signature,
              Args(k.signature)
                  .outer(0, rows)
                  .inner(n)
                  .operand(0, in.data(), 1, {n})
                  .operand(1, weights.data(), 0, {1})
                  .operand(2, out.data(), 2, {2 * n})
                  .operand(3, sums.data(), 0, {2})
                  .scalar(0, 0.75),
              {in.data(), weights.data()},
              {&out, &sums}};
    const auto expected = call.after([&] { run(call.signature, call.args, 0, rows); });
    const auto found = call.after([&] { launch(Device{}, call.kernel(), call.args.data(), call.space()); });
    EXPECT_EQ(found, expected) << n;
    const auto needed = cpu::neededBy(call.kernel(), call.args.data(), call.space());
    EXPECT_EQ(needed.size(), n <= kShortRow ? 2 : 1);
    EXPECT_EQ(needed[0] == &call.kernel(), n > kShortRow);
  }
}

TEST_F(Launches, ShortRowsOverTheirOwnInput) {
  const std::int64_t rows = 20011, n = 3;
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32);
  const auto sum = k.reduce(OpCode::sum, kF32, x);
  k.output(kF32, Access::Unit, k.step(OpCode::div, kF32, {x, sum}));
  auto in = noises<float>(static_cast<std::size_t>(rows * n));
  std::vector<float> out(in.size());
  const Args apart =
      Args(k.signature).outer(0, rows).inner(n).operand(0, in.data(), 1, {n}).operand(1, out.data(), 1, {n});
  check({k.signature, apart, {in.data()}, {&out}}, 1);
  const Args same =
      Args(k.signature).outer(0, rows).inner(n).operand(0, in.data(), 1, {n}).operand(1, in.data(), 1, {n});
  launch(Device{}, cpu::loadKernel(k.signature), same.data(),
         wholeSpace(KernelKind::Row, ArgLayout(k.signature), same.data()));
  EXPECT_EQ(in, out);
}

TEST_F(Launches, SplitOnlyWhatIsFinishedByAReduction) {
  const std::int64_t n = 70000;
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32);
  const auto sum = k.reduce(OpCode::sum, kF32, x);
  k.output(kF32, Access::Zero, k.step(OpCode::mul, kF32, {sum, sum}));
  const auto in = noises<float>(static_cast<std::size_t>(n));
  std::vector<float> out(1);
  const Args args = Args(k.signature).outer(0, 1).inner(n).operand(0, in.data(), 1, {n}).operand(1, out.data(), 0, {1});
  check({k.signature, args, {in.data()}, {&out}}, 1);
}

TEST_F(Launches, TransposeInputsThatLieAcross) {
  // x is a transposed matrix of each of two outer ones, y lies along, z is one value a column.
  const std::int64_t rows = 150, n = 170;
  Build k(KernelKind::Row, 2);
  const auto x = k.input(kF32, Access::Strided), y = k.input(kF32), z = k.input(kF32, Access::Strided);
  k.output(kF32, Access::Unit, k.step(OpCode::add, kF32, {k.step(OpCode::sub, kF32, {x, y}), z}));
  const auto a = noises<float>(static_cast<std::size_t>(2 * rows * n));
  const auto b = noises<float>(static_cast<std::size_t>(2 * rows * n), 1, 3);
  const auto c = noises<float>(static_cast<std::size_t>(2 * n), 1, 4);
  std::vector<float> out(static_cast<std::size_t>(2 * rows * n));
  const Args args = Args(k.signature)
                        .outer(0, 2)
                        .outer(1, rows)
                        .inner(n)
                        .operand(0, a.data(), rows, {rows * n, 1})
                        .operand(1, b.data(), 1, {rows * n, n})
                        .operand(2, c.data(), 2, {0, 0})
                        .operand(3, out.data(), 1, {rows * n, n});
  const Call call{k.signature, args, {a.data(), b.data(), c.data()}, {&out}};
  EXPECT_EQ(cpu::inputsAcross(call.kernel(), args.data()), 1U);
  check(call, 1);
  // The signature says what the memory is like; which kernel runs is the launch's business.
  EXPECT_NE(call.kernel().takingAcross(1), &call.kernel());
  EXPECT_EQ(call.kernel().signature.inputs[0].access, Access::Strided);
}

TEST_F(Launches, TurnWhatReadsSeveralInputsAcross) {
  // x and y are transposed matrices of each of two outer ones, z is one row for all of them, w one element; the rows of
  // the outputs lie apart.
  const std::int64_t rows = 150, n = 170, apart = 173;
  Build k(KernelKind::Row, 2);
  const auto x = k.input(kF32, Access::Strided), y = k.input(kF32, Access::Strided), z = k.input(kF32);
  const auto w = k.input(kF32, Access::Zero);
  const auto sum = k.step(OpCode::sub, kF32, {k.step(OpCode::mul, kF32, {x, z}), y});
  k.output(kF32, Access::Unit, sum);
  k.output(kF32, Access::Unit, k.step(OpCode::add, kF32, {sum, w}));
  const auto a = noises<float>(static_cast<std::size_t>(2 * rows * n));
  const auto b = noises<float>(static_cast<std::size_t>(2 * rows * n), 1, 3);
  const auto c = noises<float>(static_cast<std::size_t>(n), 1, 4);
  const float one = 0.75;
  std::vector<float> first(static_cast<std::size_t>(2 * rows * apart)), second(first.size());
  auto argsOf = [&](const KernelSignature& signature) {
    return Args(signature)
        .outer(0, 2)
        .outer(1, rows)
        .inner(n)
        .operand(0, a.data(), rows, {rows * n, 1})
        .operand(1, b.data(), rows, {rows * n, 1})
        .operand(2, c.data(), 1, {0, 0})
        .operand(3, &one, 0, {0, 0})
        .operand(4, first.data(), 1, {rows * apart, apart});
  };
  const Args both = argsOf(k.signature).operand(5, second.data(), 1, {rows * apart, apart});
  const Call call{k.signature, both, {a.data(), b.data(), c.data(), &one}, {&first, &second}};
  EXPECT_EQ(cpu::inputsAcross(call.kernel(), both.data()), 3U);
  // As much is written as lies across: nothing is gained.
  EXPECT_FALSE(cpu::blockingOf(call.kernel(), both.data()).turned);
  check(call, 1);

  KernelSignature alone = k.signature;
  alone.outputs.pop_back();
  const Args args = argsOf(alone);
  const Call less{alone, args, {a.data(), b.data(), c.data(), &one}, {&first}};
  EXPECT_TRUE(cpu::blockingOf(less.kernel(), args.data()).turned);
  check(less, 1);
}

TEST_F(Launches, TransposeManySmallMatrices) {
  const std::int64_t matrices = 40, rows = 33, n = 40;
  Build k(KernelKind::Row, 2);
  const auto x = k.input(kF32, Access::Strided);
  k.output(kF32, Access::Unit, k.step(OpCode::mul, kF32, {x, x}));
  const auto in = noises<float>(static_cast<std::size_t>(matrices * rows * n));
  std::vector<float> out(in.size());
  const Args args = Args(k.signature)
                        .outer(0, matrices)
                        .outer(1, rows)
                        .inner(n)
                        .operand(0, in.data(), rows, {rows * n, 1})
                        .operand(1, out.data(), 1, {rows * n, n});
  const Call call{k.signature, args, {in.data()}, {&out}};
  EXPECT_EQ(cpu::inputsAcross(call.kernel(), args.data()), 1U);
  check(call, 1);
}

TEST_F(Launches, TransposeWhatIsReduced) {
  const std::int64_t rows = 200, n = 190;
  const auto in = noises<float>(static_cast<std::size_t>(rows * n));
  Build row(KernelKind::Row, 1);
  row.output(kF32, Access::Zero, row.reduce(OpCode::sum, kF32, row.input(kF32, Access::Strided)));
  std::vector<float> sums(static_cast<std::size_t>(rows));
  const Args ofRows =
      Args(row.signature).outer(0, rows).inner(n).operand(0, in.data(), rows, {1}).operand(1, sums.data(), 0, {1});
  const Call rowsCall{row.signature, ofRows, {in.data()}, {&sums}};
  EXPECT_EQ(cpu::inputsAcross(rowsCall.kernel(), ofRows.data()), 1U);
  check(rowsCall, 1);

  Build column(KernelKind::Column, 0);
  column.output(kF32, Access::Unit, column.reduce(OpCode::sum, kF32, column.input(kF32, Access::Strided)));
  std::vector<float> totals(static_cast<std::size_t>(n));
  const Args ofColumns =
      Args(column.signature).inner(n).reduced(rows).operand(0, in.data(), rows, {}, 1).operand(1, totals.data());
  const Call columnsCall{column.signature, ofColumns, {in.data()}, {&totals}};
  EXPECT_EQ(cpu::inputsAcross(columnsCall.kernel(), ofColumns.data()), 1U);
  check(columnsCall, 1);
}

TEST_F(Launches, BlocksOfWhatLiesNearlyAcross) {
  // Every second element of a transposed matrix.
  const std::int64_t rows = 140, n = 130;
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32, Access::Strided);
  k.output(kF32, Access::Unit, k.step(OpCode::mul, kF32, {x, x}));
  const auto in = noises<float>(static_cast<std::size_t>(2 * rows * n));
  std::vector<float> out(static_cast<std::size_t>(rows * n));
  const Args args =
      Args(k.signature).outer(0, rows).inner(n).operand(0, in.data(), 2 * rows, {2}).operand(1, out.data(), 1, {n});
  const Call call{k.signature, args, {in.data()}, {&out}};
  EXPECT_TRUE(cpu::liesNearlyAcross(call.kernel(), args.data()));
  check(call, 1);
}

}  // namespace
}  // namespace tandem::test
