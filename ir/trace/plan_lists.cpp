#include "ir/trace/plan_lists.h"

#include <algorithm>

namespace tandem {
namespace {

/// Which instructions are kernels of one signature, side by side, on memory that no other of them writes, as the
/// updates of an optimizer: what devices but the CPU do as a list.
class Lists {
 public:
  explicit Lists(const Plan& plan) : plan_(plan), touched_(plan.buffers.size()) {}
  std::vector<std::uint32_t> find() {
    std::vector<std::uint32_t> lists(plan_.instrs.size(), 1);
    for (std::uint32_t i = 0; i < lists.size(); i += lists[i]) {
      first_ = i + 1;
      temporaries_.clear();
      std::uint32_t end = i;
      while (end < lists.size() && isListed(plan_.instrs[end]) &&
             plan_.instrs[end].function == plan_.instrs[i].function && take(plan_.instrs[end]))
        ++end;
      lists[i] = std::max<std::uint32_t>(end - i, 1);
    }
    return lists;
  }

 private:
  [[nodiscard]] bool isListed(const PlanInstr& instr) const {
    if (instr.kind != PlanInstr::Kind::Kernel || instr.strided) return false;
    const KernelSignature& s = plan_.kernels[instr.function];
    const auto isDense = [](const KernelOperand& o) { return o.access == Access::Unit || o.access == Access::Zero; };
    return s.kind == KernelKind::Row && s.outerRank == 0 && std::ranges::all_of(s.inputs, isDense) &&
           std::ranges::none_of(s.steps, [](const KernelStep& k) { return k.kind == KernelStep::Kind::Index; });
  }
  /// Adds an instruction to the list; false where it touches memory that one of those before writes, or writes what
  /// one of them reads.
  bool take(const PlanInstr& instr) {
    const std::size_t inputs = plan_.kernels[instr.function].inputs.size();
    const auto meets = [&](std::uint32_t b, bool writes) {
      return touched_[b].written == first_ || (writes && touched_[b].read == first_);
    };
    for (std::size_t k = 0; k < instr.operands.size(); ++k) {
      const std::uint32_t own = instr.operands[k].buffer;
      if (meets(own, k >= inputs)) return false;
      // Of two buffers only temporaries, which live at other times, may be one memory.
      for (const std::uint32_t t : temporaries_)
        if (overlap(plan_.buffers[own], plan_.buffers[t]) && meets(t, k >= inputs)) return false;
    }
    for (std::size_t k = 0; k < instr.operands.size(); ++k) {
      const std::uint32_t own = instr.operands[k].buffer;
      (k >= inputs ? touched_[own].written : touched_[own].read) = first_;
      if (plan_.buffers[own].kind == PlanBuffer::Kind::Temporary) temporaries_.push_back(own);
    }
    return true;
  }
  static bool overlap(const PlanBuffer& a, const PlanBuffer& b) {
    return a.kind == PlanBuffer::Kind::Temporary && a.arenaOffset < b.arenaOffset + b.bytes &&
           b.arenaOffset < a.arenaOffset + a.bytes;
  }

  struct Touched {
    std::uint32_t read = 0;  // the number of a list
    std::uint32_t written = 0;
  };
  const Plan& plan_;
  std::vector<Touched> touched_;  // of a buffer
  std::vector<std::uint32_t> temporaries_;
  std::uint32_t first_ = 0;
};

}  // namespace

std::vector<std::uint32_t> listsOf(const Plan& plan) {
  if (plan.device.isCpu()) return {};
  return Lists(plan).find();
}

}  // namespace tandem
