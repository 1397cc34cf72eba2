// Packs the matrices and shares out the tiles of a product in groups (gemm_groups.h).
#include "runtime/lib/matmul/gemm_groups.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <immintrin.h>
#include <utility>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

// clang-format off
#include "runtime/lib/matmul/gemm_blocks.h"
// clang-format on

constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTilePanels = 8;
constexpr std::int64_t kFewGroups = 8;  // whose tiles wait for their results
constexpr std::int64_t kNearWords = 96 * 1024;
constexpr std::int64_t kGroupWords = kGroup / 2 * kGroupColumns;  // of a group of a panel
constexpr std::int64_t kMinTileWork = std::int64_t{1} << 22;
constexpr std::int64_t kToMemory = std::int64_t{4} << 20;  // elements of a result that is written past the caches
constexpr int kNoExponent = 255;

/// A group of elements.
using Elements __attribute__((vector_size(kGroup * sizeof(BFloat16)), aligned(2), may_alias)) = std::uint16_t;
__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

/// Do the elements of a word lie side by side, as words do? Of a matrix whose rows overlap they may, too, in both ways.
bool hasPairs(const Matrix<BFloat16>& b) {
  return b.rowStride == 1 && b.columnStride % 2 == 0 && reinterpret_cast<std::uintptr_t>(b.data) % sizeof(Pair) == 0;
}

/// One product: rows of a where they lie or in a dense copy, panels of b, and tiles of c, in any order.
class GroupsProduct {
 public:
  GroupsProduct(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<BFloat16> a, Matrix<BFloat16> b, void* c,
                bool wide)
      : m_(m), n_(n), k_(k), a_(a), b_(b), c_(c), wide_(wide), stride_(n), groups_(ceilDiv(k, kGroup)),
        panelSize_(groups_ * kGroupWords) {
    // Of few rows tiles take the columns for rows, where those are dense: a large matrix is read once, where it lies.
    // Vectors are of columns, so that a few of them are better rows.
    turned_ = kernels_.areTiles ? m <= kGroupColumns && n > m && b.rowStride == 1 : n < kGroupColumns && n < m;
    if (turned_) {
      std::swap(m_, n_);
      a_ = {b.data, b.columnStride, b.rowStride};
      b_ = {a.data, a.columnStride, a.rowStride};
    }
    toMemory_ = !wide && !turned_ && m * n >= kToMemory;
    panels_ = ceilDiv(n_, kGroupColumns);
    // Tiles are so small that what they read again is near, and not so small that threads have little to share.
    height_ = std::min(m_, groups_ <= kFewGroups || panels_ == 1 ? kTileRows / 4 : kTileRows);
    down_ = ceilDiv(m_, height_);
    const std::int64_t least = kMinTileWork / (height_ * k * kGroupColumns) + 1;
    width_ = std::min({kTilePanels, least, panels_});
    across_ = ceilDiv(panels_, width_);
  }

