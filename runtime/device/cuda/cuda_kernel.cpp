#include "runtime/device/cuda/cuda_kernel.h"

#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/launch_shape.h"
#include "runtime/device/cuda/source.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/split.h"

namespace tandem::cuda {

CudaKernel::CudaKernel(Gpu& on, const KernelSignature& s)
    : gpu(on), signature(s), layout(signature), byRows(isByRows(signature)) {
  for (const KernelOperand& input : signature.inputs) dense &= input.access != Access::Strided;
  for (const KernelOutput& output : signature.outputs) dense &= output.operand.access == Access::Unit;
  splits = canSplitAsDim(signature);
  turns = canTurn(signature);
  if (byRows) kept = keptInputs(signature, Schedule(signature));
}

CudaKernel::CudaKernel(Gpu& on, const KernelSignature& s, const CudaModule& module, ModuleHandle code,
                       const std::string& symbol)
    : CudaKernel(on, s) {
  module_ = &module;
  if (code != nullptr) takeCode(code, symbol);
}

CudaKernel::~CudaKernel() { delete split_.load(std::memory_order_relaxed); }

const CudaKernel& CudaKernel::follower(const KernelSignature& s) const {
  return module_ != nullptr ? module_->kernel(s) : loadKernel(gpu, s);
}

const Function& CudaKernel::makeFunction() const {
  if (module_ != nullptr) fail<InternalError>("the program has no code of the kernel ", signature.text());
  const std::lock_guard lock(making_);
  if (code_ == nullptr) {
    host().findCode(signature, gpu.properties().architecture,
                    [&](const std::string& object, const std::string& symbol) {
                      takeCode(loadModule(gpu, object, signature.text()), symbol);
                    });
  }
  return *code_;
}

void CudaKernel::takeCode(ModuleHandle code, const std::string& symbol) const {
  const std::string text = signature.text();
  code_ = std::make_unique<const Function>(text, functionOf(code, symbol, text));
  const FunctionHandle brief = kept.empty() ? nullptr : findFunction(code, symbol + kBriefSuffix);
  if (brief != nullptr) brief_ = std::make_unique<const Function>(text, brief);
  function_.store(code_.get(), std::memory_order_release);
}

const Split& CudaKernel::split() const {
  if (const Split* known = split_.load(std::memory_order_acquire)) return *known;
  const auto [partial, finish] = splitSignatureAsDim(signature);
  auto made = std::make_unique<Split>(Split{&follower(partial), &follower(finish)});
  const Split* before = nullptr;
  return split_.compare_exchange_strong(before, made.get()) ? *made.release() : *before;
}

const CudaKernel* CudaKernel::listed() const {
  if (const CudaKernel* known = listed_.load(std::memory_order_acquire)) return known;
  KernelSignature list = signature;
  list.kind = KernelKind::List;
  const CudaKernel* made = module_ != nullptr ? module_->findCode(list) : &loadKernel(gpu, list);
  listed_.store(made, std::memory_order_release);
  return made;
}

const CudaKernel* CudaKernel::turned(const Turn& turn) const {
  const std::lock_guard lock(turning_);
  for (const auto& [known, kernel] : turned_)
    if (known == turn) return kernel;
  const KernelSignature s = cuda::turned(signature, turn);
  const CudaKernel* made = module_ != nullptr ? module_->findCode(s) : &loadKernel(gpu, s);
  turned_.emplace_back(turn, made);
  return made;
}

const CudaKernel& GpuKernels::find(const KernelSignature& signature) {
  std::string bytes = signature.bytes();
  {
    const std::shared_lock lock(mutex_);
    if (const auto it = kernels_.find(bytes); it != kernels_.end()) {
      bump(host().counters->kernelCacheHits);
      return *it->second;
    }
  }
  const std::unique_lock lock(mutex_);
  auto [it, fresh] = kernels_.try_emplace(std::move(bytes), nullptr);
  if (fresh) it->second = std::make_unique<const CudaKernel>(gpu_, signature);
  return *it->second;
}

const CudaKernel& loadKernel(Gpu& gpu, const KernelSignature& signature) { return gpu.kernels->find(signature); }

CudaModule::CudaModule(Gpu& gpu, std::span<const SavedKernel> kernels) : gpu_(gpu) {
  for (const SavedKernel& k : kernels) {
    if (!k.object.empty()) modules_.push_back(loadModule(gpu, k.object, k.signature.text()));
    kernels_.emplace_back(gpu, k.signature, *this, k.object.empty() ? nullptr : modules_.back(), std::string(k.symbol));
    bySignature_.emplace(k.signature.bytes(), &kernels_.back());
  }
}

CudaModule::~CudaModule() {
  try {
    gpu_.use();
  } catch (const Error&) {
    return;
  }
  // The driver waits for kernels of it that still run.
  for (ModuleHandle module : modules_) driver().moduleUnload(module);
}

const Kernel* CudaModule::find(const KernelSignature& signature) const {
  const auto it = bySignature_.find(signature.bytes());
  return it == bySignature_.end() ? nullptr : it->second;
}

const CudaKernel& CudaModule::kernel(const KernelSignature& signature) const {
  const Kernel* found = find(signature);
  if (found == nullptr) fail<InternalError>("the program has no kernel ", signature.text());
  return static_cast<const CudaKernel&>(*found);
}

const CudaKernel* CudaModule::findCode(const KernelSignature& signature) const {
  const auto* found = static_cast<const CudaKernel*>(find(signature));
  return found != nullptr && found->ready() ? found : nullptr;
}

}  // namespace tandem::cuda
