// Matrix products of plain matrices, under `matmul` and the convolutions that are made of it.
//
// Floating products: within blocks of 256 an element is one chain of fused multiply-adds in the order of k, and the
// blocks' sums are added in order (gemm_kernel.h); very long sums into small results are cut into pieces first, by size
// (gemm.cpp). A vector times a matrix has 32 chains an element, which combine by halving. So bits are a function of
// sizes and values alone: not of layout, threads or instruction set. All but small products of bfloat16 matrices, and
// convolutions of such, have an order of their own (gemm_groups.h), that of processors with instructions for them.
// The kernels are our own because libraries choose the order of a sum by layout and instruction set, too.
#pragma once

#include <cstdint>

#include "runtime/lib/half.h"

namespace tandem::lib {

/// A matrix in memory, strides in elements.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t rowStride;
  std::int64_t columnStride;
};

/// c[M, N] = a[M, K] b[K, N], c dense row-major, all sizes at least 1. Uses the pool (serial inside a tile of it).
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c);
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c);
/// c[M, N] += a[M, K] b[K, N], rows of c ldc apart: each block's sum is added to c in order.
template <class T>
void addGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c, std::int64_t ldc);
/// Are products of bfloat16 of this size in groups (gemm_groups.h)? Others are those of the float32 values.
bool isInGroups(std::int64_t m, std::int64_t n, std::int64_t k);
/// Such a product, in float32 if `wide`, else rounded once.
void groupsGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<BFloat16> a, Matrix<BFloat16> b, void* c,
                bool wide);
/// Integers wrap around; bool is or of ands.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c);

/// c[N] = a[K] b[K, N] of a half type, a dense, as the product of the float32 values; false, and nothing done, where
/// neither b's rows nor its columns are dense, or where `gemm` adds in another order.
template <class T>
bool vectorGemm(std::int64_t n, std::int64_t k, const T* a, Matrix<T> b, float* c);

/// The length of the pieces that sums of floating numbers are cut into, by sizes alone; k itself if they are not.
std::int64_t pieceLength(std::int64_t m, std::int64_t n, std::int64_t k);
/// Of this many terms on, sums of small results are cut into pieces.
constexpr std::int64_t kCutSum = 4096;

/// Columns of a matrix of `n` when packed: whole panels of any instruction set.
constexpr std::int64_t packedColumns(std::int64_t n) { return (n + 63) / 64 * 64; }
/// Packs b[K, N] into `to`, of K * packedColumns(n) elements, for products that read it again and again.
template <class T>
void packGemm(std::int64_t n, std::int64_t k, Matrix<T> b, T* to);
/// As `gemm`, with the same bits, b packed; of more than one row and column.
template <class T>
void packedGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, const T* packed, T* c);

/// Is a product of this size, of more than one element, left to the own kernel?
constexpr bool isSmallGemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return m * n > 1 && m <= 64 && n <= 64 && k <= 64 && m * n * k <= 16 * 16 * 16;
}
void smallGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c);
void smallGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c);

/// Is a product of this size, of more than one element, one of those of which many are computed in a loop of their own?
constexpr bool isTinyGemm(std::int64_t m, std::int64_t n, std::int64_t k) { return m * n > 1 && n <= 4 && k <= 4; }
/// `count` such products on this thread, whose matrices begin `aStep` and `bStep` elements behind those of the one
/// before, with the bits of `gemm`.
void tinyGemms(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, std::int64_t aStep,
               Matrix<float> b, std::int64_t bStep, float* c);
void tinyGemms(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, std::int64_t aStep,
               Matrix<double> b, std::int64_t bStep, double* c);

}  // namespace tandem::lib
