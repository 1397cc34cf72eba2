// Eigenvalues and singular values by cuSOLVER, which is found when the first factorisation needs it: $TANDEM_CUSOLVER,
// else libcusolver.so.12 or .11 in the system or in the wheel nvidia-cusolver. The declarations are our own.
//
// It is asked for deterministic results. Which of its routines serves is a function of sizes and of the library's
// version. A routine may wait for its stream, so that no graph holds it: the work of a plan is queued as it comes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace tandem::cuda {

/// Why cuSOLVER cannot be used; empty where it can.
const std::string& cusolverMissing();

/// Symmetric matrices [n, n] of float32 or float64, one behind the other in the device's memory.
struct Eigenproblem {
  std::string_view op;  // for errors
  DType dtype;
  std::int64_t n, count;
  bool upper;  // the triangle that is read, of columns in memory
  bool wantsVectors;
  void* matrices;      // becomes the eigenvectors, one behind the other, if they are wanted
  void* values;        // [count, n], ascending
  std::int32_t* info;  // [count]: 0, or how many values did not converge
};
void factor(const Eigenproblem& problem);

enum class SingularMethod { Qr, Jacobi, JacobiOfBatches };

/// Matrices [rows, columns] of float32 or float64 column by column, one behind the other in the device's memory. No
/// size is 0, and rows are no fewer than columns if the method is not that of batches.
struct SingularProblem {
  std::string_view op;
  DType dtype;
  std::int64_t rows, columns, count;
  bool wantsVectors, full;
  void* matrices;      // is overwritten
  void* values;        // [count, min(rows, columns)], descending
  void* left;          // U, column by column: [rows, columns], or square if full or of batches
  void* right;         // [columns, columns]: V column by column from Jacobi's methods, V^T from QR
  std::int32_t* info;  // [count]: 0, or how many values did not converge
};
/// Of which method sizes and dtype are. That of batches writes vectors also if none are wanted, and is to have memory
/// for them. Where a single matrix does not converge by Jacobi's, for which the host waits, QR finds its values.
SingularMethod methodFor(const SingularProblem& problem);
void factor(const SingularProblem& problem);

}  // namespace tandem::cuda
