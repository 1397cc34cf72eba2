#include "passes/kernel_builder.h"

#include <span>
#include <utility>

#include <llvm/ADT/DenseMap.h>

#include "passes/clusters.h"
#include "passes/direct_writes.h"
#include "passes/windows.h"
#include "runtime/base/error.h"

namespace tandem::passes {

namespace {

bool isTensor(mlir::Value v) { return mlir::isa<mlir::RankedTensorType>(v.getType()); }

// Takes the operations of a region's body to a signature's.
class RegionBody {
 public:
  RegionBody(KernelSignature& signature, td::RegionOp region) : body_(signature, opOf(OpRole::Convert)) {
    mlir::Block& block = region.getBody().front();
    for (mlir::BlockArgument arg : block.getArguments())
      if (isTensor(arg)) known_[arg] = body_.input(td::dtypeOf(arg.getType()));
    for (mlir::BlockArgument arg : block.getArguments())
      if (!isTensor(arg) && !mlir::isa<mlir::NoneType>(arg.getType()))
        known_[arg] = body_.scalar(td::dtypeOf(arg.getType()));
    for (mlir::Operation& op : block.without_terminator()) write(op);
    for (mlir::Value v : block.getTerminator()->getOperands()) body_.output(known_.lookup(v), td::dtypeOf(v.getType()));
  }

 private:
  void write(mlir::Operation& op) {
    if (auto window = mlir::dyn_cast<td::WindowOp>(op)) {
      known_[window.getResult()] = BodyValue(known_.lookup(window.getSource()));
    } else if (auto reduce = mlir::dyn_cast<td::ReduceOp>(op)) {
      writeReduce(reduce);
    } else if (auto pointwise = mlir::dyn_cast<td::PointwiseOp>(op)) {
      writePointwise(op, pointwise.getOp().getCode(), pointwise.getAttrs());
    } else if (auto frame = mlir::dyn_cast<td::FrameOp>(op)) {
      const BodyValue value = known_.lookup(frame.getValue());
      body_.frame(value);
      known_[frame.getResult()] = value;
    } else {
      auto random = mlir::cast<td::RandomOp>(op);
      writePointwise(op, random.getOp().getCode(), random.getAttrs());
    }
  }

  void writeReduce(td::ReduceOp op) {
    const OpFacts& f = facts(op.getOp().getCode());
    mlir::Value v = op.getResult(0);
    const DType result = td::dtypeOf(v.getType());
    const DType accumulator = f.dtypeRule == DTypeRule::Logical ? DType::Bool : computeType(result);
    const bool isRead = llvm::any_of(v.getUsers(), [](mlir::Operation* u) { return !mlir::isa<td::YieldOp>(u); });
    known_[v] = body_.reduce(f.code, accumulator, known_.lookup(op.getInputs()[0]), result, isRead);
  }

  void writePointwise(mlir::Operation& op, OpCode code, mlir::ArrayRef<std::int64_t> attrs) {
    const OpFacts& f = facts(code);
    std::vector<TensorMeta> metas;
    for (mlir::Value v : op.getOperands()) metas.push_back(td::metaOf(v.getType()));
    const PointwiseTypes types = pointwiseTypes(f, metas, attrs);
    std::vector<BodyValue> operands;
    std::vector<DType> to;
    for (std::size_t i = 0; i < metas.size(); ++i) {
      operands.push_back(known_.lookup(op.getOperand(static_cast<unsigned>(i))));
      to.push_back(operandType(f, types, i, metas[i]));
    }
    std::vector<BodyValue> results;
    for (mlir::Value v : op.getResults()) results.push_back({0, td::dtypeOf(v.getType()), 0});
    body_.pointwise(code, types.result, f.usesIndex, operands, to, results);
    for (auto [v, result] : llvm::zip(op.getResults(), results)) known_[v] = result;
  }

