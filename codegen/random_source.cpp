// LLVM takes random numbers, for names of temporary files, from a function that the C library has from glibc 2.36 on.
// Ours is found first, so that the compiler runs where glibc is 2.34.
#include <cstdint>

#include <sys/random.h>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  while (::getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
