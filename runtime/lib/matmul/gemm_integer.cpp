// Products of integers, which wrap around, and so are the same in any order and with a sign as without; and of bools.
//
// Panels of columns are packed for a block of k, and their products with four rows stay in registers meanwhile: eight
// multiply-adds of vectors for two vectors and four elements that are read. One row reads wider stripes where they lie.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <immintrin.h>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/movement/transpose.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

constexpr std::int64_t kRows = 4;         // of a register tile
constexpr std::int64_t kDepth = 256;      // of a packed panel
constexpr std::int64_t kTileRows = 128;   // of a task
constexpr std::int64_t kShortDepth = 8;   // of products that wait for their results to be written
constexpr std::int64_t kOpsTogether = 8;  // multiply-adds in the time of one element of other work

// Bytes of a vector: of AVX2, or of AVX-512, which alone multiplies elements of 64 bits.
template <class T>
inline constexpr std::size_t kVector = sizeof(T) == sizeof(std::uint64_t) ? 64 : 32;

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVector<T>)));
  // Anywhere in memory; for a copy of bytes a compiler that saves space takes a loop over them.
  typedef T Loose __attribute__((vector_size(kVector<T>), aligned(alignof(T)), may_alias));
};

/// Sums of products of four elements of 64 bits, made of products of their halves: what AVX2 has.
class LongSums {
 public:
  /// `high` are the upper halves.
  struct Factor {
    __m256i all, high;
  };
  [[gnu::always_inline]] LongSums() : low_(_mm256_setzero_si256()), cross_(_mm256_setzero_si256()) {}
  [[gnu::always_inline]] static Factor load(const std::uint64_t* p) {
    return halves(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  [[gnu::always_inline]] static Factor broadcast(std::uint64_t x) {
    return halves(_mm256_set1_epi64x(static_cast<long long>(x)));
  }
  [[gnu::always_inline]] void add(const Factor& x, const Factor& y) {
    low_ = _mm256_add_epi64(low_, _mm256_mul_epu32(x.all, y.all));
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(x.all, y.high), _mm256_mul_epu32(x.high, y.all));
    cross_ = _mm256_add_epi64(cross_, cross);
  }
  [[gnu::always_inline]] void store(std::uint64_t* to) const {
    const __m256i sum = _mm256_add_epi64(low_, _mm256_slli_epi64(cross_, 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
  }

 private:
  [[gnu::always_inline]] static Factor halves(__m256i x) { return {x, _mm256_srli_epi64(x, 32)}; }
  __m256i low_, cross_;
};

/// Of unsigned elements of `T`.
template <class T>
class Panel {
  using V = typename VectorOf<T>::Type;
  using Loose = typename VectorOf<T>::Loose;
  static constexpr std::int64_t kLanes = kVector<T> / sizeof(T);
  [[gnu::always_inline]] static const Loose& at(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  [[gnu::always_inline]] static Loose& at(T* p) { return *reinterpret_cast<Loose*>(p); }

 public:
  static constexpr std::int64_t kWidth = 2 * kLanes;

  /// The columns of b, `depth` rows of them; those that it lacks are zeros.
  static void pack(const Matrix<T>& b, std::int64_t depth, std::int64_t columns, T* to) {
    if (columns < kWidth) std::fill_n(to, depth * kWidth, T{});
    if (b.rowStride == 1) return transposeBlock(b.data, b.columnStride, to, kWidth, depth, columns);
    for (std::int64_t i = 0; i < depth; ++i) {
      const T* row = b.data + i * b.rowStride;
      if (b.columnStride == 1 && columns == kWidth)
        std::memcpy(to + i * kWidth, row, kWidth * sizeof(T));
      else
        for (std::int64_t j = 0; j < columns; ++j) to[i * kWidth + j] = row[j * b.columnStride];
    }
  }

  /// As `add` where elements are multiplied by halves, two rows and half of the panel's columns at a time.
  template <std::int64_t Rows>
  [[gnu::always_inline]] static void addByHalves(const T* a, const Matrix<T>& strides, const T* panel,
                                                 std::int64_t step, std::int64_t depth, std::int64_t columns,
                                                 std::int64_t rows, T* c, std::int64_t ldc, bool first) {
    constexpr std::int64_t kTogether = Rows == 1 ? 1 : 2, kFour = 4;
    for (std::int64_t i = 0; i < rows; i += kTogether)
      for (std::int64_t j = 0; j < columns; j += 2 * kFour) {
        LongSums sums[kTogether][2];
        const T* row = a + i * strides.rowStride;
        const std::int64_t next = i + 1 < rows ? strides.rowStride : 0;
        for (std::int64_t p = 0; p < depth; ++p, row += strides.columnStride) {
          const auto left = LongSums::load(panel + p * step + j), right = LongSums::load(panel + p * step + j + kFour);
#pragma GCC unroll 2
          for (std::int64_t r = 0; r < kTogether; ++r) {
            const auto x = LongSums::broadcast(row[r * next]);
            sums[r][0].add(x, left);
            sums[r][1].add(x, right);
          }
        }
        for (std::int64_t r = 0; r < std::min(kTogether, rows - i); ++r) {
          T products[2 * kFour];
          T* to = c + (i + r) * ldc + j;
          const bool straight = first && columns - j >= 2 * kFour;
          for (int v = 0; v < 2; ++v) sums[r][v].store((straight ? to : products) + v * kFour);
          for (std::int64_t x = 0; !straight && x < std::min(2 * kFour, columns - j); ++x)
            to[x] = (first ? T{} : to[x]) + products[x];
        }
      }
  }

  /// Adds the products of `rows` rows of a, at most `Rows`, and a panel, whose rows are `step` apart, to those of c, or
  /// is the `first` to write them. `Whole`: there is an instruction that multiplies elements.
  template <std::int64_t Rows, bool Whole>
  [[gnu::always_inline]] static void add(const T* a, const Matrix<T>& strides, const T* panel, std::int64_t step,
                                         std::int64_t depth, std::int64_t columns, std::int64_t rows, T* c,
                                         std::int64_t ldc, bool first) {
    if constexpr (!Whole) return addByHalves<Rows>(a, strides, panel, step, depth, columns, rows, c, ldc, first);
    V sums[Rows][2];
#pragma GCC unroll 4
    for (auto& row : sums) row[0] = row[1] = V{};
    std::int64_t rowAt[Rows];
    for (std::int64_t i = 0; i < Rows; ++i) rowAt[i] = std::min(i, rows - 1) * strides.rowStride;
    for (std::int64_t p = 0; p < depth; ++p, a += strides.columnStride) {
      const V left = at(panel + p * step), right = at(panel + p * step + kLanes);
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < Rows; ++i) {
        const V x = V{} + a[rowAt[i]];
        sums[i][0] += x * left;
        sums[i][1] += x * right;
      }
    }
    if (columns == kWidth) {
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          T* to = c + i * ldc + v * kLanes;
          if (i >= rows) continue;
          V sum = sums[i][v];
          if (!first) sum += at(to);
          at(to) = sum;
        }
      return;
    }
    T products[Rows][kWidth];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) at(products[i] + v * kLanes) = sums[i][v];
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        c[i * ldc + j] = static_cast<T>((first ? T{} : c[i * ldc + j]) + products[i][j]);
  }

  static constexpr std::int64_t kStripe = 4 * kWidth;
  /// One row and kStripe dense columns: whole lines of each row are read in order.
  static void stripe(std::int64_t k, const T* a, std::int64_t step, const Matrix<T>& b, T* c) {
    withVectors([&](auto) TANDEM_INLINED {
      V sums[kStripe / kLanes] = {};
      for (std::int64_t p = 0; p < k; ++p) {
        const V x = V{} + a[p * step];
#pragma GCC unroll 8
        for (std::int64_t v = 0; v < kStripe / kLanes; ++v) {
          sums[v] += x * at(b.data + p * b.rowStride + v * kLanes);
        }
      }
      std::memcpy(c, &sums, sizeof sums);
    });
  }

  /// The inner product of dense vectors.
  [[gnu::noinline]] static T dot(std::int64_t k, const T* a, const T* b) {
    T sum{};
    withVectors([&](auto whole) TANDEM_INLINED {
      V sums[2] = {};
      std::int64_t p = 0;
      if constexpr (!decltype(whole)::value) {
        constexpr std::int64_t kFour = 4;
        LongSums four[kLanes / kFour];
        for (; p + kLanes <= k; p += kLanes)
#pragma GCC unroll 2
          for (std::int64_t v = 0; v < kLanes / kFour; ++v)
            four[v].add(LongSums::load(a + p + v * kFour), LongSums::load(b + p + v * kFour));
        for (std::int64_t v = 0; v < kLanes / kFour; ++v) four[v].store(reinterpret_cast<T*>(&sums[0]) + v * kFour);
      } else {
        for (; p + kWidth <= k; p += kWidth)
#pragma GCC unroll 2
          for (int v = 0; v < 2; ++v) {
            sums[v] += at(a + p + v * kLanes) * at(b + p + v * kLanes);
          }
        sums[0] += sums[1];
      }
      for (std::int64_t i = 0; i < kLanes; ++i) sum = static_cast<T>(sum + sums[0][i]);
      for (; p < k; ++p) sum = static_cast<T>(sum + a[p] * b[p]);
    });
    return sum;
  }

  /// Rows and the whole panels of dense columns where they lie, row after row: of a short k most of the work is to
  /// write the results, in order. How many columns.
  static std::int64_t flat(std::int64_t rows, std::int64_t columns, std::int64_t k, const Matrix<T>& a,
                           const Matrix<T>& b, T* c, std::int64_t ldc) {
    columns -= columns % kWidth;
    withVectors([&](auto whole) TANDEM_INLINED {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; j += kWidth)
          add<1, decltype(whole)::value>(a.data + i * a.rowStride, a, b.data + j, b.rowStride, k, kWidth, 1,
                                         c + i * ldc + j, ldc, true);
    });
    return columns;
  }

