// The body of the matrix product (see gemm_kernel.h). Included by one file an instruction set, below the pragma that
// sets it, in a namespace of its own. V describes vectors: Scalar, Vector, kLanes, kRows, zero, broadcast, load, store,
// add, fma (also of scalars).

/// Transposes blocks of kBlock x kBlock: dst[x * dstLd + y] = src[y * srcLd + x].
struct FloatBlocks {
  static constexpr std::int64_t kBlock = 8;
  static void transpose(const float* src, std::int64_t srcLd, float* dst, std::int64_t dstLd) {
    __m256 r[8], t[8];
    for (int i = 0; i < 4; ++i) {
      // Halves of rows i and i + 4 side by side, so that what follows stays within 128-bit lanes.
      __m128 a0 = _mm_loadu_ps(src + i * srcLd), a1 = _mm_loadu_ps(src + i * srcLd + 4);
      __m128 b0 = _mm_loadu_ps(src + (i + 4) * srcLd), b1 = _mm_loadu_ps(src + (i + 4) * srcLd + 4);
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(a0), b0, 1);
      r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(a1), b1, 1);
    }
    for (int i = 0; i < 8; i += 4) {
      t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
      t[i + 2] = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
      t[i + 3] = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
      _mm256_storeu_ps(dst + i * dstLd, _mm256_shuffle_ps(t[i], t[i + 2], 0x44));
      _mm256_storeu_ps(dst + (i + 1) * dstLd, _mm256_shuffle_ps(t[i], t[i + 2], 0xee));
      _mm256_storeu_ps(dst + (i + 2) * dstLd, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44));
      _mm256_storeu_ps(dst + (i + 3) * dstLd, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee));
    }
  }
};
struct DoubleBlocks {
  static constexpr std::int64_t kBlock = 4;
  static void transpose(const double* src, std::int64_t srcLd, double* dst, std::int64_t dstLd) {
    __m256d a = _mm256_loadu_pd(src), b = _mm256_loadu_pd(src + srcLd), c = _mm256_loadu_pd(src + 2 * srcLd),
            d = _mm256_loadu_pd(src + 3 * srcLd);
    __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(dst, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(dst + dstLd, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(dst + 2 * dstLd, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(dst + 3 * dstLd, _mm256_permute2f128_pd(ab1, cd1, 0x31));
  }
};

template <class T>
using BlocksOf = std::conditional_t<std::is_same_v<T, float>, FloatBlocks, DoubleBlocks>;

/// dst[x * dstLd + y] = src[y * srcLd + x]
template <class V, class T = typename V::Scalar>
void transposeTo(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys) {
  constexpr std::int64_t w = BlocksOf<T>::kBlock;
  std::int64_t y = 0;
  for (; y + w <= ys; y += w) {
    std::int64_t x = 0;
    for (; x + w <= xs; x += w) {
      for (std::int64_t i = 0, half = w / 2; i < half; ++i)
        __builtin_prefetch(src + (y + w + x / w % 2 * half + i) * srcLd + x);
      BlocksOf<T>::transpose(src + y * srcLd + x, srcLd, dst + x * dstLd + y, dstLd);
    }
    for (; x < xs; ++x)
      for (std::int64_t i = y; i < y + w; ++i) dst[x * dstLd + i] = src[i * srcLd + x];
  }
  for (; y < ys; ++y)
    for (std::int64_t x = 0; x < xs; ++x) dst[x * dstLd + y] = src[y * srcLd + x];
}

/// Panels of b one after another, `k * kColumns` apart: dst[p][j] for p < k; columns from `columns` on are zero.
template <class V, class T = typename V::Scalar>
void packPanels(const Matrix<T>& b, std::int64_t k, std::int64_t columns, T* dst) {
  constexpr std::int64_t width = 2 * V::kLanes;
  std::int64_t j = 0;
  if (b.columnStride == 1) {
    // Several panels at once: whole stretches of a row are read in order.
    constexpr std::int64_t together = 4;
    for (; j + together * width <= columns; j += together * width)
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t x = 0; x < together * width; x += V::kLanes)
          V::store(dst + (j + x / width * width) * k + p * width + x % width,
                   V::load(b.data + p * b.rowStride + j + x));
  }
  for (; j < columns; j += width) {
    std::int64_t here = std::min(width, columns - j);
    const T* from = b.data + j * b.columnStride;
    T* to = dst + j * k;
    if (here < width) std::fill_n(to, k * width, T{});
    if (b.columnStride == 1 && here == width) {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t x = 0; x < width; x += V::kLanes)
          V::store(to + p * width + x, V::load(from + p * b.rowStride + x));
    } else if (b.columnStride == 1) {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t x = 0; x < here; ++x) to[p * width + x] = from[p * b.rowStride + x];
    } else if (b.rowStride == 1) {
      transposeTo<V>(from, b.columnStride, to, width, k, here);
    } else {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t x = 0; x < here; ++x) to[p * width + x] = from[p * b.rowStride + x * b.columnStride];
    }
  }
}

