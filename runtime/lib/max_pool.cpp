// max_pool: the largest element of each window and its place among the spatial dims; max_pool_values: the former alone.
// A NaN in the window is its maximum. Rows of the output are made place by place of the window, so that the loop over a
// row is one of vectors.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kPad = 8;  // rows are worked on in whole vectors of this many

std::int64_t paddedSize(std::int64_t n) { return (n + kPad - 1) / kPad * kPad; }

/// Maxima and places of one row of the output.
template <class C, class I>
struct Row {
  std::int64_t size;
  Scratch<C> best;
  Scratch<I> at;
  explicit Row(std::int64_t n) : size(paddedSize(n)), best(size), at(size) { std::fill_n(at.data(), size, I(0)); }
};

template <class C>
[[gnu::always_inline]] inline bool replaces(C v, C best) {
  if constexpr (std::is_floating_point_v<C>)
    return (v > best) | (v != v);  // no branch: it would be guessed wrong
  else
    return v > best;
}

/// In the place of the type of places: there are none.
struct NoPlace {
  NoPlace() = default;
  template <class N>
  explicit NoPlace(N) {}
};

template <class T, class C, class I>
[[gnu::always_inline]] inline void takeLarger(const T* x, I place, std::int64_t stride, std::int64_t n, C* best,
                                              I* at) {
  withStride(stride, [&](auto step) {
    for (std::int64_t o = 0; o < n; ++o) {
      C v = Element<T>::load(x[o * step]);
      bool take = replaces(v, best[o]);
      best[o] = take ? v : best[o];
      if constexpr (std::is_integral_v<I>) at[o] = take ? static_cast<I>(place + static_cast<I>(o * step)) : at[o];
    }
  });
}

/// One row of the input into one row of the output.
template <class T, class C, class I>
[[gnu::always_inline]] inline void takeRow(const PoolAxis& w, const T* plane, std::int64_t base, std::int64_t planeSize,
                                           C* best, I* at) {
  if (w.adaptive) {
    for (std::int64_t o = 0; o < w.out; ++o) {
      Span s = w.inside(o);
      for (std::int64_t i = s.first; i < s.end; ++i) {
        C v = Element<T>::load(plane[base + i]);
        bool take = replaces(v, best[o]);
        best[o] = take ? v : best[o];
        if constexpr (std::is_integral_v<I>) at[o] = take ? static_cast<I>(base + i) : at[o];
      }
    }
    return;
  }
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    Span o = w.outputs(k);
    if (o.first >= o.end) continue;
    std::int64_t n = o.end - o.first;
    std::int64_t first = base + o.first * w.stride + k * w.dilation - w.padding;
    // The places behind the row may be worked on as well, as long as there is memory to read.
    if (std::int64_t whole = paddedSize(n);
        o.first == 0 && o.end == w.out && first + (whole - 1) * w.stride < planeSize)
      n = whole;
    takeLarger(plane + first, static_cast<I>(first), w.stride, n, best + o.first, at + o.first);
  }
}

template <class T, class I, class C = typename Element<T>::Compute>
[[gnu::always_inline]] inline void maxPlane(const Pool& pool, const T* x, T* values, std::int64_t* indices,
                                            Row<C, I>& row) {
  const auto& [d, h, w] = pool.axes;
  constexpr C lowest =
      std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
  C* best = row.best.data();
  I* at = row.at.data();
  for (std::int64_t od = 0; od < d.out; ++od)
    for (std::int64_t oh = 0; oh < h.out; ++oh) {
      Span depth = d.inside(od);
      Span rows = h.inside(oh);
      // A window of infinities has its maximum at its first element.
      std::int64_t start = (depth.first * h.size + rows.first) * w.size;
      std::fill_n(best, row.size, lowest);
      if constexpr (std::is_integral_v<I>)
        for (std::int64_t o = 0; o < w.out; ++o) at[o] = static_cast<I>(start + w.inside(o).first);
      for (std::int64_t i = depth.first; i < depth.end; i += d.dilation)
        for (std::int64_t j = rows.first; j < rows.end; j += h.dilation)
          takeRow(w, x, (i * h.size + j) * w.size, pool.inputSize(), best, at);
      for (std::int64_t o = 0; o < w.out; ++o) values[o] = Element<T>::store(best[o]);
      values += w.out;
      if constexpr (std::is_integral_v<I>) {
        for (std::int64_t o = 0; o < w.out; ++o) indices[o] = at[o];
        indices += w.out;
      }
    }
}

