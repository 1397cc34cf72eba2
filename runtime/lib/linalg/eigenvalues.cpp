// Symmetric eigenvalues of each matrix of a batch: small ones by Eigen, others made tridiagonal by it (tridiagonal.h).
#include "runtime/lib/linalg/eigen_batch.h"
#include "runtime/lib/linalg/tridiagonal.h"

namespace tandem::lib {

bool solveSmallTridiagonal(double* diagonal, const double* beside, std::int64_t n, double* vectors) {
  Eigen::SelfAdjointEigenSolver<Dense<double>> solver;
  solver.computeFromTridiagonal(Eigen::Map<const Eigen::VectorXd>(diagonal, n),
                                Eigen::Map<const Eigen::VectorXd>(beside, n - 1));
  Eigen::Map<Eigen::VectorXd>(diagonal, n) = solver.eigenvalues();
  Eigen::Map<Rows<double>>(vectors, n, n) = solver.eigenvectors();
  return solver.info() == Eigen::Success;
}

namespace {

/// Of a finite matrix, of which the lower triangle is read.
template <class T>
void solveSymmetric(Dense<T>& lower, Eigen::Map<Rows<T>> values, Eigen::Map<Rows<T>> vectors) {
  const std::int64_t n = lower.rows();
  if (n <= kSmallTridiagonal) {
    const Eigen::SelfAdjointEigenSolver<Dense<T>> solver(lower);
    values = solver.eigenvalues().transpose();
    vectors = solver.eigenvectors();
    return;
  }
  // Of a size that no product can leave the range of.
  const T largest = lower.template triangularView<Eigen::Lower>().toDenseMatrix().cwiseAbs().maxCoeff();
  const T scale = largest > 0 ? largest : T(1);
  lower /= scale;
  const Eigen::Tridiagonalization<Dense<T>> turned(lower);
  Eigen::VectorXd diagonal = turned.diagonal().template cast<double>();
  const Eigen::VectorXd beside = turned.subDiagonal().template cast<double>();
  Rows<T> found(n, n);
  if (!solveTridiagonal(diagonal.data(), beside.data(), n, found.data()))
    fail<LinAlgError>(
        "linalg.eigh: the iteration failed to converge because the input matrix is ill-conditioned or has ",
        "too many repeated eigenvalues.");
  values = (diagonal.transpose() * static_cast<double>(scale)).template cast<T>();
  Dense<T> columns = found;
  columns.applyOnTheLeft(turned.matrixQ());
  vectors = columns;
}

}  // namespace

void eigh(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  bool upper = AttrReader(call.attrs).boolean();
  Batch a(in.view());
  Batch values(call.outputs[0], true);
  Batch vectors(call.outputs[1]);
  forEach(a.view.dtype, a.count, 8 * a.rows * a.rows * a.rows, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Dense<T> lower = a.at<T>(i);
    if (!lower.allFinite()) {
      setNan<T>(values.at<T>(i));
      return setNan<T>(vectors.at<T>(i));
    }
    if (upper) lower.transposeInPlace();
    solveSymmetric<T>(lower, values.at<T>(i), vectors.at<T>(i));
  });
}

void eigvalsh(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  bool upper = AttrReader(call.attrs).boolean();
  Batch a(in.view());
  Batch values(call.outputs[0], true);
  forEach(a.view.dtype, a.count, 2 * a.rows * a.rows * a.rows, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Dense<T> lower = a.at<T>(i);
    if (!lower.allFinite()) return setNan<T>(values.at<T>(i));
    if (upper) lower.transposeInPlace();
    Eigen::SelfAdjointEigenSolver<Dense<T>> solver(lower, Eigen::EigenvaluesOnly);
    values.at<T>(i) = solver.eigenvalues().transpose();
  });
}

}  // namespace tandem::lib
