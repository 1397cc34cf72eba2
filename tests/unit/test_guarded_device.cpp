// The guarded device (tests/guarded) itself: what it is there to catch, it catches.
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/device/plugin.h"

namespace tandem {
namespace {

Executor& guarded() {
  static const std::string kind = loadDevices(TANDEM_GUARDED);
  return executor(parseDevice(kind));
}

/// Memory of the device.
class Block {
 public:
  explicit Block(std::size_t bytes) : bytes_(bytes), data_(guarded().allocate(bytes)) {}
  ~Block() { guarded().deallocate(data_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void set(const std::array<int, 4>& values, Stream& stream) {
    guarded().copyFromHost(data_, values.data(), sizeof values, stream);
  }
  [[nodiscard]] std::array<int, 4> get(Stream& stream) const {
    std::array<int, 4> values{};
    guarded().copyToHost(values.data(), data_, sizeof values, stream);
    return values;
  }
  [[nodiscard]] void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

constexpr std::array<int, 4> kOnes{1, 1, 1, 1}, kTwos{2, 2, 2, 2};

TEST(GuardedDevice, CopiesInTheOrderOfAStream) {
  Stream& s = guarded().stream();
  Block a(16), b(16);
  a.set(kOnes, s);
  guarded().copy(b.data(), a.data(), 16, s);
  a.set(kTwos, s);
  EXPECT_EQ(b.get(s), kOnes);
  EXPECT_EQ(a.get(s), kTwos);
}

TEST(GuardedDevice, KeepsWhatTheHostGave) {
  Stream& s = guarded().stream();
  Block a(16);
  auto values = kOnes;
  guarded().copyFromHost(a.data(), values.data(), sizeof values, s);
  values = kTwos;
  EXPECT_EQ(a.get(s), kOnes);
}

TEST(GuardedDeviceDeathTest, AHostReadIsAFault) {
  Block a(16);
  a.set(kOnes, guarded().stream());
  guarded().stream().synchronize();
  EXPECT_DEATH(
      {
        volatile int value = *static_cast<int*>(a.data());
        static_cast<void>(value);
      },
      "");
}

TEST(GuardedDevice, ShowsAMissingWait) {
  Stream& s = guarded().stream();
  auto other = guarded().makeStream();
  Block a(16), b(16);
  a.set(kOnes, s);
  s.synchronize();
  a.set(kTwos, s);
  guarded().copy(b.data(), a.data(), 16, *other);  // nobody told it to wait
  EXPECT_EQ(b.get(*other), kOnes);

  auto written = guarded().makeEvent();
  a.set(kTwos, s);
  written->record(s);
  EXPECT_FALSE(written->done());
  written->waitOn(*other);
  guarded().copy(b.data(), a.data(), 16, *other);
  EXPECT_EQ(b.get(*other), kTwos);
  EXPECT_TRUE(written->done());
}

TEST(GuardedDevice, ThrowsErrorsWhereSomebodyWaits) {
  Stream& s = guarded().stream();
  guarded().call([](const LibraryCall&) { fail<IndexError>("out of range"); }, {{}, {}, {}, {}}, s);
  EXPECT_THROW(s.synchronize(), IndexError);
  s.synchronize();  // once
}

TEST(GuardedDevice, FreshMemoryIsNoNumber) {
  Stream& s = guarded().stream();
  Block a(16);
  EXPECT_EQ(a.get(s), (std::array<int, 4>{-1, -1, -1, -1}));
}

TEST(GuardedDevice, IsFoundByName) {
  guarded();
  EXPECT_EQ(deviceCount(parseDevice("guarded").kind), 2);
  EXPECT_EQ(deviceName(parseDevice("guarded:1")), "guarded:1");
  EXPECT_THROW(executor(parseDevice("guarded:2")), Error);
  EXPECT_THROW(loadDevices(TANDEM_GUARDED), Error);
  EXPECT_THROW(loadDevices("/nowhere/libnothing.so"), Error);
}

}  // namespace
}  // namespace tandem
