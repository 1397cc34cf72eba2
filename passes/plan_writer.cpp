#include "passes/plan_writer.h"

#include <algorithm>

#include "passes/kernel_builder.h"
#include "runtime/base/error.h"
#include "runtime/kernel/collapse.h"

namespace tandem::passes {

std::uint32_t PlanWriter::buffer(const MemoryPlace& place, std::int64_t bytes) {
  auto [it, fresh] = buffers_.try_emplace({place.kind, place.number}, static_cast<std::uint32_t>(plan_.buffers.size()));
  if (fresh) {
    PlanBuffer b{};
    switch (place.kind) {
    case MemoryPlace::Arena:
      b.kind = PlanBuffer::Kind::Temporary;
      b.arenaOffset = static_cast<std::uint64_t>(place.number);
      break;
    case MemoryPlace::Output:
      b.kind = PlanBuffer::Kind::Output;
      break;
    case MemoryPlace::Input:
      b.kind = PlanBuffer::Kind::Input;
      break;
    }
    if (place.kind != MemoryPlace::Arena) b.index = static_cast<std::uint32_t>(place.number);
    plan_.buffers.push_back(b);
  }
  PlanBuffer& b = plan_.buffers[it->second];
  b.bytes = std::max(b.bytes, static_cast<std::uint64_t>(bytes));
  return it->second;
}

PlanInstr& PlanWriter::add(const std::string& line, PlanInstr::Kind kind) {
  PlanInstr& instr = plan_.instrs.emplace_back();
  instr.kind = kind;
  instr.line = line;
  return instr;
}

void PlanWriter::kernel(const std::string& line, const Launch& launch, std::vector<PlanOperand> operands,
                        std::vector<std::uint32_t> scalars) {
  auto [it, fresh] = kernels_.try_emplace(launch.signature.bytes(), static_cast<std::uint32_t>(plan_.kernels.size()));
  if (fresh) plan_.kernels.push_back(launch.signature);
  PlanInstr& instr = add(line, PlanInstr::Kind::Kernel);
  instr.function = it->second;
  instr.numInputs = static_cast<std::uint32_t>(launch.signature.inputs.size());
  instr.operands = std::move(operands);
  instr.scalars = std::move(scalars);
  instr.args = launch.args;
  instr.space = launch.space;
}

void PlanWriter::region(const std::string& line, const RegionLaunch& launch, const Dims& space,
                        std::vector<PlanOperand> operands, std::vector<std::uint32_t> scalars) {
  for (const RegionLaunch::Strided& s : launch.strided) {
    operands[s.input].shape = space;
    operands[s.input].strides = s.strides;
  }
  kernel(line, launch, std::move(operands), std::move(scalars));
  plan_.instrs.back().strided = !launch.strided.empty();
}

void PlanWriter::library(const std::string& line, OpCode op, std::vector<PlanOperand> operands, std::size_t numInputs,
                         std::vector<std::uint32_t> scalars, std::span<const std::int64_t> attrs) {
  const OpFacts& f = facts(op);
  const auto results = std::span<const PlanOperand>(operands).subspan(numInputs);
  const bool empty = std::ranges::all_of(results, [](const PlanOperand& o) { return numelOf(o.shape) == 0; });
  if (empty && !results.empty() && f.role != OpRole::Expect) return;
  const std::string name(f.name);
  auto [it, fresh] = library_.try_emplace(name, static_cast<std::uint32_t>(plan_.library.size()));
  if (fresh) plan_.library.push_back(name);
  plan_.explanation += strcat("  library ", name, " ->");
  for (const PlanOperand& o : results) plan_.explanation += strcat(" ", shapeText(o.shape));
  plan_.explanation += "\n";
  PlanInstr& instr = add(line, PlanInstr::Kind::Library);
  instr.function = it->second;
  instr.operands = std::move(operands);
  instr.numInputs = static_cast<std::uint32_t>(numInputs);
  instr.scalars = std::move(scalars);
  instr.attrs.assign(attrs.begin(), attrs.end());
}

void PlanWriter::copy(const std::string& line, const PlanOperand& from, const PlanOperand& to) {
  if (numelOf(from.shape) == 0) return;
  const Launch launch = copyLaunch(from.dtype, from.shape, from.strides, to.strides);
  const bool plain = isContiguous(from.shape, from.strides) && isContiguous(to.shape, to.strides);
  plan_.explanation += strcat("  copy ", shapeText(from.shape), plain ? "\n" : ", strided\n");
  if (!plain && !transposes(from.strides) && !transposes(to.strides) && launch.signature.outerRank <= kMaxOuterRank)
    return kernel(line, launch, {from, to}, {});
  PlanInstr& instr = add(line, PlanInstr::Kind::Copy);
  instr.operands = {from, to};
  instr.numInputs = 1;
}

void PlanWriter::explain(std::size_t results) {
  plan_.explanation = strcat("plan: ", plan_.numInputs, " inputs, ", results, " results, ", plan_.instrs.size(),
                             " instructions, ", plan_.kernels.size(), " kinds of kernel, ", plan_.arenaBytes,
                             " bytes of temporaries\n", plan_.explanation);
}

}  // namespace tandem::passes
