// The cut that a flow leaves, against all cuts of small graphs.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "lazy/max_flow.h"

namespace tandem::lazy {
namespace {

struct Edge {
  int from;
  int to;
  std::int64_t capacity;
};

std::int64_t across(const std::vector<Edge>& edges, const std::vector<bool>& behind) {
  std::int64_t sum = 0;
  for (const Edge& e : edges)
    if (!behind[static_cast<std::size_t>(e.from)] && behind[static_cast<std::size_t>(e.to)]) sum += e.capacity;
  return sum;
}

TEST(MaxFlow, LeavesTheSmallestCutNearestToTheSink) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    const int places = 2 + pick(6);
    const int source = 0, sink = places - 1;
    std::vector<Edge> edges;
    MaxFlow flow(places);
    for (int i = pick(20); i > 0; --i) {
      edges.push_back({pick(places), pick(places), pick(6)});
      flow.connect(edges.back().from, edges.back().to, edges.back().capacity);
    }
    flow.run(source, sink);
    const std::vector<bool> found = flow.reaching(sink);
    ASSERT_FALSE(found[source]) << seed;
    ASSERT_TRUE(found[static_cast<std::size_t>(sink)]);
    std::int64_t least = across(edges, found);
    for (int chosen = 0; chosen < 1 << places; ++chosen) {
      std::vector<bool> behind;
      for (int i = 0; i < places; ++i) behind.push_back((chosen >> i & 1) != 0);
      if (behind[source] || !behind[static_cast<std::size_t>(sink)]) continue;
      const std::int64_t cost = across(edges, behind);
      ASSERT_GE(cost, least) << seed;
      // What lies behind the cut that was found lies behind every other that costs as little.
      if (cost == least) {
        for (int i = 0; i < places; ++i)
          ASSERT_LE(found[static_cast<std::size_t>(i)], behind[static_cast<std::size_t>(i)]) << seed;
      }
    }
  }
}

TEST(MaxFlow, GoesThroughLongChains) {
  constexpr int kPlaces = 20000;
  MaxFlow flow(kPlaces);
  for (int i = 0; i + 1 < kPlaces; ++i) flow.connect(i, i + 1, i == 700 ? 3 : 5);
  flow.run(0, kPlaces - 1);
  const std::vector<bool> behind = flow.reaching(kPlaces - 1);
  EXPECT_FALSE(behind[700]);
  EXPECT_TRUE(behind[701]);
}

}  // namespace
}  // namespace tandem::lazy
