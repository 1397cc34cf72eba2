// The caching allocator.
//
//   sizes    rounded up to a bin: four bins a power of two up to 64 KiB, eight above (so at most 12.5 % is lost)
//   small    up to 64 KiB: a cache a thread, arrays of free blocks a bin, refilled from and spilled to the central bins
//   large    the central bins, under one mutex, but for the few blocks below 1 MiB that a thread freed last: those at
//            work on one job would else take each other's scratch, line by line from cache to cache
//   system   blocks under 1 MiB come from malloc, larger ones from mmap, aligned for and advised to use huge pages
//
// The central bins keep what is used again and give back the rest, by two rules. The blocks of a bin that were free all
// through an epoch go, which is the time in which the bins hand out 64 times what they hold: a loop whose sizes change
// leaves nothing behind, and one that needs such a block again pays for it at most once in as many bytes. And the bins
// hold no more than half as much again as was in use at once in this epoch or the last: of what is above, the bins that
// handed out nothing for longest are emptied first. A loop over the same sizes stays below, as each of its bins holds
// what it had in use at some time; one whose large sizes change in every turn would fill all bins in as many turns.
//
// Free blocks are kept in arrays, not linked through their own memory: freeing touches no cold line, and under
// AddressSanitizer a cached block can be poisoned whole.
#include "runtime/memory/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "runtime/base/counters.h"
#include "runtime/base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define TANDEM_POISON(p, n) __asan_poison_memory_region(p, n)
#define TANDEM_UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define TANDEM_POISON(p, n) static_cast<void>(0)
#define TANDEM_UNPOISON(p, n) static_cast<void>(0)
#endif

