// sort, topk, lex_order, and kthvalue, median, nanmedian and mode, which choose of ordered lines.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kOrder("order", kOrderText);

constexpr std::int64_t kSmallChunk = 128;
constexpr std::int64_t kLargeChunk = 1024;

enum class Kind { Word, Pair, Row };

/// The struct Lines of order.cu.
struct Lines {
  const void* x;
  std::int64_t size, inner, keep, descending;
};

/// The first `keep` items of lines of a contiguous array, in order, [lines, keep].
class Ordered {
 public:
  Ordered(DType dtype, Kind kind, const Lines& lines, std::int64_t count)
      : lines_(lines), count_(count), dtype_(dtype), kind_(kind), chunk_(chunkOf(lines.size)) {
    std::int64_t width =
        std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(lines.size))), chunk_);
    std::int64_t runs = (lines.size + width - 1) / width;
    std::int64_t room = std::min(width, lines.keep);
    const std::size_t bytes = static_cast<std::size_t>(count * mostItems(runs, room, lines.keep)) *
                              (kind == Kind::Pair ? 2 : 1) * sizeof(std::uint64_t);
    items_.emplace(bytes);
    const std::int64_t together = chunk_ / width;
    launch(kernel("sortChunks"), blocks((count * runs + together - 1) / together, static_cast<unsigned>(chunk_ / 2)),
           lines_, items_->as(), count, runs, width, room);
    if (runs > 1) spare_.emplace(bytes);
    for (; runs > 1; runs = (runs + 1) / 2, width *= 2) {
      const std::int64_t wider = std::min(2 * room, lines.keep);
      launch(kernel("mergeRuns"), elementwise(count * runs * room), lines_, data(), other(), count, runs, width, room,
             wider);
      room = wider;
      swapped_ = !swapped_;
    }
  }
  [[nodiscard]] void* data() const { return swapped_ ? spare_->as() : items_->as(); }
  [[nodiscard]] const Lines& lines() const { return lines_; }
  [[nodiscard]] const Function& kernel(const char* name) const {
    return kOrder.kernel(name, {{"ELEMENT", typeName(dtype_)},
                                {"KIND", std::to_string(static_cast<int>(kind_))},
                                {"FLOATING", isFloating(dtype_) ? "1" : "0"},
                                {"CHUNK", std::to_string(chunk_)}});
  }

 private:
  static std::int64_t chunkOf(std::int64_t size) { return size <= kSmallChunk ? kSmallChunk : kLargeChunk; }
  /// Of a line, before or after any pass: a run that is left over has the room of two.
  static std::int64_t mostItems(std::int64_t runs, std::int64_t room, std::int64_t keep) {
    std::int64_t most = runs * room;
    for (; runs > 1; most = std::max(most, runs * room)) {
      runs = (runs + 1) / 2;
      room = std::min(2 * room, keep);
    }
    return most;
  }
  [[nodiscard]] void* other() const { return swapped_ ? items_->as() : spare_->as(); }

  Lines lines_;
  std::int64_t count_;
  DType dtype_;
  Kind kind_;
  std::int64_t chunk_;
  bool swapped_ = false;
  std::optional<Workspace> items_, spare_;
};

Kind kindOf(DType t, std::int64_t size) { return itemSize(t) < 8 && size >> 32 == 0 ? Kind::Word : Kind::Pair; }

struct Along {
  const Dense x;
  AlongDim split;
  std::int64_t count;

  Along(const ArrayView& from, std::int64_t dim)
      : x(from), split(from.shape, wrapDim(dim, static_cast<std::int64_t>(from.shape.size()))),
        count(split.outer * split.inner) {}
  [[nodiscard]] Ordered ordered(std::int64_t keep, bool descending) const {
    return {x.view().dtype, kindOf(x.view().dtype, split.size),
            Lines{x.data(), split.size, split.inner, keep, descending ? 1 : 0}, count};
  }
};

void sortLines(const LibraryCall& call, const Along& a, std::int64_t keep, bool descending) {
  if (keep == 0 || a.count == 0) return;
  const Ordered ordered = a.ordered(keep, descending);
  launch(ordered.kernel("takeItems"), elementwise(a.count * keep), ordered.lines(), ordered.data(),
         call.outputs[0].data, call.outputs[1].data, a.count);
}

// Ranks that chooseRank knows.
constexpr std::int64_t kMedian = -1;
constexpr std::int64_t kNanMedian = -2;

void chooseRank(const LibraryCall& call, std::int64_t dim, std::int64_t rank) {
  if (call.outputs[0].numel() == 0) return;
  const Along a(call.inputs[0], dim);
  const Ordered ordered = a.ordered(rank < 0 ? a.split.size : rank + 1, false);
  launch(ordered.kernel("chooseRank"), elementwise(a.count), ordered.lines(), ordered.data(), call.outputs[0].data,
         call.outputs[1].data, a.count, rank);
}

}  // namespace

void sort(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const Along a(call.inputs[0], attrs.integer());
  sortLines(call, a, a.split.size, attrs.boolean());
}

void topk(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t k = attrs.integer();
  const Along a(call.inputs[0], attrs.integer());
  if (k < 0 || k > a.split.size) fail<Error>("topk: k = ", k, " is out of range for a dim of size ", a.split.size);
  sortLines(call, a, call.inputs[0].shape.empty() ? 1 : k, attrs.boolean());
}

void kthvalue(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t k = attrs.integer();
  chooseRank(call, attrs.integer(), k - 1);
}
void median_dim(const LibraryCall& call) { chooseRank(call, AttrReader(call.attrs).integer(), kMedian); }
void nanmedian_dim(const LibraryCall& call) { chooseRank(call, AttrReader(call.attrs).integer(), kNanMedian); }

void mode(const LibraryCall& call) {
  if (call.outputs[0].numel() == 0) return;
  const Along a(call.inputs[0], AttrReader(call.attrs).integer());
  const Ordered ordered = a.ordered(a.split.size, false);
  launch(ordered.kernel("chooseMode"), blocks(a.count, 128), ordered.lines(), ordered.data(), call.outputs[0].data,
         call.outputs[1].data, a.count);
}

void lex_order(const LibraryCall& call) {
  const ArrayView& order = call.outputs[0];
  if (order.numel() == 0) return;
  const Dense rows(call.inputs[0]);
  const std::int64_t n = order.numel();
  const Ordered ordered(rows.view().dtype, Kind::Row, Lines{rows.data(), n, rows.view().shape[1], n, 0}, 1);
  launch(ordered.kernel("takeItems"), elementwise(n), ordered.lines(), ordered.data(), static_cast<void*>(nullptr),
         order.data, std::int64_t{1});
}

namespace {
const Registered here{{"sort", &sort},
                      {"topk", &topk},
                      {"kthvalue", &kthvalue},
                      {"median_dim", &median_dim},
                      {"nanmedian_dim", &nanmedian_dim},
                      {"mode", &mode},
                      {"lex_order", &lex_order}};
}  // namespace

}  // namespace tandem::cuda::lib
