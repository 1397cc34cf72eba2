// Reductions of one operation, stage by stage (ir/schema/reduction_plan.h): which loops a stage has follows from how
// its operand lies in memory, the order of what is added does not.
//
//   - what gives the same result in any order (maxima, integers) is reduced in the order of the memory
//   - dims that merge into one are a Row or a Column kernel's reduced dim, whatever its stride; operands that lie
//     across are transposed on the way (collapse.h)
//   - dims that do not merge are reduced in pieces: stretches of the logical order are copied to the cache, whole
//     blocks of the order each, and kernels for contiguous memory reduce them there
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "eager/call_cache.h"
#include "eager/kernels.h"
#include "ir/schema/reduction_plan.h"
#include "runtime/base/counters.h"
#include "runtime/base/long_work.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/launch.h"
#include "runtime/kernel/reduce_split.h"
#include "runtime/kernel/reduction_levels.h"
#include "runtime/lib/strided.h"

namespace tandem {

namespace {

using Args = SmallVector<std::int64_t, 64>;

/// Fills `out` with a number.
void fill(const Tensor& out, Scalar value) {
  const Operand operands[] = {Operand(value)};
  AttrWriter attrs;
  attrs.list(out.shape());
  attrs.dtype(out.dtype());
  runPointwise(facts(OpCode::full_plain), operands, attrs.span(), {&out, 1});
}

/// One reduction step over one input, its conversions to the accumulator and to the out made by the kernel.
KernelSignature reduceSignature(OpCode op, KernelKind kind, int outerRank, KernelOperand in, DType accumulator,
                                KernelOperand out) {
  KernelSignature s;
  s.kind = kind;
  s.outerRank = static_cast<std::uint8_t>(outerRank);
  s.inputs.push_back(in);
  s.steps.push_back({op, accumulator, KernelStep::Kind::Reduce, {0}, 0});
  s.outputs.push_back({out, 1});
  return s;
}

/// Few and long columns: the blocks of rows are reduced by themselves, then their results as columns of their own.
/// `args` are those of the Column kernel `s` over everything, whose bits these are.
void runColumnBlocks(const KernelSignature& s, const Args& args, std::int64_t outer) {
  const ArgLayout layout(s);
  const DType accumulator = s.steps[0].dtype;
  const std::int64_t block = columnOrder(s.trailing).block;
  const std::int64_t n = args[layout.innerSize()];
  const std::int64_t rows = args[layout.reducedSize()];
  const std::int64_t blocks = (rows + block - 1) / block;
  const Tensor partial = makeEmpty(Dims{outer, blocks, n}, accumulator);
  const auto inputSize = static_cast<std::int64_t>(itemSize(s.inputs[0].dtype));
  const auto partialSize = static_cast<std::int64_t>(itemSize(accumulator));

  KernelSignature part = s;
  part.outputs[0].operand = {accumulator, accessOf(1, n)};
  const KernelFn fn = lookupKernel(part);
  bump(counters().kernelLaunches);
  constexpr std::int64_t kGrain = 16 * 1024;
  parallelFor(outer * blocks, kGrain / (block * n) + 1, [&](std::int64_t begin, std::int64_t end) {
    Args own = args;
    own[layout.innerStride(1)] = 1;
    for (int d = 0; d < layout.outerRank; ++d) own[layout.outerStride(1, d)] = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % blocks * block;
      own[layout.reducedSize()] = std::min(block, rows - first);
      if (layout.reducedRank > 1)
        own[layout.firstReduced()] = first;
      else
        own[layout.pointer(0)] = args[layout.pointer(0)] + first * args[layout.reducedStride(0)] * inputSize;
      own[layout.pointer(1)] = address(partial) + i * n * partialSize;
      fn(own.data(), i / blocks * n, (i / blocks + 1) * n);
    }
  });

