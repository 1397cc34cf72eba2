#include "ir/schema/reduction_plan.h"

#include <algorithm>

namespace tandem {

SmallVector<ReductionStage, 4> reductionStages(DimsRef shape, DimsRef dims) {
  SmallVector<ReductionStage, 4> stages;
  auto reduced = [&](std::size_t d) { return std::find(dims.begin(), dims.end(), std::int64_t(d)) != dims.end(); };
  for (std::size_t d = shape.size(); d > 0;) {
    --d;
    if (shape[d] == 1 || !reduced(d)) continue;
    std::size_t begin = d;
    for (std::size_t e = d; e > 0 && (shape[e - 1] == 1 || reduced(e - 1)); --e)
      if (shape[e - 1] != 1) begin = e - 1;
    // The dims behind a later group were kept, or they would have belonged to it, so only the first can be trailing.
    bool trailing = stages.empty();
    for (std::size_t e = d + 1; e < shape.size(); ++e) trailing &= shape[e] == 1;
    stages.push_back({begin, d + 1, trailing});
    d = begin;
  }
  return stages;
}

std::vector<ReductionStep> reductionSteps(const OpFacts& op, const TensorMeta& from, const TensorMeta& to,
                                          std::span<const ReductionStage> stages) {
  std::vector<ReductionStep> steps;
  Dims shape = from.shape;
  for (const ReductionStage& stage : stages) {
    ReductionStep& step = steps.emplace_back();
    const bool last = steps.size() == stages.size();
    step.attrs.push_back(static_cast<std::int64_t>(stage.end - stage.begin));
    for (std::size_t d = stage.begin; d < stage.end; ++d) {
      step.attrs.push_back(static_cast<std::int64_t>(d));
      shape[d] = 1;
    }
    step.attrs.push_back(1);
    step.result.shape = shape;
    step.result.dtype = last ? to.dtype : computeType(to.dtype);
    if (op.dtypeRule == DTypeRule::Sum) {
      step.attrs.push_back(1);
      step.attrs.push_back(static_cast<std::int64_t>(step.result.dtype));
    }
  }
  return steps;
}

std::int64_t reductionIdentity(std::string_view op) { return op == "prod" || op == "all" ? 1 : 0; }

}  // namespace tandem
