// Writes the instructions of a plan, one after the other: buffers, kernels and library functions are numbered as they
// are met. Lowering writes the plan that passes arranged with it, a shape program the plan for other sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/schema/op_table.h"
#include "passes/kernel_builder.h"
#include "passes/places.h"
#include "runtime/plan/plan.h"

namespace tandem::passes {

class PlanWriter {
 public:
  explicit PlanWriter(Plan& plan) : plan_(plan) {}

  /// The buffer of a place, which is large enough for so many bytes from now on.
  std::uint32_t buffer(const MemoryPlace& place, std::int64_t bytes);
  /// Operands: inputs, then outputs.
  void kernel(const std::string& line, const Launch& launch, std::vector<PlanOperand> operands,
              std::vector<std::uint32_t> scalars);
  /// The kernel of a region over this space.
  void region(const std::string& line, const RegionLaunch& launch, const Dims& space, std::vector<PlanOperand> operands,
              std::vector<std::uint32_t> scalars);
  /// Operands have shapes and strides. What has only empty results is left out where nothing else is asked of it.
  void library(const std::string& line, OpCode op, std::vector<PlanOperand> operands, std::size_t numInputs,
               std::vector<std::uint32_t> scalars, std::span<const std::int64_t> attrs);
  /// Likewise. A kernel where elements move by strides, else a copy.
  void copy(const std::string& line, const PlanOperand& from, const PlanOperand& to);
  /// The first line of the plan's explanation.
  void explain(std::size_t results);

 private:
  PlanInstr& add(const std::string& line, PlanInstr::Kind kind);

  Plan& plan_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> buffers_;
  std::map<std::string, std::uint32_t> kernels_;
  std::map<std::string, std::uint32_t> library_;
};

}  // namespace tandem::passes