  KernelSignature finish = s;
  finish.reducedRank = 1;
  finish.inputs[0] = {accumulator, accessOf(1, n)};
  const ArgLayout ends(finish);
  Args last(ends.size());
  std::int64_t step = blocks * n;
  for (int d = layout.outerRank; d-- > 0;) {
    last[ends.outerSize(d)] = args[layout.outerSize(d)];
    last[ends.outerStride(0, d)] = step;
    last[ends.outerStride(1, d)] = args[layout.outerStride(1, d)];
    step *= args[layout.outerSize(d)];
  }
  last[ends.innerSize()] = n;
  last[ends.reducedSize()] = blocks;
  last[ends.pointer(0)] = address(partial);
  last[ends.innerStride(0)] = 1;
  last[ends.reducedStride(0)] = n;
  last[ends.pointer(1)] = args[layout.pointer(1)];
  last[ends.innerStride(1)] = args[layout.innerStride(1)];
  launchKernel(lookupKernel(finish), last.data(), outer * n, blocks, KernelKind::Column);
}

/// Reduces the blocks' partial results [rows, blocks] to `out`, one element a row.
void finishRows(const KernelSignature& finish, const Tensor& partial, std::int64_t rows, std::int64_t blocks,
                const Tensor& out) {
  const ArgLayout layout(finish);
  Args args(layout.size());
  args[layout.outerSize(0)] = rows;
  args[layout.innerSize()] = blocks;
  args[layout.pointer(0)] = address(partial);
  args[layout.innerStride(0)] = 1;
  args[layout.outerStride(0, 0)] = blocks;
  args[layout.pointer(1)] = address(out);
  args[layout.outerStride(1, 0)] = 1;
  launchKernel(lookupKernel(finish), args.data(), rows, blocks);
}

/// What a reduction of one stage walks: {outer..., reduced} of a trailing one, {outer..., reduced, inner} of a leading
/// one, with the strides of operand and out, which has the operand's shape with the reduced dims 1, contiguous.
struct ReductionWalk {
  Dims shape;
  std::array<Dims, 2> strides;
};

ReductionWalk walkContiguous(DimsRef shape, const ReductionStage& stage) {
  const std::int64_t outer = numelOf(shape.first(stage.begin));
  const std::int64_t reduced = numelOf(shape.subspan(stage.begin, stage.end - stage.begin));
  if (stage.trailing) return {{outer, reduced}, {Dims{reduced, 1}, Dims{1, 0}}};
  const std::int64_t inner = numelOf(shape.subspan(stage.end));
  if (outer == 1) return {{reduced, inner}, {Dims{inner, 1}, Dims{0, 1}}};
  return {{outer, reduced, inner}, {Dims{reduced * inner, inner, 1}, Dims{inner, 0, 1}}};
}

/// Nothing where the operand's dims do not merge into as many as kernels walk.
std::optional<ReductionWalk> walkStrided(const Tensor& in, const ReductionStage& stage) {
  ReductionWalk w{in.shape(), {in.strides(), {}}};
  Dims kept = in.shape();
  for (std::size_t d = stage.begin; d < stage.end; ++d) kept[d] = 1;
  w.strides[1] = contiguousStrides(kept);
  for (std::size_t d = stage.begin; d < stage.end; ++d) w.strides[1][d] = 0;
  const bool merges = stage.trailing ? collapseRow(w.shape, w.strides, stage.begin)
                                     : collapseColumn(w.shape, w.strides, stage.begin, stage.end);
  if (!merges || w.shape.size() > kMaxOuterRank + (stage.trailing ? 1 : 2)) return {};
  return w;
}

/// The dims of a stage as a Column kernel walks them whose inner dim is the one along which the operand is dense, where
/// that is a kept one.
struct ColumnWalk {
  Dims kept;                        // {outer..., inner}
  std::array<Dims, 2> keptStrides;  // of operand and out
  Dims reduced;
  Dims reducedStrides;

