#include "codegen/cpu/kernel_frame.h"

#include <numeric>

#include "codegen/cpu/bodies.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
namespace scf = mlir::scf;

KernelFrame::KernelFrame(mlir::ModuleOp module, const KernelSignature& signature, const std::string& symbol, int lanes)
    : signature(signature), schedule(signature), layout(signature), module(module), ops(module.getContext()),
      b(ops, lanes), lanes(lanes), argumentCache_(layout.size()), bases_(layout.operands),
      frames_(signature.inputs.size()), values_(schedule.numValues()) {
  ops.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                          {pointer, ops.getI64Type(), ops.getI64Type()});
  auto function = LLVM::LLVMFuncOp::create(ops, b.loc(), symbol, type);
  entry_ = function.addEntryBlock(ops);
  ops.setInsertionPointToStart(entry_);
  args_ = entry_->getArgument(0);
  begin = entry_->getArgument(1);
  end = entry_->getArgument(2);
  bounce_ = scratch(std::int64_t{lanes} * 8);
  inner = argument(layout.innerSize());
  for (std::size_t k = 0; k < layout.operands; ++k) {
    argument(layout.pointer(k));
    if (operand(k).access == Access::Strided) argument(layout.innerStride(k));
    for (int d = 0; d < layout.outerRank; ++d) argument(layout.outerStride(k, d));
    for (int d = 0; d < layout.reducedRank; ++d) argument(layout.reducedStride(k, d));
  }
  for (int d = 0; d < layout.outerRank; ++d) argument(layout.outerSize(d));
  for (int d = 1; d < layout.reducedRank; ++d) argument(layout.reducedDim(d));
  for (std::size_t j = 0; j < layout.scalars; ++j) {
    const DType t = signature.scalars[j];
    const mlir::Value bits = argument(layout.scalar(j));
    values_[signature.inputs.size() + j] = t == DType::Int64 ? Val{bits, t} : b.flt({bits, DType::Int64});
  }
}

void KernelFrame::finish() {
  // What went past the caches is ordered by nothing else.
  if (signature.toMemory)
    LLVM::CallIntrinsicOp::create(ops, b.loc(), ops.getStringAttr("llvm.x86.sse.sfence"), mlir::ValueRange{});
  LLVM::ReturnOp::create(ops, b.loc(), mlir::ValueRange{});
}

mlir::Value KernelFrame::i64(std::int64_t value) {
  return arith::ConstantOp::create(ops, b.loc(), ops.getI64IntegerAttr(value));
}
mlir::Value KernelFrame::add(mlir::Value a, mlir::Value c) { return arith::AddIOp::create(ops, b.loc(), a, c); }
mlir::Value KernelFrame::sub(mlir::Value a, mlir::Value c) { return arith::SubIOp::create(ops, b.loc(), a, c); }
mlir::Value KernelFrame::mul(mlir::Value a, mlir::Value c) { return arith::MulIOp::create(ops, b.loc(), a, c); }
mlir::Value KernelFrame::divide(mlir::Value a, mlir::Value c) { return arith::DivUIOp::create(ops, b.loc(), a, c); }
mlir::Value KernelFrame::remainder(mlir::Value a, mlir::Value c) { return arith::RemUIOp::create(ops, b.loc(), a, c); }
mlir::Value KernelFrame::roundDown(mlir::Value a, std::int64_t powerOfTwo) {
  return arith::AndIOp::create(ops, b.loc(), a, i64(-powerOfTwo));
}
mlir::Value KernelFrame::minimum(mlir::Value a, mlir::Value c) { return arith::MinSIOp::create(ops, b.loc(), a, c); }
mlir::Value KernelFrame::less(mlir::Value a, mlir::Value c) {
  return arith::CmpIOp::create(ops, b.loc(), arith::CmpIPredicate::slt, a, c);
}
mlir::Value KernelFrame::equal(mlir::Value a, mlir::Value c) {
  return arith::CmpIOp::create(ops, b.loc(), arith::CmpIPredicate::eq, a, c);
}

