// Element types of tensors, with PyTorch's names, sizes and promotion lattice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

enum class DType : std::uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
};
inline constexpr int kNumDTypes = 10;

inline constexpr std::uint8_t kItemSizes[kNumDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
/// Bytes of one element.
constexpr std::size_t itemSize(DType t) { return kItemSizes[static_cast<int>(t)]; }
constexpr bool isFloating(DType t) { return t >= DType::Float16; }
/// Integers, not bool.
constexpr bool isInteger(DType t) { return t >= DType::UInt8 && t <= DType::Int64; }
/// Bool, integer, floating: promotion never leads to a lower category, and a dtype of a lower one cannot take a value.
constexpr int category(DType t) { return t == DType::Bool ? 0 : isFloating(t) ? 2 : 1; }
constexpr bool isHalf(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
constexpr bool isSigned(DType t) { return t != DType::Bool && t != DType::UInt8; }
/// The type a value of `t` is computed and accumulated in: half types in float32, every other in itself.
constexpr DType computeType(DType t) { return isHalf(t) ? DType::Float32 : t; }

/// `float32`, `bool`, ...
std::string_view dtypeName(DType t);
/// `Float`, `Bool`, `Long`, ...: as messages that PyTorch's users know name it.
std::string_view dtypeClassName(DType t);
/// Promotion of two tensor dtypes of the same priority, as PyTorch's `promote_types`.
DType promoteTypes(DType a, DType b);

}  // namespace tandem
