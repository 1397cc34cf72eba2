#include "tests/emulation/driver/fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

// The registers that a call keeps are pushed; the rest the caller of tandemSwitch does not rely on.
asm(R"(
  .text
  .globl tandemSwitch
  .hidden tandemSwitch
  .type tandemSwitch, @function
tandemSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  .globl tandemResume
  .hidden tandemResume
tandemResume:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tandemSwitch, .-tandemSwitch
)");

namespace tandem::emulation {

void* Stacks::take(void (*start)()) {
  if (free_.empty()) {
    if (base_ == nullptr) {
      void* memory = ::mmap(nullptr, kMost * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) std::abort();
      base_ = static_cast<char*>(memory);
    }
    if (made_ == kMost) std::abort();  // no block has more threads
    if (::mprotect(base_ + made_ * kBytes + kGuard, kBytes - kGuard, PROT_READ | PROT_WRITE) != 0) std::abort();
    free_.push_back(made_++);
  }
  taken_ = free_.back();
  free_.pop_back();
  // Stacks begin at different lines of a page: at the same one they would all fall into the same sets of the cache.
  char* top = base_ + (taken_ + 1) * kBytes - (taken_ % 32) * 192;
  top -= reinterpret_cast<std::uintptr_t>(top) % 16;
  auto* at = reinterpret_cast<void**>(top);
  *--at = nullptr;  // where a call would return to
  *--at = reinterpret_cast<void*>(start);
  for (int i = 0; i < 6; ++i) *--at = nullptr;
  return static_cast<void*>(at);
}

void Stacks::giveAll() {
  free_.clear();
  for (unsigned i = made_; i > 0; --i) free_.push_back(i - 1);
}

bool Stacks::isBelow(const void* at) const {
  const auto* p = static_cast<const char*>(at);
  return holds(at) && static_cast<std::size_t>(p - base_) % kBytes < kGuard;
}

}  // namespace tandem::emulation