  void run() {
    // Rows of a tile that are read again must not collide in the cache.
    const auto collide = [](std::int64_t stride) { return stride * std::int64_t{sizeof(BFloat16)} % 2048 == 0; };
    const bool copyA = a_.columnStride != 1 || k_ % kGroup != 0 ||
                       (kernels_.areTiles && m_ > kGroup && panels_ > 1 && collide(a_.rowStride));
    const std::int64_t lda = groups_ * kGroup + (collide(groups_ * kGroup) ? kGroup : 0);
    const bool copyB = b_.columnStride != 1 && !hasPairs(b_);
    const Scratch<BFloat16> spaceA(copyA ? m_ * lda : 0);
    const Scratch<BFloat16> spaceB(copyB ? k_ * n_ : 0);
    if (copyA) a_ = denseRows(a_, m_, k_, spaceA.data(), lda);
    if (copyB) b_ = denseRows(b_, k_, n_, spaceB.data(), n_);

    const Scratch<Pair> packed(packsInside() ? 0 : panels_ * panelSize_);
    const Scratch<int> exponents(panels_ + down_);
    packed_ = packed.data();
    panelExponents_ = exponents.data();
    rowExponents_ = exponents.data() + panels_;
    if (!packsInside())
      parallelFor(panels_, grainOf(k_ * kGroupColumns), [&](std::int64_t begin, std::int64_t end) {
        pack(begin, end - begin, 0, groups_, packed_ + begin * panelSize_, panelExponents_ + begin);
      });
    if (!looksInside())
      parallelFor(down_, grainOf(k_ * height_), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) rowExponents_[i] = exponentOfRows(i * height_);
      });
    const std::int64_t tileWork = height_ * width_ * kGroupColumns * k_;
    parallelFor(down_ * across_, std::max(kMinTileWork / tileWork, std::int64_t{1}),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t t = begin; t < end; ++t) makeTile(t / across_, t % across_ * width_);
                });
  }

 private:
  /// A tile that has all rows packs the panels, which no other needs; the only one of its rows looks at them, which it
  /// then finds in the cache.
  [[nodiscard]] bool packsInside() const { return down_ == 1; }
  [[nodiscard]] bool looksInside() const { return across_ == 1; }

  [[nodiscard]] std::int64_t rowsFrom(std::int64_t i0) const { return std::min(height_, m_ - i0); }
  [[nodiscard]] int exponentOfRows(std::int64_t i0) const {
    return exponent(rowsFrom(i0), groups_ * kGroup, a_.data + i0 * a_.rowStride, a_.rowStride);
  }
  /// The smallest exponent, where the kernel depends on it.
  [[nodiscard]] int exponent(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld) const {
    return kernels_.flush() ? smallestExponent(rows, columns, from, ld) : kNoExponent;
  }
  /// Groups [g, g + groups) of panels, and the smallest exponent of each panel there.
  void pack(std::int64_t p0, std::int64_t count, std::int64_t g, std::int64_t groups, Pair* to, int* exponents) const {
    const Matrix<BFloat16> b{b_.data + g * kGroup * b_.rowStride, b_.rowStride, b_.columnStride};
    for (std::int64_t p = 0; p < count; p += kTilePanels) {
      const std::int64_t end = std::min(p + kTilePanels, count), j = (p0 + p) * kGroupColumns;
      packGroupPanels(b, std::min(groups * kGroup, k_ - g * kGroup), j, std::min((p0 + end) * kGroupColumns, n_) - j,
                      to);
      for (std::int64_t q = p; q < end; ++q, to += groups * kGroupWords)
        exponents[q] =
            exponent(groups * kGroup / 2, 2 * kGroupColumns, reinterpret_cast<BFloat16*>(to), 2 * kGroupColumns);
    }
  }

  /// Of so many blocks of rows the one of that number, panels from p0 on.
  void makeTile(std::int64_t block, std::int64_t p0) const {
    const std::int64_t i0 = block * height_, rows = rowsFrom(i0), count = std::min(width_, panels_ - p0);
    const std::int64_t ld = count * kGroupColumns;
    // What is packed here is multiplied at once, so many groups at a time.
    const std::int64_t most = packsInside() ? std::max<std::int64_t>(kNearWords / (count * kGroupWords), 1) : groups_;
    const Scratch<Pair> own(packsInside() ? count * std::min(most, groups_) * kGroupWords : 0);
    const Scratch<float> sums(rows * ld);
    int exponents[kTilePanels];
    const int* ofPanels = panelExponents_ + p0;
    const int ofRows = looksInside() ? exponentOfRows(i0) : rowExponents_[block];
    for (std::int64_t g = 0; g < groups_; g += most) {
      const std::int64_t groups = std::min(most, groups_ - g);
      if (packsInside()) {
        pack(p0, count, g, groups, own.data(), exponents);
        ofPanels = exponents;
      }
      const GroupTileFn kernel = kernels_.forExponents(ofRows, *std::min_element(ofPanels, ofPanels + count));
      kernel({.rows = rows,
              .groups = groups,
              .a = a_.data + i0 * a_.rowStride + g * kGroup,
              .lda = a_.rowStride,
              .panels = packsInside() ? own.data() : packed_ + p0 * panelSize_,
              .count = count,
              .panelStride = groups * kGroupWords,
              .c = sums.data(),
              .ldc = ld,
              .add = g > 0,
              .last = g + groups < groups_ ? kGroup : lastOfGroups(k_)});
    }
    put(sums.data(), ld, i0, rows, p0 * kGroupColumns);
  }

  /// Brings a tile to its place in c, rounded unless that is wide.
  void put(const float* sums, std::int64_t ld, std::int64_t i0, std::int64_t rows, std::int64_t j0) const {
    const std::int64_t columns = std::min(ld, n_ - j0);
    const auto line = [&](const float* from, std::int64_t at, std::int64_t elements) {
      putFloats(from, elements, c_, at, wide_, toMemory_);
    };
    if (!turned_) {
      for (std::int64_t i = 0; i < rows; ++i) line(sums + i * ld, (i0 + i) * stride_ + j0, columns);
      if (toMemory_) endToMemory();
      return;
    }
    const Scratch<float> lines(rows * columns);
    transposeTo(sums, ld, lines.data(), rows, columns, rows);
    for (std::int64_t j = 0; j < columns; ++j) line(lines.data() + j * rows, (j0 + j) * stride_ + i0, rows);
  }

  const GroupKernels& kernels_ = groupKernels();
  std::int64_t m_, n_, k_;
  Matrix<BFloat16> a_, b_;
  void* c_;
  bool wide_;
  std::int64_t stride_;  // of rows of c
  std::int64_t groups_, panelSize_;
  bool turned_ = false, toMemory_ = false;
  std::int64_t panels_ = 0;              // of b
  std::int64_t height_ = 0, down_ = 0;   // rows of a tile, and blocks of them
  std::int64_t width_ = 0, across_ = 0;  // panels of a tile, and tiles side by side
  Pair* packed_ = nullptr;
  int* panelExponents_ = nullptr;
  int* rowExponents_ = nullptr;
};

