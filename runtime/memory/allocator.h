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

/// For tests: of the allocations from now on, on any thread, number `n` fails (0: the next one), as if there were no
/// memory, and those after it do not; negative: none does. Has the one that was asked for before failed?
bool failAllocation(std::int64_t n);

}  // namespace tandem
