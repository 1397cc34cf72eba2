// The body of the matrix product (see gemm_kernel.h). Included by one file an instruction set, below the pragma that
// sets it, in a namespace of its own. V describes vectors: Scalar, Vector, kLanes, kRows, zero, broadcast, load, store,
// add, fma (also of scalars).

#include "runtime/lib/matmul/gemm_blocks.h"

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
      transposeTo(from, b.columnStride, to, width, k, here);
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

/// As `placeRows`, of few rows, in columns.
template <class V, class T = typename V::Scalar>
PlacedRows<T> placeInColumns(const Matrix<T>& a, std::int64_t rows, std::int64_t k, T* dst) {
  if (a.rowStride == 1) return placeRows<V>(a, rows, k, rows, dst);
  for (std::int64_t i = 0; i < rows; i += V::kRows) {
    const std::int64_t here = std::min<std::int64_t>(V::kRows, rows - i);
    const T* from = a.data + i * a.rowStride;
    T* to = dst + i * k;
    if (a.columnStride == 1) {
      transposeTo(from, a.rowStride, to, V::kRows, k, here);
      continue;
    }
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t r = 0; r < here; ++r) to[p * V::kRows + r] = from[r * a.rowStride + p * a.columnStride];
  }
  return {dst, 0, V::kRows * k, V::kRows, true};
}

// The pointers to more rows leave no register for the step of a panel that is not packed.
constexpr std::int64_t kFreeRows = 8;
/// c[Rows][kColumns] = or += a[Rows][k] panel[k][kColumns], the chains in registers, of the first `Vectors` of the
/// panel's two vectors, which lie `step` apart. Element p of row i of a lies at `a[i * lda + p]`; with `Columns` at
/// `a[i + p * lda]`.
template <class V, int Rows, int Vectors, bool Columns, class T = typename V::Scalar>
void registerTile(std::int64_t k, const T* a, std::int64_t lda, const T* panel, std::int64_t step, T* c,
                  std::int64_t ldc, bool add) {
  typename V::Vector acc[Rows][Vectors], b[Vectors];
  for (auto& row : acc)
    for (auto& chain : row) chain = V::zero();
  for (std::int64_t p = 0; p < k; ++p) {
    for (int v = 0; v < Vectors; ++v) b[v] = V::load(panel + v * V::kLanes);
    panel += Columns || Rows <= kFreeRows ? step : 2 * V::kLanes;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      auto x = V::broadcast(Columns ? a[i] : a[i * lda + p]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) acc[i][v] = V::fma(x, b[v], acc[i][v]);
    }
    if constexpr (Columns) a += lda;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < Vectors; ++v) {
      T* to = c + i * ldc + v * V::kLanes;
      V::store(to, add ? V::add(V::load(to), acc[i][v]) : acc[i][v]);
    }
}

template <class V, int Rows, int Vectors, bool Columns, class T = typename V::Scalar>
void someRows(std::int64_t rows, std::int64_t k, const T* a, std::int64_t lda, const T* panel, std::int64_t step, T* c,
              std::int64_t ldc, bool add) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return registerTile<V, Rows, Vectors, Columns>(k, a, lda, panel, step, c, ldc, add);
    someRows<V, Rows - 1, Vectors, Columns>(rows, k, a, lda, panel, step, c, ldc, add);
  }
}

/// Have panels with elements in the first vector only tiles of their own? For float64 these would take more of the
/// library than they save time.
template <class T>
constexpr bool kHalves = sizeof(T) == sizeof(float);

// Of chains of this many steps the result's place is brought near while they run.
constexpr std::int64_t kFarFrom = 64;
template <class T>
[[gnu::noinline]] void bringNear(const T* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns) {
#pragma GCC unroll 1
  for (std::int64_t i = 0; i < rows; ++i) {
    __builtin_prefetch(c + i * ldc, 1);
    __builtin_prefetch(c + i * ldc + columns - 1, 1);
  }
}