  static void tile(std::int64_t rows, std::int64_t columns, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                   std::int64_t ldc, T* panel) {
    for (std::int64_t i = 0; k == 0 && i < rows; ++i) std::fill_n(c + i * ldc, columns, T{});
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      // Few rows read the columns where they are.
      const bool packed = rows > kRows || columns < kWidth || b.columnStride != 1;
      if (packed) pack({b.data + p * b.rowStride, b.rowStride, b.columnStride}, depth, columns, panel);
      const T* right = packed ? panel : b.data + p * b.rowStride;
      const std::int64_t step = packed ? kWidth : b.rowStride;
      auto run = [&](auto whole) TANDEM_INLINED {
        constexpr bool kWhole = decltype(whole)::value;
        const T* from = a.data + p * a.columnStride;
        std::int64_t i = 0;
        for (; i + 1 < rows; i += kRows)
          add<kRows, kWhole>(from + i * a.rowStride, a, right, step, depth, columns, std::min(kRows, rows - i),
                             c + i * ldc, ldc, p == 0);
        if (i < rows)
          add<1, kWhole>(from + i * a.rowStride, a, right, step, depth, columns, 1, c + i * ldc, ldc, p == 0);
      };
      withVectors(run);
    }
  }

 private:
  // Only the product of two elements of 64 bits has an instruction of its own in AVX-512.
  template <class F>
  static void withVectors(const F& run) {
    if constexpr (sizeof(T) != sizeof(std::uint64_t))
      withAvx2([&]() TANDEM_INLINED { run(std::true_type()); });
    else if (hasAvx512())
      withHostIsa([&]() TANDEM_INLINED { run(std::true_type()); });
    else
      withAvx2([&]() TANDEM_INLINED { run(std::false_type()); });
  }
};

