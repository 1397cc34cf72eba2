// Loops of Partial kernels and of Row kernels that reduce or store one element a row, in the order of the trailing
// class (codegen/cpu/row_kernel.cpp says which): its 32 lanes are those of a warp, a block of 4096 elements is a warp's
// work, and lanes combine by shuffles. The warps of a row take its blocks in rounds of 32, whose partial results they
// exchange through shared memory; every warp then does levels 2 and 3 for itself, so that all have the result.
//
// Of rows that several passes read there are several texts (runtime/device/cuda/kept_rows.h): of those that find room
// in shared memory, which all threads bring there at first, and of others, which each pass reads, and a function of
// its own for short ones, whose elements stay in registers. Elementwise work is done by all threads of a row, and
// what is dear is done once: before the one warp of a block adds up such values they are written where what they are
// made of was.
//
// The greatest of float32 numbers is found by an instruction, for which +0 is greater than -0. For the order of the
// lanes the zero that comes first is: where the result is a zero it is found again, by comparisons.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "codegen/cuda/kernel_text.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/kept_rows.h"
#include "runtime/device/cuda/launch_shape.h"

namespace tandem::codegen::cuda {

namespace {

/// Of bodies of so few statements several elements are on their way at once: they wait for memory.
constexpr std::size_t kCheapBody = 60;
/// Greatest and least values of what takes more statements than this are found by comparisons at once.
constexpr std::size_t kDearAgain = 20;
/// What takes so many statements is kept rather than computed again, where its operands are kept; fewer are enough
/// where several rows become one.
constexpr std::size_t kWorthCarrying = 12;
constexpr std::size_t kWorthMerging = 3;

class RowLoops {
 public:
  explicit RowLoops(KernelText& kernel) : k_(kernel), b_(kernel.b), schedule_(kernel.schedule) {}

  void write() {
    if (k_.signature.kind == KernelKind::Partial) return writePartial();
    bool reduces = false;
    for (int stage = 0; stage < schedule_.stages(); ++stage) reduces = reduces || !schedule_.reductions(stage).empty();
    writeRows(reduces);
  }

 private:
  /// Rows with reductions, or with one element of an output each.
  void writeRows(bool reduces) {
    declareRows();
    b_.statement("const long long blocks = (n + 4095) / 4096");
    b_.statement("const bool several = blocks > 1 || warps > 1");
    kept_ = tandem::cuda::keptInputs(k_.signature, schedule_);
    if (kept_.empty()) return writeEachRow(reduces);
    // Written once to see which values are carried, as these need their areas.
    const TextBuilder before = b_;
    where_ = Where::Shared;
    declareAreas();
    writeEachRow(reduces);
    b_ = before;
    declareAreas();
    std::string condition = "given != 0";
    for (const std::string& moves : carrying_) condition += " && " + moves;
    if (takesRoom_) condition += " && roomy";
    b_.open(strcat("if (", condition, ")"));
    writeEachRow(reduces);
    b_.close();
    if (takesRoom_) {
      carries_ = false;
      b_.open("else if (given != 0)");
      writeEachRow(reduces);
      b_.close();
    }
    where_ = Where::Memory;
    b_.open("else");
    writeEachRow(reduces);
    b_.close();
    where_ = Where::Registers;
    k_.nextFunction(Entry::Brief);
    declareRows();
    writeEachRow(reduces);
  }

