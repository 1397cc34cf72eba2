#include "runtime/device/device.h"

#include <array>
#include <atomic>
#include <charconv>

#include "runtime/base/error.h"

namespace tandem {
namespace {

constexpr std::array<std::string_view, kNumDeviceKinds> kNames{"cpu", "cuda"};

std::atomic<Backend*>& slot(DeviceKind kind) {
  // Constant-initialised: back ends register before any constructor of this file could have run.
  static constinit std::array<std::atomic<Backend*>, kNumDeviceKinds> backends{};
  return backends[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string deviceName(Device d) {
  std::string name(kNames[static_cast<std::size_t>(d.kind)]);
  return d.kind == DeviceKind::Cpu ? name : strcat(name, ":", static_cast<int>(d.index));
}

Device parseDevice(std::string_view name) {
  std::size_t colon = name.find(':');
  std::string_view kind = name.substr(0, colon);
  int index = 0;
  bool good = true;
  if (colon != std::string_view::npos) {
    std::string_view digits = name.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    good = error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index < 128;
  }
  for (std::size_t k = 0; good && k < kNames.size(); ++k)
    if (kind == kNames[k]) return {static_cast<DeviceKind>(k), static_cast<std::int8_t>(index)};
  fail<Error>("invalid device string '", name, "': expected cpu, cuda or cuda:INDEX");
}

Backend& backend(DeviceKind kind) {
  Backend* b = slot(kind).load(std::memory_order_acquire);
  if (b == nullptr)
    fail<Error>("no ", kNames[static_cast<std::size_t>(kind)], " devices: Tandem was built without that back end");
  return *b;
}

bool isAvailable(DeviceKind kind) {
  Backend* b = slot(kind).load(std::memory_order_acquire);
  return b != nullptr && b->deviceCount() > 0;
}

void registerBackend(DeviceKind kind, Backend* b) { slot(kind).store(b, std::memory_order_release); }

}  // namespace tandem
