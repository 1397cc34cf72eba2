#include "runtime/device/cpu/strided_reduction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "runtime/base/counters.h"
#include "runtime/device/cpu/dense_rows.h"
#include "runtime/device/cpu/dense_sums.h"
#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/cpu/strided_launch.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/column_reduction.h"
#include "runtime/kernel/launch_builder.h"
#include "runtime/kernel/memory_order.h"
#include "runtime/lib/strided.h"

namespace tandem::cpu {

namespace {

const CpuKernel& kernelOf(const ReductionKernel& k) {
  return static_cast<const CpuKernel&>(kernelFor(k.key(Device{}), [&] { return &loadKernel(k.signature()); }));
}

/// A reduction whose reduced dims do not merge into one: what a kernel over a contiguous copy would be told, and how
/// the operand is read instead.
class Unmerged {
 public:
  explicit Unmerged(const StridedReduction& r)
      : r_(r), outer_(numelOf(DimsRef(r.in.shape).first(r.begin))),
        reduced_(numelOf(DimsRef(r.in.shape).subspan(r.begin, r.end - r.begin))),
        inner_(numelOf(DimsRef(r.in.shape).subspan(r.end))) {}

  /// False, having done nothing, where columns would be too few pieces to share among threads, or go to places apart.
  bool run() { return runRows() || (!r_.trailing && r_.out.contiguous() && runColumns()); }

 private:
  /// Memory of contiguous elements.
  struct Place {
    char* data;
    DType dtype;
    [[nodiscard]] Place from(std::int64_t element) const {
      return {data + element * static_cast<std::int64_t>(itemSize(dtype)), dtype};
    }
  };

  /// The kept dims in the order in which they lie in memory, and then those reduced. Columns are rows so, where each of
  /// them lies side by side. False where they do not, or where kept dims do not merge.
  bool runRows() {
    Dims kept, reduced;  // which dims these are
    for (std::size_t d = 0; d < r_.in.shape.size(); ++d)
      (d >= r_.begin && d < r_.end ? reduced : kept).push_back(static_cast<std::int64_t>(d));
    auto step = [&](std::int64_t d) { return std::abs(r_.in.strides[d]); };
    auto isDense = [&](std::int64_t d) { return step(d) == 1 && r_.in.shape[d] > 1; };
    if (!r_.trailing && std::ranges::none_of(reduced, isDense)) return false;
    std::ranges::stable_sort(kept, [&](std::int64_t a, std::int64_t b) { return step(a) > step(b); });
    ArrayView rows{r_.in.data, r_.in.dtype, {}, {}};
    Dims outer;
    std::array<Dims, 2> strides;
    for (std::int64_t d : kept) {
      outer.push_back(r_.in.shape[d]);
      strides[0].push_back(r_.in.strides[d]);
      strides[1].push_back(r_.out.strides[d]);
    }
    collapsePointwise(outer, strides);
    if (outer.size() > kMaxOuterRank) return false;
    rows.shape = outer;
    rows.strides = strides[0];
    for (std::int64_t d : reduced) {
      rows.shape.push_back(r_.in.shape[d]);
      rows.strides.push_back(r_.in.strides[d]);
    }
    const Rows all{outer, strides[1]};
    return r_.trailing ? runTrailing(rows, all) : runLeading(rows, all);
  }

  /// The kept dims of rows, and where the results go.
  struct Rows {
    Dims shape, strides;
    [[nodiscard]] std::int64_t count() const { return numelOf(shape); }
  };

  bool runTrailing(const ArrayView& rows, const Rows& all) {
    const CpuKernel& kernel = rowKernel(all, r_.in.dtype, r_.out.dtype);
    const LaunchSpace space{all.count(), reduced_};
    const Args args = rowArgs(all, nullptr, reduced_, r_.out.data);
    if (isSum()) {
      const DenseSums sums(rows, all.shape.size(), true);
      if (sums.suits()) {
        bump(counters().kernelLaunches);
        launchBlocks(kernel, args.data(), space, [&](const CpuKernel& partial, const std::int64_t* own) {
          sums.run(std::bit_cast<void*>(own[partial.layout.pointer(1)]));
        });
        return true;
      }
      if (sumAcross(rows, kernel, args, space)) return true;
    }
    launchStrided(kernel, args.data(), space, {&rows, 1});
    return true;
  }

