// Symmetric eigenvalues of each matrix of a batch, by Eigen.
#include "runtime/lib/linalg/eigen_batch.h"

namespace tandem::lib {

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
    Eigen::SelfAdjointEigenSolver<Dense<T>> solver(lower);
    values.at<T>(i) = solver.eigenvalues().transpose();
    vectors.at<T>(i) = solver.eigenvectors();
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