  void writeEachRow(bool reduces) {
    b_.open("for (long long row = begin + (long long)blockIdx.x * blockDim.y + threadIdx.y; row < end; row += (long "
            "long)gridDim.x * blockDim.y)");
    k_.enterRow(k_.splitOuter("row"), "");
    b_.statement("const long long base = row * n");
    k_.setIndexBase("base");
    if (where_ == Where::Shared) keepRow();
    if (where_ == Where::Registers) readRow();
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      k_.computeUniform(stage);
      if (where_ == Where::Registers) {
        writeInRegisters(stage);
      } else if (!schedule_.reductions(stage).empty()) {
        if (where_ == Where::Shared && carries_) carryOn(stage);
        writeReductions(stage);
      } else if (stage == schedule_.storeStage()) {
        writePass(stage);
      }
    }
    // What is kept of the row, and an input of one element a row, may be overwritten: all threads have read it by then.
    if (where_ == Where::Shared || (storesRowResults() && !reduces)) barrier();
    if (storesRowResults()) {
      b_.open("if (threadIdx.x == 0)");
      for (std::size_t o = 0; o < k_.signature.outputs.size(); ++o) {
        if (k_.signature.outputs[o].operand.access == Access::Zero) k_.storeOutput(o, "0");
      }
      b_.close();
    }
    b_.close();
  }

  // ---- rows that are kept in shared memory (kept_rows.h)

  /// Of an input: whether rows of it are kept, where, and where what is computed of them has room.
  struct Area {
    std::size_t input;
    std::string moves, row, room;
    std::optional<std::size_t> carried{};  // the value that is there instead of the row, or in its room
  };
  void declareAreas() {
    areas_.clear();
    b_.statement("extern __shared__ __align__(16) unsigned char shared[]");
    b_.statement("const unsigned given = dynamicShared()");
    b_.statement("const unsigned own = given / blockDim.y");
    b_.statement("unsigned char* area = shared + own * threadIdx.y");
    for (const tandem::cuda::KeptInput& kept : kept_) {
      const std::size_t k = kept.input;
      Area area{k, b_.fresh("moves"), b_.fresh("kept"), ""};
      std::string strides;
      for (int d = 0; d < k_.layout.outerRank; ++d)
        strides += strcat(d == 0 ? "" : " | ", KernelText::argument(k_.layout.outerStride(k, d)));
      b_.statement(strcat("const bool ", area.moves, " = given != 0 && (", strides, ") != 0"));
      b_.statement(strcat(k_.memoryType(k), "* const ", area.row, " = (", k_.memoryType(k), "*)area"));
      b_.line(strcat("if (", area.moves, ") area += (n * ", kept.bytes, " + 15) / 16 * 16;"));
      areas_.push_back(std::move(area));
    }
    // Rooms behind the rows: where not all have place, the rows alone are there.
    bool hasRooms = false;
    for (std::size_t a = 0; a < areas_.size(); ++a) {
      if (kept_[a].room == 0) continue;
      hasRooms = true;
      areas_[a].room = b_.fresh("room");
      b_.statement(strcat("unsigned char* const ", areas_[a].room, " = area"));
      b_.line(strcat("if (", areas_[a].moves, ") area += (n * ", kept_[a].room, " + 15) / 16 * 16;"));
    }
    if (hasRooms) b_.statement("const bool roomy = area <= shared + own * (threadIdx.y + 1)");
  }

  /// Brings the row there.
  void keepRow() {
    for (Area& area : areas_) {
      area.carried.reset();
      const std::string row = k_.row(area.input);
      b_.line(strcat("if (", area.moves, ") keep(", area.row, ", ", row, ", (int)n, threadIdx.x, blockDim.x);"));
      const std::string from = b_.fresh("from");
      b_.statement(strcat("const ", k_.memoryType(area.input), "* const ", from, " = ", area.moves, " ? ", area.row,
                          " : ", row));
      k_.readFrom(area.input, from);
    }
    b_.statement("waitForCopies()");
    barrier();
  }

  [[nodiscard]] std::vector<std::size_t> targetsBehind(int stage) const {
    std::vector<std::size_t> targets;
    for (int later = stage + 1; later < schedule_.stages(); ++later) {
      for (std::size_t id : schedule_.targets(later)) targets.push_back(id);
    }
    return targets;
  }
  /// The dearest of these values that the pass of the stage computes, if one is dear.
  std::optional<std::size_t> dearestOf(int stage, const std::vector<std::size_t>& among) {
    std::optional<std::size_t> dearest;
    std::size_t cost = 0;
    for (std::size_t id : k_.behind(schedule_.targets(stage))) {
      if (k_.isRead(id) || !isFloating(schedule_.value(id).dtype)) continue;
      if (std::ranges::find(among, id) == among.end()) continue;
      const std::vector<std::size_t> ids = k_.behind(std::vector<std::size_t>{id});
      const std::size_t own = k_.cost(ids);
      if (own < cost || own < (merges(stage, id, ids) ? kWorthMerging : kWorthCarrying)) continue;
      dearest = id;
      cost = own;
    }
    return dearest;
  }