  BodyWriter body_;
  llvm::DenseMap<mlir::Value, BodyValue> known_;
};

// Has a kernel an index, or inputs addressed by their place in its whole space?
bool knowsPlace(const KernelSignature& s) {
  return llvm::any_of(s.steps, [](auto& step) { return step.kind == KernelStep::Kind::Index; }) ||
         llvm::any_of(s.inputs, [](auto& input) { return input.access == Access::Framed; });
}

// The strides of a result over its own dims other than 1: one after the other in its own shape, or where a write of it
// puts it.
Dims resultStrides(mlir::Value result) {
  if (td::WriteOp write = directWrite(result)) return coreStrides(td::shapeOf(result), DimsRef(write.getStrides()));
  return contiguousStrides(coreDims(td::shapeOf(result)));
}

// False where no kernel walks the operands.
bool layOutRegion(RegionLaunch& launch, td::RegionOp region) {
  RegionBody(launch.signature, region);
  const Dims space{DimsRef(region.getSpace())};
  std::vector<Dims> strides;
  std::size_t at = 0;
  std::vector<std::int64_t> frames;
  for (mlir::Value v : region.getInputs()) {
    if (isTensor(v)) strides.push_back(inputStrides(region, at));
    if (td::FrameOp frame = frameOf(region, at)) {
      frames.push_back(static_cast<std::int64_t>(frame.getBegin()));
      frames.push_back(numelOf(td::shapeOf(v)));
    }
    ++at;
  }
  for (mlir::Value v : region.getResults()) strides.push_back(spread(space, regionMap(region, at++), resultStrides(v)));
  if (!layOutRegion(launch, region.getKind(), static_cast<std::size_t>(region.getBegin()),
                    static_cast<std::size_t>(region.getEnd()), space, std::move(strides)))
    return false;
  std::copy(frames.begin(), frames.end(), launch.args.end() - static_cast<std::ptrdiff_t>(frames.size()));
  return true;
}

}  // namespace

Dims regionMap(td::RegionOp region, std::size_t operand) {
  return Dims(DimsRef(mlir::cast<mlir::DenseI64ArrayAttr>(region.getMaps()[operand]).asArrayRef()));
}

td::FrameOp frameOf(td::RegionOp region, std::size_t input) {
  mlir::Value argument = region.getBody().front().getArgument(static_cast<unsigned>(input));
  for (mlir::Operation* user : argument.getUsers())
    if (auto frame = mlir::dyn_cast<td::FrameOp>(user); frame && frame.getValue() == argument) return frame;
  return {};
}

Dims inputStrides(td::RegionOp region, std::size_t input) {
  const Dims space{DimsRef(region.getSpace())};
  const Dims map = regionMap(region, input);
  if (td::FrameOp frame = frameOf(region, input))
    return spread(space, map, contiguousStrides(coreDims(td::shapeOf(frame))));
  return stridesOver(space, map, region.getInputs()[static_cast<unsigned>(input)]);
}

RegionLaunch regionLaunch(td::RegionOp region) {
  RegionLaunch launch;
  TANDEM_CHECK(layOutRegion(launch, region), "no kernel walks ", launch.signature.text());
  return launch;
}

bool walksOperands(td::RegionOp region) {
  RegionLaunch launch;
  return layOutRegion(launch, region);
}

bool layOutRegion(RegionLaunch& launch, llvm::StringRef kind, std::size_t begin, std::size_t end, const Dims& space,
                  std::vector<Dims> strides) {
  Walk walk{Walk::Kind::Elements, begin, end, knowsPlace(launch.signature)};
  if (kind != "pointwise") walk.kind = kind == "row" ? Walk::Kind::Rows : Walk::Kind::Columns;
  auto merges = [&](const Dims& s) { return mergesInto(space, s, begin, end); };
  const auto inputs = std::span(strides).first(launch.signature.inputs.size());
  if (kind == "row" && !llvm::all_of(inputs, merges)) {
    // What goes along rows by steps would be read across the pieces of the others.
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (!merges(inputs[k]) || (inputs[k].back() != 0 && inputs[k].back() != 1))
        launch.strided.push_back({k, std::exchange(inputs[k], contiguousStrides(space))});
  }
  return layOut(launch, walk, space, std::move(strides)) && launch.signature.outerRank <= kMaxOuterRank;
}

Launch copyLaunch(DType dtype, const Dims& shape, const Dims& from, const Dims& to) {
  Launch launch;
  BodyWriter body(launch.signature, opOf(OpRole::Convert));
  const BodyValue operands[] = {body.input(dtype)};
  BodyValue results[] = {{0, dtype, 0}};
  body.pointwise(opOf(OpRole::Copy), dtype, false, operands, {&dtype, 1}, results);
  body.output(results[0], dtype);
  layOut(launch, {}, shape, {from, to});
  return launch;
}

}  // namespace tandem::passes
