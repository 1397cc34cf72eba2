// The safetensors layout: 8 bytes, the length of the header (little endian); the header, JSON that gives each tensor's
// dtype, shape and range of bytes behind the header; the bytes, without gaps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tandem::program {

struct TensorRange {
  std::string name;
  DType dtype = DType::Float32;
  Dims shape;
  std::uint64_t begin = 0;  // behind the header
  std::uint64_t end = 0;
};

/// Length and header, together a multiple of 64 bytes. The header has `metadata` beside the tensors, in their order.
std::string safetensorsHeader(std::span<const TensorRange> tensors,
                              std::span<const std::pair<std::string, std::string>> metadata = {});
/// Both, of a file that has tensors; empty where they do not fit.
std::string_view safetensorsHeaderOf(std::string_view file);

struct Safetensors {
  std::vector<TensorRange> tensors;
  std::string_view bytes;
};
/// ValueError where `file` is not one, or a range does not fit the tensor or the file.
Safetensors readSafetensors(std::string_view file);

}  // namespace tandem::program