  /// Do several of what a value is computed of, `ids`, need to be read no more from the stage on where it is carried?
  bool merges(int stage, std::size_t id, const std::vector<std::size_t>& ids) {
    std::vector<std::size_t> targets = targetsBehind(stage);
    for (std::size_t target : schedule_.targets(stage)) targets.push_back(target);
    k_.carryIn(id, "there");
    const std::vector<std::size_t> needed = k_.behind(targets);
    k_.carryIn(id, "");
    const auto isDone = [&](std::size_t from) {
      return k_.isRead(from) && std::ranges::find(needed, from) == needed.end();
    };
    return std::ranges::count_if(ids, isDone) > 1;
  }

  /// Before the pass of a stage: a value that it is computed of, later passes, too, if there is such a one, and that is
  /// dear, is computed by all threads and takes the place of what it is computed from, where nothing else needs that.
  void carryOn(int stage) {
    const std::vector<std::size_t> later = targetsBehind(stage);
    std::optional<std::size_t> dearest = dearestOf(stage, k_.behind(later));
    if (!dearest) dearest = dearestOf(stage, k_.behind(schedule_.targets(stage)));
    if (!dearest) return;
    const DType type = computeType(schedule_.value(*dearest).dtype);
    std::vector<std::size_t> targets = later;
    for (std::size_t id : schedule_.targets(stage)) targets.push_back(id);
    k_.carryIn(*dearest, "there");
    const std::vector<std::size_t> needed = k_.behind(targets);
    k_.carryIn(*dearest, "");
    const auto isNeeded = [&](std::size_t id) { return std::ranges::find(needed, id) != needed.end(); };
    for (Area& area : areas_) {
      const std::size_t bytes = area.room.empty() ? itemSize(k_.operand(area.input).dtype) : 4;
      if (bytes != itemSize(type) || (area.carried && isNeeded(*area.carried))) continue;
      if (area.room.empty() && isNeeded(area.input)) continue;
      const std::string row = b_.fresh("carried");
      b_.statement(strcat(cudaType(type), "* const ", row, " = (", cudaType(type), "*)",
                          area.room.empty() ? area.row : area.room));
      const int width = k_.widthToCarry(*dearest);
      openPass(width);
      k_.computeAndCarry(*dearest, row, "i", "count", width);
      b_.close();
      barrier();
      if (area.carried) k_.carryIn(*area.carried, "");
      k_.carryIn(*dearest, row);
      area.carried = dearest;
      carrying_.insert(area.moves);
      takesRoom_ = takesRoom_ || !area.room.empty();
      return;
    }
  }

  // ---- rows that are kept in registers: eight elements a lane

