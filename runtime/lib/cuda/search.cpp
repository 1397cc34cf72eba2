// search_rows: runtime/lib/order/search.cpp, a thread a value.
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kSearch("search", kSearchText);

}  // namespace

void search_rows(const LibraryCall& call) {
  const Dense sorted(call.inputs[0]);
  const Dense values(call.inputs[1]);
  const bool right = AttrReader(call.attrs).boolean();
  const Dims& shape = sorted.view().shape;
  const std::int64_t n = shape.back();
  const std::int64_t count = values.view().numel();
  // One row for all values, or one for each row of values.
  const std::int64_t width = shape.size() == 1 ? count : values.view().shape.back();
  launch(kSearch.kernel("searchRows", {{"ELEMENT", typeName(sorted.view().dtype)}, {"RIGHT", right ? "1" : "0"}}),
         elementwise(count), sorted.data(), n, values.data(), count, width, call.outputs[0].data);
}

namespace {

const Registered here{{"search_rows", &search_rows}};

}  // namespace

}  // namespace tandem::cuda::lib
