#include "passes/shape_recorder.h"

#include <algorithm>
#include <functional>

#include <llvm/ADT/DenseMap.h>

#include "passes/direct_writes.h"
#include "passes/kernel_builder.h"
#include "passes/passes.h"
#include "passes/plan_memory.h"
#include "passes/trace_values.h"

namespace tandem::passes {

// Every operation is recognised as one of the trace by what it reads. Functions give false where it is not.
class ShapeRecorder {
 public:
  ShapeRecorder(mlir::func::FuncOp function, const Trace& trace, const std::vector<TraceOutput>& outputs)
      : block_(function.getBody().front()), trace_(trace), outputs_(outputs), values_(trace),
        memory_(planMemory(block_, true)), program_(std::make_unique<ShapeProgram>()) {}

  std::unique_ptr<ShapeProgram> run(const Plan& plan) {
    program_->memories_ = memory_.memories;
    addInputs();
    for (mlir::Operation& op : block_.without_terminator())
      if (takesMemory(&op) ? !add(op) : !mlir::isa<td::WindowOp, td::SlotOp, td::AbsentOp>(op)) return nullptr;
    if (!addOutputs() || !nameCopies()) return nullptr;
    findShared();
    // What it says of these sizes is what the passes say.
    const std::shared_ptr<Plan> same = program_->planFor(trace_, outputs_, program_->answers_);
    return same != nullptr && isSame(*same, plan) ? std::move(program_) : nullptr;
  }

 private:
  using Program = ShapeProgram;
  using Kind = Program::Instr::Kind;

  // ---- values

  std::uint32_t addValue(mlir::Value v, ValueRef ref, const Seen* copied = nullptr) {
    const auto number = static_cast<std::uint32_t>(program_->values_.size());
    program_->values_.push_back({ref, copied != nullptr, static_cast<std::uint32_t>(memory_.memoryOf.lookup(v)), {}});
    shows_.push_back(copied != nullptr ? *copied : values_.seen(ref));
    numbers_[v] = number;
    return number;
  }
  void addInputs() {
    std::vector<std::uint32_t> nodes(block_.getNumArguments());
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i)
      if (trace_.nodes[i].kind == TraceNode::Kind::Input) nodes[trace_.nodes[i].input] = i;
    for (mlir::BlockArgument arg : block_.getArguments()) addValue(arg, {nodes[arg.getArgNumber()], 0});
  }

  // What is read of memory, as the trace sees it. Of a copy either what was copied, or a window on it that does not
  // compose with what was.
  bool look(mlir::Value v, std::uint32_t& value, Seen& seen) const {
    const Place place = placeOf(v);
    value = numbers_.lookup(place.value);
    const Seen& held = shows_[value];
    if (!program_->values_[value].copy) {
      seen = {held.root, false, Dims(td::shapeOf(v)), place};
      return true;
    }
    if (place.value == v) {
      seen = held;
      return true;
    }
    const std::optional<ValueRef> root = values_.copyOf(held);
    if (!root) return false;
    seen = {*root, true, Dims(td::shapeOf(v)), place};
    return true;
  }

  // ---- operations

  // The node that does `op` on what its operands see. In a region they are arguments of its body: `outer` says of what.
  template <class Outer>
  bool find(mlir::Operation& op, const std::vector<Seen>& seen, const Outer& outer, std::uint32_t& node) const {
    SmallVector<OperandKey, 4> keys;
    for (auto [k, v] : llvm::enumerate(op.getOperands())) {
      OperandKey key;
      if (td::isTensorType(v.getType())) key.seen = &seen[k];
      if (auto slot = outer(v).template getDefiningOp<td::SlotOp>())
        key.slot = static_cast<std::int32_t>(slot.getIndex());
      keys.push_back(key);
    }
    const OpCode code = op.getAttrOfType<td::OpAttr>("op").getCode();
    const auto attrs = op.getAttrOfType<mlir::DenseI64ArrayAttr>("attrs");
    const auto found =
        values_.find(operationKey(code, {keys.data(), keys.size()}, attrs ? DimsRef(attrs.asArrayRef()) : DimsRef()));
    if (found) node = *found;
    return found.has_value();
  }

