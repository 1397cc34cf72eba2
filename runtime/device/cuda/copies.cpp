#include "runtime/device/cuda/copies.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/sequence.h"
#include "runtime/device/cuda/survey.h"

namespace tandem::cuda {
namespace {

// While one piece is on its way, the next one is copied to page-locked memory.
constexpr std::size_t kPiece = std::size_t{4} << 20;

DevicePointer address(const void* p) { return std::bit_cast<DevicePointer>(p); }

/// Page-locked memory for one copy.
std::shared_ptr<void> staging(std::size_t bytes, Gpu& gpu) {
  return {pinnedMemory().allocate(bytes, gpu), [](void* p) { pinnedMemory().free(p); }};
}

}  // namespace

void copyFromHost(void* to, const void* from, std::size_t bytes, CudaStream& stream) {
  if (Survey::now() != nullptr) return;
  if (Tape* tape = Tape::now(); tape != nullptr && tape->copyFromHost(to, from, bytes)) return;
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::size_t n = std::min(kPiece, bytes - at);
    const std::shared_ptr<void> piece = staging(n, stream.gpu());
    std::memcpy(piece.get(), static_cast<const char*>(from) + at, n);
    copyFromPinned(static_cast<char*>(to) + at, piece.get(), n, stream);
  }
}

void copyToHost(void* to, const void* from, std::size_t bytes, CudaStream& stream) {
  if (Survey::now() != nullptr) return static_cast<void>(std::memset(to, 0, bytes));
  if (Tape* tape = Tape::now(); tape != nullptr) tape->wait();
  stream.gpu().use();
  if (bytes > kPiece) {
    // The driver has memory of its own through which it goes in pieces.
    stream.checkWork(driver().memcpyDtoHAsync(to, address(from), bytes, stream.raw()), "copying to the host");
    return stream.synchronize();
  }
  if (bytes == 0) return stream.synchronize();
  const std::shared_ptr<void> piece = staging(bytes, stream.gpu());
  copyToPinned(piece.get(), from, bytes, stream);
  stream.synchronize();
  std::memcpy(to, piece.get(), bytes);
}

void copyWithin(void* to, const void* from, std::size_t bytes, CudaStream& stream) {
  if (bytes == 0 || Survey::now() != nullptr) return;
  if (Tape* tape = Tape::now(); tape != nullptr && tape->move(to, from, bytes)) return;
  stream.gpu().use();
  stream.checkWork(driver().memcpyDtoDAsync(address(to), address(from), bytes, stream.raw()), "copying");
}

void copyFromPinned(void* to, const void* from, std::size_t bytes, CudaStream& stream) {
  if (bytes == 0) return;
  stream.gpu().use();
  stream.checkWork(driver().memcpyHtoDAsync(address(to), from, bytes, stream.raw()), "copying from the host");
  pinnedMemory().use(from, stream);
}

void copyToPinned(void* to, const void* from, std::size_t bytes, CudaStream& stream) {
  if (bytes == 0) return;
  stream.gpu().use();
  stream.checkWork(driver().memcpyDtoHAsync(to, address(from), bytes, stream.raw()), "copying to the host");
  pinnedMemory().use(to, stream);
}

void copyFromPeer(void* to, const void* from, std::size_t bytes, CudaStream& peer, CudaStream& stream) {
  if (bytes == 0) return;
  if (&peer.gpu() == &stream.gpu() && peer.raw() == stream.raw()) return copyWithin(to, from, bytes, stream);
  const EventHandle ready = peer.gpu().events.record(peer.raw());
  stream.gpu().use();
  stream.checkWork(driver().streamWaitEvent(stream.raw(), ready, 0), "waiting for another device");
  peer.gpu().events.give(ready);
  stream.checkWork(driver().memcpyPeerAsync(address(to), stream.gpu().context(), address(from), peer.gpu().context(),
                                            bytes, stream.raw()),
                   "copying from another device");
  // Memory that is freed there now may be had by what comes later in that stream.
  const EventHandle done = stream.gpu().events.record(stream.raw());
  peer.gpu().use();
  peer.checkWork(driver().streamWaitEvent(peer.raw(), done, 0), "waiting for another device");
  stream.gpu().events.give(done);
}

}  // namespace tandem::cuda
