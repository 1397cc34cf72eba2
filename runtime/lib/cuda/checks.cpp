// class_indices, expect, expect_size: what is wrong is raised by whoever waits next, with the CPU's text.
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"
#include "runtime/lib/expectation_errors.h"
#include "runtime/lib/indexing/index_range.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kChecks("checks", kChecksText);

}  // namespace

void class_indices(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t classes = attrs.integer();
  const std::int64_t ignored = attrs.integer();
  const ArrayView& target = call.inputs[0];
  if (target.numel() == 0) return;
  Fault* where = expectNoFault(call, [](const long long* numbers) { tandem::lib::failClass(numbers[0]); });
  launch(kChecks.kernel("classIndices"), elementwise(target.numel()), walk<1>(target.shape, {target.strides}),
         target.data, classes, ignored, call.outputs[0].data, where);
}

void expect(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const auto what = static_cast<Expectation>(attrs.integer());
  const std::int64_t detail = attrs.integer();
  const ArrayView& good = call.inputs[1];
  const ArrayView& shown = call.inputs[2];
  copyUnlessSame(call.inputs[0], call.outputs[0]);
  if (good.numel() == 0) return;
  const bool named = shown.dtype == DType::Int64 && shown.shape == good.shape;
  const bool batched = !good.shape.empty();
  Fault* where = expectNoFault(call, [what, detail, batched](const long long* numbers) {
    failExpectation(what, detail, batched, numbers[0], numbers[1]);
  });
  const void* shownData = named ? shown.data : nullptr;
  launch(kChecks.kernel("expectAll"), elementwise(good.numel()),
         walk<2>(good.shape, {good.strides, named ? shown.strides : good.strides}), good.data, shownData, where);
}

void expect_size(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t size = attrs.integer();
  const std::int64_t number = attrs.integer();
  Fault* where = expectNoFault(call, [number](const long long* numbers) { throw SizeChanged(number, numbers[0]); });
  launch(kChecks.kernel("expectSize"), Grid{}, call.inputs[0].data, size, call.outputs[0].data, where);
}

namespace {

const Registered here{{"class_indices", &class_indices}, {"expect", &expect}, {"expect_size", &expect_size}};

}  // namespace

}  // namespace tandem::cuda::lib
