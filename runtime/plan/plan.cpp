// How a plan runs. `resolvePlan` does once what is the same in every run: it concatenates the argument blocks of all
// kernels and the views of all library calls, and lists the places in them that hold pointers or scalars. A run copies
// both into memory of its thread, fills in those places and walks the instructions.
#include "runtime/plan/plan.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/device/launch.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"
#include "runtime/memory/allocator.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem {

namespace {

constexpr std::uint64_t kCopyGrain = 256 * 1024;

class Arena {
 public:
  Arena(Device device, std::size_t bytes)
      : device_(device), bytes_(bytes), data_(bytes != 0 ? allocateOn(device, bytes) : nullptr) {}
  ~Arena() {
    if (data_ != nullptr) deallocateOn(device_, data_, bytes_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  Device device_;
  std::size_t bytes_;
  void* data_;
};

void resolveKernel(Plan& plan, const PlanInstr& instr) {
  TANDEM_CHECK(instr.function < plan.kernels.size());
  const KernelSignature& signature = plan.kernels[instr.function];
  ArgLayout layout(signature);
  TANDEM_CHECK(instr.args.size() == layout.size() && instr.operands.size() == layout.operands &&
                   instr.scalars.size() == layout.scalars,
               signature.text());
  auto start = static_cast<std::uint32_t>(plan.blocks.size());
  plan.blocks.insert(plan.blocks.end(), instr.args.begin(), instr.args.end());
  for (std::size_t k = 0; k < instr.operands.size(); ++k) {
    const PlanOperand& o = instr.operands[k];
    plan.pointerPatches.push_back({static_cast<std::uint32_t>(start + layout.pointer(k)), o.buffer, o.byteOffset});
  }
  for (std::size_t j = 0; j < instr.scalars.size(); ++j) {
    TANDEM_CHECK(instr.scalars[j] < plan.slots.size());
    plan.scalarPatches.push_back(
        {static_cast<std::uint32_t>(start + layout.scalar(j)), instr.scalars[j], 0, signature.scalars[j]});
  }
}

// A library call's views, the two of a copy, or those of a kernel with strided inputs.
void resolveViews(Plan& plan, const PlanInstr& instr) {
  auto start = static_cast<std::uint32_t>(plan.views.size());
  for (std::size_t k = 0; k < instr.operands.size(); ++k) {
    const PlanOperand& o = instr.operands[k];
    plan.views.push_back({nullptr, o.dtype, o.shape, o.strides});
    if (!o.absent) plan.viewPatches.push_back({static_cast<std::uint32_t>(start + k), o.buffer, o.byteOffset});
  }
}

void runLibrary(const Plan& plan, const PlanInstr& instr, std::span<const ArrayView> views,
                std::span<const Scalar> slots) {
  SmallVector<std::int64_t, 8> scalars;
  for (std::uint32_t s : instr.scalars) scalars.push_back(slots[s].bits());
  callLibrary(plan.device, plan.libraryFns[instr.function],
              {views.first(instr.numInputs), views.subspan(instr.numInputs), instr.attrs, scalars, instr.line});
  // Whether the plan fits is to be known before anything is written that others can see.
  if (!plan.device.isCpu() && plan.library[instr.function] == kSizeCheck) executor(plan.device).stream().synchronize();
}

// Most strided copies are kernels; what is left has more dims than those.
void copy(Device device, const ArrayView& from, const ArrayView& to) {
  if (!device.isCpu()) return copyArray(device, from, to);
  if (!from.contiguous() || !to.contiguous()) return copyArray(from, to);
  auto bytes = static_cast<std::uint64_t>(from.numel()) * itemSize(from.dtype);
  if (bytes <= kCopyGrain) {
    if (bytes != 0) std::memcpy(to.data, from.data, bytes);
    return;
  }
  parallelFor(static_cast<std::int64_t>(bytes), kCopyGrain, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to.as<char>() + begin, from.as<char>() + begin, static_cast<std::size_t>(end - begin));
  });
}

void bindBuffers(const Plan& plan, const PlanRun& run, char* arena, PlanWorkspace& work) {
  TANDEM_CHECK(run.inputs.size() == plan.numInputs && run.outputs.size() == plan.numOutputs, run.inputs.size(),
               " inputs of ", plan.numInputs, ", ", run.outputs.size(), " outputs of ", plan.numOutputs);
  work.bases.resize(plan.buffers.size());
  work.moved.resize(plan.buffers.size());
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& b = plan.buffers[i];
    char* at = nullptr;
    switch (b.kind) {
    case PlanBuffer::Kind::Input:
      at = static_cast<char*>(run.inputs[b.index]);
      break;
    case PlanBuffer::Kind::Output:
      at = static_cast<char*>(run.outputs[b.index]);
      break;
    case PlanBuffer::Kind::Temporary:
      at = arena + b.arenaOffset;
      break;
    }
    work.moved[i] = static_cast<char>(work.plan != plan.number || at != work.bases[i]);
    work.bases[i] = at;
  }
}

