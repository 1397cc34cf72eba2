// Warnings to the user: said by operations, shown by whoever the program is written in.
#pragma once

#include <atomic>
#include <string>

namespace tandem {

/// Shows a warning; null until someone does. May throw, where warnings are made errors.
inline void (*warningShower)(const std::string& text) = nullptr;

inline void warn(const std::string& text) {
  if (warningShower != nullptr) warningShower(text);
}

/// One that is shown the first time alone: `said` is a variable of its own with static storage.
inline void warnOnce(std::atomic<bool>& said, const std::string& text) {
  if (!said.exchange(true, std::memory_order_relaxed)) warn(text);
}

}  // namespace tandem
