// The device `meta`: tensors with a shape, a dtype and strides and no elements. All above it goes on as elsewhere
// (rules of shapes and dtypes, histories, recordings, plans); what is queued is not done, and so takes no time, and
// memory is addresses that nothing stands behind. Elements cannot be read: each copy to the host is an error.
#include <array>
#include <atomic>
#include <memory>

#include "runtime/base/error.h"
#include "runtime/device/plugin.h"

namespace tandem::meta {
namespace {

class NoStream : public Stream {
 public:
  void synchronize() override {}
  void* handle() const override { return nullptr; }
};

class NoEvent : public Event {
 public:
  void record(Stream&) override {}
  void waitOn(Stream&) override {}
  bool done() const override { return true; }
  void synchronize() override {}
  double millisecondsSince(const Event&) const override { return 0; }
};

class NoKernel : public Kernel {};

class MetaExecutor : public Executor {
 public:
  MetaExecutor() { target_.architecture = "meta"; }

  const Target& target() const override { return target_; }
  /// Different for any two storages, as programs that look for shared memory expect, and none that can be touched: no
  /// processor has addresses from 2^57 to 2^63.
  void* allocate(std::size_t bytes) override {
    constexpr std::size_t kLine = 64;
    return reinterpret_cast<void*>(next_.fetch_add((bytes / kLine + 2) * kLine, std::memory_order_relaxed));
  }
  void deallocate(void*, std::size_t) noexcept override {}
  void copyFromHost(void*, const void*, std::size_t, Stream&) override {}
  void copyToHost(void*, const void*, std::size_t, Stream&) override {
    fail<NotImplementedError>("Cannot copy out of meta tensor; no data!");
  }
  void copy(void*, const void*, std::size_t, Stream&) override {}
  void copyArray(const ArrayView&, const ArrayView&, Stream&) override {}
  const Kernel* load(const KernelSignature&) override { return &kernel_; }
  void prepare(std::span<const LaunchPreview>) override {}
  void launch(const Kernel&, const std::int64_t*, const LaunchSpace&, Stream&) override {}
  bool reduceStrided(const StridedReduction&, Stream&) override { return true; }
  LibraryFn library(std::string_view) override {
    return [](const LibraryCall&) {};
  }
  void call(LibraryFn, const LibraryCall&, Stream&) override {}
  bool hasElements() const override { return false; }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> makeStream() override { return std::make_unique<NoStream>(); }
  std::unique_ptr<Event> makeEvent() override { return std::make_unique<NoEvent>(); }

 private:
  Target target_;
  NoKernel kernel_;
  NoStream stream_;
  std::atomic<std::uintptr_t> next_{std::uintptr_t{1} << 58};
};

}  // namespace
}  // namespace tandem::meta

extern "C" [[gnu::visibility("default")]] tandem::DevicePlugin tandemDevices(const tandem::DeviceHost&) {
  static tandem::Executor* const devices[] = {new tandem::meta::MetaExecutor};
  return {"meta", devices, 1};
}
