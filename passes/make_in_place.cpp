// MakeInPlace: from values to memory. Afterwards
//
//   - every write happens in its base's memory: nothing reads the old value later
//   - every value that leaves has memory of its own, and one that becomes an input's new content is computed right into
//     that input's memory where no one reads the old content later, else copied there at the end
//   - what is written to a part of a value is stored there by the kernel that makes it, where it can be
//   - the operations stand in the order in which they run
//
// Where order alone cannot achieve that, a `td.copy` does. Orders that memory asks for are edges beside those of data;
// an edge is added only if it closes no circle. Library calls that may fail (a bad index, a matrix without a factor)
// come before the first change of an input, which others can see. Without improvement everything is copied.
#include "passes/direct_writes.h"
#include "passes/ordering.h"
#include "passes/passes.h"
#include "passes/windows.h"
#include "runtime/base/error.h"

namespace tandem::passes {

namespace {

class MakeInPlace : public mlir::PassWrapper<MakeInPlace, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakeInPlace)
  explicit MakeInPlace(bool improve) : improve_(improve) {}
  llvm::StringRef getArgument() const override { return "td-make-in-place"; }
  llvm::StringRef getName() const override { return "make_in_place"; }
  llvm::StringRef getDescription() const override {
    return "Memory for writes and results, and the order that allows it";
  }

  void runOnOperation() override {
    mlir::Block& block = getOperation().getBody().front();
    auto ret = mlir::cast<td::ReturnOp>(block.getTerminator());
    ownOutputs(ret);
    Ordering order(block);
    mayFail_ = mayFail(&block);
    for (mlir::Operation& op : llvm::make_early_inc_range(block))
      if (auto write = mlir::dyn_cast<td::WriteOp>(op)) placeWrite(order, write, ret);
    for (unsigned i = 0; i < ret.getValues().size(); ++i)
      if (ret.getInto()[i] < 0) leaveInput(order, ret, i);
    for (unsigned i = 0; i < ret.getValues().size(); ++i)
      if (ret.getInto()[i] >= 0) placeIntoInput(order, ret, i);
    order.apply();
  }

 private:
  static mlir::Value copyBefore(mlir::Operation* op, mlir::Value v) {
    mlir::OpBuilder b(op);
    return td::CopyOp::create(b, op->getLoc(), v.getType(), v);
  }

  // All of a value, if in another shape: it lies in memory as the value does.
  static bool isAll(mlir::Value v) {
    Place place = placeOf(v);
    return place.offset == 0 && isContiguous(td::shapeOf(v), place.strides) &&
           td::bytesOf(v.getType()) == td::bytesOf(place.value.getType());
  }

  // Inputs, parts and rearrangements of values, and what leaves twice leave as copies. An input may leave as itself.
  static void ownOutputs(td::ReturnOp ret) {
    llvm::SmallVector<bool> changes(ret->getBlock()->getNumArguments());
    for (unsigned i = 0; i < ret.getValues().size(); ++i) {
      std::int64_t into = ret.getInto()[i];
      if (into >= 0) changes[into] = ret.getValues()[i] != ret->getBlock()->getArgument(static_cast<unsigned>(into));
    }
    llvm::DenseMap<mlir::Value, unsigned> owner;
    for (unsigned i = 0; i < ret.getValues().size(); ++i) {
      std::int64_t into = ret.getInto()[i];
      mlir::Value v = ret.getValues()[i];
      auto input = mlir::dyn_cast<mlir::BlockArgument>(placeOf(v).value);
      if (input && into == input.getArgNumber() && v == input) continue;
      bool fresh = !input && isAll(v) && owner.try_emplace(placeOf(v).value, i).second;
      if (fresh) continue;
      // Two inputs that exchange contents need a third place.
      if (input && into >= 0 && changes[input.getArgNumber()]) v = copyBefore(ret, v);
      ret->setOperand(i, copyBefore(ret, v));
    }
  }

  // All operations that read `v`, by itself or through a window.
  static llvm::SmallVector<mlir::Operation*> readers(mlir::Value v) {
    llvm::SmallVector<mlir::Operation*> all;
    for (mlir::Operation* user : v.getUsers()) {
      if (mlir::isa<td::WindowOp>(user))
        all.append(user->getUsers().begin(), user->getUsers().end());
      else
        all.push_back(user);
    }
    return all;
  }

