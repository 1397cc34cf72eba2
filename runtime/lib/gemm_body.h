// The body of the matrix product (see gemm_kernel.h). Included by one file an instruction set, below the pragma that
// sets it, in a namespace of its own. V describes vectors: Scalar, Vector, kLanes, kRows, zero, broadcast, load, store,
// add, fma (also of scalars), and the blocks it transposes by.

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

/// dst[x * dstLd + y] = src[y * srcLd + x]
template <class V, class T = typename V::Scalar>
void transposeTo(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys) {
  constexpr std::int64_t w = V::kBlock;
  std::int64_t y = 0;
  for (; y + w <= ys; y += w) {
    std::int64_t x = 0;
    for (; x + w <= xs; x += w) V::transpose(src + y * srcLd + x, srcLd, dst + x * dstLd + y, dstLd);
    for (; x < xs; ++x)
      for (std::int64_t i = y; i < y + w; ++i) dst[x * dstLd + i] = src[i * srcLd + x];
  }
  for (; y < ys; ++y)
    for (std::int64_t x = 0; x < xs; ++x) dst[x * dstLd + y] = src[y * srcLd + x];
}

/// One panel: dst[p][j] for p < k, j < kColumns; columns from `columns` on are zero.
template <class V, class T = typename V::Scalar>
void packPanel(const Matrix<T>& b, std::int64_t k, std::int64_t columns, T* dst) {
  constexpr std::int64_t width = 2 * V::kLanes;
  if (columns < width) std::fill_n(dst, k * width, T{});
  if (b.columnStride == 1) {
    if (columns == width)
      for (std::int64_t p = 0; p < k; ++p) {
        V::store(dst + p * width, V::load(b.data + p * b.rowStride));
        V::store(dst + p * width + V::kLanes, V::load(b.data + p * b.rowStride + V::kLanes));
      }
    else
      for (std::int64_t p = 0; p < k; ++p) std::copy_n(b.data + p * b.rowStride, columns, dst + p * width);
  } else if (b.rowStride == 1) {
    transposeTo<V>(b.data, b.columnStride, dst, width, k, columns);
  } else {
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < columns; ++j) dst[p * width + j] = b.data[p * b.rowStride + j * b.columnStride];
  }
}

/// Rows of a as dense rows kPackedRow apart.
template <class V, class T = typename V::Scalar>
void packRows(const Matrix<T>& a, std::int64_t rows, std::int64_t k, T* dst) {
  if (a.columnStride == 1)
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(a.data + i * a.rowStride, k, dst + i * kPackedRow);
  else if (a.rowStride == 1)
    transposeTo<V>(a.data, a.columnStride, dst, kPackedRow, rows, k);
  else
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t p = 0; p < k; ++p) dst[i * kPackedRow + p] = a.data[i * a.rowStride + p * a.columnStride];
}

/// c[Rows][kColumns] = or += a[Rows][k] panel[k][kColumns], the chains in registers.
template <class V, int Rows, class T = typename V::Scalar>
void registerTile(std::int64_t k, const T* a, std::int64_t lda, const T* panel, T* c, std::int64_t ldc, bool add) {
  typename V::Vector acc[Rows][2];
  for (auto& row : acc) row[0] = row[1] = V::zero();
  for (std::int64_t p = 0; p < k; ++p) {
    auto b0 = V::load(panel);
    auto b1 = V::load(panel + V::kLanes);
    panel += 2 * V::kLanes;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      auto x = V::broadcast(a[i * lda + p]);
      acc[i][0] = V::fma(x, b0, acc[i][0]);
      acc[i][1] = V::fma(x, b1, acc[i][1]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < 2; ++v) {
      T* to = c + i * ldc + v * V::kLanes;
      V::store(to, add ? V::add(V::load(to), acc[i][v]) : acc[i][v]);
    }
}

template <class V, int Rows, class T = typename V::Scalar>
void someRows(std::int64_t rows, std::int64_t k, const T* a, std::int64_t lda, const T* panel, T* c, std::int64_t ldc,
              bool add) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return registerTile<V, Rows>(k, a, lda, panel, c, ldc, add);
    someRows<V, Rows - 1>(rows, k, a, lda, panel, c, ldc, add);
  }
}

/// All rows of a block against one panel.
template <class V, class T = typename V::Scalar>
void blockTimesPanel(std::int64_t rows, std::int64_t columns, std::int64_t k, const T* a, std::int64_t lda,
                     const T* panel, T* c, std::int64_t ldc, bool add) {
  constexpr std::int64_t width = 2 * V::kLanes;
  alignas(64) T edge[V::kRows * width];
  for (std::int64_t i = 0; i < rows; i += V::kRows) {
    std::int64_t r = std::min<std::int64_t>(V::kRows, rows - i);
    if (columns == width) {
      someRows<V, V::kRows>(r, k, a + i * lda, lda, panel, c + i * ldc, ldc, add);
      continue;
    }
    someRows<V, V::kRows>(r, k, a + i * lda, lda, panel, edge, width, false);
    for (std::int64_t y = 0; y < r; ++y)
      for (std::int64_t x = 0; x < columns; ++x) {
        T& to = c[(i + y) * ldc + x];
        to = add ? to + edge[y * width + x] : edge[y * width + x];
      }
  }
}