KernelFrame::Values KernelFrame::loop(mlir::Value from, mlir::Value to, std::int64_t step, mlir::ValueRange state,
                                      const std::function<Values(mlir::Value, mlir::ValueRange)>& body) {
  auto op = scf::ForOp::create(ops, b.loc(), from, to, i64(step), state);
  mlir::OpBuilder::InsertionGuard guard(ops);
  // A loop without state comes with its terminator, one with state without.
  mlir::Block* block = op.getBody();
  if (!block->empty()) block->back().erase();
  ops.setInsertionPointToEnd(block);
  const Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(ops, b.loc(), next);
  return {op.getResults().begin(), op.getResults().end()};
}

void KernelFrame::loop(mlir::Value from, mlir::Value to, std::int64_t step,
                       const std::function<void(mlir::Value)>& body) {
  loop(from, to, step, {}, [&](mlir::Value i, mlir::ValueRange) {
    body(i);
    return Values{};
  });
}

KernelFrame::Values KernelFrame::choose(mlir::Value condition, const std::function<Values()>& then,
                                        const std::function<Values()>& otherwise) {
  // The types of the results are known only from the branches: each is built in a block of its own and moved in.
  auto build = [&](const std::function<Values()>& branch, Values& results) {
    auto* block = new mlir::Block;
    mlir::OpBuilder::InsertionGuard guard(ops);
    ops.setInsertionPointToStart(block);
    results = branch();
    scf::YieldOp::create(ops, b.loc(), results);
    return block;
  };
  Values first;
  Values second;
  mlir::Block* thenBlock = build(then, first);
  mlir::Block* elseBlock = build(otherwise, second);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value v : first) types.push_back(v.getType());
  auto op = scf::IfOp::create(ops, b.loc(), types, condition, /*addThenBlock=*/false, /*addElseBlock=*/false);
  op.getThenRegion().push_back(thenBlock);
  op.getElseRegion().push_back(elseBlock);
  return {op.getResults().begin(), op.getResults().end()};
}

void KernelFrame::when(mlir::Value condition, const std::function<void()>& then) {
  auto op = scf::IfOp::create(ops, b.loc(), condition, /*withElseRegion=*/false);
  mlir::OpBuilder::InsertionGuard guard(ops);
  ops.setInsertionPoint(op.getThenRegion().front().getTerminator());
  then();
}

void KernelFrame::callImport(const std::string& name, mlir::ValueRange arguments) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    mlir::OpBuilder::InsertionGuard guard(ops);
    ops.setInsertionPointToStart(module.getBody());
    llvm::SmallVector<mlir::Type> types(arguments.getTypes());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), types);
    function = LLVM::LLVMFuncOp::create(ops, b.loc(), name, type);
  }
  LLVM::CallOp::create(ops, b.loc(), function, arguments);
}

mlir::Value KernelFrame::argument(std::size_t at) {
  mlir::Value& cached = argumentCache_[at];
  if (cached) return cached;
  bool isPointer = false;
  for (std::size_t k = 0; k < layout.operands; ++k) isPointer = isPointer || at == layout.pointer(k);
  const mlir::Type type =
      isPointer ? mlir::Type(LLVM::LLVMPointerType::get(module.getContext())) : mlir::Type(ops.getI64Type());
  mlir::OpBuilder::InsertionGuard guard(ops);
  if (ops.getInsertionBlock() != entry_) ops.setInsertionPoint(entry_, entry_->begin());
  cached = LLVM::LoadOp::create(ops, b.loc(), type, address(args_, ops.getI64Type(), i64(static_cast<long>(at))), 8);
  return cached;
}

mlir::Value KernelFrame::scratch(std::int64_t bytes) {
  mlir::OpBuilder::InsertionGuard guard(ops);
  ops.setInsertionPointToStart(entry_);
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  return LLVM::AllocaOp::create(ops, b.loc(), pointer, ops.getI8Type(), i64(bytes), 64);
}

mlir::Value KernelFrame::address(mlir::Value base, mlir::Type element, mlir::Value index) {
  return LLVM::GEPOp::create(ops, b.loc(), base.getType(), element, base, mlir::ValueRange{index});
}