template <class T, class I>
void maxPlanes(const Pool& pool, const T* x, T* values, std::int64_t* indices,
               Row<typename Element<T>::Compute, I>& row) {
  maxPlane<T, I>(pool, x, values, indices, row);
}
TANDEM_CLONES void maxPlanes(const Pool& pool, const float* x, float* values, std::int64_t* indices,
                             Row<float, std::int32_t>& row) {
  maxPlane<float, std::int32_t>(pool, x, values, indices, row);
}
TANDEM_CLONES void maxPlanes(const Pool& pool, const double* x, double* values, std::int64_t* indices,
                             Row<double, std::int64_t>& row) {
  maxPlane<double, std::int64_t>(pool, x, values, indices, row);
}

TANDEM_CLONES void maxPlanes(const Pool& pool, const float* x, float* values, std::int64_t* indices,
                             Row<float, NoPlace>& row) {
  maxPlane<float, NoPlace>(pool, x, values, indices, row);
}
TANDEM_CLONES void maxPlanes(const Pool& pool, const double* x, double* values, std::int64_t* indices,
                             Row<double, NoPlace>& row) {
  maxPlane<double, NoPlace>(pool, x, values, indices, row);
}

template <class T, class I>
void maxPool(const Pool& pool, std::int64_t planes, const T* x, T* values, std::int64_t* indices) {
  parallelFor(planes, kSerialElements / 2 / (pool.work() + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    Row<typename Element<T>::Compute, I> row(pool.axes[2].out);
    for (std::int64_t p = begin; p < end; ++p)
      maxPlanes(pool, x + p * pool.inputSize(), values + p * pool.outputSize(),
                indices == nullptr ? nullptr : indices + p * pool.outputSize(), row);
  });
}

}  // namespace

namespace {

void pool(const LibraryCall& call, bool places) {
  Contiguous x(call.inputs[0]);
  const ArrayView& values = call.outputs[0];
  AttrReader attrs(call.attrs);
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef dilation = attrs.list();
  DimsRef size = attrs.list();
  if (values.numel() == 0) return;
  Pool pool(spatialSizes(x.view().shape, size.size()), size, kernel, stride, padding, dilation);
  std::int64_t planes = values.numel() / pool.outputSize();
  auto* indices = places ? call.outputs[1].as<std::int64_t>() : nullptr;
  bool wide = pool.inputSize() + kPad * 2 > std::numeric_limits<std::int32_t>::max();
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (!places)
      maxPool<T, NoPlace>(pool, planes, x.as<T>(), values.as<T>(), indices);
    else if (wide || sizeof(T) == 8)
      maxPool<T, std::int64_t>(pool, planes, x.as<T>(), values.as<T>(), indices);
    else
      maxPool<T, std::int32_t>(pool, planes, x.as<T>(), values.as<T>(), indices);
  });
}

}  // namespace

void max_pool(const LibraryCall& call) { pool(call, true); }
void max_pool_values(const LibraryCall& call) { pool(call, false); }

/// Operands (grad, indices): each element added where its maximum was, in row-major order.
void max_pool_grad(const LibraryCall& call) {
  Contiguous grad(call.inputs[0]);
  Contiguous indices(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  DimsRef size = AttrReader(call.attrs).list();
  if (out.numel() == 0) return;
  std::int64_t inputSize = numelOf(size);
  std::int64_t planes = out.numel() / inputSize;
  std::int64_t outputSize = planes == 0 ? 0 : grad.view().numel() / planes;
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    parallelFor(planes, kSerialElements / 2 / (inputSize + outputSize) + 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch<C> sums(std::is_same_v<T, C> ? 0 : inputSize);
      for (std::int64_t p = begin; p < end; ++p) {
        T* plane = out.as<T>() + p * inputSize;
        C* to = sums.data();
        if constexpr (std::is_same_v<T, C>) to = plane;
        std::fill_n(to, inputSize, C{});
        const T* g = grad.as<T>() + p * outputSize;
        const std::int64_t* at = indices.as<std::int64_t>() + p * outputSize;
        for (std::int64_t o = 0; o < outputSize; ++o) to[at[o]] = addElements(to[at[o]], Element<T>::load(g[o]));
        if constexpr (!std::is_same_v<T, C>)
          for (std::int64_t i = 0; i < inputSize; ++i) plane[i] = Element<T>::store(to[i]);
      }
    });
  });
}

}  // namespace tandem::lib