  bool add(mlir::Operation& op) {
    Program::Instr instr;
    if (auto region = mlir::dyn_cast<td::RegionOp>(op)) {
      if (!addRegion(region, instr)) return false;
    } else if (mlir::isa<td::LibraryOp>(op)) {
      if (!addLibrary(op, instr)) return false;
    } else if (auto write = mlir::dyn_cast<td::WriteOp>(op)) {
      if (!addWrite(write, instr)) return false;
    } else if (!addCopy(mlir::cast<td::CopyOp>(op), instr)) {
      return false;
    }
    program_->instrs_.push_back(std::move(instr));
    return true;
  }

  bool addLibrary(mlir::Operation& op, Program::Instr& instr) {
    instr.kind = Kind::Library;
    std::vector<Seen> seen(op.getNumOperands());
    for (auto [k, v] : llvm::enumerate(op.getOperands())) {
      if (td::isTensorType(v.getType())) {
        if (!look(v, instr.reads.emplace_back().value, seen[k])) return false;
      } else if (auto slot = v.getDefiningOp<td::SlotOp>()) {
        instr.scalars.push_back(static_cast<std::uint32_t>(slot.getIndex()));
      } else {
        instr.reads.emplace_back().absent = true;
      }
    }
    if (!find(op, seen, std::identity(), instr.node)) return false;
    std::size_t at = 0;
    for (const TraceOperand& o : trace_.operands(trace_.nodes[instr.node]))
      if (o.kind != TraceOperand::Kind::Slot) instr.reads[at++].ref = o.value;
    for (mlir::OpResult r : op.getResults()) instr.results.push_back(addValue(r, {instr.node, r.getResultNumber()}));
    return true;
  }

  bool addWrite(td::WriteOp op, Program::Instr& instr) {
    instr.kind = Kind::Write;
    instr.reads.resize(2);
    Seen base;
    Seen value;
    if (!look(op.getBase(), instr.reads[0].value, base) || !look(op.getValue(), instr.reads[1].value, value))
      return false;
    const auto found = values_.find(writeKey(base, value, op.getStrides(), static_cast<std::int64_t>(op.getOffset())));
    if (!found) return false;
    instr.node = *found;
    if (directWrite(op.getValue())) program_->values_[instr.reads[1].value].write = *found;
    for (std::size_t k = 0; k < 2; ++k) instr.reads[k].ref = trace_.operands(trace_.nodes[*found])[k].value;
    instr.results.push_back(addValue(op.getResult(), {*found, 0}));
    return true;
  }

  // Which value of the trace it is that is copied, those who read the copy will say.
  bool addCopy(td::CopyOp op, Program::Instr& instr) {
    instr.kind = Kind::Copy;
    Seen seen;
    if (!look(op.getSource(), instr.reads.emplace_back().value, seen)) return false;
    instr.results.push_back(addValue(op.getResult(), {}, &seen));
    return true;
  }

  // ---- regions

