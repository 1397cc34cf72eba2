#include "runtime/device/cuda/memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"

namespace tandem::cuda {
namespace {

using State = GpuSegment::Block::State;

constexpr std::size_t kLeast = 512;
constexpr std::size_t kMostSmall = std::size_t{1} << 20;
constexpr std::size_t kSmallSegment = std::size_t{2} << 20;
constexpr std::size_t kLargeSegment = std::size_t{20} << 20;
constexpr std::size_t kOwnSegment = std::size_t{10} << 20;  // from here on a block is a segment
constexpr std::size_t kSegmentStep = std::size_t{2} << 20;

constexpr std::size_t rounded(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

std::size_t segmentBytes(std::size_t bytes) {
  if (bytes <= kMostSmall) return kSmallSegment;
  return bytes < kOwnSegment ? kLargeSegment : rounded(bytes, kSegmentStep);
}

}  // namespace

namespace {

/// The pools that the thread has chosen, of each GPU.
struct ChosenPool {
  const DeviceMemory* of;
  DeviceMemory::Arena* arena;
  std::shared_ptr<void> keeper;
};
std::vector<ChosenPool>& chosenPools() {
  static thread_local std::vector<ChosenPool> pools;
  return pools;
}
/// Has any thread chosen one so far?
std::atomic<bool> poolsAreChosen = false;

}  // namespace

std::string bytesText(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return strcat(bytes, " bytes");
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %s", value, kUnits[unit]);
  return text.data();
}

bool DeviceMemory::Smaller::operator()(const Block* a, const Block* b) const {
  return std::tuple(std::bit_cast<std::uintptr_t>(a->segment->stream), a->bytes, a->address) <
         std::tuple(std::bit_cast<std::uintptr_t>(b->segment->stream), b->bytes, b->address);
}

// A free part of a segment of which others are in use.
void DeviceMemory::countFree(const Block* block, int sign) {
  if (block->before == nullptr && block->after == nullptr) return;
  count(kInactive, block->segment->large, sign);
  count(kInactiveBytes, block->segment->large, sign * static_cast<std::int64_t>(block->bytes));
}

void* DeviceMemory::allocate(std::size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const std::size_t size = rounded(std::max(bytes, std::size_t{1}), kLeast);
  if (size < bytes) outOfMemory(bytes, bytes);
  const bool large = size > kMostSmall;
  lookAtEvents(false);
  Arena& arena = arenaFor(stream);
  Block* block = takeFree(arena, large, stream, size);
  if (block == nullptr) block = takeFresh(arena, large, stream, size);
  if (block == nullptr) outOfMemory(bytes, segmentBytes(size));
  // What is left of a large one is kept in it unless it is another large block.
  if (const std::size_t rest = block->bytes - size; large ? rest > kMostSmall : rest >= kLeast) splitOff(block, size);
  block->state = State::Active;
  block->requested = bytes;
  if (spareNodes_.empty()) {
    used_.emplace(block->address, block);
  } else {
    Used::node_type& node = spareNodes_.back();
    node.key() = block->address;
    node.mapped() = block;
    used_.insert(std::move(node));
    spareNodes_.pop_back();
  }
  const auto held = static_cast<std::int64_t>(block->bytes);
  count(kAllocation, large, 1);
  count(kActive, large, 1);
  count(kAllocated, large, held);
  count(kActiveBytes, large, held);
  count(kRequested, large, static_cast<std::int64_t>(bytes));
  return std::bit_cast<void*>(block->address);
}

void DeviceMemory::deallocate(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = used_.find(std::bit_cast<std::uint64_t>(memory));
  if (it == used_.end()) return;
  Block* block = it->second;
  if (spareNodes_.size() < kMostReady)
    spareNodes_.push_back(used_.extract(it));
  else
    used_.erase(it);
  const bool large = block->segment->large;
  count(kAllocation, large, -1);
  count(kAllocated, large, -static_cast<std::int64_t>(block->bytes));
  count(kRequested, large, -static_cast<std::int64_t>(block->requested));
  block->state = State::Awaiting;
  try {
    if (block->users.empty()) return free(block);
    if (captured_.empty()) return await(block);
    untilCaptured_.push_back(block);
  } catch (const Error&) {
    // Of a device that failed, memory is of no use any more.
  }
}

void DeviceMemory::recordStream(void* memory, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const auto it = used_.find(std::bit_cast<std::uint64_t>(memory));
  if (it == used_.end() || it->second->segment->stream == stream) return;
  auto& users = it->second->users;
  if (std::ranges::find(users, stream) == users.end()) users.push_back(stream);
}

void DeviceMemory::emptyCache() {
  const std::lock_guard lock(mutex_);
  lookAtEvents(true);
  settle();
  release(common_);
}

DeviceMemory::Arena& DeviceMemory::arenaFor(StreamHandle stream) {
  if (!captured_.empty()) [[unlikely]] {
    // A stream that waited for a captured one is captured too.
    const std::uint64_t id = captureOf(stream);
    for (const Captured& c : captured_)
      if (c.stream == stream || (id != 0 && c.id == id)) return *c.arena;
  }
  if (poolsAreChosen.load(std::memory_order_relaxed)) [[unlikely]]
    for (const ChosenPool& chosen : chosenPools())
      if (chosen.of == this) return *chosen.arena;
  return common_;
}

DeviceMemory::Block* DeviceMemory::takeFree(Arena& arena, bool large, StreamHandle stream, std::size_t bytes) {
  if (!large && &arena == &common_)
    if (Block* block = takeReady(stream, bytes)) return block;
  Segment where{0, 0, stream, large, &arena, nullptr};
  Block wanted{0, bytes, 0, &where, nullptr, nullptr, State::Free, {}, 0};
  FreeBlocks& free = arena.free[large ? 1 : 0];
  const auto it = free.lower_bound(&wanted);
  if (it == free.end() || (*it)->segment->stream != stream) return nullptr;
  Block* block = *it;
  countFree(block, -1);
  free.erase(it);
  return block;
}

DeviceMemory::Block* DeviceMemory::takeFresh(Arena& arena, bool large, StreamHandle stream, std::size_t bytes) {
  if (!ready_.empty()) {
    settle();
    if (Block* block = takeFree(arena, large, stream, bytes)) return block;
  }
  const std::size_t size = segmentBytes(bytes);
  Segment* segment = addSegment(arena, large, stream, size);
  if (segment == nullptr && captured_.empty()) {
    // Nothing may be given back while a stream is captured, as that waits.
    ++retries_;
    lookAtEvents(true);
    settle();
    if (Block* block = takeFree(arena, large, stream, bytes)) return block;
    release(common_);
    segment = addSegment(arena, large, stream, size);
  }
  return segment == nullptr ? nullptr : segment->first;
}

DevicePointer DeviceMemory::fromDriver(std::size_t bytes) {
  const auto reserved = static_cast<std::size_t>(ofBoth(kReserved).current);
  if (bytes > most_ || reserved > most_ - bytes) return 0;
  gpu_.use();
  DevicePointer memory = 0;
  const int result = driver().memAlloc(&memory, bytes);
  if (result == kOutOfMemory) return 0;
  check(result, strcat("allocating ", bytesText(bytes), " on ", gpu_.name()));
  return memory;
}

DeviceMemory::Segment* DeviceMemory::addSegment(Arena& arena, bool large, StreamHandle stream, std::size_t bytes) {
  const DevicePointer memory = fromDriver(bytes);
  if (memory == 0) return nullptr;
  ++fromDriver_;
  auto* segment = new Segment{memory, bytes, stream, large, &arena, nullptr};
  segment->first = new Block{memory, bytes, 0, segment, nullptr, nullptr, State::Free, {}, 0};
  segments_.insert(segment);
  count(kSegment, large, 1);
  count(kReserved, large, static_cast<std::int64_t>(bytes));
  return segment;
}

void DeviceMemory::splitOff(Block* block, std::size_t bytes) {
  Segment* segment = block->segment;
  auto* rest =
      new Block{block->address + bytes, block->bytes - bytes, 0, segment, block, block->after, State::Free, {}, 0};
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->bytes = bytes;
  segment->arena->free[segment->large ? 1 : 0].insert(rest);
  countFree(rest, 1);
}

void DeviceMemory::free(Block* block) {
  const Segment* segment = block->segment;
  count(kActive, segment->large, -1);
  count(kActiveBytes, segment->large, -static_cast<std::int64_t>(block->bytes));
  block->users.clear();
  if (segment->large || segment->arena != &common_) return join(block);
  if (ready_.size() == kMostReady) {
    Block* const oldest = ready_.front().block;
    ready_.erase(ready_.begin());
    countFree(oldest, -1);
    join(oldest);
  }
  block->state = State::Free;
  block->ready = true;
  countFree(block, 1);
  ready_.push_back({segment->stream, block->bytes, block});
}

DeviceMemory::Block* DeviceMemory::takeReady(StreamHandle stream, std::size_t bytes) {
  for (std::size_t i = ready_.size(); i-- > 0;) {
    if (ready_[i].bytes != bytes || ready_[i].stream != stream) continue;
    Block* const block = ready_[i].block;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
    block->ready = false;
    countFree(block, -1);
    return block;
  }
  return nullptr;
}

void DeviceMemory::settle() {
  for (const Ready& r : ready_) {
    countFree(r.block, -1);
    join(r.block);
  }
  ready_.clear();
}

void DeviceMemory::join(Block* block) {
  Segment* segment = block->segment;
  FreeBlocks& free = segment->arena->free[segment->large ? 1 : 0];
  block->ready = false;
  auto takeOut = [&](Block* neighbour) {
    countFree(neighbour, -1);
    free.erase(neighbour);
  };
  const auto joins = [](const Block* b) { return b != nullptr && b->state == State::Free && !b->ready; };
  if (Block* after = block->after; joins(after)) {
    takeOut(after);
    block->bytes += after->bytes;
    block->after = after->after;
    if (block->after != nullptr) block->after->before = block;
    delete after;
  }
  if (Block* before = block->before; joins(before)) {
    takeOut(before);
    before->bytes += block->bytes;
    before->after = block->after;
    if (before->after != nullptr) before->after->before = before;
    delete block;
    block = before;
  }
  block->state = State::Free;
  free.insert(block);
  countFree(block, 1);
}

void DeviceMemory::await(Block* block) {
  for (StreamHandle user : block->users) {
    awaited_.push_back({gpu_.events.record(user), block});
    ++block->awaited;
  }
}

void DeviceMemory::lookAtEvents(bool wait) {
  if (wait && captured_.empty()) {
    gpu_.use();
    ++waits_;
    check(driver().ctxSynchronize(), strcat("waiting for ", gpu_.name()));
  }
  // In the order of their recording: of one stream, later ones are done later.
  for (auto it = awaited_.begin(); it != awaited_.end();) {
    if (!gpu_.events.isDone(it->event)) {
      if (!wait) return;
      ++it;
      continue;
    }
    gpu_.events.give(it->event);
    Block* block = it->block;
    it = awaited_.erase(it);
    if (--block->awaited == 0) free(block);
  }
}

std::size_t DeviceMemory::release(Arena& arena) {
  std::size_t released = 0;
  for (FreeBlocks& free : arena.free) {
    for (auto it = free.begin(); it != free.end();) {
      Block* block = *it;
      if (block->before != nullptr || block->after != nullptr) {
        ++it;
        continue;
      }
      it = free.erase(it);
      Segment* segment = block->segment;
      gpu_.use();
      check(driver().memFree(segment->address), strcat("freeing memory of ", gpu_.name()));
      ++toDriver_;
      released += segment->bytes;
      count(kSegment, segment->large, -1);
      count(kReserved, segment->large, -static_cast<std::int64_t>(segment->bytes));
      segments_.erase(segment);
      delete segment;
      delete block;
    }
  }
  return released;
}

void DeviceMemory::outOfMemory(std::size_t bytes, std::size_t segment) {
  ++outOfMemories_;
  std::size_t free = 0;
  std::size_t total = 0;
  gpu_.use();
  driver().memGetInfo(&free, &total);
  const auto held = static_cast<std::size_t>(ofBoth(kAllocated).current);
  const auto reserved = static_cast<std::size_t>(ofBoth(kReserved).current);
  const std::string limit = most_ == SIZE_MAX ? ""
                                              : strcat("; this process may take ", bytesText(most_),
                                                       " of it (set_per_process_memory_fraction)");
  fail<OutOfMemoryError>("CUDA out of memory: tried to allocate ", bytesText(bytes), " on ", gpu_.name(),
                         segment != bytes ? strcat(" (", bytesText(segment), " from the driver)") : "", ", which has ",
                         bytesText(total), ", of which ", bytesText(free), " are free", limit,
                         ". Tensors of this process hold ", bytesText(held), "; ",
                         bytesText(reserved - std::min(held, reserved)), " are cached, in pieces that do not serve");
}

// ---- graphs

void DeviceMemory::beginArena(StreamHandle stream, std::optional<std::uint64_t> pool) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pools_, [](const auto& known) { return known.second.expired(); });
  std::shared_ptr<Arena> arena = pool ? pools_[*pool].lock() : nullptr;
  if (arena == nullptr) {
    arena = std::make_shared<Arena>();
    arena->ofGraph = true;
    if (pool) pools_[*pool] = arena;
  }
  captured_.push_back({stream, captureOf(stream), std::move(arena)});
}