/// `rows` rows of a, where they lie if the kernel can read them in order and without collisions in the cache; else
/// copied to `dst`.
template <class V, class T = typename V::Scalar>
PlacedRows<T> placeRows(const Matrix<T>& a, std::int64_t rows, std::int64_t k, std::int64_t allRows, T* dst) {
  if (a.columnStride == 1) {
    // Rows a multiple of 2 KiB apart fall on the same few cache lines.
    if (allRows <= V::kRows || a.rowStride * std::int64_t{sizeof(T)} % 2048 != 0)
      return {a.data, a.rowStride, 0, 0, false};
    for (std::int64_t i = 0; i < rows; ++i)
      std::memcpy(dst + i * kPackedRow, a.data + i * a.rowStride, static_cast<std::size_t>(k) * sizeof(T));
    return {dst, kPackedRow, 0, 0, false};
  }
  if (a.rowStride == 1) {
    if (a.columnStride <= 16 * V::kLanes) return {a.data, 0, V::kRows, a.columnStride, true};
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t i = 0; i < rows; i += V::kRows) {
        const T* from = a.data + p * a.columnStride + i;
        T* to = dst + i * k + p * V::kRows;
        if (i + V::kRows <= rows)
          std::memcpy(to, from, V::kRows * sizeof(T));
        else
          std::memcpy(to, from, static_cast<std::size_t>(rows - i) * sizeof(T));
      }
    return {dst, 0, V::kRows * k, V::kRows, true};
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t p = 0; p < k; ++p) dst[i * kPackedRow + p] = a.data[i * a.rowStride + p * a.columnStride];
  return {dst, kPackedRow, 0, 0, false};
}

/// c[Rows][kColumns] = or += a[Rows][k] panel[k][kColumns], the chains in registers. Element p of row i of a lies at
/// `a[i * lda + p]`; with `Columns` at `a[i + p * lda]`.
template <class V, int Rows, bool Columns, class T = typename V::Scalar>
void registerTile(std::int64_t k, const T* a, std::int64_t lda, const T* panel, T* c, std::int64_t ldc, bool add) {
  typename V::Vector acc[Rows][2];
  for (auto& row : acc) row[0] = row[1] = V::zero();
  for (std::int64_t p = 0; p < k; ++p) {
    auto b0 = V::load(panel);
    auto b1 = V::load(panel + V::kLanes);
    panel += 2 * V::kLanes;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      auto x = V::broadcast(Columns ? a[i] : a[i * lda + p]);
      acc[i][0] = V::fma(x, b0, acc[i][0]);
      acc[i][1] = V::fma(x, b1, acc[i][1]);
    }
    if constexpr (Columns) a += lda;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < 2; ++v) {
      T* to = c + i * ldc + v * V::kLanes;
      V::store(to, add ? V::add(V::load(to), acc[i][v]) : acc[i][v]);
    }
}