/// A panel of b: element j of row p at `data[p * step + j]`, `columns` of which are to be computed. It is packed, with
/// a step of kColumns, where more than kFreeRows rows are taken at once that do not lie in columns.
template <class T>
struct Panel {
  const T* data;
  std::int64_t step;
  std::int64_t columns;
};
/// Where a part of a result goes: element [i, j] to `data[i * down + j * beside]`. Up to `room` elements behind `data`
/// may be written before they get their values: rows that are written later, and what is added to nothing.
template <class T>
struct Place {
  T* data;
  std::int64_t down;
  std::int64_t beside = 1;
  std::int64_t room = 0;
};

/// All rows of a block against one panel.
template <class V, class T = typename V::Scalar>
void blockTimesPanel(std::int64_t rows, std::int64_t k, const PlacedRows<T>& a, const Panel<T>& panel,
                     const Place<T>& c, bool add) {
  constexpr std::int64_t width = 2 * V::kLanes;
  alignas(64) T edge[V::kRows * width];
  const bool half = kHalves<T> && panel.columns <= V::kLanes;
  const std::int64_t written = half ? V::kLanes : width;
  // Tiles of few rows keep the multipliers waiting: share rows out evenly where groups of them may begin anywhere.
  std::int64_t tiles = (rows + V::kRows - 1) / V::kRows;
  for (std::int64_t t = 0, i = 0, r = 0; t < tiles; ++t, i += r) {
    r = a.columns ? std::min<std::int64_t>(V::kRows, rows - i) : (rows - i + tiles - t - 1) / (tiles - t);
    const bool whole = c.beside == 1 && (panel.columns == written || (i + r - 1) * c.down + written <= c.room);
    T* to = whole ? c.data + i * c.down : edge;
    std::int64_t ld = whole ? c.down : width;
    if (kHalves<T> && whole && k >= kFarFrom) bringNear(to, ld, r, panel.columns);
    const auto rowsOf = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
      if (a.columns)
        someRows<V, V::kRows, Vectors, true>(r, k, a.data + t * a.groupStride, a.step, panel.data, panel.step, to, ld,
                                             whole && add);
      else
        someRows<V, V::kRows, Vectors, false>(r, k, a.data + i * a.rowStride, a.rowStride, panel.data, panel.step, to,
                                              ld, whole && add);
    };
    if (half)
      rowsOf(std::integral_constant<int, kHalves<T> ? 1 : 2>());
    else
      rowsOf(std::integral_constant<int, 2>());
    if (whole) continue;
    for (std::int64_t y = 0; y < r; ++y)
      for (std::int64_t x = 0; x < panel.columns; ++x) {
        T& element = c.data[(i + y) * c.down + x * c.beside];
        element = add ? element + edge[y * width + x] : edge[y * width + x];
      }
  }
}

template <class T>
const T* placeIn(const Matrix<T>& b, std::int64_t offset, const Widening<T>& wide) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(b.data) + offset * wide.itemSize);
}

/// The inner products of up to kDotBlock elements, as gemm_kernel.h says, with `count` columns of b, at most a block of
/// them: their chains combine side by side.
template <class V, class T = typename V::Scalar>
void innerProducts(std::int64_t count, std::int64_t k, const T* a, const Matrix<T>& b, T* c) {
  using B = BlocksOf<T>;
  constexpr std::int64_t w = B::kBlock;
  constexpr int vectors = static_cast<int>(kDotLanes) / V::kLanes;
  alignas(64) T near[kDotLanes];
  alignas(64) T lanes[V::kLanes], sums[w][w];
  if (count < w) std::fill_n(sums[0], w * w, T{});
  for (std::int64_t column = 0; column < count; ++column) {
    const T* from = b.data + column * b.columnStride;
    typename V::Vector acc[vectors];
    for (auto& v : acc) v = V::zero();
    std::int64_t i = 0;
    if (b.rowStride == 1)
      for (; i + kDotLanes <= k; i += kDotLanes)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v)
          acc[v] = V::fma(V::load(a + i + v * V::kLanes), V::load(from + i + v * V::kLanes), acc[v]);
    for (; i < k; i += kDotLanes) {
      const std::int64_t here = std::min(kDotLanes, k - i);
      const T* y = from + i;
      if (b.rowStride != 1) {
        for (std::int64_t e = 0; e < here; ++e) near[e] = from[(i + e) * b.rowStride];
        y = near;
      }
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t at = v * V::kLanes;
        const int there = static_cast<int>(std::clamp<std::int64_t>(here - at, 0, V::kLanes));
        acc[v] = V::fma(V::first(there, a + i + at), V::first(there, y + at), acc[v]);
      }
    }
