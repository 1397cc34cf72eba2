#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/index_table.h"

namespace tandem {
namespace {

TEST(IndexTable, NumbersKeys) {
  std::vector<double> objects(3000);
  IndexTable<const void*> table;
  EXPECT_EQ(table.find(&objects[0]), table.kNone);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < objects.size(); ++i) {
      EXPECT_FALSE(table.contains(&objects[i]));
      EXPECT_EQ(table.findOrAdd(&objects[i], i), i);
      EXPECT_EQ(table.findOrAdd(&objects[i], i + 1), i);
    }
    for (std::uint32_t i = 0; i < objects.size(); ++i) EXPECT_EQ(table.find(&objects[i]), i);
    table.clear();
  }
}

TEST(IndexTable, TellsHashesApartThatShareAPlace) {
  IndexTable<Hash128> table;
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(table.findOrAdd({7, i}, static_cast<std::uint32_t>(i)), i);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(table.find({7, i}), i);
  EXPECT_EQ(table.find({7, 100}), table.kNone);
}

}  // namespace
}  // namespace tandem
