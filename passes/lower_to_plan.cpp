// LowerToPlan: the last step, from placed operations to the flat instructions that runtime/plan runs. A region becomes
// the launch of a kernel, a library operation a call on strided views, a write or copy a strided kernel or a plain
// copy. What has no elements does nothing.
#include <map>

#include "passes/kernel_builder.h"
#include "passes/passes.h"
#include "passes/places.h"
#include "passes/plan_text.h"
#include "passes/windows.h"
#include "runtime/base/error.h"
#include "runtime/kernel/collapse.h"

namespace tandem::passes {

namespace {

class Lowering {
 public:
  Lowering(Plan& plan, mlir::func::FuncOp function) : plan_(plan), function_(function) {}

  void run() {
    mlir::Block& block = function_.getBody().front();
    auto ret = mlir::cast<td::ReturnOp>(block.getTerminator());
    plan_.numInputs = block.getNumArguments();
    for (auto [i, arg] : llvm::enumerate(block.getArguments()))
      bufferOf_[arg] = buffer({MemoryPlace::Input, static_cast<std::int64_t>(i)}, td::bytesOf(arg.getType()));
    plan_.arenaBytes = static_cast<std::uint64_t>(function_->getAttrOfType<mlir::IntegerAttr>("td.arena").getInt());
    plan_.numOutputs = 0;
    for (std::int64_t into : ret.getInto())
      if (into < 0) ++plan_.numOutputs;
    for (mlir::Operation& op : block.without_terminator()) lower(op);
    explain(ret);
  }

 private:
  // ---- memory

  std::uint32_t buffer(const MemoryPlace& place, std::int64_t bytes) {
    auto [it, fresh] = buffers_.try_emplace({place.kind, place.number}, plan_.buffers.size());
    if (fresh) {
      PlanBuffer b{};
      switch (place.kind) {
      case MemoryPlace::Arena:
        b.kind = PlanBuffer::Kind::Temporary;
        b.arenaOffset = static_cast<std::uint64_t>(place.number);
        break;
      case MemoryPlace::Output:
        b.kind = PlanBuffer::Kind::Output;
        break;
      case MemoryPlace::Input:
        b.kind = PlanBuffer::Kind::Input;
        break;
      }
      if (place.kind != MemoryPlace::Arena) b.index = static_cast<std::uint32_t>(place.number);
      plan_.buffers.push_back(b);
    }
    PlanBuffer& b = plan_.buffers[it->second];
    b.bytes = std::max(b.bytes, static_cast<std::uint64_t>(bytes));
    return it->second;
  }

  void place(mlir::Operation& op) {
    mlir::ArrayRef<std::int64_t> places = op.getAttrOfType<mlir::DenseI64ArrayAttr>("td.place").asArrayRef();
    for (mlir::OpResult r : op.getResults()) {
      std::size_t i = r.getResultNumber();
      bufferOf_[r] = buffer({MemoryPlace::Kind(places[2 * i]), places[2 * i + 1]}, td::bytesOf(r.getType()));
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
      lowerCopy(op, copy.getSource(), view(copy.getResult()));
    } else if (auto write = mlir::dyn_cast<td::WriteOp>(op)) {
      place(op);
      PlanOperand to = operand(write.getResult());
      to.byteOffset += static_cast<std::uint64_t>(write.getOffset()) * itemSize(to.dtype);
      to.shape = Dims(td::shapeOf(write.getValue()));
      to.strides = Dims(DimsRef(write.getStrides()));
      lowerCopy(op, write.getValue(), to);
    } else {
      TANDEM_CHECK((mlir::isa<td::WindowOp, td::SlotOp, td::ConstantOp, td::AbsentOp>(op)),
                   op.getName().getStringRef().str(), " cannot be lowered before it is fused");
    }
  }

  PlanInstr& add(mlir::Operation& op, PlanInstr::Kind kind) {
    PlanInstr& instr = plan_.instrs.emplace_back();
    instr.kind = kind;
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(op.getLoc())) instr.line = name.getName().str();
    return instr;
  }

