// QR of each matrix of a batch.
#include <algorithm>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/reflectors.h"

namespace tandem::lib {

void qr(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const Batch a(in.view());
  const Batch q(call.outputs[0]);
  const Batch r(call.outputs[1]);
  if (a.count == 0) setIdentity(q);
  forEachOf(a, a.size() * std::min(a.rows, a.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const Reflectors<T> h = factorQr(ColumnMatrix<T>::ofRows(a.at<T>(i), a.rows, a.columns));
    T* triangle = r.at<T>(i);
    for (std::int64_t row = 0; row < r.rows; ++row)
      for (std::int64_t j = 0; j < r.columns; ++j)
        triangle[row * r.columns + j] = j < row ? T() : *h.vectors.at(row, j);
    auto columns = ColumnMatrix<T>::unit(q.rows, q.columns);
    applyReflectors(h, Reflect::Plain, columns, true);
    columns.writeRows(q.at<T>(i));
  });
}

void geqrf(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const Batch a(in.view());
  const Batch packed(call.outputs[0]);
  const Batch tau(call.outputs[1], true);
  forEachOf(a, a.size() * tau.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const Reflectors<T> h = factorQr(ColumnMatrix<T>::ofRows(a.at<T>(i), a.rows, a.columns));
    h.vectors.writeRows(packed.at<T>(i));
    std::ranges::copy(h.tau, tau.at<T>(i));
  });
}

void householder_product(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const Contiguous factors(call.inputs[1]);
  const Batch a(in.view());
  const Batch tau(factors.view(), true);
  const Batch out(call.outputs[0]);
  forEachOf(a, a.size() * tau.columns, [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const T* scales = tau.at<T>(i);
    const Reflectors<T> h{ColumnMatrix<T>::ofRows(a.at<T>(i), a.rows, a.columns), {scales, scales + tau.columns}, 0};
    auto columns = ColumnMatrix<T>::unit(a.rows, a.columns);
    applyReflectors(h, Reflect::Plain, columns, true);
    columns.writeRows(out.at<T>(i));
  });
}

}  // namespace tandem::lib
