#include "runtime/device/isa.h"

#include <cstdlib>
#include <unistd.h>

#include <sys/syscall.h>

#include "runtime/base/error.h"

namespace tandem {

const std::string& hostIsa() {
  static const std::string isa = [] {
    const bool v4 = __builtin_cpu_supports("x86-64-v4") != 0;
    if (__builtin_cpu_supports("x86-64-v3") == 0) {
      fail<Error>("this processor lacks AVX2 and FMA (x86-64-v3), which kernels are generated for");
    }
    const char* wanted = std::getenv("TANDEM_ISA");
    const bool lower = wanted != nullptr && std::string(wanted) == "x86-64-v3";
    return std::string(v4 && !lower ? "x86-64-v4" : "x86-64-v3");
  }();
  return isa;
}

bool hasAvx512() {
  static const bool has = hostIsa() == "x86-64-v4";
  return has;
}

bool hasTiles() {
  static const bool has = [] {
    if (!hasAvx512() || __builtin_cpu_supports("amx-tile") == 0 || __builtin_cpu_supports("amx-bf16") == 0)
      return false;
    // Their registers are large, and the system keeps them for those who have asked.
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return has;
}

bool hasAvx512BFloat16() { return hasAvx512() && __builtin_cpu_supports("avx512bf16") != 0; }

}  // namespace tandem
