#include "runtime/program/function_code.h"

#include "runtime/base/error.h"
#include "runtime/program/sizes.h"

namespace tandem::program {
namespace {

// More than any alignment of memory that kernels ask for.
constexpr std::uint64_t kAligned = 512;

/// A run of an entry on the device: addresses are as aligned as they are where it runs.
class Run {
 public:
  Run(Executor& device, const ProgramData& data, const EntryData& e)
      : device_(device), entry_(e), arena_(allocate(e.plan.arenaBytes)) {
    for (const std::uint64_t bytes : e.fresh) fresh_.push_back(allocate(bytes));
    for (const ArgumentData& a : e.arguments) arguments_.push_back(allocate(bytesOf(a)));
    for (const MemoryData& m : data.memories) {
      const std::uint64_t offset = m.changes ? 0 : m.offset % kAligned;
      memories_.push_back(allocate(m.bytes + offset) + offset);
    }
  }

  void run() {
    for (const PlanInstr& i : entry_.plan.instrs) {
      try {
        instruction(i);
      } catch (const NotImplementedError&) {
        // Runs there say it.
      }
    }
    for (const ResultData& r : entry_.results) {
      if (r.place.origin == PlaceData::Origin::Nothing) continue;
      device_.copyArray({at(r.place), r.dtype, r.shape, r.strides},
                        {allocate(bytesOf(r)), r.dtype, r.shape, contiguousStrides(r.shape)}, device_.stream());
    }
  }

 private:
  char* allocate(std::uint64_t bytes) { return static_cast<char*>(device_.allocate(bytes)); }

  [[nodiscard]] char* at(const PlaceData& p) const {
    switch (p.origin) {
    case PlaceData::Origin::Fresh:
      return fresh_[p.index] + p.offset;
    case PlaceData::Origin::Argument:
      return arguments_[p.index] + p.offset;
    case PlaceData::Origin::Memory:
      return memories_[p.index] + p.offset;
    case PlaceData::Origin::Nothing:
      break;
    }
    return nullptr;
  }

  [[nodiscard]] ArrayView view(const PlanOperand& o) const {
    if (o.absent) return {nullptr, o.dtype, o.shape, o.strides};
    const PlanBuffer& b = entry_.plan.buffers[o.buffer];
    char* base = arena_ + b.arenaOffset;
    if (b.kind == PlanBuffer::Kind::Input) base = at(entry_.inputs[b.index]);
    if (b.kind == PlanBuffer::Kind::Output) base = fresh_[b.index];
    return {base + o.byteOffset, o.dtype, o.shape, o.strides};
  }

  /// Of a number that a call gives, the saved one; others but constants choose no code.
  [[nodiscard]] std::int64_t scalar(const ScalarSlot& s) const {
    if (s.source == ScalarSlot::Source::Argument) return entry_.numbers[static_cast<std::size_t>(s.a)].value.bits();
    return s.value.bits();
  }

  void instruction(const PlanInstr& i) {
    if (i.kind == PlanInstr::Kind::Kernel) return;
    std::vector<ArrayView> views;
    for (const PlanOperand& o : i.operands) views.push_back(view(o));
    if (i.kind == PlanInstr::Kind::Copy) return device_.copyArray(views[0], views[1], device_.stream());
    const LibraryFn fn = device_.library(entry_.plan.library[i.function]);
    if (fn == nullptr) return;
    std::vector<std::int64_t> scalars;
    for (const std::uint32_t s : i.scalars) scalars.push_back(scalar(entry_.plan.slots[s]));
    const std::span<const ArrayView> all(views);
    device_.call(fn, {all.first(i.numInputs), all.subspan(i.numInputs), i.attrs, scalars, i.line}, device_.stream());
  }

  Executor& device_;
  const EntryData& entry_;
  char* arena_;
  std::vector<char*> fresh_, arguments_, memories_;
};

/// The next combination, row-major; false behind the last.
bool advance(std::vector<std::int64_t>& sizes, const std::vector<SizeData>& ranges) {
  for (std::size_t k = sizes.size(); k-- > 0;) {
    if (++sizes[k] <= ranges[k].most) return true;
    sizes[k] = ranges[k].least;
  }
  return false;
}

}  // namespace

void surveyFunctions(CodeSurvey& survey, const ProgramData& data) {
  for (const EntryData& e : data.entries) {
    if (e.sizes.empty()) {
      Run(survey.device(), data, e).run();
      continue;
    }
    const SizedEntry sized(e);
    std::vector<std::int64_t> sizes;
    for (const SizeData& s : e.sizes) sizes.push_back(s.least);
    do {
      const EntryData now = sized.at(sizes);
      Run(survey.device(), data, now).run();
    } while (advance(sizes, e.sizes));
  }
}

}  // namespace tandem::program