template <class V, int Rows, bool Columns, class T = typename V::Scalar>
void someRows(std::int64_t rows, std::int64_t k, const T* a, std::int64_t lda, const T* panel, T* c, std::int64_t ldc,
              bool add) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return registerTile<V, Rows, Columns>(k, a, lda, panel, c, ldc, add);
    someRows<V, Rows - 1, Columns>(rows, k, a, lda, panel, c, ldc, add);
  }
}

/// All rows of a block against one panel.
template <class V, class T = typename V::Scalar>
void blockTimesPanel(std::int64_t rows, std::int64_t columns, std::int64_t k, const PlacedRows<T>& a, const T* panel,
                     T* c, std::int64_t ldc, bool add) {
  constexpr std::int64_t width = 2 * V::kLanes;
  alignas(64) T edge[V::kRows * width];
  // Tiles of few rows keep the multipliers waiting: share rows out evenly where groups of them may begin anywhere.
  std::int64_t tiles = (rows + V::kRows - 1) / V::kRows;
  for (std::int64_t t = 0, i = 0, r = 0; t < tiles; ++t, i += r) {
    r = a.columns ? std::min<std::int64_t>(V::kRows, rows - i) : (rows - i + tiles - t - 1) / (tiles - t);
    bool whole = columns == width;
    T* to = whole ? c + i * ldc : edge;
    std::int64_t ld = whole ? ldc : width;
    if (a.columns)
      someRows<V, V::kRows, true>(r, k, a.data + t * a.groupStride, a.step, panel, to, ld, whole && add);
    else
      someRows<V, V::kRows, false>(r, k, a.data + i * a.rowStride, a.rowStride, panel, to, ld, whole && add);
    if (whole) continue;
    for (std::int64_t y = 0; y < r; ++y)
      for (std::int64_t x = 0; x < columns; ++x) {
        T& element = c[(i + y) * ldc + x];
        element = add ? element + edge[y * width + x] : edge[y * width + x];
      }
  }
}

/// The inner product of up to kDotBlock elements, as gemm_kernel.h says.
template <class V, class T = typename V::Scalar>
T innerProduct(std::int64_t k, const T* a, const T* b, std::int64_t bStride) {
  constexpr int vectors = static_cast<int>(kDotLanes) / V::kLanes;
  alignas(64) T lanes[kDotLanes];
  alignas(64) T near[2][kDotLanes];
  typename V::Vector acc[vectors];
  for (auto& v : acc) v = V::zero();
  auto take = [&](const T* x, const T* y) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) acc[v] = V::fma(V::load(x + v * V::kLanes), V::load(y + v * V::kLanes), acc[v]);
  };
  std::int64_t i = 0;
  if (bStride == 1)
    for (; i + kDotLanes <= k; i += kDotLanes) take(a + i, b + i);
  for (; i < k; i += kDotLanes) {
    std::int64_t count = std::min(kDotLanes, k - i);
    if (count < kDotLanes) std::fill_n(near[0], 2 * kDotLanes, T{});
    for (std::int64_t j = 0; j < count; ++j) {
      near[0][j] = a[i + j];
      near[1][j] = b[(i + j) * bStride];
    }
    take(near[0], near[1]);
  }
  for (int v = 0; v < vectors; ++v) V::store(lanes + v * V::kLanes, acc[v]);
  for (std::int64_t h = kDotLanes / 2; h >= 1; h /= 2)
    for (std::int64_t j = 0; j < h; ++j) lanes[j] += lanes[j + h];
  return lanes[0];
}

