// Where tensors live and work is queued. Code above the runtime names a Device and asks its Backend; a back end is a
// folder beside cpu/ that implements this interface and registers itself, so that adding one edits nothing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

enum class DeviceKind : std::uint8_t { Cpu, Cuda };
inline constexpr int kNumDeviceKinds = 2;

struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  std::int8_t index = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

/// `cpu`, `cuda:1`.
std::string deviceName(Device d);
/// From `cpu`, `cuda` or `cuda:1`; Error with the expected forms otherwise.
Device parseDevice(std::string_view name);

/// An ordered queue of work on a device. On the CPU work is done when the call returns, so its streams are always
/// empty.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Returns when all work queued so far is done.
  virtual void synchronize() = 0;
  /// The library's or driver's own handle; null on the CPU.
  virtual void* handle() const = 0;
};

/// A place in a stream that others can wait for.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  /// Work queued on `stream` from now on waits for the event.
  virtual void waitOn(Stream& stream) = 0;
  virtual bool done() const = 0;
  virtual void synchronize() = 0;
  /// Milliseconds between two recorded and finished events.
  virtual double millisecondsSince(const Event& earlier) const = 0;
};

/// One kind of device. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  /// How many devices of the kind there are.
  virtual int deviceCount() = 0;
  /// As `allocate` and `deallocate` of runtime/memory/allocator.h, on device `index`.
  virtual void* allocate(std::size_t bytes, int index) = 0;
  virtual void deallocate(void* p, std::size_t bytes, int index) noexcept = 0;
  /// Copies between this device and the host or within it, in the order of `stream`.
  enum class CopyKind : std::uint8_t { HostToDevice, DeviceToHost, DeviceToDevice };
  virtual void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream& stream) = 0;
  virtual Stream& defaultStream(int index) = 0;
  virtual std::unique_ptr<Stream> makeStream(int index) = 0;
  virtual std::unique_ptr<Event> makeEvent(int index) = 0;
};

/// The back end of a kind; Error naming what is missing where there is none.
Backend& backend(DeviceKind kind);
/// Is there a back end, and a device?
bool isAvailable(DeviceKind kind);
/// Called once by each back end while its object is loaded. The back end lives as long as the process.
void registerBackend(DeviceKind kind, Backend* b);

}  // namespace tandem
