// QR of each matrix of a batch, by Eigen.
#include "runtime/lib/linalg/eigen_batch.h"

namespace tandem::lib {

void qr(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch q(call.outputs[0]);
  Batch r(call.outputs[1]);
  if (a.count == 0) setIdentity(q);
  forEach(a.view.dtype, a.count, a.rows * a.columns * std::min(a.rows, a.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Eigen::HouseholderQR<Dense<T>> factors{Dense<T>(a.at<T>(i))};
    Dense<T> columns = Dense<T>::Identity(q.rows, q.columns);
    columns.applyOnTheLeft(factors.householderQ());
    q.at<T>(i) = columns;
    r.at<T>(i) = Dense<T>(factors.matrixQR().topRows(r.rows).template triangularView<Eigen::Upper>());
  });
}

void geqrf(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch packed(call.outputs[0]);
  Batch tau(call.outputs[1], true);
  forEach(a.view.dtype, a.count, a.rows * a.columns * tau.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Eigen::HouseholderQR<Dense<T>> factors{Dense<T>(a.at<T>(i))};
    packed.at<T>(i) = factors.matrixQR();
    tau.at<T>(i) = factors.hCoeffs().transpose();
  });
}

void householder_product(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Contiguous factors(call.inputs[1]);
  Batch a(in.view());
  Batch tau(factors.view(), true);
  Batch out(call.outputs[0]);
  forEach(a.view.dtype, a.count, a.rows * a.columns * tau.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const Dense<T> vectors = a.at<T>(i).leftCols(tau.columns);
    const Eigen::Matrix<T, Eigen::Dynamic, 1> scales = tau.at<T>(i).transpose();
    Dense<T> columns = Dense<T>::Identity(a.rows, a.columns);
    columns.applyOnTheLeft(Eigen::householderSequence(vectors, scales));
    out.at<T>(i) = columns;
  });
}

}  // namespace tandem::lib
