// Singular values of each matrix of a batch, by Eigen.
#include "runtime/lib/linalg/eigen_batch.h"

namespace tandem::lib {

void svd(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  bool full = AttrReader(call.attrs).boolean();
  Batch a(in.view());
  Batch u(call.outputs[0]);
  Batch s(call.outputs[1], true);
  Batch v(call.outputs[2]);
  if (a.count == 0) {
    setIdentity(u);
    setIdentity(v);
  }
  unsigned options = full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  forEach(a.view.dtype, a.count, 8 * a.rows * a.columns * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Dense<T> x = a.at<T>(i);
    if (!x.allFinite()) {
      setNan<T>(u.at<T>(i));
      setNan<T>(s.at<T>(i));
      return setNan<T>(v.at<T>(i));
    }
    Eigen::BDCSVD<Dense<T>> factors(x, options);
    u.at<T>(i) = factors.matrixU();
    s.at<T>(i) = factors.singularValues().transpose();
    v.at<T>(i) = factors.matrixV().transpose();
  });
}

void svdvals(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch s(call.outputs[0], true);
  forEach(a.view.dtype, a.count, 4 * a.rows * a.columns * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Dense<T> x = a.at<T>(i);
    if (!x.allFinite()) return setNan<T>(s.at<T>(i));
    s.at<T>(i) = Eigen::BDCSVD<Dense<T>>(x, 0).singularValues().transpose();
  });
}

}  // namespace tandem::lib
