// matmul: a[..., M, K] @ b[..., K, N], batch dims broadcast already.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

void matmul(const LibraryCall& call);

namespace {

// Small products of a batch are put together into tiles of about this many multiply-adds.
constexpr std::int64_t kGroupWork = std::int64_t{1} << 20;
// Products up to here go side by side where there are as many for every thread.
constexpr std::int64_t kSideWork = std::int64_t{1} << 25;

template <class T>
Matrix<T> lastMatrix(const ArrayView& x) {
  std::size_t r = x.shape.size();
  return {x.as<T>(), x.strides[r - 2], x.strides[r - 1]};
}

/// False if a product of bfloat16 is left to float32.
template <class T>
bool product(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  std::size_t rank = a.shape.size();
  std::int64_t m = a.shape[rank - 2];
  std::int64_t k = a.shape[rank - 1];
  std::int64_t n = b.shape[rank - 1];
  [[maybe_unused]] const bool small = isSmallGemm(m, n, k);
  auto one = [&](const Matrix<T>& x, const Matrix<T>& y, std::int64_t at) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      const bool wide = c.dtype == DType::Float32;
      return pairsGemm(m, n, k, x, y, static_cast<char*>(c.data) + at * (wide ? sizeof(float) : sizeof(T)), wide);
    } else {
      T* const to = c.as<T>() + at;
      if constexpr (std::is_floating_point_v<T>)
        if (small) return smallGemm(m, n, k, x, y, to), true;
      gemm(m, n, k, x, y, to);
      return true;
    }
  };
  if (rank == 2) return one(lastMatrix<T>(a), lastMatrix<T>(b), 0);

  DimsRef batchShape = DimsRef(a.shape).first(rank - 2);
  std::int64_t batch = numelOf(batchShape);
  std::array<DimsRef, 2> strides{DimsRef(a.strides).first(rank - 2), DimsRef(b.strides).first(rank - 2)};
  std::atomic<bool> all = true;
  auto run = [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(batchShape, strides, begin);
    Matrix<T> x = lastMatrix<T>(a);
    Matrix<T> y = lastMatrix<T>(b);
    for (std::int64_t i = begin; i < end && all; ++i, at.next())
      if (!one({x.data + at.offset[0], x.rowStride, x.columnStride},
               {y.data + at.offset[1], y.rowStride, y.columnStride}, i * m * n))
        all = false;
  };
  // Few large products share the pool within each, many go side by side. Which never matters to the bits.
  std::int64_t work = std::max<std::int64_t>(1, m * n * k);
  const bool even = batch % numThreads() == 0 && work <= kSideWork;
  if (batch < 2 * numThreads() && work > kGroupWork && !even)
    run(0, batch);
  else
    parallelFor(batch, std::max<std::int64_t>(1, kGroupWork / work), run);
  return all;
}

/// The dims along which an array has different elements, in the order of memory.
Dims dimsInMemory(const ArrayView& x) {
  Dims order;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] > 1 && x.strides[d] != 0) order.push_back(static_cast<std::int64_t>(d));
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return x.strides[i] > x.strides[j]; });
  return order;
}

/// A float32 copy of an array of a half type, which lies in memory as it does.
template <class T>
class Wide {
 public:
  explicit Wide(const ArrayView& x) : order_(dimsInMemory(x)), strides_(x.shape.size(), 0), copy_(layOut(x)) {
    Dims shape, from, to;
    for (std::int64_t d : order_) {
      shape.push_back(x.shape[d]);
      from.push_back(x.strides[d]);
      to.push_back(strides_[d]);
    }
    const std::int64_t row = order_.empty() ? 1 : shape.back();
    const std::int64_t step = order_.empty() ? 1 : from.back();
    for (Dims* dims : {&shape, &from, &to})
      if (!order_.empty()) dims->pop_back();
    parallelFor(numelOf(shape), grainOf(row), [&](std::int64_t begin, std::int64_t end) {
      Walker<2> at(shape, {from, to}, begin);
      for (std::int64_t i = begin; i < end; ++i, at.next()) {
        const T* source = x.as<T>() + at.offset[0];
        float* target = copy_.data() + at.offset[1];
        if (step == 1) {
          widen(source, target, row);
          continue;
        }
        for (std::int64_t j = 0; j < row; ++j) target[j] = toFloat(source[j * step]);
      }
    });
    view_ = {copy_.data(), DType::Float32, x.shape, strides_};
  }
  const ArrayView& view() const { return view_; }