/// sums[j] += the sum of a[i * kDotLanes] row[i * kDotLanes][j] for i < Rows, one after the other.
template <class V, int Rows, class T = typename V::Scalar>
void addRows(std::int64_t columns, const T* a, const T* b, std::int64_t rowStride, T* sums) {
  const T* row[Rows];
  typename V::Vector x[Rows];
  for (int i = 0; i < Rows; ++i) {
    row[i] = b + i * kDotLanes * rowStride;
    x[i] = V::broadcast(a[i * kDotLanes]);
  }
  std::int64_t j = 0;
  for (; j + V::kLanes <= columns; j += V::kLanes) {
    auto s = V::load(sums + j);
    for (int i = 0; i < Rows; ++i) s = V::fma(x[i], V::load(row[i] + j), s);
    V::store(sums + j, s);
  }
  for (; j < columns; ++j)
    for (int i = 0; i < Rows; ++i) sums[j] = V::fma(a[i * kDotLanes], row[i][j], sums[j]);
}

/// A vector of up to kDotBlock elements times a matrix: an inner product for each column. Dense rows are read in order,
/// the chains of a tile of columns lying in the first-level cache.
template <class V, class T = typename V::Scalar>
void vectorTimesMatrix(std::int64_t n, std::int64_t k, const T* a, const Matrix<T>& b, T* c) {
  if (b.columnStride != 1 || n == 1) {
    for (std::int64_t j = 0; j < n; ++j) c[j] = innerProduct<V>(k, a, b.data + j * b.columnStride, b.rowStride);
    return;
  }
  constexpr std::int64_t width = 512 / sizeof(T);
  alignas(64) T chains[kDotLanes][width];
  for (std::int64_t j0 = 0; j0 < n; j0 += width) {
    std::int64_t columns = std::min(width, n - j0);
    for (auto& line : chains) std::fill_n(line, columns, T{});
    std::int64_t p = 0;
    auto addChains = [&]<int Rows>(std::integral_constant<int, Rows>) {
      for (; p + Rows * kDotLanes <= k; p += Rows * kDotLanes)
        for (std::int64_t l = p; l < p + kDotLanes; ++l)
          addRows<V, Rows>(columns, a + l, b.data + l * b.rowStride + j0, b.rowStride, chains[l % kDotLanes]);
    };
    addChains(std::integral_constant<int, 4>());
    for (; p < k; ++p) addRows<V, 1>(columns, a + p, b.data + p * b.rowStride + j0, b.rowStride, chains[p % kDotLanes]);
    for (std::int64_t h = kDotLanes / 2; h >= 1; h /= 2)
      for (std::int64_t l = 0; l < h; ++l)
        for (std::int64_t j = 0; j < columns; ++j) chains[l][j] += chains[l + h][j];
    std::copy_n(chains[0], columns, c + j0);
  }
}

/// A few rows times a matrix of at most a vector of dense columns, which are transposed a cache line at a time on their
/// way to the registers: most of a panel would be empty.
template <class V, int M, class T = typename V::Scalar>
void rowsTimesColumns(std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t ldc) {
  constexpr std::int64_t line = 64 / sizeof(T);
  alignas(64) T block[line * V::kLanes] = {};
  for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
    const std::int64_t end = std::min(k, k0 + kBlockK);
    typename V::Vector chains[M];
    for (auto& chain : chains) chain = V::zero();
    for (std::int64_t p = k0; p < end; p += line) {
      const std::int64_t depth = std::min(line, end - p);
      const T* from = b.data + p;
      if (depth == line && n == V::kLanes) {
        for (std::int64_t y = 0; y < V::kLanes; y += BlocksOf<T>::kBlock)
          for (std::int64_t x = 0; x < line; x += BlocksOf<T>::kBlock)
            BlocksOf<T>::transpose(from + y * b.columnStride + x, b.columnStride, block + x * V::kLanes + y, V::kLanes);
      } else {
        transposeTo<V>(from, b.columnStride, block, V::kLanes, depth, n);
      }
      for (std::int64_t i = 0; i < depth; ++i)
        for (int r = 0; r < M; ++r)
          chains[r] = V::fma(V::broadcast(a.data[r * a.rowStride + (p + i) * a.columnStride]),
                             V::load(block + i * V::kLanes), chains[r]);
    }
    for (int r = 0; r < M; ++r) {
      alignas(64) T sums[V::kLanes];
      V::store(sums, chains[r]);
      T* to = c + r * ldc;
      for (std::int64_t j = 0; j < n; ++j) to[j] = k0 == 0 ? sums[j] : to[j] + sums[j];
    }
  }
}

