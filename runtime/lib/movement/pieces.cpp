// take_pieces: reversed, rolled and reflected arrays in one pass, whatever the number of dims. The last dim with pieces
// is copied run by run, with all dims behind it as one block; of those before it each place is looked up in a table.
#include "runtime/base/pieces.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

/// Offsets in the input, in elements, of the places along one dim of the output.
using Table = std::vector<std::int64_t>;

/// So few elements are stored one by one sooner than a copy of their kind begins.
constexpr std::int64_t kFew = 8;

template <class T>
void copyRun(const T* from, std::int64_t step, T* to, std::int64_t count) {
  if (count < kFew)
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  else if (step == 1)
    copyBytes(to, from, static_cast<std::size_t>(count) * sizeof(T));
  else if (step == -1)
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[-i];
  else if (step == 0)
    std::fill_n(to, count, *from);
  else
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

/// A stretch of a row of the output: `count` places of the input, of `block` elements each, from the row's begin on.
struct Run {
  std::int64_t from, step, to, count;
};

/// The runs of every row, none longer than a piece of work for one thread.
std::vector<Run> runsOf(const PieceList& pieces, std::int64_t stride, std::int64_t block) {
  const std::int64_t most = grainOf(block);
  std::vector<Run> runs;
  std::int64_t to = 0;
  for (const Piece& p : pieces)
    for (std::int64_t i = 0; i < p.count; i += most) {
      std::int64_t count = std::min(most, p.count - i);
      runs.push_back({(p.start + i * p.step) * stride, p.step * stride, to, count});
      to += count * block;
    }
  return runs;
}

template <class T>
void copyPlaces(const T* from, const Run& run, std::int64_t block, T* to) {
  if (block == 1)
    copyRun(from, run.step, to, run.count);
  else if (run.step == block)
    copyRun(from, 1, to, run.count * block);
  else
    for (std::int64_t i = 0; i < run.count; ++i) copyRun(from + i * run.step, 1, to + i * block, block);
}

/// The input's rows, one after another as the output has them: offsets that are sums of one entry of each table, the
/// last table's running fastest.
class Rows {
 public:
  Rows(const std::vector<Table>& tables, std::int64_t first) : tables_(tables), index_(tables.size(), 0) {
    for (std::size_t d = tables.size(); d-- > 0; first /= sizeOf(d)) index_[d] = first % sizeOf(d);
  }
  std::int64_t next() {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < tables_.size(); ++d) offset += tables_[d][static_cast<std::size_t>(index_[d])];
    for (std::size_t d = tables_.size(); d-- > 0; index_[d] = 0)
      if (++index_[d] < sizeOf(d)) break;
    return offset;
  }

 private:
  std::int64_t sizeOf(std::size_t d) const { return static_cast<std::int64_t>(tables_[d].size()); }

  const std::vector<Table>& tables_;
  Dims index_;
};

/// Copies runs [begin, end) of one row.
template <class T>
void copyRow(const T* from, const Run* begin, const Run* end, std::int64_t block, T* to) {
  for (const Run* run = begin; run != end; ++run) copyPlaces(from + run->from, *run, block, to + run->to);
}

template <class T>
void take(const T* x, const std::vector<Table>& tables, const PieceList& row, std::int64_t stride, std::int64_t block,
          T* out) {
  const std::vector<Run> runs = runsOf(row, stride, block);
  const auto perRow = static_cast<std::int64_t>(runs.size());
  const std::int64_t width = countOf(row) * block;
  std::int64_t rows = 1;
  for (const Table& t : tables) rows *= static_cast<std::int64_t>(t.size());
  parallelFor(rows * perRow, grainOf(width / perRow), [&](std::int64_t begin, std::int64_t end) {
    Rows walk(tables, begin / perRow);
    T* to = out + begin / perRow * width;
    for (std::int64_t first = begin % perRow; begin < end; first = 0, to += width) {
      const std::int64_t count = std::min(perRow - first, end - begin);
      copyRow(x + walk.next(), runs.data() + first, runs.data() + first + count, block, to);
      begin += count;
    }
  });
}

bool isWhole(const PieceList& pieces, std::int64_t size) {
  return pieces.size() == 1 && pieces[0].start == 0 && pieces[0].step == 1 && pieces[0].count == size;
}

}  // namespace

void take_pieces(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  AttrReader attrs(call.attrs);
  auto first = static_cast<std::size_t>(attrs.integer());
  std::vector<PieceList> dims = unpackPieces(attrs.list());
  const ArrayView& given = call.inputs[0];
  while (dims.size() > 1 && isWhole(dims.back(), given.shape[first + dims.size() - 1])) dims.pop_back();
  std::size_t last = first + dims.size() - 1;
  // The dims behind the last with pieces must be one block.
  auto dense = [last](const ArrayView& x) {
    return isContiguous(DimsRef(x.shape).subspan(last + 1), DimsRef(x.strides).subspan(last + 1));
  };
  std::optional<Contiguous> copy;
  if (!dense(given)) copy.emplace(given);
  const ArrayView& x = copy ? copy->view() : given;
  std::vector<Table> tables(last);
  for (std::size_t d = 0; d < last; ++d) {
    std::vector<Piece> whole{{0, 1, x.shape[d]}};
    for (const Piece& p : d < first ? whole : dims[d - first])
      for (std::int64_t i = 0; i < p.count; ++i) tables[d].push_back((p.start + i * p.step) * x.strides[d]);
  }
  std::int64_t block = numelOf(DimsRef(x.shape).subspan(last + 1));
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    take(x.as<T>(), tables, dims.back(), x.strides[last], block, out.as<T>());
  });
}

}  // namespace tandem::lib
