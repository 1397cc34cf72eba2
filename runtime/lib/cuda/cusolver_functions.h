// What we call of cuSOLVER. Names and values are those of its documentation. Matrices lie column by column.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/cuda/driver.h"

namespace tandem::cuda::cusolver {

using Handle = struct cusolverDnContext*;
using Options = struct cusolverDnParams*;
using Jacobi = struct gesvdjInfo*;

inline constexpr int kSuccess = 0;                                 // CUSOLVER_STATUS_SUCCESS
inline constexpr int kDeterministic = 1;                           // CUSOLVER_DETERMINISTIC_RESULTS
enum Type : int { kFloat32 = 0, kFloat64 = 1 };                    // cudaDataType
enum Wanted : int { kValues = 0, kVectors = 1 };                   // cusolverEigMode_t
enum Triangle : int { kLower = 0, kUpper = 1 };                    // cublasFillMode_t
enum Job : signed char { kNone = 'N', kThin = 'S', kFull = 'A' };  // of gesvd, of either side
/// The Jacobi method for batches takes matrices of so many rows and columns at most.
inline constexpr std::int64_t kMostJacobi = 32;
/// The one for a single matrix takes any: this is up to how many rows and columns it is asked.
inline constexpr std::int64_t kMostJacobiAlone = 1024;

#define TANDEM_CUSOLVER(X)                                                                                             \
  X(create, cusolverDnCreate, (Handle * handle))                                                                       \
  X(setStream, cusolverDnSetStream, (Handle handle, StreamHandle stream))                                              \
  X(setDeterministic, cusolverDnSetDeterministicMode, (Handle handle, int mode))                                       \
  X(createOptions, cusolverDnCreateParams, (Options * options))                                                        \
  X(createJacobi, cusolverDnCreateGesvdjInfo, (Jacobi * jacobi))                                                       \
  X(syevdBytes, cusolverDnXsyevd_bufferSize,                                                                           \
    (Handle handle, Options options, int wanted, int triangle, std::int64_t n, int type, const void* a,                \
     std::int64_t pitch, int valueType, const void* values, int compute, std::size_t* device, std::size_t* host))      \
  X(syevd, cusolverDnXsyevd,                                                                                           \
    (Handle handle, Options options, int wanted, int triangle, std::int64_t n, int type, void* a, std::int64_t pitch,  \
     int valueType, void* values, int compute, void* device, std::size_t deviceBytes, void* host,                      \
     std::size_t hostBytes, int* info))                                                                                \
  X(gesvdBytes, cusolverDnXgesvd_bufferSize,                                                                           \
    (Handle handle, Options options, signed char left, signed char right, std::int64_t m, std::int64_t n, int type,    \
     const void* a, std::int64_t pitch, int valueType, const void* values, int leftType, const void* u,                \
     std::int64_t uPitch, int rightType, const void* vt, std::int64_t vtPitch, int compute, std::size_t* device,       \
     std::size_t* host))                                                                                               \
  X(gesvd, cusolverDnXgesvd,                                                                                           \
    (Handle handle, Options options, signed char left, signed char right, std::int64_t m, std::int64_t n, int type,    \
     void* a, std::int64_t pitch, int valueType, void* values, int leftType, void* u, std::int64_t uPitch,             \
     int rightType, void* vt, std::int64_t vtPitch, int compute, void* device, std::size_t deviceBytes, void* host,    \
     std::size_t hostBytes, int* info))                                                                                \
  X(sgesvdjSize, cusolverDnSgesvdjBatched_bufferSize,                                                                  \
    (Handle handle, int wanted, int m, int n, const float* a, int pitch, const float* values, const float* u,          \
     int uPitch, const float* v, int vPitch, int* elements, Jacobi jacobi, int batch))                                 \
  X(dgesvdjSize, cusolverDnDgesvdjBatched_bufferSize,                                                                  \
    (Handle handle, int wanted, int m, int n, const double* a, int pitch, const double* values, const double* u,       \
     int uPitch, const double* v, int vPitch, int* elements, Jacobi jacobi, int batch))                                \
  X(sgesvdj, cusolverDnSgesvdjBatched,                                                                                 \
    (Handle handle, int wanted, int m, int n, float* a, int pitch, float* values, float* u, int uPitch, float* v,      \
     int vPitch, float* work, int elements, int* info, Jacobi jacobi, int batch))                                      \
  X(dgesvdj, cusolverDnDgesvdjBatched,                                                                                 \
    (Handle handle, int wanted, int m, int n, double* a, int pitch, double* values, double* u, int uPitch, double* v,  \
     int vPitch, double* work, int elements, int* info, Jacobi jacobi, int batch))                                     \
  X(gesvdjSize, cusolverDnDgesvdj_bufferSize,                                                                          \
    (Handle handle, int wanted, int isThin, int m, int n, const double* a, int pitch, const double* values,            \
     const double* u, int uPitch, const double* v, int vPitch, int* elements, Jacobi jacobi))                          \
  X(gesvdj, cusolverDnDgesvdj,                                                                                         \
    (Handle handle, int wanted, int isThin, int m, int n, double* a, int pitch, double* values, double* u, int uPitch, \
     double* v, int vPitch, double* work, int elements, int* info, Jacobi jacobi))

/// What it has since CUDA 12.6: null before.
#define TANDEM_CUSOLVER_BATCHED(X)                                                                                     \
  X(syevBatchedBytes, cusolverDnXsyevBatched_bufferSize,                                                               \
    (Handle handle, Options options, int wanted, int triangle, std::int64_t n, int type, const void* a,                \
     std::int64_t pitch, int valueType, const void* values, int compute, std::size_t* device, std::size_t* host,       \
     std::int64_t batch))                                                                                              \
  X(syevBatched, cusolverDnXsyevBatched,                                                                               \
    (Handle handle, Options options, int wanted, int triangle, std::int64_t n, int type, void* a, std::int64_t pitch,  \
     int valueType, void* values, int compute, void* device, std::size_t deviceBytes, void* host,                      \
     std::size_t hostBytes, int* info, std::int64_t batch))

/// The functions of the library.
struct Library {
#define X(member, symbol, parameters) int(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): names
  TANDEM_CUSOLVER(X)
  TANDEM_CUSOLVER_BATCHED(X)
#undef X
};

}  // namespace tandem::cuda::cusolver
