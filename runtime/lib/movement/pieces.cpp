// take_pieces: reversed, rolled and reflected arrays in one pass, whatever the number of dims. The last dim with pieces
// is copied run by run, with all dims behind it as one block; of those before it each place is looked up in a table.
#include "runtime/base/pieces.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
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
/// Bytes that are copied sooner than a function of the C library begins.
constexpr std::int64_t kNear = 64;

[[gnu::noinline]] void copyNear(const void* from, std::int64_t bytes, void* to) {
  copyRow(static_cast<const unsigned char*>(from), bytes, static_cast<unsigned char*>(to));
}

template <class T>
void copyRun(const T* from, std::int64_t step, T* to, std::int64_t count) {
  if (count < kFew)
    for (; count > 0; --count, from += step) *to++ = *from;
  else if (step == 1 && count * static_cast<std::int64_t>(sizeof(T)) <= kNear)
    copyNear(from, count * static_cast<std::int64_t>(sizeof(T)), to);
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
/// One element of a row: what few elements side by side are.
struct Single {
  std::int64_t from, to;
};

/// What a row of the output is made of; no run is longer than a piece of work for one thread.
struct RowPlan {
  RowPlan(const PieceList& pieces, std::int64_t stride, std::int64_t block) {
    const std::int64_t most = grainOf(block);
    for (const Piece& p : pieces) {
      const bool few = block == 1 && p.count < kFew;
      for (std::int64_t i = 0, count = 0; i < p.count; i += count, width += count * block) {
        const std::int64_t from = (p.start + i * p.step) * stride;
        count = few ? 1 : std::min(most, p.count - i);
        if (few)
          singles.push_back({from, width});
        else
          runs.push_back({from, p.step * stride, width, count});
      }
    }
  }
  std::vector<Run> runs;
  std::vector<Single> singles;
  std::int64_t width = 0;
};

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
  [[gnu::noinline]] Rows(const std::vector<Table>& tables, std::int64_t first)
      : tables_(tables), index_(tables.size(), 0) {
    for (std::size_t d = tables.size(); d-- > 0; first /= sizeOf(d)) index_[d] = first % sizeOf(d);
    stretch();
  }
  std::int64_t next() {
    if (at_ == end_) turn();
    return before_ + *at_++;
  }

 private:
  std::int64_t sizeOf(std::size_t d) const { return static_cast<std::int64_t>(tables_[d].size()); }
  /// The offsets that differ by the last table alone.
  void stretch() {
    static constexpr std::int64_t kOnly = 0;
    const bool none = tables_.empty();
    at_ = none ? &kOnly : tables_.back().data() + index_.back();
    end_ = none ? &kOnly + 1 : tables_.back().data() + tables_.back().size();
    before_ = 0;
    for (std::size_t d = 0; d + 1 < tables_.size(); ++d) before_ += tables_[d][static_cast<std::size_t>(index_[d])];
  }
  [[gnu::noinline]] void turn() {
    for (std::size_t d = tables_.size(); d-- > 0; index_[d] = 0)
      if (d + 1 < tables_.size() && ++index_[d] < sizeOf(d)) break;
    stretch();
  }

  const std::vector<Table>& tables_;
  Dims index_;
  const std::int64_t* at_ = nullptr;
  const std::int64_t* end_ = nullptr;
  std::int64_t before_ = 0;
};

template <class T>
void take(const T* x, const std::vector<Table>& tables, const PieceList& row, std::int64_t stride, std::int64_t block,
          T* out) {
  const RowPlan plan(row, stride, block);
  const std::int64_t width = plan.width;
  // A row's parts are its runs, and the singles go with the first.
  const std::int64_t parts = std::max<std::int64_t>(1, std::ssize(plan.runs));
  std::int64_t rows = 1;
  for (const Table& t : tables) rows *= static_cast<std::int64_t>(t.size());
  parallelFor(rows * parts, grainOf(width / parts), [&](std::int64_t begin, std::int64_t end) {
    Rows walk(tables, begin / parts);
    T* to = out + begin / parts * width;
    if (plan.runs.empty()) {
      const std::span singles(plan.singles);
      for (; begin < end; ++begin, to += width) {
        const T* from = x + walk.next();
        for (const Single& s : singles) to[s.to] = from[s.from];
      }
      return;
    }
    for (std::int64_t first = begin % parts; begin < end; first = 0, to += width) {
      const T* from = x + walk.next();
      const std::int64_t count = std::min(parts - first, end - begin);
      if (first == 0)
        for (const Single& s : plan.singles) to[s.to] = from[s.from];
      for (const Run& run : std::span(plan.runs).subspan(first, count))
        copyPlaces(from + run.from, run, block, to + run.to);
      begin += count;
    }
  });
}

