// avg_pool and its transpose. The elements of a window are added in row-major order, then divided; cotangents are
// divided and then added in the order of the windows.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

struct Average {
  Pool pool;
  bool countPadding;
  std::int64_t divisor;  // 0: what the window covers

  /// Of a window with `rest` places in the other dims, at `o` of `axis`.
  [[nodiscard]] std::int64_t places(const PoolAxis& axis, std::int64_t o) const {
    if (countPadding && !axis.adaptive) return axis.padded(o);
    Span s = axis.inside(o);
    return s.end - s.first;
  }
};

/// Calls row(input row's offset) for the rows of the window of output row (od, oh).
template <class Each>
[[gnu::always_inline]] inline void eachRow(const Pool& pool, std::int64_t od, std::int64_t oh, Each each) {
  const auto& [d, h, w] = pool.axes;
  Span depth = d.inside(od);
  Span rows = h.inside(oh);
  for (std::int64_t i = depth.first; i < depth.end; ++i)
    for (std::int64_t j = rows.first; j < rows.end; ++j) each((i * h.size + j) * w.size);
}

template <class T, class C>
[[gnu::always_inline]] inline void addRow(const PoolAxis& w, const T* x, C* sums) {
  if (w.adaptive) {
    for (std::int64_t o = 0; o < w.out; ++o) {
      Span s = w.inside(o);
      for (std::int64_t i = s.first; i < s.end; ++i) sums[o] = addElements<C>(sums[o], Element<T>::load(x[i]));
    }
    return;
  }
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    Span s = w.outputs(k);
    const T* from = x + k * w.dilation - w.padding;
    withStride(w.stride, [&](auto step) TANDEM_INLINED {
      for (std::int64_t o = s.first; o < s.end; ++o)
        sums[o] = addElements<C>(sums[o], Element<T>::load(from[o * step]));
    });
  }
}

template <class T, class C>
[[gnu::always_inline]] inline void spreadRow(const PoolAxis& w, const C* parts, C* x) {
  if (w.adaptive) {
    for (std::int64_t o = 0; o < w.out; ++o) {
      Span s = w.inside(o);
      for (std::int64_t i = s.first; i < s.end; ++i) x[i] = addElements<C>(x[i], parts[o]);
    }
    return;
  }
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    Span s = w.outputs(k);
    C* to = x + k * w.dilation - w.padding;
    withStride(w.stride, [&](auto step) TANDEM_INLINED {
      for (std::int64_t o = s.first; o < s.end; ++o) to[o * step] = addElements<C>(to[o * step], parts[o]);
    });
  }
}

template <class C>
C quotient(C sum, std::int64_t n) {
  if constexpr (std::is_same_v<C, bool>)
    return sum;
  else
    return static_cast<C>(sum / static_cast<C>(n));
}

/// Divisors of the places of one output row, all depths and rows of the window counted in.
template <class F>
[[gnu::always_inline]] inline void eachDivisor(const Average& a, std::int64_t od, std::int64_t oh, F f) {
  const auto& [d, h, w] = a.pool.axes;
  std::int64_t rows = a.places(d, od) * a.places(h, oh);
  for (std::int64_t o = 0; o < w.out; ++o) f(o, a.divisor != 0 ? a.divisor : rows * a.places(w, o));
}

