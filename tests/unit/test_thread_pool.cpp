#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "runtime/base/error.h"
#include "runtime/device/thread_pool.h"

namespace tandem {
namespace {

class ThreadPool : public testing::Test {
 protected:
  void TearDown() override { setNumThreads(before_); }

 private:
  int before_ = numThreads();
};

TEST_F(ThreadPool, RunsEachTileOnce) {
  for (int threads : {1, 2, 3, 5}) {
    setNumThreads(threads);
    for (int tiles : {0, 1, 2, 7, 64, 1000}) {
      std::vector<std::atomic<int>> ran(tiles);
      parallelTiles(tiles, [&](std::int64_t i) { ran[i]++; });
      for (auto& r : ran) EXPECT_EQ(r.load(), 1);
    }
  }
}

TEST_F(ThreadPool, AThreadBeginsWithItsOwnShare) {
  setNumThreads(2);
  std::thread::id worker;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> begun{0};
    std::vector<std::thread::id> ranBy(8);
    parallelTiles(8, [&](std::int64_t i) {
      ranBy[i] = std::this_thread::get_id();
      if (i % 4 != 0) return;
      begun++;  // the first tile of each share waits for the other, so that neither thread does both
      while (begun < 2) std::this_thread::yield();
    });
    if (round == 0) worker = ranBy[4];
    EXPECT_EQ(ranBy[0], std::this_thread::get_id());
    EXPECT_NE(worker, std::this_thread::get_id());
    EXPECT_EQ(ranBy[4], worker);
  }
}

TEST_F(ThreadPool, SharesOfOthersAreTakenOver) {
  setNumThreads(4);
  std::atomic<int> others{0};
  parallelTiles(64, [&](std::int64_t i) {
    if (i == 0)
      while (others < 63) std::this_thread::yield();
    else
      others++;
  });
  EXPECT_EQ(others.load(), 63);
}

TEST_F(ThreadPool, ManySmallRegions) {
  setNumThreads(3);
  std::vector<std::int64_t> seen(64);
  for (int round = 0; round < 5000; ++round) {
    parallelTiles(64, [&](std::int64_t i) { seen[i] = round + i; });
    ASSERT_EQ(std::accumulate(seen.begin(), seen.end(), std::int64_t{0}), 64 * round + 63 * 32);
  }
}

TEST_F(ThreadPool, ParallelForCoversTheRange) {
  setNumThreads(3);
  for (std::int64_t n : {0, 1, 99, 1000, 100003}) {
    std::vector<std::atomic<int>> ran(n);
    parallelFor(n, 100, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_TRUE(end - begin >= 100 || end - begin == n);
      for (std::int64_t i = begin; i < end; ++i) ran[i]++;
    });
    for (auto& r : ran) EXPECT_EQ(r.load(), 1);
  }
}

TEST_F(ThreadPool, NestedRegionsRunSerially) {
  setNumThreads(2);
  std::atomic<int> count{0};
  parallelTiles(8, [&](std::int64_t) {
    auto self = std::this_thread::get_id();
    parallelTiles(8, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      count++;
    });
  });
  EXPECT_EQ(count.load(), 64);
}

TEST_F(ThreadPool, RethrowsTheExceptionOfATile) {
  for (int threads : {1, 2}) {
    setNumThreads(threads);
    EXPECT_THROW(parallelTiles(100,
                               [](std::int64_t i) {
                                 if (i == 37) throw IndexError("37");
                               }),
                 IndexError);
    std::atomic<int> count{0};
    parallelTiles(100, [&](std::int64_t) { count++; });
    EXPECT_EQ(count.load(), 100);
  }
}

TEST_F(ThreadPool, SeveralCallersAtOnce) {
  setNumThreads(3);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> sum{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) parallelTiles(16, [&](std::int64_t i) { sum += i; });
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(sum.load(), 4 * 200 * 120);
}

TEST_F(ThreadPool, RejectsNonsense) {
  EXPECT_THROW(setNumThreads(0), ValueError);
  EXPECT_THROW(setNumThreads(-3), ValueError);
}

#if !defined(__SANITIZE_THREAD__)  // which does not support threads in a forked child
TEST_F(ThreadPool, WorksInAForkedChild) {
  setNumThreads(2);
  std::atomic<std::int64_t> sum{0};
  auto region = [&] {
    sum = 0;
    parallelTiles(100, [&](std::int64_t i) { sum += i; });
    return sum.load() == 4950;
  };
  ASSERT_TRUE(region());
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(10);
      bool good = region() && region();
      setNumThreads(3);
      _exit(good && region() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_TRUE(region());
  }
}

TEST_F(ThreadPool, ForksWhileAnotherThreadComputes) {
  setNumThreads(2);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) parallelTiles(32, [](std::int64_t) {});
  });
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(10);
      std::atomic<int> count{0};
      parallelTiles(32, [&](std::int64_t) { count++; });
      _exit(count == 32 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  other.join();
}
#endif

}  // namespace
}  // namespace tandem