 private:
  std::int64_t layOut(const ArrayView& x) {
    std::int64_t size = 1;
    for (std::size_t i = order_.size(); i-- > 0;) {
      strides_[order_[i]] = size;
      size *= x.shape[order_[i]];
    }
    return size;
  }

  Dims order_, strides_;
  Scratch<float> copy_;
  ArrayView view_;
};

// Up to so many rows a product waits for the memory of the other matrix, of which so many elements at a time are
// widened in the cache.
constexpr std::int64_t kFewRows = 16;
constexpr std::int64_t kWideElements = std::int64_t{1} << 16;

ArrayView transposed(const ArrayView& x) {
  return {x.data, x.dtype, {x.shape[1], x.shape[0]}, {x.strides[1], x.strides[0]}};
}

/// Brings sums to a result of a half type, which they are rounded for, or of float32.
template <class T>
void put(const float* sums, const ArrayView& c, std::int64_t at, std::int64_t count) {
  if (c.dtype == DType::Float32)
    std::copy_n(sums, count, c.as<float>() + at);
  else
    narrow(sums, c.as<T>() + at, count);
}

/// Few rows times a large matrix, columns by columns.
template <class T>
void fewRows(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  const std::int64_t m = a.shape[0];
  const std::int64_t k = a.shape[1];
  const std::int64_t n = b.shape[1];
  const Wide<T> wideA(a);
  if (k == 1 && b.strides[1] == 1) {
    // Products alone, of stretches that stay in the first-level cache.
    constexpr std::int64_t kNear = 2048;
    return parallelFor(ceilDiv(n, kNear), grainOf(m * kNear), [&](std::int64_t begin, std::int64_t end) {
      std::array<float, kNear> elements, products;
      for (std::int64_t from = begin * kNear; from < std::min(n, end * kNear); from += kNear) {
        const std::int64_t columns = std::min(kNear, n - from);
        widen(b.as<T>() + from, elements.data(), columns);
        for (std::int64_t i = 0; i < m; ++i) {
          const float factor = wideA.view().template as<float>()[i * wideA.view().strides[0]];
          // A sum of one, which is never -0.
          for (std::int64_t j = 0; j < columns; ++j) products[j] = factor * elements[j] + 0.0F;
          put<T>(products.data(), c, i * n + from, columns);
        }
      }
    });
  }
  const std::int64_t width = std::max<std::int64_t>(64, kWideElements / k / 64 * 64);
  parallelTiles((n + width - 1) / width, [&](std::int64_t tile) {
    const std::int64_t from = tile * width;
    const std::int64_t columns = std::min(width, n - from);
    const Wide<T> wideB({b.as<T>() + from * b.strides[1], b.dtype, {k, columns}, b.strides});
    Scratch<float> sums(m * columns);
    gemm(m, columns, k, lastMatrix<float>(wideA.view()), lastMatrix<float>(wideB.view()), sums.data());
    for (std::int64_t i = 0; i < m; ++i) put<T>(sums.data() + i * columns, c, i * n + from, columns);
  });
}

/// Vectors times matrices that are widened row by row, or column by column, as they are read; false if that is not
/// possible.
template <class T>
bool vectorProducts(const ArrayView& a, const ArrayView& b, float* c) {
  const std::size_t rank = a.shape.size() - 2;
  const bool row = a.shape[rank] == 1;
  const std::int64_t k = a.shape[rank + 1];
  const std::int64_t n = row ? b.shape[rank + 1] : a.shape[rank];
  const std::int64_t stride = row ? a.strides[rank + 1] : b.strides[rank];
  std::atomic<bool> all = true;
  const DimsRef batch = DimsRef(a.shape).first(rank);
  parallelFor(numelOf(batch), grainOf(n * k), [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(batch, {DimsRef(a.strides).first(rank), DimsRef(b.strides).first(rank)}, begin);
    Scratch<T> dense(stride == 1 ? 0 : k);
    for (std::int64_t i = begin; i < end && all; ++i, at.next()) {
      T* x = a.as<T>() + at.offset[0];
      T* y = b.as<T>() + at.offset[1];
      const Matrix<T> matrix =
          row ? Matrix<T>{y, b.strides[rank], b.strides[rank + 1]} : Matrix<T>{x, a.strides[rank + 1], a.strides[rank]};
      const T* vector = row ? x : y;
      for (std::int64_t p = 0; stride != 1 && p < k; ++p) dense[p] = vector[p * stride];
      if (!vectorGemm(n, k, stride == 1 ? vector : dense.data(), matrix, c + i * n)) all = false;
    }
  });
  return all;
}

