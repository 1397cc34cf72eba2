// Where recordings begin and end.
#pragma once

#include <cstdint>
#include <memory>

#include "lazy/session.h"

namespace tandem::lazy {

/// Registers what this layer implements with the layers below (idempotent).
void install();

/// `with tandem.lazy()`: records until the end of the scope; nested scopes share the outermost session.
class LazyScope {
 public:
  /// What is recorded at one site is likely what was recorded there before.
  explicit LazyScope(std::uint64_t site = 0);
  ~LazyScope();
  LazyScope(const LazyScope&) = delete;
  LazyScope& operator=(const LazyScope&) = delete;
  /// Ends the scope: runs what is recorded. Errors of that run are raised here; the destructor abandons instead.
  void end();

 private:
  std::unique_ptr<Session> own_;
  bool ended_ = false;
};

/// The session of this thread that is recording; null if none.
Session* activeSession();
/// Runs what this thread has recorded so far, if anything.
void flushActive();

}  // namespace tandem::lazy
