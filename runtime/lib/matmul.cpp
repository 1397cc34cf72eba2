// matmul: a[..., M, K] @ b[..., K, N], batch dims broadcast already.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/gemm.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
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

template <class T>
void product(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  std::size_t rank = a.shape.size();
  std::int64_t m = a.shape[rank - 2];
  std::int64_t k = a.shape[rank - 1];
  std::int64_t n = b.shape[rank - 1];
  if (rank == 2) return gemm(m, n, k, lastMatrix<T>(a), lastMatrix<T>(b), c.as<T>());

  DimsRef batchShape = DimsRef(a.shape).first(rank - 2);
  std::int64_t batch = numelOf(batchShape);
  std::array<DimsRef, 2> strides{DimsRef(a.strides).first(rank - 2), DimsRef(b.strides).first(rank - 2)};
  auto run = [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(batchShape, strides, begin);
    Matrix<T> x = lastMatrix<T>(a);
    Matrix<T> y = lastMatrix<T>(b);
    for (std::int64_t i = begin; i < end; ++i, at.next())
      gemm(m, n, k, {x.data + at.offset[0], x.rowStride, x.columnStride},
           {y.data + at.offset[1], y.rowStride, y.columnStride}, c.as<T>() + i * m * n);
  };
  // Few large products share the pool within each, many go side by side. Which never matters to the bits.
  std::int64_t work = std::max<std::int64_t>(1, m * n * k);
  const bool even = batch % numThreads() == 0 && work <= kSideWork;
  if (batch < 2 * numThreads() && work > kGroupWork && !even) return run(0, batch);
  parallelFor(batch, std::max<std::int64_t>(1, kGroupWork / work), run);
}

/// Half types: the product of the float32 values, rounded once.
template <class T>
void halfProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  auto widen = [](const ArrayView& x, const Scratch<float>& to) {
    std::int64_t rows = x.shape.back() == 0 ? 0 : x.numel() / x.shape.back();
    std::int64_t columns = x.shape.back();
    parallelFor(rows, grainOf(columns), [&](std::int64_t begin, std::int64_t end) {
      Walker<1> at(DimsRef(x.shape).first(x.shape.size() - 1), {DimsRef(x.strides).first(x.shape.size() - 1)}, begin);
      for (std::int64_t i = begin; i < end; ++i, at.next())
        for (std::int64_t j = 0; j < columns; ++j)
          to[i * columns + j] = toFloat(x.as<T>()[at.offset[0] + j * x.strides.back()]);
    });
    ArrayView wide{to.data(), DType::Float32, x.shape, contiguousStrides(x.shape)};
    return wide;
  };
  Scratch<float> wideA(a.numel());
  Scratch<float> wideB(b.numel());
  Scratch<float> wideC(c.numel());
  product<float>(widen(a, wideA), widen(b, wideB), {wideC.data(), DType::Float32, c.shape, c.strides});
  parallelFor(c.numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) c.as<T>()[i] = Element<T>::store(wideC[i]);
  });
}

}  // namespace

void matmul(const LibraryCall& call) {
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
