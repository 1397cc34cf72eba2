// A tile of a product in groups (gemm_groups.h) by chains that are added afterwards. Included below the pragma that
// sets the instruction set, in a namespace of its own. K describes the chains: Element, of which kHalf make one of a
// group's two chains, kRows and kColumns of what registers hold, of two vectors; `split`, which makes the elements of
// the even and of the odd chain of 16 words, each with two elements of bfloat16, `step` words apart, for `count`
// columns side by side; `chains`, which computes c[rows][kColumns] of `half` elements, or adds to it; and of vectors
// broadcast, load and multiplyAdd.

/// c[kRows][kColumns] = or += so many groups; of the last one chains have `last` elements.
template <class K, class Element = typename K::Element>
[[gnu::noinline]] void wholeTile(std::int64_t groups, std::int64_t last, const Element* a, std::int64_t lda,
                                 const Element* panel, float* c, std::int64_t ldc, bool add) {
  using V = typename K::Floats;
  constexpr std::int64_t width = K::kColumns, lanes = V::kLanes;
  alignas(64) float even[K::kRows * width];
  typename V::Vector acc[K::kRows][2];
  const auto chains = [&](std::int64_t half) {
    for (auto& row : acc) row[0] = row[1] = V::zero();
    for (std::int64_t p = 0; p < half; ++p, panel += width, ++a) {
      const auto b0 = K::load(panel), b1 = K::load(panel + lanes);
#pragma GCC unroll 16
      for (int i = 0; i < K::kRows; ++i) {
        const auto x = K::broadcast(a[i * lda]);
        acc[i][0] = K::multiplyAdd(x, b0, acc[i][0]);
        acc[i][1] = K::multiplyAdd(x, b1, acc[i][1]);
      }
    }
    a += K::kHalf - half, panel += (K::kHalf - half) * width;
  };
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t half = g + 1 < groups ? K::kHalf : last;
    chains(half);
#pragma GCC unroll 16
    for (int i = 0; i < K::kRows; ++i)
      for (int v = 0; v < 2; ++v) V::store(even + i * width + v * lanes, acc[i][v]);
    chains(half);
#pragma GCC unroll 16
    for (int i = 0; i < K::kRows; ++i)
      for (int v = 0; v < 2; ++v) {
        float* const to = c + i * ldc + v * lanes;
        const auto sum = V::add(V::load(even + i * width + v * lanes), acc[i][v]);
        V::store(to, g == 0 && !add ? sum : V::add(V::load(to), sum));
      }
  }
}

template <class K>
void chainsOfGroups(const GroupTile& t) {
  using Element = typename K::Element;
  constexpr std::int64_t group = 2 * K::kHalf, width = K::kColumns;
  constexpr std::int64_t gap = 64 / sizeof(Element);  // so that rows do not collide in the cache
  const std::int64_t ld = t.groups * group + gap;
  const Scratch<Element> rows(t.rows * ld);
  Element panel[kNearGroups * group * width];
  std::uint32_t words[kGroup / 2];
  for (std::int64_t i = 0; i < t.rows; ++i)
    for (std::int64_t g = 0; g < t.groups; ++g) {
      std::memcpy(words, t.a + i * t.lda + g * kGroup, sizeof words);
      K::split(words, 1, 1, rows.data() + i * ld + g * group);
    }
  alignas(64) float sums[K::kRows * width];
  for (std::int64_t g0 = 0; g0 < t.groups; g0 += kNearGroups)
    for (std::int64_t j = 0; j < t.count * kGroupColumns; j += width) {
      const std::int64_t near = std::min(kNearGroups, t.groups - g0);
      const bool more = t.add || g0 > 0;
      const std::int64_t last = g0 + near < t.groups ? K::kHalf : ceilDiv(t.last * K::kHalf, kGroup);
      const std::uint32_t* const from = t.panels + j / kGroupColumns * t.panelStride + j % kGroupColumns;
      for (std::int64_t g = 0; g < near; ++g)
        K::split(from + (g0 + g) * kGroup / 2 * t.rowStride, t.rowStride, width, panel + g * group * width);
      for (std::int64_t i = 0; i < t.rows; i += K::kRows) {
        const std::int64_t here = std::min<std::int64_t>(K::kRows, t.rows - i);
        const Element* const a = rows.data() + i * ld + g0 * group;
        float* const c = t.c + i * t.ldc + j;
        if (here == K::kRows) {
          wholeTile<K>(near, last, a, ld, panel, c, t.ldc, more);
          continue;
        }
        for (std::int64_t g = 0; g < near; ++g) {
          const std::int64_t half = g + 1 < near ? K::kHalf : last;
          K::chains(here, half, a + g * group, ld, panel + g * group * width, sums, false);
          K::chains(here, half, a + g * group + K::kHalf, ld, panel + (g * group + K::kHalf) * width, sums, true);
          for (std::int64_t y = 0; y < here; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
              float& to = c[y * t.ldc + x];
              to = g == 0 && !more ? sums[y * width + x] : to + sums[y * width + x];
            }
        }
      }
    }
}

/// Chains of float32, of which V describes vectors (gemm_body.h).
template <class V>
struct FloatChains {
  using Element = float;
  using Floats = V;
  static constexpr std::int64_t kHalf = kGroup / 2, kColumns = 2 * V::kLanes;
  static constexpr int kRows = V::kRows;
  [[gnu::noinline]] static void split(const std::uint32_t* words, std::int64_t step, std::int64_t count, float* to) {
    for (std::int64_t p = 0; p < kHalf; ++p)
      for (std::int64_t x = 0; x < count; ++x) {
        const std::uint32_t word = words[p * step + x];
        to[p * count + x] = std::bit_cast<float>(word << 16);
        to[(kHalf + p) * count + x] = std::bit_cast<float>(word & 0xffff0000U);
      }
  }
  static auto load(const float* from) { return V::load(from); }
  static auto broadcast(float x) { return V::broadcast(x); }
  static auto multiplyAdd(typename V::Vector x, typename V::Vector y, typename V::Vector sum) {
    return V::fma(x, y, sum);
  }
  static void chains(std::int64_t rows, std::int64_t half, const float* a, std::int64_t lda, const float* panel,
                     float* c, bool add) {
    blockTimesPanel<V, float>(rows, half, {a, lda, 0, 0, false}, {panel, 2 * V::kLanes, kColumns}, {c, kColumns}, add);
  }
};