// Of smaller integers, of which products are rare, one row is as others are.
template <class T>
inline constexpr bool kHasRows = sizeof(T) >= sizeof(std::uint32_t);

/// One row times columns that are dense, or whose rows are; how many, from the first on.
template <class T>
std::int64_t rowTimesColumns(std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  using P = Panel<T>;
  if (a.columnStride == 1 && b.rowStride == 1 && k >= P::kWidth) {
    const bool one = n == 1;  // is cut itself
    std::atomic<T> sum{};
    parallelFor(one ? k : n, one ? kSerialElements : grainOf(k), [&](std::int64_t begin, std::int64_t end) {
      if (one) sum += P::dot(end - begin, a.data + begin, b.data + begin);
      for (std::int64_t j = begin; !one && j < end; ++j) c[j] = P::dot(k, a.data, b.data + j * b.columnStride);
    });
    if (one) c[0] = sum;
    return n;
  }
  // Products of 64 bits take longer than the memory.
  if (sizeof(T) != sizeof(std::uint32_t) || b.columnStride != 1) return 0;
  const std::int64_t stripes = n / P::kStripe;
  parallelFor(stripes, grainOf(k * P::kStripe / kOpsTogether), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin * P::kStripe; j < end * P::kStripe; j += P::kStripe)
      P::stripe(k, a.data, a.columnStride, {b.data + j, b.rowStride, 1}, c + j);
  });
  return stripes * P::kStripe;
}

// Products of fewer multiply-adds are made element by element: packing a panel takes longer.
constexpr std::int64_t kFewProducts = 200;
constexpr std::int64_t kFewColumns = 4;  // or rows, of elements of 64 bits

