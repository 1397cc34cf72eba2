#include "runtime/device/cpu/strided_reduction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "runtime/base/counters.h"
#include "runtime/device/cpu/dense_rows.h"
#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/cpu/strided_launch.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/column_reduction.h"
#include "runtime/kernel/launch_builder.h"
#include "runtime/lib/strided.h"

namespace tandem::cpu {

namespace {

/// A reduction whose reduced dims do not merge into one: what a kernel over a contiguous copy would be told, and how
/// the operand is read instead.
class Unmerged {
 public:
  explicit Unmerged(const StridedReduction& r)
      : r_(r), outer_(numelOf(DimsRef(r.in.shape).first(r.begin))),
        reduced_(numelOf(DimsRef(r.in.shape).subspan(r.begin, r.end - r.begin))),
        inner_(numelOf(DimsRef(r.in.shape).subspan(r.end))), kernel_(loadKernel(signature())) {}

  /// False, having done nothing, where columns would be too few pieces to share among threads.
  bool run() {
    if (!r_.trailing) return runColumns();
    if (sumAcross()) return true;
    launchStrided(kernel_, contiguous(r_.in.as<char>(), reduced_, outer_, result()).data(), {outer_, reduced_},
                  {&r_.in, 1});
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

  /// In pieces that are copied to the cache: all rows of some columns, or blocks of rows.
  bool runColumns() {
    constexpr std::int64_t kFewest = 4;
    // Bytes: what is copied should be in a cache when it is read.
    constexpr std::int64_t kLargest = std::int64_t{16} << 20;
    const RowMajorPieces pieces(r_.in);
    const std::int64_t block = kLeadingBlock * inner_;
    const std::int64_t one = reduced_ * inner_;
    const bool whole = one <= std::max(pieces.least(), block);
    const std::int64_t unit = whole ? one : block;
    const std::int64_t count = (pieces.least() + unit - 1) / unit;  // units of a piece
    const std::int64_t units = whole ? outer_ : (one + block - 1) / block;
    const std::int64_t each = (units + count - 1) / count;
    const std::int64_t tiles = whole ? each : outer_ * each;
    if (tiles < kFewest || std::min(count, units) * unit * pieces.itemSize() > kLargest) return false;
    if (!whole && units > kLeadingBlock) return false;
    bump(counters().kernelLaunches);
    if (whole) {
      const KernelFn fn = kernel_.function();
      parallelTiles(tiles, [&](std::int64_t i) {
        const std::int64_t first = i * count;
        const std::int64_t last = std::min(outer_, first + count);
        const lib::Scratch<char> memory(pieces.bytes(first * one, last * one));
        reduce(fn, pieces.copy(first * one, last * one, memory.data()), last - first, reduced_,
               result().from(first * inner_));
      });
      return true;
    }
    const lib::Scratch<char> results(outer_ * units * inner_ * static_cast<std::int64_t>(itemSize(r_.accumulator)));
    const Place partials{results.data(), r_.accumulator};
    const KernelFn fn = kernel_.split().partial->function();
    parallelTiles(tiles, [&](std::int64_t i) {
      const std::int64_t row = i / each;
      const std::int64_t first = i % each * count;
      const std::int64_t last = std::min(units, first + count);
      const std::int64_t begin = row * one + first * block;
      const std::int64_t end = row * one + std::min(last * block, one);
      const lib::Scratch<char> memory(pieces.bytes(begin, end));
      const char* const piece = pieces.copy(begin, end, memory.data());
      const Place to = partials.from((row * units + first) * inner_);
      const std::int64_t full = (end - begin) / block;
      reduce(fn, piece, full, kLeadingBlock, to);
      const std::int64_t rest = (end - begin - full * block) / inner_;
      if (rest > 0) reduce(fn, piece + full * block * pieces.itemSize(), 1, rest, to.from(full * inner_));
    });
    bump(counters().kernelLaunches);
    launchTiles(*kernel_.split().finish, contiguous(results.data(), units, outer_, result()).data(),
                {outer_ * inner_, units});
    return true;
  }

  /// Sums where rows lie side by side, each in at least a block; false where they do not.
  bool sumAcross() {
    if (!isFloating(r_.in.dtype) || opName(r_.op) != std::string_view("sum")) return false;
    if ((r_.accumulator == DType::Float64) != (r_.in.dtype == DType::Float64)) return false;
    ArrayView rows = r_.in;
    rows.shape = Dims(DimsRef(r_.in.shape).subspan(r_.begin));
    rows.strides = Dims(DimsRef(r_.in.strides).subspan(r_.begin));
    collapsePointwise(rows.shape, {&rows.strides, 1});
    if (!areDenseRows(rows.shape, rows.strides)) return false;
    bump(counters().kernelLaunches);
    const Args args = contiguous(nullptr, reduced_, outer_, result());
    launchBlocks(kernel_, args.data(), {outer_, reduced_}, [&](const CpuKernel& partial, const std::int64_t* own) {
      const Place sums{std::bit_cast<char*>(own[partial.layout.pointer(1)]), r_.accumulator};
      lib::Walker<1> at(DimsRef(r_.in.shape).first(r_.begin), {DimsRef(r_.in.strides).first(r_.begin)}, 0);
      for (std::int64_t i = 0; i < outer_; ++i, at.next()) {
        rows.data = r_.in.as<char>() + at.offset[0] * static_cast<std::int64_t>(itemSize(r_.in.dtype));
        sumDenseRows(rows, sums.from(i * rowBlocks(reduced_)).data);
      }
    });
    return true;
  }

  [[nodiscard]] Place result() const { return {r_.out.as<char>(), r_.out.dtype}; }
  [[nodiscard]] KernelSignature signature() const {
    const KernelKind kind = r_.trailing ? KernelKind::Row : KernelKind::Column;
    const Access out = r_.trailing ? Access::Zero : accessOf(1, inner_);
    return ReductionKernel{r_.op, kind, 1, {r_.in.dtype, Access::Unit}, r_.accumulator, {r_.out.dtype, out}}
        .signature();
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

  const StridedReduction& r_;
  std::int64_t outer_, reduced_, inner_;
  const CpuKernel& kernel_;
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
  return Unmerged(reduction).run();
}

}  // namespace tandem::cpu
