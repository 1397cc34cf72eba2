#include "passes/kernel_builder.h"

#include <llvm/ADT/DenseMap.h>

#include "passes/windows.h"
#include "runtime/base/error.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/reduce_split.h"

namespace tandem::passes {

namespace {

bool isTensor(mlir::Value v) { return mlir::isa<mlir::RankedTensorType>(v.getType()); }

// Writes the steps of a body. Conversions are steps of their own, made once a value and dtype.
class StepWriter {
 public:
  StepWriter(KernelSignature& signature, td::RegionOp region) : s_(signature) {
    mlir::Block& body = region.getBody().front();
    for (mlir::BlockArgument arg : body.getArguments())
      if (isTensor(arg)) addInput(arg, td::dtypeOf(arg.getType()), s_.inputs);
    for (mlir::BlockArgument arg : body.getArguments()) {
      if (isTensor(arg) || mlir::isa<mlir::NoneType>(arg.getType())) continue;
      DType dtype = td::dtypeOf(arg.getType()) == DType::Float64 ? DType::Float64 : DType::Int64;
      addInput(arg, dtype, s_.scalars);
    }
    for (mlir::Operation& op : body.without_terminator()) write(op);
    for (mlir::Value v : body.getTerminator()->getOperands()) store(v);
  }

 private:
  struct Known {
    std::uint16_t id;
    DType dtype;
    std::uint16_t stored;  // what an output holds: of a reduction to a half type the accumulator
  };

  template <class List>
  void addInput(mlir::Value v, DType dtype, List& list) {
    if constexpr (std::is_same_v<typename List::value_type, DType>)
      list.push_back(dtype);
    else
      list.push_back({dtype, Access::Unit});
    know(v, static_cast<std::uint16_t>(s_.inputs.size() + s_.scalars.size() - 1), dtype);
  }
  void know(mlir::Value v, std::uint16_t id, DType dtype) { known_[v] = {id, dtype, id}; }

  std::uint16_t push(const KernelStep& step) {
    s_.steps.push_back(step);
    return static_cast<std::uint16_t>(s_.inputs.size() + s_.scalars.size() + s_.steps.size() - 1);
  }
  std::uint16_t convert(std::uint16_t id, DType from, DType to) {
    if (from == to) return id;
    auto [it, fresh] = converted_.try_emplace({id, static_cast<int>(to)}, 0);
    if (fresh) it->second = push({OpCode::to, to, KernelStep::Kind::Pointwise, {id}, 0});
    return it->second;
  }

  void write(mlir::Operation& op) {
    if (auto window = mlir::dyn_cast<td::WindowOp>(op)) {
      known_[window.getResult()] = Known(known_.lookup(window.getSource()));
    } else if (auto reduce = mlir::dyn_cast<td::ReduceOp>(op)) {
      writeReduce(reduce);
    } else if (auto pointwise = mlir::dyn_cast<td::PointwiseOp>(op)) {
      writePointwise(op, pointwise.getOp().getCode(), pointwise.getAttrs());
    } else if (auto frame = mlir::dyn_cast<td::FrameOp>(op)) {
      Known value = known_.lookup(frame.getValue());
      s_.inputs[value.id].access = Access::Framed;
      known_[frame.getResult()] = value;
    } else {
      auto random = mlir::cast<td::RandomOp>(op);
      writePointwise(op, random.getOp().getCode(), random.getAttrs());
    }
  }

  void writeReduce(td::ReduceOp op) {
    const OpFacts& f = facts(op.getOp().getCode());
    DType result = td::dtypeOf(op.getResult(0).getType());
    DType accumulator = f.dtypeRule == DTypeRule::Logical ? DType::Bool : computeType(result);
    Known in = known_.lookup(op.getInputs()[0]);
    std::uint16_t sum = push({f.code, accumulator, KernelStep::Kind::Reduce, {in.id}, 0});
    mlir::Value v = op.getResult(0);
    if (isHalf(result)) {
      // Rounded when it is stored, and for whatever reads it here.
      bool read = llvm::any_of(v.getUsers(), [](mlir::Operation* u) { return !mlir::isa<td::YieldOp>(u); });
      known_[v] = {read ? convert(sum, accumulator, result) : sum, read ? result : accumulator, sum};
    } else {
      know(v, convert(sum, accumulator, result), result);
    }
  }

