#include "runtime/lib/cuda/indices.h"

namespace tandem::cuda {

std::string indexType(std::string_view op, const ArrayView& index) {
  if (isInteger(index.dtype)) return typeName(index.dtype);
  if (index.numel() > 0) tandem::lib::failIndexType(op, index.dtype);
  return typeName(DType::Int64);  // of no elements
}

Fault* expectIndices(const LibraryCall& call, std::string_view op, tandem::lib::IndexRange range, std::int64_t dim,
                     std::int64_t size) {
  return expectNoFault(call, [op, range, dim, size](const long long* numbers) {
    tandem::lib::failIndex(op, range, numbers[0], dim, size);
  });
}

How howOf(How how, DType t) {
  if (t != DType::Bool) return how;
  return how == How::Sum ? How::Greatest : how == How::Product ? How::Least : how;
}

}  // namespace tandem::cuda