mlir::Value KernelFrame::loadAt(mlir::Value address, mlir::Type type, DType element) {
  return LLVM::LoadOp::create(ops, b.loc(), type, address, itemSize(element));
}

void KernelFrame::storeAt(mlir::Value address, mlir::Value value, DType element) {
  LLVM::StoreOp::create(ops, b.loc(), value, address, itemSize(element));
}

void KernelFrame::storeWhole(mlir::Value address, mlir::Value vector, DType element) {
  // Only where vectors follow at once: the rest of a line must not come after other work.
  if (!signature.toMemory || gathered_.empty()) return storeAt(address, vector, element);
  const std::int64_t length = llvm::cast<mlir::VectorType>(vector.getType()).getNumElements();
  const std::int64_t bytes = length * static_cast<std::int64_t>(itemSize(element));
  LLVM::StoreOp::create(ops, b.loc(), vector, address, static_cast<unsigned>(std::min(bytes, kLineBytes)),
                        /*isVolatile=*/false,
                        /*isNonTemporal=*/true);
}

mlir::Type KernelFrame::memoryType(DType t) {
  if (t == DType::Bool) return ops.getI8Type();
  if (isHalf(t)) return ops.getI16Type();
  return b.registerType(t);
}

const KernelOperand& KernelFrame::operand(std::size_t k) const {
  const std::size_t inputs = signature.inputs.size();
  return k < inputs ? signature.inputs[k] : signature.outputs[k - inputs].operand;
}

KernelFrame::Values KernelFrame::splitOuter(mlir::Value linear) {
  Values indices(static_cast<std::size_t>(layout.outerRank));
  for (int d = layout.outerRank; d-- > 0;) {
    if (d == 0) {
      indices[0] = linear;
      break;
    }
    const mlir::Value size = argument(layout.outerSize(d));
    indices[d] = remainder(linear, size);
    linear = divide(linear, size);
  }
  return indices;
}

mlir::Value KernelFrame::rowOffset(std::size_t k, mlir::ValueRange outer, mlir::Value reduced) {
  mlir::Value offset;
  auto move = [&](mlir::Value index, mlir::Value stride) {
    const mlir::Value by = mul(index, stride);
    offset = offset ? add(offset, by) : by;
  };
  for (int d = 0; d < static_cast<int>(outer.size()); ++d) move(outer[d], argument(layout.outerStride(k, d)));
  if (layout.column && reduced) {
    if (layout.reducedRank > 1) reduced = add(reduced, argument(layout.firstReduced()));
    for (int d = layout.reducedRank; d-- > 1;) {
      const mlir::Value size = argument(layout.reducedDim(d));
      move(remainder(reduced, size), argument(layout.reducedStride(k, d)));
      reduced = divide(reduced, size);
    }
    move(reduced, argument(layout.reducedStride(k)));
  }
  return offset;
}

mlir::Value KernelFrame::rowAddress(std::size_t k, mlir::ValueRange outer, mlir::Value reduced) {
  const mlir::Value offset = rowOffset(k, outer, reduced);
  const mlir::Value base = argument(layout.pointer(k));
  return offset ? address(base, memoryType(operand(k).dtype), offset) : base;
}

void KernelFrame::enterRow(mlir::ValueRange outer, mlir::Value reduced) {
  std::size_t frames = 0;
  for (std::size_t k = 0; k < signature.inputs.size(); ++k) {
    const bool framed = operand(k).access == Access::Framed;
    const std::size_t frame = layout.frame(framed ? frames++ : 0);
    if (!schedule.value(k).needed) continue;
    if (framed) {
      const DType t = operand(k).dtype;
      const mlir::Value offset = rowOffset(k, outer, reduced);
      frames_[k] = {sub(offset ? offset : i64(0), argument(frame)), argument(frame + 1),
                    loadAt(rowAddress(k + 1, outer, reduced), memoryType(t), t)};
      continue;
    }
    bases_[k] = rowAddress(k, outer, reduced);
    if (operand(k).access != Access::Zero) continue;
    const DType t = operand(k).dtype;
    const bool rows = signature.kind == KernelKind::Short;
    values_[k] = fromMemory(
        rows ? loadLanes(k, bases_[k], argument(layout.outerStride(k, 0))) : loadAt(bases_[k], memoryType(t), t), t);
  }
  if (!layout.column) enterOutputs(outer);
}