// Also has the code made that the launches will need.
void loadKernels(Plan& plan, const KernelModule* module) {
  Executor& runs = executor(plan.device);
  plan.loaded.clear();
  for (const KernelSignature& signature : plan.kernels) {
    const Kernel* kernel = module != nullptr ? module->find(signature) : runs.load(signature);
    if (kernel == nullptr) fail<InternalError>("the program has no kernel ", signature.text());
    plan.loaded.push_back(kernel);
  }
  runs.prepare(launchesOf(plan));
}

void runInstruction(const Plan& plan, const PlanWorkspace& work, std::size_t i) {
  const PlanInstr& instr = plan.instrs[i];
  const std::int64_t* const args = work.blocks.data() + plan.starts[i];
  const auto views = std::span(work.views).subspan(plan.viewStarts[i]);
  switch (instr.kind) {
  case PlanInstr::Kind::Kernel:
    if (instr.strided) {
      Executor& runs = executor(plan.device);
      return runs.launchStrided(*plan.loaded[instr.function], ArgLayout(plan.kernels[instr.function]), args,
                                instr.space, views.first(instr.numInputs), runs.stream());
    }
    return launch(plan.device, *plan.loaded[instr.function], args, instr.space);
  case PlanInstr::Kind::Library:
    return runLibrary(plan, instr, views.first(instr.operands.size()), work.slots);
  case PlanInstr::Kind::Copy:
    return copy(plan.device, views[0], views[1]);
  }
}

bool runList(const Plan& plan, const PlanWorkspace& work, std::size_t i, std::uint32_t count) {
  const PlanInstr& instr = plan.instrs[i];
  Executor& runs = executor(plan.device);
  return runs.launchList(*plan.loaded[instr.function],
                         std::span(work.blocks).subspan(plan.starts[i], count * instr.args.size()), runs.stream());
}

void runInstructions(const Plan& plan, const PlanWorkspace& work) {
  std::size_t i = 0;
  try {
    for (; i < plan.instrs.size(); ++i) {
      const std::uint32_t together = plan.lists.empty() ? 1 : plan.lists[i];
      if (together > 1 && runList(plan, work, i, together))
        i += together - 1;
      else
        runInstruction(plan, work, i);
    }
  } catch (const OutOfMemoryError& e) {
    // Library functions take memory while they run, as launches of strided inputs do. What else they fail by comes
    // before the first change.
    if (i <= plan.firstChange) throw;
    throw UnfinishedRun(strcat(e.what(), ", in the middle of a run: what it changes in place is changed in part"));
  }
}

bool writesToInput(const Plan& plan, const PlanInstr& instr) {
  return std::ranges::any_of(writtenBy(plan, instr), [&](const PlanOperand& o) {
    return !o.absent && plan.buffers[o.buffer].kind == PlanBuffer::Kind::Input;
  });
}

}  // namespace

std::span<const PlanOperand> writtenBy(const Plan& plan, const PlanInstr& instr) {
  const std::size_t inputs = instr.kind == PlanInstr::Kind::Kernel ? plan.kernels[instr.function].inputs.size()
                             : instr.kind == PlanInstr::Kind::Copy ? 1
                                                                   : instr.numInputs;
  const std::span<const PlanOperand> operands(instr.operands);
  return operands.subspan(std::min(inputs, operands.size()));
}

std::vector<LaunchPreview> launchesOf(const Plan& plan) {
  std::vector<LaunchPreview> launches;
  std::size_t listed = 0;  // up to there
  for (std::size_t i = 0; i < plan.instrs.size(); ++i) {
    const PlanInstr& instr = plan.instrs[i];
    if (!plan.lists.empty() && plan.lists[i] > 1) listed = i + plan.lists[i];
    if (instr.kind == PlanInstr::Kind::Kernel)
      launches.push_back({plan.loaded[instr.function], instr.args.data(), instr.space, instr.strided, i < listed});
  }
  return launches;
}

