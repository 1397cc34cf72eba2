// The X of least |A X - B|. QR serves where A has full rank for certain: its condition is at most |R| |R^-1| in the
// Frobenius norm. Otherwise its singular values decide.
#include "runtime/lib/linalg/singular_values.h"

namespace tandem::lib {
namespace {

template <class T>
class LeastSquares {
 public:
  LeastSquares(Eigen::Map<Rows<T>> a, Eigen::Map<Rows<T>> b, T rcond) : a_(a), b_(b), rcond_(rcond) {}

  /// Writes x and returns the rank.
  std::int64_t run(Eigen::Map<Rows<T>> x) const {
    const std::int64_t k = std::min(a_.rows(), a_.cols());
    const bool tall = a_.rows() >= a_.cols();
    const Eigen::HouseholderQR<Dense<T>> qr(tall ? Dense<T>(a_) : Dense<T>(a_.transpose()));
    const auto square = qr.matrixQR().topRows(k);
    const auto r = square.template triangularView<Eigen::Upper>();
    if (!isFullRank(square)) return byValues(x);
    if (tall) {
      Dense<T> right = b_;
      right.applyOnTheLeft(qr.householderQ().adjoint());
      x = Dense<T>(r.solve(right.topRows(k)));
      return k;
    }
    Dense<T> found = Dense<T>::Zero(a_.cols(), b_.cols());
    found.topRows(k) = r.transpose().solve(Dense<T>(b_));
    found.applyOnTheLeft(qr.householderQ());
    x = found;
    return k;
  }

 private:
  template <class Square>
  [[nodiscard]] bool isFullRank(const Square& square) const {
    const auto r = square.template triangularView<Eigen::Upper>();
    const Dense<T> inverse = r.solve(Dense<T>::Identity(square.rows(), square.rows()));
    const T condition = Dense<T>(r).norm() * inverse.norm();
    return rcond_ >= 0 && condition * rcond_ < 1;  // not where it is NaN
  }
  std::int64_t byValues(Eigen::Map<Rows<T>> x) const {
    if (!a_.allFinite()) {
      setNan<T>(x);
      return 0;
    }
    const SingularFactors<T> svd = singularFactors<T>(a_, SingularVectors::Thin);
    Dense<T> inside = svd.u.transpose() * b_;
    std::int64_t rank = 0;
    for (std::int64_t i = 0; i < inside.rows(); ++i) {
      const T value = svd.values[i];
      const bool kept = value > rcond_ * svd.values[0];
      rank += kept ? 1 : 0;
      inside.row(i) *= kept ? 1 / value : T(0);
    }
    x = svd.v * inside;
    return rank;
  }

  Eigen::Map<Rows<T>> a_, b_;
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
  }
  forEach(a.view.dtype, a.count, a.rows * a.columns * std::min(a.rows, a.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const Eigen::Map<Rows<T>> right(rights.as<T>() + i * b.rows * b.columns, b.rows, b.columns);
    const Eigen::Map<Rows<T>> found(out.as<T>() + i * a.columns * b.columns, a.columns, b.columns);
    ranks[i] = LeastSquares<T>(a.at<T>(i), right, *call.inputs[2].as<T>()).run(found);
  });
}

}  // namespace tandem::lib
