// Eigen over the matrices of a batch: serial for one matrix, whose copy is aligned, so that the order of its sums is a
// function of the sizes alone.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Dense>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The matrices (or, of rank 1 less, vectors) of a contiguous array.
struct Batch {
  explicit Batch(const ArrayView& a, bool vectors = false)
      : view(a), columns(a.shape.back()), rows(vectors ? 1 : a.shape[a.shape.size() - 2]),
        count(columns * rows == 0 ? 0 : a.numel() / (columns * rows)) {}
  const ArrayView& view;
  std::int64_t columns, rows, count;

  template <class T>
  [[nodiscard]] Eigen::Map<Rows<T>> at(std::int64_t i) const {
    return {view.as<T>() + i * rows * columns, rows, columns};
  }
};

/// Calls each(type tag, i) for every matrix of the batch, of about `work` steps.
template <class Each>
void forEach(DType dtype, std::int64_t count, std::int64_t work, Each each) {
  withFloating(dtype, [&](auto tag) {
    parallelFor(count, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) each(tag, i);
    });
  });
}

/// Each matrix of the batch becomes the identity: factors of what has no elements.
inline void setIdentity(const Batch& b) {
  withFloating(b.view.dtype, [&](auto tag) {
    for (std::int64_t i = 0; i < b.count; ++i) b.at<typename decltype(tag)::Type>(i).setIdentity();
  });
}

/// Where an element is not finite the iterations have no end: all results are NaN.
template <class T>
void setNan(Eigen::Map<Rows<T>> m) {
  m.setConstant(std::numeric_limits<T>::quiet_NaN());
}

}  // namespace tandem::lib
