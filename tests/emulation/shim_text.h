// The shim: what stands before every text that is compiled for the host.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

/// Its text, one file after another.
const std::string& shimText();
/// A hash of it. Modules carry it: what was compiled with another shim is compiled again.
std::uint64_t shimVersion();

/// What begins what stands for PTX: an object in hexadecimal digits follows.
inline constexpr char kTextObject[] = "// An object of the emulation.\n";

}  // namespace tandem::emulation
