#include "runtime/device/cpu/cpu_kernel.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cpu/cpu_module.h"
#include "runtime/device/cpu/elf_loader.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/isa.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/kernel_cache.h"

namespace tandem::cpu {

namespace {

/// Is every output one element of a row that follows from reductions and scalars alone?
bool givesReductions(const KernelSignature& s) {
  const std::size_t first = s.inputs.size() + s.scalars.size();
  SmallVector<bool, 64> known(first + s.steps.size());
  for (std::size_t v = s.inputs.size(); v < known.size(); ++v)
    known[v] = v < first || s.steps[v - first].kind == KernelStep::Kind::Reduce ||
               std::ranges::all_of(s.steps[v - first].operands, [&](std::uint16_t of) { return known[of]; });
  return std::ranges::all_of(s.outputs, [&](const KernelOutput& output) {
    return output.operand.access == Access::Zero && known[output.value];
  });
}

/// These inputs become Unit ones; the `others` keep their access, or have one element for all.
enum class Others : std::uint8_t { Keep, One };
void takeInputs(KernelSignature& s, std::uint64_t unit, Others others) {
  for (std::size_t k = 0; k < s.inputs.size(); ++k)
    if (k < 64 && (unit >> k & 1) != 0)
      s.inputs[k].access = Access::Unit;
    else if (others == Others::One)
      s.inputs[k].access = Access::Zero;
}

/// A Row kernel as a Column kernel over the last outer dim, along which these operands are dense.
void takeColumns(KernelSignature& s, std::uint64_t dense) {
  s.kind = KernelKind::Column;
  s.trailing = true;
  --s.outerRank;
  takeInputs(s, dense, Others::One);
  for (std::size_t k = 0; k < s.outputs.size(); ++k)
    s.outputs[k].operand.access = (dense >> (s.inputs.size() + k) & 1) != 0 ? Access::Unit : Access::Strided;
}

/// A Column kernel as one whose rows are its columns, along which these inputs are dense.
void takeRows(KernelSignature& s, std::uint64_t dense) {
  s.kind = KernelKind::Leading;
  ++s.outerRank;
  takeInputs(s, dense, Others::One);
  for (KernelOutput& output : s.outputs) output.operand.access = Access::Zero;
}

}  // namespace

CpuKernel::CpuKernel(const KernelSignature& s) : signature(s), layout(signature) {
  for (const KernelOperand& input : signature.inputs) operands.push_back(input);
  for (const KernelOutput& output : signature.outputs) operands.push_back(output.operand);
  bool index = false;
  for (const KernelStep& step : signature.steps) {
    reduces |= step.kind == KernelStep::Kind::Reduce;
    index |= step.kind == KernelStep::Kind::Index;
  }
  const bool row = signature.kind == KernelKind::Row;
  elementwise = row && !reduces && !index && std::ranges::none_of(signature.outputs, [](const KernelOutput& output) {
                  return output.operand.access == Access::Zero;
                });
  splits = canSplit(signature);
  shortRows = row && !index && layout.outerRank > 0 && layout.framed == 0;
  if (shortRows) atOnce = kAtOnceInRows;
  const bool matrix = layout.column ? layout.reducedRank == 1 : row && layout.outerRank > 0;
  if (!matrix || index || layout.framed > 0) return;
  for (std::size_t k = 0; k < std::min<std::size_t>(signature.inputs.size(), 64); ++k)
    if (signature.inputs[k].access == Access::Strided) strided |= std::uint64_t{1} << k;
  standing = layout.column && strided != 0 && !signature.trailing && layout.outerRank < kMaxOuterRank &&
             signature.inputs.size() <= 64;
  if (standing) atOnce = 0;
  columns = row && reduces && strided != 0 && operands.size() <= 64 && givesReductions(signature);
  nearlyAcross = elementwise && std::ranges::any_of(operands, [](const KernelOperand& operand) {
                   return operand.access == Access::Strided;
                 });
}

CpuKernel::CpuKernel(const KernelSignature& s, const CpuModule& module, KernelFn function) : CpuKernel(s) {
  module_ = &module;
  function_.store(function, std::memory_order_release);
}

CpuKernel::~CpuKernel() {
  delete split_.load(std::memory_order_relaxed);
  for (const Variant* v = variants_.load(std::memory_order_relaxed); v != nullptr;) delete std::exchange(v, v->next);
}

const CpuKernel& CpuKernel::follower(const KernelSignature& s) const {
  return module_ != nullptr ? module_->kernel(s) : loadKernel(s);
}

KernelFn CpuKernel::makeFunction() const {
  if (module_ != nullptr) fail<InternalError>("the program has no code of the kernel ", signature.text());
  KernelFn made = nullptr;
  findCode(signature, target().architecture,
           [&](const std::string& object, const std::string& symbol) { made = loadObject(object, symbol); });
  // Two threads that want the same code may both make it, and the first one in stays: rare, and without a wait that
  // could outlive a thread.
  KernelFn before = nullptr;
  return function_.compare_exchange_strong(before, made) ? made : before;
}

const Split& CpuKernel::split() const {
  if (const Split* known = split_.load(std::memory_order_acquire)) return *known;
  const auto [partial, finish] = splitSignature(signature);
  auto made = std::make_unique<Split>(Split{&follower(partial), &follower(finish)});
  const Split* before = nullptr;
  return split_.compare_exchange_strong(before, made.get()) ? *made.release() : *before;
}

const CpuKernel* CpuKernel::variant(Way way, std::uint64_t which) const {
  const Variant* first = variants_.load(std::memory_order_acquire);
  for (const Variant* v = first; v != nullptr; v = v->next)
    if (v->way == way && v->operands == which) return v->kernel;
  KernelSignature s = signature;
  switch (way) {
  case Way::Straight:
    takeInputs(s, which, Others::Keep);
    break;
  case Way::Turned:
    takeInputs(s, which, Others::One);
    break;
  case Way::Columns:
    takeColumns(s, which);
    break;
  case Way::Short:
    s.kind = KernelKind::Short;
    s.outerRank = 1;
    break;
  case Way::Leading:
    takeRows(s, which);
    break;
  case Way::ToMemory:
    s.toMemory = true;
  }
  // A program that another version saved may launch its kernels in another way.
  const CpuKernel* kernel = module_ != nullptr ? module_->findCode(s) : &loadKernel(s);
  // Threads that add one at the same time may add it twice, which does no harm.
  auto* const made = new Variant{way, which, kernel, first};
  while (!variants_.compare_exchange_weak(made->next, made)) {
  }
  return kernel;
}

const Target& target() {
  static const Target host{hostIsa()};
  return host;
}

const CpuKernel& loadKernel(const KernelSignature& signature) {
  // Never destroyed: threads may look up while the process ends.
  static auto* const table =
      new KernelTable([](const KernelSignature& s) -> const Kernel* { return new CpuKernel(s); });
  return static_cast<const CpuKernel&>(*table->find(signature));
}

}  // namespace tandem::cpu
