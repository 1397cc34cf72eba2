// What operations with index operands share: which are indices at all, and the error of one that is out of range.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/device/cuda/queue.h"
#include "runtime/lib/indexing/index_range.h"

namespace tandem::cuda {

/// The type of an index operand in common.cu. IndexError where its elements are no integers.
std::string indexType(std::string_view op, const ArrayView& index);
/// Where kernels report, with faultFirst(where, place, index, 0), the first index out of range. `op` must be a literal.
Fault* expectIndices(const LibraryCall& call, std::string_view op, tandem::lib::IndexRange range, std::int64_t dim,
                     std::int64_t size);

/// How elements that go to one place are put together: HOW in combine.cu.
enum class How { Last, Sum, Product, Least, Greatest };
/// Bools are 0 and 1: their sum is the larger one, their product the smaller.
How howOf(How how, DType t);

}  // namespace tandem::cuda
