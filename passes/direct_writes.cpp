#include "passes/direct_writes.h"

#include <algorithm>

#include "passes/kernel_builder.h"
#include "passes/windows.h"

namespace tandem::passes {

namespace {

constexpr llvm::StringLiteral kDirect = "td.direct";

Dims sizesAlong(const Dims& map, const Dims& space) {
  Dims sizes;
  for (std::int64_t d : map) sizes.push_back(space[static_cast<std::size_t>(d)]);
  return sizes;
}

/// Is the innermost dim of one, of those where both move, the innermost of the other?
bool alike(const Dims& space, const Dims& a, const Dims& b) {
  auto inner = [&](const Dims& by, const Dims& other) {
    std::int64_t best = -1;
    for (std::size_t d = 0; d < space.size(); ++d) {
      if (space[d] == 1 || by[d] == 0 || other[d] == 0) continue;
      if (best < 0 || by[d] < by[static_cast<std::size_t>(best)]) best = static_cast<std::int64_t>(d);
    }
    return best;
  };
  return inner(a, b) == inner(b, a);
}

}  // namespace

td::WriteOp directWrite(mlir::Value result) {
  if (!result.hasOneUse()) return {};
  auto write = mlir::dyn_cast<td::WriteOp>(*result.getUsers().begin());
  return write && write.getValue() == result && write->hasAttr(kDirect) ? write : td::WriteOp();
}

bool liesApart(const Dims& shape, const Dims& strides) {
  Dims order;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) order.push_back(static_cast<std::int64_t>(d));
  auto stride = [&](std::int64_t d) { return strides[static_cast<std::size_t>(d)]; };
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) { return stride(a) < stride(b); });
  std::int64_t reach = 1;  // of the dims before
  for (std::int64_t d : order) {
    if (stride(d) < reach) return false;
    reach = stride(d) * shape[static_cast<std::size_t>(d)];
  }
  return true;
}

bool canWriteDirectly(td::WriteOp write, llvm::function_ref<bool(mlir::Value)> isMemory) {
  auto result = mlir::dyn_cast<mlir::OpResult>(write.getValue());
  auto region = result ? mlir::dyn_cast<td::RegionOp>(result.getOwner()) : td::RegionOp();
  if (!region || region.getKind() != "pointwise" || !result.hasOneUse()) return false;
  const Dims space{DimsRef(region.getSpace())};
  const std::size_t numInputs = region.getInputs().size();
  const Dims map = regionMap(region, numInputs + result.getResultNumber());
  const Dims strides = coreStrides(td::shapeOf(result), DimsRef(write.getStrides()));
  if (map.size() != space.size() || !liesApart(sizesAlong(map, space), strides)) return false;
  const Dims over = spread(space, map, strides);
  bool moves = false;  // an operand moves along dims of the space
  bool along = false;  // as the window does
  for (std::size_t k = 0; k < numInputs; ++k) {
    mlir::Value v = region.getInputs()[k];
    if (!td::isTensorType(v.getType())) continue;
    const Place place = placeOf(v);
    const Dims in = inputStrides(region, k);
    const bool itself = !frameOf(region, k) && in == over &&
                        place.offset == static_cast<std::int64_t>(write.getOffset()) &&
                        td::dtypeOf(v.getType()) == td::dtypeOf(result.getType());
    if (isMemory(place.value) && !itself) return false;
    moves |= llvm::any_of(in, [](std::int64_t s) { return s != 0; });
    along |= alike(space, in, over);
  }
  if (moves && !along) return false;
  writeDirectly(write);
  const bool walks = walksOperands(region);
  write->removeAttr(kDirect);
  return walks;
}

void writeDirectly(td::WriteOp write) { write->setAttr(kDirect, mlir::UnitAttr::get(write.getContext())); }

}  // namespace tandem::passes