namespace tandem {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxSmall = std::size_t{64} << 10;
constexpr std::size_t kMapFrom = std::size_t{1} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kAskSystemFrom = std::size_t{1} << 30;
constexpr std::size_t kMaxBlock = std::size_t{1} << 46;
constexpr int kMaxShift = 46;
// Small bins: 64, 128, 192, 256, then four a power of two.
constexpr int kSmallBins = 4 + 4 * 8;
constexpr int kBins = kSmallBins + 8 * (kMaxShift - 16);
// What one thread may keep of one bin.
constexpr int kThreadSlots = 32;
constexpr std::size_t kThreadBytesPerBin = std::size_t{256} << 10;
// Blocks from kMaxSmall to kMapFrom that a thread keeps at hand.
constexpr std::size_t kNearBlocks = 4;
// A thread's share of the statistics is passed on when it grows beyond this.
constexpr std::int64_t kFlushBytes = std::int64_t{256} << 10;
// An epoch of the central bins: so many blocks handed out, and so many times the bytes that they held at most.
constexpr std::size_t kEpochTakes = 512;
constexpr std::size_t kEpochTurnover = 64;
// Whatever was in use, the central bins may hold this.
constexpr std::size_t kAlwaysKept = std::size_t{16} << 20;

/// The bin of a size and how many bytes its blocks have.
struct Bin {
  int index;
  std::size_t bytes;
};
inline Bin binOf(std::size_t bytes) {
  if (bytes <= 256) {
    std::size_t k = bytes == 0 ? 1 : (bytes + 63) / 64;
    return {static_cast<int>(k) - 1, k * 64};
  }
  // 2^shift < bytes <= 2^(shift+1), split into `steps` equal bins
  int shift = std::bit_width(bytes - 1) - 1;
  int logSteps = shift < 16 ? 2 : 3;
  std::size_t step = std::size_t{1} << (shift - logSteps);
  std::size_t above = (bytes - (std::size_t{1} << shift) + step - 1) / step;  // 1 .. steps
  int base = shift < 16 ? 4 + 4 * (shift - 8) : kSmallBins + 8 * (shift - 16);
  return {base + static_cast<int>(above) - 1, (std::size_t{1} << shift) + above * step};
}

/// The kernel's estimate of what can be allocated without swapping.
std::size_t availableMemory() {
  std::FILE* f = std::fopen("/proc/meminfo", "re");
  if (f == nullptr) return kMaxBlock;
  char line[256];
  std::size_t kib = 0;
  bool found = false;
  while (!found && std::fgets(line, sizeof line, f) != nullptr)
    found = std::sscanf(line, "MemAvailable: %zu kB", &kib) == 1;
  std::fclose(f);
  return found ? kib << 10 : kMaxBlock;
}

void* mapBlock(std::size_t bytes) {
  std::size_t span = bytes >= kHugePage ? bytes + kHugePage : bytes;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (span == bytes) return raw;
  auto start = reinterpret_cast<std::uintptr_t>(raw);
  std::uintptr_t aligned = (start + kHugePage - 1) & ~(kHugePage - 1);
  if (aligned > start) munmap(raw, aligned - start);
  if (std::size_t rest = start + span - (aligned + bytes); rest > 0)
    munmap(reinterpret_cast<void*>(aligned + bytes), rest);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

/// Null where the system has no more.
void* systemAllocate(std::size_t bytes) {
  if (bytes >= kMapFrom) {
    if (bytes >= kAskSystemFrom && bytes > availableMemory()) return nullptr;
    return mapBlock(bytes);
  }
  return std::aligned_alloc(kAlignment, bytes);
}
void systemFree(void* p, std::size_t bytes) {
  TANDEM_UNPOISON(p, bytes);
  if (bytes >= kMapFrom)
    munmap(p, bytes);
  else
    std::free(p);
}

struct CachedBin {
  std::size_t bytes = 0;
  std::size_t fewest = 0;   // blocks in this epoch: those at the bottom that no one needed
  std::uint64_t taken = 0;  // when a block was last asked for, in blocks that all bins were asked for
  std::vector<void*> blocks;
};

/// Blocks on their way to the system, which takes them without the mutex.
struct Unneeded {
  std::vector<CachedBin> bins;
  Unneeded() = default;
  ~Unneeded() {
    for (const CachedBin& b : bins)
      for (void* p : b.blocks) systemFree(p, b.bytes);
  }
  Unneeded(const Unneeded&) = delete;
  Unneeded& operator=(const Unneeded&) = delete;
};

/// One thread's free blocks and its not yet passed on share of the statistics.
struct ThreadCache {
  struct Slots {
    std::uint16_t count = 0;
    std::array<void*, kThreadSlots> blocks;
  };
  std::array<Slots, kSmallBins> bins;
  /// Large ones, those that were freed last at the end; null where there is none.
  struct Near {
    void* block = nullptr;
    Bin bin{};
  };
  std::array<Near, kNearBlocks> near;
  // Written by the owner alone, read by allocatorStats of any thread.
  std::atomic<std::int64_t> pendingBytes{0};
  std::atomic<std::int64_t> allocations{0};
};

/// What all threads share. Never destroyed: threads may end after static destructors have run.
struct Central {
  std::mutex mutex;
  std::array<CachedBin, kBins> bins;
  std::size_t cachedBytes = 0;
  std::size_t maxCachedBytes;
  std::size_t epochTakes = 0;
  std::size_t epochBytes = 0;   // handed out
  std::size_t epochCached = 0;  // at most
  std::uint64_t asked = 0;      // blocks, ever
  // Handed out and not returned: now, and at most in this epoch and the last.
  std::size_t outBytes = 0;
  std::size_t epochOut = 0;
  std::size_t lastEpochOut = 0;
  std::vector<ThreadCache*> threads;
  std::int64_t allocations = 0;  // of large blocks and ended threads

  Central() {
    auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
    maxCachedBytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2;
    pthread_atfork([] { central().mutex.lock(); }, [] { central().mutex.unlock(); }, [] { central().mutex.unlock(); });
  }
  static Central& central() {
    static auto* instance = new Central;
    return *instance;
  }

  // The rest is called with `mutex` held.
  void put(int bin, std::size_t bytes, void* p, Unneeded& unneeded) {
    outBytes -= std::min(outBytes, bytes);
    bins[bin].bytes = bytes;
    bins[bin].blocks.push_back(p);
    cachedBytes += bytes;
    if (cachedBytes > mostCached()) [[unlikely]]
      giveBackColdest(unneeded);
    epochCached = std::max(epochCached, cachedBytes);
  }
  [[nodiscard]] std::size_t mostCached() const {
    std::size_t peak = std::max(epochOut, lastEpochOut);
    return std::min(std::max(kAlwaysKept, peak + peak / 2), maxCachedBytes);
  }
  /// Down to an eighth below the most, so that this is seldom.
  void giveBackColdest(Unneeded& unneeded) {
    const std::size_t most = mostCached() - mostCached() / 8;
    while (cachedBytes > most) {
      CachedBin* coldest = nullptr;
      for (CachedBin& b : bins)
        if (!b.blocks.empty() && (coldest == nullptr || b.taken < coldest->taken)) coldest = &b;
      std::size_t above = (cachedBytes - most + coldest->bytes - 1) / coldest->bytes;
      std::size_t count = std::min(above, coldest->blocks.size());
      giveBack(*coldest, count, unneeded);
      coldest->fewest -= std::min(coldest->fewest, count);
    }
  }
  /// The blocks of a bin that were free for longest.
  void giveBack(CachedBin& b, std::size_t count, Unneeded& unneeded) {
    auto end = b.blocks.begin() + static_cast<std::ptrdiff_t>(count);
    unneeded.bins.push_back({b.bytes, 0, 0, {b.blocks.begin(), end}});
    b.blocks.erase(b.blocks.begin(), end);
    cachedBytes -= b.bytes * count;
  }
  /// A block of the bin is handed out, from here or from the system.
  void note(int bin, std::size_t bytes) {
    bins[bin].taken = ++asked;
    outBytes += bytes;
    epochOut = std::max(epochOut, outBytes);
  }
  void* take(int bin) {
    CachedBin& b = bins[bin];
    if (b.blocks.empty()) return nullptr;
    note(bin, b.bytes);
    void* p = b.blocks.back();
    b.blocks.pop_back();
    b.fewest = std::min(b.fewest, b.blocks.size());
    cachedBytes -= b.bytes;
    return p;
  }
  /// Before `bytes` are handed out: at the end of an epoch, what it did not need.
  void age(std::size_t bytes, Unneeded& unneeded) {
    ++epochTakes;
    epochBytes += bytes;
    if (epochTakes < kEpochTakes || epochBytes / kEpochTurnover < epochCached) [[likely]]
      return;
    for (CachedBin& b : bins) {
      if (b.fewest > 0) giveBack(b, b.fewest, unneeded);
      b.fewest = b.blocks.size();
    }
    lastEpochOut = epochOut;
    epochOut = outBytes;
    epochTakes = epochBytes = 0;
    epochCached = cachedBytes;
  }
  void releaseAll() {
    for (CachedBin& b : bins) {
      for (void* p : b.blocks) systemFree(p, b.bytes);
      b.blocks.clear();
      b.fewest = 0;
    }
    cachedBytes = 0;
  }
};

void raisePeak(std::int64_t inUse) {
  auto& peak = counters().peakBytes;
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (inUse > seen && !peak.compare_exchange_weak(seen, inUse, std::memory_order_relaxed)) {
  }
}

void addInUse(std::int64_t bytes) {
  std::int64_t now = counters().bytesAllocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes > 0) raisePeak(now);
}

std::size_t smallBytes(int bin) {
  if (bin < 4) return std::size_t(bin + 1) * 64;
  int shift = 8 + (bin - 4) / 4;
  return (std::size_t{1} << shift) + (std::size_t{1} << (shift - 2)) * std::size_t((bin - 4) % 4 + 1);
}
int slotLimit(std::size_t bytes) {
  if (bytes * kThreadSlots <= kThreadBytesPerBin) [[likely]]
    return kThreadSlots;
  return static_cast<int>(kThreadBytesPerBin / bytes);
}

/// Gives back a thread's blocks. With the central mutex held.
void spill(Central& c, ThreadCache& t, Unneeded& unneeded) {
  for (int b = 0; b < kSmallBins; ++b) {
    ThreadCache::Slots& s = t.bins[b];
    while (s.count > 0) c.put(b, smallBytes(b), s.blocks[--s.count], unneeded);
  }
  for (ThreadCache::Near& n : t.near)
    if (void* p = std::exchange(n.block, nullptr)) c.put(n.bin.index, n.bin.bytes, p, unneeded);
}

// Initial-exec: one instruction to reach, also from a shared object. Not null once the thread has a cache; once it has
// ended, and other thread-local destructors still free memory, `cacheGone` sends them to the central bins.
[[gnu::tls_model("initial-exec")]] thread_local ThreadCache* threadCache = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool cacheGone = false;

struct CacheEnder {
  ~CacheEnder() {
    ThreadCache* t = threadCache;
    if (t == nullptr) return;
    threadCache = nullptr;
    cacheGone = true;
    addInUse(t->pendingBytes.load(std::memory_order_relaxed));
    Central& c = Central::central();
    Unneeded unneeded;
    std::lock_guard lock(c.mutex);
    spill(c, *t, unneeded);
    c.allocations += t->allocations.load(std::memory_order_relaxed);
    std::erase(c.threads, t);
    delete t;
  }
};

[[gnu::noinline]] ThreadCache* makeThreadCache() {
  if (cacheGone) return nullptr;
  static thread_local CacheEnder ender;
  (void)&ender;
  auto* t = new ThreadCache;
  Central& c = Central::central();
  std::lock_guard lock(c.mutex);
  c.threads.push_back(t);
  threadCache = t;
  return t;
}

/// A block of the bin that the thread has at hand, or null.
[[gnu::noinline]] void* takeNear(ThreadCache& t, Bin bin) {
  for (std::size_t i = kNearBlocks; i-- > 0;) {
    if (t.near[i].block == nullptr || t.near[i].bin.index != bin.index) continue;
    void* const p = t.near[i].block;
    for (; i > 0; --i) t.near[i] = t.near[i - 1];
    t.near[0] = {};
    return p;
  }
  return nullptr;
}
/// Has the thread keep a block; the one that it freed longest ago makes room.
ThreadCache::Near keepNear(ThreadCache& t, void* p, Bin bin) {
  const ThreadCache::Near oldest = t.near[0];
  std::copy(t.near.begin() + 1, t.near.end(), t.near.begin());
  t.near[kNearBlocks - 1] = {p, bin};
  return oldest;
}

inline void count(ThreadCache& t, std::int64_t bytes) {
  std::int64_t pending = t.pendingBytes.load(std::memory_order_relaxed) + bytes;
  if (pending >= kFlushBytes || pending <= -kFlushBytes) [[unlikely]] {
    addInUse(pending);
    pending = 0;
  }
  t.pendingBytes.store(pending, std::memory_order_relaxed);
}

[[noreturn, gnu::noinline]] void outOfMemory(std::size_t bytes) {
  fail<OutOfMemoryError>("out of memory: cannot allocate ", bytes, " bytes (", availableMemory() >> 20,
                         " MiB available, ", counters().bytesAllocated.load() >> 20, " MiB in use by tensors)");
}

/// From the central bins or the system. Counts nothing.
[[gnu::noinline]] void* allocateCentral(Bin bin, std::size_t asked) {
  Central& c = Central::central();
  {
    Unneeded unneeded;
    std::lock_guard lock(c.mutex);
    c.age(bin.bytes, unneeded);
    if (void* p = c.take(bin.index)) return p;
  }
  void* p = systemAllocate(bin.bytes);
  if (p == nullptr) {
    emptyCache();
    p = systemAllocate(bin.bytes);
  }
  if (p == nullptr) outOfMemory(asked);
  std::lock_guard lock(c.mutex);
  c.note(bin.index, bin.bytes);
  return p;
}

[[gnu::noinline]] void* refill(ThreadCache& t, Bin bin, std::size_t asked) {
  {
    Central& c = Central::central();
    std::lock_guard lock(c.mutex);
    ThreadCache::Slots& s = t.bins[bin.index];
    for (int want = slotLimit(bin.bytes) / 2; s.count < want;) {
      void* p = c.take(bin.index);
      if (p == nullptr) break;
      s.blocks[s.count++] = p;
    }
    if (s.count > 0) return s.blocks[--s.count];
  }
  return allocateCentral(bin, asked);
}

[[gnu::noinline]] void spillHalf(ThreadCache& t, Bin bin) {
  Central& c = Central::central();
  Unneeded unneeded;
  std::lock_guard lock(c.mutex);
  ThreadCache::Slots& s = t.bins[bin.index];
  for (int keep = s.count / 2; s.count > keep;) c.put(bin.index, bin.bytes, s.blocks[--s.count], unneeded);
}

// What `failAllocation` asked for.
std::atomic<bool> failureSet{false};
std::atomic<std::int64_t> untilFailure{0};

[[gnu::noinline]] void countDownToFailure(std::size_t bytes) {
  if (untilFailure.fetch_sub(1) != 0) return;
  failureSet = false;
  outOfMemory(bytes);
}

}  // namespace