void KernelFrame::enterOutputs(mlir::ValueRange outer) {
  for (std::size_t k = signature.inputs.size(); k < layout.operands; ++k) bases_[k] = rowAddress(k, outer, {});
}

Val KernelFrame::fromMemory(mlir::Value memory, DType t) {
  if (isHalf(t)) {
    if (t == DType::BFloat16) return b.widenHalf(memory, t);
    auto vector = llvm::dyn_cast<mlir::VectorType>(memory.getType());
    const mlir::Type f16 = VectorBuilder::withLength(ops.getF16Type(), vector ? vector.getNumElements() : 0);
    return b.widenHalf(arith::BitcastOp::create(ops, b.loc(), f16, memory), t);
  }
  if (t == DType::Bool) return b.cast({memory, DType::UInt8}, DType::Bool);
  return {memory, t};
}

mlir::Value KernelFrame::toMemory(Val value, DType t) {
  // `any` and `all` of uint8 give uint8.
  if (t == DType::Bool || (t == DType::UInt8 && value.type == DType::Bool)) return b.cast(value, DType::UInt8).value;
  if (!isHalf(t)) return value.value;
  const mlir::Value narrow = b.narrowHalf(value, t);
  if (t == DType::BFloat16) return narrow;
  const mlir::Type bits = VectorBuilder::withLength(ops.getI16Type(), value.length());
  return arith::BitcastOp::create(ops, b.loc(), bits, narrow);
}

Point KernelFrame::partialPoint(mlir::Value i, mlir::Value count) { return {i, count, firstLanes(count), {}}; }

mlir::Value KernelFrame::firstLanes(mlir::Value count) {
  llvm::SmallVector<std::int32_t> offsets;
  for (int lane = 0; lane < lanes; ++lane) offsets.push_back(lane);
  const mlir::Value iota = arith::ConstantOp::create(ops, b.loc(), ops.getI32VectorAttr(offsets));
  const Val narrow = {arith::TruncIOp::create(ops, b.loc(), ops.getI32Type(), count), DType::Int32};
  return b.lt({iota, DType::Int32}, narrow).value;
}

void KernelFrame::overRange(mlir::Value from, mlir::Value to, std::size_t cost,
                            const std::function<void(const Point&)>& body) {
  if (cost > kDearBody) {
    loop(from, to, lanes, [&](mlir::Value i) {
      const mlir::Value left = sub(to, i);
      Point point = partialPoint(i, minimum(left, i64(lanes)));
      point.full = less(i64(lanes - 1), left);
      body(point);
    });
    return;
  }
  if (cost <= kLightBody) {
    const std::int64_t step = std::int64_t{kVectorsAtOnce} * lanes;
    const mlir::Value whole = add(from, roundDown(sub(to, from), step));
    loop(from, whole, step, [&](mlir::Value i) {
      gathered_.resize(signature.inputs.size() + signature.outputs.size());
      for (int v = 0; v < kVectorsAtOnce; ++v) body({add(i, i64(std::int64_t{v} * lanes)), {}, {}, {}});
      storeGathered(i);
    });
    from = whole;
  }
  const mlir::Value tail = add(from, roundDown(sub(to, from), lanes));
  loop(from, tail, lanes, [&](mlir::Value i) { body({i, {}, {}, {}}); });
  when(less(tail, to), [&] { body(partialPoint(tail, sub(to, tail))); });
}

