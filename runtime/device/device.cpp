#include "runtime/device/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <mutex>

#include "runtime/base/error.h"
#include "runtime/device/launch.h"
#include "runtime/device/plugin.h"

namespace tandem {
namespace {

constexpr std::size_t kMostKinds = 32;

/// The kinds by number: their names, and the devices that are here.
struct Kinds {
  std::mutex mutex;
  std::vector<std::string> names{"cpu", "cuda", "xpu", "mps",    "meta",   "hpu",  "mtia",
                                 "xla", "hip",  "ipu", "vulkan", "opencl", "lazy", "privateuseone"};
  // Null until someone asks; replaced once at most, where there were none. Read without a mutex.
  std::array<std::atomic<const std::vector<Executor*>*>, kMostKinds> devices{};
  std::array<std::string, kMostKinds> why;  // there are none, with the mutex
  std::mutex opening;                       // held while somebody looks for devices
};

Kinds& kinds() {
  static auto* const k = new Kinds;  // never destroyed: storages outlive other statics
  return *k;
}

[[gnu::cold]] const std::vector<Executor*>& open(DeviceKind kind) {
  static const std::vector<Executor*> none;
  if (kind == DeviceKind::Cpu) return none;  // it registers before `main`
  auto& slot = kinds().devices[static_cast<std::size_t>(kind)];
  const std::lock_guard lock(kinds().opening);
  if (slot.load(std::memory_order_acquire) == nullptr) {
    const std::string why = openDevices(kindName(kind));
    const std::vector<Executor*>* before = nullptr;
    if (slot.compare_exchange_strong(before, &none)) {
      const std::lock_guard names(kinds().mutex);
      kinds().why[static_cast<std::size_t>(kind)] = why;
    }
  }
  return *slot.load(std::memory_order_acquire);
}

const std::vector<Executor*>& devicesOf(DeviceKind kind) {
  const auto* devices = kinds().devices[static_cast<std::size_t>(kind)].load(std::memory_order_acquire);
  return devices != nullptr ? *devices : open(kind);
}

}  // namespace

constinit bool otherDevices = false;

std::vector<std::string> deviceKinds() {
  const std::lock_guard lock(kinds().mutex);
  return kinds().names;
}

DeviceKind addDeviceKind(std::string_view name) {
  const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!good) fail<Error>("'", name, "' cannot name a kind of device: expected lower-case letters, digits and _");
  const std::lock_guard lock(kinds().mutex);
  auto& names = kinds().names;
  auto known = std::ranges::find(names, name);
  if (known == names.end()) {
    if (names.size() == kMostKinds) fail<Error>("there are ", kMostKinds, " kinds of devices already");
    known = names.insert(names.end(), std::string(name));
  }
  return static_cast<DeviceKind>(known - names.begin());
}

std::string kindName(DeviceKind kind) {
  const std::lock_guard lock(kinds().mutex);
  return kinds().names[static_cast<std::size_t>(kind)];
}

std::string deviceName(Device d) {
  const std::string kind = kindName(d.kind);
  const bool isOnlyOne = d.isCpu() || kind == "meta";  // meta/meta_device.cpp
  return isOnlyOne ? kind : strcat(kind, ":", static_cast<int>(d.index));
}

Device parseDevice(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  int index = 0;
  bool good = true;
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    good = error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index < 128;
  }
  const auto names = deviceKinds();
  const auto known = std::ranges::find(names, kind);
  if (!good) fail<Error>("Invalid device string: '", name, "'");
  if (known != names.end()) return {static_cast<DeviceKind>(known - names.begin()), static_cast<std::int8_t>(index)};
  std::string expected;
  for (const std::string& n : names) expected += (expected.empty() ? "" : ", ") + n;
  fail<Error>("Expected one of ", expected, " device type at start of device string: ", name);
}

void registerExecutors(DeviceKind kind, std::span<Executor* const> devices, std::string_view why) {
  auto& slot = kinds().devices[static_cast<std::size_t>(kind)];
  const std::string name = kindName(kind);
  const std::lock_guard lock(kinds().mutex);
  const auto* before = slot.load();
  if (before != nullptr && !before->empty()) fail<Error>("there are devices of kind ", name, " already");
  otherDevices |= kind != DeviceKind::Cpu && !devices.empty();
  kinds().why[static_cast<std::size_t>(kind)] = why;
  slot.store(new std::vector<Executor*>(devices.begin(), devices.end()), std::memory_order_release);
}

std::string whyNoDevice(DeviceKind kind) {
  if (deviceCount(kind) != 0) return "";
  const std::lock_guard lock(kinds().mutex);
  return kinds().why[static_cast<std::size_t>(kind)];
}

int deviceCount(DeviceKind kind) { return static_cast<int>(devicesOf(kind).size()); }

Executor& executor(Device d) {
  const auto& devices = devicesOf(d.kind);
  if (d.index < 0 || static_cast<std::size_t>(d.index) >= devices.size()) {
    if (devices.empty()) fail<Error>("device '", deviceName(d), "' is not available: ", whyNoDevice(d.kind));
    fail<Error>("device '", deviceName(d), "' is not available: there are ", devices.size(), " devices of its kind");
  }
  return *devices[static_cast<std::size_t>(d.index)];
}

LibraryFn libraryFunction(Device device, std::string_view op) {
  const LibraryFn fn = executor(device).library(op);
  TANDEM_CHECK(fn != nullptr || !device.isCpu(), "no library function is called ", op);
  const std::string_view name = op.ends_with("_plain") ? op.substr(0, op.size() - 6) : op;  // as users know it
  if (fn == nullptr) fail<NotImplementedError>(name, " is not available on ", deviceName(device));
  return fn;
}

}  // namespace tandem
