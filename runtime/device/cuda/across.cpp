#include "runtime/device/cuda/across.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/device/cuda/launch_shape.h"
#include "runtime/kernel/collapse.h"

namespace tandem::cuda {
namespace {

constexpr std::int64_t kSector = 32;      // bytes that are fetched at once, at least
constexpr std::int64_t kLeastDense = 16;  // columns: of fewer most of a warp would be idle
constexpr std::int64_t kLeastReduced = 8;
// Of kernels without reductions. An element that changes hands in a tile takes as long as so many bytes, and fewer
// elements than these take the time of a launch either way.
constexpr std::int64_t kTilePrice = 4;
constexpr std::int64_t kLeastElements = 1 << 14;

const KernelOperand& operandOf(const KernelSignature& s, std::size_t k) {
  return k < s.inputs.size() ? s.inputs[k] : s.outputs[k - s.inputs.size()].operand;
}

std::int64_t innerStride(const KernelSignature& s, const ArgLayout& layout, const std::int64_t* args, std::size_t k) {
  const Access access = operandOf(s, k).access;
  return access == Access::Unit ? 1 : access == Access::Zero ? 0 : args[layout.innerStride(k)];
}

/// Bytes that neighbouring lanes fetch for an element of an operand that they cross with this stride.
std::int64_t fetched(const KernelOperand& operand, std::int64_t stride) {
  return std::min(std::abs(stride) * static_cast<std::int64_t>(itemSize(operand.dtype)), kSector);
}

/// Has the kernel elementwise outputs?
bool storesElements(const KernelSignature& s) {
  return std::ranges::any_of(s.outputs, [](const KernelOutput& o) { return o.operand.access != Access::Zero; });
}

bool knowsPlace(const KernelSignature& s) {
  return std::ranges::any_of(s.steps, [](const KernelStep& step) { return step.kind == KernelStep::Kind::Index; });
}

std::int64_t elementsOf(const ArgLayout& layout, const std::int64_t* args) {
  std::int64_t count = args[layout.innerSize()];
  for (int d = 0; d < layout.outerRank; ++d) count *= args[layout.outerSize(d)];
  return count;
}

}  // namespace

bool canTurn(const KernelSignature& s) {
  const bool row = s.kind == KernelKind::Row;
  if (s.outerRank == 0 || (!row && s.kind != KernelKind::Column)) return false;
  bool strided = false;
  for (const KernelOperand& input : s.inputs) {
    if (input.access == Access::Framed) return false;
    strided |= input.access == Access::Strided;
  }
  for (const KernelOutput& output : s.outputs) strided |= row && output.operand.access == Access::Strided;
  if (!strided || (!row && knowsPlace(s))) return false;
  return reduces(s) || !isByRows(s);
}

std::optional<Turn> turnOf(const KernelSignature& s, const ArgLayout& layout, const std::int64_t* args) {
  const bool row = s.kind == KernelKind::Row;
  const std::int64_t n = args[layout.innerSize()];
  const std::int64_t reduced = row ? n : args[layout.reducedSize()];
  const bool sums = reduces(s);
  if (reduced < kLeastReduced || (row && sums && n > kMostTrailingRows)) return {};
  if (!sums && elementsOf(layout, args) < kLeastElements) return {};
  // Of a Short kernel outputs count, too, and operands that are dense along the rows are read as they lie.
  auto bytes = [&](bool rows, auto&& stride) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < (rows ? layout.operands : s.inputs.size()); ++k)
      if (const KernelOperand& operand = operandOf(s, k); operand.access != Access::Zero || k < s.inputs.size())
        sum += fetched(operand, rows && operand.access == Access::Unit ? 1 : stride(k));
    return sum;
  };
  std::int64_t tiled = 0;
  for (std::size_t k = 0; k < layout.operands; ++k) tiled += operandOf(s, k).access == Access::Unit ? 1 : 0;
  const bool place = knowsPlace(s);
  std::optional<Turn> best;
  std::int64_t least = 0;
  for (const bool rows : {false, true}) {
    if (rows ? !row : place || (row && storesElements(s))) continue;
    const std::int64_t now = bytes(rows, [&](std::size_t k) { return innerStride(s, layout, args, k); });
    if (!best) least = sums ? now / 2 + 1 : now - tiled * kTilePrice;
    for (int d = layout.outerRank; d-- > (place ? layout.outerRank - 1 : 0);) {
      if (args[layout.outerSize(d)] < kLeastDense) continue;
      const std::int64_t then = bytes(rows, [&](std::size_t k) { return args[layout.outerStride(k, d)]; });
      if (then >= least) continue;
      least = then;
      best = Turn{d, rows, {}};
    }
  }
  if (!best || best->rows) return best;
  for (std::size_t k = 0; k < layout.operands; ++k)
    best->access.push_back(accessOf(args[layout.outerStride(k, best->dim)], args[layout.outerSize(best->dim)]));
  return best;
}