typedef std::uint8_t Bytes __attribute__((vector_size(16)));

/// Each N bytes the other way round; those behind the last whole ones stay.
template <int N, int... K>
Bytes reversed(Bytes v, std::integer_sequence<int, K...> /*places*/) {
  return __builtin_shufflevector(v, v, (K < 16 / N * N ? K / N * N + N - 1 - K % N : K)...);
}

/// As many whole rows of N bytes as a vector has, each the other way round; the bytes behind them are those of the next
/// rows, which follow. Returns how many rows it took.
template <int N>
std::int64_t reverseBytes(const std::uint8_t* x, std::int64_t rows, std::uint8_t* out) {
  constexpr int together = 16 / N;
  std::int64_t r = 0;
  for (; (rows - r) * N >= 16; r += together) {
    Bytes v;
    std::memcpy(&v, x + r * N, sizeof v);
    v = reversed<N>(v, std::make_integer_sequence<int, 16>());
    std::memcpy(out + r * N, &v, sizeof v);
  }
  return r;
}

/// Rows of N elements, each the other way round.
template <int N, class T>
void reverseRows(const T* x, std::int64_t rows, T* out) {
  parallelFor(rows, grainOf(N), [&](std::int64_t begin, std::int64_t end) {
    if constexpr (sizeof(T) == 1) begin += reverseBytes<N>(x + begin * N, end - begin, out + begin * N);
    for (std::int64_t r = begin; r < end; ++r)
      for (int k = 0; k < N; ++k) out[r * N + k] = x[r * N + N - 1 - k];
  });
}

/// The same of 2 to 4 elements: pairs, colours, boxes. False, having done nothing, of others.
bool reverseShortRows(const ArrayView& x, std::int64_t size, const ArrayView& out) {
  if (size < 2 || size > 4) return false;
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const std::int64_t rows = out.numel() / size;
    size == 2   ? reverseRows<2>(x.as<T>(), rows, out.as<T>())
    : size == 3 ? reverseRows<3>(x.as<T>(), rows, out.as<T>())
                : reverseRows<4>(x.as<T>(), rows, out.as<T>());
  });
  return true;
}

bool isReversed(const PieceList& pieces, std::int64_t size) {
  return pieces.size() == 1 && pieces[0].start == size - 1 && pieces[0].step == -1 && pieces[0].count == size;
}
bool isWhole(const PieceList& pieces, std::int64_t size) {
  return pieces.size() == 1 && pieces[0].start == 0 && pieces[0].step == 1 && pieces[0].count == size;
}

/// Is another dim of a row-major result the dense one of the input?
bool isTurned(const ArrayView& x) {
  if (x.strides.back() == 1 || x.shape.back() == 1) return false;
  for (std::size_t d = 0; d + 1 < x.shape.size(); ++d)
    if (x.strides[d] == 1 && x.shape[d] > 1) return true;
  return false;
}

/// One piece of each dim from `first` on: the same memory with other strides.
std::optional<ArrayView> onePiece(ArrayView x, std::size_t first, const std::vector<PieceList>& dims) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].size() != 1) return {};
    const Piece& p = dims[i][0];
    offset += p.start * x.strides[first + i];
    x.strides[first + i] *= p.step;
    x.shape[first + i] = p.count;
  }
  x.data = x.as<char>() + offset * static_cast<std::int64_t>(itemSize(x.dtype));
  return x;
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
  const std::int64_t size = given.shape[last];
  bool othersWhole = last + 1 == given.shape.size();
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) othersWhole &= isWhole(dims[d], given.shape[first + d]);
  if (othersWhole && given.contiguous() && isReversed(dims.back(), size) && reverseShortRows(given, size, out)) return;
  // The dims behind the last with pieces must be one block.
  auto dense = [last](const ArrayView& x) {
    return isContiguous(DimsRef(x.shape).subspan(last + 1), DimsRef(x.strides).subspan(last + 1));
  };
  const bool turned = isTurned(given);
  if (const auto piece = turned ? onePiece(given, first, dims) : std::nullopt) return copyArray(*piece, out);
  std::optional<Contiguous> copy;
  if (turned || !dense(given)) copy.emplace(given);
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
