// Large products: cut into tiles by size, each a single-threaded library call.
#include "runtime/lib/gemm.h"

#include <algorithm>
#include <cblas.h>
#include <dnnl.h>
#include <limits>
#include <omp.h>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

// Multiply-adds of one tile: some 40 us, long beside the hand-over and beside the packing a library does in each call.
constexpr std::int64_t kTileWork = std::int64_t{2} << 20;
// Tiles are not cut below this, nor not at a multiple of it.
constexpr std::int64_t kTileStep = 64;
// A long sum into a small result is cut along k, into at most kMaxPieces pieces of at least kPieceLength.
constexpr std::int64_t kSplitResult = 128 * 128;
constexpr std::int64_t kPieceLength = 2048;
constexpr std::int64_t kMaxPieces = 64;

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// oneDNN asks OpenMP how many threads to use: one, for the time of a call, whatever the program has set.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

/// As a library takes a matrix: dense along rows ('N') or along columns ('T'), `ld` apart.
struct Layout {
  bool transposed;
  std::int64_t ld;
};
template <class T>
std::optional<Layout> libraryLayout(std::int64_t rows, std::int64_t columns, const Matrix<T>& x) {
  if ((columns == 1 || x.columnStride == 1) && (rows == 1 || x.rowStride >= columns))
    return Layout{false, rows == 1 ? columns : x.rowStride};
  if ((rows == 1 || x.rowStride == 1) && (columns == 1 || x.columnStride >= rows))
    return Layout{true, columns == 1 ? rows : x.columnStride};
  return std::nullopt;
}

void call(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, Layout la, const float* b, Layout lb,
          float* c, std::int64_t ldc) {
  OneOpenMpThread one;
  auto status =
      dnnl_sgemm(la.transposed ? 'T' : 'N', lb.transposed ? 'T' : 'N', m, n, k, 1.0F, a, la.ld, b, lb.ld, 0.0F, c, ldc);
  if (status == dnnl_out_of_memory) fail<OutOfMemoryError>("matmul: out of memory");
  TANDEM_CHECK(status == dnnl_success, "dnnl_sgemm: status ", static_cast<int>(status));
}

void call(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, Layout la, const double* b, Layout lb,
          double* c, std::int64_t ldc) {
  static const bool single = (openblas_set_num_threads(1), true);
  (void)single;
  constexpr std::int64_t limit = std::numeric_limits<blasint>::max();
  TANDEM_CHECK(std::max({m, n, k, la.ld, lb.ld, ldc}) <= limit, "matmul: sizes beyond OpenBLAS");
  auto transpose = [](Layout l) { return l.transposed ? CblasTrans : CblasNoTrans; };
  auto i = [](std::int64_t v) { return static_cast<blasint>(v); };
  cblas_dgemm(CblasRowMajor, transpose(la), transpose(lb), i(m), i(n), i(k), 1.0, a, i(la.ld), b, i(lb.ld), 0.0, c,
              i(ldc));
}

/// How a product is cut: a function of its sizes.
struct Tiling {
  std::int64_t rows;     // of a tile
  std::int64_t columns;  // of a tile
  std::int64_t length;   // of a piece of k

  Tiling(std::int64_t m, std::int64_t n, std::int64_t k) : rows(m), columns(n), length(k) {
    if (m * n <= kSplitResult && k >= 2 * kPieceLength && m * n * k >= 2 * kTileWork) {
      length = std::max(kPieceLength, ceilDiv(ceilDiv(k, kMaxPieces), kTileStep) * kTileStep);
      return;
    }
    // Halve the longer side, to a multiple of the step, while tiles are too large.
    while (rows * columns * k > kTileWork) {
      std::int64_t& side = rows >= columns ? rows : columns;
      if (side <= kTileStep) break;
      side = ceilDiv(ceilDiv(side, 2), kTileStep) * kTileStep;
    }
  }
};

template <class T>
void largeGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  // What no library takes is copied first, dense.
  auto la = libraryLayout(m, k, a);
  auto lb = libraryLayout(k, n, b);
  std::optional<Scratch<T>> denseA;
  std::optional<Scratch<T>> denseB;
  auto densify = [](std::optional<Scratch<T>>& copy, Matrix<T>& x, std::int64_t rows, std::int64_t columns) {
    copy.emplace(rows * columns);
    T* to = copy->data();
    parallelFor(rows, std::max<std::int64_t>(1, kSerialElements / columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < columns; ++j) to[i * columns + j] = x.data[i * x.rowStride + j * x.columnStride];
    });
    x = {to, columns, 1};
    return Layout{false, columns};
  };
  if (!la) la = densify(denseA, a, m, k);
  if (!lb) lb = densify(denseB, b, k, n);

  Tiling tiling(m, n, k);
  if (std::int64_t pieces = ceilDiv(k, tiling.length); pieces > 1) {
    Scratch<T> partial(pieces * m * n);
    parallelTiles(pieces, [&](std::int64_t piece) {
      std::int64_t from = piece * tiling.length;
      call(m, n, std::min(tiling.length, k - from), a.data + from * a.columnStride, *la, b.data + from * b.rowStride,
           *lb, partial.data() + piece * m * n, n);
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
  parallelTiles(ceilDiv(m, tiling.rows) * across, [&](std::int64_t tile) {
    std::int64_t i = tile / across * tiling.rows;
    std::int64_t j = tile % across * tiling.columns;
    call(std::min(tiling.rows, m - i), std::min(tiling.columns, n - j), k, a.data + i * a.rowStride, *la,
         b.data + j * b.columnStride, *lb, c + i * n + j, n);
  });
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c) {
  if (isSmallGemm(m, n, k)) return smallGemm(m, n, k, a, b, c);
  largeGemm(m, n, k, a, b, c);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c) {
  if (isSmallGemm(m, n, k)) return smallGemm(m, n, k, a, b, c);
  largeGemm(m, n, k, a, b, c);
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