  [[nodiscard]] std::int64_t rows() const { return numelOf(reduced); }
};

/// Nothing where no kept dim is dense, or dims are left that do not merge.
std::optional<ColumnWalk> walkColumns(const Tensor& in, const ReductionStage& stage) {
  constexpr std::int64_t kLeastDense = 16;
  constexpr std::int64_t kLeastElements = 1024;
  constexpr std::size_t kMostReduced = 4;
  if (in.numel() < kLeastElements) return {};
  Dims out = in.shape();
  for (std::size_t d = stage.begin; d < stage.end; ++d) out[d] = 1;
  const Dims outStrides = contiguousStrides(out);
  Dims order;  // of the kept dims, as they lie in memory
  ColumnWalk w;
  for (std::size_t d = 0; d < in.shape().size(); ++d) {
    if (d >= stage.begin && d < stage.end) {
      w.reduced.push_back(in.shape()[d]);
      w.reducedStrides.push_back(in.strides()[d]);
    } else if (in.shape()[d] != 1) {
      order.push_back(static_cast<std::int64_t>(d));
    }
  }
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return in.strides()[a] > in.strides()[b]; });
  // A dim that is repeated stays an outer one.
  const auto dense = std::ranges::find_if(order, [&](std::int64_t d) { return in.strides()[d] == 1; });
  if (dense == order.end()) return {};
  std::rotate(dense, dense + 1, order.end());
  for (std::int64_t d : order) {
    w.kept.push_back(in.shape()[d]);
    w.keptStrides[0].push_back(in.strides()[d]);
    w.keptStrides[1].push_back(outStrides[d]);
  }
  collapsePointwise(w.kept, w.keptStrides);
  collapsePointwise(w.reduced, {&w.reducedStrides, 1});
  if (w.kept.back() < kLeastDense || w.kept.size() > kMaxOuterRank + 1 || w.reduced.size() > kMostReduced) return {};
  if (stage.trailing && w.rows() > kMostTrailingRows) return {};
  return w;
}

/// A stage whose reduced dims do not merge into one, in pieces of its operand that are copied to the cache: whole rows,
/// columns or blocks of these, so that the bits are those of one kernel over a contiguous copy.
class PieceByPiece {
 public:
  PieceByPiece(OpCode op, const Tensor& in, const ReductionStage& stage, DType accumulator, DType stored,
               const Tensor& out)
      : op_(op), accumulator_(accumulator), stored_(stored), out_(out),
        pieces_({pointerOf(in), in.dtype(), in.shape(), in.strides()}), dtype_(in.dtype()),
        outer_(numelOf(DimsRef(in.shape()).first(stage.begin))),
        reduced_(numelOf(DimsRef(in.shape()).subspan(stage.begin, stage.end - stage.begin))),
        inner_(numelOf(DimsRef(in.shape()).subspan(stage.end))), trailing_(stage.trailing) {}

  /// False, having done nothing, where there would be too few pieces to share among threads.
  bool run() {
    constexpr std::int64_t kFewest = 4;
    // Bytes: what is copied should be in a cache when it is read.
    constexpr std::int64_t kLargest = std::int64_t{16} << 20;
    const std::int64_t block = (trailing_ ? kTrailingBlock : kLeadingBlock) * inner_;
    const std::int64_t one = reduced_ * inner_;  // a row, or all rows of some columns
    const bool whole = one <= std::max(pieces_.least(), block);
    const std::int64_t unit = whole ? one : block;
    const std::int64_t count = (pieces_.least() + unit - 1) / unit;  // units of a piece
    const std::int64_t units = whole ? outer_ : (reduced_ * inner_ + block - 1) / block;
    const std::int64_t each = (units + count - 1) / count;
    const std::int64_t tiles = whole ? each : outer_ * each;
    if (tiles < kFewest || std::min(count, units) * unit * static_cast<std::int64_t>(itemSize(dtype_)) > kLargest)
      return false;
    if (!whole && !trailing_ && units > kLeadingBlock) return false;
    bump(counters().kernelLaunches);
    if (whole) {
      const KernelFn fn = lookupKernel(signature(stored_));
      parallelTiles(tiles, [&](std::int64_t i) {
        const std::int64_t first = i * count;
        const std::int64_t last = std::min(outer_, first + count);
        const Piece piece(pieces_, first * one, last * one);
        reduce(fn, piece.data(), last - first, reduced_, out_, first * inner_);
      });
      return true;
    }
    const std::int64_t blocks = units;
    Tensor partial = makeEmpty(Dims{outer_, blocks, inner_}, accumulator_);
    const KernelSignature overAll = signature(stored_);
    const KernelFn fn = lookupKernel(trailing_ ? splitRows(overAll).partial : signature(accumulator_));
    parallelTiles(tiles, [&](std::int64_t i) {
      const std::int64_t row = i / each;
      const std::int64_t first = i % each * count;
      const std::int64_t last = std::min(blocks, first + count);
      const std::int64_t begin = row * one + first * block;
      const std::int64_t end = row * one + std::min(last * block, one);
      const Piece piece(pieces_, begin, end);
      const std::int64_t at = (row * blocks + first) * inner_;
      if (trailing_) return reduceBlocks(fn, piece.data(), end - begin, partial, at);
      const std::int64_t full = (end - begin) / block;
      reduce(fn, piece.data(), full, kLeadingBlock, partial, at);
      const std::int64_t rest = (end - begin - full * block) / inner_;
      if (rest > 0)
        reduce(fn, piece.data() + full * block * static_cast<std::int64_t>(itemSize(dtype_)), 1, rest, partial,
               at + full * inner_);
    });
    if (trailing_) {
      finishRows(splitRows(overAll).finish, partial, outer_, blocks, out_);
    } else {
      KernelSignature finish = overAll;
      finish.inputs[0].dtype = accumulator_;
      const Args args = contiguous(pointerOf(partial), blocks, outer_, out_, 0);
      launchKernel(lookupKernel(finish), args.data(), outer_ * inner_, blocks, KernelKind::Column);
    }
    return true;
  }

