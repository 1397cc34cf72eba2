// Random traces: a plan must give, bit for bit, what one node at a time gives, whatever is fused, reordered, done in
// place or put where something else lay.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "plan_test_util.h"

namespace tandem {
namespace {

using namespace test;

struct Sizes {
  std::int64_t rows = 4;
  std::int64_t columns = 6;
  std::int64_t planes = 2;
};

class Maker {
 public:
  // Every 20th program has rows long enough to be cut into blocks, every 4th values of a half type.
  explicit Maker(unsigned seed, Sizes sizes = {}) : random_(seed), data_(seed), sizes_(sizes), halves_(seed % 4 == 1) {
    if (seed % 20 == 7 && sizes_.columns == Sizes().columns) sizes_.columns *= 2800;
    int inputs = 2 + pick(3);
    for (int i = 0; i < inputs; ++i) {
      const std::vector<Dims> all = shapes();
      const Dims& shape = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
      bool half = halves_ && pick(2) == 0;
      ValueRef v = graph.input(shape, half ? DType::BFloat16 : DType::Float32);
      std::vector<float> values(static_cast<std::size_t>(numelOf(shape)));
      for (float& x : values) x = std::uniform_real_distribution<float>(-2, 2)(data_);
      Bytes bytes = bytesOf(values);
      if (half) {
        // The upper half of a float32 is a bfloat16.
        for (std::size_t e = 0; e < values.size(); ++e) std::memcpy(&bytes[2 * e], &bytes[4 * e + 2], 2);
        bytes.resize(2 * values.size());
      }
      inputsData.push_back(bytes);
      values_.push_back(v);
    }
    int nodes = 4 + pick(seed % 10 == 3 ? 90 : 24);
    for (int i = 0; i < nodes; ++i) addNode();
    chooseOutputs(inputs);
  }

  Graph graph;
  std::vector<Bytes> inputsData;
  std::vector<TraceOutput> outputs;

 private:
  [[nodiscard]] std::vector<Dims> shapes() const {
    const auto [rows, columns, planes] = sizes_;
    return {{rows, columns},         {rows, columns},      {columns}, {rows, 1},        {columns, rows},
            {planes, rows, columns}, {planes, 1, columns}, {},        {rows * columns}, {1, columns}};
  }
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  ValueRef any() {
    // Later values more often, so that chains grow.
    auto n = static_cast<int>(values_.size());
    return values_[static_cast<std::size_t>(std::max(pick(n), pick(n)))];
  }
  DType dtypeOf(ValueRef v) { return graph.trace.meta(v).dtype; }
  const Dims& shapeOf(ValueRef v) { return graph.trace.meta(v).shape; }

  void addNode() {
    switch (pick(10)) {
    case 0:
    case 1:
    case 2:
      return addBinary();
    case 3:
    case 4:
      return addUnary();
    case 5:
    case 6:
      return addReduction();
    case 7:
      return addWindow();
    case 8:
      return addWrite();
    default:
      return addOther();
    }
  }
  void addUnary() {
    static const OpCode ops[] = {OpCode::neg, OpCode::abs, OpCode::tanh, OpCode::square, OpCode::sigmoid, OpCode::relu};
    values_.push_back(graph.op(ops[pick(6)], {any()}));
  }
  void addBinary() {
    static const OpCode ops[] = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::maximum};
    if (pick(4) == 0) {
      values_.push_back(graph.withScalar(ops[pick(4)], any(), 0.25 * pick(9)));
      return;
    }
    for (int tries = 0; tries < 8; ++tries) {
      ValueRef a = any();
      ValueRef b = any();
      if (!fits(shapeOf(a), shapeOf(b))) continue;
      values_.push_back(graph.op(ops[pick(4)], {a, b}));
      return;
    }
  }
  static bool fits(const Dims& a, const Dims& b) {
    for (std::size_t k = 1; k <= std::min(a.size(), b.size()); ++k)
      if (a[a.size() - k] != b[b.size() - k] && a[a.size() - k] != 1 && b[b.size() - k] != 1) return false;
    return true;
  }
  void addReduction() {
    static const OpCode ops[] = {OpCode::sum, OpCode::amax, OpCode::sum};
    ValueRef v = any();
    std::vector<std::int64_t> dims;
    for (std::size_t d = 0; d < shapeOf(v).size(); ++d)
      if (pick(2) == 0) dims.push_back(static_cast<std::int64_t>(d));
    if (!dims.empty()) values_.push_back(graph.reduce(ops[pick(3)], v, dims, pick(2) == 0));
  }
  // A permutation, a slice, a broadcast or a reshape.
  Window someWindow(const Dims& shape, bool write) {
    Window w{shape, contiguousStrides(shape), 0};
    int kind = pick(4);
    if (kind == 0 && shape.size() >= 2) {
      std::swap(w.shape[0], w.shape[shape.size() - 1]);
      std::swap(w.strides[0], w.strides[shape.size() - 1]);
    } else if (kind == 1 && !shape.empty()) {
      auto d = static_cast<std::size_t>(pick(static_cast<int>(shape.size())));
      if (shape[d] >= 2) {
        std::int64_t step = 1 + pick(2);
        std::int64_t start = pick(2);
        w.offset = start * w.strides[d];
        w.shape[d] = (shape[d] - start + step - 1) / step;
        w.strides[d] *= step;
      }
    } else if (kind == 2 && !write) {
      w.shape.insert(0, 3);
      w.strides.insert(0, 0);
    } else if (kind == 3) {
      w.shape = {numelOf(shape)};
      w.strides = {1};
    }
    return w;
  }
  void addWindow() {
    ValueRef v = any();
    if (shapeOf(v).size() > 4) return;
    values_.push_back(graph.trace.addWindow(v, someWindow(shapeOf(v), false)));
  }
  void addWrite() {
    ValueRef base = any();
    Window w = someWindow(shapeOf(base), true);
    for (ValueRef v : values_)
      if (shapeOf(v) == w.shape && dtypeOf(v) == dtypeOf(base) && pick(2) == 0) {
        values_.push_back(graph.trace.addWrite(base, v, w));
        return;
      }
    values_.push_back(
        graph.trace.addWrite(base, graph.withScalar(OpCode::mul, graph.trace.addWindow(base, w), 0.5), w));
  }
  void addOther() {
    if (pick(2) == 0) {
      std::int32_t seed = graph.scalar(std::int64_t{1234}, ScalarSlot::Source::RngSeed);
      std::int32_t offset =
          graph.scalar(std::int64_t{5}, ScalarSlot::Source::RngOffset, static_cast<int>(graph.trace.numRandom++));
      values_.push_back({graph.node(OpCode::uniform_plain, {TraceOperand::ofSlot(seed), TraceOperand::ofSlot(offset)},
                                    {2, sizes_.rows, sizes_.columns, static_cast<std::int64_t>(DType::Float32)}),
                         0});
      return;
    }
    ValueRef v = any();
    values_.push_back(graph.op(OpCode::to,
                               {
                                   graph.op(OpCode::gt, {v, v}),
                               },
                               {static_cast<std::int64_t>(DType::Float32)}));
  }
  void chooseOutputs(int inputs) {
    int n = 1 + pick(4);
    for (int i = 0; i < n; ++i) outputs.push_back({any(), -1});
    for (int i = 0; i < inputs; ++i) {
      if (pick(2) == 0) continue;
      std::vector<ValueRef> candidates;
      for (ValueRef v : values_)
        if (shapeOf(v) == shapeOf({static_cast<std::uint32_t>(i), 0}) &&
            dtypeOf(v) == dtypeOf({static_cast<std::uint32_t>(i), 0}))
          candidates.push_back(v);
      outputs.push_back({candidates[static_cast<std::size_t>(pick(static_cast<int>(candidates.size())))], i});
    }
  }

