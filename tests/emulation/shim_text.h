// The shim: what stands before every text that is compiled for the host.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace tandem::emulation {

/// What a text with these words needs of it.
std::string shimFor(const std::set<std::string_view>& words);
/// All of it.
std::string wholeShim();
/// A hash of it. Modules carry it: what was compiled with another shim is compiled again.
std::uint64_t shimVersion();

/// The words of a text, and of its comments.
std::set<std::string_view> wordsOf(std::string_view text);

/// What begins what stands for PTX: an object in hexadecimal digits follows.
inline constexpr char kTextObject[] = "// An object of the emulation.\n";

}  // namespace tandem::emulation
