// Convolutions of bfloat16 by AVX-512's instruction for pairs, which is twice as fast as multiply-adds of float32: as
// conv_products.cpp makes those by windows, with the same chains, and so the same bits (gemm_bfloat16.cpp). A pair has
// what a window sees at two places of the filter that follow each other. In the slab these are two vectors of
// neighbouring windows, whose elements are taken in turn: vectors of pairs have windows in the order of their lanes,
// four of the first vector and four of the second, and results are brought to order when they are rounded.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/windows.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")

namespace tandem::lib::avx512 {
namespace {

// clang-format off
#include "runtime/lib/matmul/pairs_body.h"
// clang-format on

constexpr std::int64_t kBlockK = 256;         // as of float32
constexpr std::int64_t kPanel = 32;           // windows
constexpr std::int64_t kRows = 12;            // outputs of a register tile, at most
constexpr std::int64_t kTileWindows = 512;    // about
constexpr std::int64_t kOutputStep = 48;      // outputs that stay together, where they are shared
constexpr std::int64_t kRowGap = 16;          // so that rows of pairs do not collide in the cache
constexpr std::int64_t kLeastWork = 1 << 14;  // multiply-adds

/// Half a panel from each of two places.
__m512i halves(const BFloat16* first, const BFloat16* second) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first));
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(low),
                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second)), 1);
}

/// sums[Rows][kPanel] = or += rows of `a`, `lda` apart, times what windows see at `k` places, in pairs: half of them
/// from `b` on, the others `apart` behind.
template <int Rows>
void pairsTile(std::int64_t k, const Pair* a, std::int64_t lda, const BFloat16* b, std::int64_t apart,
               const std::int64_t* offsets, float* sums, bool add) {
  __m512 acc[Rows][2];
#pragma GCC unroll 16
  for (auto& row : acc) row[0] = row[1] = _mm512_setzero_ps();
  for (std::int64_t p = 0; p < k; p += 2, ++a) {
    const auto seen = [&](std::int64_t place) { return halves(b + offsets[place], b + offsets[place] + apart); };
    const __m512i first = seen(p), second = p + 1 < k ? seen(p + 1) : _mm512_setzero_si512();
    const auto low = (__m512bh)(_mm512_unpacklo_epi16(second, first));
    const auto high = (__m512bh)(_mm512_unpackhi_epi16(second, first));
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const auto x = (__m512bh)(_mm512_set1_epi32(static_cast<int>(a[i * lda])));
      acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, low);
      acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, high);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      float* to = sums + i * kPanel + v * 16;
      _mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), acc[i][v]) : acc[i][v]);
    }
}

/// A panel's sums of one output in the order of windows, as they are or rounded. None is subnormal.
void inOrder(const float* sums, bool wide, char* to) {
  if (wide) {
    for (int four = 0; four < 8; ++four) std::memcpy(to + four * 16, sums + (four % 2 * 4 + four / 2) * 4, 16);
    return;
  }
  const auto order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const auto narrow = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + 16), _mm512_loadu_ps(sums));
  _mm512_storeu_si512(to, _mm512_maskz_permutexvar_epi64(0xff, order, (__m512i)narrow));
}

/// The smallest exponent of an element but zero, and whether all elements are finite.
struct Range {
  std::atomic<int> least = 255;
  std::atomic<bool> finite = true;

  void add(const BFloat16* x, std::int64_t n) {
    Smallest smallest;
    __mmask32 none = 0;
    for (std::int64_t i = 0; i < n; i += 32) {
      const auto mask = static_cast<__mmask32>(n - i >= 32 ? ~0U : (1U << (n - i)) - 1);
      const __m512i v = _mm512_maskz_loadu_epi16(mask, x + i);
      const __m512i exponent = _mm512_and_si512(v, _mm512_set1_epi16(0x7f80));
      none |= _mm512_cmpeq_epi16_mask(exponent, _mm512_set1_epi16(0x7f80));
      smallest.add(v);
    }
    smallest.into(least);
    if (none != 0) finite = false;
  }
  void addAll(const BFloat16* x, std::int64_t n) {
    parallelFor(n, kSerialElements, [&](std::int64_t begin, std::int64_t end) { add(x + begin, end - begin); });
  }
};

