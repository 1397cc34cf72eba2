// The caching CPU allocator: blocks of 64-byte alignment in size bins, kept when freed and handed out again.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

struct AllocatorStats {
  std::int64_t bytesInUse;
  std::int64_t peakBytes;
  std::int64_t bytesCached;
  std::int64_t allocations;
};

/// At least `bytes` bytes, 64-byte aligned, uninitialised. Throws OutOfMemoryError naming the size, and leaves the
/// process as it was. 0 bytes gives a valid pointer that must not be read.
void* allocate(std::size_t bytes);
/// `bytes` as given to `allocate`.
void deallocate(void* p, std::size_t bytes) noexcept;
/// Returns cached blocks to the system.
void emptyCache();
AllocatorStats allocatorStats();

}  // namespace tandem
