#include "runtime/device/cuda/across.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/kernel/collapse.h"

namespace tandem::cuda {
namespace {

constexpr std::int64_t kSector = 32;      // bytes that are fetched at once, at least
constexpr std::int64_t kLeastDense = 16;  // columns: of fewer most of a warp would be idle
constexpr std::int64_t kLeastReduced = 8;

const KernelOperand& operandOf(const KernelSignature& s, std::size_t k) {
  return k < s.inputs.size() ? s.inputs[k] : s.outputs[k - s.inputs.size()].operand;
}

std::int64_t innerStride(const KernelSignature& s, const ArgLayout& layout, const std::int64_t* args, std::size_t k) {
  const Access access = operandOf(s, k).access;
  return access == Access::Unit ? 1 : access == Access::Zero ? 0 : args[layout.innerStride(k)];
}

/// Bytes that neighbouring lanes fetch for an element of an input that they cross with this stride.
std::int64_t fetched(const KernelOperand& input, std::int64_t stride) {
  return std::min(std::abs(stride) * static_cast<std::int64_t>(itemSize(input.dtype)), kSector);
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
  bool reduces = false;
  for (const KernelStep& step : s.steps) {
    if (step.kind == KernelStep::Kind::Index) return false;
    reduces |= step.kind == KernelStep::Kind::Reduce;
  }
  for (const KernelOutput& output : s.outputs)
    if (row && output.operand.access != Access::Zero) return false;
  return strided && reduces;
}

std::optional<Turn> turnOf(const KernelSignature& s, const ArgLayout& layout, const std::int64_t* args) {
  const bool row = s.kind == KernelKind::Row;
  const std::int64_t n = args[layout.innerSize()];
  const std::int64_t reduced = row ? n : args[layout.reducedSize()];
  if (reduced < kLeastReduced || (row && n > kMostTrailingRows)) return {};
  auto bytes = [&](auto&& stride) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < s.inputs.size(); ++k) sum += fetched(s.inputs[k], stride(k));
    return sum;
  };
  const std::int64_t now = bytes([&](std::size_t k) { return innerStride(s, layout, args, k); });
  int best = -1;
  std::int64_t least = now / 2 + 1;
  for (int d = layout.outerRank; d-- > 0;) {
    if (args[layout.outerSize(d)] < kLeastDense) continue;
    const std::int64_t then = bytes([&](std::size_t k) { return args[layout.outerStride(k, d)]; });
    if (then >= least) continue;
    least = then;
    best = d;
  }
  if (best < 0) return {};
  Turn turn{best, {}};
  for (std::size_t k = 0; k < layout.operands; ++k)
    turn.access.push_back(accessOf(args[layout.outerStride(k, best)], args[layout.outerSize(best)]));
  return turn;
}

KernelSignature turned(const KernelSignature& s, const Turn& turn) {
  KernelSignature t = s;
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
