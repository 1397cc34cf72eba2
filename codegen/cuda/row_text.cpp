// Loops of Row and Partial kernels, in the order of the trailing class (codegen/cpu/row_kernel.cpp says which): its 32
// lanes are those of a warp, a block of 4096 elements is a warp's work, and lanes combine by shuffles. The warps of a
// row take its blocks in rounds of 32, whose partial results they exchange through shared memory; every warp then does
// levels 2 and 3 for itself, so that all have the result.
#include <algorithm>

#include "codegen/cuda/kernel_text.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/launch_shape.h"

namespace tandem::codegen::cuda {

namespace {

/// Of bodies of so few statements several elements are on their way at once: they wait for memory.
constexpr std::size_t kCheapBody = 60;

class RowLoops {
 public:
  explicit RowLoops(KernelText& kernel) : k_(kernel), b_(kernel.b), schedule_(kernel.schedule) {}

  void write() {
    const KernelSignature& s = k_.signature;
    if (s.kind == KernelKind::Partial) return writePartial();
    if (s.outerRank == 0) return writeElements();
    bool reduces = false;
    for (int stage = 0; stage < schedule_.stages(); ++stage) reduces = reduces || !schedule_.reductions(stage).empty();
    tandem::cuda::isByRows(s) ? writeRows(reduces) : writeChunks();
  }

 private:
  void writeElements() {
    TANDEM_CHECK(schedule_.stages() == 1 && schedule_.reductions(0).empty(),
                 "a reduction in a kernel without rows: ", k_.signature.text());
    k_.enterRow({}, "");
    k_.computeUniform(0);
    const std::vector<std::size_t> outputs = schedule_.outputs(0);
    const int width = k_.widthFor(outputs);
    b_.statement("const long long threads = (long long)gridDim.x * blockDim.x");
    b_.open(strcat("for (long long i = begin + ((long long)blockIdx.x * blockDim.x + threadIdx.x) * ", width,
                   "; i < end; i += threads * ", width, ")"));
    b_.statement(strcat("const long long count = least(end - i, ", width, ")"));
    k_.computeAndStore(outputs, "i", "count", width);
    b_.close();
  }

  /// Rows without reductions: every thread takes a chunk of one.
  void writeChunks() {
    const std::vector<std::size_t> outputs = schedule_.outputs(schedule_.storeStage());
    const int width = widthInRow(outputs);
    b_.statement(strcat("const long long chunks = (n + ", width - 1, ") / ", width));
    b_.statement("const long long threads = (long long)gridDim.x * blockDim.x");
    b_.open(
        "for (long long unit = begin * chunks + (long long)blockIdx.x * blockDim.x + threadIdx.x; unit < end * chunks; "
        "unit += threads)");
    b_.statement("const long long row = divide(unit, chunks)");
    b_.statement(strcat("const long long i = (unit - row * chunks) * ", width));
    b_.statement(strcat("const long long count = least(n - i, ", width, ")"));
    k_.enterRow(k_.splitOuter("row"), "");
    b_.statement("const long long base = row * n");
    k_.setIndexBase("base");
    for (int stage = 0; stage < schedule_.stages(); ++stage) k_.computeUniform(stage);
    k_.computeAndStore(outputs, "i", "count", width);
    b_.close();
  }

  /// Rows with reductions, or with one element of an output each.
  void writeRows(bool reduces) {
    declareRows();
    b_.statement("const long long blocks = (n + 4095) / 4096");
    b_.statement("const bool several = blocks > 1 || warps > 1");
    b_.open("for (long long row = begin + (long long)blockIdx.x * blockDim.y + threadIdx.y; row < end; row += (long "
            "long)gridDim.x * blockDim.y)");
    k_.enterRow(k_.splitOuter("row"), "");
    b_.statement("const long long base = row * n");
    k_.setIndexBase("base");
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      k_.computeUniform(stage);
      if (!schedule_.reductions(stage).empty()) {
        writeReductions(stage);
      } else if (stage == schedule_.storeStage()) {
        writePass(stage);
      }
    }
    if (storesRowResults()) {
      // An input of one element a row may be overwritten: all threads have read it by then.
      if (!reduces) barrier();
      b_.open("if (threadIdx.x == 0)");
      for (std::size_t o = 0; o < k_.signature.outputs.size(); ++o) {
        if (k_.signature.outputs[o].operand.access == Access::Zero) k_.storeOutput(o, "0");
      }
      b_.close();
    }
    b_.close();
  }

