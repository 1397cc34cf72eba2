#include "runtime/lib/indexing/class_indices.h"

#include <atomic>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/indexing/index_range.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

bool isClass(std::int64_t value, std::int64_t classes) { return value >= 0 && value < classes; }

/// Copies classes, 0 in the place of the ignored ones. Are all in [0, classes)?
[[gnu::always_inline]] inline bool copyClasses(const std::int64_t* from, std::int64_t n, std::int64_t classes,
                                               std::int64_t ignored, std::int64_t* to) {
  std::uint64_t outside = 0;
  // Both sign bits: negative, or not below the number of classes.
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t v = from[i] == ignored ? 0 : from[i];
    outside |= static_cast<std::uint64_t>(v) | static_cast<std::uint64_t>(classes - 1 - (v & INT64_MAX));
    to[i] = v;
  }
  return outside >> 63 == 0;
}

}  // namespace

void checkClasses(const ArrayView& target, std::int64_t classes, std::int64_t ignored) {
  const auto* values = target.as<std::int64_t>();
  Walker<1> at(target.shape, {target.strides});
  for (std::int64_t i = 0; i < target.numel(); ++i, at.next()) {
    const std::int64_t value = values[at.offset[0]];
    if (!isClass(value, classes) && value != ignored) failClass(value);
  }
}

void class_indices(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t classes = attrs.integer();
  const std::int64_t ignored = attrs.integer();
  const ArrayView& target = call.inputs[0];
  auto* out = call.outputs[0].as<std::int64_t>();
  const std::int64_t* from = target.as<std::int64_t>();
  if (!target.contiguous()) {
    copyArray(target, call.outputs[0]);
    from = out;
  }
  std::atomic<bool> good{true};
  parallelFor(target.numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    const bool inside = withHostIsa(
        [&]() TANDEM_INLINED { return copyClasses(from + begin, end - begin, classes, ignored, out + begin); });
    if (!inside) good.store(false, std::memory_order_relaxed);
  });
  // The first in order, whichever thread met one first; where there are no classes, an ignored one was one of them.
  if (!good.load(std::memory_order_relaxed)) checkClasses(target, classes, ignored);
}

}  // namespace tandem::lib
