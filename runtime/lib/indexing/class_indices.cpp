#include "runtime/lib/indexing/class_indices.h"

#include <atomic>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/indexing/index_range.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

bool isClass(std::int64_t value, std::int64_t classes) { return value >= 0 && value < classes; }

/// visit(i, value) for elements `begin` to `end` in row-major order.
template <class F>
void eachOf(const ArrayView& target, std::int64_t begin, std::int64_t end, F visit) {
  const auto* values = target.as<std::int64_t>();
  Walker<1> at(target.shape, {target.strides}, begin);
  for (std::int64_t i = begin; i < end; ++i, at.next()) visit(i, values[at.offset[0]]);
}

}  // namespace

void checkClasses(const ArrayView& target, std::int64_t classes, std::int64_t ignored) {
  eachOf(target, 0, target.numel(), [&](std::int64_t, std::int64_t value) {
    if (!isClass(value, classes) && value != ignored) failClass(value);
  });
}

void class_indices(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t classes = attrs.integer();
  const std::int64_t ignored = attrs.integer();
  const ArrayView& target = call.inputs[0];
  auto* out = call.outputs[0].as<std::int64_t>();
  std::atomic<bool> good{true};
  parallelFor(target.numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    bool allGood = true;
    eachOf(target, begin, end, [&](std::int64_t i, std::int64_t value) {
      allGood &= isClass(value, classes) || value == ignored;
      out[i] = value == ignored ? 0 : value;
    });
    if (!allGood) good.store(false, std::memory_order_relaxed);
  });
  // The first in order, whichever thread met one first.
  if (!good.load(std::memory_order_relaxed)) checkClasses(target, classes, ignored);
}

}  // namespace tandem::lib
