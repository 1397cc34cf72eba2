// What a storage holds while its content is a value of a trace.
#pragma once

#include <cstdint>

#include "ir/trace/trace.h"
#include "runtime/memory/object_pool.h"
#include "runtime/memory/storage.h"

namespace tandem::lazy {

class Session;

/// What hangs on a storage while its content is a value of a session's trace.
class Content final : public PendingContent {
 public:
  Content(Session& session, Storage* storage, ValueRef value, std::int32_t input);
  ~Content() override;
  static void* operator new(std::size_t bytes) { return poolAllocate(bytes); }
  static void operator delete(void* p) { poolFree(p, sizeof(Content)); }
  void materialize() override;
  static void awaitRun(Storage& s);
  /// A moment of a wait for what the host's other threads do.
  static void letOthersGoOn();
  /// Leaves the session: the value will never be.
  void lose() noexcept;
  [[nodiscard]] bool isRunning() const;

  Session* session;  // null: the value was lost
  Storage* storage;  // owns this
  ValueRef value;
  std::int32_t input;  // its number among the session's inputs; -1: fresh
  /// Dims of the value whose sizes depend on data, a bit each (may hold more than do).
  std::uint64_t dataDims = 0;
  Content* previous = nullptr;
  Content* next = nullptr;
};

}  // namespace tandem::lazy
