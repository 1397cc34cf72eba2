#include "runtime/kernel/launch_builder.h"

#include <algorithm>

namespace tandem {

std::uint16_t BodyWriter::push(KernelStep step) {
  s_.steps.push_back(std::move(step));
  return static_cast<std::uint16_t>(s_.inputs.size() + s_.scalars.size() + s_.steps.size() - 1);
}

std::uint16_t BodyWriter::convert(std::uint16_t id, DType from, DType to) {
  if (from == to) return id;
  auto [it, fresh] = converted_.try_emplace({id, to}, std::uint16_t{0});
  if (fresh) it->second = push({conversion_, to, KernelStep::Kind::Pointwise, {id}, 0});
  return it->second;
}

BodyValue BodyWriter::input(DType dtype, Access access) {
  s_.inputs.push_back({dtype, access});
  const auto id = static_cast<std::uint16_t>(s_.inputs.size() - 1);
  return {id, dtype, id};
}

BodyValue BodyWriter::scalar(DType category) {
  const DType dtype = category == DType::Float64 ? DType::Float64 : DType::Int64;
  s_.scalars.push_back(dtype);
  const auto id = static_cast<std::uint16_t>(s_.inputs.size() + s_.scalars.size() - 1);
  return {id, dtype, id};
}

void BodyWriter::pointwise(OpCode op, DType computed, bool usesIndex, std::span<const BodyValue> operands,
                           std::span<const DType> to, std::span<BodyValue> results) {
  SmallVector<std::uint16_t, 4> ids;
  for (std::size_t i = 0; i < operands.size(); ++i) ids.push_back(convert(operands[i].id, operands[i].dtype, to[i]));
  if (usesIndex) {
    if (index_ < 0) index_ = push({op, DType::Int64, KernelStep::Kind::Index, {}, 0});
    ids.push_back(static_cast<std::uint16_t>(index_));
  }
  for (std::size_t r = 0; r < results.size(); ++r)
    results[r].id = push({op, computed, KernelStep::Kind::Pointwise, ids, static_cast<std::uint8_t>(r)});
  for (BodyValue& result : results) result.id = result.stored = convert(result.id, computed, result.dtype);
}

BodyValue BodyWriter::reduce(OpCode op, DType accumulator, const BodyValue& operand, DType result, bool isRead) {
  const std::uint16_t sum = push({op, accumulator, KernelStep::Kind::Reduce, {operand.id}, 0});
  if (isHalf(result) && !isRead) return {sum, accumulator, sum};
  const std::uint16_t converted = convert(sum, accumulator, result);
  return {converted, result, isHalf(result) ? sum : converted};
}

bool collapse(const Walk& walk, Dims& shape, std::span<Dims> strides) {
  switch (walk.kind) {
  case Walk::Kind::Elements:
    collapsePointwise(shape, strides);
    break;
  case Walk::Kind::Rows:
    if (!collapseRow(shape, strides, walk.begin)) return false;
    break;
  case Walk::Kind::Columns:
    return collapseColumn(shape, strides, walk.begin, walk.end);
  }
  if (!walk.placed) bringDenseNext(shape, strides);
  return true;
}

void writeWalk(const ArgLayout& layout, DimsRef shape, std::span<const Dims> strides, std::int64_t* args) {
  const auto outer = static_cast<std::size_t>(layout.outerRank);
  const auto reduced = static_cast<std::size_t>(layout.reducedRank);
  for (std::size_t d = 0; d < outer; ++d) args[layout.outerSize(static_cast<int>(d))] = shape[d];
  args[layout.innerSize()] = shape.back();
  if (layout.column) args[layout.reducedSize()] = numelOf(shape.subspan(outer, reduced));
  for (std::size_t d = 1; d < reduced; ++d) args[layout.reducedDim(static_cast<int>(d))] = shape[outer + d];
  for (std::size_t k = 0; k < strides.size(); ++k) {
    args[layout.innerStride(k)] = strides[k].back();
    for (std::size_t d = 0; d < reduced; ++d)
      args[layout.reducedStride(k, static_cast<int>(d))] = strides[k][outer + d];
    for (std::size_t d = 0; d < outer; ++d) args[layout.outerStride(k, static_cast<int>(d))] = strides[k][d];
  }
}

bool layOut(Launch& launch, const Walk& walk, Dims shape, std::vector<Dims> strides) {
  KernelSignature& s = launch.signature;
  if (!collapse(walk, shape, strides)) return false;
  const bool column = walk.kind == Walk::Kind::Columns;
  s.kind = column ? KernelKind::Column : KernelKind::Row;
  s.outerRank = static_cast<std::uint8_t>(shape.size() - (column ? 2 : 1));
  for (std::size_t k = 0; k < strides.size(); ++k) {
    KernelOperand& operand = k < s.inputs.size() ? s.inputs[k] : s.outputs[k - s.inputs.size()].operand;
    if (operand.access != Access::Framed) operand.access = accessOf(strides[k].back(), shape.back());
  }
  const ArgLayout layout(s);
  launch.args.assign(layout.size(), 0);
  writeWalk(layout, shape, strides, launch.args.data());
  launch.space = wholeSpace(s.kind, layout, launch.args.data());
  return true;
}

CallKey ReductionKernel::key(Device device) const {
  CallKey key;
  key.device = device;
  key.words[0] = static_cast<std::uint64_t>(op) | static_cast<std::uint64_t>(outerRank) << 16;
  key.set(3, static_cast<std::uint8_t>(kind));
  key.set(4, static_cast<std::uint8_t>(accumulator));
  key.set(5, operandByte(in.dtype, in.access));
  key.set(6, operandByte(out.dtype, out.access));
  key.set(7, static_cast<std::uint8_t>(reducedRank * 2 + (trailing ? 1 : 0)));
  return key;
}

KernelSignature ReductionKernel::signature() const {
  KernelSignature s;
  s.kind = kind;
  s.outerRank = static_cast<std::uint8_t>(outerRank);
  s.reducedRank = static_cast<std::uint8_t>(reducedRank);
  s.trailing = trailing;
  BodyWriter body(s, OpCode{});  // nothing to convert: outputs are stored from the accumulator
  const BodyValue operand = body.input(in.dtype, in.access);
  body.output(body.reduce(op, accumulator, operand, accumulator, false), out.dtype, out.access);
  return s;
}

}  // namespace tandem