#pragma GCC unroll 4
    for (int h = vectors / 2; h >= 1; h /= 2)
#pragma GCC unroll 4
      for (int v = 0; v < h; ++v) acc[v] = V::add(acc[v], acc[v + h]);
    V::store(lanes, acc[0]);
    for (std::int64_t h = V::kLanes / 2; h >= w; h /= 2)
      for (std::int64_t j = 0; j < h; ++j) lanes[j] += lanes[j + h];
    std::copy_n(lanes, w, sums[column]);
  }
  typename B::Vector chains[w];
  B::columns([&](std::int64_t i) { return sums[i]; }, chains);
#pragma GCC unroll 4
  for (std::int64_t h = w / 2; h >= 1; h /= 2)
#pragma GCC unroll 4
    for (std::int64_t j = 0; j < h; ++j) chains[j] = B::add(chains[j], chains[j + h]);
  if (count == w) return B::store(c, chains[0]);
  B::store(lanes, chains[0]);
  std::copy_n(lanes, count, c);
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

// Matrices of up to so many rows, or bytes, are read chain by chain.
constexpr std::int64_t kNearRows = 4 * kDotLanes;  // as many as are widened together
constexpr std::int64_t kNearBytes = 256 * 1024;

/// The inner products with two vectors of dense columns. A chain after the other is in registers: chains that are added
/// to each other are taken one after the other, those that wait for their other half lying on a stack.
template <class V, class T = typename V::Scalar>
void nearColumns(std::int64_t k, const T* a, const T* b, std::int64_t rowStride, T* c) {
  constexpr int depth = 5;
  static_assert(kDotLanes == 1 << depth);
  typename V::Vector waiting[depth + 1][2];
  int count = 0;
  for (std::uint32_t i = 0; i < kDotLanes; ++i, ++count) {
    std::int64_t l = 0;
    for (int bit = 0; bit < depth; ++bit) l |= (i >> bit & 1) << (depth - 1 - bit);
    typename V::Vector sum[2] = {V::zero(), V::zero()};
    const T* row = b + l * rowStride;
    for (; l < k; l += kDotLanes, row += kDotLanes * rowStride) {
      const auto x = V::broadcast(a[l]);
      sum[0] = V::fma(x, V::load(row), sum[0]);
      sum[1] = V::fma(x, V::load(row + V::kLanes), sum[1]);
    }
    for (std::uint32_t bits = i; (bits & 1) != 0; bits >>= 1) {
      --count;
      for (int v = 0; v < 2; ++v) sum[v] = V::add(waiting[count][v], sum[v]);
    }
    for (int v = 0; v < 2; ++v) waiting[count][v] = sum[v];
  }
  for (int v = 0; v < 2; ++v) V::store(c + v * V::kLanes, waiting[0][v]);
}

