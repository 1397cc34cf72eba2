// Entries whose sizes calls choose: that every number is what it was for each combination, and what a file may not say.
#include <array>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "lazy/size_fit.h"
#include "runtime/base/error.h"
#include "runtime/program/check.h"
#include "runtime/program/sizes.h"

namespace tandem::test {
namespace {

using program::PlaceData;
using program::ProgramData;
using Origin = PlaceData::Origin;

/// Sizes n from 2 to 70 and m from 0 to 5, an entry of numbers made of them, and two structures of its plan.
struct Sizes {
  std::vector<program::SizeData> sizes{{"n", 2, 70, 33}, {"m", 0, 5, 3}};
  std::vector<program::SizedDim> bound{{0, 0, 0, 2, 1}, {0, 1, 1, 1, 0}, {1, 0, 0, 1, -1}};

  static program::EntryData entry(std::int64_t n, std::int64_t m) {
    const auto rounded = [](std::int64_t bytes) { return static_cast<std::uint64_t>((bytes + 63) / 64 * 64); };
    program::EntryData e;
    e.name = "forward";
    e.arguments = {{"x", DType::Float32, {2 * n + 1, m}, false}, {"y", DType::Int8, {n - 1}, n == 7}};
    e.results = {{"z", DType::Float32, {n * m, 4, 3 * m + 2, 5}, {60, 15, 5, 1}, {Origin::Fresh, 0, 0}}};
    e.fresh = {static_cast<std::uint64_t>(n * n * m * 4)};
    const std::uint64_t lookup = (n * 7919 + m * 104729) % 1009;  // no formula: a table
    e.plan.buffers = {{PlanBuffer::Kind::Temporary, 0, rounded(4 * n), rounded(n)},
                      {PlanBuffer::Kind::Temporary, 0, rounded(4 * n) + rounded(2 * m), lookup}};
    e.plan.slots = {{ScalarSlot::Source::Constant, Scalar(1.0 / static_cast<double>(n)), -1, -1}};
    e.plan.arenaBytes = 1000;
    e.plan.numRandom = static_cast<std::uint32_t>(n);
    if (n > 40 && m != 2) e.plan.library = {"another"};
    return e;
  }
  [[nodiscard]] program::EntryData fitted() const {
    lazy::SizeFit fit(sizes, bound);
    for (std::int64_t n = 2; n <= 70; ++n)
      for (std::int64_t m = 0; m <= 5; ++m) {
        EXPECT_EQ(fit.next(), (std::vector{n, m}));
        fit.add(entry(n, m));
      }
    return std::move(fit).finish();
  }
};

std::string bytesOf(const program::EntryData& e) {
  ProgramData d;
  d.entries = {e};
  return program::encodeManifest(d);
}

TEST(Sizes, EveryNumberIsWhatItWas) {
  const Sizes s;
  ProgramData d;
  d.entries = {s.fitted()};
  const ProgramData read = program::decodeManifest(program::encodeManifest(d));
  EXPECT_EQ(read.entries[0].others.size(), 1U);
  const program::SizedEntry sized(read.entries[0]);
  for (std::int64_t n = 2; n <= 70; ++n)
    for (std::int64_t m = 0; m <= 5; ++m) {
      program::EntryData expected = Sizes::entry(n, m);
      expected.arguments[1].changes = true;  // for some sizes, and so for all
      EXPECT_EQ(bytesOf(sized.at(std::array{n, m})), bytesOf(expected)) << n << " " << m;
      std::array<std::int64_t, 2> found{};
      sized.sizesOf(std::array{DimsRef(expected.arguments[0].shape), DimsRef(expected.arguments[1].shape)}, found);
      EXPECT_EQ(found, (std::array{n, m}));
    }
  // The entry itself is the example's, and says which dims of its results follow from sizes.
  EXPECT_EQ(read.entries[0].plan.numRandom, 33U);
  EXPECT_EQ(read.entries[0].given.size(), 3U);  // not n * m
}

TEST(Sizes, FormulasAreFewNumbers) {
  const program::EntryData e = Sizes().fitted();
  std::size_t tables = 0;
  for (const program::SizeFunction& f : e.functions) tables += f.coefficients.size() > 200 ? 1 : 0;
  EXPECT_EQ(tables, 1U) << "of what has no formula";
}

TEST(Sizes, WhatIsGivenIsTheSameForAllSizes) {
  const auto refusal = [](const std::function<void(program::EntryData&)>& change) {
    lazy::SizeFit fit({{"n", 1, 2, 1}}, {{0, 0, 0, 2, 1}});
    program::EntryData e = Sizes::entry(1, 1);
    fit.add(e);
    change(e);
    try {
      fit.add(e);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](program::EntryData&) {}), "");
  EXPECT_NE(refusal([](program::EntryData& e) { e.results[0].dtype = DType::Int8; }).find("for n = 2 z is int8"),
            std::string::npos);
  EXPECT_NE(refusal([](program::EntryData& e) { e.numbers.push_back({"lr", Scalar(1.0)}); }).find("other numbers"),
            std::string::npos);
}

struct Refusal {
  const char* name;
  std::function<void(ProgramData&)> change;
  const char* text;
};
program::EntryData& entry(ProgramData& d) { return d.entries[0]; }

const Refusal kSizeRefusals[] = {
    {"LeastIsMore", [](ProgramData& d) { entry(d).sizes[0].least = 60; }, "the size `n`"},
    {"TwoOfAName", [](ProgramData& d) { entry(d).sizes[1].name = "n"; }, "are called"},
    {"TooMany", [](ProgramData& d) { entry(d).sizes[0].most = entry(d).sizes[1].most = 1 << 30; }, "combinations"},
    {"OfNoArgument", [](ProgramData& d) { entry(d).bound[0].tensor = 9; }, "a dim that follows from a size"},
    {"OfNoDim", [](ProgramData& d) { entry(d).bound[0].dim = 9; }, "a dim that follows from a size"},
    {"OfNoResult", [](ProgramData& d) { entry(d).given[0].tensor = 9; }, "a dim that follows from a size"},
    {"FactorOfNothing",
     [](ProgramData& d) {
       entry(d).bound[0].factor = 0;
       entry(d).bound[0].add = 67;
     },
     "the formula of a dim"},
    {"AnotherDim", [](ProgramData& d) { entry(d).bound[0].add = 2; }, "not what its size says"},
    {"NoArgumentSays", [](ProgramData& d) { entry(d).bound.erase(entry(d).bound.begin() + 1); },
     "no argument says what `m` is"},
    {"NoSuchForm", [](ProgramData& d) { entry(d).choice[0].form = 5; }, "a form of an entry"},
    {"FewerForms", [](ProgramData& d) { entry(d).choice.pop_back(); }, "the forms of an entry"},
    {"FormTakesSomethingElse", [](ProgramData& d) { entry(d).others[0].arguments.pop_back(); }, "takes or gives"},
    {"FirstOutside", [](ProgramData& d) { entry(d).others[0].firsts[0] = 1; }, "a form's first size"},
    {"NoFirsts", [](ProgramData& d) { entry(d).firsts.clear(); }, "count from"},
    {"NoPeriod", [](ProgramData& d) { entry(d).functions[0].along[0].period = 0; }, "a function of sizes"},
    {"FewerCoefficients", [](ProgramData& d) { entry(d).functions[0].coefficients.pop_back(); }, "coefficients of"},
    {"NumberOutside", [](ProgramData& d) { entry(d).varying.back().position = 99999; }, "follows from sizes"},
    {"NumberTwice", [](ProgramData& d) { entry(d).varying[1] = entry(d).varying[0]; }, "follows from sizes"},
    {"NoSuchFunction", [](ProgramData& d) { entry(d).varying[0].function = 9999; }, "follows from sizes"},
};

class SizesRefused : public testing::TestWithParam<Refusal> {};

TEST_P(SizesRefused, WithWhatIsWrong) {
  const Sizes s;
  lazy::SizeFit fit(s.sizes, s.bound);
  for (std::int64_t n = 2; n <= 70; ++n)
    for (std::int64_t m = 0; m <= 5; ++m) {
      program::EntryData e = Sizes::entry(n, m);  // whose plan does nothing, and contradicts nothing
      e.results[0].strides = {0, 0, 0, 0};
      e.fresh = {4};
      e.plan.buffers.clear();
      fit.add(std::move(e));
    }
  ProgramData d;
  d.entries = {std::move(fit).finish()};
  entry(d).plan.numOutputs = entry(d).others[0].plan.numOutputs = 1;
  checkProgram(d, 0);
  GetParam().change(d);
  try {
    checkProgram(d, 0);
    FAIL() << "it was taken";
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find(GetParam().text), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SizesRefused, testing::ValuesIn(kSizeRefusals),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tandem::test
