// Threads of a kernel are fibers: stacks of their own between which one thread of the host goes to and fro.
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::emulation {

/// Stacks, each with memory below it that nobody may touch. They stay for the life of the process.
class Stacks {
 public:
  /// A stack on which `start` will run when it is switched to. It must not return.
  void* take(void (*start)());
  void give(unsigned index) { free_.push_back(index); }
  void giveAll();
  /// Of the stack that was taken last.
  [[nodiscard]] unsigned taken() const { return taken_; }
  [[nodiscard]] bool holds(const void* at) const {
    return base_ != nullptr && at >= base_ && at < base_ + kMost * kBytes;
  }
  /// Whether an address is in the memory below a stack.
  [[nodiscard]] bool isBelow(const void* at) const;

  static constexpr std::size_t kMost = 1024;

 private:
  static constexpr std::size_t kBytes = std::size_t{256} << 10;
  static constexpr std::size_t kGuard = std::size_t{64} << 10;  // more than a function's variables usually have

  char* base_ = nullptr;
  unsigned made_ = 0;
  unsigned taken_ = 0;
  std::vector<unsigned> free_;
};

}  // namespace tandem::emulation

extern "C" {
/// Leaves the stack, writing where it was left to *from, and goes on where `to` was left.
void tandemSwitch(void** from, void* to);
/// Where a stack that was left goes on: for a signal's handler, which makes a thread go on elsewhere.
void tandemResume();
}
