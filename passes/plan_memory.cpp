// PlanMemory: a place for every value. Results that leave lie in outputs or inputs; all others are temporaries in one
// arena, each at the smallest hole that is free from its first to its last use. A region's result takes the place of an
// operand that dies there if it may overwrite it. Writes happen in their base's place, as make_in_place arranged.
// Without improvement no place is used twice.
//
// The answer is in attributes: `td.arena` on the function (bytes), `td.place` on an operation: for each result a kind
// (0 temporary, 1 output, 2 input) and the offset in the arena or the number.
#include <algorithm>
#include <map>

#include <llvm/ADT/DenseSet.h>

#include "passes/ordering.h"
#include "passes/passes.h"
#include "passes/places.h"
#include "passes/windows.h"

namespace tandem::passes {

namespace {

constexpr std::int64_t kAlignment = 64;
std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The holes of an arena that grows at its end.
class Arena {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = holes_.end();
    for (auto it = holes_.begin(); it != holes_.end(); ++it)
      if (it->second >= bytes && (best == holes_.end() || it->second < best->second)) best = it;
    std::int64_t at = size_;
    if (best != holes_.end()) {
      auto [start, length] = *best;
      holes_.erase(best);
      if (length > bytes) holes_[start + bytes] = length - bytes;
      return start;
    }
    // The last hole may be too small but reach the end.
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == size_) {
      at = holes_.rbegin()->first;
      holes_.erase(at);
    }
    size_ = at + bytes;
    return at;
  }
  void give(std::int64_t at, std::int64_t bytes) {
    auto [it, fresh] = holes_.emplace(at, bytes);
    auto next = std::next(it);
    if (next != holes_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      holes_.erase(next);
    }
    if (it != holes_.begin() && std::prev(it)->first + std::prev(it)->second == it->first) {
      std::prev(it)->second += it->second;
      holes_.erase(it);
    }
  }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::map<std::int64_t, std::int64_t> holes_;  // start to length; 0 lengths never occur
  std::int64_t size_ = 0;
};

struct Memory {
  MemoryPlace place;
  bool placed = false;
  int lastUse = -1;
  std::int64_t bytes = 0;
};

