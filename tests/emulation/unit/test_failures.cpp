// Kernels that fail. A device on which one failed is of no use any more, so that each test is a process of its own.
#include <cstdio>
#include <cstdlib>

#include "tests/emulation/unit/cuda_test_util.h"

namespace tandem::cuda::test {
namespace {

constexpr Source kWild("wild", R"cu(
extern "C" __global__ void wild(int* to) { to[threadIdx.x] = 1; }
extern "C" __global__ void tame(int* to) { to[threadIdx.x] = 2; }
)cu");

/// Queues a kernel that writes where nothing is; then one that does not, if it comes to that.
void queueWild(const LibraryCall& call) {
  launch(kWild.kernel("wild"), blocks(1, 32), reinterpret_cast<int*>(std::uintptr_t{64}));
  launch(kWild.kernel("tame"), blocks(1, 32), call.outputs[0].as<int>());
}

/// What the error is, and where it was raised, on the standard error; the exit status is 3.
[[noreturn]] void failAndSay(bool blocking) {
  if (blocking) ::setenv("TANDEM_LAUNCH_BLOCKING", "1", 1);
  std::string where = "queueing";
  try {
    const Block x(128);
    const ArrayView view{x.data(), DType::Int32, {32}, {1}};
    device().call(queueWild, {{}, {&view, 1}, {}, {}, "model.py:3"}, device().stream());
    where = "waiting";
    device().stream().synchronize();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s: %s\n", where.c_str(), e.what());
    std::fflush(stderr);
    std::_Exit(3);
  }
  std::_Exit(0);
}

/// Frees what work that failed still had.
[[noreturn]] void failAndFree() {
  auto stream = device().makeStream();
  void* p = device().allocate(1000);
  control().recordStream(p, *stream);
  void* pinned = control().allocatePinned(100);
  control().copyFromPinned(p, pinned, 100, *stream);
  const ArrayView view{p, DType::Int32, {32}, {1}};
  device().call(queueWild, {{}, {&view, 1}, {}, {}}, *stream);
  try {
    control().synchronize();
  } catch (const Error&) {
    control().freePinned(pinned);
    device().deallocate(p, 1000);
    stream.reset();
    std::_Exit(3);
  }
  std::_Exit(0);
}

class FailuresDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FailuresDeathTest, ShowWhereSomebodyWaits) {
  EXPECT_EXIT(failAndSay(false), testing::ExitedWithCode(3),
              "waiting: CUDA: waiting for a stream on cuda:0: .*ILLEGAL_ADDRESS.*; the kernel tame was queued last, "
              "which need not be the one that failed: TANDEM_LAUNCH_BLOCKING=1");
}

TEST_F(FailuresDeathTest, ShowAtTheLaunchWhereLaunchesWait) {
  EXPECT_EXIT(failAndSay(true), testing::ExitedWithCode(3),
              "queueing: CUDA: .*ILLEGAL_ADDRESS.*; the kernel wild failed\n  recorded at model.py:3");
}

TEST_F(FailuresDeathTest, LeaveMemoryAndStreamsThatCanBeFreed) {
  EXPECT_EXIT(failAndFree(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace tandem::cuda::test
