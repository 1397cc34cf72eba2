#include "runtime/device/isa.h"

#include <cstdlib>

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

bool hasAvx512BFloat16() { return hasAvx512() && __builtin_cpu_supports("avx512bf16") != 0; }

}  // namespace tandem
