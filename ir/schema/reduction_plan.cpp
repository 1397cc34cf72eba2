#include "ir/schema/reduction_plan.h"

#include <algorithm>

namespace tandem {

std::vector<ReductionStage> reductionStages(DimsRef shape, DimsRef dims) {
  std::vector<ReductionStage> stages;
  Dims left(shape);
  auto reduced = [&](std::size_t d) { return std::find(dims.begin(), dims.end(), std::int64_t(d)) != dims.end(); };
  for (std::size_t d = shape.size(); d > 0;) {
    --d;
    if (shape[d] == 1 || !reduced(d)) continue;
    std::size_t begin = d;
    for (std::size_t e = d; e > 0 && (shape[e - 1] == 1 || reduced(e - 1)); --e)
      if (shape[e - 1] != 1) begin = e - 1;
    ReductionStage stage{left, begin, d + 1, true};
    for (std::size_t e = d + 1; e < left.size(); ++e) stage.trailing &= left[e] == 1;
    // After the first stage the dims behind a group were kept, so only the first can be trailing, unless all of them
    // have size 1, when they would have belonged to the group.
    stages.push_back(stage);
    for (std::size_t e = begin; e <= d; ++e) left[e] = 1;
    d = begin;
  }
  return stages;
}

std::int64_t reductionIdentity(std::string_view op) { return op == "prod" || op == "all" ? 1 : 0; }

}  // namespace tandem
