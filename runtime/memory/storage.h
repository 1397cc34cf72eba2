// A storage: the bytes that any number of tensors view. While operations are recorded it may be *pending*: its content
// is then a value of a trace (`pending`), and `data` is what it was before, or null.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/intrusive.h"
#include "runtime/device/device.h"
#include "runtime/memory/object_pool.h"

namespace tandem {

/// What a recorder hangs on a storage it knows; `lazy` implements it. Owned by the storage.
class PendingContent {
 public:
  virtual ~PendingContent() = default;
  /// Makes the storage's bytes real. Throws DataReadError while a function is being traced.
  virtual void materialize() = 0;
};

class Storage : public Counted<Storage> {
 public:
  using Deleter = void (*)(void* context);

  /// Owns fresh uninitialised memory of the device.
  explicit Storage(std::size_t bytes, Device device = {});
  /// Borrows memory of the device; `deleter(context)` when the last reference goes (null: nothing to do). What is
  /// another look at the memory of `of`, which the context keeps, is where that is and counts writes together with it.
  Storage(void* data, std::size_t bytes, Deleter deleter, void* context, Storage* of = nullptr, Device device = {});
  /// Pending: no memory yet.
  struct PendingTag {};
  Storage(PendingTag, std::size_t bytes, Device device) : bytes_(bytes), birth_(bear()), device_(device) {}
  static void* operator new(std::size_t bytes) { return poolAllocate(bytes); }
  static void operator delete(void* p) { poolFree(p, sizeof(Storage)); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Where the memory is: for the device's executor only. The host reads a copy (eager/host.h).
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool isPending() const { return pending_ != nullptr; }
  [[nodiscard]] PendingContent* pending() const { return pending_; }
  /// Takes ownership; null ends the pending state. The old content is deleted.
  void setPending(PendingContent* content) {
    // The old content may look at this storage while it dies: it is no longer its content by then.
    PendingContent* old = std::exchange(pending_, content);
    if (old != content) delete old;
  }
  /// Gives a storage made pending without any its memory: `block`, of `allocateOn(device(), bytes())`, which it owns
  /// from now on.
  void takeMemory(void* block);
  /// Memory that a program may also read and write otherwise, as NumPy does.
  [[nodiscard]] bool isShared() const { return lent != 0 || deleter_ != nullptr; }
  static void destroy(Storage* s) { delete s; }

  /// Storages made so far in this process, about: what is older than another has a smaller `birth`.
  static std::uint64_t births() { return births_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t birth() const { return birth_; }

  /// Do both look at one memory?
  [[nodiscard]] bool sameMemory(const Storage& other) const { return &version == &other.version; }
  /// Is `other` another storage on some of the same bytes? So are two that one NumPy array was given to.
  [[nodiscard]] bool overlaps(const Storage& other) const {
    if (this == &other || !(isShared() || other.isShared()) || device_ != other.device_) return false;
    const auto *from = static_cast<const char*>(data_), *others = static_cast<const char*>(other.data_);
    return from < others + other.bytes_ && others < from + bytes_;
  }

 private:
  std::uint32_t ownVersion_ = 0;

 public:
  /// Counts in-place writes to the memory by any tensor that shares a version counter with the base.
  std::uint32_t& version = ownVersion_;
  /// How many others look at the memory now, to whom it was lent.
  std::uint32_t lent = 0;

 private:
  friend class Counted<Storage>;
  ~Storage();
  static std::uint64_t bear() {
    std::uint64_t n = births_.load(std::memory_order_relaxed) + 1;
    births_.store(n, std::memory_order_relaxed);
    return n;
  }
  inline static std::atomic<std::uint64_t> births_{0};

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t birth_;
  PendingContent* pending_ = nullptr;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  bool owned_ = false;
  Device device_;
};

/// As `allocate` and `deallocate` of runtime/memory/allocator.h, of memory of a device.
void* allocateOn(Device device, std::size_t bytes);
void deallocateOn(Device device, void* p, std::size_t bytes) noexcept;

}  // namespace tandem