  void writePointwise(mlir::Operation& op, OpCode code, mlir::ArrayRef<std::int64_t> attrs) {
    const OpFacts& f = facts(code);
    std::vector<TensorMeta> metas;
    for (mlir::Value v : op.getOperands()) metas.push_back(td::metaOf(v.getType()));
    PointwiseTypes types = pointwiseTypes(f, metas, attrs);
    SmallVector<std::uint16_t, 4> operands;
    for (std::size_t i = 0; i < metas.size(); ++i) {
      Known in = known_.lookup(op.getOperand(static_cast<unsigned>(i)));
      bool asItIs = metas[i].weak && f.dtypeRule == DTypeRule::Raw;
      operands.push_back(asItIs ? in.id : convert(in.id, in.dtype, operandType(f, types, i, metas[i])));
    }
    if (f.usesIndex) {
      if (index_ < 0) index_ = push({code, DType::Int64, KernelStep::Kind::Index, {}, 0});
      operands.push_back(static_cast<std::uint16_t>(index_));
    }
    for (unsigned r = 0; r < op.getNumResults(); ++r) {
      mlir::Value v = op.getResult(r);
      std::uint16_t id =
          push({code, types.result, KernelStep::Kind::Pointwise, operands, static_cast<std::uint8_t>(r)});
      DType result = td::dtypeOf(v.getType());
      know(v, convert(id, types.result, result), result);
    }
  }

  void store(mlir::Value v) {
    s_.outputs.push_back({{td::dtypeOf(v.getType()), Access::Unit}, known_.lookup(v).stored});
  }