  bool addRegion(td::RegionOp region, Program::Instr& instr) {
    instr.kind = Kind::Region;
    const auto alignments = region->getAttrOfType<mlir::ArrayAttr>(kAlignments);
    if (!alignments) return false;
    llvm::DenseMap<mlir::Value, std::uint32_t> inputs;  // arguments of the body that are tensors
    mlir::Block& body = region.getBody().front();
    for (auto [v, argument] : llvm::zip(region.getInputs(), body.getArguments())) {
      if (!td::isTensorType(v.getType())) {
        auto slot = v.getDefiningOp<td::SlotOp>();
        if (!slot && !v.getDefiningOp<td::AbsentOp>()) return false;
        if (slot) instr.scalars.push_back(static_cast<std::uint32_t>(slot.getIndex()));
        continue;
      }
      inputs[argument] = static_cast<std::uint32_t>(instr.inputs.size());
      Seen seen;
      if (!look(v, instr.inputs.emplace_back(), seen)) return false;
    }
    members_.clear();
    std::size_t at = 0;
    for (mlir::Operation& op : body.without_terminator()) {
      if (mlir::isa<td::WindowOp>(op)) continue;
      Program::Member m;
      m.alignment =
          Dims(DimsRef(mlir::cast<mlir::DenseI64ArrayAttr>(alignments[static_cast<unsigned>(at++)]).asArrayRef()));
      if (mlir::isa<td::FrameOp>(op) || !findMember(op, region, inputs, instr.members, m)) return false;
      members_[&op] = static_cast<std::uint32_t>(instr.members.size());
      instr.members.push_back(std::move(m));
    }
    instr.node = instr.members.back().node;
    RegionLaunch launch = regionLaunch(region);
    instr.body = std::move(launch.signature);
    for (const RegionLaunch::Strided& s : launch.strided) instr.strided.push_back(s.input);
    instr.bodyText = instr.body.text();
    instr.text = textOf(region);
    instr.rank = region.getSpace().size();
    instr.begin = static_cast<std::size_t>(region.getBegin());
    instr.end = static_cast<std::size_t>(region.getEnd());
    for (auto [yielded, result] : llvm::zip(body.getTerminator()->getOperands(), region.getResults())) {
      const std::uint32_t member = members_.lookup(yielded.getDefiningOp());
      const auto number = mlir::cast<mlir::OpResult>(yielded).getResultNumber();
      instr.resultOf.push_back(member);
      instr.results.push_back(addValue(result, {instr.members[member].node, number}));
    }
    return true;
  }

  bool findMember(mlir::Operation& op, td::RegionOp region, const llvm::DenseMap<mlir::Value, std::uint32_t>& inputs,
                  const std::vector<Program::Member>& members, Program::Member& m) const {
    auto outer = [&](mlir::Value v) {
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(v);
      return argument ? mlir::Value(region.getInputs()[argument.getArgNumber()]) : v;
    };
    std::vector<Seen> seen(op.getNumOperands());
    for (auto [k, v] : llvm::enumerate(op.getOperands())) {
      if (!td::isTensorType(v.getType())) continue;
      const Place place = placeOf(v);
      Program::Source& source = m.sources.emplace_back();
      if (mlir::isa<mlir::BlockArgument>(place.value)) {
        std::uint32_t value = 0;
        source.number = inputs.lookup(place.value);
        if (place.value != v || !look(outer(v), value, seen[k])) return false;
        continue;
      }
      auto made = mlir::cast<mlir::OpResult>(place.value);
      source.inside = true;
      source.number = members_.lookup(made.getOwner());
      source.made = {members[source.number].node, made.getResultNumber()};
      seen[k] = Seen{values_.seen(source.made).root, false, Dims(td::shapeOf(v)), place};
    }
    return find(op, seen, outer, m.node);
  }

  // ---- what is known when all operations are

  bool addOutputs() {
    auto ret = mlir::cast<td::ReturnOp>(block_.getTerminator());
    for (auto [i, v] : llvm::enumerate(ret.getValues())) {
      Seen seen;
      Program::Read& read = program_->outputs_.emplace_back();
      if (!look(v, read.value, seen)) return false;
      read.ref = outputs_[i].value;
    }
    return true;
  }

