// memcpy for runs of memory inside larger arrays.
#pragma once

#include <cstdint>
#include <cstring>

namespace tandem::lib {

/// As memcpy. The C library copies runs of some kilobytes by an instruction that is three times slower than its loops
/// where the destination is a part of a cache line ahead of the source modulo a page, as in a rolled row.
inline void copyBytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kStep = 1024;  // below that limit
  auto* d = static_cast<char*>(to);
  const auto* s = static_cast<const char*>(from);
  std::size_t ahead = (reinterpret_cast<std::uintptr_t>(d) - reinterpret_cast<std::uintptr_t>(s)) % 4096;
  if (ahead > 0 && ahead < 64)
    for (; bytes > 2 * kStep; bytes -= kStep, d += kStep, s += kStep) std::memcpy(d, s, kStep);
  std::memcpy(d, s, bytes);
}

/// The same of a run of some hundred bytes at least, in an array that no cache holds: by the instruction that writes
/// lines without having read them, where the C library has loops that read them.
inline void copyBytesToMemory(void* to, const void* from, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t ahead = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  if (ahead == 0 || ahead >= 64) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return;
  }
#endif
  copyBytes(to, from, bytes);
}

}  // namespace tandem::lib