/// Half types: the product of the float32 values, rounded once unless the result is float32.
template <class T>
void halfProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  const bool matrices = a.shape.size() == 2;
  const bool vector = a.shape[a.shape.size() - 2] == 1 || b.shape.back() == 1;
  const bool few = vector || (matrices && a.shape[0] <= kFewRows);
  if constexpr (std::is_same_v<T, BFloat16>)
    if (!few && product<T>(a, b, c)) return;
  const bool rounds = c.dtype != DType::Float32;
  Scratch<float> wideC(rounds ? c.numel() : 0);
  float* const sums = rounds ? wideC.data() : c.as<float>();
  if (!vector || !vectorProducts<T>(a, b, sums)) {
    if (matrices && a.shape[0] <= kFewRows && b.numel() > kWideElements) return fewRows<T>(a, b, c);
    // One column is one row of the transposed product.
    if (matrices && b.shape[1] == 1 && a.numel() > kWideElements) return fewRows<T>(transposed(b), transposed(a), c);
    product<float>(Wide<T>(a).view(), Wide<T>(b).view(), {sums, DType::Float32, c.shape, c.strides});
  }
  if (rounds) narrowAll(sums, c.as<T>(), c.numel());
}

/// Of half types, with a bias: nothing that is recorded for a CPU, but programs that were saved for another device.
[[gnu::cold]] void biasedProduct(const LibraryCall& call) {
  const ArrayView& bias = call.inputs[2];
  const ArrayView& c = call.outputs[0];
  const Scratch<float> sums(c.numel());
  const ArrayView wide{sums.data(), DType::Float32, c.shape, c.strides};
  matmul({call.inputs.first(2), {&wide, 1}, call.attrs, call.scalars});
  const bool half = c.dtype == DType::Float16;
  const std::int64_t columns = c.shape.back();
  for (std::int64_t i = 0; i < c.numel(); ++i) {
    const std::int64_t at = i % columns * bias.strides[0];
    float added = 0;
    half ? widen(bias.as<Half>() + at, &added, 1) : widen(bias.as<BFloat16>() + at, &added, 1);
    sums[i] += added;
  }
  half ? narrow(sums.data(), c.as<Half>(), c.numel()) : narrow(sums.data(), c.as<BFloat16>(), c.numel());
}

}  // namespace

void matmul(const LibraryCall& call) {
  if (call.inputs.size() > 2) return biasedProduct(call);
  const ArrayView& a = call.inputs[0];
  const ArrayView& b = call.inputs[1];
  const ArrayView& c = call.outputs[0];
  if (c.numel() == 0) return;
  if (a.shape.back() == 0) {
    std::memset(c.data, 0, static_cast<std::size_t>(c.numel()) * itemSize(c.dtype));
    return;
  }
  withType(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      halfProduct<T>(a, b, c);
    else
      product<T>(a, b, c);
  });
}

void pack_matrix(const LibraryCall& call) {
  const ArrayView& b = call.inputs[0];
  const ArrayView& to = call.outputs[0];
  TANDEM_CHECK(to.shape[1] == packedColumns(b.shape[1]), "the shape of a packed matrix");
  if (to.numel() == 0) return;
  withType(b.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      packGemm(b.shape[1], b.shape[0], lastMatrix<T>(b), to.as<T>());
    else
      fail<NotImplementedError>("pack_matrix: expected float32 or float64, but got ", dtypeName(b.dtype));
  });
}

void matmul_packed(const LibraryCall& call) {
  const ArrayView& a = call.inputs[0];
  const ArrayView& c = call.outputs[0];
  if (c.numel() == 0) return;
  if (a.shape[1] == 0) {
    std::memset(c.data, 0, static_cast<std::size_t>(c.numel()) * itemSize(c.dtype));
    return;
  }
  TANDEM_CHECK(c.shape[0] > 1 && c.shape[1] > 1, "a packed product has rows and columns");
  withType(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      packedGemm(c.shape[0], c.shape[1], a.shape[1], lastMatrix<T>(a), call.inputs[1].as<const T>(), c.as<T>());
  });
}

}  // namespace tandem::lib
