#include "runtime/device/cpu/cpu_module.h"

#include "runtime/base/error.h"

namespace tandem::cpu {
namespace {

LoadedCode load(std::span<const SavedKernel> kernels) {
  std::vector<KernelObject> objects;
  objects.reserve(kernels.size());
  for (const SavedKernel& k : kernels)
    if (!k.object.empty()) objects.push_back({k.object, k.symbol});
  return LoadedCode(objects);
}

}  // namespace

CpuModule::CpuModule(std::span<const SavedKernel> kernels) : code_(load(kernels)) {
  auto function = code_.functions.begin();
  for (const SavedKernel& k : kernels) {
    kernels_.emplace_back(k.signature, *this, k.object.empty() ? nullptr : *function++);
    bySignature_.emplace(k.signature.bytes(), &kernels_.back());
  }
}

const Kernel* CpuModule::find(const KernelSignature& signature) const {
  const auto it = bySignature_.find(signature.bytes());
  return it == bySignature_.end() ? nullptr : it->second;
}

const CpuKernel& CpuModule::kernel(const KernelSignature& signature) const {
  const Kernel* found = find(signature);
  if (found == nullptr) fail<InternalError>("the program has no kernel ", signature.text());
  return static_cast<const CpuKernel&>(*found);
}

const CpuKernel* CpuModule::findCode(const KernelSignature& signature) const {
  const auto* found = static_cast<const CpuKernel*>(find(signature));
  return found != nullptr && found->ready() != nullptr ? found : nullptr;
}

}  // namespace tandem::cpu
