// Which device: where tensors live and their work is done. What a device can do is its executor's business
// (executor.h).
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// A number a kind. The CPU is 0, so that a Device of zeros is the CPU; which number others have is `deviceKinds`'
/// order.
enum class DeviceKind : std::uint8_t { Cpu = 0 };

struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  std::int8_t index = 0;

  [[nodiscard]] bool isCpu() const { return kind == DeviceKind::Cpu; }
  friend bool operator==(Device a, Device b) {
    return std::bit_cast<std::uint16_t>(a) == std::bit_cast<std::uint16_t>(b);  // in one step
  }
};

/// Is any device but the CPU here? While there is none, nobody needs to ask where tensors are.
extern bool otherDevices;

/// A device as one number, for attributes and keys; the CPU is 0.
constexpr std::int64_t deviceNumber(Device d) { return static_cast<std::int64_t>(d.kind) << 8 | d.index; }
constexpr Device deviceOf(std::int64_t number) {
  return {static_cast<DeviceKind>(number >> 8), static_cast<std::int8_t>(number & 0x7f)};
}

/// The names of all kinds that can be spelled, whether such a device is here or not: those that PyTorch knows, and what
/// was added by `addDeviceKind`. The one list of them.
std::vector<std::string> deviceKinds();
/// The kind of a name, which becomes one that can be spelled. Error where the name is not one of lower-case letters and
/// digits, or there are too many.
DeviceKind addDeviceKind(std::string_view name);

/// `cpu`, `cuda`.
std::string kindName(DeviceKind kind);
/// `cpu`, `cuda:1`.
std::string deviceName(Device d);
/// From `cpu`, `cuda` or `cuda:1`; Error with the expected forms otherwise.
Device parseDevice(std::string_view name);

}  // namespace tandem
