// Launches of generated kernels: their shapes, and that split rows and columns have the bits of the CPU's kernel.
#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/launch_shape.h"
#include "tests/emulation/unit/cuda_test_util.h"
#include "tests/unit/kernel_test_util.h"

namespace tandem::cuda::test {
namespace {

using tandem::test::Args;
using tandem::test::Build;
using tandem::test::noises;

constexpr DType kF32 = DType::Float32;
constexpr DType kF64 = DType::Float64;

KernelSignature reduction(KernelKind kind, int outerRank, bool trailing = false, DType out = kF32) {
  Build s(kind, outerRank);
  const std::uint16_t x = s.input(kF32, kind == KernelKind::Column ? Access::Strided : Access::Unit);
  const std::uint16_t square = s.step(OpCode::mul, kF32, {x, x});
  const std::uint16_t sum = s.reduce(OpCode::sum, kF32, square);
  const std::uint16_t most = s.reduce(OpCode::amax, kF32, x);
  const Access access = kind == KernelKind::Column ? Access::Unit : Access::Zero;
  s.output(out, access, sum);
  s.output(kF32, access, most);
  s.signature.trailing = trailing;
  return s.signature;
}

/// Runs a kernel of one input and two outputs of `results` elements on both, over the arguments that `args` makes of
/// their addresses.
template <class MakeArgs>
void compare(const KernelSignature& signature, const std::vector<float>& input, std::size_t results, MakeArgs args,
             bool splits) {
  std::vector<float> first(results, -7);
  std::vector<float> second(results, -7);
  const Args here = args(input.data(), first.data(), second.data());
  const LaunchSpace space = wholeSpace(signature.kind, ArgLayout(signature), here.data());
  tandem::test::run(signature, here, 0, space.units);

  const Block x(input.size() * 4);
  const Block a(results * 4);
  const Block b(results * 4);
  x.set(input);
  const Args there = args(x.data(), a.data(), b.data());
  const auto& kernel = static_cast<const CudaKernel&>(*device().load(signature));
  const auto needed = neededBy(kernel, there.data(), space);
  EXPECT_EQ(needed.size(), splits ? 2U : 1U) << signature.text();
  device().prepare(std::array{LaunchPreview{&kernel, there.data(), space}});
  for (const CudaKernel* k : needed) EXPECT_TRUE(k->ready());
  device().launch(kernel, there.data(), space, device().stream());
  EXPECT_EQ(a.get<float>(results), first) << signature.text();
  EXPECT_EQ(b.get<float>(results), second) << signature.text();
}

void compareRows(std::int64_t rows, std::int64_t n, bool splits) {
  compare(
      reduction(KernelKind::Row, 1), noises<float>(static_cast<std::size_t>(rows * n)), static_cast<std::size_t>(rows),
      [&](const void* x, void* first, void* second) {
        return Args(reduction(KernelKind::Row, 1))
            .outer(0, rows)
            .inner(n)
            .operand(0, x, 1, {n})
            .operand(1, first, 0, {1})
            .operand(2, second, 0, {1});
      },
      splits);
}

void compareColumns(std::int64_t outer, std::int64_t reduced, std::int64_t n, bool trailing, bool splits) {
  const KernelSignature s = reduction(KernelKind::Column, 1, trailing);
  compare(
      s, noises<float>(static_cast<std::size_t>(outer * reduced * n)), static_cast<std::size_t>(outer * n),
      [&](const void* x, void* first, void* second) {
        return Args(s)
            .outer(0, outer)
            .inner(n)
            .reduced(reduced)
            .operand(0, x, 1, {reduced * n}, n)
            .operand(1, first, 1, {n})
            .operand(2, second, 1, {n});
      },
      splits);
}

TEST(Launches, Rows) {
  compareRows(3, 0, false);
  compareRows(5, 7, false);
  compareRows(40, 1025, false);
  compareRows(2, 4097, false);
  compareRows(3, 20000, false);
}

TEST(Launches, FewLongRowsAreSplit) {
  compareRows(1, 65536, true);
  compareRows(2, 65536 * 3 + 5, true);
}

TEST(Launches, Columns) {
  compareColumns(2, 5, 3, false, false);
  compareColumns(1, 1500, 70, false, false);
  compareColumns(2, 100, 40, true, false);
}

TEST(Launches, FewLongColumnsAreSplit) {
  compareColumns(1, 20000, 20, false, true);
  compareColumns(2, 1024 * 40, 5, false, true);
  compareColumns(1, 4096 * 20 + 1, 3, true, true);
}

TEST(Launches, BlocksThatPrepareAreThoseThatAreActiveAtOnce) {
  Build s(KernelKind::Row);
  const std::uint16_t x = s.input(kF64);
  const std::uint16_t rate = s.input(kF64, Access::Zero);
  const std::uint16_t power = s.step(OpCode::pow, kF64, {rate, rate});
  s.output(kF64, Access::Unit, s.step(OpCode::mul, kF64, {x, power}));
  s.output(kF64, Access::Unit, s.step(OpCode::pow, kF64, {rate, power}));
  const std::int64_t n = 5001;
  const std::vector<double> input = noises<double>(static_cast<std::size_t>(n));
  auto args = [&](const void* from, const void* number, const void* first, const void* second) {
    return Args(s.signature).inner(n).operand(0, from).operand(1, number).operand(2, first).operand(3, second);
  };
  std::vector<double> here(input.size());
  std::vector<double> same(input.size());
  const double number = 1.7;
  tandem::test::run(s.signature, args(input.data(), &number, here.data(), same.data()), 0, n);
  const Block from(input.size() * 8);
  const Block one(8);
  const Block first(input.size() * 8);
  const Block second(input.size() * 8);
  from.set(input);
  one.set(std::vector<double>{number});
  const auto& kernel = static_cast<const CudaKernel&>(*device().load(s.signature));
  const Args there = args(from.data(), one.data(), first.data(), second.data());
  EXPECT_FALSE(kernel.preparesBlocks());
  device().launch(kernel, there.data(), {n, n}, device().stream());
  EXPECT_EQ(first.get<double>(input.size()), here);
  EXPECT_EQ(second.get<double>(input.size()), same);
  EXPECT_TRUE(kernel.preparesBlocks());
  const GpuProperties& p = kernel.gpu.properties();
  Args many(s.signature);
  many.inner(std::int64_t{1} << 30);
  const unsigned active = static_cast<unsigned>(p.multiprocessors * p.maxThreadsPerMultiprocessor) / kElementThreads;
  EXPECT_EQ(launchShape(kernel, many.data(), {1 << 30, 1 << 30}).blocks[0], active);
}

TEST(Launches, HaveTheShapesThatKernelsAreWrittenFor) {
  auto shape = [](const KernelSignature& s, std::int64_t rows, std::int64_t n) {
    Args args(s);
    if (s.outerRank > 0) args.outer(0, rows);
    args.inner(n);
    const auto& kernel = static_cast<const CudaKernel&>(*device().load(s));
    return launchShape(kernel, args.data(), wholeSpace(s.kind, ArgLayout(s), args.data()));
  };
  using Threads = std::array<unsigned, 3>;
  const KernelSignature row = reduction(KernelKind::Row, 1);
  EXPECT_EQ(shape(row, 100, 1024).threads, (Threads{32, 8, 1}));
  EXPECT_EQ(shape(row, 100, 1024).blocks[0], 13U);
  EXPECT_EQ(shape(row, 100, 4096).threads, (Threads{32, 4, 1}));
  EXPECT_EQ(shape(row, 100, 4097).threads, (Threads{64, 1, 1}));
  EXPECT_EQ(shape(row, 100, 1000000).threads, (Threads{512, 1, 1}));
  // Of rows that several passes read, what fits is kept in shared memory.
  Build passes(KernelKind::Row, 1);
  const std::uint16_t y = passes.input(kF32);
  const std::uint16_t sum = passes.reduce(OpCode::sum, kF32, y);
  passes.output(kF32, Access::Unit, passes.step(OpCode::mul, kF32, {y, sum}));
  auto kept = [&](std::int64_t n, std::int64_t stride) {
    Args args(passes.signature);
    args.outer(0, 100).inner(n).operand(0, nullptr, 1, {stride}).operand(1, nullptr, 1, {n});
    const auto& kernel = static_cast<const CudaKernel&>(*device().load(passes.signature));
    return launchShape(kernel, args.data(), {100, n}).sharedBytes;
  };
  EXPECT_EQ(shape(row, 100, 4096).sharedBytes, 0U);
  EXPECT_EQ(kept(256, 256), 0U);  // in registers
  EXPECT_EQ(kept(257, 257), 8U * 1040);
  EXPECT_EQ(kept(1001, 1001), 8U * 4016);
  EXPECT_EQ(kept(4097, 4097), 4U * 4100);
  EXPECT_EQ(kept(50000, 50000), 4U * 50000);
  EXPECT_EQ(kept(60000, 60000), 0U);
  EXPECT_EQ(kept(4097, 0), 0U);  // one row for all
  Build flat(KernelKind::Row);
  const std::uint16_t x = flat.input(kF32);
  flat.output(kF32, Access::Unit, x);
  EXPECT_EQ(shape(flat.signature, 0, 4097).threads, (Threads{256, 1, 1}));
  EXPECT_EQ(shape(flat.signature, 0, 4097).blocks[0], 5U);
}

TEST(Launches, ConvertsAsTheOperationDoes) {
  // Of many dims, and to and from what is not contiguous.
  const std::vector<double> values = noises<double>(4 * 6 * 5, 1e3);
  const Block x(values.size() * 8);
  const Block y(values.size() * 2 * 8);
  x.set(values);
  const ArrayView from{x.data(), kF64, {4, 6, 5}, {1, 4, 24}};
  const ArrayView to{y.data(), DType::Int32, {4, 6, 5}, {60, 10, 2}};
  static ArrayView a;
  static ArrayView b;
  a = from;
  b = to;
  device().call([](const LibraryCall&) { copyArray(a, b); }, {{}, {}, {}, {}}, device().stream());
  const auto found = y.get<int>(values.size() * 2);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t k = 0; k < 5; ++k)
        EXPECT_EQ(found[i * 60 + j * 10 + k * 2], static_cast<int>(values[i + 4 * j + 24 * k]));
}

TEST(Launches, SavedKernelsRun) {
  const KernelSignature signature = reduction(KernelKind::Row, 1);
  std::string object;
  std::string symbol;
  findCode(signature, device().target().architecture, [&](const std::string& o, const std::string& s) {
    object = o;
    symbol = s;
  });
  const SavedKernel saved[] = {{signature, object, symbol}, {reduction(KernelKind::Row, 2), {}, {}}};
  const auto module = device().loadModule(saved);
  const Kernel* kernel = module->find(signature);
  ASSERT_NE(kernel, nullptr);
  const Block x(4 * 10);
  const Block a(4 * 2);
  const Block b(4 * 2);
  x.set<float>({1, 2, 3, 4, 5, 1, 1, 1, 1, 2});
  const Args args = Args(signature)
                        .outer(0, 2)
                        .inner(5)
                        .operand(0, x.data(), 1, {5})
                        .operand(1, a.data(), 0, {1})
                        .operand(2, b.data(), 0, {1});
  device().launch(*kernel, args.data(), {2, 5}, device().stream());
  EXPECT_EQ(a.get<float>(2), (std::vector<float>{55, 8}));
  EXPECT_EQ(b.get<float>(2), (std::vector<float>{5, 2}));
  const Kernel* empty = module->find(saved[1].signature);
  ASSERT_NE(empty, nullptr);
  EXPECT_THROW(static_cast<void>(static_cast<const CudaKernel*>(empty)->function()), InternalError);
  EXPECT_EQ(module->find(reduction(KernelKind::Row, 3)), nullptr);
}

}  // namespace
}  // namespace tandem::cuda::test
