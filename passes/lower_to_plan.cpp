// LowerToPlan: the last step, from placed operations to the flat instructions that runtime/plan runs. A region becomes
// the launch of a kernel, a library operation a call on strided views, a write or copy a strided kernel or a plain
// copy. What has no elements does nothing.
#include <map>

#include "passes/direct_writes.h"
#include "passes/kernel_builder.h"
#include "passes/passes.h"
#include "passes/places.h"
#include "passes/plan_text.h"
#include "passes/plan_writer.h"
#include "passes/windows.h"
#include "runtime/base/error.h"

namespace tandem::passes {

namespace {

class Lowering {
 public:
  Lowering(Plan& plan, mlir::func::FuncOp function) : plan_(plan), function_(function), writer_(plan) {}

  void run() {
    mlir::Block& block = function_.getBody().front();
    auto ret = mlir::cast<td::ReturnOp>(block.getTerminator());
    plan_.numInputs = block.getNumArguments();
    for (auto [i, arg] : llvm::enumerate(block.getArguments()))
      bufferOf_[arg] = writer_.buffer({MemoryPlace::Input, static_cast<std::int64_t>(i)}, td::bytesOf(arg.getType()));
    plan_.arenaBytes = static_cast<std::uint64_t>(function_->getAttrOfType<mlir::IntegerAttr>("td.arena").getInt());
    plan_.numOutputs = 0;
    for (std::int64_t into : ret.getInto())
      if (into < 0) ++plan_.numOutputs;
    for (mlir::Operation& op : block.without_terminator()) lower(op);
    writer_.explain(ret.getValues().size());
  }

 private:
  // ---- memory

  void place(mlir::Operation& op) {
    mlir::ArrayRef<std::int64_t> places = op.getAttrOfType<mlir::DenseI64ArrayAttr>("td.place").asArrayRef();
    for (mlir::OpResult r : op.getResults()) {
      std::size_t i = r.getResultNumber();
      bufferOf_[r] = writer_.buffer({MemoryPlace::Kind(places[2 * i]), places[2 * i + 1]}, td::bytesOf(r.getType()));
    }
  }

  // A value read through its window, or a result.
  PlanOperand operand(mlir::Value v) {
    PlanOperand o;
    if (!mlir::isa<mlir::RankedTensorType>(v.getType())) {
      o.absent = true;
      return o;
    }
    Place place = placeOf(v);
    o.buffer = bufferOf_.lookup(place.value);
    o.dtype = td::dtypeOf(v.getType());
    o.byteOffset = static_cast<std::uint64_t>(place.offset) * itemSize(o.dtype);
    return o;
  }
  PlanOperand view(mlir::Value v) {
    PlanOperand o = operand(v);
    if (o.absent) return o;
    o.shape = Dims(td::shapeOf(v));
    o.strides = placeOf(v).strides;
    return o;
  }

  // ---- scalars

  std::uint32_t slot(mlir::Value v) {
    if (auto s = v.getDefiningOp<td::SlotOp>()) return static_cast<std::uint32_t>(s.getIndex());
    auto constant = mlir::cast<td::ConstantOp>(v.getDefiningOp());
    auto [it, fresh] = constants_.try_emplace(constant.getValue(), plan_.slots.size());
    if (fresh) {
      ScalarSlot s;
      s.value = Scalar(static_cast<std::int64_t>(constant.getValue()));
      plan_.slots.push_back(s);
    }
    return it->second;
  }
  template <class Range>
  std::vector<std::uint32_t> slots(Range operands) {
    std::vector<std::uint32_t> all;
    for (mlir::Value v : operands)
      if (!mlir::isa<mlir::RankedTensorType, mlir::NoneType>(v.getType())) all.push_back(slot(v));
    return all;
  }

  // ---- operations

