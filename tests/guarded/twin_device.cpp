// The smallest device: the CPU once more, under another name. A real one does its own work in these functions.
#include "runtime/device/plugin.h"

namespace tandem {
namespace {

class TwinExecutor : public Executor {
 public:
  explicit TwinExecutor(Executor& cpu) : cpu_(cpu) {}

  const Target& target() const override { return cpu_.target(); }
  void* allocate(std::size_t bytes) override { return cpu_.allocate(bytes); }
  void deallocate(void* p, std::size_t bytes) noexcept override { cpu_.deallocate(p, bytes); }
  void copyFromHost(void* to, const void* from, std::size_t bytes, Stream& s) override {
    cpu_.copyFromHost(to, from, bytes, s);
  }
  void copyToHost(void* to, const void* from, std::size_t bytes, Stream& s) override {
    cpu_.copyToHost(to, from, bytes, s);
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream& s) override { cpu_.copy(to, from, bytes, s); }
  void copyArray(const ArrayView& from, const ArrayView& to, Stream& s) override { cpu_.copyArray(from, to, s); }
  const Kernel* load(const KernelSignature& signature) override { return cpu_.load(signature); }
  void prepare(std::span<const LaunchPreview> launches) override { cpu_.prepare(launches); }
  void launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream& s) override {
    cpu_.launch(kernel, args, space, s);
  }
  LibraryFn library(std::string_view op) override { return cpu_.library(op); }
  void call(LibraryFn fn, const LibraryCall& call, Stream& s) override { cpu_.call(fn, call, s); }
  Stream& stream() override { return cpu_.stream(); }
  std::unique_ptr<Stream> makeStream() override { return cpu_.makeStream(); }
  std::unique_ptr<Event> makeEvent() override { return cpu_.makeEvent(); }

 private:
  Executor& cpu_;
};

}  // namespace
}  // namespace tandem

extern "C" [[gnu::visibility("default")]] tandem::DevicePlugin tandemDevices(const tandem::DeviceHost& host) {
  static tandem::Executor* const devices[] = {new tandem::TwinExecutor(*host.cpu)};
  return {"twin", devices, 1};
}
