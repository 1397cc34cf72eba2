// memcpy for runs of memory inside larger arrays.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tandem::lib {

/// As memcpy. The C library copies from the end where the destination is a part of a cache line ahead of the source
/// modulo a page, as in a rolled row, which takes more than twice as long.
inline void copyBytes(void* to, const void* from, std::size_t bytes) {
  using Vector = char __attribute__((vector_size(32)));
  auto* d = static_cast<char*>(to);
  const auto* s = static_cast<const char*>(from);
  const std::size_t ahead = (reinterpret_cast<std::uintptr_t>(d) - reinterpret_cast<std::uintptr_t>(s)) % 4096;
  if (ahead > 0 && ahead < 64)
    for (Vector a, b, c, e; bytes >= 4 * sizeof a; bytes -= 4 * sizeof a, d += 4 * sizeof a, s += 4 * sizeof a) {
      std::memcpy(&a, s, sizeof a);
      std::memcpy(&b, s + sizeof a, sizeof b);
      std::memcpy(&c, s + 2 * sizeof a, sizeof c);
      std::memcpy(&e, s + 3 * sizeof a, sizeof e);
      std::memcpy(d, &a, sizeof a);
      std::memcpy(d + sizeof a, &b, sizeof b);
      std::memcpy(d + 2 * sizeof a, &c, sizeof c);
      std::memcpy(d + 3 * sizeof a, &e, sizeof e);
    }
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

/// Copies n elements, mostly few: a call of memcpy takes longer than most rows.
template <class T>
inline void copyRow(const T* from, std::int64_t n, T* to) {
  const auto whole = [&]<std::int64_t Many>(std::integral_constant<std::int64_t, Many>) {
    std::int64_t i = 0;
    for (; i + Many <= n; i += Many) std::memcpy(to + i, from + i, Many * sizeof(T));
    if (i < n) std::memcpy(to + n - Many, from + n - Many, Many * sizeof(T));  // some of them again
  };
  if (n >= 16) return whole(std::integral_constant<std::int64_t, 16>());
  if (n >= 8) return whole(std::integral_constant<std::int64_t, 8>());
  if (n >= 4) return whole(std::integral_constant<std::int64_t, 4>());
  if (n >= 2) return whole(std::integral_constant<std::int64_t, 2>());
  if (n == 1) *to = *from;
}

}  // namespace tandem::lib
