// Transpositions in memory: for copies between layouts and for kernels whose inputs lie across their rows.
#pragma once

#include <cstdint>

namespace tandem::lib {

/// One matrix, on this thread: row i, column j of `to`, whose rows are `toRow` apart, is element i + j * fromColumn of
/// `from`; strides in elements. T is an unsigned integer of 8, 16, 32 or 64 bits.
template <class T>
void transposeBlock(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow, std::int64_t rows,
                    std::int64_t columns);

}  // namespace tandem::lib
