// The caching allocator: what is handed out again, to whom and when, and what is said where there is no more.
#include <map>

#include "runtime/device/cuda/memory.h"
#include "tests/emulation/unit/cuda_test_util.h"

namespace tandem::cuda::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    memory.emptyCache();
    memory.resetPeaks();
    memory.resetAccumulated();
  }
  void TearDown() override {
    control().setMemoryFraction(1);
    memory.emptyCache();
    EXPECT_EQ(stat("allocated_bytes.all.current"), 0);
    EXPECT_EQ(stat("reserved_bytes.all.current"), 0);
  }
  std::int64_t stat(const std::string& name) {
    for (const auto& [known, value] : memory.stats())
      if (known == name) return value;
    ADD_FAILURE() << "no statistic is called " << name;
    return -1;
  }
  /// So many bytes may be taken.
  void limit(std::size_t bytes) {
    control().setMemoryFraction(static_cast<double>(bytes) / static_cast<double>(control().properties().totalMemory));
  }

  DeviceMemory& memory = theGpu().memory;
  std::unique_ptr<Stream> streamA = device().makeStream();
  std::unique_ptr<Stream> streamB = device().makeStream();
  StreamHandle a = static_cast<StreamHandle>(streamA->handle());
  StreamHandle b = static_cast<StreamHandle>(streamB->handle());
};

TEST_F(Memory, IsReusedInTheOrderOfAStream) {
  for (const std::size_t bytes : {std::size_t{1000}, 3 * kMiB, 40 * kMiB}) {
    void* first = memory.allocate(bytes, a);
    memory.deallocate(first);
    void* other = memory.allocate(bytes, b);
    EXPECT_NE(other, first) << bytes;
    void* again = memory.allocate(bytes, a);
    EXPECT_EQ(again, first) << bytes;
    memory.deallocate(other);
    memory.deallocate(again);
  }
}

TEST_F(Memory, SmallBlocksShareASegmentAndJoinAgain) {
  std::vector<void*> blocks;
  for (int k = 0; k < 4; ++k) blocks.push_back(memory.allocate(1000, a));
  EXPECT_EQ(stat("segment.small_pool.current"), 1);
  EXPECT_EQ(stat("reserved_bytes.small_pool.current"), static_cast<std::int64_t>(2 * kMiB));
  EXPECT_EQ(stat("allocated_bytes.all.current"), 4 * 1024);
  EXPECT_EQ(stat("requested_bytes.all.current"), 4 * 1000);
  for (int k = 1; k < 4; ++k) EXPECT_EQ(static_cast<char*>(blocks[k]) - static_cast<char*>(blocks[k - 1]), 1024);
  for (const int k : {1, 3, 0}) memory.deallocate(blocks[static_cast<std::size_t>(k)]);
  // Statistics are of joined blocks: the first two are one now, into which 2 KiB fit.
  EXPECT_GT(stat("inactive_split_bytes.all.current"), 0);
  EXPECT_EQ(memory.allocate(2048, a), blocks[0]);
  memory.deallocate(blocks[0]);
  memory.deallocate(blocks[2]);
  EXPECT_EQ(stat("inactive_split_bytes.all.current"), 0);
  EXPECT_EQ(stat("inactive_split.all.current"), 0);
  const auto segments = memory.snapshot();
  ASSERT_EQ(segments.size(), 1U);
  ASSERT_EQ(segments[0].blocks.size(), 1U);
  EXPECT_EQ(segments[0].blocks[0].state, GpuSegment::Block::State::Free);
}

TEST_F(Memory, SmallBlocksFreedLastAreReadyForAsMuchAgain) {
  std::vector<void*> blocks;
  for (int k = 0; k < 12; ++k) blocks.push_back(memory.allocate(1000, a));
  for (void* block : blocks) memory.deallocate(block);
  // The last ones first, each at once; more than are kept ready are joined and found by size.
  for (std::size_t k = blocks.size(); k-- > 4;) EXPECT_EQ(memory.allocate(1000, a), blocks[k]) << k;
  EXPECT_EQ(memory.allocate(4 * 1024, a), blocks[0]);
  for (void* block : blocks) memory.deallocate(block);
}