/// A vector of up to kDotBlock elements times a matrix: an inner product for each column. Dense rows are read in order,
/// the chains of a tile of columns lying in the first-level cache, or if they are near chain by chain.
template <class V, class T = typename V::Scalar>
void vectorTimesMatrix(std::int64_t n, std::int64_t k, const T* a, const Matrix<T>& b, T* c, const Widening<T>& wide) {
  if (b.columnStride != 1 || n == 1) {
    constexpr std::int64_t w = BlocksOf<T>::kBlock;
    for (std::int64_t j = 0; wide.dot != nullptr && j < n; ++j)
      c[j] = wide.dot(a, placeIn(b, j * b.columnStride, wide), k);
    for (std::int64_t j = 0; wide.dot == nullptr && j < n; j += w)
      innerProducts<V>(std::min(w, n - j), k, a, {b.data + j * b.columnStride, b.rowStride, b.columnStride}, c + j);
    return;
  }
  constexpr std::int64_t width = 1024 / sizeof(T);
  alignas(64) T chains[kDotLanes][width];
  const bool near = k * n * std::int64_t{sizeof(T)} <= kNearBytes;
  for (std::int64_t j0 = 0; j0 < n; j0 += width) {
    std::int64_t columns = std::min(width, n - j0);
    const bool byChain = columns >= 2 * V::kLanes && (k <= kNearRows || (wide.widen == nullptr && near));
    if (!byChain)
      for (auto& line : chains) std::fill_n(line, columns, T{});
    constexpr std::int64_t most = 4;  // rows of a chain at once
    static_assert(most * kDotLanes * width <= kWidened);
    for (std::int64_t p = 0; p < k; p += most * kDotLanes) {
      const T* rowsHere = placeIn(b, p * b.rowStride + j0, wide);
      std::int64_t stride = b.rowStride;
      if (wide.widen != nullptr) {
        for (std::int64_t i = 0; i < std::min(most * kDotLanes, k - p); ++i)
          wide.widen(placeIn(b, (p + i) * b.rowStride + j0, wide), wide.space + i * width, columns);
        rowsHere = wide.space;
        stride = width;
      }
      if (byChain) {
        // The last columns may have been there before.
        for (std::int64_t j = 0; j < columns; j += 2 * V::kLanes) {
          const std::int64_t from = std::min(j, columns - 2 * V::kLanes);
          nearColumns<V>(k, a, rowsHere + from, stride, c + j0 + from);
        }
        break;
      }
      for (std::int64_t l = 0; l < std::min(kDotLanes, k - p); ++l) {
        const std::int64_t rows = std::min(most, (k - p - l + kDotLanes - 1) / kDotLanes);
        const auto add = rows == 4   ? addRows<V, 4>
                         : rows == 3 ? addRows<V, 3>
                         : rows == 2 ? addRows<V, 2>
                                     : addRows<V, 1>;
        add(columns, a + p + l, rowsHere + l * stride, stride, chains[l]);
      }
    }
    if (byChain) continue;
    for (std::int64_t h = kDotLanes / 2; h >= 1; h /= 2)
      for (std::int64_t l = 0; l < h; ++l)
        for (std::int64_t j = 0; j < columns; ++j) chains[l][j] += chains[l + h][j];
    std::copy_n(chains[0], columns, c + j0);
  }
}

/// A line of 64 bytes of 64 / sizeof(T) dense columns, and what some rows have there.
template <class T>
struct Lines {
  static constexpr std::int64_t kLength = 64 / sizeof(T);
  const T* columns[kLength];
  Matrix<T> rows;
};
/// Copies the lines at `p`, where only `count` elements are left, to `columns` and `rows`, and has them read there.
/// Behind the elements -0 * 0 is added, which changes nothing, not even a zero's sign.
template <class T, std::int64_t N = Lines<T>::kLength>
[[gnu::noinline, gnu::noclone]] void takeLastLines(Lines<T>& lines, std::int64_t p, std::int64_t count, int m,
                                                   T (*columns)[N], T (*rows)[N]) {
  std::fill_n(columns[0], N * N, T{});
#pragma GCC unroll 1
  for (std::int64_t j = 0; j < N; ++j) {
    std::memcpy(columns[j], lines.columns[j] + p, static_cast<std::size_t>(count) * sizeof(T));
    lines.columns[j] = columns[j];
  }
  std::fill_n(rows[0], m * N, -T{});
  const T* from = lines.rows.data + p * lines.rows.columnStride;
  for (int r = 0; r < m; ++r, from += lines.rows.rowStride)
    for (std::int64_t x = 0; x < count; ++x) rows[r][x] = from[x * lines.rows.columnStride];
  lines.rows = {rows[0], N, 1};
}

