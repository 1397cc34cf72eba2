#include "runtime/lib/expectation.h"

#include "runtime/lib/expectation_errors.h"
#include "runtime/lib/strided.h"

namespace tandem {
namespace {

/// The place of the first false element in row-major order; -1: there is none.
std::int64_t firstFalse(const ArrayView& good) {
  std::int64_t n = good.numel();
  lib::Walker<1> at(good.shape, {good.strides}, 0);
  for (std::int64_t i = 0; i < n; ++i, at.next())
    if (!good.as<bool>()[at.offset[0]]) return i;
  return -1;
}

}  // namespace

void checkExpectation(Expectation what, std::int64_t detail, const ArrayView& good, const ArrayView& shown) {
  std::int64_t place = firstFalse(good);
  if (place < 0) return;
  bool named = shown.dtype == DType::Int64 && shown.shape == good.shape;
  std::int64_t at = lib::Walker<1>(good.shape, {named ? shown.strides : good.strides}, place).offset[0];
  failExpectation(what, detail, !good.shape.empty(), place, named ? shown.as<std::int64_t>()[at] : 0);
}

namespace lib {

void expect(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  auto what = static_cast<Expectation>(attrs.integer());
  checkExpectation(what, attrs.integer(), call.inputs[1], call.inputs[2]);
  copyArray(call.inputs[0], call.outputs[0]);
}

}  // namespace lib
}  // namespace tandem
