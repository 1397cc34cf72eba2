#include "runtime/lib/cuda/contraction.h"

#include <algorithm>

#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

constexpr Source kContraction("contraction", kContractionText);

constexpr std::int64_t kTile = 64;  // TILE of the text
// About as many blocks as a device runs at once: a constant, since sums depend on it.
constexpr std::int64_t kBlocks = 256;
constexpr std::int64_t kLeastPiece = 256;
constexpr std::int64_t kStep = 16;  // DEPTH of the text

std::int64_t parts(std::int64_t n, std::int64_t of) { return (n + of - 1) / of; }
std::int64_t tiles(const ContractionSizes& s) { return parts(s.rows, kTile) * parts(s.columns, kTile); }

const Function& kernelOf(const char* name, ContractionKind kind, DType dtype, DType result) {
  return kContraction.kernel(name, {{"ELEMENT", typeName(dtype)},
                                    {"RESULT", typeName(result)},
                                    {"SUM", sumName(dtype)},
                                    {"MODE", std::to_string(static_cast<int>(kind))}});
}

}  // namespace

void ContractionSizes::cut(std::int64_t alike) {
  const std::int64_t wanted = kBlocks / std::max<std::int64_t>(1, alike * tiles(*this));
  pieces = std::max<std::int64_t>(1, std::min(wanted, depth / kLeastPiece));
  length = parts(parts(depth, pieces), kStep) * kStep;
  pieces = std::max<std::int64_t>(1, parts(depth, length));
}

std::string sumName(DType t) {
  switch (t) {
  case DType::Bool:
    return "bool";
  case DType::Int64:
    return "uint64";
  case DType::Float64:
    return "double";
  case DType::Float16:
  case DType::BFloat16:
  case DType::Float32:
    return "float";
  default:
    return "uint32";
  }
}
std::size_t sumSize(DType t) { return t == DType::Bool ? 1 : std::max<std::size_t>(4, itemSize(t)); }

const Function& combineKernel(ContractionKind kind, DType dtype, DType result) {
  return kernelOf("combine", kind, dtype, result);
}

ContractionLaunch::ContractionLaunch(ContractionKind kind, DType dtype, DType result, const ContractionSizes& s)
    : partial_(s.pieces == 1 ? 0 : static_cast<std::size_t>(s.batch * s.pieces * s.rows * s.columns) * sumSize(dtype)) {
  contract_ = &kernelOf("contract", kind, dtype, result);
  grid_ = blocks(s.batch * s.pieces * tiles(s), 256);
  if (s.pieces == 1) return;
  combine_ = &combineKernel(kind, dtype, result);
  combineGrid_ = elementwise(s.batch * s.rows * s.columns);
}

}  // namespace tandem::cuda
