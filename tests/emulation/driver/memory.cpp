#include "tests/emulation/driver/memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace tandem::emulation {
namespace {

constexpr std::size_t kAlignment = 512;
std::size_t roundUp(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Memory::Memory() : total_(std::size_t{4} << 30) {
  if (const char* total = std::getenv("TANDEM_EMULATED_MEMORY")) total_ = std::strtoull(total, nullptr, 10);
  if (const char* space = std::getenv("TANDEM_EMULATED_ADDRESSES")) space_ = std::strtoull(space, nullptr, 10);
  void* base = ::mmap(nullptr, space_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    std::perror("emulated GPU: no addresses for its memory");
    std::abort();
  }
  base_ = static_cast<char*>(base);
}

std::uint64_t Memory::allocate(std::size_t bytes) {
  const std::size_t size = roundUp(bytes, kAlignment);
  if (bytes > total_ || size > total_ - used_) return 0;
  // The block ends where its last page does, so that what lies behind it faults. Addresses are not used again.
  const Area area{next_, roundUp(size, kPage), size};
  if (area.bytes > space_ - area.begin) return 0;
  next_ = area.begin + area.bytes + kPage;
  char* block = base_ + area.begin + (area.bytes - size);
  protect(area, PROT_READ | PROT_WRITE);
  std::memset(base_ + area.begin, 0xff, area.bytes);
  if (!isOpen_) protect(area, PROT_NONE);
  used_ += size;
  const auto address = reinterpret_cast<std::uint64_t>(block);
  blocks_[address] = area;
  return address;
}

bool Memory::free(std::uint64_t address) {
  const auto it = blocks_.find(address);
  if (it == blocks_.end()) return false;
  const Area area = it->second;
  ::madvise(base_ + area.begin, area.bytes, MADV_DONTNEED);
  protect(area, PROT_NONE);
  used_ -= area.asked;
  blocks_.erase(it);
  return true;
}

bool Memory::isAllocated(std::uint64_t address, std::size_t bytes) const {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return false;
  --it;
  const std::size_t offset = address - it->first;
  return offset <= it->second.asked && bytes <= it->second.asked - offset;
}

std::string Memory::placeOf(const void* at) const {
  const auto address = reinterpret_cast<std::uint64_t>(at);
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return "before every block";
  --it;
  const std::size_t offset = address - it->first;
  const std::string block = "a block of " + std::to_string(it->second.asked) + " bytes";
  if (offset < it->second.asked) return "byte " + std::to_string(offset) + " of " + block;
  return std::to_string(offset - it->second.asked) + " bytes behind the end of " + block + ", or in a freed one";
}

void Memory::open() {
  if (isOpen_) return;
  isOpen_ = true;
  for (const auto& [address, area] : blocks_) protect(area, PROT_READ | PROT_WRITE);
}

void Memory::close() {
  if (!isOpen_) return;
  isOpen_ = false;
  for (const auto& [address, area] : blocks_) protect(area, PROT_NONE);
}

void Memory::protect(const Area& area, int access) const {
  if (::mprotect(base_ + area.begin, area.bytes, access) != 0) {
    std::perror("emulated GPU: mprotect");
    std::abort();
  }
}

}  // namespace tandem::emulation