  KernelSignature& s_;
  llvm::DenseMap<mlir::Value, Known> known_;
  llvm::DenseMap<std::pair<int, int>, std::uint16_t> converted_;
  int index_ = -1;
};

// The frame that a region's input is the value of; null for other inputs.
td::FrameOp frameOf(td::RegionOp region, std::size_t input) {
  mlir::Value argument = region.getBody().front().getArgument(static_cast<unsigned>(input));
  for (mlir::Operation* user : argument.getUsers())
    if (auto frame = mlir::dyn_cast<td::FrameOp>(user); frame && frame.getValue() == argument) return frame;
  return {};
}

// Has a kernel an index, or inputs addressed by their place in its whole space?
bool knowsPlace(const KernelSignature& s) {
  return llvm::any_of(s.steps, [](auto& step) { return step.kind == KernelStep::Kind::Index; }) ||
         llvm::any_of(s.inputs, [](auto& input) { return input.access == Access::Framed; });
}

// Sizes and strides into the block, once collapsed: shape is [outer..., (reduced,) inner].
void fillArgs(Launch& launch, Dims shape, std::vector<Dims> strides) {
  KernelSignature& s = launch.signature;
  bool column = s.kind == KernelKind::Column;
  const bool placed = knowsPlace(s);
  if (!column && !placed) bringDenseNext(shape, strides);
  std::size_t rank = shape.size();
  s.outerRank = static_cast<std::uint8_t>(rank - (column ? 2 : 1));
  ArgLayout layout(s);
  launch.args.assign(layout.size(), 0);
  launch.n = shape[rank - 1];
  launch.rows = 1;
  for (int d = 0; d < layout.outerRank; ++d) {
    launch.args[layout.outerSize(d)] = shape[static_cast<std::size_t>(d)];
    launch.rows *= shape[static_cast<std::size_t>(d)];
  }
  launch.args[layout.innerSize()] = launch.n;
  if (column) launch.args[layout.reducedSize()] = shape[rank - 2];
  for (std::size_t k = 0; k < strides.size(); ++k) {
    launch.args[layout.innerStride(k)] = strides[k][rank - 1];
    if (column) launch.args[layout.reducedStride(k)] = strides[k][rank - 2];
    for (int d = 0; d < layout.outerRank; ++d)
      launch.args[layout.outerStride(k, d)] = strides[k][static_cast<std::size_t>(d)];
    bool input = k < s.inputs.size();
    KernelOperand& operand = input ? s.inputs[k] : s.outputs[k - s.inputs.size()].operand;
    if (operand.access != Access::Framed) operand.access = accessOf(strides[k][rank - 1], launch.n);
  }
  const bool reduces = llvm::any_of(s.steps, [](auto& step) { return step.kind == KernelStep::Kind::Reduce; });
  if (!placed) takeAcross(s.inputs, launch.args.data(), layout, reduces);
  if (column) {
    launch.units = launch.rows * launch.n;
    launch.elementsPerUnit = shape[rank - 2];
  } else if (layout.outerRank == 0) {
    launch.units = launch.n;
    launch.elementsPerUnit = 1;
  } else {
    launch.units = launch.rows;
    launch.elementsPerUnit = launch.n;
  }
}

}  // namespace

Launch regionLaunch(td::RegionOp region) {
  Launch launch;
  KernelSignature& s = launch.signature;
  StepWriter(s, region);
  Dims shape{DimsRef(region.getSpace())};
  std::vector<Dims> strides;
  auto map = [&](std::size_t i) {
    return Dims(DimsRef(mlir::cast<mlir::DenseI64ArrayAttr>(region.getMaps()[i]).asArrayRef()));
  };
  std::size_t at = 0;
  std::vector<std::int64_t> frames;
  for (mlir::Value v : region.getInputs()) {
    if (td::FrameOp frame = frameOf(region, at)) {
      strides.push_back(spread(shape, map(at), contiguousStrides(coreDims(td::shapeOf(frame)))));
      frames.push_back(static_cast<std::int64_t>(frame.getBegin()));
      frames.push_back(numelOf(td::shapeOf(v)));
    } else if (isTensor(v)) {
      strides.push_back(stridesOver(shape, map(at), v));
    }
    ++at;
  }
  // Results are contiguous: one after the other in their own shape.
  for (mlir::Value v : region.getResults()) {
    strides.push_back(spread(shape, map(at++), contiguousStrides(coreDims(td::shapeOf(v)))));
  }
  auto begin = static_cast<std::size_t>(region.getBegin());
  auto end = static_cast<std::size_t>(region.getEnd());
  if (region.getKind() == "pointwise") {
    s.kind = KernelKind::Row;
    collapsePointwise(shape, strides);
  } else if (region.getKind() == "row") {
    s.kind = KernelKind::Row;
    TANDEM_CHECK(collapseRow(shape, strides, begin), "the rows of a region do not collapse");
  } else {
    s.kind = KernelKind::Column;
    TANDEM_CHECK(collapseColumn(shape, strides, begin, end), "the columns of a region do not collapse");
  }
  fillArgs(launch, std::move(shape), std::move(strides));
  std::copy(frames.begin(), frames.end(), launch.args.end() - static_cast<std::ptrdiff_t>(frames.size()));
  TANDEM_CHECK(s.outerRank <= kMaxOuterRank, s.text());
  return launch;
}

Launch copyLaunch(DType dtype, const Dims& shape, const Dims& from, const Dims& to) {
  Launch launch;
  KernelSignature& s = launch.signature;
  s.inputs.push_back({dtype, Access::Unit});
  s.steps.push_back({OpCode::clone, dtype, KernelStep::Kind::Pointwise, {0}, 0});
  s.outputs.push_back({{dtype, Access::Unit}, 1});
  Dims walked = shape;
  std::vector<Dims> strides{from, to};
  collapsePointwise(walked, strides);
  fillArgs(launch, std::move(walked), std::move(strides));
  return launch;
}

std::pair<Launch, Launch> splitLaunch(const Launch& whole) {
  SplitRows split = splitRows(whole.signature);
  std::size_t inputs = whole.signature.inputs.size();
  std::int64_t blocks = rowBlocks(whole.n);
  Launch first = whole;
  first.signature = split.partial;
  first.units = whole.rows * blocks;
  first.elementsPerUnit = std::min(whole.n, kTrailingBlock);
  ArgLayout layout(first.signature);
  Launch second;
  second.signature = split.finish;
  second.rows = second.units = whole.rows;
  second.n = second.elementsPerUnit = blocks;
  ArgLayout finish(second.signature);
  second.args.assign(finish.size(), 0);
  second.args[finish.outerSize(0)] = whole.rows;
  second.args[finish.innerSize()] = blocks;
  for (std::size_t k = 0; k < split.finish.outputs.size(); ++k) {
    std::int64_t step = blocks;
    for (int d = layout.outerRank; d-- > 0;) {
      first.args[layout.outerStride(inputs + k, d)] = step;
      step *= whole.args[layout.outerSize(d)];
    }
    first.args[layout.innerStride(inputs + k)] = 1;
    second.args[finish.innerStride(k)] = 1;
    second.args[finish.outerStride(k, 0)] = blocks;
    // Rows are the outputs' elements, in order.
    second.args[finish.outerStride(split.finish.inputs.size() + k, 0)] = 1;
  }
  return {first, second};
}

}  // namespace tandem::passes