template <class T>
void smallProduct(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T* row = a.data + i * a.rowStride;
      const T* column = b.data + j * b.columnStride;
      T sum{};
      // Without a sign also where the elements are so short that they are multiplied as int.
      for (std::int64_t p = 0; p < k; ++p)
        sum = static_cast<T>(sum + 1U * row[p * a.columnStride] * column[p * b.rowStride]);
      c[i * ldc + j] = sum;
    }
}

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  using P = Panel<T>;
  if (m < kFewProducts && n < kFewProducts && k < kFewProducts && m * n * k < kFewProducts)
    return smallProduct(m, n, k, a, b, c, n);
  if constexpr (kHasRows<T>)
    if (m == 1) {
      const std::int64_t done = rowTimesColumns<T>(n, k, a, b, c);
      n -= done;
      b.data += done;
      c += done;
      if (n == 0) return;
    }
  if (sizeof(T) == sizeof(std::uint64_t) && std::min(m, n) <= kFewColumns && k <= kShortDepth) {
    const bool tall = m > n;
    parallelFor(std::max(m, n), grainOf(std::min(m, n) * k), [&](std::int64_t begin, std::int64_t end) {
      if (tall)
        smallProduct(end - begin, n, k, {a.data + begin * a.rowStride, a.rowStride, a.columnStride}, b, c + begin * n,
                     n);
      else
        smallProduct(m, end - begin, k, a, {b.data + begin * b.columnStride, b.rowStride, b.columnStride}, c + begin,
                     n);
    });
    return;
  }
  if (kHasRows<T> && k > 0 && k <= kShortDepth && b.columnStride == 1 && n >= P::kWidth) {
    parallelFor(ceilDiv(m, kRows), grainOf(kRows * n), [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> panel(k * P::kWidth);
      for (std::int64_t i = begin * kRows; i < std::min(m, end * kRows); i += kRows) {
        const std::int64_t rows = std::min(kRows, m - i);
        const Matrix<T> from{a.data + i * a.rowStride, a.rowStride, a.columnStride};
        const std::int64_t j = P::flat(rows, n, k, from, b, c + i * n, n);
        if (j < n) P::tile(rows, n - j, k, from, {b.data + j, b.rowStride, 1}, c + i * n + j, n, panel.data());
      }
    });
    return;
  }
  const std::int64_t down = (m + kTileRows - 1) / kTileRows;
  const std::int64_t tiles = down * ((n + P::kWidth - 1) / P::kWidth);
  const std::int64_t work = std::min(m, kTileRows) * std::min(n, P::kWidth) * k / kOpsTogether;
  parallelFor(tiles, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    const Scratch<T> panel(std::min(k, kDepth) * P::kWidth);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = t % down * kTileRows;
      const std::int64_t j = t / down * P::kWidth;
      P::tile(std::min(kTileRows, m - i), std::min(P::kWidth, n - j), k,
              {a.data + i * a.rowStride, a.rowStride, a.columnStride},
              {b.data + j * b.columnStride, b.rowStride, b.columnStride}, c + i * n + j, n, panel.data());
    }
  });
}

/// Which Python's operations do not call.
void productOfBools(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<bool> a, Matrix<bool> b, bool* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      bool any = false;
      for (std::int64_t p = 0; p < k && !any; ++p)
        any = a.data[i * a.rowStride + p * a.columnStride] && b.data[p * b.rowStride + j * b.columnStride];
      c[i * n + j] = any;
    }
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c) {
  if constexpr (std::is_same_v<T, bool>) {
    productOfBools(m, n, k, a, b, c);
  } else {
    using U = std::make_unsigned_t<T>;
    auto elements = [](const Matrix<T>& x) {
      return Matrix<U>{reinterpret_cast<const U*>(x.data), x.rowStride, x.columnStride};
    };
    Matrix<U> x = elements(a), y = elements(b);
    // One column is one row of the transposed product.
    if (n == 1) {
      std::swap(m, n);
      std::swap(x, y);
      std::swap(x.rowStride, x.columnStride);
      std::swap(y.rowStride, y.columnStride);
    }
    product<U>(m, n, k, x, y, reinterpret_cast<U*>(c));
  }
}
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<bool>, Matrix<bool>, bool*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::uint8_t>, Matrix<std::uint8_t>, std::uint8_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int8_t>, Matrix<std::int8_t>, std::int8_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int16_t>, Matrix<std::int16_t>, std::int16_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int32_t>, Matrix<std::int32_t>, std::int32_t*);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<std::int64_t>, Matrix<std::int64_t>, std::int64_t*);

}  // namespace tandem::lib
