// The primitives as C++ functions: generated, each packs its operands and attributes and goes to the dispatcher. Where
// a primitive needs its arguments brought into a normal form first (dims wrapped, index tensors checked), that is here.
#include "eager/ops.h"

#include <algorithm>
#include <array>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/no_elements.h"
#include "runtime/base/attrs.h"
#include "runtime/base/warn.h"

namespace tandem {

Dims reductionDims(const Tensor& x, const std::optional<Dims>& dims) {
  Dims out;
  if (!dims || dims->empty()) {
    for (std::int64_t d = 0; d < x.dim(); ++d) out.push_back(d);
    return out;
  }
  if (x.dim() > 64) fail("only tensors with up to 64 dims are supported, but got ", x.dim(), " dims to reduce some of");
  std::uint64_t seen = 0;
  for (auto d : *dims) {
    std::int64_t k = wrapDim(d, x.dim());
    if ((seen >> k & 1) != 0) fail("dim ", k, " appears multiple times in the list of dims ", shapeText(*dims));
    seen |= std::uint64_t{1} << k;
  }
  for (std::int64_t d = 0; d < x.dim(); ++d)
    if ((seen >> d & 1) != 0) out.push_back(d);
  return out;
}

std::int64_t sizeProduct(const char* op, std::int64_t a, std::int64_t b) {
  std::int64_t n = 0;
  if (__builtin_mul_overflow(a, b, &n)) fail(op, ": a size of ", a, " times ", b, " overflows int64");
  return n;
}

std::int64_t sizeSum(const char* op, std::int64_t a, std::int64_t b) {
  std::int64_t n = 0;
  if (__builtin_add_overflow(a, b, &n)) fail(op, ": a size of ", a, " and ", b, " overflows int64");
  return n;
}

}  // namespace tandem

namespace tandem::ops {

#include "eager/ops.inc"

Tensor flagsOf(const Tensor& x) {
  return toDType(to(x, DType::Bool), x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool);
}

void assign(const Tensor& into, const Tensor& value) { applyInto(into, OpCode::clone, {value}); }

namespace {

bool repeatsAlong(const Tensor& t, std::int64_t dim) { return t.strides()[dim] == 0 && t.size(dim) > 1; }

/// Of `values`, which are to be written to n places of one element along `dim`, that of the last place which changes
/// what is `there`.
Tensor lastChange(const Tensor& values, const Tensor& there, std::int64_t dim) {
  Tensor same = logical_or(eq(values, there), logical_and(ne(values, values), ne(there, there)));
  Dims along(static_cast<std::size_t>(values.dim()), 1);
  along[dim] = values.size(dim);
  Tensor number = reshape(arange(std::int64_t{1}, values.size(dim) + 1), along);  // of each place; 0: no change
  Tensor last = amax(mul(logical_not(same), number), Dims{dim}, true);
  return where(gt(last, 0), gather(values, dim, clamp_min(sub(last, 1), Operand(0))), narrow(there, dim, 0, 1));
}

/// At each place of `window` the largest `number` (of its shape, at least 0) among the places of the same element.
Tensor largestOfElement(const Tensor& window, const Tensor& number) {
  std::int64_t reach = 1;
  for (std::int64_t d = 0; d < window.dim(); ++d) reach += (window.size(d) - 1) * window.strides()[d];
  const Tensor element = as_strided(arange_end(reach, DType::Int64), window.shape(), window.strides(), 0);
  const Tensor most = scatter_reduce(zeros(Dims{reach}, DType::Int64), 0, reshape(element, Dims{-1}),
                                     reshape(number, Dims{-1}), "amax");
  return take(most, element);
}

}  // namespace

bool repeatsElements(const Tensor& t) {
  for (std::int64_t d = 0; d < t.dim(); ++d)
    if (repeatsAlong(t, d)) return t.numel() > 0;
  return false;
}

void assignRepeated(const char* op, const Tensor& into, Tensor value, Repeats repeats) {
  if (gradEnabled() && (into.requiresGrad() || value.requiresGrad())) return assign(into, value);  // refuses
  if (repeats != Repeats::Taken)
    warn(strcat("Use of ", op,
                "_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
                "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar"));
  Tensor once = into;
  for (std::int64_t d = 0; d < into.dim(); ++d) {
    if (!repeatsAlong(into, d)) continue;
    Tensor one = narrow(once, d, 0, 1);
    const bool sums = repeats == Repeats::Summed && value.dtype() != DType::Bool;
    value = sums ? add(one, sum(sub(value, once), Dims{d}, true, value.dtype())) : lastChange(value, once, d);
    once = one;
  }
  assign(once, value);
}

Tensor lastPlaces(const Tensor& window) {
  Dims order;
  for (std::int64_t d = 0; d < window.dim(); ++d) order.push_back(d);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::int64_t d) { return window.strides()[d]; });
  Dims sizes;
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(window.size(order[i]));
    back[order[i]] = static_cast<std::int64_t>(i);
  }
  const Tensor number = permute(reshape(arange_end(window.numel(), DType::Int64), sizes), back);
  return eq(largestOfElement(window, number), number);
}

Tensor lastChanges(const Tensor& window, const Tensor& values) {
  NoGrad noGrad;
  const Tensor same = logical_or(eq(values, window), logical_and(ne(values, values), ne(window, window)));
  const Tensor number = reshape(arange(std::int64_t{1}, values.numel() + 1), values.shape());  // of each place
  const Tensor last = largestOfElement(window, where(same, 0, number));                        // 0: no change
  return where(gt(last, 0), take(values, clamp_min(sub(last, 1), Operand(0))), window);
}

void assignResult(const char* op, const Tensor& into, const std::function<Tensor()>& compute, Repeats repeats) {
  if (repeats != Repeats::Refused && repeatsElements(into)) return assignRepeated(op, into, compute(), repeats);
  InPlaceForm form(into);
  Tensor value = compute();
  if (!(value.shape() == into.shape()))
    fail(op, "_: output with shape ", shapeText(into.shape()), " doesn't match the broadcast shape ",
         shapeText(value.shape()));
  if (category(value.dtype()) > category(into.dtype()))
    fail(op, "_: result type ", dtypeClassName(value.dtype()), " can't be cast to the desired output type ",
         dtypeClassName(into.dtype()));
  form.end(std::move(value));
}

}  // namespace tandem::ops
