#include "runtime/kernel/schedule.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tandem {

Schedule::Schedule(const KernelSignature& signature)
    : signature_(signature), firstStep_(signature.inputs.size() + signature.scalars.size()) {
  const bool column = signature.kind == KernelKind::Column;
  for (const KernelOperand& input : signature.inputs) {
    values_.push_back({input.dtype, input.access == Access::Zero, false, false, 0});
  }
  for (DType scalar : signature.scalars) values_.push_back({scalar, true, true, false, 0});
  for (const KernelStep& step : signature.steps) {
    ValueFacts facts{step.dtype, true, true, false, 0};
    for (std::uint16_t operand : step.operands) {
      TANDEM_CHECK(operand < values_.size(), "a step reads value ", operand, " before it is computed");
      facts.uniform = facts.uniform && values_[operand].uniform;
      facts.constant = facts.constant && values_[operand].constant;
      facts.stage = std::max(facts.stage, values_[operand].stage);
    }
    if (step.kind == KernelStep::Kind::Index) facts.uniform = false;
    if (step.kind == KernelStep::Kind::Reduce) {
      // A row's sum is one value a row, a column's sum one an inner index.
      facts.uniform = !column;
      facts.constant = false;
      ++facts.stage;
    }
    facts.constant = facts.constant && facts.uniform;
    values_.push_back(facts);
  }

  int last = 0;
  for (const KernelOutput& output : signature.outputs) {
    TANDEM_CHECK(output.value < values_.size(), "an output stores value ", output.value, ", which does not exist");
    values_[output.value].needed = true;
    if (output.operand.access != Access::Zero) {
      storeStage_ = std::max(storeStage_, values_[output.value].stage);
    } else {
      TANDEM_CHECK(column || values_[output.value].uniform, "one element a row stores a value that varies within it");
    }
  }
  for (std::size_t id = values_.size(); id-- > firstStep_;) {
    if (!values_[id].needed) continue;
    last = std::max(last, values_[id].stage);
    for (std::uint16_t operand : signature.steps[id - firstStep_].operands) values_[operand].needed = true;
  }
  for (std::size_t k = 0; k < signature.inputs.size(); ++k)
    if (signature.inputs[k].access == Access::Framed && values_[k].needed) values_[k + 1].needed = true;
  reductions_.resize(static_cast<std::size_t>(last) + 1);
  for (std::size_t id = firstStep_; id < values_.size(); ++id) {
    if (!values_[id].needed || !isReduce(id)) continue;
    const std::uint16_t operand = signature.steps[id - firstStep_].operands[0];
    reductions_[values_[operand].stage].push_back(id);
  }
  if (storeStage_ >= 0) {
    for (int stage = 0; stage < stages(); ++stage) {
      if (!reductions_[stage].empty()) storeStage_ = std::max(storeStage_, stage);
    }
  }
  if (signature.kind != KernelKind::Column && signature.kind != KernelKind::Partial) findCarried();
}

// Nothing may read an input after the carried value has been written, as the output may share its memory: the pass is
// the last that reads any, and there is no other elementwise output.
void Schedule::findCarried() {
  if (storeStage_ < 1 || !reductions_[storeStage_].empty()) return;
  int stage = storeStage_ - 1;
  while (stage > 0 && reductions_[stage].empty()) --stage;
  std::optional<std::size_t> output;
  for (std::size_t o = 0; o < signature_.outputs.size(); ++o) {
    if (signature_.outputs[o].operand.access == Access::Zero) continue;
    if (output) return;
    output = o;
  }
  if (!output) return;
  std::vector<std::size_t> reduced;
  for (std::size_t id : reductions_[stage]) reduced.push_back(signature_.steps[id - firstStep_].operands[0]);
  const std::vector<std::size_t> computed = varyingBehind(reduced);
  for (std::size_t k = computed.size(); k-- > 0;) {
    const std::size_t id = computed[k];
    if (id < firstStep_ || values_[id].dtype != signature_.outputs[*output].operand.dtype) continue;
    const std::size_t target = signature_.outputs[*output].value;
    const std::vector<std::size_t> behind = varyingBehind({target}, {id});
    const bool fromSteps = std::all_of(behind.begin(), behind.end(), [&](std::size_t v) {
      return v >= firstStep_ && signature_.steps[v - firstStep_].kind == KernelStep::Kind::Pointwise;
    });
    if (!fromSteps || target == id) continue;
    carried_ = Carried{*output, id, stage};
    return;
  }
}

bool Schedule::isReduce(std::size_t id) const {
  return id >= firstStep_ && signature_.steps[id - firstStep_].kind == KernelStep::Kind::Reduce;
}

std::vector<std::size_t> Schedule::outputs(int stage) const {
  std::vector<std::size_t> outputs;
  if (stage != storeStage_ || signature_.kind == KernelKind::Partial) return outputs;
  for (std::size_t o = 0; o < signature_.outputs.size(); ++o) {
    if (signature_.outputs[o].operand.access != Access::Zero) outputs.push_back(o);
  }
  return outputs;
}

std::vector<std::size_t> Schedule::targets(int stage) const {
  std::vector<std::size_t> targets;
  for (std::size_t id : reductions_[stage]) targets.push_back(signature_.steps[id - firstStep_].operands[0]);
  for (std::size_t o : outputs(stage)) targets.push_back(signature_.outputs[o].value);
  return targets;
}

std::vector<std::size_t> Schedule::varyingBehind(const std::vector<std::size_t>& targets,
                                                 const std::vector<std::size_t>& known) const {
  std::vector<bool> wanted(values_.size(), false);
  std::vector<bool> skipped(values_.size(), false);
  for (std::size_t id : targets) wanted[id] = true;
  for (std::size_t id : known) skipped[id] = true;
  for (std::size_t id = values_.size(); id-- > firstStep_;) {
    if (!wanted[id] || isReduce(id) || skipped[id]) continue;
    for (std::uint16_t operand : signature_.steps[id - firstStep_].operands) wanted[operand] = true;
  }
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < values_.size(); ++id) {
    if (wanted[id] && !values_[id].uniform && !skipped[id]) ids.push_back(id);
  }
  return ids;
}

std::vector<std::size_t> Schedule::handedOn(int stage, const std::vector<std::size_t>& known) const {
  std::vector<std::size_t> wanted;
  for (int later = stage + 1; later < stages(); ++later) {
    for (std::size_t id : targets(later)) wanted.push_back(id);
  }
  const std::vector<std::size_t> computed = varyingBehind(targets(stage), known);
  std::vector<bool> here(values_.size(), false);
  for (std::size_t id : computed) here[id] = true;
  std::vector<bool> startedFrom(values_.size(), false);
  for (std::size_t id : wanted) startedFrom[id] = true;
  for (std::size_t id : varyingBehind(wanted)) {
    if (here[id] || id < firstStep_) continue;
    for (std::uint16_t operand : signature_.steps[id - firstStep_].operands) startedFrom[operand] = true;
  }
  std::vector<std::size_t> ids;
  for (std::size_t id : computed) {
    if (id >= firstStep_ && startedFrom[id]) ids.push_back(id);
  }
  return ids;
}

}  // namespace tandem
