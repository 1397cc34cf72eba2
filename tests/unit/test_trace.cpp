// A trace that follows the last one is the trace that would have been recorded anew.
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ir/trace/trace.h"

namespace tandem {
namespace {

// What may be added: an operation on the `left`th value so far and a number, a window on a value, a write into one, an
// input, a number of the call. Values are counted round.
struct Step {
  enum class Kind : std::uint8_t { Input, WithNumber, WithValue, Window, Write, Argument } kind;
  std::uint32_t left = 0, right = 0;
  double number = 0;
};
using Program = std::vector<Step>;

constexpr std::int64_t kSize = 4;

Program randomProgram(std::mt19937& random, std::size_t length) {
  Program p{{Step::Kind::Input}};
  while (p.size() < length) {
    Step s{static_cast<Step::Kind>(random() % 6), static_cast<std::uint32_t>(random() % 100),
           static_cast<std::uint32_t>(random() % 100), static_cast<double>(random() % 3)};
    p.push_back(s);
  }
  return p;
}

/// Adds what the program says; what each addition gave.
std::vector<std::uint32_t> add(Trace& trace, const Program& program) {
  std::vector<std::uint32_t> given;
  std::vector<ValueRef> values;  // of kSize elements
  const TensorMeta meta{Dims{kSize}, DType::Float32};
  for (const Step& s : program) {
    auto value = [&](std::uint32_t k) { return values[k % values.size()]; };
    auto op = [&](OpCode code, TraceOperand by) {
      const TraceOperand operands[] = {TraceOperand::of(value(s.left)), by};
      values.push_back({trace.addOp(code, operands, {}, {&meta, 1}), 0});
    };
    switch (s.kind) {
    case Step::Kind::Input:
      values.push_back(trace.addInput(meta));
      break;
    case Step::Kind::WithNumber: {
      ScalarSlot slot;
      slot.value = Scalar(s.number);
      const std::int32_t number = trace.addSlot(slot);
      given.push_back(static_cast<std::uint32_t>(number));
      op(OpCode::mul, TraceOperand::ofSlot(number));
      break;
    }
    case Step::Kind::WithValue:
      op(OpCode::add, TraceOperand::of(value(s.right)));
      break;
    case Step::Kind::Window: {
      const ValueRef half = trace.addWindow(value(s.left), {Dims{2}, Dims{1}, s.right % 3});
      given.push_back(half.node);
      values.push_back(trace.addWindow(value(s.left), {Dims{kSize}, Dims{0}, s.right % 3}));
      break;
    }
    case Step::Kind::Write: {
      const ValueRef half = trace.addWindow(value(s.left), {Dims{2}, Dims{1}, 1});
      values.push_back(trace.addWrite(value(s.right), half, {Dims{2}, Dims{1}, s.right % 3}));
      break;
    }
    case Step::Kind::Argument: {
      ScalarSlot slot;
      slot.source = ScalarSlot::Source::Argument;
      slot.a = static_cast<std::int32_t>(s.right % 2);
      slot.value = Scalar(s.number);
      op(OpCode::mul, TraceOperand::ofSlot(trace.addSlot(slot)));
      break;
    }
    }
    given.push_back(values.back().node);
  }
  return given;
}

/// The last value of the program leaves the trace.
Hash128 hashOf(const Trace& trace, const std::vector<std::uint32_t>& given) {
  return traceHash(trace, {{{given.back(), 0}, -1}});
}

void expectSame(const Trace& followed, const Trace& anew) {
  EXPECT_EQ(followed.text(), anew.text());
  EXPECT_EQ(followed.numInputs, anew.numInputs);
  ASSERT_EQ(followed.slots.size(), anew.slots.size());
  for (std::size_t i = 0; i < anew.slots.size(); ++i) {
    EXPECT_EQ(followed.slots[i].source, anew.slots[i].source);
    EXPECT_EQ(followed.slots[i].a, anew.slots[i].a);
    EXPECT_EQ(followed.slots[i].value.bits(), anew.slots[i].value.bits());
  }
}

TEST(TraceFollowing, GivesWhatRecordingAnewGives) {
  std::mt19937 random(3);
  Trace trace;
  Program program = randomProgram(random, 12);
  for (int round = 0; round < 3000; ++round) {
    // Mostly the last program, or its beginning, or with another number.
    switch (random() % 4) {
    case 0:
      break;
    case 1:
      program[random() % program.size()].number = static_cast<double>(random() % 4);
      break;
    case 2:
      program[1 + random() % (program.size() - 1)] = randomProgram(random, 2).back();
      break;
    default: {
      program.resize(1 + random() % program.size());
      const Program more = randomProgram(random, 1 + random() % 8);
      program.insert(program.end(), more.begin() + 1, more.end());
      if (program.size() > 40) program.resize(12);
      break;
    }
    }
    if (program.size() < 2) program = randomProgram(random, 12);
    trace.restart();
    Trace anew;
    const auto given = add(trace, program);
    const auto expected = add(anew, program);
    ASSERT_EQ(given, expected) << "round " << round;
    EXPECT_EQ(trace.size(), anew.nodes.size());
    if (trace.repeated()) {
      // It is whole without being settled.
      expectSame(trace, anew);
      EXPECT_EQ(hashOf(trace, given), hashOf(anew, expected));
    }
    trace.settle();
    expectSame(trace, anew);
    ASSERT_EQ(hashOf(trace, given), hashOf(anew, expected)) << "round " << round;
  }
}

TEST(TraceFollowing, TheSameWithOtherNumbersIsTheLastTrace) {
  Trace trace;
  Program program{{Step::Kind::Input},
                  {Step::Kind::WithNumber, 0, 0, 1.0},
                  {Step::Kind::WithNumber, 1, 0, 2.0},
                  {Step::Kind::WithValue, 1, 2}};
  trace.restart();
  add(trace, program);
  EXPECT_FALSE(trace.repeated()) << "there was none before";
  program[1].number = 7.0;
  trace.restart();
  add(trace, program);
  EXPECT_TRUE(trace.repeated());
  EXPECT_EQ(trace.slots[0].value.asDouble(), 7.0);
  // Two numbers that are equal are one slot, and so another trace.
  program[2].number = 7.0;
  trace.restart();
  add(trace, program);
  EXPECT_FALSE(trace.repeated());
  EXPECT_EQ(trace.slots.size(), 1U);
}

TEST(TraceFollowing, ABeginningOfTheLastTraceIsNotTheLastTrace) {
  std::mt19937 random(5);
  Program program = randomProgram(random, 10);
  Trace trace;
  add(trace, program);
  program.pop_back();
  trace.restart();
  add(trace, program);
  EXPECT_FALSE(trace.repeated());
}

}  // namespace
}  // namespace tandem