 private:
  /// A stretch of the operand in contiguous memory.
  class Piece {
   public:
    Piece(const RowMajorPieces& from, std::int64_t begin, std::int64_t end)
        : size_(from.itemSize()), first_(begin / from.unit() * from.unit()), begin_(begin),
          memory_(((end + from.unit() - 1) / from.unit() * from.unit() - first_) * size_) {
      from.copy(first_ / from.unit(), (end + from.unit() - 1) / from.unit(), memory_.data());
    }
    [[nodiscard]] char* data() const { return memory_.data() + (begin_ - first_) * size_; }

   private:
    std::int64_t size_, first_, begin_;
    lib::Scratch<char> memory_;
  };

  [[nodiscard]] KernelSignature signature(DType to) const {
    return reduceSignature(op_, trailing_ ? KernelKind::Row : KernelKind::Column, 1, {dtype_, Access::Unit},
                           accumulator_, {to, trailing_ ? Access::Zero : accessOf(1, inner_)});
  }

  /// Of `outer` contiguous matrices of `reduced` rows (trailing: rows of as many elements) at `from`.
  [[nodiscard]] Args contiguous(const char* from, std::int64_t reduced, std::int64_t outer, const Tensor& to,
                                std::int64_t at) const {
    const ArgLayout layout(trailing_ ? KernelKind::Row : KernelKind::Column, 1, 2, 0);
    Args args(layout.size());
    args[layout.outerSize(0)] = outer;
    args[layout.innerSize()] = trailing_ ? reduced : inner_;
    if (!trailing_) {
      args[layout.reducedSize()] = reduced;
      args[layout.reducedStride(0)] = inner_;
    }
    args[layout.pointer(0)] = reinterpret_cast<std::int64_t>(from);
    args[layout.innerStride(0)] = 1;
    args[layout.outerStride(0, 0)] = reduced * inner_;
    args[layout.pointer(1)] = address(to) + at * static_cast<std::int64_t>(tandem::itemSize(to.dtype()));
    args[layout.innerStride(1)] = trailing_ ? 0 : 1;
    args[layout.outerStride(1, 0)] = inner_;
    return args;
  }

  void reduce(KernelFn fn, const char* from, std::int64_t outer, std::int64_t reduced, const Tensor& to,
              std::int64_t at) const {
    if (outer > 0) fn(contiguous(from, reduced, outer, to, at).data(), 0, outer * inner_);
  }
  /// Of a Partial kernel: the n elements are one row.
  void reduceBlocks(KernelFn fn, const char* from, std::int64_t n, const Tensor& to, std::int64_t at) const {
    Args args = contiguous(from, n, 1, to, at);
    args[ArgLayout(KernelKind::Partial, 1, 2, 0).innerStride(1)] = 1;
    fn(args.data(), 0, rowBlocks(n));
  }

  OpCode op_;
  DType accumulator_, stored_;
  const Tensor& out_;
  RowMajorPieces pieces_;
  DType dtype_;
  std::int64_t outer_, reduced_, inner_;
  bool trailing_;
};

