// resample: one dim interpolated to another size, and its transpose. Each output position is a weighted sum of a few
// input positions ("taps"), added in the order of their positions.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/pool/taps.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Rows of `inner` elements: to = or += w * from.
template <class C>
[[gnu::always_inline]] inline void scaleRows(const C* from, C w, C* to, std::int64_t inner, bool add) {
  if (add)
    for (std::int64_t i = 0; i < inner; ++i) to[i] += w * from[i];
  else
    for (std::int64_t i = 0; i < inner; ++i) to[i] = w * from[i];
}

template <class C>
[[gnu::always_inline]] inline void gatherSlab(const Taps<C>& taps, const C* x, C* y, std::int64_t out,
                                              std::int64_t inner) {
  const std::int64_t* index = taps.index.data();
  const C* weight = taps.weight.data();
  if (inner == 1 && taps.each == 1) {
    for (std::int64_t o = 0; o < out; ++o) y[o] = weight[o] * x[index[o]];
    return;
  }
  if (inner == 1 && taps.each == 2) {
    for (std::int64_t o = 0; o < out; ++o)
      y[o] = weight[2 * o] * x[index[2 * o]] + weight[2 * o + 1] * x[index[2 * o + 1]];
    return;
  }
  for (std::int64_t o = 0; o < out; ++o) {
    std::int64_t first = taps.starts[static_cast<std::size_t>(o)];
    std::int64_t last = taps.starts[static_cast<std::size_t>(o) + 1];
    if (inner == 1) {
      C sum = first < last ? weight[first] * x[index[first]] : C{0};
      for (std::int64_t k = first + 1; k < last; ++k) sum += weight[k] * x[index[k]];
      y[o] = sum;
      continue;
    }
    if (last - first == 2) {
      const C* left = x + index[first] * inner;
      const C* right = x + index[first + 1] * inner;
      for (std::int64_t i = 0; i < inner; ++i)
        y[o * inner + i] = weight[first] * left[i] + weight[first + 1] * right[i];
      continue;
    }
    if (first == last) std::fill_n(y + o * inner, inner, C{0});
    for (std::int64_t k = first; k < last; ++k)
      scaleRows(x + index[k] * inner, weight[k], y + o * inner, inner, k > first);
  }
}

template <class C>
[[gnu::always_inline]] inline void scatterSlab(const Taps<C>& taps, const C* g, C* x, std::int64_t in, std::int64_t out,
                                               std::int64_t inner) {
  std::fill_n(x, in * inner, C{0});
  const std::int64_t* index = taps.index.data();
  const C* weight = taps.weight.data();
  if (inner == 1 && taps.each > 0) {
    for (std::int64_t o = 0; o < out; ++o, index += taps.each, weight += taps.each)
      for (std::int64_t k = 0; k < taps.each; ++k) x[index[k]] += weight[k] * g[o];
    return;
  }
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t k = taps.starts[static_cast<std::size_t>(o)]; k < taps.starts[static_cast<std::size_t>(o) + 1];
         ++k)
      scaleRows(g + o * inner, weight[k], x + index[k] * inner, inner, true);
}

template <class C>
void gatherSlabs(const Taps<C>& taps, const C* x, C* y, std::int64_t out, std::int64_t inner) {
  withHostIsa([&]() TANDEM_INLINED { gatherSlab(taps, x, y, out, inner); });
}
template <class C>
void scatterSlabs(const Taps<C>& taps, const C* g, C* x, std::int64_t in, std::int64_t out, std::int64_t inner) {
  withHostIsa([&]() TANDEM_INLINED { scatterSlab(taps, g, x, in, out, inner); });
}

[[gnu::always_inline]] inline void gatherByteSlab(const ByteTaps& t, const std::uint8_t* x, std::uint8_t* y,
                                                  std::int64_t out, std::int64_t inner) {
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t first = t.taps.starts[static_cast<std::size_t>(o)];
    const std::int64_t last = t.taps.starts[static_cast<std::size_t>(o) + 1];
    for (std::int64_t i = 0; i < inner; ++i) {
      std::int32_t sum = t.shift > 0 ? 1 << (t.shift - 1) : 0;
      for (std::int64_t k = first; k < last; ++k)
        sum += t.taps.weight[static_cast<std::size_t>(k)] * x[t.taps.index[static_cast<std::size_t>(k)] * inner + i];
      y[o * inner + i] = static_cast<std::uint8_t>(std::clamp(sum >> t.shift, 0, 255));
    }
  }
}
void gatherBytes(const ByteTaps& t, const std::uint8_t* x, std::uint8_t* y, std::int64_t out, std::int64_t inner) {
  withHostIsa([&]() TANDEM_INLINED { gatherByteSlab(t, x, y, out, inner); });
}

