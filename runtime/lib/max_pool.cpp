// max_pool2d: the largest element of each window and its place in the plane. A NaN in the window is its maximum.
#include <algorithm>
#include <limits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// One spatial dim of a window: which input positions output position `o` sees.
struct Window {
  std::int64_t size, kernel, stride, padding, dilation;

  /// First position inside the input, and the end.
  std::pair<std::int64_t, std::int64_t> range(std::int64_t o) const {
    std::int64_t begin = o * stride - padding;
    std::int64_t end = std::min(begin + (kernel - 1) * dilation + 1, size);
    if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
    return {begin, end};
  }
};

template <class T>
void poolPlane(const T* x, const Window& h, const Window& w, std::int64_t outH, std::int64_t outW, T* values,
               std::int64_t* indices) {
  using C = typename Element<T>::Compute;
  for (std::int64_t oh = 0; oh < outH; ++oh) {
    auto [h0, h1] = h.range(oh);
    for (std::int64_t ow = 0; ow < outW; ++ow) {
      auto [w0, w1] = w.range(ow);
      std::int64_t at = h0 * w.size + w0;
      C best =
          std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
      for (std::int64_t i = h0; i < h1; i += h.dilation)
        for (std::int64_t j = w0; j < w1; j += w.dilation) {
          C v = Element<T>::load(x[i * w.size + j]);
          bool take = (v > best) | (v != v);  // no branch: it would be guessed wrong
          best = take ? v : best;
          at = take ? i * w.size + j : at;
        }
      *values++ = Element<T>::store(best);
      *indices++ = at;
    }
  }
}

/// The most common window, 2 x 2 every 2 without padding, all inside the plane; same results.
template <class T>
void poolPlane2x2(const T* x, std::int64_t width, std::int64_t outH, std::int64_t outW, T* values,
                  std::int64_t* indices) {
  using C = typename Element<T>::Compute;
  for (std::int64_t oh = 0; oh < outH; ++oh)
    for (std::int64_t ow = 0; ow < outW; ++ow) {
      std::int64_t first = 2 * oh * width + 2 * ow;
      C best = Element<T>::load(x[first]);
      std::int64_t at = first;
      for (std::int64_t i : {first + 1, first + width, first + width + 1}) {
        C v = Element<T>::load(x[i]);
        bool take = (v > best) | (v != v);
        best = take ? v : best;
        at = take ? i : at;
      }
      *values++ = Element<T>::store(best);
      *indices++ = at;
    }
}

}  // namespace

void max_pool2d(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  const ArrayView& values = call.outputs[0];
  const ArrayView& indices = call.outputs[1];
  AttrReader attrs(call.attrs);
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef dilation = attrs.list();
  if (values.numel() == 0) return;
  const Dims& in = x.view().shape;
  std::size_t r = in.size();
  auto step = [&](std::size_t d) { return stride.empty() ? kernel[d] : stride[d]; };
  Window h{in[r - 2], kernel[0], step(0), padding[0], dilation[0]};
  Window w{in[r - 1], kernel[1], step(1), padding[1], dilation[1]};
  std::int64_t outH = values.shape[r - 2];
  std::int64_t outW = values.shape[r - 1];
  std::int64_t planes = values.numel() / (outH * outW);
  auto isPlain = [](const Window& d, std::int64_t out) {
    return d.kernel == 2 && d.stride == 2 && d.padding == 0 && d.dilation == 1 && 2 * out <= d.size;
  };
  bool plain = isPlain(h, outH) && isPlain(w, outW);
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    parallelFor(planes, kSerialElements / 2 / (h.size * w.size + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p)
        if (plain)
          poolPlane2x2(x.as<T>() + p * h.size * w.size, w.size, outH, outW, values.as<T>() + p * outH * outW,
                       indices.as<std::int64_t>() + p * outH * outW);
        else
          poolPlane(x.as<T>() + p * h.size * w.size, h, w, outH, outW, values.as<T>() + p * outH * outW,
                    indices.as<std::int64_t>() + p * outH * outW);
    });
  });
}

}  // namespace tandem::lib