template <class V, class T = typename V::Scalar>
void gemmTile(const GemmTile<T>& t, T* scratch) {
  const auto& [m, n, k, a, b, c, ldc, panels, panelColumns, firstColumn] = t;
  constexpr std::int64_t width = 2 * V::kLanes;
  if (panels == nullptr && b.rowStride == 1 && n <= V::kLanes) {
    if (m == 1) return rowsTimesColumns<V, 1>(n, k, a, b, c, ldc);
    if (m == 2) return rowsTimesColumns<V, 2>(n, k, a, b, c, ldc);
    if (m == 3) return rowsTimesColumns<V, 3>(n, k, a, b, c, ldc);
  }
  T* packedA = scratch;
  T* packedB = scratch + gemmRowsSize(m);
  for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
    std::int64_t depth = std::min(kBlockK, k - k0);
    for (std::int64_t j0 = 0; j0 < n; j0 += kBlockColumns) {
      std::int64_t columns = std::min(kBlockColumns, n - j0);
      const T* panel = packedB;
      if (panels != nullptr)
        panel = panels + k0 * panelColumns + (firstColumn + j0) * depth;
      else
        packPanels<V>(Matrix<T>{b.data + k0 * b.rowStride + j0 * b.columnStride, b.rowStride, b.columnStride}, depth,
                      columns, packedB);
      for (std::int64_t i0 = 0; i0 < m; i0 += kBlockRows) {
        std::int64_t rows = std::min(kBlockRows, m - i0);
        Matrix<T> block{a.data + i0 * a.rowStride + k0 * a.columnStride, a.rowStride, a.columnStride};
        PlacedRows<T> placed = placeRows<V>(block, rows, depth, m, packedA);
        for (std::int64_t j = 0; j < columns; j += width)
          blockTimesPanel<V>(rows, std::min(width, columns - j), depth, placed, panel + j * depth,
                             c + i0 * ldc + j0 + j, ldc, k0 > 0);
      }
    }
  }
}

template <class V, class T = typename V::Scalar>
void gemmPack(std::int64_t n, std::int64_t k, const Matrix<T>& b, std::int64_t from, std::int64_t to, T* panels) {
  std::int64_t columns = packedColumns(n);
  for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
    std::int64_t depth = std::min(kBlockK, k - k0);
    packPanels<V>(Matrix<T>{b.data + k0 * b.rowStride + from * b.columnStride, b.rowStride, b.columnStride}, depth,
                  std::min(to, n) - from, panels + k0 * columns + from * depth);
  }
}

// Under names of their own, for attention.
#define TANDEM_PANELS(V, T)                                                                                            \
  void packColumns(const Matrix<T>& b, std::int64_t k, std::int64_t columns, T* dst) {                                 \
    packPanels<V>(b, k, columns, dst);                                                                                 \
  }                                                                                                                    \
  void rowsTimesPanel(std::int64_t rows, std::int64_t columns, std::int64_t k, const PlacedRows<T>& a, const T* panel, \
                      T* c, std::int64_t ldc, bool add) {                                                              \
    blockTimesPanel<V>(rows, columns, k, a, panel, c, ldc, add);                                                       \
  }                                                                                                                    \
  void turnedTo(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys) {      \
    transposeTo<V>(src, srcLd, dst, dstLd, xs, ys);                                                                    \
  }