// Emitted for nothing but to be counted: bodies are short to emit and long to compile.
std::size_t KernelFrame::cost(const std::vector<std::size_t>& ids, const std::function<void(const Point&)>& before) {
  mlir::Block block;
  mlir::OpBuilder::InsertionGuard guard(ops);
  ops.setInsertionPointToStart(&block);
  const mlir::Value zero = i64(0);
  const Point point{zero, {}, {}, {}};
  if (before) before(point);
  computeAt(point, ids, zero);
  std::size_t count = 0;
  block.walk([&](mlir::Operation*) { ++count; });
  return count;
}

std::vector<std::size_t> KernelFrame::worthKeeping(int stage, std::vector<std::size_t> kept) {
  const std::size_t before = kept.size();
  std::size_t bytes = 0;
  for (std::size_t k : kept) bytes += itemSize(schedule.value(k).dtype);
  for (std::size_t id : schedule.handedOn(stage, kept)) {
    const DType t = schedule.value(id).dtype;
    if (bytes + itemSize(t) > kMostKept || t == DType::Bool || isHalf(t)) continue;
    auto known = [&](const Point&) {
      for (std::size_t k : kept) setValue(k, b.constant(schedule.value(k).dtype, lanes, 0));
    };
    if (cost(schedule.varyingBehind({id}, kept), known) <= kKeptBody) continue;
    kept.push_back(id);
    bytes += itemSize(t);
  }
  return {kept.begin() + static_cast<std::ptrdiff_t>(before), kept.end()};
}

// AVX2 masks elements of 32 and 64 bits, AVX-512 all.
bool KernelFrame::masksInMemory(std::size_t k) const {
  const Access access = operand(k).access;
  return (access == Access::Unit || access == Access::Framed) && (lanes == 16 || itemSize(operand(k).dtype) >= 4);
}

// Masked where the vector has an element of the operand, which it mostly has not: lanes outside are not read, but on
// some processors take long where there is no memory.
mlir::Value KernelFrame::loadFramed(std::size_t k, const Point& point) {
  const DType t = operand(k).dtype;
  const mlir::Type element = memoryType(t);
  auto vector = mlir::VectorType::get({lanes}, element);
  const Frame& frame = frames_[k];
  const mlir::Value place = add(frame.place, point.i);
  const mlir::Value existing = point.count ? point.count : i64(lanes);
  const mlir::Value from = arith::MaxSIOp::create(ops, b.loc(), sub(i64(0), place), i64(0));
  const mlir::Value to = minimum(sub(frame.count, place), existing);
  const mlir::Value rest = mlir::vector::BroadcastOp::create(ops, b.loc(), vector, frame.elsewhere);
  const mlir::Value base = argument(layout.pointer(k));
  return choose(
      less(from, to),
      [&]() -> Values {
        if (!masksInMemory(k)) {
          storeAt(bounce_, rest, t);
          loop(from, to, 1, [&](mlir::Value lane) {
            storeAt(address(bounce_, element, lane), loadAt(address(base, element, add(place, lane)), element, t), t);
          });
          return {loadAt(bounce_, vector, t)};
        }
        const mlir::Value inside = arith::XOrIOp::create(ops, b.loc(), firstLanes(to), firstLanes(from));
        return {LLVM::MaskedLoadOp::create(ops, b.loc(), mlir::Type(vector), address(base, element, place), inside,
                                           rest, static_cast<std::uint32_t>(itemSize(t)))};
      },
      [&] { return Values{rest}; })[0];
}

mlir::Value KernelFrame::laneStride(std::size_t k) {
  if (signature.kind == KernelKind::Short) return argument(layout.outerStride(k, 0));
  return operand(k).access == Access::Unit ? mlir::Value() : argument(layout.innerStride(k));
}

mlir::Value KernelFrame::loadLanes(std::size_t k, mlir::Value first, mlir::Value stride) {
  const DType t = operand(k).dtype;
  const mlir::Type element = memoryType(t);
  Values elements;
  for (int lane = 0; lane < lanes; ++lane) {
    const mlir::Value offset = mul(i64(lane), stride);  // hoisted out of the loop
    elements.push_back(loadAt(address(first, element, offset), element, t));
  }
  return mlir::vector::FromElementsOp::create(ops, b.loc(), mlir::VectorType::get({lanes}, element), elements);
}

