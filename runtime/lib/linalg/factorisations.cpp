// LU, QR, SVD, symmetric eigenvalues and exponentials of each matrix of a batch, by Eigen: serial for one matrix, whose
// copy is aligned, so that the order of its sums is a function of the sizes alone.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Dense>
#include <unsupported/Eigen/MatrixFunctions>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
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
  auto run = [&](auto tag) {
    parallelFor(count, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) each(tag, i);
    });
  };
  dtype == DType::Float64 ? run(TypeTag<double>{}) : run(TypeTag<float>{});
}

/// P^T a = L U for an m x n matrix; of fewer rows than columns, the first m columns decide.
template <class T>
void factorLu(const Eigen::Map<Rows<T>>& a, Eigen::Map<Rows<T>> lu, std::int32_t* swaps, std::int64_t* order) {
  std::int64_t m = a.rows();
  std::int64_t n = a.cols();
  std::int64_t k = std::min(m, n);
  // Columns of zeros make a tall matrix square and change nothing of the rest.
  Matrix<T> square = Matrix<T>::Zero(m, m);
  square.leftCols(k) = a.leftCols(k);
  Eigen::PartialPivLU<Matrix<T>> factors(square);
  lu.leftCols(k) = factors.matrixLU().leftCols(k);
  const auto& p = factors.permutationP().indices();  // row i of a comes to row p[i]
  for (std::int64_t i = 0; i < m; ++i) order[p[i]] = i;
  if (n > k) {
    Matrix<T> rest(m, n - k);
    for (std::int64_t i = 0; i < m; ++i) rest.row(i) = a.row(order[i]).tail(n - k);
    factors.matrixLU().template triangularView<Eigen::UnitLower>().solveInPlace(rest);
    lu.rightCols(n - k) = rest;
  }
  // The swaps that make this order, one after another.
  std::vector<std::int64_t> now(static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < m; ++i) now[static_cast<std::size_t>(i)] = i;
  for (std::int64_t i = 0; i < k; ++i) {
    auto from = std::find(now.begin() + i, now.end(), order[i]);
    swaps[i] = static_cast<std::int32_t>(from - now.begin()) + 1;
    std::swap(now[static_cast<std::size_t>(i)], *from);
  }
}

/// Where an element is not finite the iterations have no end: all results are NaN.
template <class T>
bool isFinite(const Matrix<T>& a) {
  return a.allFinite();
}
template <class T>
void setNan(Eigen::Map<Rows<T>> m) {
  m.setConstant(std::numeric_limits<T>::quiet_NaN());
}

template <class T>
void identityOf(Eigen::Map<Rows<T>> q) {
  q.setIdentity();
}

}  // namespace

void lu(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch lu(call.outputs[0]);
  std::int64_t k = std::min(a.rows, a.columns);
  auto* swaps = call.outputs[1].as<std::int32_t>();
  auto* order = call.outputs[2].as<std::int64_t>();
  if (a.count == 0)  // no elements, but there may be rows
    for (std::int64_t i = 0; i < call.outputs[2].numel(); ++i) order[i] = i % a.rows;
  forEach(a.view.dtype, a.count, a.rows * a.columns * k, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    factorLu<T>(a.at<T>(i), lu.at<T>(i), swaps + i * k, order + i * a.rows);
  });
}

void solve(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Contiguous other(call.inputs[1]);
  Batch a(in.view());
  Batch b(other.view());
  Batch x(call.outputs[0]);
  if (b.count == 0) return;
  forEach(a.view.dtype, a.count, a.rows * a.rows * (a.rows + b.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Eigen::PartialPivLU<Matrix<T>> factors{Matrix<T>(a.at<T>(i))};
    Matrix<T> right = b.at<T>(i);
    x.at<T>(i) = Matrix<T>(factors.solve(right));
  });
}

void qr(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch q(call.outputs[0]);
  Batch r(call.outputs[1]);
  bool isDouble = a.view.dtype == DType::Float64;
  if (a.count == 0)
    for (std::int64_t i = 0; i < q.count; ++i) isDouble ? identityOf(q.at<double>(i)) : identityOf(q.at<float>(i));
  forEach(a.view.dtype, a.count, a.rows * a.columns * std::min(a.rows, a.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Eigen::HouseholderQR<Matrix<T>> factors{Matrix<T>(a.at<T>(i))};
    Matrix<T> columns = Matrix<T>::Identity(q.rows, q.columns);
    columns.applyOnTheLeft(factors.householderQ());
    q.at<T>(i) = columns;
    r.at<T>(i) = Matrix<T>(factors.matrixQR().topRows(r.rows).template triangularView<Eigen::Upper>());
  });
}

void geqrf(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch packed(call.outputs[0]);
  Batch tau(call.outputs[1], true);
  forEach(a.view.dtype, a.count, a.rows * a.columns * tau.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Eigen::HouseholderQR<Matrix<T>> factors{Matrix<T>(a.at<T>(i))};
    packed.at<T>(i) = factors.matrixQR();
    tau.at<T>(i) = factors.hCoeffs().transpose();
  });
}

void svd(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  bool full = AttrReader(call.attrs).boolean();
  Batch a(in.view());
  Batch u(call.outputs[0]);
  Batch s(call.outputs[1], true);
  Batch v(call.outputs[2]);
  bool isDouble = a.view.dtype == DType::Float64;
  if (a.count == 0)
    for (const Batch* b : {&u, &v})
      for (std::int64_t i = 0; i < b->count; ++i) isDouble ? identityOf(b->at<double>(i)) : identityOf(b->at<float>(i));
  unsigned options = full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  forEach(a.view.dtype, a.count, 8 * a.rows * a.columns * s.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Matrix<T> x = a.at<T>(i);
    if (!isFinite(x)) {
      setNan<T>(u.at<T>(i));
      setNan<T>(s.at<T>(i));
      return setNan<T>(v.at<T>(i));
    }
    Eigen::BDCSVD<Matrix<T>> factors(x, options);
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
    Matrix<T> x = a.at<T>(i);
    if (!isFinite(x)) return setNan<T>(s.at<T>(i));
    s.at<T>(i) = Eigen::BDCSVD<Matrix<T>>(x, 0).singularValues().transpose();
  });
}

void eigh(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  bool upper = AttrReader(call.attrs).boolean();
  Batch a(in.view());
  Batch values(call.outputs[0], true);
  Batch vectors(call.outputs[1]);
  forEach(a.view.dtype, a.count, 8 * a.rows * a.rows * a.rows, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Matrix<T> lower = a.at<T>(i);
    if (!isFinite(lower)) {
      setNan<T>(values.at<T>(i));
      return setNan<T>(vectors.at<T>(i));
    }
    if (upper) lower.transposeInPlace();
    Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(lower);
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
    Matrix<T> lower = a.at<T>(i);
    if (!isFinite(lower)) return setNan<T>(values.at<T>(i));
    if (upper) lower.transposeInPlace();
    Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(lower, Eigen::EigenvaluesOnly);
    values.at<T>(i) = solver.eigenvalues().transpose();
  });
}

void matrix_exp(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  Batch a(in.view());
  Batch out(call.outputs[0]);
  forEach(a.view.dtype, a.count, 16 * a.rows * a.rows * a.rows, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    Matrix<T> x = a.at<T>(i);
    if (!isFinite(x)) return setNan<T>(out.at<T>(i));
    Matrix<T> e = x.exp();
    out.at<T>(i) = e;
  });
}

}  // namespace tandem::lib