/// c[r * down + j * beside] of `M` rows times at most a line of dense columns. Blocks of these are transposed in
/// registers and meet the rows there: for few rows panels would be written and read again.
template <class T, int M>
void rowsTimesSomeColumns(std::int64_t n, std::int64_t k, const Matrix<T>& a, const T* b, std::int64_t ldb, T* c,
                          std::int64_t down, std::int64_t beside) {
  using B = BlocksOf<T>;
  using Vector = typename B::Vector;
  constexpr std::int64_t w = B::kBlock, line = Lines<T>::kLength;
  static_assert(line == 2 * w && kBlockK % line == 0);
  Lines<T> lines{{}, a};
#pragma GCC unroll 1
  for (std::int64_t j = 0; j < line; ++j) lines.columns[j] = b + std::min(j, n - 1) * ldb;
  T lastColumns[line][line], lastRows[M][line];
  Vector sums[M][2];
  for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
    const std::int64_t end = std::min(k, k0 + kBlockK);
    Vector chains[M][2];
    for (auto& row : chains) row[0] = row[1] = B::zero();
    for (std::int64_t p = k0; p < end; p += line) {
      std::int64_t from = p;
      if (end - p < line) {
        takeLastLines(lines, p, end - p, M, lastColumns, lastRows);
        from = 0;
      }
#pragma GCC unroll 1
      for (const std::int64_t behind = from + line; from < behind; from += w)
#pragma GCC unroll 2
        for (int g = 0; g < 2; ++g) {
          Vector block[w];
          B::columns([&](std::int64_t i) { return lines.columns[g * w + i] + from; }, block);
          const T* at = lines.rows.data + from * lines.rows.columnStride;
#pragma GCC unroll 8
          for (std::int64_t x = 0; x < w; ++x, at += lines.rows.columnStride)
#pragma GCC unroll 4
            for (int r = 0; r < M; ++r)
              chains[r][g] = B::fma(B::broadcast(at[r * lines.rows.rowStride]), block[x], chains[r][g]);
        }
    }
    for (int r = 0; r < M; ++r)
      for (int g = 0; g < 2; ++g) sums[r][g] = k0 == 0 ? chains[r][g] : B::add(sums[r][g], chains[r][g]);
  }
  for (int r = 0; r < M; ++r, c += down) {
    T out[line];
    T* to = n == line && beside == 1 ? c : out;
    for (int g = 0; g < 2; ++g) B::store(to + g * w, sums[r][g]);
    if (to == out)
#pragma GCC unroll 1
      for (std::int64_t j = 0; j < n; ++j) c[j * beside] = out[j];
  }
}

/// A product of more than one row, at most kVeryFew.
template <class T>
void fewRows(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c,
             std::int64_t down, std::int64_t beside) {
  constexpr std::int64_t width = 2 * BlocksOf<T>::kBlock;
  const auto some = m == 2   ? rowsTimesSomeColumns<T, 2>
                    : m == 3 ? rowsTimesSomeColumns<T, 3>
                             : rowsTimesSomeColumns<T, 4>;
  for (std::int64_t j = 0; j < n; j += width)
    some(std::min(width, n - j), k, a, b.data + j * b.columnStride, b.columnStride, c + j * beside, down, beside);
}

// Of up to so many rows, or columns, what they meet is read where it lies: packing it would take longer than that.
template <class V>
constexpr std::int64_t kDirectRows = 2 * V::kRows;