  // All operations that read or write the memory of an input as it is so far: the input and the writes in its place.
  static llvm::SmallVector<mlir::Operation*> occupants(mlir::Value memory, mlir::Operation* but,
                                                       llvm::SmallVector<mlir::Value>& versions) {
    versions.assign({memory});
    llvm::SmallVector<mlir::Operation*> all;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      for (mlir::Operation* r : readers(versions[i]))
        if (r != but) all.push_back(r);
      for (mlir::Operation* user : versions[i].getUsers())
        if (auto write = mlir::dyn_cast<td::WriteOp>(user); write && write.getBase() == versions[i])
          versions.push_back(write.getResult());
    }
    return all;
  }

  // The first value that lived in the memory of `v`: a chain of writes shares one.
  static mlir::Value root(mlir::Value v) {
    while (auto write = v.getDefiningOp<td::WriteOp>()) v = write.getBase();
    return v;
  }

  // Does the final content of the input `arg` come from a chain of writes that starts there and holds `write`?
  static bool endsInInput(td::WriteOp write, mlir::BlockArgument arg, td::ReturnOp ret) {
    for (unsigned i = 0; i < ret.getValues().size(); ++i) {
      if (ret.getInto()[i] != arg.getArgNumber()) continue;
      mlir::Value v = placeOf(ret.getValues()[i]).value;
      if (root(v) != arg) return false;
      while (v != arg && v != write.getResult()) v = v.getDefiningOp<td::WriteOp>().getBase();
      return v != arg;
    }
    return false;
  }

  void placeWrite(Ordering& order, td::WriteOp write, td::ReturnOp ret) {
    mlir::Value base = write.getBase();
    mlir::Value memory = root(base);
    auto input = mlir::dyn_cast<mlir::BlockArgument>(memory);
    bool allowed = improve_ && (!input || endsInInput(write, input, ret));
    // A base that is itself a window has memory only through a copy.
    allowed &= !base.getDefiningOp<td::WindowOp>();
    // The value may not be read from the memory that is written, but elementwise writes of it were regions before.
    if (allowed && root(placeOf(write.getValue()).value) == memory) {
      write.getValueMutable().assign(copyBefore(write, write.getValue()));
      order.add(write.getValue().getDefiningOp(), write);
    }
    llvm::SmallVector<mlir::Operation*> before;
    for (mlir::Operation* r : readers(base))
      if (r != write) before.push_back(r);
    if (input) before.append(mayFail_);
    if (!allowed || !order.tryBefore(before, write)) {
      write.getBaseMutable().assign(copyBefore(write, base));
      order.add(write.getBase().getDefiningOp(), write);
      before.clear();
    }
    if (improve_) placeValue(order, write, std::move(before));
  }

  // Has the region that makes what is written store it in the base's memory, at the time of the write.
  static void placeValue(Ordering& order, td::WriteOp write, llvm::SmallVector<mlir::Operation*> before) {
    mlir::Value memory = root(write.getBase());
    if (!canWriteDirectly(write, [&](mlir::Value v) { return root(v) == memory; })) return;
    mlir::Operation* region = write.getValue().getDefiningOp();
    llvm::erase(before, region);
    if (mlir::Operation* def = write.getBase().getDefiningOp()) before.push_back(def);
    if (order.tryBefore(before, region)) writeDirectly(write);
  }

  static llvm::SmallVector<mlir::Operation*> mayFail(mlir::Block* block) {
    llvm::SmallVector<mlir::Operation*> calls;
    for (auto call : block->getOps<td::LibraryOp>())
      if (facts(call.getOp().getCode()).failure != OpFailure::Never) calls.push_back(call);
    return calls;
  }

  // A state that an input passes through, and that leaves too, leaves as a copy.
  static void leaveInput(Ordering& order, td::ReturnOp ret, unsigned i) {
    mlir::Value value = ret.getValues()[i];
    if (!mlir::isa<mlir::BlockArgument>(root(placeOf(value).value))) return;
    ret->setOperand(i, copyBefore(ret, value));
    order.add(ret.getValues()[i].getDefiningOp(), ret);
  }

  void placeIntoInput(Ordering& order, td::ReturnOp ret, unsigned i) {
    mlir::BlockArgument input = ret->getBlock()->getArgument(static_cast<unsigned>(ret.getInto()[i]));
    mlir::Value value = ret.getValues()[i];
    mlir::Value memory = root(placeOf(value).value);
    if (memory == input) return;
    mlir::Operation* first = memory.getDefiningOp();  // what would write the input's memory first
    llvm::SmallVector<mlir::Value> versions;
    llvm::SmallVector<mlir::Operation*> before = occupants(input, first, versions);
    before.append(mayFail_);
    llvm::erase(before, first);
    bool direct = improve_ && first != nullptr;
    for (mlir::Value v : versions)
      if (llvm::is_contained(readers(v), first))
        direct &= mayOverwrite(first, mlir::cast<mlir::OpResult>(memory).getResultNumber(), v);
    if (direct && order.tryBefore(before, first)) return;
    mlir::Value copy = copyBefore(ret, value);
    ret->setOperand(i, copy);
    order.add(copy.getDefiningOp(), ret);
    before = occupants(input, copy.getDefiningOp(), versions);
    before.append(mayFail_);
    TANDEM_CHECK(order.tryBefore(before, copy.getDefiningOp()), "only the end depends on a final copy");
  }

  bool improve_;
  llvm::SmallVector<mlir::Operation*> mayFail_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createMakeInPlace(bool improve) { return std::make_unique<MakeInPlace>(improve); }

}  // namespace tandem::passes
