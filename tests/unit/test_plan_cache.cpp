#include <gtest/gtest.h>

#include "lazy/plan_cache.h"

namespace tandem::lazy {
namespace {

Hash128 key(std::uint64_t n) {
  Hash128 h;
  h.add(n);
  return h;
}

TEST(PlanCache, ForgetsTheLeastRecentlyUsed) {
  PlanCache cache(2, std::size_t{1} << 30);
  auto first = std::make_shared<Plan>();
  EXPECT_EQ(cache.add(key(1), first), first);
  EXPECT_EQ(cache.add(key(1), std::make_shared<Plan>()), first);
  cache.add(key(2), std::make_shared<Plan>());
  EXPECT_EQ(cache.find(key(1)), first);
  cache.add(key(3), std::make_shared<Plan>());
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.find(key(2)), nullptr);
  EXPECT_EQ(cache.find(key(1)), first);
}

TEST(PlanCache, IsBoundedByBytes) {
  PlanCache cache(100, 10000);
  for (std::uint64_t n = 0; n < 10; ++n) {
    auto plan = std::make_shared<Plan>();
    plan->blocks.resize(600);
    cache.add(key(n), plan);
  }
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_NE(cache.find(key(9)), nullptr) << "the newest stays, whatever its size";
}

}  // namespace
}  // namespace tandem::lazy
