// Loops of Column kernels: reductions over a dim that is not the innermost, in the order of the leading class (8 lanes,
// blocks of 1024 rows) or of the trailing one (32 lanes, blocks of 4096): codegen/cpu/column_kernel.cpp says which. A
// thread block takes 32 columns; lane y of the order is its threads of that y, which combine through shared memory.
#include <algorithm>

#include "codegen/cuda/kernel_text.h"
#include "runtime/base/error.h"

namespace tandem::codegen::cuda {

namespace {

class ColumnLoops {
 public:
  explicit ColumnLoops(KernelText& kernel)
      : k_(kernel), b_(kernel.b), schedule_(kernel.schedule),
        lanes_(kernel.signature.trailing ? kTrailingLanes : kLeadingLanes),
        block_(kernel.signature.trailing ? kTrailingBlock : kLeadingBlock) {}

  void write() {
    b_.statement("const long long rows = " + KernelText::argument(k_.layout.reducedSize()));
    b_.statement(strcat("const long long blocks = (rows + ", block_ - 1, ") / ", block_));
    b_.statement("const int lane = threadIdx.y");
    b_.statement(strcat("__shared__ double lines[", lanes_, "][32]"));
    b_.open("for (long long tile = begin + (long long)blockIdx.x * 32; tile < end; tile += (long long)gridDim.x * 32)");
    b_.statement("const bool here = tile + threadIdx.x < end");
    b_.statement("const long long column = here ? tile + threadIdx.x : tile");
    b_.statement("const long long row = divide(column, n), i = column - row * n");
    outer_ = k_.splitOuter("row");
    for (int stage = 0; stage < schedule_.stages(); ++stage) writeReductions(stage);
    writeOutputs();
    b_.close();
  }

 private:
  /// Rows that a thread has on their way at once: bodies that do little wait for memory alone.
  int unrolled(int stage, const std::vector<std::size_t>& ids) {
    const TextBuilder before = b_;
    enterRow(stage);
    const std::size_t cost = k_.cost(ids);
    b_ = before;
    if (cost > kCheapest) return 8;
    return k_.readsWide(ids) ? 16 : 32;
  }
  void enterRow(int stage) {
    k_.enterRow(outer_, "r");
    b_.statement("const long long base = (row * rows + r) * n");
    k_.setIndexBase("base");
    for (int s = 0; s <= stage; ++s) k_.computeUniform(s);
  }

  void writeReductions(int stage) {
    std::vector<Running> running = reductionsOf(k_, stage);
    std::vector<std::size_t> targets;
    for (Running& r : running) {
      r.second = b_.variable(r.combiner.type(), identity(b_, r.combiner).code).code;
      r.total = b_.variable(r.combiner.type(), ofNothing(b_, r.combiner).code).code;
      targets.push_back(r.operand);
    }
    if (running.empty()) return;
    const std::vector<std::size_t> ids = schedule_.varyingBehind(targets);
    b_.open("for (long long block = 0; block < blocks; ++block)");
    for (Running& r : running) r.lanes = b_.variable(r.combiner.type(), identity(b_, r.combiner).code).code;
    b_.statement(strcat("const long long to = here ? least(rows, (block + 1) * ", block_, ") : 0"));
    b_.line(strcat("#pragma unroll ", unrolled(stage, ids)));
    b_.open(strcat("for (long long r = block * ", block_, " + lane; r < to; r += ", lanes_, ")"));
    enterRow(stage);
    k_.computeAt("i", ids);
    for (const Running& r : running)
      b_.assign(r.lanes,
                r.combiner.combine(b_, {r.lanes, r.combiner.type()}, r.combiner.enter(b_, k_.value(r.operand))));
    b_.close();
    for (const Running& r : running) {
      halve(r.total, r.lanes, r);
      b_.open(strcat("if (blocks > 1 && lane == block % ", lanes_, ")"));
      b_.assign(r.second, r.combiner.combine(b_, {r.second, r.combiner.type()}, {r.total, r.combiner.type()}));
      b_.close();
    }
    b_.close();
    b_.open("if (blocks > 1)");
    for (const Running& r : running) halve(r.total, r.second, r);
    b_.close();
    finish(k_, running);
  }

  /// One value of the lanes' `from`, by halving, into `to` of every lane.
  void halve(const std::string& to, const std::string& from, const Running& r) {
    halveLanes(b_, r.combiner, lanes_, "lines", 32, from, to);
  }

  void writeOutputs() {
    std::vector<std::size_t> targets;
    for (const KernelOutput& output : k_.signature.outputs) targets.push_back(output.value);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(targets);
    b_.open("if (here && lane == 0)");
    if (readsInputs(targets)) {
      // Those do not move with the rows: a reduction over a row whose results feed elementwise work was turned.
      k_.enterRow(outer_, "0");
      for (int s = 0; s < schedule_.stages(); ++s) k_.computeUniform(s);
    }
    k_.enterOutputs(outer_);
    k_.setIndexBase("");
    k_.computeAt("i", ids);
    for (std::size_t o = 0; o < k_.signature.outputs.size(); ++o) k_.storeOutput(o, "i");
    b_.close();
  }

  /// Do steps past the reductions read inputs?
  [[nodiscard]] bool readsInputs(const std::vector<std::size_t>& targets) const {
    std::vector<bool> wanted(schedule_.numValues(), false);
    for (std::size_t id : targets) wanted[id] = true;
    for (std::size_t id = wanted.size(); id-- > schedule_.firstStep();) {
      if (!wanted[id] || schedule_.isReduce(id)) continue;
      for (std::uint16_t operand : k_.signature.steps[id - schedule_.firstStep()].operands) wanted[operand] = true;
    }
    wanted.resize(k_.signature.inputs.size());
    return std::find(wanted.begin(), wanted.end(), true) != wanted.end();
  }

  KernelText& k_;
  TextBuilder& b_;
  const Schedule& schedule_;
  const std::int64_t lanes_;
  const std::int64_t block_;
  KernelText::Names outer_;
};

}  // namespace

void writeColumnLoops(KernelText& kernel) { ColumnLoops(kernel).write(); }

}  // namespace tandem::codegen::cuda
