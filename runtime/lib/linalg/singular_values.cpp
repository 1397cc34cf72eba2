#include "runtime/lib/linalg/singular_values.h"

#include <algorithm>
#include <utility>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/bidiagonal.h"

namespace tandem::lib {
namespace {

/// From so many times as many rows as columns on, it pays to make the matrix a triangle first.
constexpr double kTall = 1.6;

/// h times the square, with columns of the unit matrix beside it if there are more columns.
template <class T>
ColumnMatrix<T> timesSquare(const Reflectors<T>& h, const ColumnMatrix<T>& square, std::int64_t columns) {
  const std::int64_t n = square.rows;
  auto found = ColumnMatrix<T>::unit(h.vectors.rows, columns);
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(square.at(0, j), n, found.at(0, j));
  applyReflectors(h, Reflect::Plain, found);
  return found;
}

/// Of a matrix with at least as many rows as columns, made bidiagonal; `u` is to have so many columns.
template <class T>
SingularFactors<T> factorsOfTall(ColumnMatrix<T> a, SingularVectors vectors, std::int64_t uColumns) {
  const std::int64_t n = a.columns;
  Bidiagonal<T> b = toBidiagonal(std::move(a));
  const std::int64_t size = vectors == SingularVectors::None ? 0 : n;
  std::vector<T> u(static_cast<std::size_t>(size * size));
  std::vector<T> v(u.size());
  if (!solveBidiagonal<T>(b.diagonal.data(), b.above.data(), n, size == 0 ? nullptr : u.data(),
                          size == 0 ? nullptr : v.data()))
    fail<LinAlgError>(
        "linalg.svd: the iteration failed to converge because the input matrix is ill-conditioned or has too many ",
        "repeated singular values.");
  SingularFactors<T> found;
  for (const double value : b.diagonal) found.values.push_back(static_cast<T>(value));
  if (size == 0) return found;
  found.u = timesSquare(b.left, ColumnMatrix<T>::ofRows(u.data(), n, n), uColumns);
  found.v = timesSquare(b.right, ColumnMatrix<T>::ofRows(v.data(), n, n), n);
  return found;
}

template <class T>
SingularFactors<T> factorsOfVeryTall(ColumnMatrix<T> a, SingularVectors vectors, std::int64_t uColumns) {
  const std::int64_t n = a.columns;
  const Reflectors<T> h = factorQr(std::move(a));
  SingularFactors<T> found = factorsOfTall(triangleOf(h), vectors, n);
  if (vectors != SingularVectors::None) found.u = timesSquare(h, found.u, uColumns);
  return found;
}

}  // namespace

template <class T>
SingularFactors<T> singularFactors(const T* a, std::int64_t m, std::int64_t n, SingularVectors vectors) {
  auto tall = ColumnMatrix<T>::tallOf(a, m, n);
  const T size = takeSize(tall);
  const std::int64_t uColumns = vectors == SingularVectors::Full ? tall.rows : tall.columns;
  const bool veryTall = static_cast<double>(tall.rows) >= kTall * static_cast<double>(tall.columns);
  SingularFactors<T> found = veryTall ? factorsOfVeryTall(std::move(tall), vectors, uColumns)
                                      : factorsOfTall(std::move(tall), vectors, uColumns);
  for (T& value : found.values) value *= size;
  if (m < n) std::swap(found.u, found.v);
  return found;
}
template SingularFactors<float> singularFactors(const float*, std::int64_t, std::int64_t, SingularVectors);
template SingularFactors<double> singularFactors(const double*, std::int64_t, std::int64_t, SingularVectors);

void svd(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const auto vectors = AttrReader(call.attrs).boolean() ? SingularVectors::Full : SingularVectors::Thin;
  const Batch a(in.view());
  const Batch u(call.outputs[0]);
  const Batch s(call.outputs[1], true);
  const Batch v(call.outputs[2]);
  if (a.count == 0) {
    setIdentity(u);
    setIdentity(v);
  }
  forEachOf(a, 8 * a.size() * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    if (!isFinite(a.at<T>(i), a.size())) {
      for (const Batch* b : {&u, &s, &v}) setNan<T>(*b, i);
      return;
    }
    const SingularFactors<T> factors = singularFactors<T>(a.at<T>(i), a.rows, a.columns, vectors);
    factors.u.writeRows(u.at<T>(i));
    std::ranges::copy(factors.values, s.at<T>(i));
    std::ranges::copy(factors.v.elements, v.at<T>(i));  // v^T by rows
  });
}

void svdvals(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const Batch a(in.view());
  const Batch s(call.outputs[0], true);
  forEachOf(a, 4 * a.size() * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    if (!isFinite(a.at<T>(i), a.size())) return setNan<T>(s, i);
    std::ranges::copy(singularFactors<T>(a.at<T>(i), a.rows, a.columns, SingularVectors::None).values, s.at<T>(i));
  });
}

}  // namespace tandem::lib