  static constexpr int kEach = static_cast<int>(tandem::cuda::kBriefRow / kTrailingLanes);
  void openRegisters() {
    b_.line("#pragma unroll");
    b_.open(strcat("for (int u = 0; u < ", kEach, "; ++u)"));
    b_.statement("const int i = lane + 32 * u");
  }
  void openWithin() { b_.open("if (32 * u < rest)"); }
  void readRow() {
    std::vector<std::size_t> ids = schedule_.varyingBehind(targetsBehind(-1));
    std::erase_if(ids, [&](std::size_t id) { return !k_.isRead(id); });
    row_ = k_.declareArrays(ids, kEach);
    b_.statement("const int rest = (int)n - lane");
    openRegisters();
    for (std::size_t id : ids) b_.statement(row_[id] + "[u] = 0");
    openWithin();
    k_.readInto(row_, ids, "u", "i");
    b_.close();
    b_.close();
  }
  void writeInRegisters(int stage) {
    std::vector<Running> running = reductionsOf(k_, stage);
    const std::vector<std::size_t> targets = schedule_.targets(stage);
    if (targets.empty()) return;
    const std::vector<std::size_t> ids = k_.behind(targets);
    findExtremes(stage, running, ids);
    startLanes(running);
    const std::optional<std::size_t> dearest = dearestOf(stage, k_.behind(targetsBehind(stage)));
    const std::string carried = dearest ? b_.fresh("carried") : "";
    if (dearest)
      b_.statement(strcat(cudaType(computeType(schedule_.value(*dearest).dtype)), " ", carried, "[", kEach, "]"));
    // All eight are computed of, so that their computations overlap.
    openRegisters();
    k_.computeAt("i", ids, row_, "u");
    if (dearest) b_.statement(strcat(carried, "[u] = ", k_.value(*dearest).code));
    openWithin();
    combine(running);
    for (std::size_t o : schedule_.outputs(stage)) k_.storeOutput(o, "i");
    b_.close();
    b_.close();
    if (dearest) {
      k_.carryIn(*dearest, carried);
      row_[*dearest] = carried;
    }
    for (Running& r : running) {
      halve(r.lanes, r);
      findAgain(r, [&] {
        openRegisters();
        openWithin();
        k_.computeAt("i", ids, row_, "u");
        combine(r);
        b_.close();
        b_.close();
      });
      r.total = b_.let(r.combiner.type(), strcat("n > 0 ? ", r.lanes, " : ", ofNothing(b_, r.combiner).code)).code;
    }
    finish(k_, running);
  }
  /// The values that reductions are of into their lanes.
  void combine(const std::vector<Running>& running) {
    for (const Running& r : running) combine(r);
  }
  void combine(const Running& r) {
    b_.assign(r.lanes, combined(r, r.lanes, r.combiner.enter(b_, k_.value(r.operand))));
  }
  Text combined(const Running& r, const std::string& accumulator, const Text& next) {
    if (r.isExtreme) return {strcat(r.combiner.name(), "imum(", accumulator, ", ", next.code, ")"), r.combiner.type()};
    return r.combiner.combine(b_, {accumulator, r.combiner.type()}, next);
  }

  /// Which reductions are found by the instruction for it: of values that cost little, and are there as long as the row
  /// is walked, as the stage stores nothing that may take the place of its inputs.
  void findExtremes(int stage, std::vector<Running>& running, const std::vector<std::size_t>& ids) {
    const bool again = k_.cost(ids) <= kDearAgain && schedule_.outputs(stage).empty();
    for (Running& r : running) r.isExtreme = again && r.combiner.isExtreme() && r.combiner.type() == DType::Float32;
  }
  /// Behind the halving of a result: combines it again by comparisons, where it is a zero. `walk` writes the loop.
  template <class Walk>
  void findAgain(Running& r, const Walk& walk) {
    if (!std::exchange(r.isExtreme, false)) return;
    b_.open(strcat("if (", r.lanes, " == 0.0f)"));
    b_.assign(r.lanes, identity(b_, r.combiner));
    walk();
    halve(r.lanes, r);
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
  /// A pass over the row that only stores.
  void writePass(int stage) {
    const std::vector<std::size_t> outputs = schedule_.outputs(stage);
    const int width = k_.widthFor(outputs);
    openPass(width);
    k_.computeAndStore(outputs, "i", "count", width);
    b_.close();
  }
  /// All threads of the row over its elements: counted in 64 bits, as compilers write whole lines at such places only.
  void openPass(int width) {
    b_.open(strcat("for (long long i = (long long)threadIdx.x * ", width, "; i < n; i += (long long)blockDim.x * ",
                   width, ")"));
    b_.statement(strcat("const int count = (int)least(n - i, ", width, ")"));
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
      kept.parts.push_back(startParts(r));
    }
    return kept;
  }
  void startLanes(std::vector<Running>& running) {
    for (Running& r : running) r.lanes = b_.variable(r.combiner.type(), identity(b_, r.combiner).code).code;
  }

