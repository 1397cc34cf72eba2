// PlanMemory: a place for every value. Results that leave lie in outputs or inputs; all others are temporaries in one
// arena, each at a place that is free from its first to its last use (arena.h). A region's result takes the place of an
// operand that dies there if it may overwrite it. Writes happen in their base's place, as make_in_place arranged, and
// what a kernel stores for them lies there. Without improvement no place is used twice.
//
// The answer is in attributes: `td.arena` on the function (bytes), `td.place` on an operation: for each result a kind
// (0 temporary, 1 output, 2 input) and the offset in the arena or the number.
#include "passes/plan_memory.h"

#include <llvm/ADT/DenseSet.h>

#include "passes/direct_writes.h"
#include "passes/ordering.h"
#include "passes/passes.h"
#include "passes/windows.h"

namespace tandem::passes {

namespace {

class Planner {
 public:
  Planner(mlir::Block& block, bool improve) : block_(block), improve_(improve) {}

  MemoryPlan run() {
    number();
    int at = 0;
    for (mlir::Operation& op : block_) {
      if (takesMemory(&op)) {
        llvm::SmallDenseSet<int> inherited;
        for (mlir::OpResult r : op.getResults()) {
          MemoryLife& m = plan_.memories[static_cast<std::size_t>(plan_.memoryOf.lookup(r))];
          if (improve_ && m.made == at && m.place.kind == MemoryPlace::Arena && m.bytes != 0)
            m.inherits = inheritedBy(op, r, m, at, inherited);
        }
      }
      ++at;
    }
    plan_.arenaBytes = placeTemporaries(plan_.memories, improve_);
    return std::move(plan_);
  }

 private:
  // One memory for every chain of writes; when each is read last.
  void number() {
    auto fresh = [&](mlir::Value v, int at) -> MemoryLife& {
      plan_.memoryOf[v] = static_cast<int>(plan_.memories.size());
      return plan_.memories.emplace_back(MemoryLife{{}, alignedBytes(td::bytesOf(v.getType())), at, at});
    };
    auto memory = [&](mlir::Value v) -> MemoryLife& {
      return plan_.memories[static_cast<std::size_t>(plan_.memoryOf.lookup(v))];
    };
    for (mlir::BlockArgument arg : block_.getArguments())
      fresh(arg, -1).place = {MemoryPlace::Input, arg.getArgNumber()};
    int at = 0;
    for (mlir::Operation& op : block_) {
      for (mlir::Value v : op.getOperands())
        if (td::isTensorType(v.getType())) memory(v).lastUse = at;
      if (auto window = mlir::dyn_cast<td::WindowOp>(op)) {
        plan_.memoryOf[window] = plan_.memoryOf.lookup(window.getSource());
      } else if (auto write = mlir::dyn_cast<td::WriteOp>(op)) {
        plan_.memoryOf[write] = plan_.memoryOf.lookup(write.getBase());
      } else {
        for (mlir::Value r : op.getResults()) {
          if (!td::isTensorType(r.getType())) continue;
          if (td::WriteOp direct = directWrite(r)) {
            plan_.memoryOf[r] = plan_.memoryOf.lookup(direct.getBase());
            memory(r).lastUse = at;
          } else {
            fresh(r, at);
          }
        }
      }
      ++at;
    }
    auto ret = mlir::cast<td::ReturnOp>(block_.getTerminator());
    std::int64_t outputs = 0;
    for (auto [v, into] : llvm::zip(ret.getValues(), ret.getInto()))
      memory(v).place = into >= 0 ? MemoryPlace{MemoryPlace::Input, into} : MemoryPlace{MemoryPlace::Output, outputs++};
  }

  // A temporary that the operation reads last and may overwrite with the result; -1: none.
  int inheritedBy(mlir::Operation& op, mlir::OpResult r, const MemoryLife& m, int at,
                  llvm::SmallDenseSet<int>& inherited) {
    for (mlir::Value v : op.getOperands()) {
      if (!td::isTensorType(v.getType())) continue;
      const int from = plan_.memoryOf.lookup(v);
      const MemoryLife& old = plan_.memories[static_cast<std::size_t>(from)];
      if (old.lastUse != at || old.made < 0 || old.place.kind != MemoryPlace::Arena || inherited.contains(from) ||
          old.bytes != m.bytes || !onlyOneName(op, v) || !mayOverwrite(&op, r.getResultNumber(), placeOf(v).value))
        continue;
      inherited.insert(from);
      return from;
    }
    return -1;
  }

  // Is the memory of `v` read under no other name by this operation? (An older version of it, say.)
  bool onlyOneName(mlir::Operation& op, mlir::Value v) const {
    return llvm::all_of(op.getOperands(), [&](mlir::Value other) {
      return !td::isTensorType(other.getType()) || plan_.memoryOf.lookup(other) != plan_.memoryOf.lookup(v) ||
             placeOf(other).value == placeOf(v).value;
    });
  }

  mlir::Block& block_;
  bool improve_;
  MemoryPlan plan_;
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
    const MemoryPlan plan = planMemory(block, improve_);
    mlir::Builder b(&getContext());
    for (mlir::Operation& op : block) {
      if (!takesMemory(&op)) continue;
      llvm::SmallVector<std::int64_t> places;
      for (mlir::Value r : op.getResults()) {
        const MemoryPlace& place = plan.memories[static_cast<std::size_t>(plan.memoryOf.lookup(r))].place;
        places.append({static_cast<std::int64_t>(place.kind), place.number});
      }
      op.setAttr("td.place", b.getDenseI64ArrayAttr(places));
    }
    getOperation()->setAttr("td.arena", b.getI64IntegerAttr(plan.arenaBytes));
  }

 private:
  bool improve_;
};

}  // namespace

bool takesMemory(mlir::Operation* op) { return mlir::isa<td::RegionOp, td::LibraryOp, td::CopyOp, td::WriteOp>(op); }

MemoryPlan planMemory(mlir::Block& block, bool improve) { return Planner(block, improve).run(); }

std::unique_ptr<mlir::Pass> createPlanMemory(bool improve) { return std::make_unique<PlanMemory>(improve); }

}  // namespace tandem::passes
