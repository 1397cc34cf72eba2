#include "passes/structures.h"

namespace tandem::passes {

Structures::Structure* Structures::find(const Hash128& key) {
  auto it = places_.find(key);
  if (it == places_.end()) return nullptr;
  structures_.splice(structures_.begin(), structures_, it->second);
  return &*it->second;
}

std::shared_ptr<Plan> Structures::planFor(const Hash128& structure, const Trace& trace,
                                          const std::vector<TraceOutput>& outputs) {
  std::vector<std::shared_ptr<const ShapeProgram>> programs;
  {
    std::lock_guard lock(mutex_);
    if (const Structure* known = find(structure)) programs = known->programs;
  }
  for (const auto& program : programs)
    if (std::shared_ptr<Plan> plan = program->planFor(trace, outputs)) return plan;
  return nullptr;
}

bool Structures::wantsProgram(const Hash128& structure) {
  std::lock_guard lock(mutex_);
  if (const Structure* known = find(structure)) return !known->refused && known->programs.size() < kMostPrograms;
  structures_.push_front({structure, false, {}});
  places_.emplace(structure, structures_.begin());
  forgetOld();
  return false;
}

// But for the one that was used last.
void Structures::forgetOld() {
  while (structures_.size() > 1 && (structures_.size() > kMostStructures || instrs_ > kMostInstrs)) {
    for (const auto& program : structures_.back().programs) instrs_ -= program->numInstrs();
    places_.erase(structures_.back().key);
    structures_.pop_back();
  }
}

void Structures::add(const Hash128& structure, std::shared_ptr<const ShapeProgram> program) {
  std::lock_guard lock(mutex_);
  Structure* known = find(structure);
  if (known == nullptr) return;
  if (program == nullptr) {
    known->refused = known->programs.empty();
    return;
  }
  instrs_ += program->numInstrs();
  known->programs.push_back(std::move(program));
  forgetOld();
}

}  // namespace tandem::passes
