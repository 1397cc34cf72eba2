// The matrix product, as a template over a vector type; compiled once an instruction set.
//
// What it computes, whatever the tiles: k is cut into blocks of kBlockK; within a block an element is one chain of
// fused multiply-adds in the order of k, starting from zero; the blocks' sums are added in order. Since each element
// has its own chain, the bits depend neither on layout, nor tile, nor vector width, nor threads.
//
// How: for each block of k, panels of b [k][kColumns] are packed so that the inner loop reads them in order; rows of
// a are read where they lie if they are dense and do not collide in the cache, and else copied. The register tile is
// kRows x (2 vectors).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/lib/gemm.h"

namespace tandem::lib {

inline constexpr std::int64_t kBlockK = 256;
inline constexpr std::int64_t kBlockRows = 96;            // of a, packed together
inline constexpr std::int64_t kBlockColumns = 512;        // of b, packed together
inline constexpr std::int64_t kPackedRow = kBlockK + 16;  // rows of packed a lie apart from each other in the cache

/// Elements of memory that one tile of a product needs for its packed operands.
constexpr std::int64_t gemmScratchSize(std::int64_t m, std::int64_t n, std::int64_t k) {
  std::int64_t columns = std::min(n + 63, kBlockColumns) / 64 * 64;
  return std::min(m, kBlockRows) * kPackedRow + std::min(k, kBlockK) * columns;
}

/// One tile of a product: serial, c with rows `ldc` apart, scratch of gemmScratchSize elements, aligned.
template <class T>
using GemmTileFn = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                            std::int64_t ldc, T* scratch);

/// A vector times a matrix. One chain an element would leave a single element waiting at each step for the one before,
/// and would have to be read across the rows of a matrix. So it is an inner product of kDotLanes chains: within a block
/// of kDotBlock, element i goes to chain i mod kDotLanes, the chains combine by halving, and so do the blocks. c[N] of
/// a[K], dense, and b[K, N] for one block.
template <class T>
using VectorFn = void (*)(std::int64_t n, std::int64_t k, const T* a, const Matrix<T>& b, T* c);
inline constexpr std::int64_t kDotLanes = 32;
inline constexpr std::int64_t kDotBlock = 4096;

namespace avx2 {
GemmTileFn<float> tileFloat();
GemmTileFn<double> tileDouble();
VectorFn<float> vectorFloat();
VectorFn<double> vectorDouble();
}  // namespace avx2
namespace avx512 {
GemmTileFn<float> tileFloat();
GemmTileFn<double> tileDouble();
VectorFn<float> vectorFloat();
VectorFn<double> vectorDouble();
}  // namespace avx512

}  // namespace tandem::lib
