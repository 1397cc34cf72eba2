// The memory of a device: blocks in a reserved stretch of addresses, none of which can be touched but while the
// stand-in works on the device. Behind each block lies memory that is nobody's; a freed block cannot be touched any
// more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tandem::emulation {

class Memory {
 public:
  /// $TANDEM_EMULATED_MEMORY bytes, or 4 GiB.
  Memory();

  /// An address that is a multiple of 512, whose bytes are all 0xff; 0 where too little is left.
  std::uint64_t allocate(std::size_t bytes);
  /// False where no block begins there.
  bool free(std::uint64_t address);
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t used() const { return used_; }

  /// Whether an address is in the stretch, of a block or not. Any thread may ask at any time.
  [[nodiscard]] bool holds(const void* at) const { return at >= base_ && at < base_ + space_; }
  /// Whether so many bytes from an address on are of one block.
  [[nodiscard]] bool isAllocated(std::uint64_t address, std::size_t bytes) const;
  /// Where an address is beside the blocks, in words.
  [[nodiscard]] std::string placeOf(const void* at) const;

  /// Lets all blocks be touched, and no more.
  void open();
  void close();

 private:
  std::size_t space_ = std::size_t{1} << 40;  // addresses are no memory; $TANDEM_EMULATED_ADDRESSES, for Valgrind
  static constexpr std::size_t kPage = 4096;

  struct Area {
    std::size_t begin, bytes;  // whole pages, from the stretch's beginning on
    std::size_t asked;
  };
  void protect(const Area& area, int access) const;

  char* base_ = nullptr;
  std::size_t total_;
  std::size_t used_ = 0;
  std::size_t next_ = std::size_t{1} << 20;  // what lies before the first block is nobody's either
  bool isOpen_ = false;
  std::map<std::uint64_t, Area> blocks_;  // by address
};

}  // namespace tandem::emulation