bool failAllocation(std::int64_t n) {
  bool failed = !failureSet.exchange(false);
  untilFailure = n;
  failureSet = n >= 0;
  return failed;
}

void* allocate(std::size_t bytes) {
  if (bytes > kMaxBlock) outOfMemory(bytes);
  if (failureSet.load(std::memory_order_relaxed)) [[unlikely]]
    countDownToFailure(bytes);
  Bin bin = binOf(bytes);
  ThreadCache* t = threadCache;
  if (t == nullptr) [[unlikely]]
    t = makeThreadCache();
  void* p = nullptr;
  if (bytes <= kMaxSmall && t != nullptr) {
    ThreadCache::Slots& s = t->bins[bin.index];
    p = s.count > 0 ? s.blocks[--s.count] : refill(*t, bin, bytes);
    count(*t, static_cast<std::int64_t>(bin.bytes));
  } else {
    if (t != nullptr && bin.bytes < kMapFrom) p = takeNear(*t, bin);
    if (p == nullptr) p = allocateCentral(bin, bytes);
    addInUse(static_cast<std::int64_t>(bin.bytes));
  }
  if (t != nullptr) bump(t->allocations);
  TANDEM_UNPOISON(p, bytes);
  return p;
}

void deallocate(void* p, std::size_t bytes) noexcept {
  if (p == nullptr) return;
  Bin bin = binOf(bytes);
  TANDEM_POISON(p, bin.bytes);
  ThreadCache* t = threadCache;
  if (t == nullptr) [[unlikely]]
    t = makeThreadCache();
  if (bytes <= kMaxSmall && t != nullptr) {
    ThreadCache::Slots& s = t->bins[bin.index];
    if (s.count >= slotLimit(bin.bytes)) [[unlikely]]
      spillHalf(*t, bin);
    s.blocks[s.count++] = p;
    count(*t, -static_cast<std::int64_t>(bin.bytes));
    return;
  }
  addInUse(-static_cast<std::int64_t>(bin.bytes));
  if (t != nullptr && bin.bytes < kMapFrom) {
    const ThreadCache::Near oldest = keepNear(*t, p, bin);
    if (oldest.block == nullptr) return;
    p = oldest.block;
    bin = oldest.bin;
  }
  Central& c = Central::central();
  Unneeded unneeded;
  std::lock_guard lock(c.mutex);
  c.put(bin.index, bin.bytes, p, unneeded);
}

void emptyCache() {
  Central& c = Central::central();
  std::lock_guard lock(c.mutex);
  Unneeded unneeded;
  if (threadCache != nullptr) spill(c, *threadCache, unneeded);
  c.releaseAll();
}

AllocatorStats allocatorStats() {
  Central& c = Central::central();
  std::lock_guard lock(c.mutex);
  AllocatorStats stats{};
  stats.bytesInUse = counters().bytesAllocated.load(std::memory_order_relaxed);
  stats.allocations = c.allocations;
  stats.bytesCached = static_cast<std::int64_t>(c.cachedBytes);
  for (const ThreadCache* t : c.threads) {
    stats.bytesInUse += t->pendingBytes.load(std::memory_order_relaxed);
    stats.allocations += t->allocations.load(std::memory_order_relaxed);
  }
  raisePeak(stats.bytesInUse);
  stats.peakBytes = counters().peakBytes.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace tandem
