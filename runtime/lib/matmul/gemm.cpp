// Cuts products into tiles by size and hands the tiles to the pool.
#include "runtime/lib/matmul/gemm.h"

#include <algorithm>
#include <limits>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

// Multiply-adds of one tile: at least some 10 us, long beside handing it over; and kTilesAThread tiles a thread, so
// that one that is held up leaves its tiles to others. Larger tiles pack their operands less often.
constexpr std::int64_t kMinTileWork = std::int64_t{1} << 19;
constexpr std::int64_t kTilesAThread = 4;
// A vector times a matrix waits for memory: the same 10 us are fewer multiply-adds.
constexpr std::int64_t kRowWork = std::int64_t{1} << 17;
// Sides of tiles are multiples of these, where they are cut: whole register tiles.
constexpr std::int64_t kRowStep = 12;
constexpr std::int64_t kColumnStep = 64;
// What an element of b takes to be packed, or to be read from panels that were packed before, one of a to be brought
// near, and threads to meet once more, in multiply-adds.
constexpr std::int64_t kPackWork = 12;
constexpr std::int64_t kReadWork = 8;
constexpr std::int64_t kPlaceWork = 16;
constexpr std::int64_t kMeetWork = std::int64_t{3} << 19;
// The part of a tile by which a thread that is held up is waited for, in the mean.
constexpr std::int64_t kHeldUp = 32;
// Results of more bytes leave the cache before the next block of k is added to them. Then panels of all of k, unless
// they are longer than these, are packed first, and a strip of rows after the other meets them.
constexpr std::int64_t kNearResult = std::int64_t{2} << 20;
constexpr std::int64_t kLongPanels = 32 * kBlockK;
// A long sum into a small result is cut along k, into at most kMaxPieces pieces of at least kPieceLength.
constexpr std::int64_t kTinyWork = 8;  // what a row of a tiny product costs, in elements
constexpr std::int64_t kSplitResult = 128 * 128;
constexpr std::int64_t kSplitWork = std::int64_t{2} << 20;
constexpr std::int64_t kPieceLength = kCutSum / 2;
constexpr std::int64_t kMaxPieces = 64;

const GemmKernels<float>& kernels(float) {
  static const auto own = hasAvx512() ? avx512::floatKernels() : avx2::floatKernels();
  return own;
}
const GemmKernels<double>& kernels(double) {
  static const auto own = hasAvx512() ? avx512::doubleKernels() : avx2::doubleKernels();
  return own;
}

/// A vector times a matrix: blocks of k and tiles of columns by themselves, then the blocks' results by halving.
template <class T>
[[gnu::noinline]] void longVectorGemm(std::int64_t n, std::int64_t k, const T* a, std::int64_t aStride, Matrix<T> b,
                                      T* c, const Widening<T>& wide = {}) {
  auto fn = kernels(T{}).vector;
  Scratch<T> dense(aStride == 1 ? 0 : k);
  if (aStride != 1) {
    for (std::int64_t p = 0; p < k; ++p) dense[p] = a[p * aStride];
    a = dense.data();
  }
  std::int64_t blocks = ceilDiv(k, kDotBlock);
  std::int64_t width = ceilDiv(ceilDiv(kRowWork, std::min(k, kDotBlock)), kColumnStep) * kColumnStep;
  std::int64_t across = ceilDiv(n, width);
  Scratch<T> partial(blocks == 1 ? 0 : blocks * n);
  T* results = blocks == 1 ? c : partial.data();
  std::int64_t together = std::max<std::int64_t>(1, kRowWork / (std::min(width, n) * std::min(k, kDotBlock)));
  parallelFor(blocks * across, together, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> space(wide.widen == nullptr ? 0 : kDotBlock + kWidened);  // of the vector, and of the matrix
    Widening<T> own = wide;
    own.space = space.data() + (wide.widen == nullptr ? 0 : kDotBlock);
    // Tiles side by side are one.
    for (std::int64_t t = begin, next = begin; t < end; t = next) {
      const std::int64_t block = t / across;
      next = std::min(end, (block + 1) * across);
      const std::int64_t from = block * kDotBlock;
      const std::int64_t j = t % across * width;
      const std::int64_t offset = from * b.rowStride + j * b.columnStride;
      const auto* at = reinterpret_cast<const char*>(b.data) + offset * wide.itemSize;
      const std::int64_t length = std::min(kDotBlock, k - from);
      const T* vector = a + from;
      if (wide.dotOfBoth != nullptr && n == 1) {
        results[block] = wide.dotOfBoth(reinterpret_cast<const char*>(a) + from * wide.itemSize, at, length);
        continue;
      }
      if (wide.widen != nullptr) {
        wide.widen(reinterpret_cast<const char*>(a) + from * wide.itemSize, space.data(), length);
        vector = space.data();
      }
      fn(std::min((next - t) * width, n - j), length, vector,
         {reinterpret_cast<const T*>(at), b.rowStride, b.columnStride}, results + block * n + j, own);
    }
  });
  for (std::int64_t left = blocks, half = 0; left > 1; left = half) {
    half = ceilDiv(left, 2);
    for (std::int64_t i = 0; i < (left - half) * n; ++i) results[i] += results[half * n + i];
  }
  if (blocks > 1) std::copy_n(results, n, c);
}

