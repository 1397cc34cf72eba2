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
constexpr std::int64_t kLeastWork = 512;  // of a product, whatever its size
// Products up to here go side by side where there are as many for every thread.
constexpr std::int64_t kSideWork = std::int64_t{1} << 25;

template <class T>
Matrix<T> lastMatrix(const ArrayView& x) {
  std::size_t r = x.shape.size();
  return {x.as<T>(), x.strides[r - 2], x.strides[r - 1]};
}

/// The sizes of a product.
struct Sizes {
  std::int64_t m, n, k;
  explicit Sizes(const ArrayView& a, const ArrayView& b)
      : m(a.shape[a.shape.size() - 2]), n(b.shape.back()), k(a.shape.back()) {}
};
/// Where one of a batch lies: so many elements behind the first.
struct Place {
  std::int64_t a, b, c;
};
/// Computes `count` products, whose matrices lie `step` apart, from the one at `at` on.
using SomeFn = void (*)(const Sizes& s, const ArrayView& a, const ArrayView& b, const ArrayView& c, Place at,
                        std::int64_t count, const Place& step);

template <class T>
void one(const Sizes& s, const ArrayView& a, const ArrayView& b, const ArrayView& c, const Place& at) {
  Matrix<T> x = lastMatrix<T>(a);
  Matrix<T> y = lastMatrix<T>(b);
  x.data += at.a;
  y.data += at.b;
  if constexpr (std::is_same_v<T, BFloat16>) {
    const bool wide = c.dtype == DType::Float32;
    groupsGemm(s.m, s.n, s.k, x, y, c.as<char>() + at.c * static_cast<std::int64_t>(itemSize(c.dtype)), wide);
  } else {
    if constexpr (std::is_floating_point_v<T>)
      if (isSmallGemm(s.m, s.n, s.k)) return smallGemm(s.m, s.n, s.k, x, y, c.as<T>() + at.c);
    gemm(s.m, s.n, s.k, x, y, c.as<T>() + at.c);
  }
}

template <class T>
void some(const Sizes& s, const ArrayView& a, const ArrayView& b, const ArrayView& c, Place at, std::int64_t count,
          const Place& step) {
  if constexpr (std::is_floating_point_v<T>)
    if (count > 1 && isTinyGemm(s.m, s.n, s.k)) {
      Matrix<T> x = lastMatrix<T>(a), y = lastMatrix<T>(b);
      x.data += at.a, y.data += at.b;
      return tinyGemms(count, s.m, s.n, s.k, x, step.a, y, step.b, c.as<T>() + at.c);
    }
  for (; count > 0; --count, at.a += step.a, at.b += step.b, at.c += step.c) one<T>(s, a, b, c, at);
}

void products(const ArrayView& a, const ArrayView& b, const ArrayView& c, SomeFn some) {
  const Sizes s(a, b);
  const std::size_t rank = a.shape.size();
  if (rank == 2) return some(s, a, b, c, {0, 0, 0}, 1, {0, 0, 0});

  DimsRef batchShape = DimsRef(a.shape).first(rank - 2);
  std::int64_t batch = numelOf(batchShape);
  std::array<DimsRef, 2> strides{DimsRef(a.strides).first(rank - 2), DimsRef(b.strides).first(rank - 2)};
  // Along the last of the batch's dims steps are even.
  const std::int64_t row = batchShape[rank - 3], size = s.m * s.n;
  const Place step{strides[0][rank - 3], strides[1][rank - 3], size};
  const DimsRef rows = batchShape.first(rank - 3);
  auto run = [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(rows, {strides[0].first(rank - 3), strides[1].first(rank - 3)}, begin / row);
    for (std::int64_t i = begin, next; i < end; i = next, at.next()) {
      next = std::min(end, (i / row + 1) * row);
      some(s, a, b, c, {at.offset[0] + i % row * step.a, at.offset[1] + i % row * step.b, i * size}, next - i, step);
    }
  };
  // Few large products share the pool within each, many go side by side. Which never matters to the bits.
  const std::int64_t work = std::max(kLeastWork, s.m * s.n * s.k);
  const bool even = batch % numThreads() == 0 && work <= kSideWork;
  if (batch < 2 * numThreads() && work > kGroupWork && !even)
    run(0, batch);
  else
    parallelFor(batch, std::max(kGroupWork / work, std::int64_t{1}), run);
}

