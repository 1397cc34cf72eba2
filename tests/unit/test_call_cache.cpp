// The kernels that a thread remembers for its calls.
#include <array>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/kernel/call_cache.h"

namespace tandem {
namespace {

TEST(CallCache, EveryByteOfAKeyDecidesItsPlace) {
  for (std::size_t i = 3; i < 24; ++i) {
    std::set<std::size_t> places;
    for (std::uint8_t byte = 1; byte <= 16; ++byte) {
      CallKey key;
      key.words[0] = 7;
      key.set(i, byte);
      places.insert(key.hash());
    }
    EXPECT_GE(places.size(), 12U) << i;
  }
}

struct NoKernel : Kernel {};

// Keys whose places differ in the last bit, or in none, share two entries.
class CallCachePairs : public testing::TestWithParam<std::size_t> {};

TEST_P(CallCachePairs, TwoCallsAreRemembered) {
  std::vector<CallKey> keys(1);
  keys[0].words[0] = 1;
  for (std::uint64_t w = 2; keys.size() < 3; ++w) {
    CallKey key;
    key.words[0] = w;
    if (key.hash() == (keys[0].hash() ^ GetParam())) keys.push_back(key);
  }
  // A thread of its own: what it remembers goes with it.
  std::thread([&] {
    std::array<NoKernel, 3> kernels;
    int built = 0;
    auto call = [&](std::size_t i) {
      auto build = [&] { return ++built, &kernels[i]; };
      return &kernelFor(keys[i], build) == &kernels[i];
    };
    for (int round = 0; round < 3; ++round) EXPECT_TRUE(call(0) && call(1));
    EXPECT_EQ(built, 2);
    EXPECT_TRUE(call(2) && call(1));  // the older one gave way
    EXPECT_EQ(built, 3);
    EXPECT_TRUE(call(0));
    EXPECT_EQ(built, 4);
  }).join();
}

INSTANTIATE_TEST_SUITE_P(Places, CallCachePairs, testing::Values(0, 1));

}  // namespace
}  // namespace tandem