class PlanMemory : public mlir::PassWrapper<PlanMemory, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemory)
  explicit PlanMemory(bool improve) : improve_(improve) {}
  llvm::StringRef getArgument() const override { return "td-plan-memory"; }
  llvm::StringRef getName() const override { return "plan_memory"; }
  llvm::StringRef getDescription() const override { return "A place for every value"; }

  void runOnOperation() override {
    mlir::Block& block = getOperation().getBody().front();
    std::vector<Memory> memories;
    llvm::DenseMap<mlir::Value, int> memoryOf;
    number(block, memories, memoryOf);
    std::vector<llvm::SmallVector<int>> readLast(block.getOperations().size() + 1);
    for (auto [i, m] : llvm::enumerate(memories))
      if (m.lastUse >= 0) readLast[static_cast<std::size_t>(m.lastUse)].push_back(static_cast<int>(i));
    mlir::Builder b(&getContext());
    Arena arena;
    int at = 0;
    for (mlir::Operation& op : block) {
      if (mlir::isa<td::RegionOp, td::LibraryOp, td::CopyOp, td::WriteOp>(op)) {
        llvm::SmallDenseSet<int> inherited;
        llvm::SmallVector<std::int64_t> places;
        for (mlir::OpResult r : op.getResults()) {
          Memory& m = memories[memoryOf.lookup(r)];
          if (!m.placed) place(op, r, m, at, memories, memoryOf, inherited, arena);
          places.append({static_cast<std::int64_t>(m.place.kind), m.place.number});
        }
        op.setAttr("td.place", b.getDenseI64ArrayAttr(places));
        for (int i : readLast[static_cast<std::size_t>(at)]) {
          Memory& m = memories[static_cast<std::size_t>(i)];
          if (improve_ && m.placed && m.place.kind == MemoryPlace::Arena && !inherited.contains(i) && m.bytes != 0)
            arena.give(m.place.number, m.bytes);
        }
      }
      ++at;
    }
    getOperation()->setAttr("td.arena", b.getI64IntegerAttr(arena.size()));
  }

 private:
  // One memory for every chain of writes; when each is read last.
  static void number(mlir::Block& block, std::vector<Memory>& memories, llvm::DenseMap<mlir::Value, int>& memoryOf) {
    auto fresh = [&](mlir::Value v) {
      memoryOf[v] = static_cast<int>(memories.size());
      memories.push_back({{}, false, -1, aligned(td::bytesOf(v.getType()))});
      return &memories.back();
    };
    for (mlir::BlockArgument arg : block.getArguments()) {
      Memory* m = fresh(arg);
      m->place = {MemoryPlace::Input, arg.getArgNumber()};
      m->placed = true;
    }
    int at = 0;
    for (mlir::Operation& op : block) {
      for (mlir::Value v : op.getOperands()) {
        if (!mlir::isa<mlir::RankedTensorType>(v.getType())) continue;
        Memory& m = memories[memoryOf.lookup(v)];
        m.lastUse = at;
      }
      if (auto window = mlir::dyn_cast<td::WindowOp>(op)) {
        memoryOf[window] = memoryOf.lookup(window.getSource());
      } else if (auto write = mlir::dyn_cast<td::WriteOp>(op)) {
        memoryOf[write] = memoryOf.lookup(write.getBase());
        memories[memoryOf.lookup(write)].lastUse = at;
      } else {
        for (mlir::Value r : op.getResults())
          if (mlir::isa<mlir::RankedTensorType>(r.getType())) fresh(r)->lastUse = at;
      }
      ++at;
    }
    auto ret = mlir::cast<td::ReturnOp>(block.getTerminator());
    std::int64_t outputs = 0;
    for (auto [v, into] : llvm::zip(ret.getValues(), ret.getInto())) {
      Memory& m = memories[memoryOf.lookup(v)];
      m.place = into >= 0 ? MemoryPlace{MemoryPlace::Input, into} : MemoryPlace{MemoryPlace::Output, outputs++};
      m.placed = true;
    }
  }

  void place(mlir::Operation& op, mlir::OpResult r, Memory& m, int at, std::vector<Memory>& memories,
             const llvm::DenseMap<mlir::Value, int>& memoryOf, llvm::SmallDenseSet<int>& inherited, Arena& arena) {
    m.placed = true;
    m.place.kind = MemoryPlace::Arena;
    if (m.bytes == 0) return;
    if (improve_) {
      for (mlir::Value v : op.getOperands()) {
        if (!mlir::isa<mlir::RankedTensorType>(v.getType())) continue;
        int from = memoryOf.lookup(v);
        Memory& old = memories[from];
        if (old.lastUse != at || !old.placed || old.place.kind != MemoryPlace::Arena || inherited.contains(from) ||
            old.bytes != m.bytes || !onlyOneName(op, v, memoryOf) ||
            !mayOverwrite(&op, r.getResultNumber(), placeOf(v).value))
          continue;
        inherited.insert(from);
        m.place = old.place;
        return;
      }
    }
    m.place.number = arena.take(m.bytes);
  }

  // Is the memory of `v` read under no other name by this operation? (An older version of it, say.)
  static bool onlyOneName(mlir::Operation& op, mlir::Value v, const llvm::DenseMap<mlir::Value, int>& memoryOf) {
    return llvm::all_of(op.getOperands(), [&](mlir::Value other) {
      return !mlir::isa<mlir::RankedTensorType>(other.getType()) || memoryOf.lookup(other) != memoryOf.lookup(v) ||
             placeOf(other).value == placeOf(v).value;
    });
  }

  bool improve_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createPlanMemory(bool improve) { return std::make_unique<PlanMemory>(improve); }

}  // namespace tandem::passes