template <class T, class C = typename Element<T>::Compute>
[[gnu::always_inline]] inline void averagePlane(const Average& a, const T* x, T* out, C* sums) {
  const auto& [d, h, w] = a.pool.axes;
  for (std::int64_t od = 0; od < d.out; ++od)
    for (std::int64_t oh = 0; oh < h.out; ++oh, out += w.out) {
      std::fill_n(sums, w.out, C{});
      eachRow(a.pool, od, oh, [&](std::int64_t row) TANDEM_INLINED { addRow<T, C>(w, x + row, sums); });
      eachDivisor(a, od, oh, [&](std::int64_t o, std::int64_t n) TANDEM_INLINED {
        out[o] = Element<T>::store(quotient(sums[o], n));
      });
    }
}
/// `to`: the plane's sums.
template <class T, class C = typename Element<T>::Compute>
[[gnu::always_inline]] inline void spreadPlane(const Average& a, const T* grad, C* to, C* parts) {
  const auto& [d, h, w] = a.pool.axes;
  std::fill_n(to, a.pool.inputSize(), C{});
  for (std::int64_t od = 0; od < d.out; ++od)
    for (std::int64_t oh = 0; oh < h.out; ++oh, grad += w.out) {
      eachDivisor(a, od, oh, [&](std::int64_t o, std::int64_t n) TANDEM_INLINED {
        parts[o] = quotient<C>(Element<T>::load(grad[o]), n);
      });
      eachRow(a.pool, od, oh, [&](std::int64_t row) TANDEM_INLINED { spreadRow<T, C>(w, parts, to + row); });
    }
}

template <class T, class C>
void average(const Average& a, const T* x, T* out, C* sums) {
  averagePlane<T>(a, x, out, sums);
}
TANDEM_CLONES void average(const Average& a, const float* x, float* out, float* sums) {
  averagePlane<float>(a, x, out, sums);
}
TANDEM_CLONES void average(const Average& a, const double* x, double* out, double* sums) {
  averagePlane<double>(a, x, out, sums);
}
template <class T, class C>
void spread(const Average& a, const T* grad, C* to, C* parts) {
  spreadPlane<T>(a, grad, to, parts);
}
TANDEM_CLONES void spread(const Average& a, const float* grad, float* to, float* parts) {
  spreadPlane<float>(a, grad, to, parts);
}
TANDEM_CLONES void spread(const Average& a, const double* grad, double* to, double* parts) {
  spreadPlane<double>(a, grad, to, parts);
}

/// After the sizes that come first: kernel, stride, padding, output size, count_include_pad, divisor.
Average readAverage(AttrReader& attrs, DimsRef in, DimsRef out) {
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  attrs.list();
  bool count = attrs.boolean();
  return {Pool(in, out, kernel, stride, padding, {}), count, attrs.integer()};
}

/// The spatial sizes of the output, the fourth list of the attributes.
DimsRef outputSizes(AttrReader attrs) {
  for (int i = 0; i < 3; ++i) attrs.list();
  return attrs.list();
}

}  // namespace

void avg_pool(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  DimsRef size = outputSizes(attrs);
  if (out.numel() == 0) return;
  Average a = readAverage(attrs, spatialSizes(x.view().shape, size.size()), size);
  std::int64_t n = a.pool.outputSize();
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    parallelFor(out.numel() / n, grainOf(2 * a.pool.work()), [&](std::int64_t begin, std::int64_t end) {
      Scratch<typename Element<T>::Compute> sums(a.pool.axes[2].out);
      for (std::int64_t p = begin; p < end; ++p)
        average(a, x.as<T>() + p * a.pool.inputSize(), out.as<T>() + p * n, sums.data());
    });
  });
}

void avg_pool_grad(const LibraryCall& call) {
  Contiguous grad(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  DimsRef inputSize = attrs.list();
  if (out.numel() == 0) return;
  Average a = readAverage(attrs, inputSize, spatialSizes(grad.view().shape, inputSize.size()));
  std::int64_t n = a.pool.inputSize();
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    constexpr bool wide = !std::is_same_v<T, C>;
    parallelFor(out.numel() / n, grainOf(2 * (a.pool.work() + n)), [&](std::int64_t begin, std::int64_t end) {
      Scratch<C> parts(a.pool.axes[2].out);
      Scratch<C> sums(wide ? n : 0);
      for (std::int64_t p = begin; p < end; ++p) {
        T* plane = out.as<T>() + p * n;
        const T* g = grad.as<T>() + p * a.pool.outputSize();
        if constexpr (wide) {
          spread(a, g, sums.data(), parts.data());
          for (std::int64_t i = 0; i < n; ++i) plane[i] = Element<T>::store(sums[i]);
        } else {
          spread(a, g, plane, parts.data());
        }
      }
    });
  });
}

}  // namespace tandem::lib