  void lower(mlir::Operation& op) {
    if (auto region = mlir::dyn_cast<td::RegionOp>(op)) {
      place(op);
      lowerRegion(region);
    } else if (auto call = mlir::dyn_cast<td::LibraryOp>(op)) {
      place(op);
      lowerLibrary(call);
    } else if (auto copy = mlir::dyn_cast<td::CopyOp>(op)) {
      place(op);
      writer_.copy(lineOf(op), view(copy.getSource()), view(copy.getResult()));
    } else if (auto write = mlir::dyn_cast<td::WriteOp>(op)) {
      place(op);
      if (directWrite(write.getValue())) return;
      PlanOperand to = operand(write.getResult());
      to.byteOffset += static_cast<std::uint64_t>(write.getOffset()) * itemSize(to.dtype);
      to.shape = Dims(td::shapeOf(write.getValue()));
      to.strides = Dims(DimsRef(write.getStrides()));
      writer_.copy(lineOf(op), view(write.getValue()), to);
    } else {
      TANDEM_CHECK((mlir::isa<td::WindowOp, td::SlotOp, td::ConstantOp, td::AbsentOp>(op)),
                   op.getName().getStringRef().str(), " cannot be lowered before it is fused");
    }
  }

  static std::string lineOf(mlir::Operation& op) {
    auto name = mlir::dyn_cast<mlir::NameLoc>(op.getLoc());
    return name ? name.getName().str() : std::string();
  }

  void lowerRegion(td::RegionOp region) {
    if (numelOf(region.getSpace()) == 0) return;
    RegionLaunch launch = regionLaunch(region);
    std::vector<PlanOperand> inputs;
    std::vector<PlanOperand> outputs;
    for (mlir::Value v : region.getInputs())
      if (mlir::isa<mlir::RankedTensorType>(v.getType())) inputs.push_back(operand(v));
    for (mlir::Value v : region.getResults()) {
      outputs.push_back(operand(v));
      if (td::WriteOp write = directWrite(v))
        outputs.back().byteOffset += static_cast<std::uint64_t>(write.getOffset()) * itemSize(outputs.back().dtype);
    }
    std::vector<std::uint32_t> scalars = slots(region.getInputs());
    plan_.explanation += regionText(region, launch.signature.text());
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    writer_.region(lineOf(*region), launch, Dims(DimsRef(region.getSpace())), std::move(inputs), std::move(scalars));
  }

  void lowerLibrary(td::LibraryOp op) {
    std::vector<PlanOperand> operands;
    for (mlir::Value v : op.getInputs())
      if (mlir::isa<mlir::RankedTensorType, mlir::NoneType>(v.getType())) operands.push_back(view(v));
    const std::size_t numInputs = operands.size();
    for (mlir::Value v : op.getResults()) operands.push_back(view(v));
    writer_.library(lineOf(*op), op.getOp().getCode(), std::move(operands), numInputs, slots(op.getInputs()),
                    op.getAttrs());
  }

  Plan& plan_;
  mlir::func::FuncOp function_;
  PlanWriter writer_;
  llvm::DenseMap<mlir::Value, std::uint32_t> bufferOf_;
  std::map<std::int64_t, std::uint32_t> constants_;
};

class LowerToPlan : public mlir::PassWrapper<LowerToPlan, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToPlan)
  explicit LowerToPlan(Plan* plan) : plan_(plan) {}
  llvm::StringRef getArgument() const override { return "td-lower-to-plan"; }
  llvm::StringRef getName() const override { return "lower_to_plan"; }
  llvm::StringRef getDescription() const override { return "Instructions over buffers"; }

  void runOnOperation() override {
    if (plan_ != nullptr) return Lowering(*plan_, getOperation()).run();
    Plan plan;
    Lowering(plan, getOperation()).run();
    llvm::outs() << planText(plan);
  }

 private:
  Plan* plan_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createLowerToPlan(Plan* plan) { return std::make_unique<LowerToPlan>(plan); }

}  // namespace tandem::passes
