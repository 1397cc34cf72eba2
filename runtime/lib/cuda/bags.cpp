// bag_sum, bag_max: runtime/lib/indexing/bags.cpp. A thread reads a column of a bag, row after row.
#include "runtime/lib/cuda/indices.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"
#include "runtime/lib/expectation_errors.h"

namespace tandem::cuda::lib {
namespace {

using tandem::lib::IndexRange;

constexpr Source kBags("bags", kBagsText);

/// The same struct as in bags.cu.
struct Bags {
  View offsets;
  std::int64_t count, each, n;
  std::int32_t last;
};

void queue(const LibraryCall& call, bool maxima) {
  AttrReader attrs(call.attrs);
  const std::int64_t padding = attrs.integer();
  const bool last = attrs.boolean();
  const bool mean = !maxima && attrs.boolean();
  const ArrayView& table = call.inputs[0];
  const ArrayView& index = call.inputs[1];
  const ArrayView& out = call.outputs[0];
  auto* second = call.outputs[1].as<std::int64_t>();
  const bool listed = index.shape.size() == 1;
  const std::size_t plain = listed ? 3 : 2;
  const std::int64_t n = index.numel();
  Bags bags{{}, out.shape[0], listed ? 0 : index.shape[1], n, last};
  if (listed) bags.offsets = view(call.inputs[2]);
  const View factors = call.inputs.size() > plain ? view(call.inputs[plain]) : View{};
  const std::initializer_list<Define> defines = {
      {"ELEMENT", typeName(table.dtype)},
      {"INDEX", indexType("embedding_bag", index)},
      {"OFFSET", listed ? indexType("embedding_bag", call.inputs[2]) : typeName(DType::Int64)},
      {"MAXIMA", maxima ? "1" : "0"}};
  if (n > 0)
    launch(kBags.kernel("checkRows", defines), elementwise(n), view(index), table.shape[0],
           expectIndices(call, "embedding_bag", IndexRange::Elements, 0, table.shape[0]));
  if (bags.count == 0) return;
  Fault* where = expectNoFault(
      call, [](const long long* numbers) { failExpectation(Expectation::BagOffsets, numbers[0], true, 0, 0); });
  if (!maxima)
    launch(kBags.kernel("countRows", defines), elementwise(bags.count), view(index), bags, padding, second, where);
  launch(kBags.kernel("bags", defines), elementwise(out.numel()), view(table), view(index), factors, bags, padding,
         mean ? second : nullptr, out.data, second, where);
}

}  // namespace

void bag_sum(const LibraryCall& call) { queue(call, false); }
void bag_max(const LibraryCall& call) { queue(call, true); }

namespace {

const Registered here{{"bag_sum", &bag_sum}, {"bag_max", &bag_max}};

}  // namespace

}  // namespace tandem::cuda::lib