  bool runLeading(const ArrayView& rows, const Rows& all) {
    const std::int64_t blocks = (reduced_ + kLeadingBlock - 1) / kLeadingBlock, count = all.count();
    if (blocks == 1) {
      launchStrided(rowKernel(all, r_.in.dtype, r_.out.dtype), rowArgs(all, nullptr, reduced_, r_.out.data).data(),
                    {count, reduced_}, {&rows, 1});
      return true;
    }
    if (blocks > kLeadingBlock) return false;
    const lib::Scratch<char> results(count * blocks * static_cast<std::int64_t>(itemSize(r_.accumulator)));
    const Place partials{results.data(), r_.accumulator};
    bump(counters().kernelLaunches);
    const DenseSums sums(rows, all.shape.size(), false);
    if (isSum() && sums.suits())
      sums.run(results.data());
    else
      reducePieces(rows, blocks, partials);
    bump(counters().kernelLaunches);
    launchTiles(rowKernel(all, r_.accumulator, r_.out.dtype), rowArgs(all, results.data(), blocks, r_.out.data).data(),
                {count, blocks});
    return true;
  }

  /// Blocks of rows, copied to the cache some at a time.
  void reducePieces(const ArrayView& rows, std::int64_t blocks, const Place& partials) const {
    const RowMajorPieces pieces(rows);
    const KernelFn fn = rowKernel({{1}, {1}}, r_.in.dtype, r_.accumulator).function();
    auto reduce = [&](const char* from, std::int64_t count, std::int64_t n, const Place& to) {
      if (count > 0) fn(rowArgs({{count}, {1}}, from, n, to.data).data(), 0, count);
    };
    inPieces(numelOf(rows.shape) / reduced_ * blocks, kLeadingBlock, pieces.least(),
             [&](std::int64_t first, std::int64_t last) {
               auto beginOf = [&](std::int64_t unit) {
                 return unit / blocks * reduced_ + std::min(unit % blocks * kLeadingBlock, reduced_);
               };
               const std::int64_t begin = beginOf(first), end = beginOf(last);
               const lib::Scratch<char> memory(pieces.bytes(begin, end));
               const char* piece = pieces.copy(begin, end, memory.data());
               for (std::int64_t unit = first; unit < last;) {
                 // Whole blocks of a row, and the last one, which may be shorter.
                 const std::int64_t stop = std::min(last, (unit / blocks + 1) * blocks);
                 const std::int64_t length = beginOf(stop) - beginOf(unit), full = length / kLeadingBlock;
                 reduce(piece, full, kLeadingBlock, partials.from(unit));
                 reduce(piece + full * kLeadingBlock * pieces.itemSize(), length > full * kLeadingBlock ? 1 : 0,
                        length % kLeadingBlock, partials.from(unit + full));
                 piece += length * pieces.itemSize();
                 unit = stop;
               }
             });
  }

  [[nodiscard]] bool isSum() const {
    return isFloating(r_.in.dtype) && opName(r_.op) == std::string_view("sum") &&
           (r_.accumulator == DType::Float64) == (r_.in.dtype == DType::Float64);
  }
  /// The kernel of rows, in the order of the class.
  [[nodiscard]] const CpuKernel& rowKernel(const Rows& all, DType from, DType to) const {
    const KernelKind kind = r_.trailing ? KernelKind::Row : KernelKind::Leading;
    return kernelOf(
        {r_.op, kind, static_cast<int>(all.shape.size()), {from, Access::Unit}, r_.accumulator, {to, Access::Zero}});
  }
  /// Of contiguous rows of n elements.
  [[nodiscard]] static Args rowArgs(const Rows& all, const void* from, std::int64_t n, void* to) {
    const ArgLayout layout(KernelKind::Row, static_cast<int>(all.shape.size()), 2, 0);
    Args args(layout.size());
    Dims shape = all.shape;
    shape.push_back(n);
    Dims out = all.strides;
    out.push_back(0);
    writeWalk(layout, shape, std::array<Dims, 2>{contiguousStrides(shape), out}, args.data());
    args[layout.pointer(0)] = std::bit_cast<std::int64_t>(from);
    args[layout.pointer(1)] = std::bit_cast<std::int64_t>(to);
    return args;
  }