/// Runs a stage as a Column kernel of its order.
void runColumns(const OpFacts& op, const Tensor& in, const ReductionStage& stage, const ColumnWalk& walk,
                DType accumulator, DType stored, const Tensor& out) {
  const std::int64_t n = walk.kept.back();
  const std::int64_t rows = walk.rows();
  KernelSignature s =
      reduceSignature(op.code, KernelKind::Column, static_cast<int>(walk.kept.size()) - 1, {in.dtype(), Access::Unit},
                      accumulator, {stored, accessOf(walk.keptStrides[1].back(), n)});
  s.trailing = stage.trailing;
  s.reducedRank = static_cast<std::uint8_t>(walk.reduced.size());
  const ArgLayout layout(s);
  Args args(layout.size());
  std::int64_t outer = 1;
  for (int d = 0; d < layout.outerRank; ++d) {
    args[layout.outerSize(d)] = walk.kept[d];
    outer *= walk.kept[d];
    for (std::size_t k = 0; k < 2; ++k) args[layout.outerStride(k, d)] = walk.keptStrides[k][d];
  }
  args[layout.innerSize()] = n;
  args[layout.reducedSize()] = rows;
  for (int d = 0; d < layout.reducedRank; ++d) {
    if (d > 0) args[layout.reducedDim(d)] = walk.reduced[d];
    args[layout.reducedStride(0, d)] = walk.reducedStrides[d];
  }
  args[layout.pointer(0)] = address(in);
  args[layout.pointer(1)] = address(out);
  for (std::size_t k = 0; k < 2; ++k) args[layout.innerStride(k)] = walk.keptStrides[k].back();
  LongWork away(in.numel());
  if (splitsColumns(outer * n, rows, s.trailing)) return runColumnBlocks(s, args, outer);
  CallKey key;
  key.words[0] = static_cast<std::uint64_t>(op.code) | static_cast<std::uint64_t>(s.outerRank) << 16;
  key.set(3, static_cast<std::uint8_t>(s.kind));
  key.set(4, static_cast<std::uint8_t>(accumulator));
  key.set(5, operandByte(in.dtype(), Access::Unit));
  key.set(6, operandByte(stored, s.outputs[0].operand.access));
  key.set(7, static_cast<std::uint8_t>(s.reducedRank * 2 + (s.trailing ? 1 : 0)));
  launchKernel(kernelFor(key, [&] { return lookupKernel(s); }), args.data(), outer * n, rows, KernelKind::Column);
}

