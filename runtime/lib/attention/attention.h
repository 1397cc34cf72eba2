// Attention in tiles, with an online softmax: what the kernels of the instruction sets are given.
//
// Forward, of a chunk of rows: for every block of keys the scores of the block, the exponentials under the largest
// score so far, and their products with the values, added to those of the blocks before (which are scaled down when a
// larger score comes). Backward, of a chunk of keys: the scores of keys x rows again, and from them the cotangents.
// Tiles and chunks are cut by shape; bits depend on neither threads nor instruction set.
//
// Forward of bfloat16 is made of products in groups (matmul/gemm_groups.h): scores of queries and keys as they are, and
// exponentials rounded to bfloat16 times values. The sum that divides them is that of the exponentials before they are
// rounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/gemm_groups.h"

namespace tandem::lib {

enum class MaskKind : std::uint8_t { None, Bool, Added };

/// Operands as [B, H, rows, width], element strides of the four dims; rows are dense.
template <class T>
struct Heads {
  T* data;
  std::int64_t strides[4];
  T* at(std::int64_t b, std::int64_t h) const { return data + b * strides[0] + h * strides[1]; }
};

/// Which elements of [B, H, rows, keys] are dropped: those whose random word is below a bound.
struct Dropout {
  std::uint64_t key = 0;
  std::uint64_t below = 0;
  double scale = 1;  // 1 / (1 - p)
};

/// Of operands E, and arithmetic and results T.
template <class T, class E = T>
struct AttentionProblem {
  std::int64_t batch, heads, sharedHeads;  // of query; of key and value
  std::int64_t rows, keys, width, valueWidth;
  Heads<const E> query, key, value;
  MaskKind maskKind;
  const void* mask;
  std::int64_t maskStrides[4];
  double scale;
  bool causal;
  bool drops;
  Dropout drop;
  bool (*keeps)(const Dropout&, std::int64_t element);
  T* results[3];  // the output, or the cotangents of query, key and value
  const std::int64_t (*resultStrides)[4];
  // Backward only.
  Heads<const T> grad, output;
  const T* stats;

  /// Of a head of a result.
  [[nodiscard]] T* resultAt(std::size_t i, std::int64_t b, std::int64_t h) const {
    return Heads<T>{results[i], {resultStrides[i][0], resultStrides[i][1], 0, 0}}.at(b, h);
  }
  [[nodiscard]] std::int64_t group() const { return heads / sharedHeads; }
  /// Keys that rows below `end` may see.
  [[nodiscard]] std::int64_t visible(std::int64_t end) const { return causal ? std::min(keys, end) : keys; }
};

template <class E>
inline constexpr std::int64_t kForwardRows = std::is_same_v<E, BFloat16> ? 64 : 48;  // rows of a tile
template <class E>
inline constexpr std::int64_t kForwardKeys = std::is_same_v<E, BFloat16> ? 256 : 128;  // keys of a tile
template <class E>
inline constexpr std::int64_t kForwardChunk = 5 * kForwardRows<E>;  // rows that share packed keys and values
inline constexpr std::int64_t kBackwardKeys = 48;
inline constexpr std::int64_t kBackwardRows = 128;

constexpr std::int64_t wholePanels(std::int64_t columns) { return (columns + 63) / 64 * 64; }

/// Elements of memory that a chunk of rows needs.
template <class T, class E>
std::int64_t forwardScratchSize(const AttentionProblem<T, E>& p) {
  const std::int64_t own = kForwardRows<E> * kForwardKeys<E> + kForwardChunk<E> * (2 + p.valueWidth);
  if constexpr (!std::is_same_v<E, BFloat16>) return own + kForwardKeys<E> * (p.width + wholePanels(p.valueWidth));
  const std::int64_t width = wholeGroups(p.width), valueWidth = wholeGroups(p.valueWidth);
  return own + kForwardKeys<E> / 2 * (width + valueWidth) + kForwardRows<E> * (kForwardKeys<E> / 2 + valueWidth) +
         kForwardChunk<E> * width / 2;
}
/// Elements of memory that a chunk of keys needs.
template <class T>
std::int64_t backwardScratchSize(const AttentionProblem<T>& p) {
  std::int64_t blocks = (p.rows + kBackwardRows - 1) / kBackwardRows;
  std::int64_t packed =
      kBackwardRows * (p.width + p.valueWidth + wholePanels(p.width) + wholePanels(p.valueWidth)) + 3 * kBackwardRows;
  return blocks * packed + kBackwardKeys * wholePanels(p.width) + 4 * kBackwardKeys * kBackwardRows;
}

/// Rows [row, end) of one head. `stats` are the head's, dense.
template <class T, class E = T>
using AttentionForwardFn = void (*)(const AttentionProblem<T, E>&, std::int64_t b, std::int64_t h, std::int64_t row,
                                    std::int64_t end, T* stats, T* scratch);
/// Keys [key, end) of one head of keys, with all heads of queries that share it: adds to `queryGrad`, which lies as
/// the first result, and writes the two others, but of keys that no row sees.
template <class T>
using AttentionBackwardFn = void (*)(const AttentionProblem<T>&, std::int64_t b, std::int64_t shared, std::int64_t key,
                                     std::int64_t end, T* queryGrad, T* scratch);

namespace avx2 {
AttentionForwardFn<float> attentionForward(float);
AttentionForwardFn<double> attentionForward(double);
AttentionForwardFn<float, BFloat16> attentionForward(BFloat16);
AttentionBackwardFn<float> attentionBackward(float);
AttentionBackwardFn<double> attentionBackward(double);
}  // namespace avx2
namespace avx512 {
AttentionForwardFn<float> attentionForward(float);
AttentionForwardFn<double> attentionForward(double);
AttentionForwardFn<float, BFloat16> attentionForward(BFloat16);
AttentionBackwardFn<float> attentionBackward(float);
AttentionBackwardFn<double> attentionBackward(double);
}  // namespace avx512

}  // namespace tandem::lib
