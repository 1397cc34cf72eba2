// The CPU as a device: memory from the caching allocator, streams in which work is done at once.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/cpu/cpu_module.h"
#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/strided_launch.h"
#include "runtime/device/cpu/strided_reduction.h"
#include "runtime/device/executor.h"
#include "runtime/kernel/in_parallel.h"
#include "runtime/lib/strided.h"
#include "runtime/memory/allocator.h"

namespace tandem {
namespace {

constexpr std::size_t kMostCompilers = 4;  // threads

class CpuStream : public Stream {
 public:
  void synchronize() override {}
  void* handle() const override { return nullptr; }
};

class CpuEvent : public Event {
 public:
  void record(Stream&) override { at_ = std::chrono::steady_clock::now(); }
  void waitOn(Stream&) override {}
  bool done() const override { return true; }
  void synchronize() override {}
  double millisecondsSince(const Event& earlier) const override {
    const auto* other = dynamic_cast<const CpuEvent*>(&earlier);
    TANDEM_CHECK(other != nullptr, "events of different devices");
    return std::chrono::duration<double, std::milli>(at_ - other->at_).count();
  }

 private:
  std::chrono::steady_clock::time_point at_;
};

class CpuExecutor : public Executor {
 public:
  const Target& target() const override { return cpu::target(); }
  void* allocate(std::size_t bytes) override { return tandem::allocate(bytes); }
  void deallocate(void* p, std::size_t bytes) noexcept override { tandem::deallocate(p, bytes); }
  void copyFromHost(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  void copyToHost(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  const Kernel* load(const KernelSignature& signature) override { return &cpu::loadKernel(signature); }
  void prepare(std::span<const LaunchPreview> launches) override;
  std::vector<KernelSignature> codeFor(std::span<const LaunchPreview> launches) override;
  std::unique_ptr<KernelModule> loadModule(std::span<const SavedKernel> kernels) override {
    return std::make_unique<cpu::CpuModule>(kernels);
  }
  void launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream&) override {
    cpu::launch(kernel, args, space);
  }
  void launchStrided(const Kernel& kernel, const ArgLayout&, const std::int64_t* args, const LaunchSpace& space,
                     std::span<const ArrayView> inputs, Stream&) override {
    cpu::launchStrided(static_cast<const cpu::CpuKernel&>(kernel), args, space, inputs);
  }
  bool reduceStrided(const StridedReduction& reduction, Stream&) override {
    return cpu::reduceStrided != nullptr && cpu::reduceStrided(reduction);
  }
  void copyArray(const ArrayView& from, const ArrayView& to, Stream&) override { tandem::copyArray(from, to); }
  LibraryFn library(std::string_view op) override { return libraryFunction(op); }
  void call(LibraryFn fn, const LibraryCall& call, Stream&) override { callLibrary(fn, call); }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> makeStream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> makeEvent() override { return std::make_unique<CpuEvent>(); }

 private:
  CpuStream stream_;
};

/// Each once.
std::vector<const cpu::CpuKernel*> neededBy(std::span<const LaunchPreview> launches) {
  std::vector<const cpu::CpuKernel*> needed;
  for (const LaunchPreview& l : launches) {
    const auto& kernel = static_cast<const cpu::CpuKernel&>(*l.kernel);
    for (const cpu::CpuKernel* k : l.strided ? cpu::asItIs(kernel, l.space) : cpu::neededBy(kernel, l.args, l.space))
      if (std::ranges::find(needed, k) == needed.end()) needed.push_back(k);
  }
  return needed;
}

std::vector<KernelSignature> CpuExecutor::codeFor(std::span<const LaunchPreview> launches) {
  std::vector<KernelSignature> signatures;
  for (const cpu::CpuKernel* k : neededBy(launches)) signatures.push_back(k->signature);
  return signatures;
}

void CpuExecutor::prepare(std::span<const LaunchPreview> launches) {
  std::vector<const cpu::CpuKernel*> missing = neededBy(launches);
  std::erase_if(missing, [](const cpu::CpuKernel* k) { return k->ready() != nullptr; });
  makeInParallel(missing.size(), kMostCompilers, [&](std::size_t k) { static_cast<void>(missing[k]->function()); });
}

const bool registered = [] {
  static Executor* const cpu[] = {new CpuExecutor};
  registerExecutors(DeviceKind::Cpu, cpu);
  return true;
}();

}  // namespace
}  // namespace tandem