/// The same of fewer elements than an inner product has chains: each result is one chain, as in small products.
template <class T>
void shortVectorGemm(std::int64_t n, std::int64_t k, const T* a, std::int64_t aStride, Matrix<T> b, T* c) {
  parallelFor(n, grainOf(k), [&](std::int64_t begin, std::int64_t end) {
    const T* from = b.data + begin * b.columnStride;
    if (b.columnStride == 1)
      smallGemm(1, end - begin, k, {a, 0, aStride}, {from, b.rowStride, 1}, c + begin);
    else
      smallGemm(end - begin, 1, k, {from, b.columnStride, b.rowStride}, {a, aStride, 1}, c + begin);
  });
}

/// How a result is cut. Every element has its own chain, whatever the tile: the number of threads may decide. Of the
/// ways to cut it the one is taken that should be done first, in multiply-adds, beside which the panels of b and the
/// rows of a that tiles bring near count. Panels can also be packed by all threads together before, which then wait for
/// each other, and for what comes from another one's cache.
struct Tiling {
  std::int64_t rows;     // of a tile
  std::int64_t columns;  // of a tile
  bool packsBefore = false;

  [[gnu::noinline]] Tiling(std::int64_t m, std::int64_t n, std::int64_t k, bool packed) : rows(m), columns(n) {
    const std::int64_t threads = numThreads();
    const std::int64_t most = std::min(m * n * k / kMinTileWork, threads * kTilesAThread);
    if (threads == 1 || most < 2) return;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    // More cuts than there are steps of a side give the same tiles again.
    for (std::int64_t down = 1; down <= std::min(most, ceilDiv(m, kRowStep)); ++down) {
      const std::int64_t r = ceilDiv(ceilDiv(m, down), kRowStep) * kRowStep, rowTiles = ceilDiv(m, r);
      const std::int64_t mostAcross = std::min(most / down, ceilDiv(n, kColumnStep));
      for (std::int64_t across = 1; across <= mostAcross; ++across) {
        const std::int64_t c = ceilDiv(ceilDiv(n, across), kColumnStep) * kColumnStep;
        const std::int64_t turns = ceilDiv(rowTiles * ceilDiv(n, c), threads);
        const std::int64_t product = r * (c + kPlaceWork) * k;
        const auto time = [&](std::int64_t panel) {
          const std::int64_t each = product + panel * c * k;
          return turns * each + each / kHeldUp;
        };
        const std::int64_t own = time(packed ? kReadWork : kPackWork);
        const std::int64_t before = time(kReadWork) + kPackWork * n * k / threads + kMeetWork;
        if (std::min(own, before) >= least) continue;
        least = std::min(own, before);
        rows = std::min(r, m);
        columns = std::min(c, n);
        packsBefore = !packed && before < own;
      }
    }
  }
};

