// Operands that lie across: dense over the rows of a Row kernel (an outer dim of a Column kernel) and far apart along
// its inner dim, as a transposed matrix is. Lanes that follow the inner dim would fetch a sector of memory for each
// element. Two other kernels have the same bits and take whole sectors:
//   of a reduction a Column kernel in the order of the same class, whose inner dim is the dense one, where every output
//   is one element a row (or column) and no input is dense along the rows
//   else the Short kernel of a Row kernel, with reductions or without, whose lanes are rows: what is dense along the
//   rows, as the result of a softmax or `a` of a + b.t(), goes through a tile of shared memory
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/base/small_vector.h"
#include "runtime/kernel/column_reduction.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem::cuda {

/// Could operands of the kernel lie so?
bool canTurn(const KernelSignature& signature);

/// How such a kernel runs: `dim` is the outer dim that lanes follow. Of a Column kernel it is the inner one, along
/// which operands move so; of a Short kernel (`rows`) the last outer one.
struct Turn {
  int dim;
  bool rows;
  SmallVector<Access, 8> access;
  friend bool operator==(const Turn& a, const Turn& b) {
    return a.dim == b.dim && a.rows == b.rows && a.access.size() == b.access.size() &&
           std::equal(a.access.begin(), a.access.end(), b.access.begin());
  }
};
/// Of a kernel that can turn: nothing where that would fetch no less.
std::optional<Turn> turnOf(const KernelSignature& signature, const ArgLayout& layout, const std::int64_t* args);

/// The other kernel, and its argument block.
KernelSignature turned(const KernelSignature& signature, const Turn& turn);
SmallVector<std::int64_t, 64> turnedArgs(const KernelSignature& signature, const Turn& turn, const std::int64_t* args);

/// The same of one reduction of strided memory, where its reduced dims do not merge into one: other kernels turn when
/// they are launched.
inline std::optional<ColumnReduction> walkOf(const StridedReduction& reduction) {
  return reduction.merges ? std::nullopt : columnsOf(reduction);
}

}  // namespace tandem::cuda
