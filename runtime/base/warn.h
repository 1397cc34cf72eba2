// Warnings to the user: said by operations, shown by whoever the program is written in.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_set>

namespace tandem {

/// Shows a warning; null until someone does. May throw, where warnings are made errors.
inline void (*warningShower)(const std::string& text) = nullptr;

inline void warn(const std::string& text) {
  if (warningShower != nullptr) warningShower(text);
}

/// Show each text of `warnOnce` every time? `set_warn_always`.
inline std::atomic<bool> warnsAlways = false;

/// Is this the first time that the text is to be shown, or are all shown?
inline bool firstTime(const std::string& text) {
  static std::mutex mutex;
  static std::unordered_set<std::string> said;
  const std::scoped_lock lock(mutex);
  return said.insert(text).second || warnsAlways;
}

/// One that is shown the first time alone.
inline void warnOnce(const std::string& text) {
  if (firstTime(text)) warn(text);
}

}  // namespace tandem