  void addKernel(mlir::Operation& op, const Launch& launch, std::vector<PlanOperand> operands,
                 std::vector<std::uint32_t> scalars) {
    auto [it, fresh] = kernels_.try_emplace(launch.signature.bytes(), plan_.kernels.size());
    if (fresh) plan_.kernels.push_back(launch.signature);
    PlanInstr& instr = add(op, PlanInstr::Kind::Kernel);
    instr.function = it->second;
    instr.numInputs = static_cast<std::uint32_t>(launch.signature.inputs.size());
    instr.operands = std::move(operands);
    instr.scalars = std::move(scalars);
    instr.args = launch.args;
    instr.space = launch.space;
  }

  void lowerRegion(td::RegionOp region) {
    if (numelOf(region.getSpace()) == 0) return;
    Launch launch = regionLaunch(region);
    std::vector<PlanOperand> inputs;
    std::vector<PlanOperand> outputs;
    for (mlir::Value v : region.getInputs())
      if (mlir::isa<mlir::RankedTensorType>(v.getType())) inputs.push_back(operand(v));
    for (mlir::Value v : region.getResults()) outputs.push_back(operand(v));
    std::vector<std::uint32_t> scalars = slots(region.getInputs());
    plan_.explanation += regionText(region, launch.signature.text());
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    addKernel(*region, launch, std::move(inputs), std::move(scalars));
  }

  void lowerLibrary(td::LibraryOp op) {
    const OpFacts& f = facts(op.getOp().getCode());
    bool empty = llvm::all_of(op.getResultTypes(), [](mlir::Type t) { return td::bytesOf(t) == 0; });
    if (empty && op.getNumResults() != 0 && f.role != OpRole::Expect) return;
    std::string name(f.name);
    auto [it, fresh] = library_.try_emplace(name, plan_.library.size());
    if (fresh) plan_.library.push_back(name);
    PlanInstr& instr = add(*op, PlanInstr::Kind::Library);
    instr.function = it->second;
    for (mlir::Value v : op.getInputs())
      if (mlir::isa<mlir::RankedTensorType, mlir::NoneType>(v.getType())) instr.operands.push_back(view(v));
    instr.numInputs = static_cast<std::uint32_t>(instr.operands.size());
    for (mlir::Value v : op.getResults()) instr.operands.push_back(view(v));
    instr.scalars = slots(op.getInputs());
    instr.attrs.assign(op.getAttrs().begin(), op.getAttrs().end());
    plan_.explanation += strcat("  library ", name, " ->");
    for (mlir::Value v : op.getResults()) plan_.explanation += strcat(" ", shapeText(td::shapeOf(v)));
    plan_.explanation += "\n";
  }

  void lowerCopy(mlir::Operation& op, mlir::Value source, const PlanOperand& to) {
    PlanOperand from = view(source);
    if (numelOf(from.shape) == 0) return;
    Launch launch = copyLaunch(from.dtype, from.shape, from.strides, to.strides);
    bool plain = isContiguous(from.shape, from.strides) && isContiguous(to.shape, to.strides);
    plan_.explanation += strcat("  copy ", shapeText(from.shape), plain ? "\n" : ", strided\n");
    if (!plain && !transposes(from.strides) && !transposes(to.strides) && launch.signature.outerRank <= kMaxOuterRank)
      return addKernel(op, launch, {from, to}, {});
    PlanInstr& instr = add(op, PlanInstr::Kind::Copy);
    instr.operands = {from, to};
    instr.numInputs = 1;
  }

  void explain(td::ReturnOp ret) {
    plan_.explanation = strcat("plan: ", plan_.numInputs, " inputs, ", ret.getValues().size(), " results, ",
                               plan_.instrs.size(), " instructions, ", plan_.kernels.size(), " kinds of kernel, ",
                               plan_.arenaBytes, " bytes of temporaries\n", plan_.explanation);
  }

  Plan& plan_;
  mlir::func::FuncOp function_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> buffers_;
  llvm::DenseMap<mlir::Value, std::uint32_t> bufferOf_;
  std::map<std::int64_t, std::uint32_t> constants_;
  std::map<std::string, std::uint32_t> kernels_;
  std::map<std::string, std::uint32_t> library_;
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