  void writeReductions(int stage) {
    std::vector<Running> running = reductionsOf(k_, stage);
    if (where_ == Where::Shared) return writeFewBlocks(stage, running);
    const auto [third, parts] = startLevels(running);
    b_.open("for (long long round = 0; round < blocks; round += 32)");
    b_.open("for (long long block = round + warp; block < least(blocks, round + 32); block += warps)");
    startLanes(running);
    writeBlock(stage, running);
    for (std::size_t k = 0; k < running.size(); ++k) keepPart(running[k], parts[k], "block - round");
    b_.close();
    b_.open("if (several)");
    barrier();
    b_.open("if (blocks == 1)");
    for (std::size_t k = 0; k < running.size(); ++k) b_.statement(strcat(running[k].total, " = ", parts[k], "[0]"));
    b_.close();
    b_.open("else");
    for (std::size_t k = 0; k < running.size(); ++k) {
      const Running& r = running[k];
      const Text next = b_.let(
          r.combiner.type(), strcat("lane < blocks - round ? ", parts[k], "[lane] : ", identity(b_, r.combiner).code));
      b_.assign(r.second, r.combiner.combine(b_, {r.second, r.combiner.type()}, next));
    }
    b_.close();
    barrier();
    b_.open("if (blocks > 1 && ((round + 32) % 4096 == 0 || round + 32 >= blocks))");
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
    b_.open("if (blocks > 1)");
    for (std::size_t k = 0; k < running.size(); ++k) {
      halve(third[k], running[k]);
      b_.assign(running[k].total, {third[k], running[k].combiner.type()});
    }
    b_.close();
    finish(k_, running);
  }

  /// Of rows that are kept, which have a round of blocks at most: level 3 is of one value.
  void writeFewBlocks(int stage, std::vector<Running>& running) {
    std::vector<std::string> parts;
    for (Running& r : running) {
      r.total = b_.variable(r.combiner.type(), ofNothing(b_, r.combiner).code).code;
      parts.push_back(startParts(r));
    }
    b_.open("for (int block = warp; block < blocks; block += warps)");
    startLanes(running);
    writeBlock(stage, running);
    for (std::size_t k = 0; k < running.size(); ++k) keepPart(running[k], parts[k], "block");
    b_.close();
    b_.open("if (several)");
    barrier();
    for (std::size_t k = 0; k < running.size(); ++k) {
      const Running& r = running[k];
      b_.line(strcat("if (blocks == 1) ", r.total, " = ", parts[k], "[0];"));
      b_.open("else if (blocks > 1)");
      b_.statement(strcat(r.total, " = lane < blocks ? ", parts[k], "[lane] : ", identity(b_, r.combiner).code));
      halve(r.total, r);
      b_.close();
    }
    b_.close();
    finish(k_, running);
  }
  std::string startParts(const Running& r) {
    std::string parts = b_.fresh("parts");
    b_.statement(strcat("__shared__ ", cudaType(r.combiner.type()), " ", parts, "[32]"));
    return parts;
  }
  /// The result of a block, for all lanes of its row.
  void keepPart(const Running& r, const std::string& parts, const std::string& at) {
    b_.line(strcat("if (!several) ", r.total, " = ", r.lanes, ";"));
    b_.line(strcat("else if (lane == 0) ", parts, "[", at, "] = ", r.lanes, ";"));
  }

