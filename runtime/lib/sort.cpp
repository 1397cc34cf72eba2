// sort and topk: lines of (value, index) pairs. NaN is greater than everything, equal values keep their order, so the
// result is one, whatever the algorithm.
#include <algorithm>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

template <class C>
bool less(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) return a < b || (b != b && a == a);
  return a < b;
}

template <class T>
struct Item {
  T value;
  std::int64_t index;
};

/// Strict order by value, then index.
template <class T>
struct Ascending {
  bool operator()(const Item<T>& x, const Item<T>& y) const {
    auto a = Element<T>::load(x.value);
    auto b = Element<T>::load(y.value);
    return less(a, b) || (!less(b, a) && x.index < y.index);
  }
};
template <class T>
struct Descending {
  bool operator()(const Item<T>& x, const Item<T>& y) const {
    auto a = Element<T>::load(x.value);
    auto b = Element<T>::load(y.value);
    return less(b, a) || (!less(a, b) && x.index < y.index);
  }
};

/// Calls order(items) for each line of x along the dim and writes the first `keep` of what it leaves.
template <class T, class Order>
void eachLine(const LibraryCall& call, const ArrayView& x, const DimSplit& s, std::int64_t keep, Order order) {
  T* values = call.outputs[0].as<T>();
  auto* indices = call.outputs[1].as<std::int64_t>();
  if (keep == 0) return;
  parallelFor(s.outer * s.inner, kSerialElements / 8 / s.size + 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Item<T>> items(static_cast<std::size_t>(s.size));
    for (std::int64_t line = begin; line < end; ++line) {
      std::int64_t o = line / s.inner;
      std::int64_t i = line % s.inner;
      const T* from = x.as<T>() + o * s.size * s.inner + i;
      for (std::int64_t r = 0; r < s.size; ++r) items[static_cast<std::size_t>(r)] = {from[r * s.inner], r};
      order(items);
      for (std::int64_t r = 0; r < keep; ++r) {
        std::int64_t to = (o * keep + r) * s.inner + i;
        values[to] = items[static_cast<std::size_t>(r)].value;
        indices[to] = items[static_cast<std::size_t>(r)].index;
      }
    }
  });
}

}  // namespace

void sort(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(x.view().shape.size()));
  bool descending = attrs.boolean();
  DimSplit split(x.view().shape, dim);
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    eachLine<T>(call, x.view(), split, split.size, [&](std::vector<Item<T>>& items) {
      if (descending)
        std::sort(items.begin(), items.end(), Descending<T>{});
      else
        std::sort(items.begin(), items.end(), Ascending<T>{});
    });
  });
}

void topk(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  std::int64_t k = attrs.integer();
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(x.view().shape.size()));
  bool largest = attrs.boolean();
  DimSplit split(x.view().shape, dim);
  if (k < 0 || k > split.size) fail<Error>("topk: k = ", k, " is out of range for a dim of size ", split.size);
  // Always sorted, asked for or not: one result is better than two.
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    eachLine<T>(call, x.view(), split, k, [&](std::vector<Item<T>>& items) {
      if (largest)
        std::partial_sort(items.begin(), items.begin() + k, items.end(), Descending<T>{});
      else
        std::partial_sort(items.begin(), items.begin() + k, items.end(), Ascending<T>{});
    });
  });
}

}  // namespace tandem::lib
