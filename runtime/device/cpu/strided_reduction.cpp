#include "runtime/device/cpu/strided_reduction.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/base/counters.h"
#include "runtime/device/cpu/dense_rows.h"
#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/column_reduction.h"
#include "runtime/kernel/launch_builder.h"
#include "runtime/lib/strided.h"

namespace tandem::cpu {

namespace {

/// A reduction whose reduced dims do not merge into one, in pieces of its operand that are copied to the cache: whole
/// rows, columns or blocks of these, so that the bits are those of one kernel over a contiguous copy.
class PieceByPiece {
 public:
  explicit PieceByPiece(const StridedReduction& r)
      : r_(r), pieces_(r.in), dtype_(r.in.dtype), outer_(numelOf(DimsRef(r.in.shape).first(r.begin))),
        reduced_(numelOf(DimsRef(r.in.shape).subspan(r.begin, r.end - r.begin))),
        inner_(numelOf(DimsRef(r.in.shape).subspan(r.end))) {}

  /// False, having done nothing, where there would be too few pieces to share among threads.
  bool run() {
    constexpr std::int64_t kFewest = 4;
    // Bytes: what is copied should be in a cache when it is read.
    constexpr std::int64_t kLargest = std::int64_t{16} << 20;
    const std::int64_t block = (r_.trailing ? kTrailingBlock : kLeadingBlock) * inner_;
    const std::int64_t one = reduced_ * inner_;  // a row, or all rows of some columns
    const bool whole = one <= std::max(pieces_.least(), block);
    const std::int64_t unit = whole ? one : block;
    const std::int64_t count = (pieces_.least() + unit - 1) / unit;  // units of a piece
    const std::int64_t units = whole ? outer_ : (reduced_ * inner_ + block - 1) / block;
    const std::int64_t each = (units + count - 1) / count;
    const std::int64_t tiles = whole ? each : outer_ * each;
    if (tiles < kFewest || std::min(count, units) * unit * static_cast<std::int64_t>(itemSize(dtype_)) > kLargest)
      return false;
    if (!whole && !r_.trailing && units > kLeadingBlock) return false;
    bump(counters().kernelLaunches);
    const CpuKernel& kernel = loadKernel(signature());
    const Place out = result();
    if (whole) {
      const KernelFn fn = kernel.function();
      parallelTiles(tiles, [&](std::int64_t i) {
        const std::int64_t first = i * count;
        const std::int64_t last = std::min(outer_, first + count);
        const Piece piece(pieces_, first * one, last * one);
        reduce(fn, piece.data(), last - first, reduced_, out.from(first * inner_));
      });
      return true;
    }
    const std::int64_t blocks = units;
    const lib::Scratch<char> memory(outer_ * blocks * inner_ * static_cast<std::int64_t>(itemSize(r_.accumulator)));
    const Place partials{memory.data(), r_.accumulator};
    const KernelFn fn = kernel.split().partial->function();
    parallelTiles(tiles, [&](std::int64_t i) {
      const std::int64_t row = i / each;
      const std::int64_t first = i % each * count;
      const std::int64_t last = std::min(blocks, first + count);
      const std::int64_t begin = row * one + first * block;
      const std::int64_t end = row * one + std::min(last * block, one);
      const Piece piece(pieces_, begin, end);
      const Place to = partials.from((row * blocks + first) * inner_);
      if (r_.trailing) return reduceBlocks(fn, piece.data(), end - begin, to);
      const std::int64_t full = (end - begin) / block;
      reduce(fn, piece.data(), full, kLeadingBlock, to);
      const std::int64_t rest = (end - begin - full * block) / inner_;
      if (rest > 0)
        reduce(fn, piece.data() + full * block * static_cast<std::int64_t>(itemSize(dtype_)), 1, rest,
               to.from(full * inner_));
    });
    finish(kernel, partials, blocks);
    return true;
  }

