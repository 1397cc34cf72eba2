// Convolutions of integers, those whose input is its own patches, and gradients of an input of few channels: each
// image's patches as a matrix [c / groups * kh * kw, oh * ow], and a product.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/patches.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kMaxPieces = 8;
// Multiply-adds of a product that is worth sharing.
constexpr std::int64_t kAloneWork = std::int64_t{1} << 20;

/// The sizes of the products of one image and group.
struct Products {
  std::int64_t rows, depth, positions;
  explicit Products(const ConvShape& s)
      : rows(s.groupOutputs()), depth(s.groupChannels() * s.kh * s.kw), positions(s.oh * s.ow) {}
};

/// A matrix, and the same one turned.
template <class T>
Matrix<T> turned(const Matrix<T>& m) {
  return {m.data, m.columnStride, m.rowStride};
}
/// An image of so many channels as the matrix [channels, positions].
template <class T>
Matrix<T> imageMatrix(const T* image, std::int64_t channels, std::int64_t positions, bool byChannels) {
  return {image, byChannels ? 1 : positions, byChannels ? channels : 1};
}

template <class T>
const T* integerPatches(const ConvShape& s, const T* image, T* patches) {
  using U = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>;
  toPatches(s, reinterpret_cast<const U*>(image), reinterpret_cast<U*>(patches));
  return patches;
}

/// Images and groups side by side; large ones that threads cannot share evenly, one by one, each sharing the pool
/// within its product. Which never matters to the bits.
template <class Each>
void eachImageAndGroup(const ConvShape& s, Each each) {
  const std::int64_t count = s.n * s.groups;
  const bool uneven = count < 2 * numThreads() && count % numThreads() != 0;
  if (uneven && s.imageWork() / s.groups > kAloneWork) {
    for (std::int64_t i = 0; i < count; ++i) each(i / s.groups, i % s.groups);
    return;
  }
  parallelTiles(count, [&](std::int64_t i) { each(i / s.groups, i % s.groups); });
}

/// c = a b, or, of no integers, that turned; of bfloat16 in groups.
template <class T, class Out>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, Out* c, bool turn = false) {
  // The products of both elements are the same either way round, and so are their sums.
  if constexpr (!std::is_integral_v<T>)
    if (turn) return product(n, m, k, turned(b), turned(a), c);
  if constexpr (std::is_same_v<T, BFloat16>)
    groupsGemm(m, n, k, a, b, c, std::is_same_v<Out, float>);
  else
    gemm(m, n, k, a, b, c);
}

/// The gradient of an input by channels: of a row of windows what lies beside each other is a row of the image each, so
/// that a product with the filters of that row of theirs, [o, kw * c], is made in its place.
template <class T>
void rowsInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad) {
  const std::int64_t size = s.kh * s.kw, n = s.kw * s.c, packed = s.o * packedColumns(n);
  const Scratch<T> byPlaces(s.weightChannels ? 0 : s.weightSize());
  const Scratch<T> panels(s.kh * packed);
  if (!s.weightChannels) {
    for (std::int64_t o = 0; o < s.o; ++o)
      convKernels<T>().turn(weight + o * s.c * size, size, byPlaces.data() + o * s.c * size, s.c, size, s.c);
    weight = byPlaces.data();
  }
  for (std::int64_t i = 0; i < s.kh; ++i)
    packGemm(n, s.o, Matrix<T>{weight + i * n, size * s.c, 1}, panels.data() + i * packed);
  parallelFor(s.n * s.oh, grainOf(s.ow * s.kh * n * s.o), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* from = grad + row / s.oh * s.outputSize() + row % s.oh * s.ow * (s.outputChannels ? s.o : 1);
      const Matrix<T> windows = turned(imageMatrix(from, s.o, s.oh * s.ow, s.outputChannels));
      for (std::int64_t i = 0; i < s.kh; ++i)
        packedGemm(s.ow, n, s.o, windows, panels.data() + i * packed, inputGrad + (row * s.kh + i) * s.w * s.c);
    }
  });
}

}  // namespace

bool inputGradByRows(const ConvShape& s) {
  return s.groups == 1 && !isPointwise(s) && covers(s) && s.ow > 1 && s.kw * s.c > 1 && s.o < kCutSum;
}

template <class T, class Out>
void patchForward(const ConvShape& s, const T* input, const T* weight, Out* output) {
  Products p(s);
  eachImageAndGroup(s, [&](std::int64_t n, std::int64_t g) {
    const T* image = input + n * s.inputSize() + g * s.groupChannels() * s.h * s.w;
    Matrix<T> seen = imageMatrix(image, s.c, p.positions, s.inputChannels);
    const bool copied = std::is_integral_v<T> && !isPointwise(s);
    Scratch<T> patches(copied ? p.depth * p.positions : 0);
    if constexpr (std::is_integral_v<T>)
      if (copied) seen = {integerPatches(s, image, patches.data()), p.positions, 1};
    product(p.rows, p.positions, p.depth, Matrix<T>{weight + g * p.rows * p.depth, p.depth, 1}, seen,
            output + n * s.outputSize() + g * p.rows * p.positions, s.outputChannels);
  });
}