  /// Level 1 over `block` of the row: its partial result, in every lane. Also stores what the stage stores.
  void writeBlock(int stage, std::vector<Running>& running) {
    const std::vector<std::size_t> ids = k_.behind(schedule_.targets(stage));
    findExtremes(stage, running, ids);
    const std::string index = where_ == Where::Shared ? "int" : "long long";
    b_.statement(strcat("const ", index, " first = block * 4096"));
    b_.statement(where_ == Where::Shared ? "const int count = least((int)n - first, 4096)"
                                         : "const int count = (int)least(n - first, 4096)");
    const std::size_t cost = k_.cost(ids);
    // Of a kernel that keeps rows the text for others is short: it is compiled with it.
    const bool shared = where_ == Where::Shared;
    const bool once = !shared && !kept_.empty();
    const int each = once || cost > kCheapBody ? 1 : shared || cost > kCheapest ? 4 : k_.readsWide(ids) ? 8 : 16;
    b_.statement("int e = lane");
    if (each > 1) {
      b_.open(strcat("for (; e + ", 32 * (each - 1), " < count; e += ", 32 * each, ")"));
      writeLane(stage, running, ids, each, true);
      b_.close();
      b_.open("if (e < count)");
    } else {
      if (cost <= kWorthCarrying) b_.line("#pragma unroll 4");
      b_.open("for (; e < count; e += 32)");
    }
    writeLane(stage, running, ids, each, false);
    b_.close();
    for (Running& r : running) {
      halve(r.lanes, r);
      findAgain(r, [&] {
        b_.line("#pragma unroll 1");
        b_.open("for (int e = lane; e < count; e += 32)");
        b_.statement(strcat("const ", index, " i = first + e"));
        k_.computeAt("i", ids);
        combine(r);
        b_.close();
      });
    }
  }

  /// A lane takes `each` of its elements from the e-th of the block on, as far as there are any where not `all` are: it
  /// reads them before it computes.
  void writeLane(int stage, const std::vector<Running>& running, const std::vector<std::size_t>& ids, int each,
                 bool all) {
    const char* const index = where_ == Where::Shared ? "int" : "long long";
    const KernelText::Arrays arrays = each > 1 ? k_.declareArrays(ids, each) : KernelText::Arrays();
    const auto openEach = [&] {
      b_.line("#pragma unroll");
      b_.open(strcat("for (int u = 0; u < ", each, "; ++u)"));
      b_.statement(strcat("const ", index, " i = first + e + 32 * u"));
      if (!all) b_.open("if (e + 32 * u < count)");
    };
    const auto closeEach = [&] {
      if (!all) b_.close();
      b_.close();
    };
    if (each > 1) {
      openEach();
      k_.readInto(arrays, ids, "u", "i");
      closeEach();
      openEach();
    } else {
      b_.statement(strcat("const ", index, " i = first + e"));
    }
    k_.computeAt("i", ids, arrays, "u");
    combine(running);
    for (std::size_t o : schedule_.outputs(stage)) k_.storeOutput(o, "i");
    if (each > 1) closeEach();
  }

  /// One value of the 32 lanes, in all of them: lane j with lane j + h, h = 16 ... 1.
  void halve(const std::string& variable, const Running& r) {
    b_.line("#pragma unroll");
    b_.open("for (int h = 16; h > 0; h /= 2)");
    const Text other = b_.let(r.combiner.type(), strcat("shuffleDown(", variable, ", h)"));
    b_.assign(variable, combined(r, variable, other));
    b_.close();
    b_.statement(strcat(variable, " = fromFirst(", variable, ")"));
  }

  KernelText& k_;
  TextBuilder& b_;
  const Schedule& schedule_;
  tandem::cuda::KeptInputs kept_;
  std::vector<Area> areas_;
  enum class Where : std::uint8_t { Memory, Shared, Registers };
  Where where_ = Where::Memory;       // are the rows that are walked in what is being written?
  KernelText::Arrays row_;            // of Registers, by value
  std::set<std::string> carrying_{};  // of areas with carried values: whether they are there
  bool carries_ = true;               // does the text that is being written carry values in shared memory?
  bool takesRoom_ = false;            // is any of them in a room?
};

}  // namespace

void writeRowLoops(KernelText& kernel) { RowLoops(kernel).write(); }

}  // namespace tandem::codegen::cuda