/// The argument block of a one-input reduction: outer sizes, n, (reduced size), then both operands.
void runStage(const OpFacts& op, const Tensor& in, const ReductionStage& stage, DType accumulator, const Tensor& out) {
  Tensor source = in;
  std::optional<ReductionWalk> strided;
  // any and all of bytes give bytes, of 0 and 1 as bool has them.
  const DType stored = accumulator == DType::Bool ? DType::Bool : out.dtype();
  if (!in.isContiguous()) strided = walkStrided(in, stage);
  // Rows along which the operand is dense stay rows, and so do columns beside each other.
  if (!in.isContiguous() && (!strided || strided->strides[0].back() != 1))
    if (auto columns = walkColumns(in, stage)) return runColumns(op, in, stage, *columns, accumulator, stored, out);
  if (!in.isContiguous() && !strided) {
    LongWork away(in.numel());
    if (PieceByPiece(op.code, in, stage, accumulator, stored, out).run()) return;
    source = spread(in, in.shape());
  }
  auto [shape, strides] = strided ? *strided : walkContiguous(in.shape(), stage);
  if (stage.trailing) bringDenseNext(shape, strides);
  std::size_t rank = shape.size();
  std::int64_t n = shape[rank - 1];
  int outerRank = static_cast<int>(rank) - (stage.trailing ? 1 : 2);
  KernelOperand from{source.dtype(), accessOf(strides[0][rank - 1], n)};
  KernelOperand to{stored, stage.trailing ? Access::Zero : accessOf(strides[1][rank - 1], n)};
  KernelKind kind = stage.trailing ? KernelKind::Row : KernelKind::Column;
  auto signature = [&] { return reduceSignature(op.code, kind, outerRank, from, accumulator, to); };
  auto kernel = [&] {
    CallKey key;
    key.words[0] = static_cast<std::uint64_t>(op.code) | static_cast<std::uint64_t>(outerRank) << 16;
    key.set(3, static_cast<std::uint8_t>(kind));
    key.set(4, static_cast<std::uint8_t>(accumulator));
    key.set(5, operandByte(from.dtype, from.access));
    key.set(6, operandByte(to.dtype, to.access));
    return kernelFor(key, [&] { return lookupKernel(signature()); });
  };
  ArgLayout layout(kind, outerRank, 2, 0);
  Args args(layout.size());
  std::int64_t outer = 1;
  for (int d = 0; d < outerRank; ++d) {
    args[layout.outerSize(d)] = shape[d];
    outer *= shape[d];
    for (std::size_t k = 0; k < 2; ++k) args[layout.outerStride(k, d)] = strides[k][d];
  }
  args[layout.innerSize()] = n;
  args[layout.pointer(0)] = address(source);
  args[layout.pointer(1)] = address(out);
  for (std::size_t k = 0; k < 2; ++k) args[layout.innerStride(k)] = strides[k][rank - 1];
  LongWork away(outer * n * (stage.trailing ? 1 : shape[rank - 2]));
  if (!stage.trailing) {
    args[layout.reducedSize()] = shape[rank - 2];
    args[layout.reducedStride(0)] = strides[0][rank - 2];
  }
  if (takeAcross({&from, 1}, args.data(), layout, true)) {
    const KernelOperand operands[] = {from, to};
    return launchAcross(kernel(), args.data(), layout, operands, true);
  }
  if (!stage.trailing) {
    const std::int64_t rows = shape[rank - 2];
    if (splitsColumns(outer * n, rows, false)) return runColumnBlocks(signature(), args, outer);
    return launchKernel(kernel(), args.data(), outer * n, rows, kind);
  }
  if (!splitsRows(outer, n)) return launchKernel(kernel(), args.data(), outer, n);
  KernelSignature s = signature();
  if (!shouldSplitRows(s, outer, n)) return launchKernel(kernel(), args.data(), outer, n);

  SplitRows split = splitRows(s);
  std::int64_t blocks = rowBlocks(n);
  Tensor partial = makeEmpty(Dims{outer, blocks}, accumulator);
  std::int64_t step = blocks;
  for (int d = outerRank; d-- > 0;) {
    args[layout.outerStride(1, d)] = step;
    step *= shape[d];
  }
  args[layout.pointer(1)] = address(partial);
  launchKernel(lookupKernel(split.partial), args.data(), outer * blocks, std::min(n, kTrailingBlock));
  finishRows(split.finish, partial, outer, blocks, out);
}

/// Does the result not depend on the order in which elements are taken in? Of zeros of both signs the greatest is the
/// one met first.
bool inAnyOrder(const OpFacts& op, DType accumulator) {
  return !isFloating(accumulator) || op.code == OpCode::amax || op.code == OpCode::amin;
}
bool anyZero(const Tensor& t) {
  return lib::withType(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto* x = reinterpret_cast<const T*>(pointerOf(t));
    bool any = false;
    for (std::int64_t i = 0; i < t.numel(); ++i) any |= lib::Element<T>::load(x[i]) == 0;
    return any;
  });
}

void reduceStages(const OpFacts& op, Tensor source, DimsRef dims, DType accumulator, const Tensor& out);

/// The dims of `t` in the order in which it lies in memory, the innermost last; dims of size 1 stay before these.
Dims memoryOrder(const Tensor& t) {
  Dims order;
  for (std::int64_t d = 0; d < t.dim(); ++d) order.push_back(d);
  auto step = [&](std::int64_t d) {
    return t.shape()[d] == 1 ? std::numeric_limits<std::int64_t>::max() : std::abs(t.strides()[d]);
  };
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return step(a) > step(b); });
  return order;
}

