// Cuts products into tiles by size and hands the tiles to the pool.
#include "runtime/lib/gemm.h"

#include <algorithm>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/gemm_kernel.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

// Multiply-adds of one tile: at least some 20 us, long beside handing it over; at most so many that packing its
// operands costs little beside it; between the two, an eighth of the whole.
constexpr std::int64_t kMinTileWork = std::int64_t{1} << 20;
constexpr std::int64_t kMaxTileWork = std::int64_t{32} << 20;
// A vector times a matrix waits for memory: the same 20 us are fewer multiply-adds.
constexpr std::int64_t kRowWork = std::int64_t{1} << 17;
// Sides of tiles are multiples of these: whole register tiles.
constexpr std::int64_t kRowStep = 48;
constexpr std::int64_t kColumnStep = 64;
// A long sum into a small result is cut along k, into at most kMaxPieces pieces of at least kPieceLength.
constexpr std::int64_t kSplitResult = 128 * 128;
constexpr std::int64_t kPieceLength = 2048;
constexpr std::int64_t kMaxPieces = 64;

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

GemmTileFn<float> tileFunction(float) {
  static const auto fn = __builtin_cpu_supports("avx512vl") != 0 ? avx512::tileFloat() : avx2::tileFloat();
  return fn;
}
GemmTileFn<double> tileFunction(double) {
  static const auto fn = __builtin_cpu_supports("avx512vl") != 0 ? avx512::tileDouble() : avx2::tileDouble();
  return fn;
}

VectorFn<float> vectorFunction(float) {
  static const auto fn = __builtin_cpu_supports("avx512vl") != 0 ? avx512::vectorFloat() : avx2::vectorFloat();
  return fn;
}
VectorFn<double> vectorFunction(double) {
  static const auto fn = __builtin_cpu_supports("avx512vl") != 0 ? avx512::vectorDouble() : avx2::vectorDouble();
  return fn;
}

/// A vector times a matrix: blocks of k and tiles of columns by themselves, then the blocks' results by halving.
template <class T>
void vectorGemm(std::int64_t n, std::int64_t k, const T* a, std::int64_t aStride, Matrix<T> b, T* c) {
  auto fn = vectorFunction(T{});
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
  auto tile = [&](std::int64_t t) {
    std::int64_t from = t / across * kDotBlock;
    std::int64_t j = t % across * width;
    fn(std::min(width, n - j), std::min(kDotBlock, k - from), a + from,
       {b.data + from * b.rowStride + j * b.columnStride, b.rowStride, b.columnStride}, results + t / across * n + j);
  };
  std::int64_t together = std::max<std::int64_t>(1, kRowWork / (std::min(width, n) * std::min(k, kDotBlock)));
  parallelFor(blocks * across, together, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) tile(t);
  });
  for (std::int64_t left = blocks, half = 0; left > 1; left = half) {
    half = ceilDiv(left, 2);
    for (std::int64_t i = 0; i < (left - half) * n; ++i) results[i] += results[half * n + i];
  }
  if (blocks > 1) std::copy_n(results, n, c);
}

/// How a product is cut: a function of its sizes.
struct Tiling {
  std::int64_t rows;     // of a tile
  std::int64_t columns;  // of a tile
  std::int64_t length;   // of a piece of k

  Tiling(std::int64_t m, std::int64_t n, std::int64_t k) : rows(m), columns(n), length(k) {
    if (m * n <= kSplitResult && k >= 2 * kPieceLength && m * n * k >= 2 * kMinTileWork) {
      length = std::max(kPieceLength, ceilDiv(ceilDiv(k, kMaxPieces), kBlockK) * kBlockK);
      return;
    }
    std::int64_t work = std::clamp(m * n * k / 8, kMinTileWork, kMaxTileWork);
    // Halve the longer side while tiles are too large.
    while (rows * columns * k > work && (rows > kRowStep || columns > kColumnStep)) {
      if (rows > kRowStep && (rows >= columns || columns <= kColumnStep))
        rows = ceilDiv(ceilDiv(rows, 2), kRowStep) * kRowStep;
      else
        columns = ceilDiv(ceilDiv(columns, 2), kColumnStep) * kColumnStep;
    }
  }
};

