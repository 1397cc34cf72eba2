// multilabel_margins: runtime/lib/indexing/multilabel_margins.cpp.
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kMargins("multilabel_margins", kMultilabelMarginsText);

}  // namespace

void multilabel_margins(const LibraryCall& call) {
  const Dense x(call.inputs[0]);
  const Dense labels(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  const std::int64_t classes = call.inputs[0].shape[1];
  const std::int64_t n = out.numel() * classes;
  const Workspace counts(static_cast<std::size_t>(n) * sizeof(std::int64_t));
  const Workspace sums(static_cast<std::size_t>(n) * itemSize(computeType(out.dtype)));
  auto kernel = [&](const char* name) -> const Function& {
    return kMargins.kernel(name, {{"ELEMENT", typeName(out.dtype)}});
  };
  if (n > 0) {
    launch(kernel("classes"), elementwise(n), x.data(), labels.data(), n, classes, counts.as<std::int64_t>(),
           sums.as());
    launch(kernel("slopes"), elementwise(n), x.data(), labels.data(), n, classes, counts.as<std::int64_t>(),
           call.outputs[1].data);
  }
  if (out.numel() > 0) launch(kernel("rows"), elementwise(out.numel()), sums.as(), out.numel(), classes, out.data);
}

namespace {

const Registered here{{"multilabel_margins", &multilabel_margins}};

}  // namespace

}  // namespace tandem::cuda::lib