// ---- half types: what differs between the two is how elements are widened and rounded

using HalfBits = std::uint16_t;

void widen(DType t, const HalfBits* from, float* to, std::int64_t n) {
  if (t == DType::Float16)
    widen(reinterpret_cast<const Half*>(from), to, n);
  else
    widen(reinterpret_cast<const BFloat16*>(from), to, n);
}

/// Brings sums to a result of a half type, which they are rounded for, or of float32.
void put(const float* sums, const ArrayView& c, std::int64_t at, std::int64_t count) {
  if (c.dtype == DType::Float32)
    std::copy_n(sums, count, c.as<float>() + at);
  else if (c.dtype == DType::Float16)
    narrow(sums, c.as<Half>() + at, count);
  else
    narrow(sums, c.as<BFloat16>() + at, count);
}

/// The dims along which an array has different elements, in the order of memory.
Dims dimsInMemory(const ArrayView& x) {
  Dims order;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] <= 1 || x.strides[d] == 0) continue;
    order.push_back(static_cast<std::int64_t>(d));
    for (std::size_t i = order.size() - 1; i > 0 && x.strides[order[i - 1]] < x.strides[order[i]]; --i)
      std::swap(order[i - 1], order[i]);
  }
  return order;
}

/// A float32 copy of an array of a half type, which lies in memory as it does.
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
        const HalfBits* source = x.as<HalfBits>() + at.offset[0];
        float* target = copy_.data() + at.offset[1];
        if (step == 1) {
          widen(x.dtype, source, target, row);
        } else if (x.dtype == DType::Float16) {
          for (std::int64_t j = 0; j < row; ++j) target[j] = toFloat(Half{source[j * step]});
        } else {
          for (std::int64_t j = 0; j < row; ++j) target[j] = toFloat(BFloat16{source[j * step]});
        }
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

/// Few rows times a large matrix, columns by columns.
void fewRows(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  const std::int64_t m = a.shape[0];
  const std::int64_t k = a.shape[1];
  const std::int64_t n = b.shape[1];
  const Wide wideA(a);
  if (k == 1 && b.strides[1] == 1) {
    // Products alone, of stretches that stay in the first-level cache.
    constexpr std::int64_t kNear = 2048;
    return parallelFor(ceilDiv(n, kNear), grainOf(m * kNear), [&](std::int64_t begin, std::int64_t end) {
      std::array<float, kNear> elements, products;
      for (std::int64_t from = begin * kNear; from < std::min(n, end * kNear); from += kNear) {
        const std::int64_t columns = std::min(kNear, n - from);
        widen(b.dtype, b.as<HalfBits>() + from, elements.data(), columns);
        for (std::int64_t i = 0; i < m; ++i) {
          const float factor = wideA.view().as<float>()[i * wideA.view().strides[0]];
          // A sum of one, which is never -0.
          for (std::int64_t j = 0; j < columns; ++j) products[j] = factor * elements[j] + 0.0F;
          put(products.data(), c, i * n + from, columns);
        }
      }
    });
  }
  const std::int64_t width = std::max<std::int64_t>(64, kWideElements / k / 64 * 64);
  parallelTiles((n + width - 1) / width, [&](std::int64_t tile) {
    const std::int64_t from = tile * width;
    const std::int64_t columns = std::min(width, n - from);
    const Wide wideB({b.as<HalfBits>() + from * b.strides[1], b.dtype, {k, columns}, b.strides});
    Scratch<float> sums(m * columns);
    gemm(m, columns, k, lastMatrix<float>(wideA.view()), lastMatrix<float>(wideB.view()), sums.data());
    for (std::int64_t i = 0; i < m; ++i) put(sums.data() + i * columns, c, i * n + from, columns);
  });
}