  /// Sums where rows lie side by side, each in at least a block; false where they do not.
  bool sumAcross() {
    if (!r_.trailing || !isFloating(dtype_) || opName(r_.op) != std::string_view("sum")) return false;
    if ((r_.accumulator == DType::Float64) != (dtype_ == DType::Float64)) return false;
    ArrayView rows = r_.in;
    rows.shape = Dims(DimsRef(r_.in.shape).subspan(r_.begin));
    rows.strides = Dims(DimsRef(r_.in.strides).subspan(r_.begin));
    collapsePointwise(rows.shape, {&rows.strides, 1});
    if (!areDenseRows(rows.shape, rows.strides)) return false;
    bump(counters().kernelLaunches);
    const std::int64_t blocks = rowBlocks(reduced_);
    const auto size = static_cast<std::int64_t>(itemSize(r_.accumulator));
    const lib::Scratch<char> memory(outer_ * blocks * size);
    lib::Walker<1> at(DimsRef(r_.in.shape).first(r_.begin), {DimsRef(r_.in.strides).first(r_.begin)}, 0);
    for (std::int64_t i = 0; i < outer_; ++i, at.next()) {
      rows.data = r_.in.as<char>() + at.offset[0] * static_cast<std::int64_t>(itemSize(dtype_));
      sumDenseRows(rows, memory.data() + i * blocks * size);
    }
    finish(loadKernel(signature()), {memory.data(), r_.accumulator}, blocks);
    return true;
  }

 private:
  /// Memory of contiguous elements.
  struct Place {
    char* data;
    DType dtype;
    [[nodiscard]] Place from(std::int64_t element) const {
      return {data + element * static_cast<std::int64_t>(itemSize(dtype)), dtype};
    }
  };

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

  [[nodiscard]] Place result() const { return {r_.out.as<char>(), r_.out.dtype}; }
  /// Combines the results of blocks.
  void finish(const CpuKernel& whole, const Place& partials, std::int64_t blocks) const {
    const Args args = contiguous(partials.data, blocks, outer_, result());
    bump(counters().kernelLaunches);
    launchTiles(*whole.split().finish, args.data(), {outer_ * inner_, blocks});
  }

  [[nodiscard]] KernelSignature signature() const {
    const KernelKind kind = r_.trailing ? KernelKind::Row : KernelKind::Column;
    const Access out = r_.trailing ? Access::Zero : accessOf(1, inner_);
    return ReductionKernel{r_.op, kind, 1, {dtype_, Access::Unit}, r_.accumulator, {r_.out.dtype, out}}.signature();
  }

  /// Of `outer` contiguous matrices of `reduced` rows (trailing: rows of as many elements) at `from`.
  [[nodiscard]] Args contiguous(const char* from, std::int64_t reduced, std::int64_t outer, const Place& to) const {
    const ArgLayout layout(r_.trailing ? KernelKind::Row : KernelKind::Column, 1, 2, 0);
    Args args(layout.size());
    if (r_.trailing) {
      writeWalk(layout, Dims{outer, reduced}, std::array<Dims, 2>{Dims{reduced, 1}, Dims{1, 0}}, args.data());
    } else {
      writeWalk(layout, Dims{outer, reduced, inner_},
                std::array<Dims, 2>{Dims{reduced * inner_, inner_, 1}, Dims{inner_, 0, 1}}, args.data());
    }
    args[layout.pointer(0)] = reinterpret_cast<std::int64_t>(from);
    args[layout.pointer(1)] = reinterpret_cast<std::int64_t>(to.data);
    return args;
  }

  void reduce(KernelFn fn, const char* from, std::int64_t outer, std::int64_t reduced, const Place& to) const {
    if (outer > 0) fn(contiguous(from, reduced, outer, to).data(), 0, outer * inner_);
  }
  /// Of a Partial kernel: the n elements are one row.
  void reduceBlocks(KernelFn fn, const char* from, std::int64_t n, const Place& to) const {
    Args args = contiguous(from, n, 1, to);
    args[ArgLayout(KernelKind::Partial, 1, 2, 0).innerStride(1)] = 1;
    fn(args.data(), 0, rowBlocks(n));
  }

  const StridedReduction& r_;
  RowMajorPieces pieces_;
  DType dtype_;
  std::int64_t outer_, reduced_, inner_;
};

}  // namespace

bool reduceStrided(const StridedReduction& reduction) {
  if (const auto columns = columnsOf(reduction)) {
    const ReductionKernel& k = columns->kernel;
    const Kernel& kernel = kernelFor(k.key(Device{}), [&] { return &loadKernel(k.signature()); });
    launch(kernel, columns->args.data(), columns->space);
    return true;
  }
  if (reduction.merges) return false;
  PieceByPiece pieces(reduction);
  return pieces.sumAcross() || pieces.run();
}

}  // namespace tandem::cpu
