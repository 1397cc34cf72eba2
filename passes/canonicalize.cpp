// Canonicalize: one form for what can be written in several ways, so that later passes see few. It is here and not in
// MLIR because one walk in program order does it all, and because only what is exact for every value is allowed.
//
//   windows     of windows become one; the whole of a value is the value; what does not compose reads a copy; frames
//               take the shape of a window on the whole; of an operation's result that nobody else reads, the
//               operation on windows of its operands
//   writes      of a whole value are the new value; of a stretch of a value that is one element repeated, a frame; what
//               an operation computes for them, it computes in the order in which it will lie in memory
//   pointwise   clones and conversions to the same dtype of contiguous operands are the operand
//   reductions  over several groups of dims become a chain of reductions over one group each (ir/schema/
//               reduction_plan.h); over no dims but such of size 1, a conversion; over no elements, a constant; what an
//               operation computes for rows that do not merge, it computes in their order
//   dead code   goes
//
// Later passes rely on what it does to windows and reductions, which is done in any case.
#include <algorithm>

#include "ir/schema/reduction_plan.h"
#include "passes/clusters.h"
#include "passes/passes.h"
#include "passes/windows.h"
#include "runtime/base/attrs.h"

namespace tandem::passes {

namespace {

class Canonicalize : public mlir::PassWrapper<Canonicalize, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Canonicalize)
  explicit Canonicalize(bool improve) : improve_(improve) {}
  llvm::StringRef getArgument() const override { return "td-canonicalize"; }
  llvm::StringRef getName() const override { return "canonicalize"; }
  llvm::StringRef getDescription() const override { return "One form for windows, writes, conversions and reductions"; }