std::shared_ptr<DeviceMemory::Arena> DeviceMemory::endArena(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(captured_, stream, &Captured::stream);
  TANDEM_CHECK(it != captured_.end(), "the stream is not captured");
  std::shared_ptr<Arena> arena = std::move(it->arena);
  captured_.erase(it);
  if (captured_.empty()) {
    for (Block* block : untilCaptured_) await(block);
    untilCaptured_.clear();
  }
  return arena;
}

void DeviceMemory::giveBack(std::shared_ptr<Arena> arena) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Arena> mine = std::move(arena);  // gone before the lock is, which guards how many have it
  if (mine.use_count() > 1) return;
  for (Segment* segment : segments_)
    if (segment->arena == mine.get()) segment->arena = &common_;
  for (std::size_t k = 0; k < mine->free.size(); ++k) common_.free[k].merge(mine->free[k]);
}

std::shared_ptr<DeviceMemory::Arena> DeviceMemory::makePool(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  auto arena = std::make_shared<Arena>();
  arena->ofGraph = true;
  pools_[id] = arena;
  return arena;
}

std::shared_ptr<void> DeviceMemory::choosePool(Arena* arena, std::shared_ptr<void> keeper) {
  std::vector<ChosenPool>& chosen = chosenPools();
  std::shared_ptr<void> before;
  if (const auto it = std::ranges::find(chosen, this, &ChosenPool::of); it != chosen.end()) {
    before = std::move(it->keeper);
    chosen.erase(it);
  }
  if (arena == nullptr) return before;
  poolsAreChosen = true;
  chosen.push_back({this, arena, std::move(keeper)});
  return before;
}