void KernelFrame::storeLanes(std::size_t k, mlir::Value first, mlir::Value stride, mlir::Value vector) {
  const DType t = operand(k).dtype;
  for (int lane = 0; lane < lanes; ++lane) {
    const mlir::Value offset = mul(i64(lane), stride);
    storeAt(address(first, memoryType(t), offset), b.element({vector, t}, lane).value, t);
  }
}

mlir::Value KernelFrame::loadVector(std::size_t k, const Point& point) {
  if (operand(k).access == Access::Framed) return loadFramed(k, point);
  const DType t = operand(k).dtype;
  const mlir::Type element = memoryType(t);
  auto vector = mlir::VectorType::get({lanes}, element);
  const bool unit = operand(k).access == Access::Unit;
  if (point.full) {
    const Point whole{point.i, {}, {}, {}};
    const Point part{point.i, point.count, point.mask, {}};
    return choose(
        point.full, [&] { return Values{loadVector(k, whole)}; }, [&] { return Values{loadVector(k, part)}; })[0];
  }
  auto elementAt = [&](mlir::Value i) {
    return address(bases_[k], element, unit ? i : mul(i, argument(layout.innerStride(k))));
  };
  if (!point.count) {
    const mlir::Value first = elementAt(point.i);
    const mlir::Value stride = laneStride(k);
    return stride ? loadLanes(k, first, stride) : loadAt(first, vector, t);
  }
  const mlir::Value zeros = arith::ConstantOp::create(ops, b.loc(), ops.getZeroAttr(vector));
  if (masksInMemory(k)) {
    return LLVM::MaskedLoadOp::create(ops, b.loc(), mlir::Type(vector), elementAt(point.i), point.mask, zeros,
                                      static_cast<std::uint32_t>(itemSize(t)));
  }
  storeAt(bounce_, zeros, t);
  loop(i64(0), point.count, 1, [&](mlir::Value lane) {
    storeAt(address(bounce_, element, lane), loadAt(elementAt(add(point.i, lane)), element, t), t);
  });
  return loadAt(bounce_, vector, t);
}

void KernelFrame::storeVector(std::size_t k, const Point& point, mlir::Value value) {
  const DType t = operand(k).dtype;
  const mlir::Type element = memoryType(t);
  const bool unit = operand(k).access == Access::Unit;
  if (point.full) {
    const Point whole{point.i, {}, {}, {}};
    const Point part{point.i, point.count, point.mask, {}};
    auto store = [&](const Point& at) {
      storeVector(k, at, value);
      return Values{};
    };
    choose(point.full, [&] { return store(whole); }, [&] { return store(part); });
    return;
  }
  auto elementAt = [&](mlir::Value i) {
    return address(bases_[k], element, unit ? i : mul(i, argument(layout.innerStride(k))));
  };
  if (!point.count) {
    const bool gather = !gathered_.empty() && unit && itemSize(t) < sizeof(float);
    if (gather) return gathered_[k].push_back(value);
    const mlir::Value first = elementAt(point.i);
    const mlir::Value stride = laneStride(k);
    return stride ? storeLanes(k, first, stride, value) : storeWhole(first, value, t);
  }
  if (masksInMemory(k)) {
    LLVM::MaskedStoreOp::create(ops, b.loc(), value, elementAt(point.i), point.mask,
                                static_cast<std::uint32_t>(itemSize(t)));
    return;
  }
  storeAt(bounce_, value, t);
  loop(i64(0), point.count, 1, [&](mlir::Value lane) {
    storeAt(elementAt(add(point.i, lane)), loadAt(address(bounce_, element, lane), element, t), t);
  });
}