/// Takes the dims in the order of the memory. The result comes in that order too, and is copied where it matters. False
/// where the order of elements may matter after all.
bool reduceInMemoryOrder(const OpFacts& op, const Tensor& in, DimsRef dims, DType accumulator, const Tensor& out,
                         const Dims& order) {
  Dims shape;
  Dims strides;
  Dims reduced;
  Dims kept;      // shape of the result, in the order of the memory
  Dims keptDims;  // which dims these are
  for (std::int64_t d : order) {
    const bool isReduced = std::ranges::find(dims, d) != dims.end();
    if (isReduced) reduced.push_back(static_cast<std::int64_t>(shape.size()));
    if (!isReduced && in.shape()[d] != 1) {
      kept.push_back(in.shape()[d]);
      keptDims.push_back(d);
    }
    shape.push_back(in.shape()[d]);
    strides.push_back(in.strides()[d]);
  }
  const Tensor turned = makeAlias(in, shape, strides, in.impl()->offset);
  const bool signedZeros = isFloating(accumulator);
  if (std::ranges::is_sorted(keptDims)) {
    reduceStages(op, turned, reduced, accumulator, out);
    return !signedZeros || !anyZero(out);
  }
  const Tensor result = makeEmpty(kept, out.dtype());
  reduceStages(op, turned, reduced, accumulator, result);
  if (signedZeros && anyZero(result)) return false;
  // Where each dim of the result goes in `out`, which is contiguous in the logical order.
  Dims to(kept.size(), 0);
  std::int64_t step = 1;
  for (std::int64_t d = in.dim(); d-- > 0;) {
    const auto at = std::ranges::find(keptDims, d) - keptDims.begin();
    if (at == static_cast<std::ptrdiff_t>(keptDims.size())) continue;
    to[static_cast<std::size_t>(at)] = step;
    step *= kept[static_cast<std::size_t>(at)];
  }
  copyArray({pointerOf(result), result.dtype(), kept, result.strides()}, {pointerOf(out), out.dtype(), kept, to});
  return true;
}

}  // namespace

void runReduction(const OpFacts& op, const Tensor& input, std::span<const std::int64_t> attrs, const Tensor& out) {
  if (out.numel() == 0) return;
  if (input.numel() == 0) return fill(out, Scalar(reductionIdentity(op.name)));
  const Dims dims(AttrReader(attrs).list());
  DType accumulator = computeType(out.dtype());
  if (op.dtypeRule == DTypeRule::Logical) accumulator = DType::Bool;
  if (!input.isContiguous() && inAnyOrder(op, accumulator)) {
    const Dims order = memoryOrder(input);
    if (!std::ranges::is_sorted(order) && reduceInMemoryOrder(op, input, dims, accumulator, out, order)) return;
  }
  reduceStages(op, input, dims, accumulator, out);
}

namespace {

/// The reduction in the order of dims that `input` has.
void reduceStages(const OpFacts& op, Tensor source, DimsRef dims, DType accumulator, const Tensor& out) {
  const auto stages = reductionStages(source.shape(), dims);
  if (op.dtypeRule == DTypeRule::Logical && source.dtype() != DType::Bool) {
    const Tensor truth = makeEmpty(source.shape(), DType::Bool);
    const Operand operands[] = {source};
    AttrWriter to;
    to.dtype(DType::Bool);
    runPointwise(facts(OpCode::to), operands, to.span(), {&truth, 1});
    source = truth;
  }
  if (stages.empty()) {
    // Dims of size 1 only: the same elements in the out's shape.
    Dims strides;
    TANDEM_CHECK(viewStrides(source.shape(), source.strides(), out.shape(), strides), op.name);
    Tensor window = makeAlias(source, out.shape(), strides, source.impl()->offset);
    const Operand operands[] = {window};
    AttrWriter to;
    to.dtype(out.dtype());
    return runPointwise(facts(OpCode::to), operands, to.span(), {&out, 1});
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i + 1 == stages.size()) {
      runStage(op, source, stages[i], accumulator, out);
      return;
    }
    Dims shape = source.shape();
    for (std::size_t d = stages[i].begin; d < stages[i].end; ++d) shape[d] = 1;
    Tensor into = makeEmpty(shape, accumulator);
    runStage(op, source, stages[i], accumulator, into);
    source = into;
  }
}

}  // namespace

}  // namespace tandem
