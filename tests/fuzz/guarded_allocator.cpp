// The allocator of fuzzers, in the place of runtime/memory's: each block ends at a page that nobody may touch, so that
// generated code, which no sanitizer sees, cannot leave it unnoticed. What rounding leaves behind a block is poisoned,
// and all blocks together are limited.
#include <atomic>
#include <cstdint>

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "runtime/base/error.h"
#include "runtime/memory/allocator.h"

namespace tandem {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
std::atomic<std::int64_t> inUse{0};

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
/// Of the pages of a block, the one behind it apart.
std::size_t pagesOf(std::size_t bytes) { return rounded(bytes, kPage); }

}  // namespace

void* allocate(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(kMostBytes) || inUse.fetch_add(static_cast<std::int64_t>(bytes)) > kMostBytes) {
    if (bytes <= static_cast<std::size_t>(kMostBytes)) inUse -= static_cast<std::int64_t>(bytes);
    fail<OutOfMemoryError>("a fuzzer has no ", bytes, " bytes");
  }
  const std::size_t pages = pagesOf(bytes);
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) fail<OutOfMemoryError>("no ", bytes, " bytes");
  ::mprotect(memory + pages, kPage, PROT_NONE);
  char* const block = memory + pages - rounded(bytes, kAlignment);
  __asan_poison_memory_region(block + bytes, rounded(bytes, kAlignment) - bytes);
  return block;
}

void deallocate(void* p, std::size_t bytes) noexcept {
  if (p == nullptr) return;
  const std::size_t slack = rounded(bytes, kAlignment);
  __asan_unpoison_memory_region(p, slack);
  ::munmap(static_cast<char*>(p) + slack - pagesOf(bytes), pagesOf(bytes) + kPage);
  inUse -= static_cast<std::int64_t>(bytes);
}

void emptyCache() {}
AllocatorStats allocatorStats() { return {}; }
bool failAllocation(std::int64_t) { return false; }

}  // namespace tandem