/// One product on this thread.
template <class T>
[[gnu::noinline]] void serialGemm(const GemmTile<T>& t) {
  const std::int64_t across = std::min(t.n, kBlockColumns), size = t.m * across * std::int64_t{sizeof(T)};
  const bool far = size >= kNearResult && t.k > kBlockK && (t.panels != nullptr || t.k <= kLongPanels);
  if (!far) {
    Scratch<T> scratch(t.panels == nullptr ? gemmScratchSize(t.m, t.n, t.k) : gemmRowsSize(t.m));
    return kernels(T{}).tile(t, scratch.data());
  }
  Scratch<T> rows(gemmRowsSize(kBlockRows)), panels(t.panels == nullptr ? t.k * packedColumns(across) : 0);
  for (std::int64_t j = 0; j < t.n; j += kBlockColumns) {
    GemmTile<T> strip = t;
    strip.n = std::min(kBlockColumns, t.n - j);
    strip.firstColumn += j;
    if (t.panels == nullptr) {
      const Matrix<T> columns{t.b.data + j * t.b.columnStride, t.b.rowStride, t.b.columnStride};
      kernels(T{}).pack(strip.n, t.k, columns, 0, packedColumns(strip.n), panels.data());
      strip.panels = panels.data();
      strip.panelColumns = packedColumns(strip.n);
      strip.firstColumn = 0;
    }
    for (std::int64_t i = 0; i < t.m; i += kBlockRows) {
      strip.m = std::min(kBlockRows, t.m - i);
      strip.a.data = t.a.data + i * t.a.rowStride;
      strip.c = t.c + i * t.ldc + j;
      kernels(T{}).tile(strip, rows.data());
    }
  }
}

/// A product whose k is not cut, in tiles.
template <class T>
void tiledGemm(const GemmTile<T>& whole) {
  const Tiling tiling(whole.m, whole.n, whole.k, whole.panels != nullptr);
  std::int64_t across = ceilDiv(whole.n, tiling.columns);
  std::int64_t tiles = ceilDiv(whole.m, tiling.rows) * across;
  if (tiles == 1) return serialGemm(whole);
  if (tiling.packsBefore) {
    Scratch<T> panels(whole.k * packedColumns(whole.n));
    packGemm(whole.n, whole.k, whole.b, panels.data());
    GemmTile<T> packed = whole;
    packed.panels = panels.data();
    packed.panelColumns = packedColumns(whole.n);
    return tiledGemm(packed);
  }
  parallelTiles(tiles, [&](std::int64_t number) {
    std::int64_t i = number / across * tiling.rows;
    std::int64_t j = number % across * tiling.columns;
    GemmTile<T> t = whole;
    t.m = std::min(tiling.rows, whole.m - i);
    t.n = std::min(tiling.columns, whole.n - j);
    t.a.data += i * whole.a.rowStride;
    t.b.data += j * whole.b.columnStride;
    t.c += i * whole.ldc + j;
    if (whole.panels != nullptr) t.firstColumn = j;
    serialGemm(t);
  });
}

/// A product whose k is cut into pieces, each a product of its own; their sums are added in order.
template <class T>
void splitGemm(const GemmTile<T>& whole, std::int64_t length) {
  std::int64_t size = whole.m * whole.n;
  std::int64_t pieces = ceilDiv(whole.k, length);
  Scratch<T> partial(pieces * size);
  parallelTiles(pieces, [&](std::int64_t piece) {
    std::int64_t from = piece * length;
    GemmTile<T> t = whole;
    t.k = std::min(length, whole.k - from);
    t.a.data += from * whole.a.columnStride;
    t.b.data += from * whole.b.rowStride;
    t.c = partial.data() + piece * size;
    t.ldc = whole.n;
    if (whole.panels != nullptr) t.panels += from * whole.panelColumns;
    serialGemm(t);
  });
  parallelFor(size, grainOf(pieces), [&](std::int64_t begin, std::int64_t end) {
    std::copy(partial.data() + begin, partial.data() + end, whole.c + begin);
    for (std::int64_t piece = 1; piece < pieces; ++piece) {
      const T* p = partial.data() + piece * size;
      for (std::int64_t i = begin; i < end; ++i) whole.c[i] += p[i];
    }
  });
}

template <class T>
void largeGemm(const GemmTile<T>& whole) {
  std::int64_t length = pieceLength(whole.m, whole.n, whole.k);
  if (length < whole.k) return splitGemm(whole, length);
  tiledGemm(whole);
}