void resolvePlan(Plan& plan, const KernelModule* module) {
  plan.blocks.clear();
  plan.views.clear();
  plan.starts.clear();
  plan.viewStarts.clear();
  plan.pointerPatches.clear();
  plan.scalarPatches.clear();
  plan.viewPatches.clear();
  plan.libraryFns.clear();
  plan.elements = 0;
  static std::atomic<std::uint64_t> last{0};
  plan.number = ++last;
  for (const PlanBuffer& b : plan.buffers) {
    if (b.kind == PlanBuffer::Kind::Input) TANDEM_CHECK(b.index < plan.numInputs);
    if (b.kind == PlanBuffer::Kind::Output) TANDEM_CHECK(b.index < plan.numOutputs);
    if (b.kind == PlanBuffer::Kind::Temporary) TANDEM_CHECK(b.arenaOffset + b.bytes <= plan.arenaBytes);
  }
  plan.checksSizes = std::ranges::find(plan.library, kSizeCheck) != plan.library.end();
  for (const std::string& name : plan.library) {
    plan.libraryFns.push_back(libraryFunction(plan.device, name));
  }
  for (const PlanInstr& instr : plan.instrs) {
    for (const PlanOperand& o : instr.operands) TANDEM_CHECK(o.absent || o.buffer < plan.buffers.size());
    plan.starts.push_back(static_cast<std::uint32_t>(plan.blocks.size()));
    plan.viewStarts.push_back(static_cast<std::uint32_t>(plan.views.size()));
    std::int64_t elements = instr.space.units * instr.space.elementsPerUnit;
    if (instr.kind != PlanInstr::Kind::Kernel)
      for (const PlanOperand& o : instr.operands) elements = std::max(elements, numelOf(o.shape));
    plan.elements += elements;
    switch (instr.kind) {
    case PlanInstr::Kind::Kernel:
      resolveKernel(plan, instr);
      if (instr.strided) resolveViews(plan, instr);
      break;
    case PlanInstr::Kind::Library:
      TANDEM_CHECK(instr.function < plan.library.size() && instr.numInputs <= instr.operands.size());
      resolveViews(plan, instr);
      break;
    case PlanInstr::Kind::Copy:
      TANDEM_CHECK(instr.operands.size() == 2 && instr.operands[0].dtype == instr.operands[1].dtype);
      resolveViews(plan, instr);
      break;
    }
  }
  plan.firstChange = static_cast<std::size_t>(
      std::ranges::find_if(plan.instrs, [&](const PlanInstr& i) { return writesToInput(plan, i); }) -
      plan.instrs.begin());
  loadKernels(plan, module);
}

void runPlan(const Plan& plan, const PlanRun& run) {
  // A plan calls kernels and library functions, never another plan.
  thread_local PlanWorkspace work;
  const Arena arena(plan.device, plan.arenaBytes);
  runPlan(plan, run, arena.data(), work);
}

void runPlan(const Plan& plan, const PlanRun& run, void* arena, PlanWorkspace& work) {
  TANDEM_CHECK(plan.starts.size() == plan.instrs.size(), "the plan was not resolved");
  bindBuffers(plan, run, static_cast<char*>(arena), work);
  const bool again = work.plan == plan.number;
  work.plan = 0;  // while they are of neither
  // The trace's slots, then constants that lowering added.
  std::span<const ScalarSlot> slots = run.slots.empty() ? std::span<const ScalarSlot>(plan.slots) : run.slots;
  TANDEM_CHECK(slots.size() <= plan.slots.size(), slots.size(), " ", plan.slots.size());
  work.slots.resize(plan.slots.size());
  evaluateSlots(slots, run, std::span(work.slots).first(slots.size()));
  for (std::size_t i = slots.size(); i < plan.slots.size(); ++i) work.slots[i] = plan.slots[i].value;

  if (!again) {
    work.blocks = plan.blocks;
    work.views = plan.views;
  }
  for (const PlanPatch& p : plan.pointerPatches)
    if (work.moved[p.source]) work.blocks[p.at] = std::bit_cast<std::int64_t>(work.bases[p.source] + p.byteOffset);
  for (const PlanPatch& p : plan.scalarPatches) {
    const Scalar& s = work.slots[p.source];
    work.blocks[p.at] = p.dtype == DType::Float64 ? std::bit_cast<std::int64_t>(s.asDouble()) : s.asInt();
  }
  for (const PlanPatch& p : plan.viewPatches)
    if (work.moved[p.source]) work.views[p.at].data = work.bases[p.source] + p.byteOffset;
  work.plan = plan.number;

  if (plan.device.isCpu() || plan.checksSizes) return runInstructions(plan, work);
  executor(plan.device).queueSequence(plan.number, [&] { runInstructions(plan, work); });
}

}  // namespace tandem