/// Vectors times matrices that are widened row by row, or column by column, as they are read; false if that is not
/// possible.
bool vectorProducts(const ArrayView& a, const ArrayView& b, float* c) {
  const std::size_t rank = a.shape.size() - 2;
  const bool row = a.shape[rank] == 1;
  const std::int64_t k = a.shape[rank + 1];
  const std::int64_t n = row ? b.shape[rank + 1] : a.shape[rank];
  const std::int64_t stride = row ? a.strides[rank + 1] : b.strides[rank];
  std::atomic<bool> all = true;
  const DimsRef batch = DimsRef(a.shape).first(rank);
  const auto product = [&](auto tag, const HalfBits* vector, const HalfBits* matrix, std::int64_t rowStride,
                           std::int64_t columnStride, float* to) {
    using T = decltype(tag);
    return vectorGemm(n, k, reinterpret_cast<const T*>(vector),
                      Matrix<T>{reinterpret_cast<const T*>(matrix), rowStride, columnStride}, to);
  };
  parallelFor(numelOf(batch), grainOf(n * k), [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(batch, {DimsRef(a.strides).first(rank), DimsRef(b.strides).first(rank)}, begin);
    Scratch<HalfBits> dense(stride == 1 ? 0 : k);
    for (std::int64_t i = begin; i < end && all; ++i, at.next()) {
      const HalfBits* x = a.as<HalfBits>() + at.offset[0];
      const HalfBits* y = b.as<HalfBits>() + at.offset[1];
      const HalfBits* vector = row ? x : y;
      for (std::int64_t p = 0; stride != 1 && p < k; ++p) dense[p] = vector[p * stride];
      if (stride != 1) vector = dense.data();
      const std::int64_t down = row ? b.strides[rank] : a.strides[rank + 1];
      const std::int64_t across = row ? b.strides[rank + 1] : a.strides[rank];
      const bool done = a.dtype == DType::Float16 ? product(Half{}, vector, row ? y : x, down, across, c + i * n)
                                                  : product(BFloat16{}, vector, row ? y : x, down, across, c + i * n);
      if (!done) all = false;
    }
  });
  return all;
}

/// Half types: the product of the float32 values, rounded once unless the result is float32; of bfloat16, where both
/// matrices have rows and columns enough, in groups.
void halfProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  const bool matrices = a.shape.size() == 2;
  const Sizes s(a, b);
  const bool vector = s.m == 1 || s.n == 1;
  if (a.dtype == DType::BFloat16 && isInGroups(s.m, s.n, s.k)) return products(a, b, c, some<BFloat16>);
  const bool rounds = c.dtype != DType::Float32;
  Scratch<float> wideC(rounds ? c.numel() : 0);
  float* const sums = rounds ? wideC.data() : c.as<float>();
  if (!vector || !vectorProducts(a, b, sums)) {
    if (matrices && s.m <= kFewRows && b.numel() > kWideElements) return fewRows(a, b, c);
    // One column is one row of the transposed product.
    if (matrices && s.n == 1 && a.numel() > kWideElements) return fewRows(transposed(b), transposed(a), c);
    products(Wide(a).view(), Wide(b).view(), {sums, DType::Float32, c.shape, c.strides}, some<float>);
  }
  if (rounds) narrowAll(sums, c);
}

/// Of half types, with a bias: nothing that is recorded for a CPU, but programs that were saved for another device.
[[gnu::cold]] void biasedProduct(const LibraryCall& call) {
  const ArrayView& bias = call.inputs[2];
  const ArrayView& c = call.outputs[0];
  const Scratch<float> sums(c.numel());
  const ArrayView wide{sums.data(), DType::Float32, c.shape, c.strides};
  matmul({call.inputs.first(2), {&wide, 1}, call.attrs, call.scalars});
  const std::int64_t columns = c.shape.back();
  for (std::int64_t i = 0; i < c.numel(); ++i) {
    float added = 0;
    widen(c.dtype, bias.as<HalfBits>() + i % columns * bias.strides[0], &added, 1);
    sums[i] += added;
  }
  put(sums.data(), c, 0, c.numel());
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
      halfProduct(a, b, c);
    else
      products(a, b, c, some<T>);
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