  /// In pieces that are copied to the cache: all rows of some columns, or blocks of rows.
  bool runColumns() {
    constexpr std::int64_t kFewest = 4;
    // Bytes: what is copied should be in a cache when it is read.
    constexpr std::int64_t kLargest = std::int64_t{16} << 20;
    const RowMajorPieces pieces(r_.in);
    const std::int64_t block = kLeadingBlock * inner_;
    const std::int64_t one = reduced_ * inner_;
    const bool whole = one <= std::max(pieces.least(), block);
    const CpuKernel& kernel = columnKernel();
    const std::int64_t unit = whole ? one : block;
    const std::int64_t count = (pieces.least() + unit - 1) / unit;  // units of a piece
    const std::int64_t units = whole ? outer_ : (one + block - 1) / block;
    const std::int64_t each = (units + count - 1) / count;
    const std::int64_t tiles = whole ? each : outer_ * each;
    if (tiles < kFewest || std::min(count, units) * unit * pieces.itemSize() > kLargest) return false;
    if (!whole && units > kLeadingBlock) return false;
    bump(counters().kernelLaunches);
    if (whole) {
      const KernelFn fn = kernel.function();
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
    const KernelFn fn = kernel.split().partial->function();
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
    launchTiles(*kernel.split().finish, contiguous(results.data(), units, outer_, result()).data(),
                {outer_ * inner_, units});
    return true;
  }

  /// Sums where rows lie side by side, each in at least a block; false where they do not.
  bool sumAcross(const ArrayView& all, const CpuKernel& kernel, const Args& args, const LaunchSpace& space) const {
    const std::size_t kept = all.shape.size() - (r_.end - r_.begin);
    ArrayView rows = all;
    rows.shape = Dims(DimsRef(all.shape).subspan(kept));
    rows.strides = Dims(DimsRef(all.strides).subspan(kept));
    collapsePointwise(rows.shape, {&rows.strides, 1});
    if (!areDenseRows(rows.shape, rows.strides)) return false;
    bump(counters().kernelLaunches);
    launchBlocks(kernel, args.data(), space, [&](const CpuKernel& partial, const std::int64_t* own) {
      const Place sums{std::bit_cast<char*>(own[partial.layout.pointer(1)]), r_.accumulator};
      lib::Walker<1> at(DimsRef(all.shape).first(kept), {DimsRef(all.strides).first(kept)}, 0);
      for (std::int64_t i = 0; i < space.units; ++i, at.next()) {
        rows.data = all.as<char>() + at.offset[0] * static_cast<std::int64_t>(itemSize(all.dtype));
        sumDenseRows(rows, sums.from(i * rowBlocks(reduced_)).data);
      }
    });
    return true;
  }

  [[nodiscard]] Place result() const { return {r_.out.as<char>(), r_.out.dtype}; }
  [[nodiscard]] const CpuKernel& columnKernel() const {
    const KernelOperand out{r_.out.dtype, accessOf(1, inner_)};
    return kernelOf({r_.op, KernelKind::Column, 1, {r_.in.dtype, Access::Unit}, r_.accumulator, out});
  }
  /// Of `outer` contiguous matrices of `reduced` rows at `from`.
  [[nodiscard]] Args contiguous(const char* from, std::int64_t reduced, std::int64_t outer, const Place& to) const {
    const ArgLayout layout(KernelKind::Column, 1, 2, 0);
    Args args(layout.size());
    writeWalk(layout, Dims{outer, reduced, inner_},
              std::array<Dims, 2>{Dims{reduced * inner_, inner_, 1}, Dims{inner_, 0, 1}}, args.data());
    args[layout.pointer(0)] = reinterpret_cast<std::int64_t>(from);
    args[layout.pointer(1)] = reinterpret_cast<std::int64_t>(to.data);
    return args;
  }

  void reduce(KernelFn fn, const char* from, std::int64_t outer, std::int64_t reduced, const Place& to) const {
    if (outer > 0) fn(contiguous(from, reduced, outer, to).data(), 0, outer * inner_);
  }

  const StridedReduction& r_;
  std::int64_t outer_, reduced_, inner_;
};

/// So many results take less time to be written side by side and copied from there than one by one.
constexpr std::int64_t kScattered = 1024;

/// The results of columns in the order in which the columns lie, and from there to their places.
void reduceInOrder(const StridedReduction& r) {
  const lib::Scratch<char> memory(r.out.numel() * static_cast<std::int64_t>(itemSize(r.out.dtype)));
  StridedReduction to = r;
  to.out.data = memory.data();
  to.out.strides = stridesInOrder(r.out.shape, memoryOrder(r.in.shape, r.in.strides));
  const auto columns = columnsOf(to);
  launch(kernelOf(columns->kernel), columns->args.data(), columns->space);
  copyArray(to.out, r.out);
}

}  // namespace

bool reduceStrided(const StridedReduction& reduction) {
  if (const auto columns = columnsOf(reduction)) {
    if (columns->kernel.out.access == Access::Strided && reduction.out.numel() >= kScattered) {
      reduceInOrder(reduction);
      return true;
    }
    launch(kernelOf(columns->kernel), columns->args.data(), columns->space);
    return true;
  }
  if (reduction.merges) return false;
  return Unmerged(reduction).run();
}

}  // namespace tandem::cpu
