#include "runtime/base/dtype.h"

namespace tandem {

std::string_view dtypeName(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"bool",  "uint8",   "int8",     "int16",   "int32",
                                                  "int64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(t)];
}

std::string_view dtypeClassName(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"Bool", "Byte", "Char",     "Short", "Int",
                                                  "Long", "Half", "BFloat16", "Float", "Double"};
  return names[static_cast<int>(t)];
}

DType promoteTypes(DType a, DType b) {
  if (a == b) return a;
  if (a > b) {
    DType t = a;
    a = b;
    b = t;
  }
  // a < b from here on
  if (b == DType::BFloat16 && a == DType::Float16) return DType::Float32;
  if (a == DType::UInt8 && b == DType::Int8) return DType::Int16;
  return b;
}

}  // namespace tandem