template <class T>
void largeGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  auto tileFn = tileFunction(T{});
  auto tile = [tileFn](std::int64_t rows, std::int64_t columns, std::int64_t depth, Matrix<T> x, Matrix<T> y, T* to,
                       std::int64_t ldc) {
    Scratch<T> scratch(gemmScratchSize(rows, columns, depth));
    tileFn(rows, columns, depth, x, y, to, ldc, scratch.data());
  };
  Tiling tiling(m, n, k);
  if (std::int64_t pieces = ceilDiv(k, tiling.length); pieces > 1) {
    Scratch<T> partial(pieces * m * n);
    parallelTiles(pieces, [&](std::int64_t piece) {
      std::int64_t from = piece * tiling.length;
      tile(m, n, std::min(tiling.length, k - from), {a.data + from * a.columnStride, a.rowStride, a.columnStride},
           {b.data + from * b.rowStride, b.rowStride, b.columnStride}, partial.data() + piece * m * n, n);
    });
    parallelFor(m * n, kSerialElements / pieces + 1, [&](std::int64_t begin, std::int64_t end) {
      std::copy(partial.data() + begin, partial.data() + end, c + begin);
      for (std::int64_t piece = 1; piece < pieces; ++piece) {
        const T* p = partial.data() + piece * m * n;
        for (std::int64_t i = begin; i < end; ++i) c[i] += p[i];
      }
    });
    return;
  }
  std::int64_t across = ceilDiv(n, tiling.columns);
  std::int64_t tiles = ceilDiv(m, tiling.rows) * across;
  if (tiles == 1) return tile(m, n, k, a, b, c, n);
  parallelTiles(tiles, [&](std::int64_t t) {
    std::int64_t i = t / across * tiling.rows;
    std::int64_t j = t % across * tiling.columns;
    tile(std::min(tiling.rows, m - i), std::min(tiling.columns, n - j), k,
         {a.data + i * a.rowStride, a.rowStride, a.columnStride},
         {b.data + j * b.columnStride, b.rowStride, b.columnStride}, c + i * n + j, n);
  });
}

template <class T>
void floatGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  if (m * n > 1 && isSmallGemm(m, n, k)) return smallGemm(m, n, k, a, b, c);
  // Strides of sizes 1 mean nothing. One column is one row of the transposed product.
  if (n == 1)
    return vectorGemm<T>(m, k, b.data, b.rowStride, {a.data, a.columnStride, m == 1 ? a.columnStride : a.rowStride}, c);
  if (m == 1) return vectorGemm<T>(n, k, a.data, a.columnStride, b, c);
  largeGemm(m, n, k, a, b, c);
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c) {
  floatGemm(m, n, k, a, b, c);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c) {
  floatGemm(m, n, k, a, b, c);
}

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  parallelFor(m, std::max<std::int64_t>(1, kSerialElements / std::max<std::int64_t>(1, n * k)),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  T* row = c + i * n;
                  std::fill(row, row + n, T{});
                  for (std::int64_t p = 0; p < k; ++p) {
                    T x = a.data[i * a.rowStride + p * a.columnStride];
                    const T* y = b.data + p * b.rowStride;
                    for (std::int64_t j = 0; j < n; ++j)
                      row[j] = addElements(row[j], mulElements(x, y[j * b.columnStride]));
                  }
                }
              });
}
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<bool>, Matrix<bool>, bool*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::uint8_t>, Matrix<std::uint8_t>, std::uint8_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int8_t>, Matrix<std::int8_t>, std::int8_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int16_t>, Matrix<std::int16_t>, std::int16_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int32_t>, Matrix<std::int32_t>, std::int32_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int64_t>, Matrix<std::int64_t>, std::int64_t*);

}  // namespace tandem::lib
