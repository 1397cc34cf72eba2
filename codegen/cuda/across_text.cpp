// Loops of Short kernels: rows whose elements lie across, dense over the last outer dim instead of along themselves
// (runtime/device/cuda/across.h). A thread block takes 32 rows, which its warps follow; the 32 lanes of a row in the
// order of the trailing class (row_text.cpp) are eight threads, lane and every eighth one behind it. What is dense
// along the rows is moved by threads that follow it, and changes hands in a tile of shared memory. Without reductions
// a thread block takes 32 elements of its rows, so that there is work for all.
#include <algorithm>
#include <ranges>

#include "codegen/cuda/kernel_text.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/launch_shape.h"

namespace tandem::codegen::cuda {

namespace {

/// Bodies of more statements than this are not written once for each lane of a thread.
constexpr std::size_t kDearBody = 150;
constexpr int kThreads = tandem::cuda::kShortThreads;
constexpr int kEach = static_cast<int>(kTrailingLanes) / kThreads;  // lanes of a thread
constexpr std::string_view kEachLane = "for (int e = 0; e < 4; ++e)";
static_assert(kEach == 4 && kThreads == 8);

class AcrossLoops {
 public:
  explicit AcrossLoops(KernelText& kernel)
      : k_(kernel), b_(kernel.b), schedule_(kernel.schedule), inputs_(kernel.signature.inputs.size()),
        along_(kernel.layout.operands) {}

  void write() {
    const bool reduces = tandem::cuda::reduces(k_.signature);
    b_.statement("const int lane = threadIdx.y");
    if (reduces ||
        std::ranges::any_of(std::views::iota(std::size_t{0}, along_.size()), [&](auto k) { return isMoved(k); }))
      b_.statement("__shared__ double tile[32][33]");
    if (reduces) {
      b_.statement("const long long blocks = (n + 4095) / 4096");
      b_.open("for (long long top = begin + (long long)blockIdx.x * 32; top < end; top += (long long)gridDim.x * 32)");
    } else {
      b_.statement("const long long parts = (n + 31) / 32, units = (end - begin + 31) / 32 * parts");
      b_.open("for (long long unit = blockIdx.x; unit < units; unit += gridDim.x)");
      b_.statement("const long long rows = divide(unit, parts), left = (unit - rows * parts) * 32");
      b_.statement("const long long top = begin + rows * 32, right = least(n, left + 32)");
    }
    b_.statement("const bool here = top + threadIdx.x < end");
    b_.statement("const long long row = here ? top + threadIdx.x : top");
    k_.enterRow(k_.splitOuter("row"), "");
    b_.statement("const long long base = row * n");
    k_.setIndexBase("base");
    enterAlong();
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      k_.computeUniform(stage);
      const std::vector<std::size_t> outputs = schedule_.outputs(stage);
      if (!schedule_.reductions(stage).empty())
        writeReductions(stage, outputs);
      else if (!outputs.empty())
        reduces ? walk("0", "n", outputs, {}) : walk("left", "right", outputs, {});
    }
    // An input of one element a row may be overwritten: all threads read it before they reduced anything.
    for (std::size_t o = 0; o < k_.signature.outputs.size(); ++o) {
      if (k_.signature.outputs[o].operand.access != Access::Zero) continue;
      b_.open("if (here && lane == 0)");
      k_.storeOutput(o, "0");
      b_.close();
    }
    b_.close();
  }

 private:
  void eachLane() {
    b_.line("#pragma unroll");
    b_.open(std::string(kEachLane));
  }
  std::string array(std::string_view type, const char* hint) {
    std::string name = b_.fresh(hint);
    b_.statement(strcat(type, " ", name, "[", kEach, "]"));
    return name;
  }

  /// Is operand k dense along rows?
  [[nodiscard]] bool isMoved(std::size_t k) const {
    return k_.isUnit(k) && (k >= inputs_ || schedule_.value(k).needed);
  }
  /// Where the rows begin of which a thread moves elements.
  void enterAlong() {
    for (std::size_t k = 0; k < along_.size(); ++k) {
      if (!isMoved(k)) continue;
      along_[k] = array(strcat(k < inputs_ ? "const " : "", k_.memoryType(k), "*"), "rows");
      eachLane();
      b_.statement("const long long other = least(top + e * 8 + lane, end - 1)");
      b_.statement(strcat(along_[k], "[e] = ", k_.rowOf(k, k_.splitOuter("other"))));
      b_.close();
    }
  }

  void writeReductions(int stage, const std::vector<std::size_t>& outputs) {
    std::vector<Running> running = reductionsOf(k_, stage);
    for (Running& r : running) {
      r.second = lanes(r);
      r.total = b_.variable(r.combiner.type(), ofNothing(b_, r.combiner).code).code;
    }
    b_.open("for (long long block = 0; block < blocks; ++block)");
    for (Running& r : running) r.lanes = lanes(r);
    b_.statement("const long long to = least(n, (block + 1) * 4096)");
    walk("block * 4096", "to", outputs, running);
    for (const Running& r : running) {
      halve(r.total, r.lanes, r);
      b_.open("if (blocks > 1)");
      eachLane();
      b_.open("if (lane + e * 8 == block % 32)");
      combine(r, r.second + "[e]", r.total);
      b_.close();
      b_.close();
      b_.close();
    }
    b_.close();
    b_.open("if (blocks > 1)");
    for (const Running& r : running) halve(r.total, r.second, r);
    b_.close();
    finish(k_, running);
  }

