// Long work that touches nothing but memory, and what a host language does around it: Python's layer lets go of the
// interpreter lock, so that other threads run meanwhile. Nobody may hold a lock over a LongWork that the host's other
// threads could wait for.
#pragma once

#include <cstdint>

namespace tandem {

class LongWork {
 public:
  /// Set once by the host: `enter` on the thread that is about to work, `leave` with what it returned.
  static inline void* (*enter)() = nullptr;
  static inline void (*leave)(void* token) = nullptr;

  /// Work on so many elements; below about 20 microseconds nothing is done.
  static constexpr std::int64_t kLong = 1 << 16;
  explicit LongWork(std::int64_t elements) {
    if (elements >= kLong && enter != nullptr) token_ = enter();
  }
  ~LongWork() {
    if (token_ != nullptr) leave(token_);
  }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  void* token_ = nullptr;
};

}  // namespace tandem