/// Every slab of `from` [outer, a, inner] through `run(slab, result slab)` into `to` [outer, b, inner].
template <class T, class C, class Run>
void eachSlab(const ArrayView& from, const ArrayView& to, std::int64_t outer, Run run) {
  std::int64_t a = from.numel() / outer;
  std::int64_t b = to.numel() / outer;
  parallelFor(outer, grainOf(2 * (a + b)), [&](std::int64_t begin, std::int64_t end) {
    constexpr bool wide = !std::is_same_v<T, C>;
    Scratch<C> x(wide ? a : 0);
    Scratch<C> y(wide ? b : 0);
    for (std::int64_t s = begin; s < end; ++s) {
      const T* source = from.as<T>() + s * a;
      T* target = to.as<T>() + s * b;
      if constexpr (wide) {
        widen(source, x.data(), a);
        run(x.data(), y.data());
        narrow(y.data(), target, b);
      } else {
        run(source, target);
      }
    }
  });
}

/// `run` with the size of small blocks as a constant: a copy of one is a move or two, and otherwise a call.
template <class Run>
[[gnu::always_inline]] inline void withBlock(std::int64_t inner, Run run) {
  switch (inner) {
  case 1:
    return run(std::integral_constant<std::int64_t, 1>());
  case 2:
    return run(std::integral_constant<std::int64_t, 2>());
  case 4:
    return run(std::integral_constant<std::int64_t, 4>());
  case 8:
    return run(std::integral_constant<std::int64_t, 8>());
  case 16:
    return run(std::integral_constant<std::int64_t, 16>());
  case 32:
    return run(std::integral_constant<std::int64_t, 32>());
  default:
    return run(inner);
  }
}

/// Every element `times` times in a row, blocks of `inner` of them as they are.
template <class T>
[[gnu::always_inline]] inline void repeatBlocks(const T* x, T* y, std::int64_t blocks, std::int64_t times,
                                                std::int64_t inner) {
  if (inner == 1 && times == 2) {
    for (std::int64_t i = 0; i < blocks; ++i) y[2 * i] = y[2 * i + 1] = x[i];
    return;
  }
  withBlock(inner, [&](auto size) TANDEM_INLINED {
    for (std::int64_t i = 0; i < blocks; ++i)
      for (std::int64_t k = 0; k < times; ++k, y += size)
        std::memcpy(y, x + i * size, static_cast<std::size_t>(size) * sizeof(T));
  });
}
/// Blocks at places.
template <class T>
[[gnu::always_inline]] inline void copyBlocks(const T* x, const std::vector<std::int64_t>& index, T* y,
                                              std::int64_t inner) {
  withBlock(inner, [&](auto size) TANDEM_INLINED {
    for (const std::int64_t i : index) {
      std::memcpy(y, x + i * size, static_cast<std::size_t>(size) * sizeof(T));
      y += size;
    }
  });
}

/// Is each position read equally often, one after the other?
bool readEqually(const std::vector<std::int64_t>& index, std::int64_t in) {
  const auto out = static_cast<std::int64_t>(index.size());
  bool even = out % in == 0;
  for (std::int64_t o = 0; even && o < out; ++o) even = index[static_cast<std::size_t>(o)] == o / (out / in);
  return even;
}

/// The nearest position alone: copies, of any type. Where each position is read equally often, the dims around it are
/// one run of blocks.
void copyNearest(const ArrayView& x, const ArrayView& to, const std::vector<std::int64_t>& index, std::int64_t in,
                 std::int64_t inner) {
  const auto out = static_cast<std::int64_t>(index.size());
  const std::int64_t outer = to.numel() / (out * inner);
  const std::int64_t times = out / in;
  const bool even = readEqually(index, in);
  withSize(to.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (even)
      return parallelFor(outer * in, grainOf((1 + times) * inner), [&](std::int64_t begin, std::int64_t end) {
        withAvx2([&]() TANDEM_INLINED {
          repeatBlocks(x.as<T>() + begin * inner, to.as<T>() + begin * times * inner, end - begin, times, inner);
        });
      });
    parallelFor(outer, grainOf((in + out) * inner), [&](std::int64_t begin, std::int64_t end) {
      withAvx2([&]() TANDEM_INLINED {
        for (std::int64_t s = begin; s < end; ++s)
          copyBlocks(x.as<T>() + s * in * inner, index, to.as<T>() + s * out * inner, inner);
      });
    });
  });
}

