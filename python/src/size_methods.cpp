// The sizes of a tensor: other ones for the tensor itself, and whether two have the same.
#include "python/src/size_methods.h"

#include <optional>

#include "autograd/autograd.h"
#include "eager/memory_format.h"
#include "python/src/convert.h"
#include "python/src/docs.h"

namespace tandem::python {

namespace {

using P = ParamType;
constexpr ParamSpec kSelf = {"input", P::Tensor, false, false};

/// The format that argument 2 names; Preserve stands for that of a template.
std::optional<MemoryFormat> formatToResize(const ParsedArgs& a, const Tensor* like) {
  if (!a.has(2)) return std::nullopt;
  const MemoryFormat f = memoryFormatOf(a.object(2), a.op());
  if (f != MemoryFormat::Preserve) return f;
  if (like == nullptr) fail(a.op(), ": preserve memory format is unsupported");
  return formatOf(*like);
}
constexpr ParamSpec resizeParams[] = {kSelf, {"size", P::IntList, false, false}, {"memory_format", P::Any, true, true}};
constexpr Signature resizeSigs[] = {{"resize_", resizeParams, [](ParsedArgs& a) -> PyObject* {
                                       autograd::resize(a.tensor(0), a.ints(1), formatToResize(a, nullptr));
                                       return a.self();
                                     }}};
constexpr ParamSpec resizeAsParams[] = {
    kSelf, {"the_template", P::Tensor, false, false}, {"memory_format", P::Any, true, true}};
constexpr Signature resizeAsSigs[] = {{"resize_as_", resizeAsParams, [](ParsedArgs& a) -> PyObject* {
                                         autograd::resize(a.tensor(0), a.tensor(1).shape(),
                                                          formatToResize(a, &a.tensor(1)));
                                         return a.self();
                                       }}};
constexpr ParamSpec sameSizeParams[] = {kSelf, {"other", P::Tensor, false, false}};
constexpr Signature sameSizeSigs[] = {{"is_same_size", sameSizeParams, [](ParsedArgs& a) -> PyObject* {
                                         return wrap(a.tensor(0).shape() == a.tensor(1).shape());
                                       }}};

}  // namespace

std::vector<PyMethodDef> sizeMethodDefs() {
  return {
      method<resizeSigs>("resize_", doc::method_resize_),
      method<resizeAsSigs>("resize_as_", doc::method_resize_as_),
      method<sameSizeSigs>("is_same_size", doc::method_is_same_size),
  };
}

}  // namespace tandem::python
