// A storage: the bytes that any number of tensors view. While operations are recorded it may be *pending*: its content
// is then a value of a trace (`pending`), and `data` is what it was before, or null.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/intrusive.h"

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

  /// Owns fresh uninitialised memory.
  explicit Storage(std::size_t bytes);
  /// Borrows memory; `deleter(context)` when the last reference goes (null: nothing to do).
  Storage(void* data, std::size_t bytes, Deleter deleter, void* context);
  /// Pending: no memory yet.
  struct PendingTag {};
  Storage(PendingTag, std::size_t bytes) : bytes_(bytes) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool isPending() const { return pending_ != nullptr; }
  [[nodiscard]] PendingContent* pending() const { return pending_; }
  /// Takes ownership; null ends the pending state. The old content is deleted.
  void setPending(PendingContent* content);
  /// Allocates the memory of a storage made pending without any.
  void allocateNow();
  /// Frees the memory and becomes an empty storage of the same size (after it was donated to a plan).
  static void destroy(Storage* s) { delete s; }

  /// Counts in-place writes to the storage by any of its tensors that share a version counter with the base.
  std::uint32_t version = 0;

 private:
  friend class Counted<Storage>;
  ~Storage();

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  PendingContent* pending_ = nullptr;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  bool owned_ = false;
};

}  // namespace tandem