class PairTiles {
 public:
  PairTiles(const ConvShape& s, const Windowed& of, bool wide)
      : s_(s), wide_(wide), item_(wide ? sizeof(float) : sizeof(BFloat16)), windows_(of.windows),
        block_(blockOf(of.windows)), planes_(s.groupChannels()), k_(planes_ * s.kh * s.kw),
        layout_(windows_, planes_, block_.rows, block_.columns), ld_((k_ + 1) / 2 + kRowGap) {
    const std::int64_t through = ceilDiv((block_.rows - 1) * layout_.down() + block_.columns, kPanel);
    together_ = block_.columns <= kPanel / 2 ? 2 : 1;
    const std::int64_t byRow = ceilDiv(block_.rows, together_) * ceilDiv(block_.columns, kPanel);
    through_ = through < byRow;
    if (through_) together_ = 1;
    panels_ = std::min(through, byRow);
  }

  /// Are most windows of panels some that are asked for?
  bool worthIt() const {
    const std::int64_t places = block_.rows * block_.columns;
    return s_.groupOutputs() >= 4 && k_ >= 8 && s_.n * s_.imageWork() / s_.groups >= kLeastWork &&
           2 * places >= panels_ * kPanel;
  }

  void run(const BFloat16* input, const Pair* filters, char* output) const {
    const std::int64_t down = ceilDiv(windows_.rows, block_.rows), across = ceilDiv(windows_.columns, block_.columns);
    const std::int64_t tiles = s_.n * s_.groups * down * across, m = s_.groupOutputs();
    const std::int64_t work = m * k_ * block_.rows * block_.columns;
    const std::int64_t cuts = cutsOf(tiles, work, ceilDiv(m, kOutputStep));
    const std::int64_t outputs = ceilDiv(ceilDiv(m, cuts), kRows) * kRows;
    parallelTiles(ceilDiv(m, outputs) * tiles, [&](std::int64_t t) {
      const std::int64_t first = t / tiles * outputs;
      const std::int64_t i = t / across % down * block_.rows, j = t % across * block_.columns;
      const std::int64_t image = t % tiles / (down * across);  // and group
      const WindowBlock here{i, j, std::min(block_.rows, windows_.rows - i),
                             std::min(block_.columns, windows_.columns - j)};
      tile(input + image * planes_ * s_.h * s_.w, here, filters + image % s_.groups * m * ld_, first,
           std::min(m, first + outputs), output + image * m * s_.oh * s_.ow * item_);
    });
  }
  /// Filters of `outputs` as pairs, rows of this many of them; a tile may read some behind the last.
  std::int64_t filterRow() const { return ld_; }

 private:
  static WindowBlock blockOf(const Windows& w) {
    if (w.count() <= kTileWindows) return {0, 0, w.rows, w.columns};
    const std::int64_t columns = ceilDiv(w.columns, std::max<std::int64_t>(1, w.columns / kTileWindows));
    return {0, 0, std::clamp<std::int64_t>(kTileWindows / columns, 1, w.rows), columns};
  }

  void tile(const BFloat16* image, const WindowBlock& block, const Pair* filters, std::int64_t begin, std::int64_t end,
            char* output) const {
    // Panels read past the last window, and two rows where there is one.
    const std::int64_t behind = layout_.down() + 2 * kPanel;
    const Scratch<BFloat16> slab(layout_.size() + behind);
    // As whole numbers, which compilers move in vectors.
    layout_.fill(reinterpret_cast<const std::uint16_t*>(image), block, reinterpret_cast<std::uint16_t*>(slab.data()));
    std::fill_n(slab.data() + layout_.size(), behind, BFloat16{});
    const std::int64_t rows = through_ ? 1 : block.rows;
    const std::int64_t length = through_ ? (block.rows - 1) * layout_.down() + block.columns : block.columns;
    const std::int64_t shares = ceilDiv(end - begin, kRows);
    for (std::int64_t share = 0; share < shares; ++share) {
      const std::int64_t first = begin + share * (end - begin) / shares;
      const std::int64_t count = begin + (share + 1) * (end - begin) / shares - first;
      for (std::int64_t row = 0; row < rows; row += together_)
        for (std::int64_t x = 0; x < length; x += kPanel) {
          alignas(64) float sums[kRows * kPanel];
          product(count, filters + first * ld_, slab.data() + row * layout_.down() + x, sums);
          for (std::int64_t o = 0; o < count; ++o)
            store(sums + o * kPanel, block, row, x, output + (first + o) * s_.oh * s_.ow * item_);
        }
    }
  }

