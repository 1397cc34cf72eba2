// take_pieces: reversed, rolled and reflected arrays in one pass, whatever the number of dims. The last dim with pieces
// is copied run by run, with all dims behind it as one block; of those before it each place is looked up in a table.
#include "runtime/base/pieces.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Offsets in the input, in elements, of the places along one dim of the output.
using Table = std::vector<std::int64_t>;

template <class T>
void copyRun(const T* from, std::int64_t step, T* to, std::int64_t count) {
  if (step == 1)
    copyBytes(to, from, static_cast<std::size_t>(count) * sizeof(T));
  else if (step == -1)
    std::reverse_copy(from - count + 1, from + 1, to);
  else if (step == 0)
    std::fill_n(to, count, *from);
  else
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

/// Places [begin, end) of a row of blocks of `block` elements each.
template <class T>
void copyRow(const T* from, const PieceList& pieces, std::int64_t stride, std::int64_t block, std::int64_t begin,
             std::int64_t end, T* to) {
  for (const Piece& p : pieces) {
    std::int64_t first = std::max<std::int64_t>(begin, 0);
    std::int64_t count = std::min(end, p.count) - first;
    begin -= p.count;
    end -= p.count;
    if (count <= 0) continue;
    const T* start = from + (p.start + first * p.step) * stride;
    if (block == 1) {
      copyRun(start, p.step * stride, to, count);
    } else if (p.step == 1 && stride == block) {
      copyRun(start, 1, to, count * block);
    } else {
      for (std::int64_t i = 0; i < count; ++i) copyRun(start + i * p.step * stride, 1, to + i * block, block);
    }
    to += count * block;
  }
}

template <class T>
void take(const T* x, const std::vector<Table>& tables, const PieceList& row, std::int64_t stride, std::int64_t block,
          T* out) {
  std::int64_t length = countOf(row);
  std::int64_t rows = 1;
  for (const Table& t : tables) rows *= static_cast<std::int64_t>(t.size());
  parallelFor(rows * length, kSerialElements / block + 1, [&](std::int64_t begin, std::int64_t end) {
    Dims index(tables.size(), 0);
    std::int64_t left = begin / length;
    for (std::size_t d = tables.size(); d-- > 0;) {
      auto n = static_cast<std::int64_t>(tables[d].size());
      index[d] = left % n;
      left /= n;
    }
    while (begin < end) {
      const T* from = x;
      for (std::size_t d = 0; d < tables.size(); ++d) from += tables[d][static_cast<std::size_t>(index[d])];
      std::int64_t first = begin % length;
      std::int64_t stop = std::min(length, first + end - begin);
      copyRow(from, row, stride, block, first, stop, out + begin * block);
      begin += stop - first;
      for (std::size_t d = tables.size(); d-- > 0;) {
        if (++index[d] < static_cast<std::int64_t>(tables[d].size())) break;
        index[d] = 0;
      }
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