void KernelFrame::storeGathered(mlir::Value i) {
  for (std::size_t k = 0; k < gathered_.size(); ++k) {
    Values& parts = gathered_[k];
    if (parts.empty()) continue;
    for (; parts.size() > 1; parts.truncate(parts.size() / 2)) {
      llvm::SmallVector<std::int64_t> all(2 * llvm::cast<mlir::VectorType>(parts[0].getType()).getNumElements());
      std::iota(all.begin(), all.end(), 0);
      for (std::size_t p = 0; 2 * p < parts.size(); ++p)
        parts[p] = mlir::vector::ShuffleOp::create(ops, b.loc(), parts[2 * p], parts[2 * p + 1], all);
    }
    storeWhole(address(bases_[k], memoryType(operand(k).dtype), i), parts[0], operand(k).dtype);
  }
  gathered_.clear();
}

Val KernelFrame::computeStep(std::size_t id) {
  const KernelStep& step = signature.steps[id - schedule.firstStep()];
  if (step.kind == KernelStep::Kind::Index) return b.index();
  std::vector<Val> operands;
  for (std::uint16_t operand : step.operands) operands.push_back(values_[operand]);
  const DType type = computeType(step.dtype);
  const Val result = emitOperation(b, step.op, step.result, step.dtype, operands);
  TANDEM_CHECK(result.type == type, "step v", id, " computes ", dtypeName(result.type), ", its dtype is ",
               dtypeName(step.dtype), " in ", signature.text());
  return isHalf(step.dtype) ? b.roundToHalf(result, step.dtype) : result;
}

void KernelFrame::computeUniform(int stage) {
  b.setIndexBase({}, {});
  for (std::size_t id = schedule.firstStep(); id < schedule.numValues(); ++id) {
    const ValueFacts& facts = schedule.value(id);
    if (!facts.needed || facts.constant || !facts.uniform || facts.stage != stage || schedule.isReduce(id)) continue;
    values_[id] = computeStep(id);
  }
}

void KernelFrame::computeConstants() {
  for (std::size_t id = schedule.firstStep(); id < schedule.numValues(); ++id) {
    if (schedule.value(id).needed && schedule.value(id).constant) values_[id] = computeStep(id);
  }
}

void KernelFrame::computeAt(const Point& point, const std::vector<std::size_t>& ids, mlir::Value indexBase) {
  b.setIndexBase(indexBase, point.i);
  for (std::size_t id : ids) {
    if (schedule.isReduce(id)) continue;  // set by the loops
    values_[id] = id < signature.inputs.size() ? fromMemory(loadVector(id, point), operand(id).dtype) : computeStep(id);
  }
}

void KernelFrame::storeAsOutput(std::size_t o, std::size_t id, const Point& point) {
  Val value = values_[id];
  const DType to = signature.outputs[o].operand.dtype;
  const DType from = schedule.value(id).dtype;
  TANDEM_CHECK(from == to || (isHalf(to) && from == DType::Float32) || (to == DType::UInt8 && from == DType::Bool),
               "output ", o, " stores ", dtypeName(from), " as ", dtypeName(to), " in ", signature.text());
  if (isHalf(to) && from != to) value = b.roundToHalf(value, to);
  storeVector(signature.inputs.size() + o, point, toMemory(b.toVector(value), to));
}

void KernelFrame::loadFromOutput(std::size_t o, std::size_t id, const Point& point) {
  const std::size_t k = signature.inputs.size() + o;
  values_[id] = fromMemory(loadVector(k, point), operand(k).dtype);
}

void KernelFrame::storeScalar(std::size_t o, mlir::Value address, Val value) {
  const DType to = signature.outputs[o].operand.dtype;
  if (isHalf(to) && schedule.value(signature.outputs[o].value).dtype != to) value = b.roundToHalf(value, to);
  if (signature.kind != KernelKind::Short) return storeAt(address, toMemory(value, to), to);
  const std::size_t k = signature.inputs.size() + o;
  const mlir::Value stride = argument(layout.outerStride(k, 0));
  const mlir::Value vector = toMemory(b.toVector(value), to);
  auto beside = [&] {
    storeAt(address, vector, to);
    return Values{};
  };
  auto apart = [&] {
    storeLanes(k, address, stride, vector);
    return Values{};
  };
  choose(equal(stride, i64(1)), beside, apart);
}

}  // namespace tandem::codegen
