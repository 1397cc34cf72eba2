// The CPU as a device: memory from the caching allocator, streams in which work is done at once.
#include <chrono>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/device/isa.h"
#include "runtime/lib/strided.h"
#include "runtime/memory/allocator.h"

namespace tandem {
namespace {

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
  const Target& target() const override {
    static const Target t{hostIsa()};
    return t;
  }
  void* allocate(std::size_t bytes) override { return tandem::allocate(bytes); }
  void deallocate(void* p, std::size_t bytes) noexcept override { tandem::deallocate(p, bytes); }
  void copyFromHost(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  void copyToHost(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  void copyArray(const ArrayView& from, const ArrayView& to, Stream&) override { tandem::copyArray(from, to); }
  LibraryFn library(std::string_view op) override { return libraryFunction(op); }
  void call(LibraryFn fn, const LibraryCall& call, Stream&) override { callLibrary(fn, call); }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> makeStream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> makeEvent() override { return std::make_unique<CpuEvent>(); }

 private:
  CpuStream stream_;
};

const bool registered = [] {
  static Executor* const cpu[] = {new CpuExecutor};
  registerExecutors(DeviceKind::Cpu, cpu);
  return true;
}();

}  // namespace
}  // namespace tandem