/// c of a product, element [i, j] at `c[i * down + j * beside]`, which has the sum of the first `from` terms.
template <class V, class T = typename V::Scalar>
[[gnu::noinline]] void productTo(const GemmTile<T>& t, std::int64_t down, std::int64_t beside, std::int64_t from,
                                 T* scratch) {
  const auto& [m, n, k, a, b, c, ldc, panels, panelColumns, firstColumn, add] = t;
  constexpr std::int64_t width = 2 * V::kLanes;
  T* packedA = scratch;
  T* packedB = scratch + gemmRowsSize(m);
  const bool direct = panels == nullptr && m <= kDirectRows<V> && b.columnStride == 1;
  const std::int64_t tiles = (m + V::kRows - 1) / V::kRows;
  const bool inColumns = direct && m > tiles * kFreeRows;
  // Whole rows that get their values once: from the last panel to the first, what is written behind a row is written
  // again.
  const bool once = !add && down == n && k <= kBlockK && n <= kBlockColumns;
  for (std::int64_t k0 = from; k0 < k; k0 += kBlockK) {
    std::int64_t depth = std::min(kBlockK, k - k0);
    for (std::int64_t j0 = 0; j0 < n; j0 += kBlockColumns) {
      std::int64_t columns = std::min(kBlockColumns, n - j0);
      const Matrix<T> here{b.data + k0 * b.rowStride + j0 * b.columnStride, b.rowStride, b.columnStride};
      const T* packed = packedB;
      if (panels != nullptr)
        packed = panels + k0 * panelColumns + (firstColumn + j0) * depth;
      else if (!direct)
        packPanels<V>(here, depth, columns, packedB);
      for (std::int64_t i0 = 0; i0 < m; i0 += kBlockRows) {
        std::int64_t rows = std::min(kBlockRows, m - i0);
        Matrix<T> block{a.data + i0 * a.rowStride + k0 * a.columnStride, a.rowStride, a.columnStride};
        PlacedRows<T> placed =
            inColumns ? placeInColumns<V>(block, rows, depth, packedA) : placeRows<V>(block, rows, depth, m, packedA);
        const std::int64_t last = (columns - 1) / width * width;
        for (std::int64_t done = 0; done <= last; done += width) {
          const std::int64_t j = once ? last - done : done;
          Panel<T> panel{packed + j * depth, width, std::min(width, columns - j)};
          if (direct) {
            // Vectors that go beyond a row read the next one.
            const std::int64_t read = kHalves<T> && panel.columns <= V::kLanes ? V::kLanes : width;
            if ((k0 + depth - 1) * b.rowStride + j0 + j + read <= (k - 1) * b.rowStride + n) {
              panel.data = here.data + j;
              panel.step = b.rowStride;
            } else {
              packPanels<V>({here.data + j, b.rowStride, 1}, depth, panel.columns, packedB + j * depth);
            }
          }
          const std::int64_t room = once ? (m - i0 - 1) * down + n - j : 0;
          blockTimesPanel<V>(rows, depth, placed, panel, {c + i0 * down + (j0 + j) * beside, down, beside, room},
                             add || k0 > 0);
        }
      }
    }
  }
}

template <class V, class T = typename V::Scalar>
void gemmTile(const GemmTile<T>& t, T* scratch) {
  const auto& [m, n, k, a, b, c, ldc, panels, panelColumns, firstColumn, add] = t;
  const Matrix<T> rowsOfB{b.data, b.columnStride, b.rowStride}, columnsOfA{a.data, a.columnStride, a.rowStride};
  const auto few = [&](std::int64_t rows) { return panels == nullptr && !add && rows > 1 && rows <= kVeryFew; };
  if (const std::int64_t done = few(m) && few(n) ? fewTimesFew(t) : 0; done > 0)
    return productTo<V>(t, ldc, 1, done, scratch);
  if (few(m) && b.rowStride == 1) return fewRows(m, n, k, a, b, c, ldc, 1);
  if (few(n) && a.columnStride == 1) return fewRows<T>(n, m, k, rowsOfB, columnsOfA, c, 1, ldc);
  // The transposed product, if that is one of few rows and what they meet lies well.
  const bool turned =
      panels == nullptr && n <= kDirectRows<V> && a.rowStride == 1 && (m > kDirectRows<V> || b.columnStride != 1);
  if (turned) return productTo<V>({n, m, k, rowsOfB, columnsOfA, c, ldc, nullptr, 0, 0, add}, 1, ldc, 0, scratch);
  productTo<V>(t, ldc, 1, 0, scratch);
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
    blockTimesPanel<V>(rows, k, a, {panel, 2 * V::kLanes, columns}, {c, ldc}, add);                                    \
  }                                                                                                                    \
  void turnedTo(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys) {      \
    transposeTo(src, srcLd, dst, dstLd, xs, ys);                                                                       \
  }