  // What a copy holds is what its readers read in it. Backwards, as copies are copied.
  bool nameCopies() {
    std::vector<bool> named(program_->values_.size());
    auto name = [&](std::uint32_t value, ValueRef ref) {
      Program::Value& v = program_->values_[value];
      if (!v.copy || named[value]) return;
      const Seen& seen = values_.seen(ref);
      v.ref = seen == shows_[value] ? ref : seen.root;
      named[value] = true;
    };
    for (const Program::Read& read : program_->outputs_) name(read.value, read.ref);
    for (Program::Instr& instr : llvm::reverse(program_->instrs_)) {
      if (instr.kind == Kind::Copy) {
        if (!named[instr.results[0]]) return false;
        instr.reads[0].ref = program_->values_[instr.results[0]].ref;
      }
      for (const Program::Read& read : instr.reads)
        if (!read.absent) name(read.value, read.ref);
      for (const Program::Member& m : instr.members) {
        std::size_t at = 0;
        for (const TraceOperand& o : trace_.operands(trace_.nodes[m.node]))
          if (o.kind == TraceOperand::Kind::Value)
            if (const Program::Source& source = m.sources[at++]; !source.inside)
              name(instr.inputs[source.number], o.value);
      }
    }
    return true;
  }

  // Values for whose sake more would be fused, were they larger.
  void findShared() {
    std::vector<int> readers(program_->values_.size());
    std::vector<bool> made(program_->values_.size());
    for (const Program::Instr& instr : program_->instrs_) {
      if (instr.kind != Kind::Region) continue;
      std::vector<std::uint32_t> inputs = instr.inputs;
      std::ranges::sort(inputs);
      const auto repeated = std::ranges::unique(inputs);
      inputs.erase(repeated.begin(), repeated.end());
      for (std::uint32_t v : inputs) ++readers[v];
      for (std::uint32_t v : instr.results) made[v] = true;
    }
    for (std::uint32_t v = 0; v < readers.size(); ++v) {
      if (readers[v] > 1) program_->shared_.push_back(v);
      if (readers[v] > 0 && made[v]) program_->made_.push_back(v);
    }
  }

  // ---- the plan

  static bool isSame(const PlanOperand& a, const PlanOperand& b) {
    return a.buffer == b.buffer && a.byteOffset == b.byteOffset && a.dtype == b.dtype && a.shape == b.shape &&
           a.strides == b.strides && a.absent == b.absent;
  }
  static bool isSame(const PlanInstr& a, const PlanInstr& b) {
    return a.kind == b.kind && a.function == b.function && a.numInputs == b.numInputs && a.scalars == b.scalars &&
           a.attrs == b.attrs && a.args == b.args && a.space.units == b.space.units &&
           a.space.elementsPerUnit == b.space.elementsPerUnit &&
           std::ranges::equal(a.operands, b.operands, [](auto& x, auto& y) { return isSame(x, y); });
  }
  static bool isSame(const PlanBuffer& a, const PlanBuffer& b) {
    return a.kind == b.kind && a.index == b.index && a.arenaOffset == b.arenaOffset && a.bytes == b.bytes;
  }
  static bool isSame(const Plan& a, const Plan& b) {
    auto same = [](auto& x, auto& y) { return isSame(x, y); };
    return a.arenaBytes == b.arenaBytes && a.numInputs == b.numInputs && a.numOutputs == b.numOutputs &&
           a.numRandom == b.numRandom && a.slots.size() == b.slots.size() && a.library == b.library &&
           std::ranges::equal(a.buffers, b.buffers, same) && std::ranges::equal(a.instrs, b.instrs, same) &&
           std::ranges::equal(a.kernels, b.kernels, [](auto& x, auto& y) { return x.bytes() == y.bytes(); });
  }

  mlir::Block& block_;
  const Trace& trace_;
  const std::vector<TraceOutput>& outputs_;
  TraceValues values_;
  MemoryPlan memory_;
  std::unique_ptr<ShapeProgram> program_;
  std::vector<Seen> shows_;  // what values hold
  llvm::DenseMap<mlir::Value, std::uint32_t> numbers_;
  llvm::DenseMap<mlir::Operation*, std::uint32_t> members_;  // of the region that is read
};

std::unique_ptr<ShapeProgram> recordShapeProgram(mlir::func::FuncOp function, const Trace& trace,
                                                 const std::vector<TraceOutput>& outputs, const Plan& plan) {
  return ShapeRecorder(function, trace, outputs).run(plan);
}

}  // namespace tandem::passes