/// Is there an instruction for pairs that is faster than float32, and adds one product after the other? Intel's
/// processors take as long for a pair as for two multiply-adds.
bool multipliesPairs() { return hasAvx512BFloat16() && __builtin_cpu_is("intel") == 0 && avx512::pairsInOrder(); }

}  // namespace

const GroupKernels& groupKernels() {
  static const GroupKernels own = [] {
    const GroupTileFn exact = hasAvx512() ? avx512::groupTile : avx2::groupTile;
    if (amx::hasOrderedTiles()) return GroupKernels{amx::groupTile, exact, true};
    return GroupKernels{multipliesPairs() ? avx512::pairsGroupTile : exact, exact, false};
  }();
  return own;
}

GroupTileFn GroupKernels::forExponents(int a, int b) const {
  return a > 0 && b > 0 && a + b >= kSafeExponents ? fast : exact;
}

namespace {

/// Without the largest exponent, which stays 0, if that is not asked for.
template <bool Most>
Exponents exponents(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld) {
  return withHostIsa([=]() TANDEM_INLINED {
    Elements least = Elements{} - 1, most{};
    const BFloat16* row = from;
    for (std::int64_t i = 0; i < rows; ++i, row += ld)
      for (std::int64_t e = 0; e < columns; e += kGroup) {
        const Elements magnitude = *reinterpret_cast<const Elements*>(row + e) & 0x7fff;
        const Elements shifted = magnitude - 1;  // zero is the largest
        least = shifted < least ? shifted : least;
        if constexpr (Most) most = magnitude > most ? magnitude : most;
      }
    Exponents all{kNoExponent, 0};
    for (std::int64_t e = 0; e < kGroup; ++e) {
      all.least = std::min(all.least, (least[e] + 1) >> 7);
      if constexpr (Most) all.most = std::max(all.most, most[e] >> 7);
    }
    return all;
  });
}

}  // namespace

int smallestExponent(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld) {
  return exponents<false>(rows, columns, from, ld).least;
}
Exponents exponentsOf(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld) {
  return exponents<true>(rows, columns, from, ld);
}

int smallestExponent(const BFloat16* from, std::int64_t n) {
  const std::int64_t whole = n / kGroup * kGroup;
  BFloat16 rest[kGroup] = {};
  std::copy_n(from + whole, n - whole, rest);
  std::atomic<int> least = smallestExponent(1, kGroup, rest, kGroup);
  parallelFor(whole / kGroup, kSerialElements / kGroup, [&](std::int64_t begin, std::int64_t end) {
    const int here = smallestExponent(1, (end - begin) * kGroup, from + begin * kGroup, 0);
    int seen = least.load();
    while (here < seen && !least.compare_exchange_weak(seen, here)) {
    }
  });
  return least;
}