  std::mt19937 random_;  // choices, which are the same for all sizes
  std::mt19937 data_;
  Sizes sizes_;
  bool halves_;
  std::vector<ValueRef> values_;
};

// TANDEM_FUZZ: how many seeds; TANDEM_FUZZ_FIRST: from which on.
unsigned numberIn(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

TEST(PlanFuzz, PlansGiveTheBitsOfSingleNodes) {
  const unsigned from = numberIn("TANDEM_FUZZ_FIRST", 0);
  for (unsigned seed = from; seed < from + numberIn("TANDEM_FUZZ", 60); ++seed) {
    Maker m(seed);
    auto plan = graphCompiler().compile(m.graph.trace, m.outputs);
    Ran ran = run(*plan, m.graph.trace, m.outputs, m.inputsData);
    std::vector<Bytes> expected = evaluate(m.graph.trace, m.outputs, m.inputsData);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(ran.outputs[i], expected[i]) << "seed " << seed << ", output " << i << "\n"
                                             << m.graph.trace.text() << plan->explanation;
    if (seed % 3 != 0) continue;
    setenv("TANDEM_DISABLE", "canonicalize,cse,fuse,make_in_place,plan_memory", 1);
    plan = graphCompiler().compile(m.graph.trace, m.outputs);
    unsetenv("TANDEM_DISABLE");
    ran = run(*plan, m.graph.trace, m.outputs, m.inputsData);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(ran.outputs[i], expected[i]) << "seed " << seed << " without passes, output " << i;
  }
}

// What the passes decided for some sizes, computed anew for others.
TEST(PlanFuzz, PlansForOtherSizesGiveTheBitsOfSingleNodes) {
  const Sizes others[] = {{5, 7, 3}, {64, 33, 3}, {3, 8, 2}, {130, 257, 5}, {6, 4, 2}, {2, 9, 7}};
  unsigned made = 0;
  const unsigned from = numberIn("TANDEM_FUZZ_FIRST", 0);
  const unsigned seeds = numberIn("TANDEM_FUZZ", 60);
  for (unsigned seed = from; seed < from + seeds; ++seed) {
    Maker m(seed);
    for (int time = 0; time < 2; ++time) (void)graphCompiler().compile(m.graph.trace, m.outputs);
    for (const Sizes& sizes : others) {
      Maker other(seed, sizes);
      auto plan = graphCompiler().planForSizes(other.graph.trace, other.outputs);
      if (plan == nullptr) continue;
      ++made;
      Ran ran = run(*plan, other.graph.trace, other.outputs, other.inputsData);
      std::vector<Bytes> expected = evaluate(other.graph.trace, other.outputs, other.inputsData);
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(ran.outputs[i], expected[i]) << "seed " << seed << ", " << sizes.rows << " rows, output " << i << "\n"
                                               << other.graph.trace.text() << plan->explanation;
    }
  }
  EXPECT_GT(made, seeds);
}

}  // namespace
}  // namespace tandem
