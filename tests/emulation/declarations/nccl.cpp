#include <nccl.h>

#include "agree.h"
#include "runtime/device/cuda/nccl_functions.h"

namespace tandem::cuda::nccl {

TANDEM_NCCL(TANDEM_SAME_FUNCTION_OF)

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
// The vendor's structure grows at its end.
static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
TANDEM_SAME_MEMBER(Config, size, ncclConfig_t, size)
TANDEM_SAME_MEMBER(Config, magic, ncclConfig_t, magic)
TANDEM_SAME_MEMBER(Config, version, ncclConfig_t, version)
TANDEM_SAME_MEMBER(Config, blocking, ncclConfig_t, blocking)
TANDEM_SAME_MEMBER(Config, clusterSize, ncclConfig_t, cgaClusterSize)
TANDEM_SAME_MEMBER(Config, leastBlocks, ncclConfig_t, minCTAs)
TANDEM_SAME_MEMBER(Config, mostBlocks, ncclConfig_t, maxCTAs)
TANDEM_SAME_MEMBER(Config, network, ncclConfig_t, netName)
TANDEM_SAME_MEMBER(Config, splitShare, ncclConfig_t, splitShare)

TANDEM_SAME_VALUE(kSuccess, ncclSuccess)
TANDEM_SAME_VALUE(kUnhandledCudaError, ncclUnhandledCudaError)
TANDEM_SAME_VALUE(kSystemError, ncclSystemError)
TANDEM_SAME_VALUE(kInternalError, ncclInternalError)
TANDEM_SAME_VALUE(kInvalidArgument, ncclInvalidArgument)
TANDEM_SAME_VALUE(kInvalidUsage, ncclInvalidUsage)
TANDEM_SAME_VALUE(kRemoteError, ncclRemoteError)
TANDEM_SAME_VALUE(kInProgress, ncclInProgress)
TANDEM_SAME_VALUE(kBytes, ncclUint8)
TANDEM_SAME_VALUE(Config::kUnset, NCCL_CONFIG_UNDEF_INT)

}  // namespace tandem::cuda::nccl