  std::string lanes(const Running& r) {
    const std::string name = array(cudaType(r.combiner.type()), "lanes");
    eachLane();
    b_.assign(name + "[e]", identity(b_, r.combiner));
    b_.close();
    return name;
  }
  void combine(const Running& r, const std::string& into, const std::string& with) {
    const DType t = r.combiner.type();
    b_.assign(into, r.combiner.combine(b_, {into, t}, {with, t}));
  }

  /// One value of the lanes' `from`, lane j with lane j + h, h = 16 ... 1, into `to` of every thread: the first two
  /// halvings are within a thread.
  void halve(const std::string& to, const std::string& from, const Running& r) {
    combine(r, from + "[0]", from + "[2]");
    combine(r, from + "[1]", from + "[3]");
    combine(r, from + "[0]", from + "[1]");
    halveLanes(b_, r.combiner, kThreads, "tile", 33, from + "[0]", to);
  }

  /// Over elements [from, to) of the rows, of which `from` is a multiple of the lanes: reduces and stores.
  void walk(const std::string& from, const std::string& to, const std::vector<std::size_t>& outputs,
            const std::vector<Running>& running) {
    std::vector<std::size_t> targets;
    for (const Running& r : running) targets.push_back(r.operand);
    for (std::size_t o : outputs) targets.push_back(k_.signature.outputs[o].value);
    std::vector<std::size_t> ids = schedule_.varyingBehind(targets);
    std::vector<std::size_t> moved;
    for (std::size_t id : ids)
      if (id < inputs_ && !along_[id].empty()) moved.push_back(id);
    const bool unrolled = k_.cost(ids) <= kDearBody;

    b_.open(strcat("for (long long first = ", from, "; first < ", to, "; first += 32)"));
    if (std::ranges::any_of(along_, [](const std::string& rows) { return !rows.empty(); }))
      b_.statement("const long long j = first + threadIdx.x");
    std::vector<std::string> read, written;
    for (std::size_t id : moved) read.push_back(takeAlong(id, to));
    for (std::size_t o : outputs)
      written.push_back(along_[inputs_ + o].empty() ? "" : array(k_.memoryType(inputs_ + o), "y"));
    b_.line(unrolled ? "#pragma unroll" : "#pragma unroll 1");
    b_.open(std::string(kEachLane));
    b_.statement("const long long i = first + e * 8 + lane");
    b_.open(strcat("if (here && i < ", to, ")"));
    for (std::size_t k = 0; k < moved.size(); ++k)
      k_.setValue(moved[k], k_.fromMemory(read[k] + "[e]", k_.operand(moved[k]).dtype));
    std::erase_if(ids, [&](std::size_t id) { return std::ranges::find(moved, id) != moved.end(); });
    k_.computeAt("i", ids);
    for (const Running& r : running) {
      const Text lane{r.lanes + "[e]", r.combiner.type()};
      b_.assign(lane.code, r.combiner.combine(b_, lane, r.combiner.enter(b_, k_.value(r.operand))));
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (written[k].empty())
        k_.storeOutput(outputs[k], "i");
      else
        b_.statement(strcat(written[k], "[e] = ", k_.toMemory(outputs[k])));
    }
    b_.close();
    b_.close();
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (!written[k].empty()) giveAlong(inputs_ + outputs[k], written[k], to);
    b_.close();
  }

  /// The tile as one of operand k's elements: rows begin one element apart from the same bank.
  void openTile(std::size_t k) {
    const char* type = k_.memoryType(k);
    b_.open("");
    b_.statement(strcat(type, "(*const at)[33] = (", type, "(*)[33])tile"));
  }

  /// A thread's elements of operand k, which other threads read.
  std::string takeAlong(std::size_t k, const std::string& to) {
    const std::string own = array(k_.memoryType(k), "x");
    openTile(k);
    eachLane();
    b_.line(
        strcat("if (top + e * 8 + lane < end && j < ", to, ") at[e * 8 + lane][threadIdx.x] = ", along_[k], "[e][j];"));
    b_.close();
    b_.statement("__syncthreads()");
    eachLane();
    b_.statement(own + "[e] = at[threadIdx.x][e * 8 + lane]");
    b_.close();
    b_.statement("__syncthreads()");
    b_.close();
    return own;
  }
  void giveAlong(std::size_t k, const std::string& own, const std::string& to) {
    openTile(k);
    eachLane();
    b_.line(strcat("if (here && first + e * 8 + lane < ", to, ") at[threadIdx.x][e * 8 + lane] = ", own, "[e];"));
    b_.close();
    b_.statement("__syncthreads()");
    eachLane();
    b_.line(
        strcat("if (top + e * 8 + lane < end && j < ", to, ") ", along_[k], "[e][j] = at[e * 8 + lane][threadIdx.x];"));
    b_.close();
    b_.statement("__syncthreads()");
    b_.close();
  }

  KernelText& k_;
  TextBuilder& b_;
  const Schedule& schedule_;
  const std::size_t inputs_;
  std::vector<std::string> along_;  // of operands that are dense along rows: the rows that a thread moves
};

}  // namespace

void writeAcrossLoops(KernelText& kernel) { AcrossLoops(kernel).write(); }

}  // namespace tandem::codegen::cuda
