// Copies between host and device and within it, queued in a stream.
#pragma once

#include <cstddef>

#include "runtime/device/cuda/stream.h"

namespace tandem::cuda {

/// `from` may change once this has returned: it is copied to page-locked memory first, in pieces.
void copyFromHost(void* to, const void* from, std::size_t bytes, CudaStream& stream);
/// Waits for the stream and raises what its work has to raise.
void copyToHost(void* to, const void* from, std::size_t bytes, CudaStream& stream);
void copyWithin(void* to, const void* from, std::size_t bytes, CudaStream& stream);
/// Page-locked memory as it is then: these do not wait.
void copyFromPinned(void* to, const void* from, std::size_t bytes, CudaStream& stream);
void copyToPinned(void* to, const void* from, std::size_t bytes, CudaStream& stream);
/// From another device, whose stream's work so far is done first.
void copyFromPeer(void* to, const void* from, std::size_t bytes, CudaStream& peer, CudaStream& stream);

}  // namespace tandem::cuda