// ---- what is known of it

std::vector<std::pair<std::string, std::int64_t>> DeviceMemory::stats() {
  static constexpr const char* kNames[kCounts] = {
      "allocation",      "segment",        "active",       "inactive_split",
      "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
      "requested_bytes"};
  const std::lock_guard lock(mutex_);
  settle();
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (std::size_t k = 0; k < kCounts; ++k) {
    ofBoth(k).tell(strcat(kNames[k], ".all"), found);
    stats_[k][0].tell(strcat(kNames[k], ".small_pool"), found);
    stats_[k][1].tell(strcat(kNames[k], ".large_pool"), found);
  }
  found.emplace_back("num_alloc_retries", retries_);
  found.emplace_back("num_ooms", outOfMemories_);
  found.emplace_back("num_sync_all_streams", waits_);
  found.emplace_back("num_device_alloc", fromDriver_);
  found.emplace_back("num_device_free", toDriver_);
  return found;
}

void DeviceMemory::resetPeaks() {
  const std::lock_guard lock(mutex_);
  for (auto& pools : stats_)
    for (Stat& s : pools) s.resetPeak();
  for (std::size_t k = 0; k < kCounts; ++k) peaks_[k] = ofBoth(k).current;
}

void DeviceMemory::resetAccumulated() {
  const std::lock_guard lock(mutex_);
  for (auto& pools : stats_)
    for (Stat& s : pools) s.resetAccumulated();
  retries_ = outOfMemories_ = fromDriver_ = toDriver_ = waits_ = 0;
}

std::vector<GpuSegment> DeviceMemory::snapshot() {
  const std::lock_guard lock(mutex_);
  settle();
  std::vector<GpuSegment> found;
  for (const Segment* s : segments_) {
    GpuSegment& segment =
        found.emplace_back(GpuSegment{s->address, s->bytes, s->stream, s->large, s->arena->ofGraph, {}});
    for (const Block* b = s->first; b != nullptr; b = b->after)
      segment.blocks.push_back({b->address, b->bytes, b->state == State::Active ? b->requested : 0, b->state});
  }
  std::ranges::sort(found, {}, &GpuSegment::address);
  return found;
}

void DeviceMemory::setFraction(double fraction, std::size_t total) {
  if (!(fraction > 0 && fraction <= 1)) fail<ValueError>("a share of memory lies in (0, 1], not ", fraction);
  const std::lock_guard lock(mutex_);
  most_ = fraction == 1 ? SIZE_MAX : static_cast<std::size_t>(fraction * static_cast<double>(total));
}

}  // namespace tandem::cuda
