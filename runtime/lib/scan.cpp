// cumsum, cumprod, logcumsumexp, cummax, cummin: one chain along the dim for every other position, in order.
#include <algorithm>
#include <cmath>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// x outer x size x inner of In, out of Out; the chain runs in Out's compute type.
template <class In, class Out, class Combine>
void scanLines(const In* x, Out* out, const DimSplit& s, Combine combine) {
  using C = typename Element<Out>::Compute;
  if (s.size == 0) return;
  // Positions of one outer index are taken together, so that memory is read in order.
  parallelFor(s.outer * s.inner, kSerialElements / s.size + 1, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kWidth = 256;
    C carry[kWidth];
    while (begin < end) {
      std::int64_t i = begin % s.inner;
      std::int64_t width = std::min({kWidth, s.inner - i, end - begin});
      std::int64_t base = begin / s.inner * s.size * s.inner + i;
      for (std::int64_t j = 0; j < width; ++j) {
        carry[j] = static_cast<C>(Element<In>::load(x[base + j]));
        out[base + j] = Element<Out>::store(carry[j]);
      }
      for (std::int64_t r = 1; r < s.size; ++r) {
        base += s.inner;
        for (std::int64_t j = 0; j < width; ++j) {
          carry[j] = combine(carry[j], static_cast<C>(Element<In>::load(x[base + j])));
          out[base + j] = Element<Out>::store(carry[j]);
        }
      }
      begin += width;
    }
  });
}

template <class Combine>
void scan(const LibraryCall& call, Combine combine) {
  const ArrayView& out = call.outputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  DimSplit split(out.shape, dim);
  Contiguous x(call.inputs[0]);
  withType(x.view().dtype, [&](auto tag) {
    using In = typename decltype(tag)::Type;
    if (out.dtype == x.view().dtype) return scanLines(x.as<In>(), out.as<In>(), split, combine);
    if constexpr (std::is_integral_v<In>)
      if (out.dtype == DType::Int64) return scanLines(x.as<In>(), out.as<std::int64_t>(), split, combine);
    fail<InternalError>("scan of ", dtypeName(x.view().dtype), " into ", dtypeName(out.dtype));
  });
}

/// log(e^a + e^b).
template <class C>
C logSum(C a, C b) {
  if (a != a || b != b) return a + b;
  if (a == b) return a + static_cast<C>(0.693147180559945309417);
  C larger = std::max(a, b);
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

/// Values and the places they come from; a later equal value replaces the one before, and NaN everything.
template <bool Max, class T>
void scanExtremes(const T* x, T* values, std::int64_t* indices, const DimSplit& s) {
  using C = typename Element<T>::Compute;
  if (s.size == 0) return;
  parallelFor(s.outer * s.inner, kSerialElements / s.size + 1, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kWidth = 256;
    C best[kWidth];
    std::int64_t place[kWidth];
    while (begin < end) {
      std::int64_t i = begin % s.inner;
      std::int64_t width = std::min({kWidth, s.inner - i, end - begin});
      std::int64_t base = begin / s.inner * s.size * s.inner + i;
      for (std::int64_t r = 0; r < s.size; ++r, base += s.inner) {
        for (std::int64_t j = 0; j < width; ++j) {
          C v = Element<T>::load(x[base + j]);
          bool replaces = r == 0 || v != v || (best[j] == best[j] && (Max ? v >= best[j] : v <= best[j]));
          if (replaces) best[j] = v, place[j] = r;
          values[base + j] = Element<T>::store(best[j]);
          indices[base + j] = place[j];
        }
      }
      begin += width;
    }
  });
}

template <bool Max>
void extremes(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  DimSplit split(out.shape, dim);
  Contiguous x(call.inputs[0]);
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    scanExtremes<Max>(x.as<T>(), out.as<T>(), call.outputs[1].as<std::int64_t>(), split);
  });
}

}  // namespace

void cummax(const LibraryCall& call) { extremes<true>(call); }
void cummin(const LibraryCall& call) { extremes<false>(call); }

void logcumsumexp(const LibraryCall& call) {
  scan(call, [](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>)
      return logSum(a, b);
    else
      return a;
  });
}

void cumsum(const LibraryCall& call) {
  scan(call, [](auto a, auto b) { return addElements(a, b); });
}
void cumprod(const LibraryCall& call) {
  scan(call, [](auto a, auto b) { return mulElements(a, b); });
}

}  // namespace tandem::lib
