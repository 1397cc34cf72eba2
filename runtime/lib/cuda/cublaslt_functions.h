// What we call of cuBLASLt. Names and values are those of its documentation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/cuda/driver.h"

namespace tandem::cuda::cublaslt {

using Handle = struct cublasLtContext*;
using Operation = struct OpaqueOperation*;
using Layout = struct OpaqueLayout*;
using Preference = struct OpaquePreference*;

/// cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t.
struct Found {
  Algorithm algorithm;
  std::size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};

inline constexpr int kSuccess = 0;  // CUBLAS_STATUS_SUCCESS
/// cudaDataType.
enum Type : int { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14 };
/// cublasComputeType_t.
enum Compute : int { kComputeFloat32 = 68, kComputeFloat64 = 70, kComputeTf32 = 77 };
enum OperationAttribute : int {
  kTransposeA = 3,  // int32
  kTransposeB = 4,
  kEpilogue = 7,     // uint32
  kBiasPointer = 8,  // of a vector of the result's type, a number for each of its rows
};
inline constexpr std::int32_t kTransposed = 1;                     // CUBLAS_OP_T
inline constexpr std::uint32_t kAddsBias = 4;                      // CUBLASLT_EPILOGUE_BIAS
enum LayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };  // int32, int64
enum PreferenceAttribute : int {
  kMostWorkspace = 1,     // uint64
  kReductionSchemes = 3,  // uint32
  kAlignmentA = 5,        // uint32, in bytes; 256 unless it is said
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8,
};
/// Of split sums: partial results in the workspace, in the compute type, added by a kernel of its own; not the scheme
/// that adds by atomics, nor the one that rounds partial results to the type of the result.
inline constexpr std::uint32_t kByWorkspace = 2;  // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE

#define TANDEM_CUBLASLT(X)                                                                                             \
  X(create, cublasLtCreate, (Handle * handle))                                                                         \
  X(createOperation, cublasLtMatmulDescCreate, (Operation * operation, int compute, int scale))                        \
  X(destroyOperation, cublasLtMatmulDescDestroy, (Operation operation))                                                \
  X(setOperation, cublasLtMatmulDescSetAttribute,                                                                      \
    (Operation operation, int attribute, const void* value, std::size_t bytes))                                        \
  X(createLayout, cublasLtMatrixLayoutCreate,                                                                          \
    (Layout * layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t pitch))                        \
  X(destroyLayout, cublasLtMatrixLayoutDestroy, (Layout layout))                                                       \
  X(setLayout, cublasLtMatrixLayoutSetAttribute, (Layout layout, int attribute, const void* value, std::size_t bytes)) \
  X(createPreference, cublasLtMatmulPreferenceCreate, (Preference * preference))                                       \
  X(destroyPreference, cublasLtMatmulPreferenceDestroy, (Preference preference))                                       \
  X(setPreference, cublasLtMatmulPreferenceSetAttribute,                                                               \
    (Preference preference, int attribute, const void* value, std::size_t bytes))                                      \
  X(find, cublasLtMatmulAlgoGetHeuristic,                                                                              \
    (Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d, Preference preference, int wanted,    \
     Found* found, int* count))                                                                                        \
  X(check, cublasLtMatmulAlgoCheck,                                                                                    \
    (Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d, const Algorithm* algorithm,           \
     Found* found))                                                                                                    \
  X(matmul, cublasLtMatmul,                                                                                            \
    (Handle handle, Operation operation, const void* alpha, const void* a, Layout aLayout, const void* b,              \
     Layout bLayout, const void* beta, const void* c, Layout cLayout, void* d, Layout dLayout,                         \
     const Algorithm* algorithm, void* workspace, std::size_t workspaceBytes, StreamHandle stream))

/// The functions of the library.
struct Library {
#define X(member, symbol, parameters) int(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): names
  TANDEM_CUBLASLT(X)
#undef X
};

}  // namespace tandem::cuda::cublaslt
