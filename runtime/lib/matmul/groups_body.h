// A tile of a product in groups (gemm_groups.h) by chains that are added afterwards. Included below the pragma that
// sets the instruction set, in a namespace of its own. K describes the chains: Element, of which kHalf make one of a
// group's two chains, and of what registers hold, kRows and kColumns.
//
//   split     makes the elements of the even and of the odd chain of 16 words, each with two elements of bfloat16,
//             `step` words apart, for `count` columns side by side
//   splitRow  the same of a row's words, which lie one behind the other
//   tile      c[kRows][kColumns] = or += so many groups; of the last one chains have `last` elements
//   chains    c[rows][kColumns] = or += one chain of `half` elements

template <class K>
void chainsOfGroups(const GroupTile& t) {
  using Element = typename K::Element;
  constexpr std::int64_t group = 2 * K::kHalf, width = K::kColumns;
  constexpr std::int64_t gap = 64 / sizeof(Element);  // so that rows do not collide in the cache
  const std::int64_t ld = std::min(kNearGroups, t.groups) * group + gap;
  const Scratch<Element> rows(t.rows * ld);
  Element panel[kNearGroups * group * width];
  alignas(64) float sums[K::kRows * width];
  for (std::int64_t g0 = 0; g0 < t.groups; g0 += kNearGroups) {
    const std::int64_t near = std::min(kNearGroups, t.groups - g0);
    const bool more = t.add || g0 > 0;
    const std::int64_t last = g0 + near < t.groups ? K::kHalf : ceilDiv(t.last * K::kHalf, kGroup);
    for (std::int64_t i = 0; i < t.rows; ++i)
      for (std::int64_t g = 0; g < near; ++g)
        K::splitRow(t.a + i * t.lda + (g0 + g) * kGroup, rows.data() + i * ld + g * group);
    for (std::int64_t j = 0; j < t.count * kGroupColumns; j += width) {
      const std::uint32_t* const from = t.panels + j / kGroupColumns * t.panelStride + j % kGroupColumns;
      for (std::int64_t g = 0; g < near; ++g)
        K::split(from + (g0 + g) * kGroup / 2 * t.rowStride, t.rowStride, width, panel + g * group * width);
      for (std::int64_t i = 0; i < t.rows; i += K::kRows) {
        const std::int64_t here = std::min<std::int64_t>(K::kRows, t.rows - i);
        const Element* const a = rows.data() + i * ld;
        float* const c = t.c + i * t.ldc + j;
        if (here == K::kRows) {
          K::tile(near, last, a, ld, panel, c, t.ldc, more);
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
}

/// Chains of float32, of which V describes vectors (gemm_body.h).
template <class V>
struct FloatChains {
  using Element = float;
  static constexpr std::int64_t kHalf = kGroup / 2, kColumns = 2 * V::kLanes;
  static constexpr int kRows = V::kRows;
  static void split(const std::uint32_t* words, std::int64_t step, std::int64_t count, float* to) {
    for (std::int64_t p = 0; p < kHalf; ++p) halves(words + p * step, count, to + p * count, to + (kHalf + p) * count);
  }
  static void splitRow(const BFloat16* from, float* to) { halves(from, kHalf, to, to + kHalf); }
  /// The lower halves of words, whole vectors of them, and the upper ones.
  static void halves(const void* words, std::int64_t count, float* lower, float* upper) {
    using Words __attribute__((vector_size(V::kLanes * sizeof(float)))) = std::uint32_t;
    for (std::int64_t x = 0; x < count; x += V::kLanes) {
      Words word;
      std::memcpy(&word, static_cast<const std::uint32_t*>(words) + x, sizeof word);
      const Words low = word << 16, high = word & 0xffff0000U;
      std::memcpy(lower + x, &low, sizeof low);
      std::memcpy(upper + x, &high, sizeof high);
    }
  }
  /// One chain after the other.
  [[gnu::noinline]] static void tile(std::int64_t groups, std::int64_t last, const float* a, std::int64_t lda,
                                     const float* panel, float* c, std::int64_t ldc, bool add) {
    constexpr std::int64_t lanes = V::kLanes;
    alignas(64) float even[kRows * kColumns];
    typename V::Vector acc[kRows][2];
    const auto chain = [&](std::int64_t half) {
#pragma GCC unroll 16
      for (auto& row : acc) row[0] = row[1] = V::zero();
      for (std::int64_t p = 0; p < half; ++p, panel += kColumns, ++a) {
        const auto b0 = V::load(panel), b1 = V::load(panel + lanes);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
          const auto x = V::broadcast(a[i * lda]);
          acc[i][0] = V::fma(x, b0, acc[i][0]);
          acc[i][1] = V::fma(x, b1, acc[i][1]);
        }
      }
      a += kHalf - half, panel += (kHalf - half) * kColumns;
    };
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t half = g + 1 < groups ? kHalf : last;
      chain(half);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
        for (int v = 0; v < 2; ++v) V::store(even + i * kColumns + v * lanes, acc[i][v]);
      chain(half);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
        for (int v = 0; v < 2; ++v) {
          float* const to = c + i * ldc + v * lanes;
          const auto sum = V::add(V::load(even + i * kColumns + v * lanes), acc[i][v]);
          V::store(to, g == 0 && !add ? sum : V::add(V::load(to), sum));
        }
    }
  }
  static void chains(std::int64_t rows, std::int64_t half, const float* a, std::int64_t lda, const float* panel,
                     float* c, bool add) {
    blockTimesPanel<V, float>(rows, half, {a, lda, 0, 0, false}, {panel, 2 * V::kLanes, kColumns}, {c, kColumns}, add);
  }
};