template <class T, class Out>
void patchInputGrad(const ConvShape& s, const T* grad, const T* weight, Out* inputGrad) {
  if constexpr (std::is_floating_point_v<T>)
    if (s.inputChannels && !isPointwise(s)) return rowsInputGrad(s, grad, weight, inputGrad);
  Products p(s);
  eachImageAndGroup(s, [&](std::int64_t n, std::int64_t g) {
    const std::int64_t size = s.groupChannels() * s.h * s.w;
    Out* to = inputGrad + n * s.inputSize() + g * size;
    const auto patchesTo = [&](auto* patches) {
      product(p.depth, p.positions, p.rows, Matrix<T>{weight + g * p.rows * p.depth, 1, p.depth},
              imageMatrix(grad + n * s.outputSize() + g * p.rows * p.positions, s.o, p.positions, s.outputChannels),
              patches, s.inputChannels);
    };
    if (isPointwise(s)) return patchesTo(to);
    // What is in one window is its term: -0 where that underflows, however the image lies.
    if constexpr (!std::is_integral_v<T>)
      if (covers(s)) {
        const Scratch<Out> patches(p.depth * p.positions);
        patchesTo(patches.data());
        return s.kw == 2 ? placePatches(s, patches.data(), to, std::integral_constant<std::int64_t, 2>())
                         : placePatches(s, patches.data(), to, s.kw);
      }
    using Sum = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;
    const Scratch<Sum> patches(p.depth * p.positions);
    patchesTo(patches.data());
    const auto sumTo = [&](Sum* sums) {
      std::fill_n(sums, size, Sum{});
      addPatches(s, patches.data(), sums);
    };
    if constexpr (std::is_same_v<Out, Sum>) {
      sumTo(to);
    } else {
      const Scratch<Sum> sums(size);
      sumTo(sums.data());
      narrow(sums.data(), to, size);
    }
  });
}

template <class T>
void patchWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad) {
  Products p(s);
  std::int64_t size = p.rows * p.depth;
  std::int64_t pieces = std::min(kMaxPieces, s.n);
  // Sums of fixed pieces of the batch, images in order; then the pieces in order.
  Scratch<T> partial(pieces * s.groups * size);
  parallelTiles(pieces * s.groups, [&](std::int64_t i) {
    std::int64_t piece = i / s.groups;
    std::int64_t g = i % s.groups;
    T* sum = partial.data() + i * size;
    Scratch<T> patches(p.depth * p.positions);
    Scratch<T> product(size);
    std::fill_n(sum, size, T{});
    for (std::int64_t n = piece * s.n / pieces; n < (piece + 1) * s.n / pieces; ++n) {
      integerPatches(s, input + n * s.inputSize() + g * s.groupChannels() * s.h * s.w, patches.data());
      gemm(p.rows, p.depth, p.positions,
           Matrix<T>{grad + n * s.outputSize() + g * p.rows * p.positions, p.positions, 1},
           Matrix<T>{patches.data(), 1, p.positions}, product.data());
      for (std::int64_t j = 0; j < size; ++j) sum[j] = addElements(sum[j], product[j]);
    }
  });
  std::copy_n(partial.data(), s.groups * size, weightGrad);
  for (std::int64_t i = s.groups * size; i < pieces * s.groups * size; ++i) {
    T& to = weightGrad[i % (s.groups * size)];
    to = addElements(to, partial[i]);
  }
}

#define TANDEM_INSTANTIATE(T)                                                                                          \
  template void patchForward(const ConvShape&, const T*, const T*, T*);                                                \
  template void patchInputGrad(const ConvShape&, const T*, const T*, T*);                                              \
  template void patchWeightGrad(const ConvShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(bool)
TANDEM_INSTANTIATE(std::uint8_t)
TANDEM_INSTANTIATE(std::int16_t)
TANDEM_INSTANTIATE(std::int32_t)
TANDEM_INSTANTIATE(std::int64_t)
#undef TANDEM_INSTANTIATE
#define TANDEM_INSTANTIATE(T)                                                                                          \
  template void patchForward(const ConvShape&, const T*, const T*, T*);                                                \
  template void patchInputGrad(const ConvShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)
TANDEM_INSTANTIATE(BFloat16)
#undef TANDEM_INSTANTIATE
template void patchForward(const ConvShape&, const BFloat16*, const BFloat16*, float*);
template void patchInputGrad(const ConvShape&, const BFloat16*, const BFloat16*, float*);

}  // namespace tandem::lib