TEST_F(Memory, ReadyBlocksAreJoinedBeforeMoreIsAskedOfTheDriver) {
  void* half = memory.allocate(kMiB, a);
  std::vector<void*> blocks;
  for (int k = 0; k < 8; ++k) blocks.push_back(memory.allocate(kMiB / 8, a));
  for (void* block : blocks) memory.deallocate(block);
  EXPECT_EQ(memory.allocate(kMiB, a), blocks[0]);
  EXPECT_EQ(stat("segment.small_pool.current"), 1);
  memory.deallocate(blocks[0]);
  memory.deallocate(half);
}

TEST_F(Memory, LargeBlocksAreSplit) {
  void* first = memory.allocate(3 * kMiB, a);
  void* second = memory.allocate(3 * kMiB, a);
  EXPECT_EQ(stat("segment.large_pool.current"), 1);
  EXPECT_EQ(stat("reserved_bytes.all.current"), static_cast<std::int64_t>(20 * kMiB));
  const auto segments = memory.snapshot();
  ASSERT_EQ(segments[0].blocks.size(), 3U);
  EXPECT_EQ(segments[0].blocks[1].requested, 3 * kMiB);
  EXPECT_TRUE(segments[0].large);
  EXPECT_EQ(segments[0].stream, streamA->handle());
  memory.deallocate(first);
  memory.deallocate(second);
}

TEST_F(Memory, OfNothingIsValid) {
  void* p = memory.allocate(0, a);
  EXPECT_NE(p, nullptr);
  memory.deallocate(p);
  memory.deallocate(nullptr);
}

TEST_F(Memory, WaitsForTheStreamsThatUseIt) {
  const std::size_t bytes = 4096;
  void* block = memory.allocate(bytes, a);
  void* target = memory.allocate(bytes, b);
  const std::vector<char> values(bytes, 7);
  device().copyFromHost(block, values.data(), bytes, *streamA);
  streamA->synchronize();
  device().copy(target, block, bytes, *streamB);  // not done before somebody waits
  control().recordStream(block, *streamB);
  memory.deallocate(block);
  EXPECT_EQ(stat("active_bytes.all.current") - stat("allocated_bytes.all.current"), 4096);
  void* next = memory.allocate(bytes, a);
  EXPECT_NE(next, block);
  streamB->synchronize();
  void* later = memory.allocate(bytes, a);
  EXPECT_EQ(later, block);
  for (void* p : {target, next, later}) memory.deallocate(p);
}

TEST_F(Memory, OfItsOwnStreamIsNotWaitedFor) {
  void* block = memory.allocate(4096, a);
  control().recordStream(block, *streamA);
  memory.deallocate(block);
  EXPECT_EQ(memory.allocate(4096, a), block);
  memory.deallocate(block);
}

TEST_F(Memory, ASecondTryFollowsEmptyingTheCache) {
  limit(64 * kMiB);
  void* first = memory.allocate(40 * kMiB, a);
  memory.deallocate(first);
  void* other = memory.allocate(40 * kMiB, b);  // fits only without what stream a left
  EXPECT_EQ(stat("num_alloc_retries"), 1);
  EXPECT_EQ(stat("num_ooms"), 0);
  EXPECT_EQ(stat("reserved_bytes.all.current"), static_cast<std::int64_t>(40 * kMiB));
  memory.deallocate(other);
}

TEST_F(Memory, ASecondTryWaitsForOtherStreams) {
  limit(64 * kMiB);
  void* block = memory.allocate(40 * kMiB, a);
  control().recordStream(block, *streamB);
  void* small = memory.allocate(64, b);
  device().copy(small, block, 64, *streamB);
  memory.deallocate(block);
  void* again = memory.allocate(40 * kMiB, a);
  EXPECT_EQ(again, block);
  memory.deallocate(again);
  memory.deallocate(small);
}

