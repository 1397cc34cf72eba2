#include "passes/import_trace.h"

#include "passes/trace_copy.h"
#include "runtime/base/error.h"

namespace tandem::passes {

namespace {

class Importer {
 public:
  Importer(mlir::MLIRContext& context, const Trace& trace, const std::vector<TraceOutput>& outputs)
      : context_(context), builder_(&context), trace_(trace), outputs_(outputs), results_(trace.nodes.size()),
        slots_(trace.slots.size()), locations_(trace.lines.size()) {}

  mlir::OwningOpRef<mlir::func::FuncOp> run() {
    mlir::Location unknown = builder_.getUnknownLoc();
    llvm::SmallVector<mlir::Type> inputs(trace_.numInputs);
    for (const TraceNode& node : trace_.nodes)
      if (node.kind == TraceNode::Kind::Input) inputs[node.input] = td::tensorType(&context_, trace_.results(node)[0]);
    auto function = mlir::func::FuncOp::create(builder_, unknown, "main", builder_.getFunctionType(inputs, {}));
    mlir::OwningOpRef<mlir::func::FuncOp> owned(function);
    block_ = function.addEntryBlock();
    builder_.setInsertionPointToEnd(block_);
    const std::vector<bool> live = liveNodes(trace_, outputs_);
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i)
      if (live[i]) add(i);
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<std::int64_t> into;
    for (const TraceOutput& o : outputs_) {
      values.push_back(result(o.value));
      into.push_back(o.intoInput);
    }
    td::ReturnOp::create(builder_, unknown, values, into);
    return owned;
  }

 private:
  mlir::Value result(ValueRef v) const { return results_[v.node][v.result]; }

  mlir::Location location(std::uint32_t line) {
    if (line == 0 || line >= locations_.size()) return builder_.getUnknownLoc();
    if (!locations_[line]) locations_[line] = mlir::NameLoc::get(mlir::StringAttr::get(&context_, trace_.lines[line]));
    return mlir::Location(locations_[line]);
  }

  mlir::Value slot(std::int32_t index) {
    mlir::Value& v = slots_[static_cast<std::size_t>(index)];
    if (v) return v;
    Scalar::Kind kind = trace_.slots[static_cast<std::size_t>(index)].value.kind;
    mlir::Type type = kind == Scalar::Kind::Float  ? mlir::Type(builder_.getF64Type())
                      : kind == Scalar::Kind::Bool ? mlir::Type(builder_.getI1Type())
                                                   : mlir::Type(builder_.getI64Type());
    return v = td::SlotOp::create(builder_, builder_.getUnknownLoc(), type, index);
  }

  mlir::Value operand(const TraceOperand& o) {
    switch (o.kind) {
    case TraceOperand::Kind::Value:
      return result(o.value);
    case TraceOperand::Kind::Slot:
      return slot(o.slot);
    default:
      break;
    }
    if (!absent_) absent_ = td::AbsentOp::create(builder_, builder_.getUnknownLoc(), builder_.getNoneType());
    return absent_;
  }

  void add(std::size_t i) {
    const TraceNode& node = trace_.nodes[i];
    llvm::SmallVector<mlir::Value, 4> operands;
    for (const TraceOperand& o : trace_.operands(node)) operands.push_back(operand(o));
    llvm::SmallVector<mlir::Type, 2> types;
    for (const TensorMeta& m : trace_.results(node)) types.push_back(td::tensorType(&context_, m));
    mlir::Location loc = location(node.line);
    auto window = [&]() -> const Window& { return trace_.window(node); };
    mlir::Operation* op = nullptr;
    switch (node.kind) {
    case TraceNode::Kind::Input:
      results_[i] = {block_->getArgument(node.input)};
      return;
    case TraceNode::Kind::Window:
      op = td::WindowOp::create(builder_, loc, types[0], operands[0], array(window().strides), window().offset);
      break;
    case TraceNode::Kind::Write:
      op = td::WriteOp::create(builder_, loc, types[0], operands[0], operands[1], array(window().strides),
                               window().offset);
      break;
    case TraceNode::Kind::Op:
      op = addTableOp(node, loc, types, operands);
      break;
    }
    results_[i].assign(op->getResults().begin(), op->getResults().end());
  }

  static mlir::ArrayRef<std::int64_t> array(const Dims& d) { return {d.data(), d.size()}; }

  mlir::Operation* addTableOp(const TraceNode& node, mlir::Location loc, mlir::TypeRange types,
                              mlir::ValueRange operands) {
    auto op = td::OpAttr::get(&context_, node.op);
    llvm::ArrayRef<std::int64_t> attrs = trace_.attrs(node);
    switch (facts(node.op).kind) {
    case OpKind::Pointwise:
    case OpKind::Creation:
      return td::PointwiseOp::create(builder_, loc, types, op, operands, attrs);
    case OpKind::Reduction:
      return td::ReduceOp::create(builder_, loc, types, op, operands, attrs);
    case OpKind::Random:
      return td::RandomOp::create(builder_, loc, types, op, operands, attrs);
    default:
      if (isLibrary(facts(node.op).kind)) return td::LibraryOp::create(builder_, loc, types, op, operands, attrs);
      fail<InternalError>("a trace holds ", facts(node.op).name, ", which is no primitive of execution");
    }
  }

  mlir::MLIRContext& context_;
  mlir::OpBuilder builder_;
  const Trace& trace_;
  const std::vector<TraceOutput>& outputs_;
  mlir::Block* block_ = nullptr;
  std::vector<llvm::SmallVector<mlir::Value, 1>> results_;
  std::vector<mlir::Value> slots_;
  std::vector<mlir::LocationAttr> locations_;
  mlir::Value absent_;
};

}  // namespace

mlir::OwningOpRef<mlir::func::FuncOp> importTrace(mlir::MLIRContext& context, const Trace& trace,
                                                  const std::vector<TraceOutput>& outputs) {
  return Importer(context, trace, outputs).run();
}

}  // namespace tandem::passes
