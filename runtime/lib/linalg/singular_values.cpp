#include "runtime/lib/linalg/singular_values.h"

#include "runtime/lib/linalg/bidiagonal.h"

namespace tandem::lib {
namespace {

/// From so many times as many rows as columns on, it pays to make the matrix a triangle first.
constexpr double kTall = 1.6;

/// Q times the square, with columns of the unit matrix beside it if there are more columns.
template <class T, class Q>
Dense<T> timesSquare(const Q& q, const Dense<T>& square, std::int64_t rows, std::int64_t columns) {
  Dense<T> found = Dense<T>::Identity(rows, columns);
  found.topLeftCorner(square.rows(), square.cols()) = square;
  found.applyOnTheLeft(q);
  return found;
}

/// Of a matrix with at least as many rows as columns, made bidiagonal; `u` is to have so many columns.
template <class T>
SingularFactors<T> factorsOfTall(const Dense<T>& a, SingularVectors vectors, std::int64_t uColumns) {
  const std::int64_t n = a.cols();
  Eigen::internal::UpperBidiagonalization<Dense<T>> turned(a);
  const auto& bands = turned.bidiagonal().coeffs();  // above the diagonal, the diagonal
  Eigen::VectorXd diagonal = bands.row(1).transpose().template cast<double>();
  const Eigen::VectorXd above = bands.row(0).tail(n - 1).transpose().template cast<double>();
  const bool hasVectors = vectors != SingularVectors::None;
  Rows<T> u(hasVectors ? n : 0, n);
  Rows<T> v(hasVectors ? n : 0, n);
  if (!solveBidiagonal<T>(diagonal.data(), above.data(), n, hasVectors ? u.data() : nullptr,
                          hasVectors ? v.data() : nullptr))
    fail<LinAlgError>(
        "linalg.svd: the iteration failed to converge because the input matrix is ill-conditioned or has too many ",
        "repeated singular values.");
  SingularFactors<T> found;
  found.values = diagonal.template cast<T>();
  if (!hasVectors) return found;
  found.u = timesSquare<T>(turned.householderU(), u, a.rows(), uColumns);
  found.v = v;
  found.v.applyOnTheLeft(turned.householderV());
  return found;
}

}  // namespace

template <class T>
SingularFactors<T> singularFactors(const Dense<T>& a, SingularVectors vectors) {
  const std::int64_t m = a.rows();
  const std::int64_t n = a.cols();
  if (m < n) {
    SingularFactors<T> found = singularFactors<T>(a.transpose(), vectors);
    found.u.swap(found.v);
    return found;
  }
  // Of a size that no product can leave the range of.
  const T largest = a.cwiseAbs().maxCoeff();
  const T scale = largest > 0 ? largest : T(1);
  const std::int64_t uColumns = vectors == SingularVectors::Full ? m : n;
  SingularFactors<T> found;
  if (static_cast<double>(m) >= kTall * static_cast<double>(n)) {
    const Eigen::HouseholderQR<Dense<T>> qr(a / scale);
    found = factorsOfTall<T>(qr.matrixQR().topRows(n).template triangularView<Eigen::Upper>(), vectors, n);
    if (vectors != SingularVectors::None) found.u = timesSquare<T>(qr.householderQ(), found.u, m, uColumns);
  } else {
    found = factorsOfTall<T>(a / scale, vectors, uColumns);
  }
  found.values *= scale;
  return found;
}
template SingularFactors<float> singularFactors(const Dense<float>&, SingularVectors);
template SingularFactors<double> singularFactors(const Dense<double>&, SingularVectors);

void svd(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  const auto vectors = AttrReader(call.attrs).boolean() ? SingularVectors::Full : SingularVectors::Thin;
  Batch a(in.view());
  Batch u(call.outputs[0]);
  Batch s(call.outputs[1], true);
  Batch v(call.outputs[2]);
  if (a.count == 0) {
    setIdentity(u);
    setIdentity(v);
  }
  forEach(a.view.dtype, a.count, 8 * a.rows * a.columns * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const Dense<T> x = a.at<T>(i);
    if (!x.allFinite()) {
      setNan<T>(u.at<T>(i));
      setNan<T>(s.at<T>(i));
      return setNan<T>(v.at<T>(i));
    }
    const SingularFactors<T> factors = singularFactors<T>(x, vectors);
    u.at<T>(i) = factors.u;
    s.at<T>(i) = factors.values.transpose();
    v.at<T>(i) = factors.v.transpose();
  });
}

void svdvals(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch s(call.outputs[0], true);
  forEach(a.view.dtype, a.count, 4 * a.rows * a.columns * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const Dense<T> x = a.at<T>(i);
    if (!x.allFinite()) return setNan<T>(s.at<T>(i));
    s.at<T>(i) = singularFactors<T>(x, SingularVectors::None).values.transpose();
  });
}

}  // namespace tandem::lib
