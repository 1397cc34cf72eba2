// searchsorted: each value is looked for by halving its row; and the order of whole rows.
#include <algorithm>
#include <numeric>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Order in which NaN is largest.
template <class C>
bool less(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) return a < b || (b != b && a == a);
  return a < b;
}

/// How many elements of the row are less than `v`, or not greater (`right`).
template <class T>
std::int64_t placeOf(const T* row, std::int64_t n, typename Element<T>::Compute v, bool right) {
  std::int64_t start = 0;
  while (n > 0) {
    std::int64_t half = n / 2;
    auto middle = Element<T>::load(row[start + half]);
    bool before = right ? !less(v, middle) : less(middle, v);
    if (before) start += half + 1;
    n = before ? n - half - 1 : half;
  }
  return start;
}

template <class T>
bool rowLess(const T* a, const T* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    auto x = Element<T>::load(a[i]);
    auto y = Element<T>::load(b[i]);
    if (less(x, y)) return true;
    if (less(y, x)) return false;
  }
  return false;
}

}  // namespace

void lex_order(const LibraryCall& call) {
  Contiguous rows(call.inputs[0]);
  std::int64_t n = rows.view().shape[0];
  std::int64_t width = rows.view().shape[1];
  auto* order = call.outputs[0].as<std::int64_t>();
  std::iota(order, order + n, std::int64_t{0});
  withType(rows.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* p = rows.as<T>();
    std::stable_sort(order, order + n,
                     [=](std::int64_t a, std::int64_t b) { return rowLess(p + a * width, p + b * width, width); });
  });
}

void search_rows(const LibraryCall& call) {
  Contiguous sorted(call.inputs[0]);
  Contiguous values(call.inputs[1]);
  bool right = AttrReader(call.attrs).boolean();
  const Dims& shape = sorted.view().shape;
  std::int64_t n = shape.back();
  // One row for all values, or one for each row of values.
  std::int64_t width = shape.size() == 1 ? values.view().numel() : values.view().shape.back();
  auto* out = call.outputs[0].as<std::int64_t>();
  withType(sorted.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* rows = sorted.as<T>();
    const T* from = values.as<T>();
    parallelFor(values.view().numel(), kSerialElements / 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        out[i] = placeOf(rows + i / width * n, n, Element<T>::load(from[i]), right);
    });
  });
}

}  // namespace tandem::lib
