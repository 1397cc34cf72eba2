// The matrix product, as a template over a vector type; compiled once an instruction set.
//
// What it computes, whatever the tiles: k is cut into blocks of kBlockK; within a block an element is one chain of
// fused multiply-adds in the order of k, starting from zero; the blocks' sums are added in order. Since each element
// has its own chain, the bits depend neither on layout, nor tile, nor vector width, nor threads.
//
// How: for each block of k, panels of b [k][kColumns] are packed so that the inner loop reads them in order, unless
// they come packed; rows of a are read where they lie if they are dense and do not collide in the cache, and else
// copied, those of a matrix with dense columns in groups [k][kRows]. The register tile is kRows x (2 vectors). Of a
// result that is too large to stay in the cache from one block of k to the next, strips of rows come one after the
// other (gemm.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/lib/matmul/gemm.h"

namespace tandem::lib {

inline constexpr std::int64_t kBlockK = 256;
inline constexpr std::int64_t kBlockRows = 96;            // of a, packed together
inline constexpr std::int64_t kBlockColumns = 512;        // of b, packed together
inline constexpr std::int64_t kPackedRow = kBlockK + 16;  // rows of packed a lie apart from each other in the cache

/// Elements of memory that one tile of a product needs for packed rows of a: whole groups of them.
constexpr std::int64_t gemmRowsSize(std::int64_t m) { return (std::min(m, kBlockRows) + 11) / 12 * 12 * kPackedRow; }
/// And with panels of b, or of a where the transposed product is computed.
constexpr std::int64_t gemmScratchSize(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t side = std::max(m, n);
  return gemmRowsSize(side) + std::min(k, kBlockK) * std::min(packedColumns(side), kBlockColumns);
}

/// A part of a product: c[m, n] with rows `ldc` apart. If `panels` is given, b is not read but `panels`, a packed
/// matrix of `panelColumns` columns, from `firstColumn` (whole panels) on.
template <class T>
struct GemmTile {
  std::int64_t m, n, k;
  Matrix<T> a, b;
  T* c;
  std::int64_t ldc;
  const T* panels = nullptr;
  std::int64_t panelColumns = 0;
  std::int64_t firstColumn = 0;
  bool add = false;  // to what c has
};

/// So many rows, or columns, are few: for them panels would be written and read again.
inline constexpr std::int64_t kVeryFew = 4;
/// Few rows times few columns: c of the first blocks of k, and how many elements of k these are. A chain needs the one
/// multiply-add before the next, so each lane of a vector has the chain of another block.
std::int64_t fewTimesFew(const GemmTile<float>& t);
std::int64_t fewTimesFew(const GemmTile<double>& t);

/// A vector times a matrix. One chain an element would leave a single element waiting at each step for the one before,
/// and would have to be read across the rows of a matrix. So it is an inner product of kDotLanes chains: within a block
/// of kDotBlock, element i goes to chain i mod kDotLanes, the chains combine by halving, and so do the blocks. Of fewer
/// than kDotLanes elements each result is one chain, if there are several. c[N] of
/// a[K], dense, and b[K, N] for one block. If `widen` is given, b has elements of another type, of `itemSize` bytes,
/// dense along rows or columns, which it converts into `space`, of kWidened elements; `dot` is the inner product of a
/// block with a dense column of such elements, `dotOfBoth` that of two of them.
template <class T>
struct Widening {
  void (*widen)(const void* from, T* to, std::int64_t n) = nullptr;
  T (*dot)(const T* a, const void* b, std::int64_t n) = nullptr;
  T (*dotOfBoth)(const void* a, const void* b, std::int64_t n) = nullptr;
  std::int64_t itemSize = sizeof(T);
  T* space = nullptr;
};
template <class T>
using VectorFn = void (*)(std::int64_t n, std::int64_t k, const T* a, const Matrix<T>& b, T* c,
                          const Widening<T>& from);
inline constexpr std::int64_t kDotLanes = 32;
inline constexpr std::int64_t kDotBlock = 4096;
inline constexpr std::int64_t kWidened = 8 * kDotBlock;

/// What an instruction set has: `tile` computes one, serially, with scratch of gemmScratchSize elements, aligned;
/// `pack` packs the columns [from, to) of b[k, n]; `vector` has one row.
template <class T>
struct GemmKernels {
  void (*tile)(const GemmTile<T>& t, T* scratch);
  void (*pack)(std::int64_t n, std::int64_t k, const Matrix<T>& b, std::int64_t from, std::int64_t to, T* panels);
  VectorFn<T> vector;
};

/// Where the kernel finds rows of a: row i at `data + i * rowStride`, or, of dense columns, in groups of kRows:
/// element p of row i at `data[i / kRows * groupStride + p * step + i % kRows]`.
template <class T>
struct PlacedRows {
  const T* data;
  std::int64_t rowStride;
  std::int64_t groupStride;
  std::int64_t step;
  bool columns;
};

// Beside the kernels, the parts of theirs that attention is made of (see gemm_body.h).
#define TANDEM_PANELS(T)                                                                                               \
  void packColumns(const Matrix<T>& b, std::int64_t k, std::int64_t columns, T* dst);                                  \
  void rowsTimesPanel(std::int64_t rows, std::int64_t columns, std::int64_t k, const PlacedRows<T>& a, const T* panel, \
                      T* c, std::int64_t ldc, bool add);                                                               \
  void turnedTo(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys);

namespace avx2 {
GemmKernels<float> floatKernels();
GemmKernels<double> doubleKernels();
TANDEM_PANELS(float)
TANDEM_PANELS(double)
}  // namespace avx2
namespace avx512 {
GemmKernels<float> floatKernels();
GemmKernels<double> doubleKernels();
TANDEM_PANELS(float)
TANDEM_PANELS(double)
}  // namespace avx512
#undef TANDEM_PANELS

}  // namespace tandem::lib