template <class T>
void floatGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, T(0));
    return;
  }
  if (isSmallGemm(m, n, k)) return smallGemm(m, n, k, a, b, c);
  if (n > 1 && isTinyGemm(m, n, k))
    return parallelFor(m, grainOf(kTinyWork), [&](std::int64_t begin, std::int64_t end) {
      const Matrix<T> rows{a.data + begin * a.rowStride, a.rowStride, a.columnStride};
      tinyGemms(1, end - begin, n, k, rows, 0, b, 0, c + begin * n);
    });
  // Strides of sizes 1 mean nothing. One column is one row of the transposed product.
  auto vector = [&](std::int64_t size, const T* x, std::int64_t stride, Matrix<T> y) {
    if (size > 1 && k < kDotLanes) return shortVectorGemm(size, k, x, stride, y, c);
    longVectorGemm(size, k, x, stride, y, c);
  };
  if (n == 1) return vector(m, b.data, b.rowStride, {a.data, a.columnStride, m == 1 ? a.columnStride : a.rowStride});
  if (m == 1) return vector(n, a.data, a.columnStride, b);
  largeGemm<T>({m, n, k, a, b, c, n});
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c) {
  floatGemm(m, n, k, a, b, c);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c) {
  floatGemm(m, n, k, a, b, c);
}

template <class T>
void addGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c, std::int64_t ldc) {
  tiledGemm<T>({.m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .ldc = ldc, .add = true});
}
template void addGemm(std::int64_t, std::int64_t, std::int64_t, Matrix<float>, Matrix<float>, float*, std::int64_t);
template void addGemm(std::int64_t, std::int64_t, std::int64_t, Matrix<double>, Matrix<double>, double*, std::int64_t);

std::int64_t pieceLength(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m * n > kSplitResult || k < kCutSum || m * n * k < kSplitWork) return k;
  return std::max(kPieceLength, ceilDiv(ceilDiv(k, kMaxPieces), kBlockK) * kBlockK);
}

template <class T>
bool vectorGemm(std::int64_t n, std::int64_t k, const T* a, Matrix<T> b, float* c) {
  const bool dense = b.rowStride == 1 || (b.columnStride == 1 && n > 1);
  if (!dense || isSmallGemm(1, n, k) || (n > 1 && k < kDotLanes)) return false;
  auto widenRow = [](const void* from, float* to, std::int64_t count) {
    widen(static_cast<const T*>(from), to, count);
  };
  auto dot = [](const float* x, const void* y, std::int64_t count) {
    return innerProduct(x, static_cast<const T*>(y), count);
  };
  auto dotOfBoth = [](const void* x, const void* y, std::int64_t count) {
    return innerProduct(static_cast<const T*>(x), static_cast<const T*>(y), count);
  };
  longVectorGemm<float>(n, k, reinterpret_cast<const float*>(a), 1,
                        {reinterpret_cast<const float*>(b.data), b.rowStride, b.columnStride}, c,
                        {widenRow, dot, dotOfBoth, sizeof(T)});
  return true;
}
template bool vectorGemm(std::int64_t, std::int64_t, const Half*, Matrix<Half>, float*);
template bool vectorGemm(std::int64_t, std::int64_t, const BFloat16*, Matrix<BFloat16>, float*);

template <class T>
void packGemm(std::int64_t n, std::int64_t k, Matrix<T> b, T* to) {
  std::int64_t columns = packedColumns(n);
  std::int64_t blocks = ceilDiv(k, kBlockK);
  std::int64_t grain = grainOf(std::min(k, kBlockK) * kColumnStep);
  parallelFor(columns / kColumnStep * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t j = i / blocks * kColumnStep;
      std::int64_t k0 = i % blocks * kBlockK;
      Matrix<T> block{b.data + k0 * b.rowStride, b.rowStride, b.columnStride};
      kernels(T{}).pack(n, std::min(kBlockK, k - k0), block, j, j + kColumnStep, to + k0 * columns);
    }
  });
}
template void packGemm(std::int64_t, std::int64_t, Matrix<float>, float*);
template void packGemm(std::int64_t, std::int64_t, Matrix<double>, double*);

template <class T>
void packedGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, const T* packed, T* c) {
  largeGemm<T>({m, n, k, a, {nullptr, 0, 0}, c, n, packed, packedColumns(n)});
}
template void packedGemm(std::int64_t, std::int64_t, std::int64_t, Matrix<float>, const float*, float*);
template void packedGemm(std::int64_t, std::int64_t, std::int64_t, Matrix<double>, const double*, double*);

}  // namespace tandem::lib