/// One row times a matrix with dense rows: b is read once, in order, and nothing is packed.
template <class V, class T = typename V::Scalar>
void rowTimesMatrix(std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  constexpr std::int64_t chunk = 1024;
  alignas(64) T sums[chunk];
  for (std::int64_t j0 = 0; j0 < n; j0 += chunk) {
    std::int64_t width = std::min(chunk, n - j0);
    for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      std::int64_t end = std::min(k, k0 + kBlockK);
      std::fill_n(sums, width, T{});
      std::int64_t p = k0;
      for (; p + 4 <= end; p += 4) {
        const T* row[4];
        typename V::Vector x[4];
        for (int i = 0; i < 4; ++i) {
          row[i] = b.data + (p + i) * b.rowStride + j0;
          x[i] = V::broadcast(a.data[(p + i) * a.columnStride]);
        }
        std::int64_t j = 0;
        for (; j + V::kLanes <= width; j += V::kLanes) {
          auto s = V::load(sums + j);
          for (int i = 0; i < 4; ++i) s = V::fma(x[i], V::load(row[i] + j), s);
          V::store(sums + j, s);
        }
        for (; j < width; ++j)
          for (int i = 0; i < 4; ++i) sums[j] = V::fma(a.data[(p + i) * a.columnStride], row[i][j], sums[j]);
      }
      for (; p < end; ++p)
        for (std::int64_t j = 0; j < width; ++j)
          sums[j] = V::fma(a.data[p * a.columnStride], b.data[p * b.rowStride + j0 + j], sums[j]);
      for (std::int64_t j = 0; j < width; ++j) c[j0 + j] = k0 == 0 ? sums[j] : c[j0 + j] + sums[j];
    }
  }
}

/// One row times a matrix with dense columns: blocks of a vector's columns are transposed on their way to the
/// registers, whole cache lines at a time. No more columns than that at once: where they lie a power of two apart they
/// would push each other out of the cache.
template <class V, class T = typename V::Scalar>
void rowTimesColumns(std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  constexpr std::int64_t line = 64 / sizeof(T);
  alignas(64) T block[line * V::kLanes];
  alignas(64) T sums[V::kLanes];
  for (std::int64_t j0 = 0; j0 < n; j0 += V::kLanes) {
    std::int64_t columns = std::min<std::int64_t>(V::kLanes, n - j0);
    if (columns < V::kLanes) std::fill_n(block, line * V::kLanes, T{});
    for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      std::int64_t end = std::min(k, k0 + kBlockK);
      auto chains = V::zero();
      for (std::int64_t p = k0; p < end; p += line) {
        std::int64_t depth = std::min(line, end - p);
        transposeTo<V>(b.data + p + j0 * b.columnStride, b.columnStride, block, V::kLanes, depth, columns);
        for (std::int64_t i = 0; i < depth; ++i)
          chains = V::fma(V::broadcast(a.data[(p + i) * a.columnStride]), V::load(block + i * V::kLanes), chains);
      }
      V::store(sums, chains);
      for (std::int64_t j = 0; j < columns; ++j) c[j0 + j] = k0 == 0 ? sums[j] : c[j0 + j] + sums[j];
    }
  }
}

template <class V, class T = typename V::Scalar>
void gemmTile(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c, std::int64_t ldc,
              T* scratch) {
  constexpr std::int64_t width = 2 * V::kLanes;
  if (m == 1 && b.columnStride == 1) return rowTimesMatrix<V>(n, k, a, b, c);
  if (m == 1 && b.rowStride == 1) return rowTimesColumns<V>(n, k, a, b, c);
  T* packedA = scratch;
  T* packedB = scratch + std::min(m, kBlockRows) * kPackedRow;
  // Rows a multiple of 2 KiB apart fall on the same few cache lines.
  bool readInPlace = a.columnStride == 1 && (m <= V::kRows || a.rowStride * std::int64_t{sizeof(T)} % 2048 != 0);
  for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
    std::int64_t depth = std::min(kBlockK, k - k0);
    for (std::int64_t j0 = 0; j0 < n; j0 += kBlockColumns) {
      std::int64_t columns = std::min(kBlockColumns, n - j0);
      for (std::int64_t j = 0; j < columns; j += width)
        packPanel<V>(Matrix<T>{b.data + k0 * b.rowStride + (j0 + j) * b.columnStride, b.rowStride, b.columnStride},
                     depth, std::min(width, columns - j), packedB + j * depth);
      for (std::int64_t i0 = 0; i0 < m; i0 += kBlockRows) {
        std::int64_t rows = std::min(kBlockRows, m - i0);
        Matrix<T> block{a.data + i0 * a.rowStride + k0 * a.columnStride, a.rowStride, a.columnStride};
        if (!readInPlace) packRows<V>(block, rows, depth, packedA);
        const T* at = readInPlace ? block.data : packedA;
        std::int64_t lda = readInPlace ? a.rowStride : kPackedRow;
        for (std::int64_t j = 0; j < columns; j += width)
          blockTimesPanel<V>(rows, std::min(width, columns - j), depth, at, lda, packedB + j * depth,
                             c + i0 * ldc + j0 + j, ldc, k0 > 0);
      }
    }
  }
}