void packGroupPanels(const Matrix<BFloat16>& b, std::int64_t k, std::int64_t j, std::int64_t columns, Pair* to) {
  const std::int64_t words = wholeGroups(k) / 2, panelSize = words * kGroupColumns;
  std::int64_t p = 0;  // words of a column that are done
  if (hasPairs(b)) {
    // The words of columns are transposed.
    p = k / 2;
    for (std::int64_t x = 0; x < columns; x += kGroupColumns) {
      const std::int64_t here = std::min(kGroupColumns, columns - x);
      Pair* const panel = to + x / kGroupColumns * panelSize;
      if (here < kGroupColumns) std::memset(panel, 0, static_cast<std::size_t>(panelSize) * sizeof(Pair));
      const auto* from = reinterpret_cast<const float*>(b.data + (j + x) * b.columnStride);
      transposeTo(from, b.columnStride / 2, reinterpret_cast<float*>(panel), kGroupColumns, p, here);
    }
  }
  for (; p < words; ++p) {
    const auto element = [&](std::int64_t i, std::int64_t x) -> Pair {
      return i < k ? b.data[i * b.rowStride + (j + x) * b.columnStride].bits : 0;
    };
    for (std::int64_t first = 0; first < columns; first += kGroupColumns) {
      Pair* const row = to + first / kGroupColumns * panelSize + p * kGroupColumns - first;
      const std::int64_t end = std::min(first + kGroupColumns, columns);
      std::int64_t x = first;
      if (b.columnStride == 1 && 2 * p + 1 < k) {
        for (; x + 16 <= end; x += 16) {
          const BFloat16* const from = b.data + 2 * p * b.rowStride + j + x;
          const __m256i even = load(from), odd = load(from + b.rowStride);
          const __m256i low = _mm256_unpacklo_epi16(even, odd), high = _mm256_unpackhi_epi16(even, odd);
          auto* const at = reinterpret_cast<__m256i*>(row + x);
          _mm256_storeu_si256(at, _mm256_permute2x128_si256(low, high, 0x20));
          _mm256_storeu_si256(at + 1, _mm256_permute2x128_si256(low, high, 0x31));
        }
      }
      for (; x < end; ++x) row[x] = element(2 * p, x) | element(2 * p + 1, x) << 16;
      for (; x < first + kGroupColumns; ++x) row[x] = 0;
    }
  }
}

Matrix<BFloat16> denseRows(const Matrix<BFloat16>& x, std::int64_t rows, std::int64_t columns, BFloat16* to,
                           std::int64_t ld) {
  const Dims shape{rows, columns};
  copyArray({const_cast<BFloat16*>(x.data), DType::BFloat16, shape, {x.rowStride, x.columnStride}},
            {to, DType::BFloat16, shape, {ld, 1}});
  if (ld > columns)
    for (std::int64_t i = 0; i < rows; ++i) std::fill(to + i * ld + columns, to + (i + 1) * ld, BFloat16{});
  return {to, ld, 1};
}

bool isInGroups(std::int64_t m, std::int64_t n, std::int64_t k) { return m > 1 && n > 1 && !isSmallGemm(m, n, k); }

void groupsGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<BFloat16> a, Matrix<BFloat16> b, void* c,
                bool wide) {
  const std::int64_t length = pieceLength(m, n, k), pieces = ceilDiv(k, length), size = m * n;
  if (pieces == 1) return GroupsProduct(m, n, k, a, b, c, wide).run();
  const Scratch<float> partial(pieces * size);
  parallelTiles(pieces, [&](std::int64_t p) {
    const std::int64_t from = p * length;
    GroupsProduct(m, n, std::min(length, k - from), {a.data + from * a.columnStride, a.rowStride, a.columnStride},
                  {b.data + from * b.rowStride, b.rowStride, b.columnStride}, partial.data() + p * size, true)
        .run();
  });
  parallelFor(size, grainOf(pieces), [&](std::int64_t begin, std::int64_t end) {
    float* const sums = partial.data();
    for (std::int64_t p = 1; p < pieces; ++p)
      for (std::int64_t i = begin; i < end; ++i) sums[i] += sums[p * size + i];
    putFloats(sums + begin, end - begin, c, begin, wide);
  });
}

}  // namespace tandem::lib