  void product(std::int64_t count, const Pair* filters, const BFloat16* b, float* sums) const {
    for (std::int64_t k = 0; k < k_; k += kBlockK) {
      const std::int64_t depth = std::min(kBlockK, k_ - k);
      const std::int64_t apart = together_ == 1 ? kPanel / 2 : layout_.down();
      const auto run = [&](auto tile) {
        tile(depth, filters + k / 2, ld_, b, apart, layout_.offsets() + k, sums, k > 0);
      };
      count <= 4 ? run(pairsTile<4>) : count <= 8 ? run(pairsTile<8>) : run(pairsTile<kRows>);
    }
  }

  /// The sums of a panel from place x of a row of windows on, or, through all rows, from place x on.
  void store(const float* sums, const WindowBlock& block, std::int64_t row, std::int64_t x, char* plane) const {
    const auto place = [&](std::int64_t y, std::int64_t column) {
      return plane + ((block.i + y) * s_.ow + block.j + column) * item_;
    };
    if (!through_ && together_ == 1 && block.columns - x >= kPanel) return inOrder(sums, wide_, place(row, x));
    alignas(64) char panel[kPanel * sizeof(float)];
    inOrder(sums, wide_, panel);
    for (std::int64_t y = 0; !through_ && y < std::min(together_, block.rows - row); ++y)
      copyPart(panel + y * kPanel / 2 * item_, std::min(kPanel, block.columns - x), place(row + y, x));
    if (!through_) return;
    for (std::int64_t from = x; from < x + kPanel;) {
      const std::int64_t y = from / layout_.down(), column = from % layout_.down();
      if (y >= block.rows) return;
      const std::int64_t next = std::min(x + kPanel, (y + 1) * layout_.down());
      if (column < block.columns)
        copyPart(panel + (from - x) * item_, std::min(next - from, block.columns - column), place(y, column));
      from = next;
    }
  }
  /// `count` elements of a panel. Stores by masks take some CPUs longer than the product.
  void copyPart(const char* from, std::int64_t count, char* to) const {
    if (count * item_ == kPanel)
      std::memcpy(to, from, kPanel);
    else
      std::memcpy(to, from, static_cast<std::size_t>(count * item_));
  }

  const ConvShape& s_;
  const bool wide_;          // are results float32?
  const std::int64_t item_;  // bytes of one
  const Windows& windows_;
  const WindowBlock block_;  // the largest
  const std::int64_t planes_, k_;
  const SlabLayout layout_;
  const std::int64_t ld_;
  bool through_;           // do panels go on through what lies between rows?
  std::int64_t together_;  // rows of a panel otherwise
  std::int64_t panels_;    // of a block
};

}  // namespace

bool pairsForward(const ConvShape& s, const BFloat16* input, const BFloat16* weight, void* output, bool wide) {
  const Windowed of = Windowed::ofOutput(s);
  const PairTiles tiles(s, of, wide);
  if (!tiles.worthIt()) return false;
  Range seen, filters;
  seen.addAll(input, s.n * s.inputSize());
  filters.addAll(weight, s.weightSize());
  // Places outside of the input make no NaN of infinite filters there.
  if (!seen.finite || !filters.finite || seen.least == 0 || filters.least == 0 ||
      seen.least + filters.least < kSafeExponents)
    return false;
  const std::int64_t ld = tiles.filterRow(), k = s.groupChannels() * s.kh * s.kw;
  const Scratch<Pair> pairs((s.o + kRows) * ld);
  std::fill_n(pairs.data() + s.o * ld, kRows * ld, Pair{});
  std::atomic<int> exponent = 255;
  parallelFor(s.o, grainOf(k), [&](std::int64_t begin, std::int64_t end) {
    packRows(weight, k, k, begin, end, pairs.data(), ld, exponent);
  });
  tiles.run(input, pairs.data(), static_cast<char*>(output));
  return true;
}

}  // namespace tandem::lib::avx512