KernelSignature turned(const KernelSignature& s, const Turn& turn) {
  KernelSignature t = s;
  if (turn.rows) {
    t.kind = KernelKind::Short;
    return t;
  }
  if (s.kind == KernelKind::Row) {
    t.kind = KernelKind::Column;
    t.trailing = true;
    --t.outerRank;
  }
  for (std::size_t k = 0; k < s.inputs.size(); ++k) t.inputs[k].access = turn.access[k];
  for (std::size_t o = 0; o < s.outputs.size(); ++o) t.outputs[o].operand.access = turn.access[s.inputs.size() + o];
  return t;
}

SmallVector<std::int64_t, 64> turnedArgs(const KernelSignature& s, const Turn& turn, const std::int64_t* args) {
  const ArgLayout from(s);
  if (turn.rows) {
    // The dim behind the other outer ones.
    SmallVector<std::int64_t, 64> own(args, args + from.size());
    auto rotate = [&](std::size_t first) {
      std::rotate(own.data() + first + turn.dim, own.data() + first + turn.dim + 1,
                  own.data() + first + from.outerRank);
    };
    rotate(from.outerSize(0));
    for (std::size_t k = 0; k < from.operands; ++k) rotate(from.outerStride(k, 0));
    return own;
  }
  const ArgLayout to(turned(s, turn));
  SmallVector<std::int64_t, 64> own(to.size());
  const bool row = !from.column;
  // The dims that stay outer ones, and the inner one of columns.
  auto outer = [&](auto&& take) {
    int at = 0;
    for (int d = 0; d < from.outerRank; ++d)
      if (d != turn.dim) take(at++, d);
    if (!row) take(at, -1);
  };
  outer([&](int at, int d) { own[to.outerSize(at)] = args[d < 0 ? from.innerSize() : from.outerSize(d)]; });
  own[to.innerSize()] = args[from.outerSize(turn.dim)];
  own[to.reducedSize()] = args[row ? from.innerSize() : from.reducedSize()];
  if (from.reducedRank > 1) {
    own[to.firstReduced()] = args[from.firstReduced()];
    for (int d = 1; d < from.reducedRank; ++d) own[to.reducedDim(d)] = args[from.reducedDim(d)];
  }
  for (std::size_t k = 0; k < from.operands; ++k) {
    const std::int64_t inner = innerStride(s, from, args, k);
    own[to.pointer(k)] = args[from.pointer(k)];
    own[to.innerStride(k)] = args[from.outerStride(k, turn.dim)];
    outer([&](int at, int d) { own[to.outerStride(k, at)] = d < 0 ? inner : args[from.outerStride(k, d)]; });
    if (row) {
      own[to.reducedStride(k)] = k < s.inputs.size() ? inner : 0;
    } else {
      for (int d = 0; d < from.reducedRank; ++d) own[to.reducedStride(k, d)] = args[from.reducedStride(k, d)];
    }
  }
  for (std::size_t j = 0; j < from.scalars; ++j) own[to.scalar(j)] = args[from.scalar(j)];
  return own;
}

}  // namespace tandem::cuda
