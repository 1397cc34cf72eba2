#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/memory/allocator.h"

namespace tandem {
namespace {

struct Block {
  unsigned char* p;
  std::size_t bytes;
  unsigned char mark;
};

void checkAndFree(const Block& b) {
  for (std::size_t i = 0; i < b.bytes; i += 97) ASSERT_EQ(b.p[i], b.mark);
  if (b.bytes > 0) {
    ASSERT_EQ(b.p[b.bytes - 1], b.mark);
  }
  deallocate(b.p, b.bytes);
}

void churn(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Block> live;
  for (int round = 0; round < 3000; ++round) {
    if (live.size() < 40 || random() % 2 == 0) {
      std::size_t bytes = random() % (std::size_t{1} << (random() % 22));
      auto* p = static_cast<unsigned char*>(allocate(bytes));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0U);
      auto mark = static_cast<unsigned char>(random());
      std::memset(p, mark, bytes);
      live.push_back({p, bytes, mark});
    } else {
      std::size_t at = random() % live.size();
      checkAndFree(live[at]);
      live[at] = live.back();
      live.pop_back();
    }
  }
  for (const Block& b : live) checkAndFree(b);
}

TEST(Allocator, BlocksAreAlignedAndDisjoint) { churn(1); }

TEST(Allocator, ThreadsAllocateAtOnce) {
  auto before = allocatorStats().bytesInUse;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back(churn, t);
  for (auto& t : threads) t.join();
  EXPECT_EQ(allocatorStats().bytesInUse, before);
}

TEST(Allocator, FreesWhatAnotherThreadAllocated) {
  auto before = allocatorStats().bytesInUse;
  std::vector<void*> blocks(1000);
  for (auto& b : blocks) b = allocate(100);
  std::thread([&] {
    for (auto* b : blocks) deallocate(b, 100);
  }).join();
  EXPECT_EQ(allocatorStats().bytesInUse, before);
}

TEST(Allocator, ReusesBlocks) {
  for (std::size_t bytes : {64, 1000, 100000, 16 << 20}) {
    void* a = allocate(bytes);
    deallocate(a, bytes);
    void* b = allocate(bytes);
    EXPECT_EQ(a, b);
    deallocate(b, bytes);
  }
}

TEST(Allocator, AThreadGetsTheLargeBlocksThatItFreed) {
  constexpr std::size_t bytes = std::size_t{300} << 10;
  // Two at once, and freed in the order in which shared bins would hand each thread the other one's.
  void* first = allocate(bytes);
  void* second = nullptr;
  void* again = nullptr;
  std::atomic<int> turn = 0;
  std::thread other([&] {
    second = allocate(bytes);
    turn = 1;
    while (turn != 2) std::this_thread::yield();
    deallocate(second, bytes);
    turn = 3;
    while (turn != 4) std::this_thread::yield();
    again = allocate(bytes);
    deallocate(again, bytes);
  });
  while (turn != 1) std::this_thread::yield();
  deallocate(first, bytes);
  turn = 2;
  while (turn != 3) std::this_thread::yield();
  void* mine = allocate(bytes);
  EXPECT_EQ(mine, first);
  deallocate(mine, bytes);
  turn = 4;
  other.join();
  EXPECT_EQ(again, second);
  // A thread keeps few: the others are there for all.
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(allocate(bytes));
  const auto before = allocatorStats().bytesCached;
  for (void* p : blocks) deallocate(p, bytes);
  EXPECT_GE(allocatorStats().bytesCached - before, static_cast<std::int64_t>(16 * bytes));
}

TEST(Allocator, CountsBytes) {
  auto before = allocatorStats();
  void* p = allocate(std::size_t{8} << 20);
  auto during = allocatorStats();
  EXPECT_EQ(during.bytesInUse - before.bytesInUse, 8 << 20);
  EXPECT_EQ(during.allocations, before.allocations + 1);
  EXPECT_GE(during.peakBytes, during.bytesInUse);
  deallocate(p, std::size_t{8} << 20);
  EXPECT_EQ(allocatorStats().bytesInUse, before.bytesInUse);
  EXPECT_GE(allocatorStats().bytesCached, 8 << 20);
  emptyCache();
  EXPECT_EQ(allocatorStats().bytesCached, 0);
}

TEST(Allocator, HugeSizesFailCleanly) {
  auto before = allocatorStats();
  for (std::size_t bytes :
       {std::size_t{1} << 40, std::size_t{1} << 46, std::size_t{1} << 62, std::numeric_limits<std::size_t>::max()}) {
    try {
      allocate(bytes);
      FAIL();
    } catch (const OutOfMemoryError& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(bytes) + " bytes"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(allocatorStats().bytesInUse, before.bytesInUse);
  void* p = allocate(1000);
  std::memset(p, 1, 1000);
  deallocate(p, 1000);
}

TEST(Allocator, GivesBackWhatIsNoLongerUsed) {
  emptyCache();
  // Blocks of ever new sizes, two at a time: of the sizes that are behind, nothing stays.
  std::size_t bytes = std::size_t{100} << 10;
  for (int i = 0; i < 60; ++i, bytes += bytes / 16)
    for (int k = 0; k < 400; ++k) {
      void* a = allocate(bytes);
      void* b = allocate(bytes);
      deallocate(a, bytes);
      deallocate(b, bytes);
    }
  EXPECT_LE(allocatorStats().bytesCached, static_cast<std::int64_t>(6 * bytes));
  EXPECT_GE(allocatorStats().bytesCached, static_cast<std::int64_t>(bytes));
}

TEST(Allocator, KeepsWhatALoopUses) {
  emptyCache();
  const std::size_t sizes[] = {std::size_t{300} << 10, std::size_t{2} << 20, std::size_t{5} << 20};
  auto round = [&] {
    std::vector<void*> blocks;
    for (std::size_t n : sizes)
      for (int k = 0; k < 20; ++k) {
        blocks.push_back(allocate(n));
        for (int i = 0; i < 10; ++i) deallocate(allocate(std::size_t{100} << 10), std::size_t{100} << 10);
      }
    std::size_t at = 0;
    for (std::size_t n : sizes)
      for (int k = 0; k < 20; ++k) deallocate(blocks[at++], n);
  };
  round();
  const auto kept = allocatorStats().bytesCached;
  for (int i = 0; i < 200; ++i) {
    round();
    ASSERT_EQ(allocatorStats().bytesCached, kept);
  }
}

TEST(Allocator, HoldsNoMoreThanHalfAgainOfWhatWasInUse) {
  emptyCache();
  // Large blocks of sizes that no two turns share, in an order without end.
  std::mt19937_64 random(1);
  constexpr std::int64_t most = std::int64_t{48} << 20;
  std::int64_t kept = 0;
  for (int i = 0; i < 8000; ++i) {
    std::size_t bytes = (std::size_t{1} << 20) + random() % (static_cast<std::size_t>(most) / 2 - (1 << 20));
    void* a = allocate(bytes);
    void* b = allocate(bytes);
    deallocate(a, bytes);
    deallocate(b, bytes);
    // What other tests had in use is forgotten after two epochs.
    if (i > 6000) kept = std::max(kept, allocatorStats().bytesCached);
  }
  // A block is up to an eighth larger than was asked for.
  EXPECT_LE(kept, most * 9 / 8 * 3 / 2);
  EXPECT_GE(kept, most / 2);
  // A smaller loop holds less before long.
  for (int i = 0; i < 100000; ++i) deallocate(allocate(std::size_t{1} << 20), std::size_t{1} << 20);
  EXPECT_LE(allocatorStats().bytesCached, std::int64_t{16} << 20);
}

TEST(Allocator, SmallSizesThatGrowLeaveLittle) {
  emptyCache();
  // A loop of ever more rows, a few MiB of which are in use at once.
  std::int64_t kept = 0;
  for (std::size_t rows = 800; rows < 3000; ++rows) {
    std::vector<void*> blocks;
    for (std::size_t width : {64, 128, 256}) blocks.push_back(allocate(rows * width * 4));
    std::size_t width = 64;
    for (void* p : blocks) deallocate(p, rows * width * 4), width *= 2;
    // What other tests had in use is forgotten after two epochs.
    if (rows > 2000) kept = std::max(kept, allocatorStats().bytesCached);
  }
  EXPECT_LE(kept, std::int64_t{20} << 20);
}

TEST(Allocator, FailsWhereItIsAskedTo) {
  auto before = allocatorStats().bytesInUse;
  failAllocation(1);
  void* p = allocate(100);
  EXPECT_THROW(allocate(200), OutOfMemoryError);
  void* q = allocate(200);
  EXPECT_TRUE(failAllocation(0));
  EXPECT_FALSE(failAllocation(-1));
  deallocate(p, 100);
  deallocate(q, 200);
  EXPECT_EQ(allocatorStats().bytesInUse, before);
}

TEST(Allocator, ZeroBytes) {
  void* p = allocate(0);
  EXPECT_NE(p, nullptr);
  deallocate(p, 0);
}

}  // namespace
}  // namespace tandem