TEST_F(Memory, SaysWhatIsHeldWhereThereIsNoMore) {
  limit(64 * kMiB);
  void* held = memory.allocate(30 * kMiB, a);
  const std::string text = errorOf<OutOfMemoryError>([&] { memory.allocate(std::size_t{100} << 20, a); });
  EXPECT_TRUE(has(text, "CUDA out of memory: tried to allocate 100.00 MiB on cuda:0")) << text;
  EXPECT_TRUE(has(text, "Tensors of this process hold 30.00 MiB")) << text;
  EXPECT_TRUE(has(text, "this process may take 64.00 MiB of it")) << text;
  EXPECT_TRUE(has(text, bytesText(control().properties().totalMemory))) << text;
  EXPECT_EQ(stat("num_ooms"), 1);
  // And goes on.
  void* more = memory.allocate(1000, a);
  memory.deallocate(more);
  memory.deallocate(held);
  errorOf<OutOfMemoryError>([&] { memory.allocate(SIZE_MAX - 10, a); });
}

TEST_F(Memory, CountsAsPyTorchDoes) {
  void* first = memory.allocate(1000, a);
  void* second = memory.allocate(5 * kMiB, a);
  memory.deallocate(first);
  EXPECT_EQ(stat("allocation.all.current"), 1);
  EXPECT_EQ(stat("allocation.all.allocated"), 2);
  EXPECT_EQ(stat("allocation.all.freed"), 1);
  EXPECT_EQ(stat("allocated_bytes.all.peak"), static_cast<std::int64_t>(5 * kMiB + 1024));
  memory.resetPeaks();
  EXPECT_EQ(stat("allocated_bytes.all.peak"), static_cast<std::int64_t>(5 * kMiB));
  memory.resetAccumulated();
  EXPECT_EQ(stat("allocation.all.allocated"), 0);
  memory.deallocate(second);
  EXPECT_THROW(control().setMemoryFraction(0), ValueError);
}

TEST_F(Memory, PinnedBlocksWaitForTheirCopies) {
  const std::size_t bytes = 8192;
  void* pinned = control().allocatePinned(bytes);
  ASSERT_TRUE(control().isPinned(static_cast<char*>(pinned) + bytes - 1));
  EXPECT_FALSE(control().isPinned(&pinned));
  std::fill_n(static_cast<char*>(pinned), bytes, 3);
  void* there = memory.allocate(bytes, a);
  control().copyFromPinned(there, pinned, bytes, *streamA);
  control().freePinned(pinned);
  void* other = control().allocatePinned(bytes);
  EXPECT_NE(other, pinned);
  std::fill_n(static_cast<char*>(other), bytes, 9);
  std::vector<char> back(bytes);
  device().copyToHost(back.data(), there, bytes, *streamA);
  EXPECT_EQ(back, std::vector<char>(bytes, 3));
  std::map<void*, int> again;
  for (int k = 0; k < 3; ++k) again[control().allocatePinned(bytes)] = k;
  EXPECT_TRUE(again.contains(pinned));
  control().freePinned(other);
  for (const auto& [p, k] : again) control().freePinned(p);
  memory.deallocate(there);
}

TEST_F(Memory, PageableCopiesGoInPieces) {
  const std::size_t n = 3 * kMiB / 2 * 4;  // more than a piece, and no multiple of it
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<int>(i * 2654435761U);
  const std::vector<int> expected = values;
  const Block there(n * sizeof(int));
  there.set(values);
  std::ranges::fill(values, 0);  // may change once the call has returned
  EXPECT_EQ(there.get<int>(n), expected);
}

}  // namespace
}  // namespace tandem::cuda::test
