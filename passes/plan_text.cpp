#include "passes/plan_text.h"

#include <sstream>

namespace tandem::passes {

namespace {

std::string bufferText(const Plan& plan, const PlanOperand& o) {
  if (o.absent) return "absent";
  const PlanBuffer& b = plan.buffers[o.buffer];
  std::string offset = o.byteOffset != 0 ? strcat("+", o.byteOffset) : "";
  switch (b.kind) {
  case PlanBuffer::Kind::Input:
    return strcat("i", b.index, offset);
  case PlanBuffer::Kind::Output:
    return strcat("o", b.index, offset);
  default:
    return strcat("t", b.arenaOffset, offset);
  }
}

std::string bytesText(double bytes) {
  std::ostringstream s;
  s.precision(3);
  const char* units[] = {"B", "KiB", "MiB", "GiB"};
  int u = 0;
  for (; bytes >= 1024 && u < 3; ++u) bytes /= 1024;
  s << bytes << " " << units[u];
  return s.str();
}

}  // namespace

std::string planText(const Plan& plan) {
  std::ostringstream s;
  s << "plan: " << plan.numInputs << " inputs, " << plan.numOutputs << " outputs, " << plan.instrs.size()
    << " instructions, arena " << plan.arenaBytes << " bytes\n";
  for (const PlanInstr& instr : plan.instrs) {
    switch (instr.kind) {
    case PlanInstr::Kind::Kernel:
      s << "  kernel " << plan.kernels[instr.function].text();
      break;
    case PlanInstr::Kind::Library:
      s << "  library " << plan.library[instr.function];
      break;
    case PlanInstr::Kind::Copy:
      s << "  copy";
      break;
    }
    for (std::size_t k = 0; k < instr.operands.size(); ++k)
      s << (k == instr.numInputs ? " -> " : k == 0 ? " " : ", ") << bufferText(plan, instr.operands[k]);
    if (!instr.scalars.empty()) {
      s << " scalars";
      for (std::uint32_t slot : instr.scalars) s << " s" << slot;
    }
    if (instr.kind == PlanInstr::Kind::Kernel) s << " units " << instr.space.units;
    s << "\n";
  }
  return s.str();
}

RegionText textOf(td::RegionOp region) {
  RegionText text{region.getKind().str(), {}};
  region.getBody().front().walk([&](mlir::Operation* op) {
    if (mlir::isa<td::FrameOp>(op)) ++text.operations["frame"];
    if (auto name = op->getAttrOfType<td::OpAttr>("op")) ++text.operations[std::string(facts(name.getCode()).name)];
  });
  return text;
}

std::string regionText(const RegionText& region, DimsRef space, std::int64_t bytes, double flops,
                       const std::string& kernel) {
  std::ostringstream s;
  s << "  region " << region.kind << " over " << shapeText(space) << ":";
  for (const auto& [name, count] : region.operations) {
    s << " " << name;
    if (count > 1) s << " x" << count;
  }
  s << "; " << bytesText(static_cast<double>(bytes)) << " moved, " << flops << " element operations\n    " << kernel
    << "\n";
  return s.str();
}

std::string regionText(td::RegionOp region, const std::string& kernel) {
  std::int64_t bytes = 0;
  for (mlir::Value v : region.getInputs())
    if (td::isTensorType(v.getType())) bytes += td::bytesOf(v.getType());
  for (mlir::Value v : region.getResults()) bytes += td::bytesOf(v.getType());
  double flops = 0;
  region.getBody().front().walk([&](mlir::Operation* op) {
    if (!op->hasAttr("op")) return;
    mlir::Type type = mlir::isa<td::ReduceOp>(op) ? op->getOperand(0).getType() : op->getResult(0).getType();
    flops += static_cast<double>(numelOf(mlir::cast<mlir::RankedTensorType>(type).getShape()));
  });
  return regionText(textOf(region), region.getSpace(), bytes, flops, kernel);
}

}  // namespace tandem::passes
