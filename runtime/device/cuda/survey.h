// Which code work needs, learnt without a GPU: what is queued on a device that is not there is noted and not done. So
// saved programs bring the code of library functions for any target, and the package that of common operations.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/plugin.h"

namespace tandem::cuda {

class Function;

/// What is noted on this thread. Functions of queue.h ask for it before they queue anything.
class Survey {
 public:
  /// Null where work is queued as it comes.
  static Survey* now();

  void note(const KernelSignature& signature);
  /// A kernel of the text, which launches nothing.
  const Function& note(KernelSource source);
  /// Addresses that nobody reads, aligned as those of the device's memory are.
  void* allocate(std::size_t bytes);

  std::vector<KernelSignature> kernels;
  std::vector<KernelSource> sources;

 private:
  std::unordered_set<std::string> known_;
  std::uintptr_t end_ = std::uintptr_t{1} << 40;
};

/// The device: an executor whose work is noted.
class SurveyDevice final : public CodeSurvey, public Executor {
 public:
  explicit SurveyDevice(const std::string& architecture);

  Executor& device() override { return *this; }
  const std::vector<KernelSignature>& kernels() const override { return survey_.kernels; }
  const std::vector<KernelSource>& sources() const override { return survey_.sources; }

  const Target& target() const override { return gpu_.target(); }
  void* allocate(std::size_t bytes) override { return survey_.allocate(bytes); }
  void deallocate(void*, std::size_t) noexcept override {}
  void copyFromHost(void*, const void*, std::size_t, Stream&) override {}
  /// Zeros.
  void copyToHost(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  void copy(void*, const void*, std::size_t, Stream&) override {}
  const Kernel* load(const KernelSignature& signature) override;
  void prepare(std::span<const LaunchPreview>) override {}
  void launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream& stream) override;
  bool reduceStrided(const StridedReduction& reduction, Stream& stream) override;
  void copyArray(const ArrayView& from, const ArrayView& to, Stream& stream) override;
  LibraryFn library(std::string_view op) override;
  void call(LibraryFn fn, const LibraryCall& call, Stream& stream) override;
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> makeStream() override;
  std::unique_ptr<Event> makeEvent() override;

 private:
  Survey survey_;
  Gpu& gpu_;
  class Nothing final : public Stream {
   public:
    void synchronize() override {}
    void* handle() const override { return nullptr; }
  } stream_;
};

}  // namespace tandem::cuda