/// The transpose of repeatBlocks: what came of each element is added to zero, one after another.
template <class C>
[[gnu::always_inline]] inline void addBlocks(const C* g, C* x, std::int64_t blocks, std::int64_t times,
                                             std::int64_t inner) {
  if (inner == 1 && times == 2) {
    for (std::int64_t i = 0; i < blocks; ++i) x[i] = C{0} + g[2 * i] + g[2 * i + 1];
    return;
  }
  for (std::int64_t i = 0; i < blocks; ++i, g += times * inner, x += inner)
    if (times == 2)
      for (std::int64_t j = 0; j < inner; ++j) x[j] = C{0} + g[j] + g[inner + j];
    else
      for (std::int64_t j = 0; j < inner; ++j) {
        C sum = C{0} + g[j];
        for (std::int64_t k = 1; k < times; ++k) sum += g[k * inner + j];
        x[j] = sum;
      }
}

/// Cotangents of the nearest position where each is read equally often: runs of blocks, widened and narrowed together.
template <class T, class C>
void addNearest(const ArrayView& g, const ArrayView& to, std::int64_t times, std::int64_t inner) {
  constexpr std::int64_t kElements = 4096;  // in the first cache
  const std::int64_t blocks = to.numel() / inner;
  parallelFor(blocks, grainOf((1 + times) * inner), [&](std::int64_t begin, std::int64_t end) {
    constexpr bool wide = !std::is_same_v<T, C>;
    const std::int64_t most = wide ? std::max<std::int64_t>(kElements / (times * inner), 1) : end - begin;
    Scratch<C> given(wide ? most * times * inner : 0);
    Scratch<C> sums(wide ? most * inner : 0);
    for (std::int64_t first = begin; first < end; first += most) {
      const std::int64_t n = std::min(most, end - first);
      const T* from = g.as<T>() + first * times * inner;
      T* target = to.as<T>() + first * inner;
      const auto add = [&](const C* x, C* y) {
        withHostIsa([&]() TANDEM_INLINED { addBlocks(x, y, n, times, inner); });
      };
      if constexpr (wide) {
        widen(from, given.data(), n * times * inner);
        add(given.data(), sums.data());
        narrow(sums.data(), target, n * inner);
      } else {
        add(from, target);
      }
    }
  });
}

void resampleEither(const LibraryCall& call, bool transposed) {
  Contiguous x(call.inputs[0]);
  const ArrayView& to = call.outputs[0];
  if (to.numel() == 0) return;
  AttrReader attrs(call.attrs);
  std::int64_t dim = attrs.integer();
  attrs.integer();
  auto mode = static_cast<Interpolation>(attrs.integer());
  bool alignCorners = attrs.boolean();
  auto ratio = std::bit_cast<double>(call.scalars[0]);
  DimSplit from(x.view().shape, dim);
  DimSplit made(to.shape, dim);
  std::int64_t in = transposed ? made.size : from.size;
  std::int64_t out = transposed ? from.size : made.size;
  if (mode <= Interpolation::NearestExact && !transposed) {
    const bool wide = to.dtype == DType::Float64;
    return copyNearest(x.view(), to,
                       wide ? tapsOf<double>(in, out, mode, alignCorners, ratio).index
                            : tapsOf<float>(in, out, mode, alignCorners, ratio).index,
                       in, from.inner);
  }
  withType(to.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    if constexpr (std::is_floating_point_v<C>) {
      Taps<C> taps = tapsOf<C>(in, out, mode, alignCorners, ratio);
      if (transposed && mode <= Interpolation::NearestExact && readEqually(taps.index, in))
        addNearest<T, C>(x.view(), to, out / in, from.inner);
      else if (transposed)
        eachSlab<T, C>(x.view(), to, from.outer,
                       [&](const C* g, C* y) { scatterSlabs(taps, g, y, in, out, from.inner); });
      else
        eachSlab<T, C>(x.view(), to, from.outer, [&](const C* s, C* y) { gatherSlabs(taps, s, y, out, from.inner); });
    } else if (std::is_same_v<T, std::uint8_t> && !transposed) {
      const ByteTaps taps = byteTapsOf(tapsOf<double>(in, out, mode, alignCorners, ratio));
      eachSlab<std::uint8_t, std::uint8_t>(x.view(), to, from.outer, [&](const std::uint8_t* s, std::uint8_t* y) {
        gatherBytes(taps, s, y, out, from.inner);
      });
    } else {
      fail<NotImplementedError>("interpolate not implemented for '", dtypeName(to.dtype), "'");
    }
  });
}

}  // namespace

void resample(const LibraryCall& call) { resampleEither(call, false); }
void resample_grad(const LibraryCall& call) { resampleEither(call, true); }

}  // namespace tandem::lib
