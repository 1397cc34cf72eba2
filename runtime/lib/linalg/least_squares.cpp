// The X of least |A X - B|. QR serves where A has full rank for certain: its condition is at most |R| |R^-1| in the
// Frobenius norm, or less. Otherwise its singular values decide.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/linalg/singular_values.h"

namespace tandem::lib {
namespace {

/// In some sums side by side: one addition need not wait for the one before.
template <class T>
T norm(const ColumnMatrix<T>& x) {
  constexpr std::size_t count = 8;
  double sums[count] = {};
  std::size_t i = 0;
  for (; i + count <= x.elements.size(); i += count)
    for (std::size_t k = 0; k < count; ++k) {
      const auto value = static_cast<double>(x.elements[i + k]);
      sums[k] += value * value;
    }
  for (; i < x.elements.size(); ++i) sums[0] += static_cast<double>(x.elements[i]) * static_cast<double>(x.elements[i]);
  return static_cast<T>(std::sqrt(std::accumulate(sums, sums + count, 0.0)));
}

template <class T>
class LeastSquares {
 public:
  /// a[m, n], b[m, right], x[n, right], row-major.
  LeastSquares(const T* a, std::int64_t m, std::int64_t n, const T* b, std::int64_t right, T rcond)
      : a_(a), b_(b), m_(m), n_(n), right_(right), rcond_(rcond) {}

  /// Writes x and returns the rank.
  std::int64_t run(T* x) const {
    const bool tall = m_ >= n_;
    const std::int64_t k = std::min(m_, n_);
    const Reflectors<T> qr = factorQr(ColumnMatrix<T>::tallOf(a_, m_, n_));
    const Matrix<T> r{qr.vectors.at(0, 0), 1, qr.vectors.rows};
    if (!isFullRank(triangleOf(qr))) return byValues(x);
    if (tall) {
      auto turned = ColumnMatrix<T>::ofRows(b_, m_, right_);
      applyReflectors(qr, Reflect::Transposed, turned);
      transposeMatrix(turned.elements.data(), m_, x, right_, k, right_, floatingDType<T>());
      solveTriangular(r, k, {.upper = true}, x, right_, right_);
      return k;
    }
    std::copy_n(b_, k * right_, x);
    solveTriangular<T>({r.data, r.columnStride, 1}, k, {}, x, right_, right_);
    ColumnMatrix<T> found(n_, right_);
    transposeMatrix(x, right_, found.elements.data(), n_, right_, k, floatingDType<T>());
    applyReflectors(qr, Reflect::Plain, found);
    found.writeRows(x);
    return k;
  }

 private:
  [[nodiscard]] bool isFullRank(ColumnMatrix<T> triangle) const {
    const std::int64_t k = triangle.columns;
    auto inverse = ColumnMatrix<T>::unit(k, k);
    solveTriangular<T>({triangle.at(0, 0), 1, k}, k, {.upper = true, .ofUnit = true}, inverse.elements.data(), k, k);
    const T size = norm(triangle);
    const T condition = size * norm(inverse);
    if (!(rcond_ >= 0 && condition > 0)) return false;  // nor where it is NaN
    // |R| is up to sqrt(k) times the largest value. Of (R^T R)^2, whose values are fourth powers, that is less.
    if (condition * rcond_ < 1) return true;
    if (condition * rcond_ / std::sqrt(static_cast<T>(k)) >= 1) return false;
    for (T& value : triangle.elements) value /= size;
    for (int power = 2; power <= 4; power *= 2) {
      ColumnMatrix<T> product(k, k);
      gemm(k, k, k, Matrix<T>{triangle.at(0, 0), k, 1}, Matrix<T>{triangle.at(0, 0), 1, k}, product.at(0, 0));
      triangle = std::move(product);
      constexpr T rounding = 1.01;
      const T largest = rounding * std::pow(norm(triangle), T(1) / static_cast<T>(power));
      if (condition * largest * rcond_ < 1) return true;
    }
    return false;
  }
  std::int64_t byValues(T* x) const {
    if (!isFinite(a_, m_ * n_)) {
      std::fill_n(x, n_ * right_, std::numeric_limits<T>::quiet_NaN());
      return 0;
    }
    const SingularFactors<T> f = singularFactors(a_, m_, n_, SingularVectors::Thin);
    const std::int64_t k = std::ssize(f.values);
    Scratch<T> inside(k * right_);
    gemm(k, right_, m_, {f.u.at(0, 0), m_, 1}, {b_, right_, 1}, inside.data());
    std::int64_t rank = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const T value = f.values[static_cast<std::size_t>(i)];
      const bool kept = value > rcond_ * f.values[0];
      rank += kept ? 1 : 0;
      T* row = inside.data() + i * right_;
      for (std::int64_t j = 0; j < right_; ++j) row[j] *= kept ? 1 / value : T(0);
    }
    gemm(n_, right_, k, {f.v.at(0, 0), 1, n_}, {inside.data(), right_, 1}, x);
    return rank;
  }

  const T *a_, *b_;
  std::int64_t m_, n_, right_;
  T rcond_;
};

}  // namespace

void lstsq(const LibraryCall& call) {
  const Contiguous matrices(call.inputs[0]);
  const Contiguous rights(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  const Batch a(matrices.view());
  const Batch b(rights.view());
  const Batch x(out);
  auto* ranks = call.outputs[1].as<std::int64_t>();
  if (a.count == 0 || b.count == 0) {
    // Without elements of A every X is as good: the one of least norm.
    std::fill_n(out.as<char>(), out.numel() * static_cast<std::int64_t>(itemSize(out.dtype)), char());
    std::fill_n(ranks, call.outputs[1].numel(), 0);
    if (a.count == 0) return;
  }
  forEachOf(a, a.size() * std::min(a.rows, a.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const T* right = rights.as<T>() + i * b.size();
    T* found = out.as<T>() + i * x.size();
    ranks[i] = LeastSquares<T>(a.at<T>(i), a.rows, a.columns, right, b.columns, *call.inputs[2].as<T>()).run(found);
  });
}

}  // namespace tandem::lib