  void writePartial() {
    declareRows();
    b_.statement("const long long blocks = (n + 4095) / 4096");
    b_.open("for (long long unit = begin + (long long)blockIdx.x * blockDim.y + threadIdx.y; unit < end; unit += (long "
            "long)gridDim.x * blockDim.y)");
    b_.statement("const long long row = divide(unit, blocks)");
    b_.statement("const long long block = unit - row * blocks");
    k_.enterRow(k_.splitOuter("row"), "");
    b_.statement("const long long base = row * n");
    k_.setIndexBase("base");
    k_.computeUniform(0);
    std::vector<Running> running = reductionsOf(k_, 0);
    startLanes(running);
    writeBlock(0, running);
    for (const Running& r : running) k_.setValue(r.id, r.combiner.leave(b_, {r.lanes, r.combiner.type()}));
    b_.open("if (lane == 0)");
    for (std::size_t o = 0; o < k_.signature.outputs.size(); ++o) {
      TANDEM_CHECK(schedule_.isReduce(k_.signature.outputs[o].value), "output ", o,
                   " of a Partial kernel is no reduction");
      k_.storeOutput(o, "block");
    }
    b_.close();
    b_.close();
  }

  void declareRows() {
    b_.statement("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32");
  }
  void barrier() { b_.line("if (warps > 1) __syncthreads(); else __syncwarp();"); }

  [[nodiscard]] bool storesRowResults() const {
    return std::ranges::any_of(k_.signature.outputs,
                               [](const KernelOutput& o) { return o.operand.access == Access::Zero; });
  }
  /// The width is wanted before the row is entered, on whose values it depends: these are written to be forgotten.
  int widthInRow(const std::vector<std::size_t>& outputs) {
    const TextBuilder before = b_;
    k_.enterRow(k_.splitOuter("row"), "");
    for (int stage = 0; stage < schedule_.stages(); ++stage) k_.computeUniform(stage);
    const int width = k_.widthFor(outputs);
    b_ = before;
    return width;
  }

  /// A pass over the row that only stores.
  void writePass(int stage) {
    const std::vector<std::size_t> outputs = schedule_.outputs(stage);
    const int width = k_.widthFor(outputs);
    b_.open(strcat("for (long long i = (long long)threadIdx.x * ", width, "; i < n; i += (long long)blockDim.x * ",
                   width, ")"));
    b_.statement(strcat("const long long count = least(n - i, ", width, ")"));
    k_.computeAndStore(outputs, "i", "count", width);
    b_.close();
  }

  /// What is kept for reductions of rows of several blocks: of level 3, and in shared memory the results of a round's.
  struct Levels {
    std::vector<std::string> third, parts;
  };
  Levels startLevels(std::vector<Running>& running) {
    Levels kept;
    for (Running& r : running) {
      const DType t = r.combiner.type();
      r.second = b_.variable(t, identity(b_, r.combiner).code).code;
      kept.third.push_back(b_.variable(t, identity(b_, r.combiner).code).code);
      r.total = b_.variable(t, ofNothing(b_, r.combiner).code).code;
      kept.parts.push_back(b_.fresh("parts"));
      b_.statement(strcat("__shared__ ", cudaType(t), " ", kept.parts.back(), "[", tandem::cuda::kMostRows, "][32]"));
    }
    return kept;
  }
  void startLanes(std::vector<Running>& running) {
    for (Running& r : running) r.lanes = b_.variable(r.combiner.type(), identity(b_, r.combiner).code).code;
  }

