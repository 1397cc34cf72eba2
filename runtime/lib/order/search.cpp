// searchsorted: values are looked for by halving their rows, many at once; and the order of whole rows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Order in which NaN is largest.
template <class C>
bool less(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) return a < b || (b != b && a == a);
  return a < b;
}

constexpr std::int64_t kTogether = 32;  // searches, which wait for memory side by side

/// Is an element before the place of v: not >= v, or not > v (Right)? NaN is neither, on both sides.
template <bool Right, class C>
[[gnu::always_inline]] inline std::int64_t isBefore(C element, C v) {
  return static_cast<std::int64_t>(Right ? !(element > v) : !(element >= v));
}

/// Adds to at[k], where the row of value k begins, the value's place in the n elements from there on. The elements that
/// are compared are PyTorch's, so that a row in no order, as one with NaN in it, has its places. All take the same
/// steps, and no step is a branch, which would be guessed wrong every other time: of each value n elements are left, or
/// one fewer.
template <bool Right, class T, class C = typename Element<T>::Compute>
[[gnu::always_inline]] inline void search(const T* rows, std::int64_t n, std::int64_t count, const C* v,
                                          std::int64_t* at) {
  std::array<std::int64_t, kTogether> fewer{};  // 1 where it is one fewer
  for (; n > 1; n /= 2) {
    const std::int64_t half = n / 2;
    const T* middles = rows + half;
    if (n % 2 == 1) {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t before = isBefore<Right>(C(Element<T>::load(middles[at[k]])), v[k]);
        at[k] += before * (half + 1);
        fewer[k] &= before;
      }
    } else {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t before = isBefore<Right>(C(Element<T>::load(middles[at[k] - fewer[k]])), v[k]);
        at[k] += before * (half + 1 - fewer[k]);
        fewer[k] |= before;
      }
    }
  }
  // Where none is left the element in front is read.
  for (std::int64_t k = 0; n == 1 && k < count; ++k)
    at[k] += isBefore<Right>(C(Element<T>::load(rows[at[k] - fewer[k]])), v[k]) & (1 - fewer[k]);
}

/// The places of the values [begin, end), of which `width` belong to each row of n elements.
template <bool Right, class T>
[[gnu::always_inline]] inline void searchAll(const T* rows, std::int64_t n, const T* values, std::int64_t width,
                                             std::int64_t begin, std::int64_t end, std::int64_t* out) {
  std::array<typename Element<T>::Compute, kTogether> v;
  std::array<std::int64_t, kTogether> first, at;
  std::int64_t row = begin / width;
  for (std::int64_t i = begin, left = (row + 1) * width - begin; i < end; i += kTogether) {
    const std::int64_t count = std::min(kTogether, end - i);
    for (std::int64_t k = 0; k < count; ++k, --left) {
      if (left == 0) ++row, left = width;
      first[k] = at[k] = row * n;
      v[k] = Element<T>::load(values[i + k]);
    }
    search<Right>(rows, n, count, v.data(), at.data());
    for (std::int64_t k = 0; k < count; ++k) out[i + k] = at[k] - first[k];
  }
}

/// Does the row of n elements at `a` come before the one at `b`?
template <class T>
bool rowLess(const void* a, const void* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    auto x = Element<T>::load(static_cast<const T*>(a)[i]);
    auto y = Element<T>::load(static_cast<const T*>(b)[i]);
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
  // One sort for all dtypes: only comparing knows them.
  const auto comesFirst = withType(rows.view().dtype, [](auto tag) { return &rowLess<typename decltype(tag)::Type>; });
  const auto* bytes = rows.as<std::byte>();
  const std::int64_t step = width * static_cast<std::int64_t>(itemSize(rows.view().dtype));
  std::stable_sort(order, order + n, [=](std::int64_t a, std::int64_t b) {
    return comesFirst(bytes + a * step, bytes + b * step, width);
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
    using Stored = typename decltype(tag)::Type;
    using T = std::conditional_t<std::is_same_v<Stored, bool>, std::uint8_t, Stored>;
    const T* rows = sorted.as<T>();
    const T* from = values.as<T>();
    parallelFor(values.view().numel(), kSerialElements / 16, [&](std::int64_t begin, std::int64_t end) {
      withAvx2([&]() TANDEM_INLINED {
        right ? searchAll<true>(rows, n, from, width, begin, end, out)
              : searchAll<false>(rows, n, from, width, begin, end, out);
      });
    });
  });
}

}  // namespace tandem::lib
