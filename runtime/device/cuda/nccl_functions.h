// Declarations of our own of what is called of NCCL; names and values are those of its documentation.
#pragma once

#include <cstddef>

#include "runtime/device/cuda/driver.h"

namespace tandem::cuda::nccl {

using Handle = struct ncclComm*;

/// ncclUniqueId.
struct UniqueId {
  char bytes[128];
};

/// ncclResult_t; those that are told apart.
enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

inline constexpr int kBytes = 1;  // ncclUint8

/// ncclConfig_t as NCCL 2.18 has it. Newer versions take what they lack of it from its size and version.
struct Config {
  static constexpr int kUnset = static_cast<int>(0x80000000);  // NCCL_CONFIG_UNDEF_INT
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21805;
  int blocking = 0;  // calls return at once, and what becomes of them is asked for
  int clusterSize = kUnset;
  int leastBlocks = kUnset;
  int mostBlocks = kUnset;
  const char* network = nullptr;
  int splitShare = kUnset;
};
inline constexpr int kOldest = 21805;  // whose configuration this is

// X(result, member, symbol, parameters)
#define TANDEM_NCCL(X)                                                                                                 \
  X(int, getVersion, ncclGetVersion, (int* version))                                                                   \
  X(int, getUniqueId, ncclGetUniqueId, (UniqueId * id))                                                                \
  X(int, connect, ncclCommInitRankConfig, (Handle * handle, int ranks, UniqueId id, int rank, Config* config))         \
  X(int, finalize, ncclCommFinalize, (Handle handle))                                                                  \
  X(int, destroy, ncclCommDestroy, (Handle handle))                                                                    \
  X(int, abort, ncclCommAbort, (Handle handle))                                                                        \
  X(int, getAsyncError, ncclCommGetAsyncError, (Handle handle, int* result))                                           \
  X(const char*, getErrorString, ncclGetErrorString, (int result))                                                     \
  X(const char*, getLastError, ncclGetLastError, (Handle handle))                                                      \
  X(int, groupStart, ncclGroupStart, ())                                                                               \
  X(int, groupEnd, ncclGroupEnd, ())                                                                                   \
  X(int, send, ncclSend,                                                                                               \
    (const void* memory, std::size_t count, int type, int rank, Handle handle, StreamHandle stream))                   \
  X(int, receive, ncclRecv, (void* memory, std::size_t count, int type, int rank, Handle handle, StreamHandle stream))

struct Library {
#define X(result, member, symbol, parameters)                                                                          \
  result(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): names
  TANDEM_NCCL(X)
#undef X
};

}  // namespace tandem::cuda::nccl