  void writeReductions(int stage) {
    std::vector<Running> running = reductionsOf(k_, stage);
    const auto [third, parts] = startLevels(running);
    b_.open("for (long long round = 0; round < blocks; round += 32)");
    b_.open("for (long long block = round + warp; block < least(blocks, round + 32); block += warps)");
    startLanes(running);
    writeBlock(stage, running);
    for (std::size_t k = 0; k < running.size(); ++k) {
      const Running& r = running[k];
      b_.line(strcat("if (!several) ", r.total, " = ", r.lanes, ";"));
      b_.line(strcat("else if (lane == 0) ", parts[k], "[threadIdx.y][block - round] = ", r.lanes, ";"));
    }
    b_.close();
    b_.open("if (several)");
    barrier();
    for (std::size_t k = 0; k < running.size(); ++k) {
      const Running& r = running[k];
      const Text next = b_.let(r.combiner.type(), strcat("lane < blocks - round ? ", parts[k],
                                                         "[threadIdx.y][lane] : ", identity(b_, r.combiner).code));
      b_.assign(r.second, r.combiner.combine(b_, {r.second, r.combiner.type()}, next));
    }
    barrier();
    b_.open("if ((round + 32) % 4096 == 0 || round + 32 >= blocks)");
    for (std::size_t k = 0; k < running.size(); ++k) {
      const Running& r = running[k];
      halve(r.second, r);
      b_.open("if (lane == round / 4096 % 32)");
      b_.assign(third[k], r.combiner.combine(b_, {third[k], r.combiner.type()}, {r.second, r.combiner.type()}));
      b_.close();
      b_.assign(r.second, identity(b_, r.combiner));
    }
    b_.close();
    b_.close();
    b_.close();
    b_.open("if (several && blocks > 0)");
    for (std::size_t k = 0; k < running.size(); ++k) {
      halve(third[k], running[k]);
      b_.assign(running[k].total, {third[k], running[k].combiner.type()});
    }
    b_.close();
    finish(k_, running);
  }

  /// Level 1 over `block` of the row: its partial result, in every lane. Also stores what the stage stores.
  void writeBlock(int stage, const std::vector<Running>& running) {
    const std::vector<std::size_t> outputs = schedule_.outputs(stage);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(schedule_.targets(stage));
    b_.statement("const long long to = least(n, (block + 1) * 4096)");
    b_.line(strcat("#pragma unroll ", k_.cost(ids) <= kCheapBody ? 4 : 1));
    b_.open("for (long long i = block * 4096 + lane; i < to; i += 32)");
    k_.computeAt("i", ids);
    for (const Running& r : running) {
      const Text lanes{r.lanes, r.combiner.type()};
      b_.assign(r.lanes, r.combiner.combine(b_, lanes, r.combiner.enter(b_, k_.value(r.operand))));
    }
    for (std::size_t o : outputs) k_.storeOutput(o, "i");
    b_.close();
    for (const Running& r : running) halve(r.lanes, r);
  }

  /// One value of the 32 lanes, in all of them: lane j with lane j + h, h = 16 ... 1.
  void halve(const std::string& variable, const Running& r) {
    b_.line("#pragma unroll");
    b_.open("for (int h = 16; h > 0; h /= 2)");
    const Text other = b_.let(r.combiner.type(), strcat("shuffleDown(", variable, ", h)"));
    b_.assign(variable, r.combiner.combine(b_, {variable, r.combiner.type()}, other));
    b_.close();
    b_.statement(strcat(variable, " = fromFirst(", variable, ")"));
  }

  KernelText& k_;
  TextBuilder& b_;
  const Schedule& schedule_;
};

}  // namespace

void writeRowLoops(KernelText& kernel) { RowLoops(kernel).write(); }

}  // namespace tandem::codegen::cuda
