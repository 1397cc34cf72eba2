// argmax, argmin, max_dim, min_dim: the first place of the extreme value; the first NaN wins over everything.
#include <algorithm>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

// A full reduction is cut into pieces of this many elements.
constexpr std::int64_t kPiece = 64 * 1024;

/// Does `a`, met later, replace `b`?
template <bool Max, class C>
bool beats(C a, C b) {
  bool better = Max ? a > b : a < b;
  if constexpr (std::is_floating_point_v<C>) return better || (a != a && b == b);
  return better;
}

template <bool Max, class T>
std::int64_t bestOf(const T* x, std::int64_t n) {
  auto best = Element<T>::load(x[0]);
  std::int64_t at = 0;
  for (std::int64_t i = 1; i < n; ++i)
    if (auto v = Element<T>::load(x[i]); beats<Max>(v, best)) best = v, at = i;
  return at;
}

template <bool Max, class T>
std::int64_t bestOfAll(const T* x, std::int64_t n) {
  if (n <= kPiece) return bestOf<Max>(x, n);
  std::int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<std::int64_t> found(static_cast<std::size_t>(pieces));
  parallelTiles(pieces, [&](std::int64_t p) {
    std::int64_t from = p * kPiece;
    found[static_cast<std::size_t>(p)] = from + bestOf<Max>(x + from, std::min(kPiece, n - from));
  });
  std::int64_t at = found[0];
  for (std::int64_t f : found)
    if (beats<Max>(Element<T>::load(x[f]), Element<T>::load(x[at]))) at = f;
  return at;
}

/// For each position of outer x inner. `values` may be null.
template <bool Max, class T>
void bestAlong(const T* x, const DimSplit& s, T* values, std::int64_t* indices) {
  if (s.outer * s.inner == 1) {
    indices[0] = bestOfAll<Max>(x, s.size);
  } else if (s.inner == 1) {
    parallelFor(s.outer, kSerialElements / s.size + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) indices[o] = bestOf<Max>(x + o * s.size, s.size);
    });
  } else {
    parallelFor(s.outer * s.inner, kSerialElements / s.size + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end;) {
        // A run of inner positions, row after row: memory is read in order.
        std::int64_t length = std::min(end - p, s.inner - p % s.inner);
        const T* column = x + p / s.inner * s.size * s.inner + p % s.inner;
        std::fill_n(indices + p, length, 0);
        for (std::int64_t r = 1; r < s.size; ++r)
          for (std::int64_t j = 0; j < length; ++j)
            if (beats<Max>(Element<T>::load(column[r * s.inner + j]),
                           Element<T>::load(column[indices[p + j] * s.inner + j])))
              indices[p + j] = r;
        p += length;
      }
    });
  }
  if (values == nullptr) return;
  for (std::int64_t p = 0; p < s.outer * s.inner; ++p)
    values[p] = x[(p / s.inner * s.size + indices[p]) * s.inner + p % s.inner];
}

template <bool Max>
void reduce(const char* op, const ArrayView& input, const DimSplit& split, void* values, const ArrayView& indices) {
  if (indices.numel() == 0) return;
  if (split.size == 0) fail<IndexError>(op, ": the reduced dim has no elements");
  Contiguous x(input);
  withType(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    bestAlong<Max>(x.as<T>(), split, static_cast<T*>(values), indices.as<std::int64_t>());
  });
}

template <bool Max>
void argReduce(const char* op, const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  AttrReader attrs(call.attrs);
  DimSplit split{{}, 0};
  if (attrs.present())
    split = DimSplit(x.shape, wrapDim(attrs.integer(), static_cast<std::int64_t>(x.shape.size())));
  else
    split.size = x.numel();
  reduce<Max>(op, x, split, nullptr, call.outputs[0]);
}

template <bool Max>
void dimReduce(const char* op, const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  reduce<Max>(op, x, DimSplit(x.shape, dim), call.outputs[0].data, call.outputs[1]);
}

}  // namespace

void argmax(const LibraryCall& call) { argReduce<true>("argmax", call); }
void argmin(const LibraryCall& call) { argReduce<false>("argmin", call); }
void max_dim(const LibraryCall& call) { dimReduce<true>("max", call); }
void min_dim(const LibraryCall& call) { dimReduce<false>("min", call); }

}  // namespace tandem::lib
