// multilabel_margins: sums of max(0, 1 - x[y] + x[i]) over the labels y of a row and the classes i that are none,
// divided by the number of classes, and their slopes. What the labels add to a class is added in their order, then the
// classes in theirs.
#include <algorithm>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

template <class C>
struct Row {
  const C* x;           // its elements,
  C* sums;              // what is added to them,
  C* above;             // how many labels add to them,
  const bool* isLabel;  // whether they are labels
  std::int64_t classes;
};

/// Adds what the label of element `label` makes of the others, and returns to how many of them. An excess that is NaN
/// is none, as in PyTorch.
template <class C>
[[gnu::always_inline]] inline std::int64_t addLabel(const Row<C>& row, C label) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < row.classes; ++i) {
    const C excess = row.x[i] - label + 1;
    const bool counts = excess > 0 && !row.isLabel[i];
    row.sums[i] += counts ? excess : C{};
    row.above[i] += counts ? C{1} : C{};
    count += counts;
  }
  return count;
}

}  // namespace

void multilabel_margins(const LibraryCall& call) {
  const Contiguous x(call.inputs[0]);
  const Contiguous labels(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  const std::int64_t classes = call.inputs[0].shape[1];
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    if constexpr (std::is_floating_point_v<C>) {
      parallelFor(out.numel(), grainOf(8 * classes), [&](std::int64_t begin, std::int64_t end) {
        const Scratch<C> elements(classes);
        const Scratch<C> sums(classes);
        const Scratch<C> slopes(classes);
        const Scratch<bool> isLabel(classes);
        const Row<C> row{elements.data(), sums.data(), slopes.data(), isLabel.data(), classes};
        for (std::int64_t r = begin; r < end; ++r) {
          const T* from = x.as<T>() + r * classes;
          const std::int64_t* label = labels.as<std::int64_t>() + r * classes;
          const std::int64_t* last = std::find_if(label, label + classes, [](std::int64_t v) { return v < 0; });
          std::transform(from, from + classes, elements.data(), [](T v) { return Element<T>::load(v); });
          std::fill_n(sums.data(), classes, C{});
          std::fill_n(slopes.data(), classes, C{});
          std::fill_n(isLabel.data(), classes, false);
          for (const std::int64_t* l = label; l != last; ++l)
            if (*l < classes) isLabel[*l] = true;
          withAvx2([&]() TANDEM_INLINED {
            for (const std::int64_t* l = label; l != last; ++l)
              if (*l < classes) {
                const std::int64_t count = addLabel(row, elements[*l]);
                slopes[*l] -= static_cast<C>(count);
              }
          });
          C sum{};
          for (std::int64_t i = 0; i < classes; ++i) sum += sums[i];
          const auto n = static_cast<C>(classes);
          out.as<T>()[r] = Element<T>::store(sum / n);
          T* to = call.outputs[1].as<T>() + r * classes;
          std::transform(slopes.data(), slopes.data() + classes, to, [n](C v) { return Element<T>::store(v / n); });
        }
      });
    } else {
      fail<InternalError>("multilabel_margins of ", dtypeName(out.dtype));
    }
  });
}

}  // namespace tandem::lib
