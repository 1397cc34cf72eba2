// Products of bfloat16 matrices, in the order of the instructions that multiply tiles of them (Intel's AMX).
//
// k is taken in groups of 32. Of a group an element has two chains of fused multiply-adds that begin at zero, one of
// the even places and one of the odd, and their sum is added to the sum of the groups before. What is behind the last
// element of k counts as zero. So on every processor, by one of several kernels with the same bits:
//
//   tiles         AMX: a group is one instruction
//   pairs         AVX-512's instruction for pairs, where it is twice as fast as float32 (gemm_pairs.cpp)
//   float32       AVX-512 or AVX2 (groups_body.h)
//
// Where sums are cut into pieces (gemm.h), each piece has its groups.
//
// The first two take subnormal numbers for zeros: parts of a product in which one could appear go by the third.
#pragma once

#include <cstdint>

#include "runtime/lib/half.h"
#include "runtime/lib/matmul/gemm.h"

namespace tandem::lib {

using Pair = std::uint32_t;  // two elements

inline constexpr std::int64_t kGroup = 32;
inline constexpr std::int64_t kGroupColumns = 32;  // of a panel of b
inline constexpr std::int64_t kNearGroups = 8;     // whose part of a panel stays in the first-level cache

/// Elements of the groups of k, and of the last one.
constexpr std::int64_t wholeGroups(std::int64_t k) { return (k + kGroup - 1) / kGroup * kGroup; }
constexpr std::int64_t lastOfGroups(std::int64_t k) { return (k - 1) % kGroup + 1; }

/// A part of such a product: c[rows][count * kGroupColumns] = or += the sums of `groups` groups, rows of c `ldc` apart.
/// Row i of a has its elements at `a + i * lda`, with zeros behind the last of k. Of b there are `count` panels, each
/// row by row of pairs: word [p][column] has element 2p of the column in its lower half and 2p + 1 in its upper one.
struct GroupTile {
  std::int64_t rows, groups;
  const BFloat16* a;
  std::int64_t lda;
  const Pair* panels;
  std::int64_t count;        // of panels
  std::int64_t panelStride;  // in words, from one panel to the next
  float* c;
  std::int64_t ldc;
  std::int64_t rowStride = kGroupColumns;  // in words, from one row of a panel to the next
  bool add = false;
  std::int64_t last = kGroup;  // elements of the last group: those behind them are zeros, and need not be added
};
using GroupTileFn = void (*)(const GroupTile& t);

/// A copy to `to` with dense rows, `ld` apart, of zeros behind the last element.
Matrix<BFloat16> denseRows(const Matrix<BFloat16>& x, std::int64_t rows, std::int64_t columns, BFloat16* to,
                           std::int64_t ld);

/// What multiplies bfloat16 by instructions of its own takes subnormal numbers for zeros. Two exponents, as stored,
/// whose sum is at least this belong to products of which no sum but zero is subnormal: all are multiples of
/// 2^(sum - 2 * 127 - 2 * 7).
inline constexpr int kSafeExponents = 2 * 127 + 2 * 7 - 126;

/// What this processor takes for tiles, and for those in which a sum could be subnormal.
struct GroupKernels {
  GroupTileFn fast, exact;
  bool areTiles;  // has it instructions for whole tiles?
  [[nodiscard]] bool flush() const { return fast != exact; }
  /// Of a product of elements whose smallest exponents, as stored, are these.
  [[nodiscard]] GroupTileFn forExponents(int a, int b) const;
};
const GroupKernels& groupKernels();

/// Columns [j, j + columns) of b[k] as panels one behind the other, with zeros behind them and behind the last of k.
void packGroupPanels(const Matrix<BFloat16>& b, std::int64_t k, std::int64_t j, std::int64_t columns, Pair* to);

/// The smallest exponent, as stored, of any element but zero of rows of whole groups, `ld` apart.
int smallestExponent(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld);
/// With the largest of any element.
struct Exponents {
  int least, most;
};
Exponents exponentsOf(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld);
/// The smallest of any number of them, shared among threads.
int smallestExponent(const BFloat16* from, std::int64_t n);

namespace avx2 {
void groupTile(const GroupTile& t);
}
namespace avx512 {
void groupTile(const GroupTile& t);
void pairsGroupTile(const GroupTile& t);
/// Does the instruction for pairs add their products one after the other, that of the element in the upper half first?
bool pairsInOrder();
}  // namespace avx512
namespace amx {
/// Are there tiles (runtime/device/isa.h), and do they add in the order above?
bool hasOrderedTiles();
void groupTile(const GroupTile& t);
}  // namespace amx

}  // namespace tandem::lib