  void runOnOperation() override {
    mlir::Block& block = getOperation().getBody().front();
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) visit(&op);
    if (!improve_) return;
    for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && !op.hasTrait<mlir::OpTrait::IsTerminator>()) op.erase();
  }

 private:
  void visit(mlir::Operation* op, bool rearranged = false) {
    mlir::OpBuilder b(op);
    mlir::Value simpler;
    if (auto window = mlir::dyn_cast<td::WindowOp>(op)) {
      simpler = simplify(b, window);
      if (!simpler && improve_) return moveUp(b, window, rearranged);
    } else if (auto write = mlir::dyn_cast<td::WriteOp>(op); write && improve_) {
      simpler = inOrderOfPlace(b, write);
      if (!simpler) simpler = simplify(b, write);
    } else if (auto pointwise = mlir::dyn_cast<td::PointwiseOp>(op); pointwise && improve_) {
      simpler = simplify(pointwise);
    } else if (auto reduce = mlir::dyn_cast<td::ReduceOp>(op)) {
      if (improve_) inOrderOfRows(reduce);
      simpler = simplify(b, reduce);
    }
    if (!simpler) return;
    op->getResult(0).replaceAllUsesWith(simpler);
    op->erase();
  }

  static mlir::ArrayRef<std::int64_t> array(const Dims& d) { return {d.data(), d.size()}; }

  static mlir::Value window(mlir::OpBuilder& b, mlir::Location loc, mlir::Type type, const Place& place) {
    if (place.value.getType() == type &&
        isWhole(td::shapeOf(place.value), td::shapeOf(place.value), place.strides, place.offset))
      return place.value;
    return td::WindowOp::create(b, loc, type, place.value, array(place.strides), place.offset);
  }

  static mlir::Value simplify(mlir::OpBuilder& b, td::WindowOp op) {
    DimsRef shape = td::shapeOf(op);
    Place place = placeOf(op);
    if (auto inner = op.getSource().getDefiningOp<td::WindowOp>()) {
      auto composed = composeWindows(placeOf(inner), td::shapeOf(inner), shape, op.getStrides(), op.getOffset());
      if (composed) return window(b, op.getLoc(), op.getType(), *composed);
      op.getSourceMutable().assign(copyOf(b, inner));
      return {};
    }
    if (place.value.getType() == op.getType() && isWhole(shape, shape, place.strides, place.offset)) return place.value;
    // A frame goes by the order of elements, not by the shape.
    if (auto frame = op.getSource().getDefiningOp<td::FrameOp>())
      if (place.offset == 0 && numelOf(shape) == numelOf(td::shapeOf(frame)) && isContiguous(shape, place.strides))
        return td::FrameOp::create(b, op.getLoc(), op.getType(), frame.getValue(), frame.getFill(), frame.getBegin());
    return {};
  }

  // One copy serves every window that does not compose with this one.
  static mlir::Value copyOf(mlir::OpBuilder& b, td::WindowOp inner) {
    if (auto made = mlir::dyn_cast_or_null<td::CopyOp>(inner->getNextNode()); made && made.getSource() == inner)
      return made.getResult();
    b.setInsertionPointAfter(inner);
    return td::CopyOp::create(b, inner.getLoc(), inner.getType(), inner.getResult()).getResult();
  }

  // Can a window that is all that reads this value be of the operands instead?
  static bool movesUp(mlir::Value v) { return isElementwise(v) && v.hasOneUse(); }
  static bool isElementwise(mlir::Value v) {
    auto op = v.getDefiningOp<td::PointwiseOp>();
    return op && op->getNumResults() == 1 && !facts(op.getOp().getCode()).usesIndex &&
           facts(op.getOp().getCode()).kind == OpKind::Pointwise;
  }
  // And so on, up to where values are read from memory. What one operation reads twice is one window.
  static bool allMoveUp(mlir::Value v) {
    return isElementwise(v) && llvm::all_equal(v.getUsers()) &&
           llvm::all_of(v.getDefiningOp()->getOperands(), [](mlir::Value operand) {
             return !operand.getDefiningOp<td::PointwiseOp>() || allMoveUp(operand);
           });
  }

  // A part of what an operation computes, read by this window alone, is computed of parts of the operands; so is all of
  // it in another order, where that is `rearranged` for a write or a reduction.
  void moveUp(mlir::OpBuilder& b, td::WindowOp op, bool rearranged) {
    DimsRef shape = td::shapeOf(op);
    const std::int64_t all = numelOf(td::shapeOf(op.getSource()));
    if (!movesUp(op.getSource()) || numelOf(shape) > all || (numelOf(shape) == all && !rearranged)) return;
    auto whole = op.getSource().getDefiningOp<td::PointwiseOp>();
    DimsRef from = td::shapeOf(op.getSource());
    llvm::SmallVector<std::optional<Place>> places;
    for (mlir::Value v : whole.getInputs()) {
      std::optional<Place>& part = places.emplace_back();
      if (!td::isTensorType(v.getType())) continue;
      Place place = placeOf(v);
      place.strides = broadcastStrides(td::shapeOf(v), place.strides, from);
      part = composeWindows(place, from, shape, op.getStrides(), op.getOffset());
      if (!part) return;
    }
    llvm::SmallVector<mlir::Value> operands;
    for (auto [i, v] : llvm::enumerate(whole.getInputs())) {
      // An operand named twice stays one.
      auto before = static_cast<std::size_t>(llvm::find(whole.getInputs(), v) - whole.getInputs().begin());
      if (!places[i] || before < i) {
        operands.push_back(places[i] ? operands[before] : v);
        continue;
      }
      TensorMeta meta{Dims(shape), td::dtypeOf(v.getType())};
      operands.push_back(window(b, op.getLoc(), td::tensorType(b.getContext(), meta), *places[i]));
    }
    auto part = td::PointwiseOp::create(b, op.getLoc(), mlir::TypeRange{op.getType()}, whole.getOp(), operands,
                                        whole.getAttrs());
    op.replaceAllUsesWith(part.getResult(0));
    op.erase();
    whole.erase();
    llvm::SmallVector<td::WindowOp> windows;
    for (mlir::Value v : operands)
      if (auto made = v.getDefiningOp<td::WindowOp>(); made && !llvm::is_contained(windows, made))
        windows.push_back(made);
    for (td::WindowOp made : windows) visit(made, rearranged);
  }

  static mlir::Value simplify(mlir::OpBuilder& b, td::WriteOp op) {
    DimsRef shape = td::shapeOf(op.getValue());
    if (numelOf(shape) == 0) return op.getBase();
    if (!isContiguous(shape, op.getStrides())) return {};
    if (numelOf(shape) != numelOf(td::shapeOf(op))) return framed(b, op);
    mlir::Value value = op.getValue();
    Place place = placeOf(value);
    // Library functions may treat strided operands otherwise than contiguous ones, and the base was contiguous.
    if (!isContiguous(shape, place.strides))
      value = pointwise(b, op.getLoc(), opOf(OpRole::Copy), value, {}, td::metaOf(value.getType()));
    else if (value != place.value)
      return window(b, op.getLoc(), op.getType(), {place.value, contiguousStrides(td::shapeOf(op)), place.offset});
    return reshaped(b, op.getLoc(), value, op.getType());
  }

  // What is computed in another order than the rows in which it is reduced, by nobody else, is computed in theirs where
  // they do not merge: a kernel of rows can do both, and could not read what was stored as it lies. (Elsewhere it
  // stays, since shape programs know values in the order of the trace.)
  void inOrderOfRows(td::ReduceOp op) {
    auto window = op.getInputs()[0].getDefiningOp<td::WindowOp>();
    if (!window || !allMoveUp(window.getSource())) return;
    AttrReader attrs(op.getAttrs());
    const Dims dims(attrs.list());
    const Dims shape = coreDims(td::shapeOf(window));
    const auto [begin, end] = reducedCoreDims(td::shapeOf(window), dims);
    const Dims strides = coreStrides(td::shapeOf(window), window.getStrides());
    if (end == shape.size() && !mergesInto(shape, strides, begin, end)) visit(window, true);
  }

  // What is written to a place whose dims lie in memory in another order than those of the value.
  mlir::Value inOrderOfPlace(mlir::OpBuilder& b, td::WriteOp op) {
    DimsRef shape = td::shapeOf(op.getValue());
    DimsRef strides = op.getStrides();
    Dims order;  // without dims of size 1
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1) order.push_back(static_cast<std::int64_t>(d));
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return strides[a] > strides[b]; });
    if (std::ranges::is_sorted(order) || numelOf(shape) == 0 || !allMoveUp(op.getValue())) return {};
    const Dims linear = contiguousStrides(shape);
    TensorMeta sorted{{}, td::dtypeOf(op.getValue().getType())};
    Dims from;
    Dims to;
    for (std::int64_t d : order) {
      sorted.shape.push_back(shape[d]);
      from.push_back(linear[d]);
      to.push_back(strides[d]);
    }
    // Of places that meet themselves the last one written counts.
    for (std::size_t d = 0; d + 1 < order.size(); ++d)
      if (to[d] < to[d + 1] * sorted.shape[d + 1]) return {};
    auto turned =
        td::WindowOp::create(b, op.getLoc(), td::tensorType(b.getContext(), sorted), op.getValue(), array(from), 0);
    auto write =
        td::WriteOp::create(b, op.getLoc(), op.getType(), op.getBase(), turned.getResult(), array(to), op.getOffset());
    // The value has one use only when the write that is replaced no longer has it.
    op.getValueMutable().assign(op.getBase());
    visit(turned, true);
    mlir::Value simpler = simplify(b, write);
    if (!simpler) return write.getResult();
    write.erase();
    return simpler;
  }

  // Nothing is written to memory that others would have to read whole: the reader sees where the stretch is.
  static mlir::Value framed(mlir::OpBuilder& b, td::WriteOp op) {
    mlir::Value fill = repeated(b, op.getBase());
    if (!fill) return {};
    mlir::Value value = op.getValue();
    if (!isContiguous(td::shapeOf(value), placeOf(value).strides))
      value = pointwise(b, op.getLoc(), opOf(OpRole::Copy), value, {}, td::metaOf(value.getType()));
    return td::FrameOp::create(b, op.getLoc(), op.getType(), value, fill, op.getOffset());
  }

  // The one element that all of a value are; nothing where that is not plain.
  static mlir::Value repeated(mlir::OpBuilder& b, mlir::Value v) {
    TensorMeta one{{}, td::dtypeOf(v.getType())};
    if (auto op = v.getDefiningOp<td::PointwiseOp>()) {
      OpCode code = op.getOp().getCode();
      if (facts(code).role == OpRole::Copy) return repeated(b, op.getInputs()[0]);
      if (facts(code).role != OpRole::Fill) return {};
      return pointwise(b, op.getLoc(), code, op.getInputs()[0], {0, static_cast<std::int64_t>(one.dtype)}, one);
    }
    Place place = placeOf(v);
    DimsRef shape = td::shapeOf(v);
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1 && place.strides[d] != 0) return {};
    return window(b, v.getLoc(), td::tensorType(b.getContext(), one), {place.value, {}, place.offset});
  }

  static mlir::Value simplify(td::PointwiseOp op) {
    const OpRole role = facts(op.getOp().getCode()).role;
    if (role != OpRole::Convert && role != OpRole::Copy) return {};
    mlir::Value operand = op.getInputs()[0];
    if (operand.getType() != op.getResult(0).getType()) return {};
    // A clone of a strided window is how programs make operands of library functions contiguous.
    return isContiguous(td::shapeOf(operand), placeOf(operand).strides) ? operand : mlir::Value();
  }

  static mlir::Value pointwise(mlir::OpBuilder& b, mlir::Location loc, OpCode code, mlir::Value operand,
                               llvm::ArrayRef<std::int64_t> attrs, const TensorMeta& result) {
    auto type = td::tensorType(b.getContext(), result);
    auto op = td::PointwiseOp::create(b, loc, mlir::TypeRange{type}, td::OpAttr::get(b.getContext(), code),
                                      mlir::ValueRange{operand}, attrs);
    return op.getResult(0);
  }

  // Of the same elements, in another shape.
  static mlir::Value reshaped(mlir::OpBuilder& b, mlir::Location loc, mlir::Value v, mlir::Type type) {
    auto shape = mlir::cast<mlir::RankedTensorType>(type).getShape();
    Place place{v, contiguousStrides(shape), 0};
    if (auto inner = v.getDefiningOp<td::WindowOp>()) {
      if (auto composed = composeWindows(placeOf(inner), td::shapeOf(inner), shape, place.strides, 0))
        return window(b, loc, type, *composed);
      place.value = td::CopyOp::create(b, loc, v.getType(), v);
    }
    return window(b, loc, type, place);
  }

  static mlir::Value simplify(mlir::OpBuilder& b, td::ReduceOp op) {
    AttrReader attrs(op.getAttrs());
    Dims dims(attrs.list());
    mlir::Location loc = op.getLoc();
    TensorMeta from = td::metaOf(op.getInputs()[0].getType());
    TensorMeta to = td::metaOf(op.getResult(0).getType());
    OpCode code = op.getOp().getCode();
    if (numelOf(from.shape) == 0) {
      mlir::Value identity = td::ConstantOp::create(b, loc, b.getI64Type(), reductionIdentity(facts(code).name));
      llvm::SmallVector<std::int64_t> full(to.shape.begin(), to.shape.end());
      full.insert(full.begin(), static_cast<std::int64_t>(full.size()));
      full.push_back(static_cast<std::int64_t>(to.dtype));
      return pointwise(b, loc, opOf(OpRole::Fill), identity, full, to);
    }
    const auto stages = reductionStages(from.shape, dims);
    if (stages.empty()) {
      mlir::Value v = op.getInputs()[0];
      // any and all ask whether an element is nonzero, whatever they store the answer as.
      if (facts(code).dtypeRule == DTypeRule::Logical) v = converted(b, loc, v, DType::Bool);
      return reshaped(b, loc, converted(b, loc, v, to.dtype), op.getResult(0).getType());
    }
    if (stages.size() == 1) return {};
    mlir::Value v = op.getInputs()[0];
    for (const ReductionStep& step : reductionSteps(facts(code), from, to, {stages.data(), stages.size()}))
      v = td::ReduceOp::create(b, loc, mlir::TypeRange{td::tensorType(b.getContext(), step.result)}, op.getOp(),
                               mlir::ValueRange{v}, mlir::ArrayRef(step.attrs.data(), step.attrs.size()))
              .getResult(0);
    return reshaped(b, loc, v, op.getResult(0).getType());
  }

  static mlir::Value converted(mlir::OpBuilder& b, mlir::Location loc, mlir::Value v, DType dtype) {
    TensorMeta meta = td::metaOf(v.getType());
    if (meta.dtype == dtype) return v;
    meta.dtype = dtype;
    return pointwise(b, loc, opOf(OpRole::Convert), v, {static_cast<std::int64_t>(dtype)}, meta);
  }

  bool improve_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createCanonicalize(bool improve) { return std::make_unique<Canonicalize>(improve); }

}  // namespace tandem::passes
