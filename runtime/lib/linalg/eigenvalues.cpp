// Eigenvalues of each symmetric matrix of a batch, made tridiagonal by reflectors (tridiagonal.h).
#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/reflectors.h"
#include "runtime/lib/linalg/tridiagonal.h"

namespace tandem::lib {
namespace {

/// Both triangles of what one says.
template <class T>
ColumnMatrix<T> symmetricOf(const T* rows, std::int64_t n, bool upper) {
  auto made = ColumnMatrix<T>::ofRows(rows, n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from = upper ? i : 0, count = upper ? n - i : i + 1;
    std::copy_n(rows + i * n + from, count, made.at(from, i));
  }
  return made;
}

/// Writes the values of a finite matrix, and its vectors as columns of a row-major one unless null.
template <class T>
void solveSymmetric(ColumnMatrix<T> a, T* values, T* vectors) {
  const std::int64_t n = a.rows;
  const T size = takeSize(a);
  Tridiagonal<T> t = toTridiagonal(std::move(a));
  constexpr double precision = std::numeric_limits<T>::epsilon();
  if (!(vectors != nullptr ? solveTridiagonal(t.diagonal.data(), t.beside.data(), n, vectors)
                           : tridiagonalValues(t.diagonal.data(), t.beside.data(), n, precision)))
    fail<LinAlgError>(
        "linalg.eigh: the iteration failed to converge because the input matrix is ill-conditioned or has ",
        "too many repeated eigenvalues.");
  std::ranges::transform(t.diagonal, values, [&](double v) { return static_cast<T>(v * static_cast<double>(size)); });
  if (vectors == nullptr) return;
  auto columns = ColumnMatrix<T>::ofRows(vectors, n, n);
  applyReflectors(t.q, Reflect::Plain, columns);
  columns.writeRows(vectors);
}

void solveAll(const LibraryCall& call, const Batch* vectors) {
  const Contiguous in(call.inputs[0]);
  const bool upper = AttrReader(call.attrs).boolean();
  const Batch a(in.view());
  const Batch values(call.outputs[0], true);
  forEachOf(a, (vectors == nullptr ? 2 : 8) * a.rows * a.size(), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    ColumnMatrix<T> both = symmetricOf(a.at<T>(i), a.rows, upper);
    if (isFinite(both.elements.data(), a.size()))
      return solveSymmetric<T>(std::move(both), values.at<T>(i), vectors == nullptr ? nullptr : vectors->at<T>(i));
    setNan<T>(values, i);
    if (vectors != nullptr) setNan<T>(*vectors, i);
  });
}

}  // namespace

void eigh(const LibraryCall& call) {
  const Batch vectors(call.outputs[1]);
  solveAll(call, &vectors);
}

void eigvalsh(const LibraryCall& call) { solveAll(call, nullptr); }

}  // namespace tandem::lib
